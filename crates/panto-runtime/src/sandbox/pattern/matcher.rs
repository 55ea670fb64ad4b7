//! The backtracking itself, each step of it counted.

use super::{Capture, Halt, STEPS};
use crate::sandbox::budget::Budget;

/// How deep a pattern may branch, as in Lua.
const DEEPEST: usize = 200;

/// Captures of one pattern, as in Lua.
const MOST_CAPTURES: usize = 32;

/// One search of one text.
pub(super) struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Slot>,
    depth: usize,
    steps: usize,
    budget: &'a Budget,
}

/// A capture while its pattern is matched.
#[derive(Clone, Copy)]
enum Slot {
    Open(usize),
    Taken(Capture),
}

/// Where a match ends, if there is one.
type Matched = Result<Option<usize>, Halt>;

impl<'a> Matcher<'a> {
    pub(super) fn new(text: &'a [u8], pattern: &'a [u8], budget: &'a Budget) -> Self {
        Self {
            text,
            pattern,
            captures: Vec::new(),
            depth: 0,
            steps: 0,
            budget,
        }
    }

    /// Matches the pattern from `p` on at `s`, without what an earlier try has captured.
    pub(super) fn matched_from(&mut self, s: usize, p: usize) -> Matched {
        self.captures.clear();
        self.matched(s, p)
    }

    /// Matches the pattern from `p` on at `s`.
    fn matched(&mut self, s: usize, p: usize) -> Matched {
        if self.depth == DEEPEST {
            return malformed("pattern too complex");
        }
        self.depth += 1;
        let result = self.matched_here(s, p);
        self.depth -= 1;
        result
    }

