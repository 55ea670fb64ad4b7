//! A provider's own items, byte for byte.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Form;
use crate::raw_json::RawJson;

/// A provider's own item, if there is one.
#[derive(Default, Serialize)]
pub(super) struct Raw<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Verbatim<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_json: Option<&'a str>,
}

impl<'a> Raw<'a> {
    pub(super) fn new(raw: Option<&'a RawJson>, form: &Form<'_>) -> Self {
        match form {
            Form::Line(..) => Self {
                raw: raw.map(Verbatim::new),
                raw_json: None,
            },
            Form::Alone => Self {
                raw: None,
                raw_json: raw.map(RawJson::as_str),
            },
        }
    }
}

/// JSON text that is written as it is, on one line.
struct Verbatim<'a>(Cow<'a, str>);

impl<'a> Verbatim<'a> {
    fn new(raw: &'a RawJson) -> Self {
        let text = raw.as_str();
        // A line break can only be white space between tokens: inside a string it is escaped.
        if text.contains(['\n', '\r']) {
            Self(Cow::Owned(text.replace(['\n', '\r'], " ")))
        } else {
            Self(Cow::Borrowed(text))
        }
    }
}

impl Serialize for Verbatim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(&self.0).map_err(<S::Error as serde::ser::Error>::custom)?;
        raw.serialize(serializer)
    }
}
