//! What a person means by the name of a model.
//!
//! The first of these that fits any model decides, and only if it fits one:
//!
//! 1. the whole alias;
//! 2. the alias whatever the case, and without a date at its end;
//! 3. the last words of the alias: `sonnet-5` is `claude-sonnet-5`, not `claude-sonnet-5-5`;
//! 4. words anywhere in it.
//!
//! Words are runs of letters and digits. A dated snapshot of a model that fits too does not count.

use std::cmp::Reverse;

use pantograph::ModelRef;

use crate::nearest::distance;

/// The models of `candidates` that `text` may mean: none, the one, or those between which it
/// does not decide.
pub(super) fn find(text: &str, candidates: &[ModelRef]) -> Vec<ModelRef> {
    let lower = text.to_lowercase();
    let words = words(text);
    let fits: [&dyn Fn(&str) -> bool; 4] = [
        &|alias| alias == text,
        &|alias| without_date(&alias.to_lowercase()) == lower,
        &|alias| !words.is_empty() && self::words(alias).ends_with(&words),
        &|alias| !words.is_empty() && has_in_a_row(&self::words(alias), &words),
    ];
    for fits in fits {
        let found: Vec<&ModelRef> = candidates.iter().filter(|one| fits(one.alias())).collect();
        if !found.is_empty() {
            return without_snapshots(&found);
        }
    }
    Vec::new()
}

/// The models that have words which are nearly those of `text`, written apart or in one, best
/// first, a few: `sonet`, `gpt6` and `opuss 5` are near, `son` may go on as `sonnet`.
pub(super) fn near(text: &str, candidates: &[ModelRef]) -> Vec<ModelRef> {
    const MOST: usize = 3;
    let text: String = text.to_lowercase().chars().take(LONGEST).collect();
    let written = words(&text);
    let mut near: Vec<_> = candidates
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Some((closeness(&written, one)?, at, one)))
        .collect();
    let Some(best) = near.iter().map(|(closeness, ..)| closeness.edits).min() else {
        return Vec::new();
    };
    near.retain(|(closeness, ..)| closeness.edits == best);
    // Of equal ones those of the first provider, and of these the later names first, which
    // usually are the newer models.
    let first_of = |one: &ModelRef| {
        let is_its = |other: &ModelRef| other.provider() == one.provider();
        candidates.iter().position(is_its)
    };
    near.sort_by_cached_key(|(closeness, at, one)| (*closeness, first_of(one), Reverse(*at)));
    near.truncate(MOST);
    near.into_iter().map(|(.., one)| one.clone()).collect()
}

/// Names are compared by their beginning.
const LONGEST: usize = 100;

/// How near a name is, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Closeness {
    edits: usize,
    /// Words are left behind those that are near.
    goes_on: bool,
}

fn closeness(written: &[String], model: &ModelRef) -> Option<Closeness> {
    let alias: String = model.alias().chars().take(LONGEST).collect();
    let alias = words(&alias);
    let whole = written.concat();
    let in_one = (0..alias.len())
        .flat_map(|start| (start + 1..=alias.len()).map(move |end| (start, end)))
        .filter_map(|(start, end)| {
            let edits = edits(&whole, &alias.get(start..end)?.concat())?;
            let goes_on = end < alias.len();
            Some(Closeness { edits, goes_on })
        })
        .min();
    let provider = words(model.provider());
    let apart = || {
        let edits_of = |word: &String| {
            let all = provider.iter().chain(&alias);
            all.filter_map(|other| edits(word, other)).min()
        };
        let edits: Option<usize> = written.iter().map(edits_of).sum();
        edits
            .filter(|_| !written.is_empty())
            .map(|edits| Closeness {
                edits,
                goes_on: true,
            })
    };
    in_one.or_else(apart)
}

/// The edits between two words that are near; short ones must be the same.
fn edits(wanted: &str, word: &str) -> Option<usize> {
    const SHORT: usize = 3;
    let (length, other) = (wanted.chars().count(), word.chars().count());
    if length < SHORT || other < SHORT {
        return (wanted == word && !wanted.is_empty()).then_some(0);
    }
    // A word that goes on is as near as one with a mistake.
    let goes_on = word.starts_with(wanted).then_some(1);
    // Telling lengths apart first spares most of the work.
    let allowed = (length / 3).clamp(1, 4);
    let edits = (length.abs_diff(other) <= allowed).then(|| distance(wanted, word));
    let edits = edits.filter(|edits| *edits <= allowed);
    edits.into_iter().chain(goes_on).min()
}

/// The same without those that are another one with a date behind it.
fn without_snapshots(found: &[&ModelRef]) -> Vec<ModelRef> {
    let is_snapshot = |one: &ModelRef| {
        let plain = without_date(one.alias());
        plain != one.alias()
            && found
                .iter()
                .any(|other| other.provider() == one.provider() && other.alias() == plain)
    };
    let kept = found.iter().filter(|one| !is_snapshot(one));
    kept.map(|one| ModelRef::clone(one)).collect()
}

