//! Lines of a width, out of the pieces of a text.

use crate::pieces::Piece;

/// What stands for a cluster that is wider than the whole line.
const TOO_WIDE: &str = "\u{fffd}";

/// Collects lines.
pub(crate) struct Wrapper {
    columns: usize,
    lines: Vec<String>,
    /// What the current line holds for certain.
    line: Span,
    /// The blanks after that, which go if the next word does not fit.
    blanks: Span,
    /// The word after those; never wider than a line.
    word: Span,
    /// Whether the current line begins one of the text's own, so that its first blanks stay.
    is_fresh: bool,
}

/// Some text and its width.
#[derive(Default)]
struct Span {
    text: String,
    columns: usize,
}

impl Wrapper {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            columns,
            lines: Vec::new(),
            line: Span::default(),
            blanks: Span::default(),
            word: Span::default(),
            is_fresh: true,
        }
    }

    /// Takes the next piece.
    pub(crate) fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Break => self.end_line(),
            Piece::Escape(sequence) => self.word.text.push_str(sequence),
            Piece::Blank(_) | Piece::Tab => {
                self.end_word();
                piece.write(&mut self.blanks.text);
                self.blanks.columns += piece.width();
            }
            Piece::Cluster(_, width) if width > self.columns => {
                if self.columns > 0 {
                    self.cluster(TOO_WIDE, 1);
                }
            }
            Piece::Cluster(cluster, width) => self.cluster(cluster, width),
        }
    }

    /// The lines, when there are no more pieces.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.end_line();
        self.lines
    }

    fn cluster(&mut self, cluster: &str, width: usize) {
        if self.word.columns + width > self.columns {
            // The word alone is too long: it fills its lines.
            self.end_word();
            self.break_line();
        }
        self.word.text.push_str(cluster);
        self.word.columns += width;
    }

    /// Puts the word on this line, or on the next one.
    fn end_word(&mut self) {
        if self.word.text.is_empty() {
            return;
        }
        let needed = self.line.columns + self.blanks.columns + self.word.columns;
        if needed <= self.columns {
            self.line.append(&mut self.blanks);
        } else if self.is_fresh {
            self.indent(self.columns - self.word.columns);
        } else {
            self.break_line();
        }
        self.line.append(&mut self.word);
        self.is_fresh = false;
    }

    /// Puts the blanks on this line, up to a column.
    fn indent(&mut self, column: usize) {
        let room = column.saturating_sub(self.line.columns);
        let taken = self.blanks.columns.min(room);
        self.line.text.extend(std::iter::repeat_n(' ', taken));
        self.line.columns += taken;
        self.blanks.take();
    }

    /// Ends this line within one of the text.
    fn break_line(&mut self) {
        self.blanks.take();
        self.lines.push(self.line.take());
        self.is_fresh = false;
    }

    /// Ends this line with one of the text. Blanks at its end are its own, as far as they fit.
    fn end_line(&mut self) {
        self.end_word();
        self.indent(self.columns);
        self.lines.push(self.line.take());
        self.is_fresh = true;
    }
}

impl Span {
    /// Takes over what another one holds.
    fn append(&mut self, other: &mut Span) {
        self.text.push_str(&other.text);
        self.columns += other.columns;
        other.text.clear();
        other.columns = 0;
    }

    fn take(&mut self) -> String {
        self.columns = 0;
        std::mem::take(&mut self.text)
    }
}
