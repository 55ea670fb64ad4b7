//! Escapes of half characters, which JSON text may hold and Rust strings cannot.

use std::borrow::Cow;

/// Writes U+FFFD for every surrogate escape (`\ud83d`) that has lost its other half.
///
/// Nothing else changes, not even lengths.
pub(super) fn replaced(line: &[u8]) -> Cow<'_, [u8]> {
    let mut fixed: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < line.len() {
        if line[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = unit(&line[at..]) else {
            // Any other escape: what follows the backslash begins no escape of its own.
            at += 2;
            continue;
        };
        let pair = is_high(unit) && line.get(at + 6..).and_then(self::unit).is_some_and(is_low);
        if pair {
            at += 12;
        } else {
            if is_high(unit) || is_low(unit) {
                let fixed = fixed.get_or_insert_with(|| line.to_vec());
                fixed[at..at + 6].copy_from_slice(b"\\ufffd");
            }
            at += 6;
        }
    }
    fixed.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// The code unit of an escape `\uXXXX` that `text` begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
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
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u00e9 \ud8""#, r#""\u00e9 \ud8""#),
            (r#"\"#, r#"\"#),
        ];
        for (text, expected) in cases {
            assert_eq!(
                String::from_utf8_lossy(&replaced(text.as_bytes())),
                expected
            );
        }
    }
}
