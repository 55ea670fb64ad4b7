//! The text of a key, checked, and never shown.

use std::fmt;

use pantograph_providers::ApiKey;
use secrecy::{ExposeSecret, SecretString};

/// No key is longer; something else was given.
const MOST_BYTES: usize = 8 << 10;

/// The text of a key that a header can hold. `Debug` does not show it.
#[derive(Clone)]
pub struct KeyText(SecretString);

impl KeyText {
    /// Takes a key from a variable, a file or a program: printable ASCII, without the blanks
    /// round it.
    ///
    /// # Errors
    ///
    /// It is empty, too long, or has characters that no header can hold.
    pub fn parse(text: &str) -> Result<Self, KeyProblem> {
        // Some editors and shells put a mark before any text.
        let text = text.trim_start_matches('\u{feff}').trim();
        match text {
            "" => Err(KeyProblem::Empty),
            _ if text.len() > MOST_BYTES => Err(KeyProblem::TooLong),
            _ if text.chars().any(char::is_control) => Err(KeyProblem::Control),
            _ if !text.is_ascii() => Err(KeyProblem::NotAscii),
            _ => Ok(Self(SecretString::from(text))),
        }
    }

    /// Takes a key that a person enters, where a blank or a quote comes from pasting too much.
    ///
    /// # Errors
    ///
    /// As [`KeyText::parse`], or it has a blank inside or stands in quotes.
    pub fn entered(text: &str) -> Result<Self, KeyProblem> {
        let key = Self::parse(text)?;
        let text = key.expose();
        if text.contains(' ') {
            Err(KeyProblem::Blank)
        } else if text.starts_with(['"', '\'']) || text.ends_with(['"', '\'']) {
            Err(KeyProblem::Quoted)
        } else {
            Ok(key)
        }
    }

    /// The key as a protocol takes it, with the name of its source.
    pub fn to_api_key(&self, source: impl fmt::Display) -> ApiKey {
        ApiKey::new(self.expose(), source.to_string())
    }

    pub(in crate::credentials) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(…)")
    }
}

/// What is wrong with the text of a key. Does not hold the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// Nothing but blanks.
    #[error("it is empty")]
    Empty,
    /// A line break, or another control character.
    #[error("it has control characters")]
    Control,
    /// A letter that is not ASCII, or bytes that are no text.
    #[error("it has characters that no key has")]
    NotAscii,
    /// A blank inside, where a person enters it.
    #[error("it has a blank inside")]
    Blank,
    /// A quote at an end, where a person enters it.
    #[error("it stands in quotes; give it without them")]
    Quoted,
    /// Longer than any key.
    #[error("it is longer than any key: more than {} KiB", MOST_BYTES >> 10)]
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_printable_ascii_and_not_shown() {
        let key = KeyText::parse(" sk-secret\r\n").unwrap();
        assert_eq!(key.expose(), "sk-secret");
        assert_eq!(KeyText::parse("\u{feff}key").unwrap().expose(), "key");
        assert_eq!(format!("{key:?}"), "KeyText(…)");
        let api_key = key.to_api_key("the test");
        assert_eq!(format!("{api_key:?}"), "ApiKey(from the test)");
        let problem = |text: &str| KeyText::parse(text).unwrap_err();
        assert_eq!(problem(" \t\n"), KeyProblem::Empty);
        assert_eq!(problem("sk-\nsecret"), KeyProblem::Control);
        assert_eq!(problem("sk-\u{7f}secret"), KeyProblem::Control);
        assert_eq!(problem("sk-\u{fffd}"), KeyProblem::NotAscii);
        assert_eq!(problem(&"x".repeat(8193)), KeyProblem::TooLong);
        assert!(KeyText::parse(&"x".repeat(8192)).is_ok());
    }

    #[test]
    fn blanks_and_quotes_are_mistakes_of_a_person_only() {
        assert!(KeyText::parse("not needed").is_ok());
        let problem = |text: &str| KeyText::entered(text).unwrap_err();
        assert_eq!(problem("sk- secret"), KeyProblem::Blank);
        assert_eq!(problem("\"sk-secret\""), KeyProblem::Quoted);
        assert_eq!(problem("sk-secret'"), KeyProblem::Quoted);
        assert!(KeyText::entered(" sk-secret ").is_ok());
    }
}
