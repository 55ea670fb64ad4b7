//! Where in a text a byte stands, as people count.

/// A place in a text, both from 1; the column counts characters. A line ends with `\n`, `\r\n`
/// or `\r`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// The place of the byte at `offset`; bytes that are no UTF-8 count as characters.
    pub(crate) fn of(text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let mut line = 1;
        let mut start = 0;
        for (at, byte) in before.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                // One end, which the line feed is.
                b'\r' => text.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                line += 1;
                start = at + 1;
            }
        }
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn lines_and_characters_count_from_one() {
        let place = |text: &str, offset| {
            let Position { line, column } = Position::of(text.as_bytes(), offset);
            (line, column)
        };
        assert_eq!(place("", 9), (1, 1));
        assert_eq!(place("äb", 2), (1, 2));
        assert_eq!(place("a\r\nb\rc\nd", 3), (2, 1));
        assert_eq!(place("a\r\nb\rc\nd", 5), (3, 1));
        assert_eq!(place("a\r\nb\rc\nd", 7), (4, 1));
    }
}
