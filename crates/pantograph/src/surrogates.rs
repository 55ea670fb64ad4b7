//! Escapes of half characters, which JSON text may hold and Rust strings cannot.
//!
//! Whoever cuts text by UTF-16 units writes them: servers that send the halves of an emoji in
//! two deltas, models, and programs that store what these said.

use std::borrow::Cow;

/// What stands for a lone half: the escape of U+FFFD.
const REPLACEMENT: &str = "\\ufffd";

/// An escape of a UTF-16 unit has this many bytes.
const ESCAPE_BYTES: usize = REPLACEMENT.len();

/// Writes U+FFFD for every surrogate escape (`\ud83d`) that has lost its other half, so that
/// `json` decodes.
///
/// Nothing else changes, and nothing moves: both escapes have the same length. Text that is not
/// JSON, or not all of it, is treated alike.
///
/// ```
/// use pantograph::surrogates::mended;
///
/// assert_eq!(mended(r#""\ud83d""#), r#""\ufffd""#);
/// assert_eq!(mended(r#""\ud83d\ude00 \\ud83d""#), r#""\ud83d\ude00 \\ud83d""#);
/// ```
pub fn mended(json: &str) -> Cow<'_, str> {
    let mut lone = lone_halves(json.as_bytes()).peekable();
    if lone.peek().is_none() {
        return Cow::Borrowed(json);
    }
    let mut fixed = String::with_capacity(json.len());
    for at in lone {
        fixed.push_str(&json[fixed.len()..at]);
        fixed.push_str(REPLACEMENT);
    }
    fixed.push_str(&json[fixed.len()..]);
    Cow::Owned(fixed)
}

/// As [`mended`], of bytes that may be no text.
pub(crate) fn mended_bytes(json: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Cow::Borrowed(json);
    for at in lone_halves(json) {
        mended.to_mut()[at..at + ESCAPE_BYTES].copy_from_slice(REPLACEMENT.as_bytes());
    }
    mended
}

/// Where the escapes of lone halves begin. Only backslashes are looked at, since valid JSON has
/// them in strings only.
fn lone_halves(json: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = memchr::memchr(b'\\', json.get(at..)?) {
            let escape = at + found;
            let unit = |at| unit(json, at);
            let is_lone = match unit(escape) {
                Some(0xd800..=0xdbff) => match unit(escape + ESCAPE_BYTES) {
                    Some(0xdc00..=0xdfff) => {
                        at = escape + 2 * ESCAPE_BYTES;
                        continue;
                    }
                    _ => true,
                },
                Some(0xdc00..=0xdfff) => true,
                _ => false,
            };
            // What follows any other backslash begins no escape of its own.
            at = escape + if is_lone { ESCAPE_BYTES } else { 2 };
            if is_lone {
                return Some(escape);
            }
        }
        None
    })
}

/// The UTF-16 unit that a `\uXXXX` at `at` stands for.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| {
        Some(unit << 4 | char::from(digit).to_digit(16)? as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        let cases = [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ude00\ud83d x""#, r#""\ufffd\ufffd x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83dé""#, r#""\\\ufffdé""#),
            (r#""\u00e9 \ud8""#, r#""\u00e9 \ud8""#),
            (r#"\ud83d\é\ud8é"#, r#"\ufffd\é\ud8é"#),
            (r#"\ud83d\"#, r#"\ufffd\"#),
            (r#"\"#, r#"\"#),
            (r#"\ud83"#, r#"\ud83"#),
        ];
        for (text, expected) in cases {
            assert_eq!(mended(text), expected);
            assert_eq!(&*mended_bytes(text.as_bytes()), expected.as_bytes());
        }
        let broken = b"\xff \\ud83d \xff";
        assert_eq!(&*mended_bytes(broken), b"\xff \\ufffd \xff");
    }
}
