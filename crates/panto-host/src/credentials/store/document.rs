//! What the credential file holds. Whatever is not known is kept.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use super::Stored;
use super::error::StoreError;
use crate::config::shown;
use crate::credentials::key::{KeyProblem, KeyText};

/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;

/// The object in the file; `providers` is an object of objects, or missing. `Debug` shows no key.
#[derive(Clone, Default)]
pub(super) struct Document(Map<String, Value>);

impl Document {
    /// Reads the bytes of a file. A file without any text is one without entries.
    ///
    /// Checked by hand: what a typed reader says of a wrong value repeats the value.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let value = serde_json::from_slice(bytes).map_err(|error| StoreError::Syntax {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            problem: without_place(&error),
        })?;
        let shape = |what: String| StoreError::Shape {
            path: path.to_owned(),
            what,
        };
        let Value::Object(object) = value else {
            return Err(shape("it is no object".to_owned()));
        };
        match object.get("version").map(Value::as_u64) {
            None | Some(Some(..=VERSION)) => {}
            Some(Some(version)) => {
                return Err(StoreError::Newer {
                    path: path.to_owned(),
                    version,
                });
            }
            Some(None) => return Err(shape("`version` is no whole number".to_owned())),
        }
        match object.get("providers") {
            None => {}
            Some(Value::Object(providers)) => {
                let wrong = providers.iter().find(|(_, entry)| !entry.is_object());
                if let Some((name, _)) = wrong {
                    let name = shown(name);
                    return Err(shape(format!(
                        "`providers`: the entry `{name}` is no object with a `key`"
                    )));
                }
            }
            Some(_) => return Err(shape("`providers` is no object".to_owned())),
        }
        Ok(Self(object))
    }

    /// The providers with an entry, sorted.
    pub(super) fn providers(&self) -> Vec<String> {
        let mut names: Vec<String> = self.entries().map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    pub(super) fn has(&self, provider: &str) -> bool {
        self.entry(provider).is_some()
    }

    pub(super) fn key(&self, provider: &str) -> Result<Option<KeyText>, KeyProblem> {
        match self.entry(provider) {
            None => Ok(None),
            Some(entry) => KeyText::parse(text_of(entry)).map(Some),
        }
    }

    /// Sets a provider's key, and leaves the rest of its entry as it is.
    pub(super) fn set(&mut self, provider: &str, key: &KeyText) -> Stored {
        self.0.entry("version").or_insert_with(|| VERSION.into());
        let providers = object_in(&mut self.0, "providers");
        let entry = object_in(providers, provider);
        match entry.insert("key".to_owned(), key.expose().into()) {
            None => Stored::Added,
            Some(old) if old.as_str() == Some(key.expose()) => Stored::Unchanged,
            Some(_) => Stored::Replaced,
        }
    }

    /// Removes a provider's entry; false if there was none.
    pub(super) fn remove(&mut self, provider: &str) -> bool {
        // What stays keeps its order.
        object_in(&mut self.0, "providers")
            .shift_remove(provider)
            .is_some()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        format!("{:#}\n", Value::Object(self.0.clone())).into_bytes()
    }

    fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        let providers = self.0.get("providers").and_then(Value::as_object);
        providers.into_iter().flatten()
    }

    fn entry(&self, provider: &str) -> Option<&Value> {
        self.0.get("providers")?.get(provider)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.providers()).finish()
    }
}

/// The key of an entry; one that is no text is as good as none.
fn text_of(entry: &Value) -> &str {
    let key = entry.get("key").and_then(Value::as_str);
    key.unwrap_or_default()
}

/// The object called `name`, made if it is not there.
fn object_in<'a>(map: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(name).or_insert_with(|| Value::Object(Map::new()));
    // Parsing has seen to it that it is one.
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(object) => object,
        _ => unreachable!("it was made an object"),
    }
}

/// What the reader of JSON says, without the place that stands beside it.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((problem, _)) => problem.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Document, String> {
        Document::parse(text.as_bytes(), Path::new("/f")).map_err(|error| error.to_string())
    }

    #[test]
    fn whatever_is_not_known_is_kept_where_it_is() {
        let text = r#"{"note": "mine", "providers": {"b": {"made": 1.5, "key": "old"}, "a": {"key": "x"}, "c": {"token": "t"}}, "more": [null]}"#;
        let mut document = parsed(text).unwrap();
        let key = KeyText::parse("new").unwrap();
        assert_eq!(document.set("b", &key), Stored::Replaced);
        assert_eq!(document.set("b", &key), Stored::Unchanged);
        assert_eq!(document.set("d", &key), Stored::Added);
        assert!(document.remove("a"));
        assert!(!document.remove("a"));
        insta::assert_snapshot!(String::from_utf8(document.to_bytes()).unwrap(), @r#"
        {
          "note": "mine",
          "providers": {
            "b": {
              "made": 1.5,
              "key": "new"
            },
            "c": {
              "token": "t"
            },
            "d": {
              "key": "new"
            }
          },
          "more": [
            null
          ],
          "version": 1
        }
        "#);
        assert_eq!(format!("{document:?}"), r#"{"b", "c", "d"}"#);
    }

    #[test]
    fn a_file_without_text_has_no_entries() {
        assert_eq!(parsed("\u{feff} \n").unwrap().providers(), [""; 0]);
        assert_eq!(parsed("{}").unwrap().providers(), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_said_without_what_is_there() {
        let errors: Vec<String> = [
            "{\"providers\": {\"a\": {\"key\": \"sk-secret",
            "providers:\n  a: sk-secret",
            "{\n  \"providers\": {\"a\": {\"key\": \"sk-secret\"} \"b\"",
            "\"sk-secret\"",
            "{\"providers\": \"sk-secret\"}",
            "{\"providers\": {\"a\": \"sk-secret\"}}",
            "{\"version\": \"sk-secret\"}",
            "{\"version\": 2, \"providers\": 7}",
        ]
        .into_iter()
        .map(|text| parsed(text).unwrap_err())
        .collect();
        insta::assert_snapshot!(errors.join("\n"), @"
        the credential file is broken: /f:1:38: EOF while parsing a string
        the credential file is broken: /f:1:1: expected value
        the credential file is broken: /f:2:43: expected `,` or `}`
        the credential file `/f` is broken: it is no object
        the credential file `/f` is broken: `providers` is no object
        the credential file `/f` is broken: `providers`: the entry `a` is no object with a `key`
        the credential file `/f` is broken: `version` is no whole number
        the credential file `/f` is of version 2, which this panto does not know; use a newer one
        ");
    }

    #[test]
    fn an_entry_without_a_key_is_a_problem_of_its_own() {
        let document = parsed(r#"{"providers": {"a": {}, "b": {"key": 7}, "c": {"key": "x\ny"}}}"#);
        let document = document.unwrap();
        let problem = |name: &str| document.key(name).unwrap_err();
        assert_eq!(problem("a"), KeyProblem::Empty);
        assert_eq!(problem("b"), KeyProblem::Empty);
        assert_eq!(problem("c"), KeyProblem::Control);
        assert!(document.key("d").unwrap().is_none());
    }
}
