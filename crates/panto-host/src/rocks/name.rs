//! What a rock is called.

use std::fmt;
use std::str::FromStr;

/// A rock as people and `extensions.rocks` name it: `name`, or `namespace/name`.
///
/// It holds nothing that `luarocks` takes for an option, a path, a URL or an assignment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RockName(String);

/// A text names no rock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no rock: letters, digits, `_`, `-` and `.` make a name, and it begins with a \
     letter or a digit"
)]
pub struct BadRockName(String);

impl RockName {
    /// Reads a name, with `@` and a version behind it if one is wanted.
    ///
    /// # Errors
    ///
    /// [`BadRockName`].
    pub fn parse_with_version(text: &str) -> Result<(Self, Option<String>), BadRockName> {
        match text.split_once('@') {
            None => Ok((text.parse()?, None)),
            Some((name, version)) if is_plain(version) => {
                Ok((name.parse()?, Some(version.to_owned())))
            }
            Some(_) => Err(BadRockName(text.to_owned())),
        }
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The rock's own name, without a namespace.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl FromStr for RockName {
    type Err = BadRockName;

    fn from_str(text: &str) -> Result<Self, BadRockName> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_file = [".rock", ".rockspec"].iter().any(|end| text.ends_with(end));
        if parts.len() <= 2 && parts.iter().all(|part| is_plain(part)) && !is_file {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadRockName(text.to_owned()))
        }
    }
}

impl fmt::Display for RockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_plain(text: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 100
        && text.chars().all(is_of_a_name)
        && !text.split('.').any(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_read() {
        let read = |text| match RockName::parse_with_version(text) {
            Ok((name, version)) => format!("{name} {}", version.as_deref().unwrap_or("any")),
            Err(_) => "none".to_owned(),
        };
        let read: Vec<_> = [
            "penlight",
            "lua-cjson@2.1.0-1",
            "ada/notes@1.0",
            "a.b",
            "",
            "-x",
            "../up",
            "a/b/c",
            "a..b",
            "a.rockspec",
            "CC=evil",
            "http://x",
            "a@",
            "a@--force",
            "a b",
        ]
        .map(read)
        .to_vec();
        insta::assert_snapshot!(read.join("; "), @"penlight any; lua-cjson 2.1.0-1; ada/notes 1.0; a.b any; none; none; none; none; none; none; none; none; none; none; none");
    }
}
