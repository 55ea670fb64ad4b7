//! One value against what its setting takes.

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::document::{Document, visible};
use super::error::{Problem, key_path};
use super::settings::{Kind, Setting};
use super::sourced::{Source, Sourced};
use super::tree::{Node, Table};
use crate::nearest::did_you_mean;

/// A year: longer waits are mistakes, and some clocks overflow.
const MOST_SECONDS: f64 = 31_536_000.0;
/// With delays of a minute each, more repetitions are for ever.
const MOST_COUNT: i64 = 100;

/// The value, if it is what `setting` takes.
pub(super) fn fit(
    document: &Document<'_>,
    setting: &Setting,
    path: &[String],
    value: &Spanned<DeValue<'_>>,
) -> Result<toml::Value, Problem> {
    scalar_or_list(setting.kind, value).map_err(|wrong| {
        let expected = setting.kind.expected();
        let found = found(wrong.get_ref());
        let near = near(setting.kind, wrong.get_ref());
        let message = format!("`{}` takes {expected}, not {found}{near}", key_path(path));
        document.problem(wrong.span(), message)
    })
}

/// A value of an extension's own settings, as it stands.
pub(super) fn plain(
    document: &Document<'_>,
    value: &Spanned<DeValue<'_>>,
    source: Source,
) -> Result<Node, Problem> {
    let DeValue::Table(table) = value.get_ref() else {
        let value = as_toml(value).map_err(|wrong| {
            document.problem(
                wrong.span(),
                format!("{} is out of range", found(wrong.get_ref())),
            )
        })?;
        return Ok(Node::Leaf(Sourced { value, source }));
    };
    let mut node = Table {
        source,
        ..Table::empty()
    };
    for (key, value) in table {
        let inner = plain(document, value, document.source(key.span().start))?;
        node.entries.insert(key.get_ref().to_string(), inner);
    }
    Ok(Node::Table(node))
}

/// The value, or the part of it that does not fit.
fn scalar_or_list<'a, 'i>(
    kind: Kind,
    value: &'a Spanned<DeValue<'i>>,
) -> Result<toml::Value, &'a Spanned<DeValue<'i>>> {
    match kind {
        Kind::Texts | Kind::Paths => list(value, Kind::Text),
        Kind::SomeOf(words) => list(value, Kind::OneOf(words)),
        Kind::Command => match value.get_ref() {
            DeValue::Array(items) if !items.is_empty() => {
                let (program, arguments) = (&items[0], &items[1..]);
                if scalar(Kind::Text, program).is_none() {
                    return Err(program);
                }
                match arguments.iter().find(|item| !item.get_ref().is_str()) {
                    Some(wrong) => Err(wrong),
                    None => as_toml(value),
                }
            }
            _ => Err(value),
        },
        kind => scalar(kind, value).ok_or(value),
    }
}

fn list<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    item_kind: Kind,
) -> Result<toml::Value, &'a Spanned<DeValue<'i>>> {
    let items = value.get_ref().as_array().ok_or(value)?;
    let fitting = items
        .iter()
        .map(|item| scalar(item_kind, item).ok_or(item))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(toml::Value::Array(fitting))
}

fn scalar(kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<toml::Value> {
    let value = as_toml(value).ok()?;
    let number = match &value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    };
    let fits = match kind {
        Kind::Text | Kind::Path => value.as_str().is_some_and(|text| !text.is_empty()),
        Kind::Url => value
            .as_str()
            .is_some_and(|text| !text.is_empty() && !names_a_user(text)),
        Kind::HeaderValue => value
            .as_str()
            .is_some_and(|text| !text.chars().any(|c| c.is_control() && c != '\t')),
        Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Kind::Flag => value.is_bool(),
        Kind::Seconds => number.is_some_and(|seconds| {
            // A duration has whole nanoseconds: less is none.
            (1e-9..=MOST_SECONDS).contains(&seconds)
        }),
        Kind::Count => value
            .as_integer()
            .is_some_and(|count| (0..=MOST_COUNT).contains(&count)),
        Kind::Tokens => value.as_integer().is_some_and(|tokens| tokens > 0),
        Kind::Dollars => number.is_some_and(|price| price >= 0.0 && price.is_finite()),
        Kind::SomeOf(_) | Kind::Texts | Kind::Paths | Kind::Command | Kind::Anything => false,
    };
    fits.then_some(value)
}

/// The value as it stands, or the number in it that is too large.
fn as_toml<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
) -> Result<toml::Value, &'a Spanned<DeValue<'i>>> {
    Ok(match value.get_ref() {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(toml::Value::Integer)
            .map_err(|_| value)?,
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map(toml::Value::Float)
            .map_err(|_| value)?,
        DeValue::Boolean(flag) => toml::Value::Boolean(*flag),
        DeValue::Datetime(time) => toml::Value::Datetime(*time),
        DeValue::Array(items) => toml::Value::Array(array(items)?),
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, value)| {
                let value = as_toml(value)?;
                Ok((key.get_ref().to_string(), value))
            });
            toml::Value::Table(entries.collect::<Result<_, _>>()?)
        }
    })
}

fn array<'a, 'i>(items: &'a DeArray<'i>) -> Result<Vec<toml::Value>, &'a Spanned<DeValue<'i>>> {
    items.iter().map(as_toml).collect()
}

/// What stands there, in words. Texts are not repeated: one may be a secret.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.is_empty() => "empty text".to_owned(),
        DeValue::String(_) => "this text".to_owned(),
        DeValue::Integer(number) => format!("`{number}`"),
        DeValue::Float(number) => format!("`{number}`"),
        DeValue::Boolean(flag) => format!("`{flag}`"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn near(kind: Kind, value: &DeValue<'_>) -> String {
    match (kind, value) {
        (Kind::OneOf(words) | Kind::SomeOf(words), DeValue::String(text)) => {
            let text: String = visible(text).collect();
            did_you_mean(&text, words.iter().copied())
        }
        (Kind::Url, DeValue::String(text)) if names_a_user(text) => {
            "; name the key's source with `api_key_env` or `api_key_command`, or send what the \
             provider wants with `headers`"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// Whether a URL has a part before an `@` that names who asks, as lenient readers see it.
fn names_a_user(url: &str) -> bool {
    let rest = url.split_once(':').map_or(url, |(_scheme, rest)| rest);
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}
