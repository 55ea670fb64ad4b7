//! What text from a file may not hide: control characters, directions, look-alikes.

use icu_normalizer::ComposingNormalizerBorrowed;

use super::lines::Place;
use super::{Code, Notes};

/// The text as it may be shown and compared; says what was taken out.
pub(super) fn clean(text: String, place: Place, notes: &mut Notes) -> String {
    if is_plain(&text) {
        return text;
    }
    let mut cleaned = text.replace("\r\n", "\n").replace('\r', "\n");
    if cleaned.contains(is_hidden) {
        cleaned.retain(|c| !is_hidden(c));
        let message = "control or direction characters were taken out";
        notes.warning(Code::ControlCharacters, place, message);
    }
    let cleaned = ComposingNormalizerBorrowed::new_nfc()
        .normalize(&cleaned)
        .into_owned();
    if is_one_word(&cleaned) && mixes_scripts(&cleaned) {
        let message = format!("`{cleaned}` mixes letters of scripts that look alike");
        notes.warning(Code::LookAlike, place, message);
    }
    cleaned
}

/// Whether nothing needs to be looked at.
fn is_plain(text: &str) -> bool {
    let plain = |b: u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
    text.bytes().all(plain)
}

/// Control characters but for tab and line feed, marks and overrides of direction, characters
/// without width that join nothing, and invisible tags.
fn is_hidden(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => c.is_control(),
    }
}

fn is_one_word(text: &str) -> bool {
    text.chars().count() <= 128 && !text.contains(char::is_whitespace)
}

/// Latin letters beside Greek or Cyrillic ones.
fn mixes_scripts(text: &str) -> bool {
    let latin = |c: char| c.is_ascii_alphabetic();
    let similar = |c: char| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}');
    text.contains(latin) && text.contains(similar)
}
