//! A file against the table of settings: values that do not fit, and keys that nobody knows.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::Document;
use super::error::{ConfigWarning, Problem, key_path};
use super::fit::{fit, plain};
use super::settings::{Kind, Setting, settings};
use super::sourced::{Source, Sourced};
use super::tree::{Node, Table};
use crate::nearest::did_you_mean;

/// Reads a file as TOML; the error says what was expected instead.
pub(super) fn parse<'a>(document: &Document<'a>) -> Result<DeTable<'a>, Problem> {
    DeTable::parse(document.text)
        .map(Spanned::into_inner)
        .map_err(|error| {
            let end = document.text.len();
            let span = error.span().unwrap_or(end..end);
            document.problem(
                span,
                format!("not valid TOML: {}", one_line(error.message())),
            )
        })
}

/// Checks every value; keys that nobody knows are left out, with a warning each.
pub(super) fn check(
    document: &Document<'_>,
    root: &DeTable<'_>,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<Table, Problem> {
    let mut unknown = Vec::new();
    let mut checker = Checker {
        document,
        unknown: &mut unknown,
    };
    let table = checker.table("", &mut Vec::new(), root, document.source(0))?;
    unknown.sort_by_key(|(start, _)| *start);
    warnings.extend(unknown.into_iter().map(|(_, warning)| warning));
    Ok(table)
}

struct Checker<'a> {
    document: &'a Document<'a>,
    unknown: &'a mut Vec<(usize, ConfigWarning)>,
}

/// What the table of settings has for a key.
enum Step {
    Setting(&'static Setting),
    Group(String),
    Unknown,
}

impl Checker<'_> {
    fn table(
        &mut self,
        pattern: &str,
        path: &mut Vec<String>,
        table: &DeTable<'_>,
        source: Source,
    ) -> Result<Table, Problem> {
        let mut entries = Table {
            source,
            ..Table::empty()
        };
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            if let Some(node) = self.entry(pattern, path, key.span(), value)? {
                entries.entries.insert(key.get_ref().to_string(), node);
            }
            path.pop();
        }
        self.one_key_source(pattern, table)?;
        Ok(entries)
    }

    fn entry(
        &mut self,
        pattern: &str,
        path: &mut Vec<String>,
        key: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Node>, Problem> {
        let source = self.document.source(key.start);
        let name = path.last().map(String::as_str).unwrap_or_default();
        match step(pattern, name) {
            Step::Setting(setting) if setting.kind == Kind::Anything => {
                plain(self.document, value, source).map(Some)
            }
            Step::Setting(setting) => {
                let value = fit(self.document, setting, path, value)?;
                Ok(Some(Node::Leaf(Sourced { value, source })))
            }
            Step::Group(pattern) => {
                self.name(&pattern, name, key)?;
                let Some(table) = value.get_ref().as_table() else {
                    let message = format!("`{}` takes a table", key_path(path));
                    return Err(self.document.problem(value.span(), message));
                };
                let table = self.table(&pattern, path, table, source)?;
                Ok(Some(Node::Table(table)))
            }
            Step::Unknown => {
                let warning = ConfigWarning::UnknownKey {
                    place: self.document.place(key.start),
                    key: key_path(path),
                    hint: hint(pattern, name),
                };
                self.unknown.push((key.start, warning));
                Ok(None)
            }
        }
    }

    /// Names that the file chooses must fit into `provider:alias`.
    fn name(&self, pattern: &str, name: &str, key: Range<usize>) -> Result<(), Problem> {
        let problem = |message: &str| Err(self.document.problem(key.clone(), message));
        match pattern {
            "providers.*"
                if name.is_empty()
                    || !name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') =>
            {
                problem("a provider's name is made of letters, digits, `_` and `-`")
            }
            "providers.*.models.*"
                if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) =>
            {
                problem("a model's alias has no blanks and is not empty")
            }
            _ => Ok(()),
        }
    }

    /// A provider has its key from one place.
    fn one_key_source(&self, pattern: &str, table: &DeTable<'_>) -> Result<(), Problem> {
        if pattern != "providers.*" || !table.contains_key("api_key_env") {
            return Ok(());
        }
        match table.get_key_value("api_key_command") {
            Some((key, _)) => Err(self.document.problem(
                key.span(),
                "a provider takes its key from `api_key_env` or from `api_key_command`, not both",
            )),
            None => Ok(()),
        }
    }
}

fn step(pattern: &str, name: &str) -> Step {
    for segment in [name, "*"] {
        let key = join(pattern, segment);
        if let Some(setting) = settings().find(|setting| setting.key == key) {
            return Step::Setting(setting);
        }
        let group = format!("{key}.");
        if settings().any(|setting| setting.key.starts_with(&group)) {
            return Step::Group(key);
        }
    }
    Step::Unknown
}

fn join(pattern: &str, segment: &str) -> String {
    if pattern.is_empty() {
        segment.to_owned()
    } else {
        format!("{pattern}.{segment}")
    }
}

/// What was probably meant by a key that nobody knows.
fn hint(pattern: &str, name: &str) -> String {
    if pattern == "providers.*" && name.eq_ignore_ascii_case("api_key") {
        return "; keys do not belong in this file: name their source with `api_key_env` or \
                `api_key_command`"
            .to_owned();
    }
    let prefix = join(pattern, "");
    let known = settings()
        .filter_map(|setting| setting.key.strip_prefix(&prefix)?.split('.').next())
        .filter(|segment| *segment != "*");
    did_you_mean(name, known)
}

/// The parser's message on one line; some have more.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
