//! Bounds on text: the middle goes, head and tail stay.

use std::borrow::Cow;

use crate::message::ToolContent;

/// A text within a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped<'a> {
    /// The text, borrowed if nothing was left out.
    pub text: Cow<'a, str>,
    /// How many bytes were left out.
    pub left_out: usize,
}

/// Cuts a text in the middle if it has more than `max_bytes`.
///
/// About as much of the head is kept as of the tail, both cut between characters, and a mark
/// between them says how many bytes are missing. Head, mark and tail have `max_bytes` together
/// or less; only below the size of the mark, which is less than 100 bytes, there is more.
pub fn cap_text(text: &str, max_bytes: usize) -> Capped<'_> {
    if text.len() <= max_bytes {
        return Capped {
            text: Cow::Borrowed(text),
            left_out: 0,
        };
    }
    let gap = Gap::new(text.len(), max_bytes);
    let (head, tail) = gap.around(text, 0);
    let left_out = text.len() - head.len() - tail.len();
    Capped {
        text: Cow::Owned([head, &mark(left_out), tail].concat()),
        left_out,
    }
}

/// Cuts the text of a tool's content, all parts together, as [`cap_text`] does.
///
/// `None` if it has `max_bytes` or less. Otherwise parts that would be empty go; attachments
/// stay and do not count.
pub fn cap_content(content: &[ToolContent], max_bytes: usize) -> Option<Vec<ToolContent>> {
    let total: usize = texts(content).map(str::len).sum();
    if total <= max_bytes {
        return None;
    }
    let gap = Gap::new(total, max_bytes);
    let mut start = 0;
    let mut kept = 0;
    for text in texts(content) {
        let (head, tail) = gap.around(text, start);
        kept += head.len() + tail.len();
        start += text.len();
    }
    let mark = mark(total - kept);

    let mut capped = Vec::with_capacity(content.len());
    let mut start = 0;
    for part in content {
        let ToolContent::Text(text) = part else {
            capped.push(part.clone());
            continue;
        };
        let (head, tail) = gap.around(text, start);
        let end = start + text.len();
        let has_mark = (start..end).contains(&gap.start);
        let text = [head, if has_mark { &mark } else { "" }, tail].concat();
        if !text.is_empty() {
            capped.push(ToolContent::Text(text));
        }
        start = end;
    }
    Some(capped)
}

fn texts(content: &[ToolContent]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| match part {
        ToolContent::Text(text) => Some(text.as_str()),
        ToolContent::Attachment(_) => None,
    })
}

fn mark(left_out: usize) -> String {
    format!("\n\n[… {left_out} bytes left out …]\n\n")
}

/// Which bytes of a text go, before they are rounded to characters.
struct Gap {
    start: usize,
    end: usize,
}

impl Gap {
    fn new(total: usize, max_bytes: usize) -> Self {
        // No mark is longer than the one for everything.
        let kept = max_bytes.saturating_sub(mark(total).len());
        let tail = kept / 2;
        Self {
            start: kept - tail,
            end: total - tail,
        }
    }

    /// What stays before and behind the gap of a part that begins at `offset`.
    fn around<'a>(&self, part: &'a str, offset: usize) -> (&'a str, &'a str) {
        let within = |at: usize| at.saturating_sub(offset).min(part.len());
        let head = part.floor_char_boundary(within(self.start));
        let tail = part.ceil_char_boundary(within(self.end));
        (&part[..head], &part[tail..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attachment::Attachment;

    #[test]
    fn text_within_the_cap_is_borrowed() {
        for text in ["", "a", &"x".repeat(100)] {
            let capped = cap_text(text, 100);
            assert!(matches!(capped.text, Cow::Borrowed(same) if same == text));
            assert_eq!(capped.left_out, 0);
        }
    }

    #[test]
    fn head_and_tail_stay() {
        let text = format!("first{}last", "-".repeat(1_000));
        insta::assert_snapshot!(cap_text(&text, 100).text, @"
        first-----------------------------

        [… 942 bytes left out …]

        -----------------------------last
        ");
    }

    #[test]
    fn an_emoji_is_never_cut() {
        for offset in 0..8 {
            let text = format!("{}{}", "x".repeat(offset), "\u{1f980}".repeat(100));
            for max_bytes in 100..120 {
                let capped = cap_text(&text, max_bytes);
                assert!(capped.text.len() <= max_bytes);
                assert!(capped.text.len() > max_bytes - 12);
                assert!(!capped.text.contains(char::REPLACEMENT_CHARACTER));
            }
        }
    }

    #[test]
    fn a_cap_below_the_mark_leaves_the_mark() {
        assert_eq!(cap_text("some text", 3).text, mark("some text".len()));
    }

    #[test]
    fn parts_are_capped_together_and_attachments_stay() {
        let image = ToolContent::Attachment(Attachment::new("image/png", vec![0; 500]));
        let text = |c: &str, count| ToolContent::Text(c.repeat(count));
        let content = [text("a", 90), image.clone(), text("b", 300), text("c", 40)];
        assert_eq!(cap_content(&content, 430), None);

        let capped = cap_content(&content, 150).unwrap();
        insta::assert_debug_snapshot!(capped.iter().map(|part| match part {
            ToolContent::Text(text) => text.as_str(),
            ToolContent::Attachment(_) => "(image)",
        }).collect::<Vec<_>>(), @r#"
        [
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n[… 312 bytes left out …]\n\n",
            "(image)",
            "bbbbbbbbbbbbbbbbbbb",
            "cccccccccccccccccccccccccccccccccccccccc",
        ]
        "#);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_a_head_and_a_tail(text in "(?s).{100,600}", max_bytes in 100_usize..700) {
            let capped = cap_text(&text, max_bytes);
            prop_assert!(capped.text.len() <= max_bytes);
            if text.len() > max_bytes {
                let mark = mark(capped.left_out);
                let at = capped.text.find(&mark).unwrap();
                let (head, tail) = (&capped.text[..at], &capped.text[at + mark.len()..]);
                prop_assert!(text.starts_with(head));
                prop_assert!(text.ends_with(tail));
                prop_assert_eq!(text.len() - capped.left_out, head.len() + tail.len());
                prop_assert!(head.len().abs_diff(tail.len()) <= 8);
            }
        }

        #[test]
        fn parts_are_capped_as_their_text(
            parts in proptest::collection::vec("(?s).{0,200}", 0..6),
            max_bytes in 100_usize..700,
        ) {
            let content: Vec<_> = parts.iter().cloned().map(ToolContent::Text).collect();
            let total: usize = texts(&content).map(str::len).sum();
            match cap_content(&content, max_bytes) {
                None => prop_assert!(total <= max_bytes),
                Some(capped) => {
                    prop_assert!(total > max_bytes);
                    let kept: usize = texts(&capped).map(str::len).sum();
                    prop_assert!(kept <= max_bytes);
                    prop_assert_eq!(texts(&capped).filter(|text| text.contains(" bytes left out …]")).count(), 1);
                }
            }
        }
    }
}
