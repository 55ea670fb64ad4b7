//! JSON that does a terminal no harm, however it is shown: every JSON text that panto prints.

use std::io;

use serde::Serialize;

/// One value as one line of JSON, line feed included.
///
/// JSON must escape the C0 controls only. Here delete, the C1 controls, line and paragraph
/// separators and the marks that turn the reading order round are escaped too, as `\uXXXX`: to a
/// program the value is the same.
///
/// # Errors
///
/// The value has no JSON form.
pub fn json_line(value: &impl Serialize) -> io::Result<String> {
    Ok(escaped(serde_json::to_string(value)?))
}

/// The same on many lines, for people who look at it.
///
/// # Errors
///
/// As [`json_line`].
pub fn json_pretty(value: &impl Serialize) -> io::Result<String> {
    Ok(escaped(serde_json::to_string_pretty(value)?))
}

/// JSON has these characters only inside strings, where an escape stands for each.
fn escaped(mut json: String) -> String {
    if json.contains(is_harmful) {
        let mut out = String::with_capacity(json.len() + 64);
        for character in json.chars() {
            if is_harmful(character) {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            } else {
                out.push(character);
            }
        }
        json = out;
    }
    json.push('\n');
    json
}

/// All of them are in the basic plane: one escape each.
fn is_harmful(character: char) -> bool {
    matches!(
        character,
        '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_harm_a_terminal_is_escaped_and_reads_back_the_same() {
        let text = "a\u{1b}[2J\u{7f}\u{85}\u{9b}2J\u{200f}\u{202e}\u{2028}\u{2066} ü 🦀\\\u{9f}";
        let line = json_line(&[text]).unwrap();
        insta::assert_snapshot!(line, @r#"["a\u001b[2J\u007f\u0085\u009b2J\u200f\u202e\u2028\u2066 ü 🦀\\\u009f"]"#);
        assert!(line.ends_with("]\n"));
        let pretty = json_pretty(&[text]).unwrap();
        for json in [line, pretty] {
            assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
        }
    }
}
