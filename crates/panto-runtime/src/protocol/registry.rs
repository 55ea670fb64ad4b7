//! What is registered as a protocol.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::Function;
use panto_lua::{Arg, Fault};
use pantograph::Protocol;

use super::{EffortLevel, LuaProtocol};
use crate::inbox::Inbox;
use crate::tools::RegisterError;

/// How many effort levels a protocol may have.
const MAX_LEVELS: usize = 32;

const FIELDS: &[&str] = &[
    "name",
    "open",
    "effort_levels",
    "cancel_turn",
    "reset_context",
    "release_context",
    "close",
];

/// A protocol as its extension registered it.
pub(crate) struct Registration {
    owner: String,
    name: String,
    pub(super) open: Function,
    pub(super) cancel_turn: Option<Function>,
    pub(super) reset_context: Option<Function>,
    pub(super) release_context: Option<Function>,
    close: Option<Function>,
    effort_levels: Vec<EffortLevel>,
    source: Arc<LuaProtocol>,
}

impl Registration {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How messages name it.
    pub(crate) fn what(&self) -> String {
        format!("the protocol `{}`", self.name)
    }
}

/// The protocols of one Lua state.
pub(crate) struct Protocols {
    inbox: Arc<Inbox>,
    by_name: RefCell<HashMap<String, Rc<Registration>>>,
    /// What is registered, and what was while a stream of it is still open: each is closed when
    /// nothing uses it any more.
    all: RefCell<Vec<Rc<Registration>>>,
}

impl Protocols {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            by_name: RefCell::default(),
            all: RefCell::default(),
        }
    }

    /// Reads `{ name, open, … }` and registers it, or replaces what the same owner registered.
    pub(crate) fn register(&self, owner: &str, argument: Arg) -> Result<String, Fault> {
        let options = argument.options(FIELDS)?;
        let field = options.get("name")?;
        let name = field.text()?;
        if name.is_empty() {
            return Err(field.wrong("a name must not be empty"));
        }
        let function = |field: &'static str| match options.given(field)? {
            Some(function) => Ok::<_, Fault>(Some(function.function()?.clone())),
            None => Ok(None),
        };
        let mut registration = Registration {
            owner: owner.to_owned(),
            name: name.clone(),
            open: options.get("open")?.function()?.clone(),
            cancel_turn: function("cancel_turn")?,
            reset_context: function("reset_context")?,
            release_context: function("release_context")?,
            close: function("close")?,
            effort_levels: match options.given("effort_levels")? {
                Some(levels) => effort_levels(&levels)?,
                None => Vec::new(),
            },
            source: Arc::new(LuaProtocol {
                name: name.clone(),
                inbox: Arc::clone(&self.inbox),
            }),
        };
        let mut by_name = self.by_name.borrow_mut();
        if let Some(other) = by_name.get(&name) {
            if other.owner != owner {
                let taken = RegisterError::Taken {
                    kind: "protocol",
                    name,
                    by: other.owner.clone(),
                };
                return Err(Fault::of(&taken));
            }
            // Agents that have the old one ask the new one from now on.
            registration.source = Arc::clone(&other.source);
        }
        let registration = Rc::new(registration);
        self.all.borrow_mut().push(Rc::clone(&registration));
        by_name.insert(name.clone(), registration);
        Ok(name)
    }

    pub(crate) fn unregister(&self, owner: &str, name: &str) -> bool {
        let mut by_name = self.by_name.borrow_mut();
        let is_owners = by_name.get(name).is_some_and(|it| it.owner == owner);
        is_owners && by_name.remove(name).is_some()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Rc<Registration>> {
        self.by_name.borrow().get(name).cloned()
    }

    /// The protocol as agents have it.
    pub(crate) fn source(&self, name: &str) -> Option<Arc<dyn Protocol>> {
        let registration = self.get(name)?;
        Some(Arc::clone(&registration.source) as Arc<dyn Protocol>)
    }

    pub(crate) fn effort_levels(&self, name: &str) -> Vec<EffortLevel> {
        self.get(name)
            .map(|registration| registration.effort_levels.clone())
            .unwrap_or_default()
    }

    /// Takes what was replaced or removed and has no stream any more, for the functions that
    /// close it.
    pub(crate) fn take_idle(&self) -> Vec<(String, Function)> {
        let mut idle = Vec::new();
        self.all.borrow_mut().retain(|it| {
            let is_used = Rc::strong_count(it) > 1;
            if !is_used {
                idle.push(Rc::clone(it));
            }
            is_used
        });
        let closers = idle.iter();
        closers
            .filter_map(|it| Some((it.what(), it.close.clone()?)))
            .collect()
    }

    /// Takes everything, for the functions that close it: the last registered first.
    pub(crate) fn take_closers(&self) -> Vec<(String, Function)> {
        self.by_name.borrow_mut().clear();
        let all = std::mem::take(&mut *self.all.borrow_mut());
        let closers = all.iter().rev();
        closers
            .filter_map(|it| Some((it.what(), it.close.clone()?)))
            .collect()
    }
}

fn effort_levels(argument: &Arg) -> Result<Vec<EffortLevel>, Fault> {
    let levels = argument.list()?;
    if levels.len() > MAX_LEVELS {
        return Err(argument.wrong(format_args!(
            "at most {MAX_LEVELS} levels expected, got {}",
            levels.len()
        )));
    }
    let mut read: Vec<EffortLevel> = Vec::with_capacity(levels.len());
    for level in levels {
        let options = level.options(&["label", "detail"])?;
        let field = options.get("label")?;
        let label = field.text()?;
        if label.is_empty() || read.iter().any(|other| other.label == label) {
            return Err(field.wrong("labels must be unique and not empty"));
        }
        let detail = options.given("detail")?;
        let detail = detail.map(|detail| detail.text()).transpose()?;
        read.push(EffortLevel { label, detail });
    }
    Ok(read)
}
