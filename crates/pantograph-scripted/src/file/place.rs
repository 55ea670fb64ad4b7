//! Where in a text something is wrong.

use std::path::Path;

use super::ScriptError;

/// Characters of a line up to which it is shown.
const MAX_EXCERPT: usize = 160;

/// A place in a text.
pub(super) struct Place<'a> {
    /// From zero.
    line: usize,
    line_text: &'a str,
    /// In characters, from zero.
    column: usize,
}

impl<'a> Place<'a> {
    /// The place of a byte.
    pub(super) fn at_offset(text: &'a str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: before.matches('\n').count(),
            line_text: text[line_start..].lines().next().unwrap_or_default(),
            column: before[line_start..].chars().count(),
        }
    }

    /// The place of a line and a byte in it, both from one, as `serde_json` counts.
    pub(super) fn at_line_and_byte(text: &'a str, line: usize, byte: usize) -> Self {
        let before = text.split_inclusive('\n').take(line.saturating_sub(1));
        let line_start: usize = before.map(str::len).sum();
        Self::at_offset(text, line_start + byte.saturating_sub(1))
    }

    pub(super) fn error(self, file: Option<&Path>, message: &str) -> ScriptError {
        ScriptError::Parse {
            file: file.map(Path::to_owned),
            line: self.line + 1,
            column: self.column + 1,
            message: message.trim_end().replace('\n', "; "),
            excerpt: self.excerpt(),
        }
    }

    fn excerpt(&self) -> String {
        if self.line_text.trim().is_empty() || self.line_text.chars().count() > MAX_EXCERPT {
            return String::new();
        }
        // Tabs stay, so that the mark stands below its character however wide they are.
        let blank = |character| if character == '\t' { '\t' } else { ' ' };
        let indent: String = self
            .line_text
            .chars()
            .take(self.column)
            .map(blank)
            .collect();
        format!("\n  | {}\n  | {indent}^", self.line_text)
    }
}
