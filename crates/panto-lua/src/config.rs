//! A model configuration: opaque, so that no credential reaches Lua.

use mlua::{MetaMethod, UserData, UserDataFields, UserDataMethods};
use pantograph::AgentConfig;
use pantograph::protocol::ToolChoice;

use crate::args::Arg;
use crate::fault::Fault;

/// Who answers. Lua reads four names of it and hands it on.
pub(crate) struct Config(pub(crate) AgentConfig);

impl Config {
    pub(crate) const NAME: &'static str = "panto.Config";
}

impl UserData for Config {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field(MetaMethod::Type, Self::NAME);
        fields.add_field_method_get("model", |_, this| Ok(this.0.model.reference.to_string()));
        fields.add_field_method_get("wire_model", |_, this| Ok(this.0.model.wire_model.clone()));
        fields.add_field_method_get("reasoning", |_, this| Ok(this.0.model.reasoning.clone()));
        fields.add_field_method_get("style", |_, this| Ok(this.0.protocol.name().to_owned()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| {
            Ok(format!("{}: {}", Self::NAME, this.0.model.reference))
        });
    }
}

/// Reads `"auto"`, `"none"`, `"required"` or `{ name = "tool" }`.
pub(crate) fn tool_choice(argument: Arg) -> Result<ToolChoice, Fault> {
    let wrong = |argument: &Arg| {
        argument.wrong("expected \"auto\", \"none\", \"required\" or { name = \"tool\" }")
    };
    if argument.value.is_table() {
        let options = argument.options(&["name"])?;
        return Ok(ToolChoice::Named(options.get("name")?.text()?));
    }
    let word = argument.text().map_err(|_| wrong(&argument))?;
    match word.as_str() {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" => Ok(ToolChoice::Required),
        _ => Err(wrong(&argument)),
    }
}
