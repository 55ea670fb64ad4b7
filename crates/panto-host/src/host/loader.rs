//! Evaluating and activating extensions: all are evaluated, then those that count are activated,
//! lowest precedence first. One that fails takes nothing with it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::{Table, Value};
use panto_runtime::Failure;

use super::Host;
use super::entry::{self, Does, Entry, Extension, ExtensionStatus};
use super::modules::plain;
use super::shared::{Owner, Shared};
use crate::extensions::{Diagnostic, LayerName, Level, Rank, SourceFile};

impl Host {
    /// Evaluates the sources, and activates what they return.
    ///
    /// What fails is told as a diagnostic, and the others go on.
    pub async fn load(&mut self, sources: &[SourceFile]) {
        let shared = Rc::clone(&self.shared);
        let mut entries = Vec::new();
        shared.add_rocks(sources);
        for source in sources {
            let stem = source.stem.as_str();
            if shared.is_denied(stem) {
                shared.remember(stem, &source.file, source.layer, ExtensionStatus::Denied);
                continue;
            }
            if let Some(file) = shared.in_place_of(source) {
                let instead = format!("`{}` is used instead", file.display());
                shared.say(Diagnostic::info(instead).of(stem).at(&source.file));
                let status = ExtensionStatus::Shadowed(file);
                shared.remember(stem, &source.file, source.layer, status);
                continue;
            }
            match shared.evaluate(source) {
                Ok(found) => entries.extend(found),
                Err(wrong) => {
                    let status = ExtensionStatus::Failed(wrong.clone());
                    shared.remember(stem, &source.file, source.layer, status);
                    shared.say(told(stem, &source.file, &wrong));
                }
            }
        }
        for entry in shared.counting(entries) {
            self.activate(entry).await;
        }
    }

    async fn activate(&mut self, entry: Entry) {
        let shared = Rc::clone(&self.shared);
        let owner: Owner = entry.name.as_str().into();
        shared.keep_layer(&entry);
        shared.active.replace(Some(Rc::clone(&owner)));
        let outcome = match &entry.does {
            Does::Tool(tool) => shared.register_returned(&owner, tool),
            Does::Activate(activate) => {
                let what = format!("activating `{owner}`");
                match shared.handle.drive(&what, activate.clone(), ()) {
                    Ok(drive) => {
                        let limit = shared.options.activation_limit;
                        let bounded = tokio::time::timeout(limit, drive);
                        match self.run_until(bounded).await {
                            Ok(Ok(_)) => Ok(()),
                            Ok(Err(failure)) => Err(words(&failure)),
                            Err(_) => Err(format!(
                                "`activate` did not return within {} s",
                                limit.as_secs_f32()
                            )),
                        }
                    }
                    Err(failure) => Err(words(&failure)),
                }
            }
        };
        shared.active.replace(None);
        let status = match outcome {
            Ok(()) => ExtensionStatus::Active,
            Err(wrong) => {
                shared.forget(&owner);
                shared.say(told(&owner, &entry.file, &wrong));
                ExtensionStatus::Failed(wrong)
            }
        };
        shared.remember(&entry.name, &entry.file, entry.layer, status);
    }

    /// Tells extensions that the session is there, once everything is loaded. The agent gets its
    /// system prompt.
    pub fn ready(&mut self) {
        self.shared.prompt_is_live.set(true);
        self.shared.prompt_changed();
        self.shared.fire_named("session_ready");
    }

    /// The protocol that an extension has registered under a name.
    pub fn protocol(&self, name: &str) -> Option<std::sync::Arc<dyn pantograph::Protocol>> {
        self.shared.handle.protocol(name)
    }
}

impl Shared {
    fn is_allowed(&self, name: &str) -> bool {
        let options = &self.options;
        let is_allowed = options.allow.is_empty() || options.allow.iter().any(|it| it == name);
        is_allowed && !self.is_denied(name)
    }

    /// Whether nothing of that name's file can count: what a file is called need not be what its
    /// entries are called, so an allow list cannot rule it out.
    fn is_denied(&self, name: &str) -> bool {
        self.options.deny.iter().any(|it| it == name)
    }

    fn keep_layer(&self, entry: &Entry) {
        let mut layers = self.layers.borrow_mut();
        layers.insert(entry.name.clone(), entry.layer);
    }

    fn remember(&self, name: &str, file: &Path, layer: LayerName, status: ExtensionStatus) {
        self.extensions.borrow_mut().push(Extension {
            name: name.to_owned(),
            file: file.to_owned(),
            layer,
            status,
        });
    }

    /// Before any is evaluated: the first one may require the last one.
    fn add_rocks(&self, sources: &[SourceFile]) {
        let Some(modules) = self.modules.get() else {
            return;
        };
        for source in sources {
            if let Some(module) = source.module.as_deref().filter(|_| source.file.is_file()) {
                modules.add_rock(module, source);
            }
        }
    }

    /// The file of the rock that has the module of this one.
    fn in_place_of(&self, source: &SourceFile) -> Option<PathBuf> {
        let module = source.module.as_deref()?;
        let file = self.modules.get()?.rock_file(module)?;
        (file != source.file && source.file.is_file()).then_some(file)
    }

