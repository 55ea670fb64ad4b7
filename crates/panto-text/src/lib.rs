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
mod wrapper;

use pieces::{Piece, pieces};
use wrapper::Wrapper;

/// How many columns a tab counts as, wherever it stands.
pub const TAB: usize = 4;

/// What [`truncate`] puts in place of what it cuts.
const ELLIPSIS: &str = "…";

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
/// which a line was broken are left out; those at the beginning of a line of the text stay, as
/// far as they leave room for its first word.
/// Escape sequences stay where they are. A cluster wider than `columns` becomes U+FFFD. With no
/// columns there is nothing to show, but still a line for each line of the text.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut wrapper = Wrapper::new(columns);
    for piece in pieces(text) {
        wrapper.piece(piece);
    }
    wrapper.end()
}

#[cfg(test)]
mod tests;
