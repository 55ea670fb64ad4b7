//! Lua's patterns, matched by counted steps: an exponential pattern costs its budget and no more.
//!
//! The language is that of the Lua 5.4 manual, section 6.4.1; letters are ASCII's.

mod matcher;

use super::budget::Budget;
use matcher::Matcher;

/// Steps between two looks at the budget.
const STEPS: usize = 1024;

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The pattern is none.
    Malformed(String),
    /// The budget is used up.
    Exhausted,
}

/// What one capture holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    /// Bytes of the text, from and to.
    Text(usize, usize),
    /// A place in the text, counted from 0.
    Position(usize),
}

/// Where a pattern was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) captures: Vec<Capture>,
}

/// Where a search begins, and what it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    /// The first place to try.
    pub(super) from: usize,
    /// A match that ends here is passed over.
    pub(super) before: Option<usize>,
    /// Whether `^` at the pattern's start is special.
    pub(super) anchors: bool,
}

/// Finds the first match of a pattern.
pub(super) fn find(
    text: &[u8],
    pattern: &[u8],
    search: Search,
    budget: &Budget,
) -> Result<Option<Found>, Halt> {
    let anchored = search.anchors && pattern.first() == Some(&b'^');
    let mut matcher = Matcher::new(text, pattern, budget);
    for start in search.from..=text.len() {
        let end = matcher.matched_from(start, usize::from(anchored))?;
        if let Some(end) = end.filter(|end| Some(*end) != search.before) {
            let captures = matcher.taken()?;
            matcher.settle();
            return Ok(Some(Found {
                start,
                end,
                captures,
            }));
        }
        if anchored {
            break;
        }
    }
    matcher.settle();
    Ok(None)
}

/// Finds bytes as they are.
pub(super) fn find_plain(
    text: &[u8],
    wanted: &[u8],
    from: usize,
    budget: &Budget,
) -> Result<Option<Found>, Halt> {
    let mut steps = 0;
    for start in from..=text.len().saturating_sub(wanted.len()) {
        steps += 1;
        if text[start..].first() == wanted.first() || wanted.is_empty() {
            if text[start..].starts_with(wanted) {
                let end = start + wanted.len();
                return Ok(Some(Found {
                    start,
                    end,
                    captures: Vec::new(),
                }));
            }
            steps += wanted.len() / 16;
        }
        if steps >= STEPS {
            if !budget.spend(steps as u64 / 8) {
                return Err(Halt::Exhausted);
            }
            steps = 0;
        }
    }
    Ok(None)
}

/// Whether a pattern is nothing but bytes to look for.
pub(super) fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}
