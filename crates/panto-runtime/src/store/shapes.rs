//! What the methods of a store give: read on the owner thread as far as they are tables, and
//! elsewhere as text.

use mlua::{IntoLua, MultiValue, Value};
use pantograph::session::{
    Header, InvalidJson, LoadOptions, Record, SessionError, SessionInfo, SessionTree,
};
use pantograph::{Message, SessionId};

use super::method::{Answer, Method, OnOwner, a};
use super::not_found;

/// What `load` gave, as text.
pub(super) struct Stored {
    header: String,
    records: Vec<String>,
}

/// A description, and whether it says when its session was modified.
pub(super) struct Described {
    pub(super) info: SessionInfo,
    pub(super) has_modified: bool,
}

/// Reads what `load` gave.
pub(super) fn stored(
    owner: &OnOwner<'_>,
    id: SessionId,
    answer: Answer,
) -> Result<Stored, SessionError> {
    const LOAD: Method = Method::Load;
    let session = match value(LOAD, answer)?.ok_or_else(|| not_found(id))? {
        Value::Table(session) => session,
        other => return Err(LOAD.gave(format_args!("{}, not a table", a(&other)))),
    };
    let field = |name: &str| {
        let value: mlua::Result<Value> = session.raw_get(name);
        value.map_err(|error| LOAD.failed(error))
    };
    let header = text(owner, LOAD, "`header`", &field("header")?)?;
    let records = list(LOAD, " as `records`", field("records")?)?;
    let records = records.iter().enumerate().map(|(at, record)| {
        let place = format!("`records[{}]`", at + 1);
        text(owner, LOAD, &place, record)
    });
    Ok(Stored {
        header,
        records: records.collect::<Result<_, _>>()?,
    })
}

impl Stored {
    /// Reads the session.
    pub(super) fn into_tree(self, id: SessionId) -> Result<SessionTree, SessionError> {
        let wrong = |place: &str, error: &InvalidJson| {
            Method::Load.gave(format_args!(
                "{place} that cannot be read: {}",
                error.message
            ))
        };
        let header = Header::from_json(&self.header).map_err(|e| wrong("a `header`", &e))?;
        if header.id != id {
            return Err(Method::Load.gave(format_args!("the session `{}`, not `{id}`", header.id)));
        }
        let mut tree = SessionTree::new(header);
        for (at, record) in self.records.iter().enumerate() {
            let read = tree.apply_json(record);
            read.map_err(|error| wrong(&format!("a `records[{}]`", at + 1), &error))?;
        }
        Ok(tree)
    }
}

/// Reads what `list` or `list_bounded` gave; `None` if there is no such method.
pub(super) fn infos(
    owner: &OnOwner<'_>,
    method: Method,
    answer: Answer,
) -> Result<Option<Vec<Described>>, SessionError> {
    let infos = match answer {
        Answer::Absent if method == Method::ListBounded => return Ok(None),
        answer => value(method, answer)?.unwrap_or(Value::Nil),
    };
    let infos = list(method, "", infos)?;
    let infos = infos.iter().enumerate().map(|(at, info)| {
        let place = format!("`[{}]`", at + 1);
        let text = text(owner, method, &place, info)?;
        let has_modified = info.as_table().is_some_and(|info| {
            let modified: mlua::Result<Value> = info.raw_get("modified");
            modified.is_ok_and(|modified| modified.is_string())
        });
        let info = SessionInfo::from_json(&text).map_err(|error| {
            method.gave(format_args!(
                "{place} that cannot be read: {}",
                error.message
            ))
        })?;
        Ok(Described { info, has_modified })
    });
    infos.collect::<Result<_, _>>().map(Some)
}

/// Reads the id that `resolve` or `latest` gave, if there is one.
pub(super) fn id(method: Method, answer: Answer) -> Result<Option<SessionId>, SessionError> {
    match value(method, answer)? {
        None => Ok(None),
        Some(Value::String(id)) => match SessionId::parse(&id.to_string_lossy()) {
            Ok(id) => Ok(Some(id)),
            Err(error) => Err(method.gave(format_args!("no id: {error}"))),
        },
        Some(other) => Err(method.gave(format_args!("{}, not the id of a session", a(&other)))),
    }
}