/// A name without the date at its end: `-20251001`, `-2025-10-01`, `-2510`.
fn without_date(alias: &str) -> &str {
    const SHAPES: [&str; 3] = ["-dddddddd", "-dddd-dd-dd", "-dddd"];
    for shape in SHAPES {
        let Some(start) = alias
            .len()
            .checked_sub(shape.len())
            .filter(|start| *start > 0)
        else {
            continue;
        };
        let (Some(name), Some(end)) = (alias.get(..start), alias.get(start..)) else {
            continue;
        };
        let fits = end
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, wanted)| match wanted {
                b'd' => byte.is_ascii_digit(),
                wanted => byte == wanted,
            });
        if fits {
            return name;
        }
    }
    alias
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn has_in_a_row(all: &[String], some: &[String]) -> bool {
    all.windows(some.len()).any(|window| window == some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: &[&str] = &[
        "anthropic:claude-haiku-4-5",
        "anthropic:claude-haiku-4-5-20251001",
        "anthropic:claude-opus-5",
        "anthropic:claude-sonnet-5",
        "anthropic:claude-sonnet-5-5",
        "mistral:mistral-large-2512",
        "mistral:codestral-2508",
        "mistral:codestral-2509",
        "openrouter:anthropic/claude-sonnet-5.5",
        "openrouter:google/gemma-4:free",
    ];

    fn found(text: &str) -> String {
        let models = MODELS.iter().map(|text| ModelRef::parse(text).unwrap());
        let models: Vec<_> = models.collect();
        let found = find(text, &models);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        format!("{text}: {}", found.join(" "))
    }

    #[test]
    fn near_names_have_nearly_these_words() {
        let models = MODELS.iter().map(|text| ModelRef::parse(text).unwrap());
        let models: Vec<_> = models.collect();
        let near = |text| {
            let near = near(text, &models);
            let near: Vec<_> = near.iter().map(ToString::to_string).collect();
            format!("{text}: {}", near.join(" "))
        };
        let texts = [
            "sonet-5",
            "sonet",
            "son",
            "opuss",
            "claude-opsu-5",
            "codestra",
            "gema",
            "sonnet5",
            "anthropic opuss",
            "5",
            "x",
            "",
            "zzzz",
        ];
        insta::assert_snapshot!(texts.map(near).join("\n"), @"
        sonet-5: anthropic:claude-sonnet-5 anthropic:claude-sonnet-5-5 openrouter:anthropic/claude-sonnet-5.5
        sonet: anthropic:claude-sonnet-5-5 anthropic:claude-sonnet-5 openrouter:anthropic/claude-sonnet-5.5
        son: anthropic:claude-sonnet-5-5 anthropic:claude-sonnet-5 openrouter:anthropic/claude-sonnet-5.5
        opuss: anthropic:claude-opus-5
        claude-opsu-5: anthropic:claude-opus-5
        codestra: mistral:codestral-2509 mistral:codestral-2508
        gema: openrouter:google/gemma-4:free
        sonnet5: anthropic:claude-sonnet-5 anthropic:claude-sonnet-5-5 openrouter:anthropic/claude-sonnet-5.5
        anthropic opuss: anthropic:claude-opus-5
        5: anthropic:claude-sonnet-5-5 anthropic:claude-sonnet-5 anthropic:claude-opus-5
        x: 
        : 
        zzzz:
        ");
    }

    #[test]
    fn the_closest_reading_decides_and_only_if_it_is_one() {
        let texts = [
            "claude-sonnet-5",
            "Claude-Sonnet-5",
            "claude-haiku-4-5-20251001",
            "sonnet-5",
            "sonnet-5.5",
            "sonnet 5 5",
            "haiku",
            "haiku-4",
            "opus",
            "sonnet",
            "mistral-large",
            "codestral",
            "gemma-4",
            "google/gemma-4:free",
            "anthropic/claude-sonnet-5.5",
            "son",
            "gpt",
            "-",
            "",
            "Ä",
        ];
        insta::assert_snapshot!(texts.map(found).join("\n"), @"
        claude-sonnet-5: anthropic:claude-sonnet-5
        Claude-Sonnet-5: anthropic:claude-sonnet-5
        claude-haiku-4-5-20251001: anthropic:claude-haiku-4-5-20251001
        sonnet-5: anthropic:claude-sonnet-5
        sonnet-5.5: anthropic:claude-sonnet-5-5 openrouter:anthropic/claude-sonnet-5.5
        sonnet 5 5: anthropic:claude-sonnet-5-5 openrouter:anthropic/claude-sonnet-5.5
        haiku: anthropic:claude-haiku-4-5
        haiku-4: anthropic:claude-haiku-4-5
        opus: anthropic:claude-opus-5
        sonnet: anthropic:claude-sonnet-5 anthropic:claude-sonnet-5-5 openrouter:anthropic/claude-sonnet-5.5
        mistral-large: mistral:mistral-large-2512
        codestral: mistral:codestral-2508 mistral:codestral-2509
        gemma-4: openrouter:google/gemma-4:free
        google/gemma-4:free: openrouter:google/gemma-4:free
        anthropic/claude-sonnet-5.5: openrouter:anthropic/claude-sonnet-5.5
        son: 
        gpt: 
        -: 
        : 
        Ä:
        ");
    }
}
