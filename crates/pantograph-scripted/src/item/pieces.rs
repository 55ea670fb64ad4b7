//! A text that is played in pieces, over and over.

use std::time::Duration;

use crate::take::filled;

/// A text, where it is cut, and how often it is played.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    text: String,
    /// Where a piece ends, in bytes; the last one ends with the text.
    ends: Box<[usize]>,
    pub(super) count: u64,
    pub(super) pace: Option<Duration>,
}

impl Pieces {
    pub(super) fn new(text: String) -> Self {
        let ends = Box::new([text.len()]);
        Self {
            text,
            ends,
            count: 1,
            pace: None,
        }
    }

    /// Cuts the text into `pieces` of as nearly as possible equally many characters.
    pub(super) fn split(&mut self, pieces: usize) {
        let characters = self.text.chars().count();
        let pieces = pieces.clamp(1, characters.max(1));
        let starts: Vec<usize> = self.text.char_indices().map(|(start, _)| start).collect();
        self.ends = (1..=pieces)
            .map(|piece| {
                // In 128 bits, since the product of two lengths can be wider than a length.
                let character = piece as u128 * characters as u128 / pieces as u128;
                usize::try_from(character)
                    .ok()
                    .and_then(|character| starts.get(character).copied())
                    .unwrap_or(self.text.len())
            })
            .collect();
    }

    /// Puts what was taken from a request into the text, and cuts it anew.
    pub(super) fn fill(&mut self, taken: &[(&str, String)]) {
        self.text = filled(&self.text, taken);
        self.split(self.ends.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() || self.count == 0
    }

    /// How many pieces are played altogether.
    pub(super) fn len(&self) -> u64 {
        (self.ends.len() as u64).saturating_mul(self.count)
    }

    /// The piece at `position`; nothing if the text is never played.
    pub(super) fn get(&self, position: u64) -> &str {
        if self.count == 0 {
            return "";
        }
        let piece = (position % self.ends.len() as u64) as usize;
        let start = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[piece]]
    }

    pub(super) fn pace_before(&self, position: u64) -> Option<Duration> {
        self.pace.filter(|_| position > 0 && position < self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, pieces: usize) -> String {
        let mut cut = Pieces::new(text.to_owned());
        cut.split(pieces);
        let parts: Vec<&str> = (0..cut.len()).map(|position| cut.get(position)).collect();
        assert_eq!(parts.concat(), text);
        parts.join("|")
    }

    #[test]
    fn pieces_are_whole_characters_and_never_empty() {
        let cases = [
            ("hello", 1, "hello"),
            ("hello", 2, "he|llo"),
            ("hello", 99, "h|e|l|l|o"),
            ("hello", 0, "hello"),
            ("😀a", 2, "😀|a"),
            ("aé😀b", 3, "a|é|😀b"),
            ("", 3, ""),
        ];
        for (text, pieces, expected) in cases {
            assert_eq!(cut(text, pieces), expected, "{text:?} in {pieces}");
        }
    }
}
