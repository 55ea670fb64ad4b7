//! The session and the models, as extensions see them.

use std::path::PathBuf;
use std::rc::Rc;

use mlua::{Lua, Table, Value};
use panto_lua::{Arg, Args, Fault, Reply, values};
use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, ModelRef};

use super::Host;
use super::shared::{Owner, Shared};
use crate::models::{OfferedModel, OfferedProvider};

/// What extensions are told of the session: nothing in it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Names it.
    pub id: String,
    /// Where its file lies; `None` if nothing is kept.
    pub directory: Option<PathBuf>,
    /// The directory that it works in.
    pub cwd: PathBuf,
}

const DEFAULT_LIMIT: u64 = 10;
const MOST: u64 = 50;

/// `session_info()`: `{ id, directory?, cwd, model, reasoning? }`.
pub(super) fn session_info(shared: &Rc<Shared>, _: &Owner, lua: &Lua, _: Args) -> Reply {
    // Copies: making tables can run finalizers.
    let attached = shared.attached.borrow().as_ref().map(|attached| {
        let model = attached.handle.agent().config().model;
        (attached.record.clone(), model)
    });
    let Some((record, model)) = attached else {
        return Err(Fault::expected("there is no session"));
    };
    let info = lua.create_table()?;
    info.raw_set("id", record.id.as_str())?;
    if let Some(directory) = &record.directory {
        info.raw_set(
            "directory",
            lua.create_string(directory.as_os_str().as_encoded_bytes())?,
        )?;
    }
    info.raw_set(
        "cwd",
        lua.create_string(record.cwd.as_os_str().as_encoded_bytes())?,
    )?;
    info.raw_set("model", model.reference.to_string())?;
    info.raw_set("reasoning", model.reasoning.as_deref())?;
    values(lua, info)
}

/// `models{}` describes the providers, `models{ provider?, query?, limit? }` lists models and
/// gives how many match,
/// `models{ model }` describes one.
pub(super) fn models(shared: &Rc<Shared>, _: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let options = match args.next("options").given() {
        Some(options) => options.options(&["provider", "query", "limit", "model"])?,
        None => return providers(shared, lua),
    };
    if let Some(model) = options.given("model")? {
        let reference = shared.listed(&model.text()?)?;
        return values(lua, model_table(lua, shared, &reference)?);
    }
    let provider = options
        .given("provider")?
        .map(|name| name.text())
        .transpose()?;
    let query = options
        .given("query")?
        .map(|query| query.text())
        .transpose()?;
    let limit = match options.given("limit")? {
        Some(limit) => limit.count()?.clamp(1, MOST),
        None if provider.is_none() && query.is_none() => return providers(shared, lua),
        None => DEFAULT_LIMIT,
    };
    let words: Vec<String> = query
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let offered = shared.offered();
    if let Some(name) = &provider
        && !offered.iter().any(|offered| offered.name == *name)
    {
        let names = offered.iter().map(|offered| offered.name.as_str());
        let near = crate::nearest::did_you_mean(name, names);
        return Err(Fault::expected(format!(
            "there is no provider `{name}`{near}"
        )));
    }
    let fits = |model: &&OfferedModel| {
        let text = format!("{} {}", model.reference, model.name.unwrap_or_default()).to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let list = lua.create_table()?;
    shared.module.json().mark(&list)?;
    let chosen = offered
        .iter()
        .filter(|offered| match &provider {
            Some(name) => offered.name == *name,
            None => offered.key.is_usable(),
        })
        .flat_map(|offered| &offered.models)
        .filter(fits);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut matching = 0;
    for model in chosen {
        if matching < limit {
            list.raw_push(describe(lua, shared, model)?)?;
        }
        matching += 1;
    }
    shared.module.json().mark(&list)?;
    values(lua, (list, matching))
}

fn providers(shared: &Shared, lua: &Lua) -> Reply {
    let list = lua.create_table()?;
    for offered in shared.offered() {
        let entry = lua.create_table()?;
        entry.raw_set("name", offered.name)?;
        entry.raw_set("title", offered.title)?;
        entry.raw_set("configured", offered.is_configured)?;
        entry.raw_set("usable", offered.key.is_usable())?;
        entry.raw_set("models", offered.models.len())?;
        list.raw_push(entry)?;
    }
    shared.module.json().mark(&list)?;
    values(lua, list)
}

fn model_table(lua: &Lua, shared: &Shared, reference: &ModelRef) -> Result<Table, Fault> {
    let offered = shared.offered();
    let mut models = offered.iter().flat_map(|offered| &offered.models);
    match models.find(|model| model.reference == *reference) {
        Some(model) => describe(lua, shared, model),
        // The one that is live, which nothing lists.
        None => {
            let entry = lua.create_table()?;
            entry.raw_set("model", reference.to_string())?;
            Ok(entry)
        }
    }
}

fn describe(lua: &Lua, shared: &Shared, model: &OfferedModel) -> Result<Table, Fault> {
    let entry = lua.create_table()?;
    entry.raw_set("model", model.reference.to_string())?;
    entry.raw_set("name", model.name)?;
    entry.raw_set("context_window", model.context_window)?;
    entry.raw_set("max_output", model.max_output)?;
    let labels = model
        .reasoning
        .clone()
        .or_else(|| shared.effort_labels(model.reference.provider()));
    if let Some(labels) = labels {
        let labels = lua.create_sequence_from(labels)?;
        shared.module.json().mark(&labels)?;
        entry.raw_set("reasoning", labels)?;
    }
    if let Some(price) = &model.price {
        let table = lua.create_table()?;
        table.raw_set("input", price.input)?;
        table.raw_set("output", price.output)?;
        table.raw_set("cache_read", price.cache_read)?;
        table.raw_set("cache_write", price.cache_write)?;
        entry.raw_set("price", table)?;
    }
    Ok(entry)
}

/// `resolve_model{ model?, reasoning?, tool_choice? }`: an opaque configuration.
pub(super) fn resolve_model(shared: &Rc<Shared>, _: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let argument = args.next("options");
    let (model, reasoning, tool_choice) = match argument.given() {
        None => (None, None, None),
        Some(options) => {
            let options = options.options(&["model", "reasoning", "tool_choice"])?;
            let text = |name| -> Result<Option<String>, Fault> {
                options.given(name)?.map(|text| text.text()).transpose()
            };
            (
                text("model")?,
                text("reasoning")?,
                options.given("tool_choice")?,
            )
        }
    };
    let tool_choice = tool_choice
        .map(|choice| read_tool_choice(&choice))
        .transpose()?;
    let live = shared.session().map(|session| session.agent().config());
    let is_live = match (&model, &live) {
        (None, _) => true,
        (Some(model), Some(live)) => live.model.reference.to_string() == *model,
        (Some(_), None) => false,
    };
    let mut config = if is_live {
        let live =
            live.ok_or_else(|| Fault::expected("there is no session whose model this could be"))?;
        match &reasoning {
            None => live,
            Some(label) => {
                let mut model = (*live.model).clone();
                model.reasoning = shared.label_for(&model.reference, label)?;
                AgentConfig {
                    model: model.into(),
                    ..live
                }
            }
        }
    } else {
        let reference = shared.listed(model.as_deref().unwrap_or_default())?;
        let label = match &reasoning {
            Some(label) => shared.label_for(&reference, label)?,
            None => None,
        };
        let resolved = shared.options.models.resolve(&reference, label.as_deref());
        let resolved = resolved.map_err(|error| Fault::of(&error))?;
        // It may be the first model of a protocol that an extension has.
        let models = &shared.options.models;
        models.find_late(|name| shared.handle.protocol(name));
        AgentConfig {
            protocol: resolved.protocol,
            model: resolved.model.into(),
            tool_choice: ToolChoice::Auto,
        }
    };
    config.tool_choice = tool_choice.unwrap_or(ToolChoice::Auto);
    values(lua, shared.module.config(lua, config)?)
}

fn read_tool_choice(argument: &Arg) -> Result<ToolChoice, Fault> {
    const EXPECTED: &str = "`auto`, `none`, `required` or { name = … } expected";
    match &argument.value {
        Value::String(_) => match argument.text()?.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            _ => Err(argument.wrong(EXPECTED)),
        },
        Value::Table(table) => {
            let name = argument.part(".name", table.raw_get("name")?);
            Ok(ToolChoice::Named(name.text()?))
        }
        _ => Err(argument.wrong(EXPECTED)),
    }
}