/// The arguments of `load_messages`: those options that are set.
pub(super) fn load_arguments(
    owner: &OnOwner<'_>,
    id: SessionId,
    options: &LoadOptions,
) -> mlua::Result<MultiValue> {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let table = owner.lua.create_table()?;
    table.raw_set("limit", options.limit.map(|limit| count(limit as u64)))?;
    table.raw_set("max_bytes", options.max_bytes.map(count))?;
    table.raw_set("from_end", options.from_end)?;
    table.raw_set("role", options.role.map(pantograph::Role::as_str))?;
    table.raw_set("metadata_key", options.metadata_key.as_deref())?;
    let id = id.to_string().into_lua(owner.lua)?;
    Ok(MultiValue::from_iter([id, Value::Table(table)]))
}

/// Reads what `load_messages` gave; `None` if there is no such method.
pub(super) fn messages(
    owner: &OnOwner<'_>,
    id: SessionId,
    answer: Answer,
) -> Result<Option<Vec<String>>, SessionError> {
    const METHOD: Method = Method::LoadMessages;
    if matches!(answer, Answer::Absent) {
        return Ok(None);
    }
    let messages = value(METHOD, answer)?.ok_or_else(|| not_found(id))?;
    let messages = list(METHOD, "", messages)?;
    let texts = messages.iter().enumerate().map(|(at, message)| {
        let place = format!("`[{}]`", at + 1);
        text(owner, METHOD, &place, message)
    });
    texts.collect::<Result<_, _>>().map(Some)
}

/// Reads the records of messages.
pub(super) fn read_messages(texts: &[String]) -> Result<Vec<Message>, SessionError> {
    let messages = texts.iter().enumerate().map(|(at, text)| {
        let place = at + 1;
        match Record::from_json(text) {
            Ok(Some(Record::Message(message))) => Ok(message),
            Ok(_) => Err(Method::LoadMessages
                .gave(format_args!("`[{place}]` that is no record of a message"))),
            Err(error) => Err(Method::LoadMessages.gave(format_args!(
                "`[{place}]` that cannot be read: {}",
                error.message
            ))),
        }
    });
    messages.collect()
}

/// What a method gave, if it gave something.
fn value(method: Method, answer: Answer) -> Result<Option<Value>, SessionError> {
    match answer {
        Answer::Value(value) => Ok(Some(value)),
        Answer::Nothing | Answer::Nil => Ok(None),
        Answer::Absent => Err(method.failed("is gone from the table")),
    }
}

/// The elements of a list without holes.
fn list(method: Method, place: &str, value: Value) -> Result<Vec<Value>, SessionError> {
    let table = match value {
        Value::Table(table) => table,
        other => return Err(method.gave(format_args!("{}{place}, not a list", a(&other)))),
    };
    let mut pairs = 0;
    let mut has_names = false;
    let counted = table.for_each(|key: Value, _: Value| {
        pairs += 1;
        has_names |= !key.is_integer();
        Ok(())
    });
    counted.map_err(|error| method.failed(error))?;
    let len = table.raw_len();
    if has_names || pairs != len {
        let what = match has_names {
            true => "other keys than positions",
            false => "holes",
        };
        return Err(method.gave(format_args!("a list with {what}{place}")));
    }
    let elements = (1..=len).map(|at| table.raw_get(at));
    let elements = elements.collect::<mlua::Result<_>>();
    elements.map_err(|error| method.failed(error))
}

/// The JSON text of a table.
fn text(
    owner: &OnOwner<'_>,
    method: Method,
    place: &str,
    value: &Value,
) -> Result<String, SessionError> {
    if !value.is_table() {
        return Err(method.gave(format_args!("{} as {place}, not a table", a(value))));
    }
    let text = owner.json.encode(value);
    text.map_err(|error| method.gave(format_args!("{place} that is not JSON: {error}")))
}
