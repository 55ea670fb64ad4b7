//! Text that JSON can hold and providers refuse, made harmless.

use std::borrow::Cow;

use memchr::memmem;
use pantograph::{RawJson, tool_input};

/// Whether a text says nothing to any provider.
///
/// They differ in what is white space to them, and a text of control characters alone is.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || matches!(c, '\u{200B}' | '\u{FEFF}'))
}

/// The text without NUL.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    match memchr::memchr(0, text.as_bytes()).is_some() {
        true => Cow::Owned(text.replace('\0', "\u{FFFD}")),
        false => Cow::Borrowed(text),
    }
}

/// [`text`] of one that may be owned.
pub(crate) fn cow(shared: Cow<'_, str>) -> Cow<'_, str> {
    match shared {
        Cow::Borrowed(borrowed) => text(borrowed),
        Cow::Owned(owned) => Cow::Owned(text(&owned).into_owned()),
    }
}

/// The input of a call as an object, without NUL.
pub(crate) fn object(input: &str) -> RawJson {
    let object = tool_input::wire_object(input);
    without_nul(object.as_str())
        .and_then(|text| RawJson::parse(&text).ok())
        .unwrap_or(object)
}

/// JSON text with `\ufffd` for each `\u0000`; `None` if there is none.
fn without_nul(json: &str) -> Option<String> {
    const NUL: &str = "\\u0000";
    // Almost never there.
    memmem::find(json.as_bytes(), NUL.as_bytes())?;
    let mut harmless = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let escape = at + found;
        // What is escaped by one byte is ASCII in JSON.
        at = escape + 2;
        if json[escape..].starts_with(NUL) {
            harmless.push_str(&json[copied..escape]);
            harmless.push_str("\\ufffd");
            copied = escape + NUL.len();
            at = copied;
        }
    }
    (copied > 0).then(|| harmless + &json[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_white_space_or_control_characters_is_blank() {
        for blank in [
            "",
            " \t\r\n",
            "\u{1c}\u{1f}\0",
            "\u{feff}",
            "\u{2028}\u{a0}",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        assert!(!is_blank(" . ") && !is_blank("\0x"));
    }

    #[test]
    fn nul_is_replaced_and_what_only_looks_like_it_is_not() {
        let cases = [
            (r#"{"a":"\u0000"}"#, r#"{"a":"\ufffd"}"#),
            (r#"{"a":"\\u0000"}"#, r#"{"a":"\\u0000"}"#),
            (
                r#"{ "\\\u0000b" :"\u0001\"" }"#,
                r#"{ "\\\ufffdb" :"\u0001\"" }"#,
            ),
            (r#"{"a":"\ud800"}"#, r#"{"a":"\ufffd"}"#),
        ];
        for (input, wire) in cases {
            assert_eq!(object(input).as_str(), wire);
        }
        assert_eq!(text("a\0b"), "a\u{FFFD}b");
    }
}