impl Host {
    /// The reasoning labels of the extension's protocol that speaks for a provider, if it lists any.
    pub fn effort_labels(&self, provider: &str) -> Option<Vec<String>> {
        self.shared.effort_labels(provider)
    }
}

impl Shared {
    fn offered(&self) -> Vec<OfferedProvider> {
        self.options.models.offered()
    }

    /// The listed model, or the live one, of exactly that name.
    fn listed(&self, text: &str) -> Result<ModelRef, Fault> {
        let reference =
            ModelRef::parse(text).map_err(|error| Fault::expected(error.to_string()))?;
        let live = self.session().map(|session| session.agent().config().model);
        if live.is_some_and(|live| live.reference == reference) {
            return Ok(reference);
        }
        self.options
            .models
            .check_listed(&reference)
            .map_err(|error| Fault::of(&error))?;
        Ok(reference)
    }

    /// A label that the model takes; an empty one is none.
    fn label_for(&self, reference: &ModelRef, label: &str) -> Result<Option<String>, Fault> {
        if label.is_empty() {
            return Ok(None);
        }
        let known = self
            .options
            .models
            .reasoning_labels(reference)
            .or_else(|| self.effort_labels(reference.provider()));
        match known {
            Some(known) if !known.iter().any(|other| other == label) => {
                Err(Fault::expected(if known.is_empty() {
                    format!("`{reference}` takes no reasoning label")
                } else {
                    format!(
                        "`{reference}` does not know the reasoning label `{label}`; it knows {}",
                        known.join(", ")
                    )
                }))
            }
            _ => Ok(Some(label.to_owned())),
        }
    }

    /// The effort levels of the extension that speaks for a provider, if one does.
    fn effort_labels(&self, provider: &str) -> Option<Vec<String>> {
        let protocol = self.options.models.protocol_name(provider)?;
        if !self.protocol_owners.borrow().contains_key(&protocol) {
            return None;
        }
        let levels = self.handle.effort_levels(&protocol);
        (!levels.is_empty()).then(|| levels.into_iter().map(|level| level.label).collect())
    }
}
