//! Headers, records and descriptions as JSON text by themselves, for stores that keep sessions
//! elsewhere than in files. The form is described in `docs/sessions.md`.

use jiff::Timestamp;
use serde_json::Value;

use super::decode::{self, Context, Fault, HeaderFault};
use super::encode::{self, Form, VERSION};
use crate::ids::SessionId;
use crate::message::{Message, Metadata};
use crate::session::{Header, Record, SessionError, SessionInfo, SessionTree};

/// Why a text is not the JSON form of a header, a record or a description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
#[non_exhaustive]
pub struct InvalidJson {
    /// Counted from 1, in bytes.
    pub column: u64,
    /// What is wrong there.
    pub message: String,
}

impl From<Fault> for InvalidJson {
    fn from(fault: Fault) -> Self {
        Self {
            column: fault.column,
            message: fault.message,
        }
    }
}

impl From<HeaderFault> for InvalidJson {
    fn from(fault: HeaderFault) -> Self {
        match fault {
            HeaderFault::Bad(fault) => fault.into(),
            HeaderFault::Newer(found) => Fault::new(format!(
                "the format version is {found}, and only versions up to {VERSION} are known here"
            ))
            .into(),
        }
    }
}

impl Header {
    /// Writes the header as one line of JSON, as a session's file begins with it.
    ///
    /// # Errors
    ///
    /// [`SessionError::Refused`] if its metadata could not be read again.
    pub fn to_json(&self) -> Result<String, SessionError> {
        encode::check_metadata(&self.metadata)?;
        let mut out = Vec::new();
        encode::header(&mut out, self)?;
        line(out)
    }

    /// Reads what [`Header::to_json`] wrote, or any other JSON of the same content.
    ///
    /// # Errors
    ///
    /// It is none, names no session, or a newer version wrote it.
    ///
    /// ```
    /// # use pantograph::session::Header;
    /// let text = r#"{"type":"session","version":1,"id":"0198c0de-0000-7000-8000-000000000001",
    ///     "created":"2027-01-15T08:00:00Z","cwd":"/home/ann"}"#;
    /// assert_eq!(Header::from_json(text)?.cwd.to_str(), Some("/home/ann"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Self, InvalidJson> {
        #[derive(serde::Deserialize)]
        struct Named {
            id: Option<String>,
        }
        let Named { id } = serde_json::from_str(text).map_err(Fault::from)?;
        let id = id.ok_or_else(|| Fault::new("missing field `id`"))?;
        let id = SessionId::parse(&id).map_err(|error| Fault::new(error.to_string()))?;
        Ok(decode::header(text.as_bytes(), id)?)
    }
}

impl Record {
    /// Writes the record as one line of JSON that needs nothing beside it: as a line of a
    /// session's file, but without marks, with the bytes of all attachments, and with a
    /// provider's own item as a string (`raw_json`), so that it survives any JSON library.
    ///
    /// Blocks on the file system if an attachment lies there.
    ///
    /// # Errors
    ///
    /// [`SessionError::Refused`] if metadata could not be read again or an attachment cannot be
    /// read.
    pub fn to_json(&self) -> Result<String, SessionError> {
        encode::check(self)?;
        let mut out = Vec::new();
        encode::record(&mut out, self, Form::Alone)?;
        line(out)
    }

    /// Reads what [`Record::to_json`] wrote, or any other JSON of the same content; `None` if
    /// records of its type are not known, which is no error.
    ///
    /// A record that leaves out its time or its parent depends on others:
    /// [`SessionTree::apply_json`] reads such ones. Here they have the Unix epoch, and none.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn from_json(text: &str) -> Result<Option<Self>, InvalidJson> {
        let context = Context {
            files: None,
            previous: None,
            created: Timestamp::UNIX_EPOCH,
        };
        Ok(decode::record(text.as_bytes(), &context)?)
    }
}

impl SessionTree {
    /// Reads a record as [`Record::from_json`] does and applies it. Without a time it has that of
    /// the header, without a parent it follows the message or compaction before it, and one of an
    /// unknown type changes nothing.
    ///
    /// # Errors
    ///
    /// It is no record; the tree is as it was.
    pub fn apply_json(&mut self, text: &str) -> Result<(), InvalidJson> {
        let context = Context {
            files: None,
            previous: self.last(),
            created: self.header().created,
        };
        if let Some(record) = decode::record(text.as_bytes(), &context)? {
            self.apply(record);
        }
        Ok(())
    }
}

impl SessionInfo {
    /// Reads a JSON object with the fields of a description. All but `id` may be absent or null:
    /// the time of the id stands for `created`, that for `modified`, and 0 for the count.
    ///
    /// # Errors
    ///
    /// It is none, or a field is not what it should be; the message names it.
    pub fn from_json(text: &str) -> Result<Self, InvalidJson> {
        let mut fields: Metadata = serde_json::from_str(text).map_err(Fault::from)?;
        let id = self::text(&mut fields, "id")?.ok_or_else(|| Fault::new("missing field `id`"))?;
        let id = SessionId::parse(&id).map_err(|error| Fault::new(error.to_string()))?;
        let created = time(&mut fields, "created")?;
        let created = created.or(id.time()).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(Self {
            id,
            created,
            modified: time(&mut fields, "modified")?.unwrap_or(created),
            metadata: match taken(&mut fields, "metadata") {
                None => None,
                Some(Value::Object(metadata)) => Some(metadata),
                Some(_) => return Err(Fault::new("`metadata` is not an object").into()),
            },
            message_count: match taken(&mut fields, "message_count") {
                None => 0,
                Some(count) => count
                    .as_u64()
                    .ok_or_else(|| Fault::new("`message_count` is not a count"))?,
            },
            last_user_message: self::text(&mut fields, "last_user_message")?,
            api_style: self::text(&mut fields, "api_style")?,
            base_url: self::text(&mut fields, "base_url")?,
            model: self::text(&mut fields, "model")?,
            reasoning: self::text(&mut fields, "reasoning")?,
        })
    }
}

/// The size of a message's JSON text; of one whose attachments are gone, that of its own text.
pub(in crate::session) fn message_bytes(message: &Message) -> usize {
    let text = Record::Message(message.clone()).to_json();
    text.map_or_else(|_| message.text().len(), |text| text.len())
}

fn taken(fields: &mut Metadata, name: &str) -> Option<Value> {
    fields.remove(name).filter(|value| !value.is_null())
}

fn text(fields: &mut Metadata, name: &str) -> Result<Option<String>, Fault> {
    match taken(fields, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Fault::new(format!("`{name}` is not a string"))),
    }
}

fn time(fields: &mut Metadata, name: &str) -> Result<Option<Timestamp>, Fault> {
    match text(fields, name)? {
        None => Ok(None),
        Some(text) => match decode::time(&text) {
            Ok(time) => Ok(Some(time)),
            Err(fault) => Err(Fault::new(format!("`{name}`: {}", fault.message))),
        },
    }
}

/// A line as text, without its line break.
fn line(mut bytes: Vec<u8>) -> Result<String, SessionError> {
    bytes.pop();
    String::from_utf8(bytes)
        .map_err(|error| SessionError::Store(format!("a record is not UTF-8: {error}")))
}