    fn evaluate(&self, source: &SourceFile) -> Result<Vec<Entry>, String> {
        let owner: Owner = source.stem.as_str().into();
        let modules = self.modules.get().ok_or("the session is over")?;
        let what = format!("evaluating `{}`", source.stem);
        let returned = match &source.module {
            Some(_) if !source.file.is_file() => {
                return Err(format!("it is not installed{}", remedy(source)));
            }
            // Others get the same instance, before and after.
            Some(module) => {
                self.active.replace(Some(owner));
                let module = module.as_str();
                self.handle.call(&what, modules.require(), module)
            }
            None => {
                let dir = Some(source.dir.as_path());
                let chunk = modules.chunk(&self.lua, &source.file, dir, &owner)?;
                self.active.replace(Some(owner));
                self.handle.call(&what, &chunk, ())
            }
        };
        self.active.replace(None);
        let mut returned =
            returned.map_err(|failure| format!("{}{}", words(&failure), remedy(source)))?;
        let returned = returned.pop_front().unwrap_or(Value::Nil);
        let entries = entry::read(&returned);
        let entries = entries.map_err(|wrong| format!("{wrong}{}", remedy(source)))?;
        Ok(entries
            .into_iter()
            .map(|(name, does)| Entry {
                name,
                file: source.file.clone(),
                layer: source.layer,
                rank: source.rank,
                does,
            })
            .collect())
    }

    /// The entries that count, in the order of their activation.
    fn counting(&self, entries: Vec<Entry>) -> Vec<Entry> {
        // By name: the precedence and the file of the first of those that beat all others.
        let mut best: BTreeMap<String, ((LayerName, Rank), PathBuf)> = BTreeMap::new();
        for entry in &entries {
            let precedence = (entry.layer, entry.rank);
            if best
                .get(&entry.name)
                .is_none_or(|(other, _)| *other < precedence)
            {
                best.insert(entry.name.clone(), (precedence, entry.file.clone()));
            }
        }
        let mut taken = HashSet::new();
        let mut counting = Vec::new();
        for entry in entries {
            let Some((precedence, file)) = best.get(&entry.name) else {
                continue;
            };
            let diagnostic = if !self.is_allowed(&entry.name) {
                None
            } else if *precedence > (entry.layer, entry.rank) {
                Some(Diagnostic::info(format!(
                    "`{}` is used instead",
                    file.display()
                )))
            } else if taken.insert(entry.name.clone()) {
                counting.push(entry);
                continue;
            } else {
                Some(Diagnostic::error(format!(
                    "`{}` has an extension of this name too, and neither beats the other; the \
                     first one is used",
                    file.display()
                )))
            };
            let status = match &diagnostic {
                None => ExtensionStatus::Denied,
                Some(diagnostic) if diagnostic.level == Level::Error => {
                    ExtensionStatus::Failed(diagnostic.message.clone())
                }
                Some(_) => ExtensionStatus::Shadowed(file.clone()),
            };
            if let Some(diagnostic) = diagnostic {
                self.say(diagnostic.of(&entry.name).at(&entry.file));
            }
            self.remember(&entry.name, &entry.file, entry.layer, status);
        }
        counting.sort_by_key(|entry| (entry.layer, entry.rank));
        counting
    }

    /// Registers the tool that a source returned.
    fn register_returned(&self, owner: &Owner, tool: &Table) -> Result<(), String> {
        let wrong = |error: mlua::Error| error.to_string();
        let register: mlua::Function = self
            .module
            .table()
            .raw_get::<Table>("ext")
            .and_then(|ext| ext.raw_get("register_tool"))
            .map_err(wrong)?;
        let what = format!("registering `{owner}`");
        let called = self.handle.call(&what, &register, tool.clone());
        called.map(drop).map_err(|failure| words(&failure))
    }
}

/// What to do about a rock that cannot load.
fn remedy(source: &SourceFile) -> &'static str {
    match (&source.module, source.layer) {
        (None, _) | (_, LayerName::Base) => "",
        _ => "; `panto extension update` installs what is missing, and newer versions",
    }
}

/// What Lua raised, without what is said elsewhere.
fn words(failure: &Failure) -> String {
    tracing::debug!(traceback = failure.traceback, "{failure}");
    first_line(failure).to_owned()
}

/// The first line without the colon before a list that is left out.
pub(super) fn first_line(failure: &Failure) -> &str {
    failure.first_line().trim_end_matches(':')
}

/// What is wrong with an extension, where in its file if it says so.
fn told(name: &str, file: &Path, wrong: &str) -> Diagnostic {
    let prefix = format!("{}:", plain(&file.display().to_string()));
    let place = wrong.strip_prefix(&prefix).and_then(|rest| {
        let (line, rest) = rest.split_once(": ")?;
        Some((line.parse().ok()?, rest))
    });
    let (line, wrong) = match place {
        Some((line, rest)) => (Some(line), rest),
        None => (None, wrong),
    };
    let mut diagnostic = Diagnostic::error(wrong).of(name).at(file);
    if let Some(position) = &mut diagnostic.position {
        position.line = line;
    }
    diagnostic
}
