//! What Lua gets of this crate's readers: `frontmatter`, `toml`, `validate`, `highlight`, `style`.

use std::cell::RefCell;
use std::sync::Arc;

use mlua::{Lua, Table, Value};
use panto_lua::{Arg, Fault, Json, Module, Reply, values};

use crate::frontmatter::{Data, Diagnostic, Frontmatter};
use crate::highlight::highlight;
use crate::schema::{Problem, Schemas};
use crate::themes::{Color, Effect, Style, Themes};
use crate::toml;

/// Makes the functions for `lua`; the host merges them into `panto.ext`. `themes` are the
/// process's, so that a style outlives the Lua state that set it.
///
/// # Errors
///
/// Lua is out of memory.
pub fn data(lua: &Lua, module: &Module, themes: Arc<Themes>) -> mlua::Result<Table> {
    let table = lua.create_table()?;

    let json = module.json().clone();
    let body = move |lua: &Lua, mut args: panto_lua::Args| {
        let text = args.next("text");
        let read = text.string()?.as_bytes();
        frontmatter(lua, &json, &Frontmatter::read(&read))
    };
    table.raw_set("frontmatter", module.function(lua, "frontmatter", body)?)?;

    let json = module.json().clone();
    let body = move |lua: &Lua, mut args: panto_lua::Args| {
        let text = args.next("text");
        let read = toml::read(&text.string()?.as_bytes());
        let read = read.map_err(|error| Fault::of(&error))?;
        values(lua, toml::to_lua(lua, &json, &read)?)
    };
    table.raw_set("toml", module.function(lua, "toml", body)?)?;

    let json = module.json().clone();
    let schemas = RefCell::<Schemas>::default();
    let body = move |lua: &Lua, mut args: panto_lua::Args| {
        let (schema, value) = (args.next("schema"), args.next("value"));
        validate(lua, &json, &schemas, &schema, &value)
    };
    table.raw_set("validate", module.function(lua, "validate", body)?)?;

    let painted = Arc::clone(&themes);
    let body = move |lua: &Lua, mut args: panto_lua::Args| {
        let body = args.next("body").string()?.to_string_lossy();
        let slug = args.next("slug").given().map(|slug| slug.text());
        values(
            lua,
            highlight(&body, slug.transpose()?.as_deref(), &painted),
        )
    };
    table.raw_set("highlight", module.function(lua, "highlight", body)?)?;

    let body = move |lua: &Lua, mut args: panto_lua::Args| {
        let (name, values) = (args.next("name"), args.next("values"));
        style(lua, &themes, name, values)
    };
    table.raw_set("style", module.function(lua, "style", body)?)?;
    Ok(table)
}

/// `data, body, diagnostics`.
fn frontmatter(lua: &Lua, json: &Json, read: &Frontmatter<'_>) -> Reply {
    let data = match &read.data {
        Some(pairs) => map_to_lua(lua, json, pairs)?,
        None => Value::Nil,
    };
    let body = match read.body {
        Some(body) => Value::String(lua.create_string(body)?),
        None => Value::Nil,
    };
    let diagnostics = lua.create_table()?;
    json.mark(&diagnostics)?;
    for diagnostic in &read.diagnostics {
        diagnostics.raw_push(diagnostic_to_lua(lua, diagnostic)?)?;
    }
    json.mark(&diagnostics)?;
    values(lua, (data, body, diagnostics))
}

fn diagnostic_to_lua(lua: &Lua, diagnostic: &Diagnostic) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("level", diagnostic.level.as_str())?;
    table.raw_set("code", diagnostic.code.as_str())?;
    table.raw_set("message", diagnostic.message.as_str())?;
    table.raw_set("line", diagnostic.line)?;
    table.raw_set("column", diagnostic.column)?;
    Ok(table)
}

fn map_to_lua(lua: &Lua, json: &Json, pairs: &[(String, Data)]) -> Result<Value, Fault> {
    let table = lua.create_table()?;
    for (key, value) in pairs {
        table.raw_set(key.as_str(), data_to_lua(lua, json, value)?)?;
    }
    Ok(Value::Table(table))
}

