//! Tool declarations as Lua tables, and back.

use mlua::{Function, Lua, Table};
use pantograph::{ToolDeclaration, ToolSet};

use crate::args::{Arg, Options};
use crate::fault::Fault;
use crate::json::Json;

/// A copy of an agent's declarations, for Lua to change.
pub(super) fn tool_tables(lua: &Lua, json: &Json, tools: &ToolSet) -> Result<Table, Fault> {
    let list = lua.create_table_with_capacity(tools.len(), 0)?;
    for declaration in tools {
        let table = lua.create_table()?;
        table.raw_set("name", declaration.name.as_str())?;
        table.raw_set("description", &*declaration.description)?;
        table.raw_set("schema", json.value_to_lua(lua, &declaration.schema)?)?;
        list.raw_push(table)?;
    }
    Ok(list)
}

/// Reads a list of declarations. `known` are those that Lua may have copied.
pub(super) fn tool_set(
    json: &Json,
    argument: &Arg,
    known: &[ToolDeclaration],
) -> Result<ToolSet, Fault> {
    let declarations = argument
        .list()?
        .into_iter()
        .map(|element| {
            let place = element.part("", element.value.clone());
            let options = element.options(&["name", "description", "schema"])?;
            declaration(json, &place, &options, known)
        })
        .collect::<Result<Vec<_>, _>>()?;
    ToolSet::new(declarations).map_err(|error| argument.wrong(error))
}

/// Reads a tool: a declaration and its handler.
pub(crate) fn tool(json: &Json, argument: Arg) -> Result<(ToolDeclaration, Function), Fault> {
    let place = argument.part("", argument.value.clone());
    let options = argument.options(&["name", "description", "schema", "handler"])?;
    let handler = options.get("handler")?.function()?.clone();
    let declaration = declaration(json, &place, &options, &[])?;
    Ok((declaration, handler))
}

/// Reads the fields of one declaration.
fn declaration(
    json: &Json,
    place: &Arg,
    options: &Options,
    known: &[ToolDeclaration],
) -> Result<ToolDeclaration, Fault> {
    let name = options.get("name")?.text()?;
    let description = options.get("description")?.text()?;
    let schema = options.get("schema")?;
    let schema = serde_json::Value::Object(json.object_argument(&schema)?);
    let mut declaration =
        ToolDeclaration::new(&name, description, schema).map_err(|error| place.wrong(error))?;
    // A Lua table has no order. A schema that is still the known one keeps that one's, so that
    // the request's bytes are the same for every agent that shows the tool.
    let same = known
        .iter()
        .find(|known| known.name == declaration.name && known.schema == declaration.schema);
    if let Some(same) = same {
        declaration.schema = std::sync::Arc::clone(&same.schema);
    }
    Ok(declaration)
}
