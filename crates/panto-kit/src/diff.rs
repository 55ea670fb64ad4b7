//! What changed between two texts, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// How a difference is shown, and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many unchanged lines are shown around each change.
    pub context: usize,
    /// The name of the file in the header; without one there is no header.
    pub name: Option<String>,
    /// After so long the difference is still right, but no longer the smallest.
    pub time_limit: Duration,
    /// How many bytes the text may have; then whole hunks are left out.
    pub max_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            context: 3,
            name: None,
            time_limit: Duration::from_millis(500),
            max_bytes: 1024 * 1024,
        }
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The unified diff; empty if nothing changed.
    pub text: String,
    /// How many lines came.
    pub added: usize,
    /// How many lines went.
    pub removed: usize,
    /// How many hunks were left out.
    pub hunks_left_out: usize,
}

/// The difference between two texts, by lines.
pub fn diff(old: &str, new: &str, options: &Options) -> Difference {
    let diff = TextDiff::configure()
        .timeout(options.time_limit)
        .diff_lines(old, new);
    let mut difference = Difference {
        text: String::new(),
        added: 0,
        removed: 0,
        hunks_left_out: 0,
    };
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => difference.added += 1,
            ChangeTag::Delete => difference.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let mut unified = diff.unified_diff();
    unified.context_radius(options.context);
    for hunk in unified.iter_hunks() {
        let hunk = hunk.to_string();
        if difference.hunks_left_out > 0 || difference.text.len() + hunk.len() > options.max_bytes {
            difference.hunks_left_out += 1;
            continue;
        }
        if difference.text.is_empty()
            && let Some(name) = &options.name
        {
            difference.text = format!("--- a/{name}\n+++ b/{name}\n");
        }
        difference.text.push_str(&hunk);
    }
    difference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_as_everybody_shows_it() {
        let old = "one\ntwo\nthree\nfour\n";
        let new = "one\n2\nthree\nfour";
        let options = Options {
            name: Some("f.txt".to_owned()),
            ..Options::default()
        };
        let difference = diff(old, new, &options);
        assert_eq!((difference.added, difference.removed), (2, 2));
        insta::assert_snapshot!(difference.text, @r"
        --- a/f.txt
        +++ b/f.txt
        @@ -1,4 +1,4 @@
         one
        -two
        +2
         three
        -four
        +four
        \ No newline at end of file
        ");
        assert_eq!(diff(old, old, &options).text, "");
    }

    #[test]
    fn texts_that_have_nothing_in_common_take_no_longer_than_the_limit() {
        let text = |salt: u64| -> String {
            (0..200_000_u64)
                .map(|line| format!("{:x}\n", (line ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
                .collect()
        };
        let options = Options {
            time_limit: Duration::from_millis(50),
            max_bytes: 10_000,
            ..Options::default()
        };
        let began = std::time::Instant::now();
        let difference = diff(&text(1 << 40), &text(3 << 40), &options);
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        assert_eq!((difference.added, difference.removed), (200_000, 200_000));
        assert_eq!(difference.hunks_left_out, 1);
    }
}
