//! Makes text harmless for a terminal, or for a line that people read.
//!
//! Text from a model, a tool or a file must never move the cursor, set a title or turn the
//! reading order round. Whole CSI sequences (colours, cursor movement) carry no text and are
//! dropped; every other control character is made visible, so that nothing is hidden.

/// How long a CSI sequence may be; what is longer is text that happens to follow an escape.
const MAX_SEQUENCE: usize = 64;

/// Makes a text harmless that arrives in pieces, cut anywhere between characters.
#[derive(Debug, Default)]
pub struct Sanitizer {
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Text,
    /// After a carriage return, which is dropped before a line feed.
    Return,
    /// After an escape character.
    Escape,
    /// Inside a CSI sequence of so many characters.
    Sequence(usize),
}

impl Sanitizer {
    /// A sanitizer at the beginning of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the harmless form of `piece` to `out`.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        for character in piece.chars() {
            self.push_char(character, out);
        }
    }

    /// Ends the text: what waited for its next character is made visible.
    pub fn finish(&mut self, out: &mut String) {
        match std::mem::take(&mut self.state) {
            State::Return => push_visible('\r', out),
            State::Escape => push_visible('\u{1b}', out),
            State::Text | State::Sequence(_) => {}
        }
    }

    fn push_char(&mut self, character: char, out: &mut String) {
        match (self.state, character) {
            (State::Escape, '[') => {
                self.state = State::Sequence(0);
                return;
            }
            (State::Sequence(length), '\u{20}'..='\u{3f}') if length < MAX_SEQUENCE => {
                self.state = State::Sequence(length + 1);
                return;
            }
            (State::Sequence(_), '\u{40}'..='\u{7e}') => {
                self.state = State::Text;
                return;
            }
            (State::Escape, _) => push_visible('\u{1b}', out),
            (State::Return, next) if next != '\n' => push_visible('\r', out),
            _ => {}
        }
        self.state = match character {
            '\r' => State::Return,
            '\u{1b}' => State::Escape,
            '\u{9b}' => State::Sequence(0),
            other => {
                push_visible(other, out);
                State::Text
            }
        };
    }
}

/// The harmless form of a whole text; line feeds and tabs stay.
pub fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut sanitizer = Sanitizer::new();
    sanitizer.push(text, &mut out);
    sanitizer.finish(&mut out);
    out
}

/// The harmless form of a text as one line of at most `max_chars` characters.
///
/// Every run of blanks and line breaks becomes one space; what is cut is marked by `…`.
pub fn sanitize_line(text: &str, max_chars: usize) -> String {
    // Only so much of the text can matter; a tool's input may have megabytes.
    let end = text
        .char_indices()
        .nth(max_chars.saturating_mul(8))
        .map_or(text.len(), |(end, _)| end);
    let clean = sanitize(&text[..end]);
    let mut line = String::new();
    let mut length = 0;
    for word in clean.split_whitespace() {
        let space = usize::from(length > 0);
        let word_length = word.chars().count();
        if length + space + word_length > max_chars {
            let room = max_chars.saturating_sub(length + space + 1);
            if space == 1 {
                line.push(' ');
            }
            line.extend(word.chars().take(room));
            line.push('…');
            return line;
        }
        if space == 1 {
            line.push(' ');
        }
        line.push_str(word);
        length += space + word_length;
    }
    if end < text.len() {
        line.push('…');
    }
    line
}

fn push_visible(character: char, out: &mut String) {
    match character {
        '\n' | '\t' => out.push(character),
        // Unicode has a picture for each C0 control, in their order.
        '\0'..='\u{1f}' => {
            let picture = char::from_u32(0x2400 + u32::from(character));
            out.push(picture.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        '\u{7f}' => out.push('\u{2421}'),
        '\u{80}'..='\u{9f}' => out.push(char::REPLACEMENT_CHARACTER),
        // Marks that right-to-left prose needs; they order no text but their own.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => out.push(character),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            out.push_str(&format!("<U+{:04X}>", u32::from(character)));
        }
        '\u{2028}' | '\u{2029}' => out.push('\n'),
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(text: &str) -> String {
        let mut out = String::new();
        let mut sanitizer = Sanitizer::new();
        for character in text.chars() {
            sanitizer.push(character.encode_utf8(&mut [0; 4]), &mut out);
        }
        sanitizer.finish(&mut out);
        out
    }

    #[test]
    fn control_characters_are_visible_and_sequences_gone() {
        let cases = [
            ("plain\n\ttext ü 🦀", "plain\n\ttext ü 🦀"),
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("\u{1b}[2J\u{1b}[1;1H\u{1b}[?25lx", "x"),
            ("\u{9b}2Jx", "x"),
            ("\u{1b}]0;title\u{7}x", "␛]0;title␇x"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "␛]8;;http://x␛\\link"),
            ("\u{1b}\u{1b}[1mx", "␛x"),
            ("\u{1b}c\u{1b}", "␛c␛"),
            ("\u{1b}[1", ""),
            ("\u{1b}[1\nx", "\nx"),
            ("a\r\nb\rc\r", "a\nb␍c␍"),
            ("\r\r\n", "␍\n"),
            ("\0\u{8}\u{7f}\u{85}", "␀␈␡\u{fffd}"),
            ("a\u{202e}b\u{2066}c", "a<U+202E>b<U+2066>c"),
            ("a\u{200f}b\u{2028}c", "a\u{200f}b\nc"),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize(text), expected, "{text:?}");
            assert_eq!(in_pieces(text), expected, "{text:?} in pieces");
        }
    }

    #[test]
    fn an_endless_sequence_hides_no_text() {
        let text = format!("\u{1b}[{}end", "1".repeat(1000));
        assert!(sanitize(&text).len() > 900);
    }

    #[test]
    fn a_line_is_one_line_and_short() {
        assert_eq!(sanitize_line("  a\n\tb  c ", 80), "a b c");
        assert_eq!(sanitize_line("abcdef ghi", 5), "abcd…");
        assert_eq!(sanitize_line("abc def", 5), "abc …");
        assert_eq!(sanitize_line("abc def", 7), "abc def");
        assert_eq!(sanitize_line(&" ".repeat(1_000_000), 5), "…");
    }
}
