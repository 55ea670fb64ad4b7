//! Escapes of half characters, which JSON text may hold and Rust strings cannot.
//!
//! Servers that cut text by UTF-16 units send them: an emoji whose halves come in two deltas.

/// Writes U+FFFD for every surrogate escape (`\ud83d`) that has lost its other half.
pub(super) fn replaced(data: String) -> String {
    // Almost always all there is to do.
    if !data.contains("\\ud") && !data.contains("\\uD") {
        return data;
    }
    let mut fixed = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = data[at..].find('\\') {
        let escape = at + found;
        let unit = |at: usize| unit(data.get(at..)?);
        at = match unit(escape) {
            // What follows the backslash begins no escape of its own.
            None => escape + 1 + data[escape + 1..].chars().next().map_or(0, char::len_utf8),
            Some(high) if is_high(high) && unit(escape + 6).is_some_and(is_low) => escape + 12,
            Some(half) if is_high(half) || is_low(half) => {
                fixed.push_str(&data[copied..escape]);
                fixed.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            Some(_) => escape + 6,
        };
    }
    match copied {
        0 => data,
        _ => fixed + &data[copied..],
    }
}

/// The code unit of an escape `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_hex.then(|| u16::from_str_radix(digits, 16).ok())?
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
            (r#""\\\ud83dé""#, r#""\\\ufffdé""#),
            (r#""\u00e9 \ud8""#, r#""\u00e9 \ud8""#),
            (r#"\ud83d\é\ud8é"#, r#"\ufffd\é\ud8é"#),
            (r#"\ud83d\"#, r#"\ufffd\"#),
        ];
        for (text, expected) in cases {
            assert_eq!(replaced(text.to_owned()), expected);
        }
    }
}
