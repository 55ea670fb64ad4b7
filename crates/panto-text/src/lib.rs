//! How many columns text has on a terminal, and how it is cut and wrapped to them.
//!
//! The one width authority: Lua's `panto.text` and the terminal engine both measure here, so
//! that what one has cut the other finds to fit. It is pure: no terminal, no locale, no Lua.
//!
//! Text is measured by grapheme clusters. Escape sequences have no width and are never cut; a tab
//! counts as [`TAB`] columns and comes out as so many blanks; other control characters have no
//! width.
//!
//! ```
//! assert_eq!(panto_text::width("\u{1b}[1mnaïve 漢字\u{1b}[0m"), 10);
//! assert_eq!(panto_text::truncate("漢字と仮名", 7), "漢字と…");
//! assert_eq!(panto_text::wrap("a longer line", 8), ["a longer", "line"]);
//! ```

mod pieces;

use pieces::{Piece, pieces};

/// How many columns a tab counts as, wherever it stands.
pub const TAB: usize = 4;

/// What [`truncate`] puts in place of what it cuts.
const ELLIPSIS: &str = "…";

/// What stands for a cluster that is wider than the whole line.
const TOO_WIDE: &str = "\u{fffd}";

/// How many columns the widest line of `text` has.
pub fn width(text: &str) -> usize {
    let mut widest = 0;
    let mut columns = 0;
    for piece in pieces(text) {
        match piece {
            Piece::Break => columns = 0,
            piece => columns += piece.width(),
        }
        widest = widest.max(columns);
    }
    widest
}

/// The first line of `text`, cut to at most `columns`.
///
/// What is cut is replaced by `…`, which counts. Escape sequences are all kept, so that a style
/// ends where it would have ended.
pub fn truncate(text: &str, columns: usize) -> String {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let fits = width(line) <= columns && line.len() == text.len();
    let room = match fits {
        true => columns,
        false => columns.saturating_sub(1),
    };
    let mut out = String::with_capacity(line.len());
    let mut used = 0;
    let mut is_cut = false;
    for piece in pieces(line) {
        if let Piece::Escape(sequence) = piece {
            out.push_str(sequence);
            continue;
        }
        if is_cut {
            continue;
        }
        if used + piece.width() > room {
            is_cut = true;
            mark(&mut out, columns);
            continue;
        }
        used += piece.width();
        piece.write(&mut out);
    }
    if !fits && !is_cut {
        mark(&mut out, columns);
    }
    out
}

fn mark(out: &mut String, columns: usize) {
    if columns > 0 {
        out.push_str(ELLIPSIS);
    }
}

/// The lines of `text`, each at most `columns` wide.
///
/// Lines break at blanks, and within a word only if the word alone is too long. The blanks at
/// which a line was broken are left out; those at the beginning of a line of the text stay.
/// Escape sequences stay where they are. A cluster wider than `columns` becomes U+FFFD. With no
/// columns there is nothing to show, but still a line for each line of the text.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut wrapper = Wrapper {
        columns,
        lines: Vec::new(),
        line: String::new(),
        used: 0,
        blanks: String::new(),
        blank_columns: 0,
        word: String::new(),
        word_columns: 0,
        is_fresh: true,
    };
    for piece in pieces(text) {
        wrapper.piece(piece);
    }
    wrapper.end_line();
    wrapper.lines
}

struct Wrapper {
    columns: usize,
    lines: Vec<String>,
    /// What the current line holds for certain.
    line: String,
    used: usize,
    /// The blanks after that, which go if the next word does not fit.
    blanks: String,
    blank_columns: usize,
    /// The word after those.
    word: String,
    word_columns: usize,
    /// Whether nothing of the text's line has been put out: its own first blanks stay.
    is_fresh: bool,
}

impl Wrapper {
    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Break => self.end_line(),
            Piece::Escape(sequence) => self.word.push_str(sequence),
            Piece::Blank(_) | Piece::Tab => {
                self.end_word();
                piece.write(&mut self.blanks);
                self.blank_columns += piece.width();
            }
            Piece::Cluster(cluster, width) if width > self.columns => {
                if self.columns > 0 {
                    self.cluster(TOO_WIDE, 1);
                }
                let _ = cluster;
            }
            Piece::Cluster(cluster, width) => self.cluster(cluster, width),
        }
    }

    fn cluster(&mut self, cluster: &str, width: usize) {
        if self.word_columns + width > self.columns {
            // The word alone is too long: it fills its lines.
            self.end_word();
            self.break_line();
        }
        self.word.push_str(cluster);
        self.word_columns += width;
    }

    /// Puts the word on this line, or on the next one.
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if self.used + self.blank_columns + self.word_columns > self.columns {
            if self.is_fresh {
                // A line's own indent, as far as it fits.
                self.indent();
            }
            if self.used + self.word_columns > self.columns || !self.is_fresh {
                self.break_line();
            }
        } else {
            self.line.push_str(&self.blanks);
            self.used += self.blank_columns;
        }
        self.blanks.clear();
        self.blank_columns = 0;
        self.line.push_str(&self.word);
        self.used += self.word_columns;
        self.word.clear();
        self.word_columns = 0;
        self.is_fresh = false;
    }

    /// Puts out as many of the blanks as fit.
    fn indent(&mut self) {
        let room = self.columns - self.used;
        let taken = self.blank_columns.min(room);
        self.line.extend(std::iter::repeat_n(' ', taken));
        self.used += taken;
    }

    fn break_line(&mut self) {
        self.blanks.clear();
        self.blank_columns = 0;
        if !(self.line.is_empty() && self.is_fresh) {
            self.lines.push(std::mem::take(&mut self.line));
        }
        self.used = 0;
        self.is_fresh = false;
    }

    fn end_line(&mut self) {
        self.end_word();
        // Blanks at the end of a line are its own, as far as they fit.
        self.indent();
        self.blanks.clear();
        self.blank_columns = 0;
        self.lines.push(std::mem::take(&mut self.line));
        self.used = 0;
        self.is_fresh = true;
    }
}

#[cfg(test)]
mod tests;
