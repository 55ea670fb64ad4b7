//! A block as it can be read: as YAML, else with its tabs mended, else entry by entry.

use super::entries;
use super::fences::Block;
use super::lines::lines;
use super::yaml::{Parsed, parse};
use super::{Code, Data, Notes};

/// The pairs of a block; `None` if it has no keys.
pub(super) fn read(block: &Block<'_>, notes: &mut Notes) -> Option<Vec<(String, Data)>> {
    if let Some(parsed) = strictly(block, notes) {
        return parsed;
    }
    match without_tabs(block.text) {
        Some((text, line)) => {
            let place = block.place(line, 1);
            let message = "tabs at the beginning of a line were taken as two spaces each";
            notes.warning(Code::Tabs, place, message);
            let mended = Block {
                text: &text,
                lines_before: block.lines_before,
            };
            strictly(&mended, notes).unwrap_or_else(|| by_entries(&mended, notes))
        }
        None => by_entries(block, notes),
    }
}

/// The pairs, if the block is YAML with keys, or is empty.
fn strictly(block: &Block<'_>, notes: &mut Notes) -> Option<Option<Vec<(String, Data)>>> {
    let mut found = Notes::default();
    match parse(block, &mut found) {
        Ok(Parsed::Map(pairs)) => {
            notes.0.append(&mut found.0);
            Some(Some(pairs))
        }
        Ok(Parsed::Empty) => Some(Some(Vec::new())),
        // `name:x` is a text for YAML; it may be meant as a pair.
        Ok(Parsed::Other) | Err(_) => None,
    }
}

fn by_entries(block: &Block<'_>, notes: &mut Notes) -> Option<Vec<(String, Data)>> {
    let pairs = entries::read(block, notes);
    if pairs.is_none() {
        let message = "no `key: value` between the fences, so that this is no frontmatter";
        notes.warning(Code::NotKeys, block.place(1, 1), message);
    }
    pairs
}

/// The text with two spaces for each tab that indents, and the first line that had one.
fn without_tabs(text: &str) -> Option<(String, usize)> {
    let mut mended = String::with_capacity(text.len());
    let mut first = None;
    for line in lines(text) {
        let content = line.text.trim_start_matches([' ', '\t']);
        let indent = &line.text[..line.text.len() - content.len()];
        if indent.contains('\t') {
            first = first.or(Some(line.number));
        }
        mended.push_str(&indent.replace('\t', "  "));
        mended.push_str(content);
        mended.push('\n');
    }
    first.map(|line| (mended, line))
}