fn data_to_lua(lua: &Lua, json: &Json, data: &Data) -> Result<Value, Fault> {
    Ok(match data {
        Data::Boolean(boolean) => Value::Boolean(*boolean),
        Data::Integer(integer) => Value::Integer(*integer),
        Data::Text(text) => Value::String(lua.create_string(text)?),
        Data::Map(pairs) => map_to_lua(lua, json, pairs)?,
        Data::List(items) => {
            let list = toml::array(lua, json)?;
            for item in items {
                list.raw_push(data_to_lua(lua, json, item)?)?;
            }
            Value::Table(list)
        }
    })
}

/// True, or `nil`, the problems in words and as a list.
fn validate(lua: &Lua, json: &Json, kept: &RefCell<Schemas>, schema: &Arg, value: &Arg) -> Reply {
    if !matches!(schema.value, Value::Table(_) | Value::Boolean(_)) {
        schema.table()?;
    }
    if value.value.is_nil() {
        return Err(value.wrong("value expected, got nil; null is `json.null`"));
    }
    let text = json.encode(&schema.value);
    let text = text.map_err(|error| schema.wrong(error))?;
    let value = json.argument(value)?;
    let problems = kept.borrow_mut().check(&text, &value);
    let problems = problems.map_err(|error| Fault::of(&error))?;
    if problems.is_empty() {
        return values(lua, true);
    }
    let words: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let list = lua.create_table()?;
    for problem in &problems {
        let table = lua.create_table()?;
        table.raw_set("pointer", problem.pointer.as_str())?;
        table.raw_set("keyword", problem.keyword.as_str())?;
        table.raw_set("message", problem.message.as_str())?;
        list.raw_push(table)?;
    }
    values(lua, (Value::Nil, words.join("\n"), list))
}

/// All styles, one of them, or one after it was set.
fn style(lua: &Lua, themes: &Themes, name: Arg, given: Arg) -> Reply {
    if name.value.is_nil() && given.value.is_nil() {
        let all = lua.create_table()?;
        for (name, style) in themes.all() {
            all.raw_set(name, style_to_lua(lua, &style)?)?;
        }
        return values(lua, all);
    }
    let name = name.text()?;
    if let Some(given) = given.given() {
        let style = style_argument(given)?;
        themes
            .set(&name, style)
            .map_err(|error| Fault::of(&error))?;
    }
    match themes.get(&name) {
        Some(style) => values(lua, style_to_lua(lua, &style)?),
        None => Err(Fault::expected(format!("no style is named {name:?}"))),
    }
}

fn style_to_lua(lua: &Lua, style: &Style) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("fg", style.fg.map(|color| color.to_string()))?;
    table.raw_set("bg", style.bg.map(|color| color.to_string()))?;
    for effect in Effect::ALL {
        if style.has(effect) {
            table.raw_set(effect.as_str(), true)?;
        }
    }
    table.raw_set("open", style.open())?;
    table.raw_set("close", style.close())?;
    Ok(table)
}

fn style_argument(given: Arg) -> Result<Style, Fault> {
    // `open` and `close` are not read: so what `style(name)` gave can be given back.
    let options = given.options(&[
        "fg",
        "bg",
        "bold",
        "dim",
        "italic",
        "underline",
        "reverse",
        "strikethrough",
        "open",
        "close",
    ])?;
    let mut style = Style::default();
    for (field, place) in [("fg", &mut style.fg), ("bg", &mut style.bg)] {
        if let Some(color) = options.given(field)? {
            *place = Some(color_argument(&color)?);
        }
    }
    for effect in Effect::ALL {
        if let Some(flag) = options.given(effect.as_str())?
            && flag.boolean()?
        {
            style = style.with(effect);
        }
    }
    Ok(style)
}

fn color_argument(color: &Arg) -> Result<Color, Fault> {
    let text = match &color.value {
        Value::Integer(index) => index.to_string(),
        _ => color.text()?,
    };
    text.parse().map_err(|error| color.wrong(error))
}