    fn matched_here(&mut self, mut s: usize, mut p: usize) -> Matched {
        loop {
            self.step(1)?;
            let Some(&first) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            match (first, self.pattern.get(p + 1)) {
                (b'(', Some(b')')) => {
                    return self.opened(Slot::Taken(Capture::Position(s)), s, p + 2);
                }
                (b'(', _) => return self.opened(Slot::Open(s), s, p + 1),
                (b')', _) => return self.closed(s, p + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.balanced(s, p + 2)? {
                    Some(end) => (s, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    let set = p + 2;
                    if self.pattern.get(set) != Some(&b'[') {
                        return malformed("missing '[' after '%f' in pattern");
                    }
                    let end = self.class_end(set)?;
                    let before = if s == 0 { 0 } else { self.text[s - 1] };
                    let here = self.text.get(s).copied().unwrap_or(0);
                    if self.in_set(before, set, end)? || !self.in_set(here, set, end)? {
                        return Ok(None);
                    }
                    p = end;
                }
                (b'%', Some(digit @ b'0'..=b'9')) => match self.repeated(s, *digit)? {
                    Some(end) => (s, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.class_end(p)?;
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if self.single(s, p, end)?
                                && let Some(found) = self.matched(s + 1, end + 1)?
                            {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        Some(b'+') => {
                            return if self.single(s, p, end)? {
                                self.most(s + 1, p, end)
                            } else {
                                Ok(None)
                            };
                        }
                        Some(b'*') => return self.most(s, p, end),
                        Some(b'-') => return self.fewest(s, p, end),
                        _ => {
                            if !self.single(s, p, end)? {
                                return Ok(None);
                            }
                            (s, p) = (s + 1, end);
                        }
                    }
                }
            }
        }
    }

    /// `*`: as many as there are, then one less until the rest matches.
    fn most(&mut self, s: usize, p: usize, end: usize) -> Matched {
        let mut count = 0;
        while self.single(s + count, p, end)? {
            count += 1;
        }
        loop {
            if let Some(found) = self.matched(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// `-`: none, then one more until the rest matches.
    fn fewest(&mut self, mut s: usize, p: usize, end: usize) -> Matched {
        loop {
            if let Some(found) = self.matched(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(s, p, end)? {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn opened(&mut self, slot: Slot, s: usize, p: usize) -> Matched {
        if self.captures.len() == MOST_CAPTURES {
            return malformed("too many captures");
        }
        self.captures.push(slot);
        let found = self.matched(s, p)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn closed(&mut self, s: usize, p: usize) -> Matched {
        let open = self
            .captures
            .iter()
            .rposition(|slot| matches!(slot, Slot::Open(_)));
        let Some(index) = open else {
            return malformed("invalid pattern capture");
        };
        let slot = self.captures[index];
        if let Slot::Open(start) = slot {
            self.captures[index] = Slot::Taken(Capture::Text(start, s));
        }
        let found = self.matched(s, p)?;
        if found.is_none() {
            self.captures[index] = slot;
        }
        Ok(found)
    }

    /// `%1` and the like: what the capture holds, again.
    fn repeated(&mut self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit - b'0');
        let Some(Slot::Taken(capture)) = index.checked_sub(1).and_then(|at| self.captures.get(at))
        else {
            return malformed(&format!("invalid capture index %{index}"));
        };
        let Capture::Text(start, end) = *capture else {
            // As in Lua: a place has no text, and none is longer than what is left.
            return Ok(None);
        };
        self.step((end - start) / 16)?;
        let same = self.text[s..].starts_with(&self.text[start..end]);
        Ok(same.then_some(s + end - start))
    }

    /// `%bxy`: from an `x` to the `y` that closes it.
    fn balanced(&mut self, s: usize, p: usize) -> Matched {
        let (Some(&open), Some(&close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return malformed("missing arguments to '%b'");
        };
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut nested = 1;
        for at in s + 1..self.text.len() {
            self.step(1)?;
            let byte = self.text[at];
            if byte == close {
                nested -= 1;
                if nested == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                nested += 1;
            }
        }
        Ok(None)
    }

    /// Where the class that begins at `p` ends.
    fn class_end(&mut self, p: usize) -> Result<usize, Halt> {
        match self.pattern[p] {
            b'%' if p + 1 == self.pattern.len() => malformed("malformed pattern (ends with '%')"),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1;
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                // A bracket right at the front is a member.
                let mut first = true;
                loop {
                    self.step(1)?;
                    match self.pattern.get(at) {
                        Some(b']') if !first => return Ok(at + 1),
                        Some(b'%') => at += 2,
                        Some(_) => at += 1,
                        None => return malformed("malformed pattern (missing ']')"),
                    }
                    first = false;
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Whether the byte at `s` is of the class between `p` and `end`.
    fn single(&mut self, s: usize, p: usize, end: usize) -> Result<bool, Halt> {
        self.step(1)?;
        let Some(&byte) = self.text.get(s) else {
            return Ok(false);
        };
        Ok(match self.pattern[p] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[p + 1]),
            b'[' => self.in_set(byte, p, end)?,
            literal => literal == byte,
        })
    }

    /// Whether a byte is of the set between the brackets at `p` and before `end`.
    fn in_set(&mut self, byte: u8, p: usize, end: usize) -> Result<bool, Halt> {
        let mut members = &self.pattern[p + 1..end - 1];
        let negated = members.first() == Some(&b'^');
        if negated {
            members = &members[1..];
        }
        self.step(members.len())?;
        loop {
            let (is_member, rest) = match members {
                [] => return Ok(negated),
                [b'%', class, rest @ ..] => (in_class(byte, *class), rest),
                [low, b'-', high, rest @ ..] => ((*low..=*high).contains(&byte), rest),
                [literal, rest @ ..] => (*literal == byte, rest),
            };
            if is_member {
                return Ok(!negated);
            }
            members = rest;
        }
    }

    /// What a match has captured.
    pub(super) fn taken(&self) -> Result<Vec<Capture>, Halt> {
        self.captures
            .iter()
            .map(|slot| match slot {
                Slot::Taken(capture) => Ok(*capture),
                Slot::Open(_) => malformed("unfinished capture"),
            })
            .collect()
    }

    fn step(&mut self, steps: usize) -> Result<(), Halt> {
        self.steps += steps;
        if self.steps < STEPS {
            return Ok(());
        }
        if self.settle() {
            Ok(())
        } else {
            Err(Halt::Exhausted)
        }
    }

    /// Pays for the steps so far.
    pub(super) fn settle(&mut self) -> bool {
        self.budget.spend(std::mem::take(&mut self.steps) as u64)
    }
}

fn malformed<T>(message: &str) -> Result<T, Halt> {
    Err(Halt::Malformed(message.to_owned()))
}

/// Whether a byte is of a class such as `%a`; another character stands for itself.
fn in_class(byte: u8, class: u8) -> bool {
    let is_member = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => return byte == class,
    };
    is_member != class.is_ascii_uppercase()
}
