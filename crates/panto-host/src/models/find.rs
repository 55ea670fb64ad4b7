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

use std::collections::HashSet;

use pantograph::ModelRef;

use crate::nearest::nearest;

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

/// The models whose names, or whose names' ends, are nearly `text`; best first, a few.
pub(super) fn near(text: &str, candidates: &[ModelRef]) -> Vec<ModelRef> {
    let ends: Vec<(&str, &ModelRef)> = candidates
        .iter()
        .flat_map(|one| ends(one.alias()).map(move |end| (end, one)))
        .collect();
    let mut near: Vec<ModelRef> = Vec::new();
    for end in nearest(text, ends.iter().map(|(end, _)| *end)) {
        let of_end = ends.iter().filter(|(other, _)| *other == end);
        near.extend(of_end.map(|(_, one)| ModelRef::clone(one)));
    }
    let mut seen = HashSet::new();
    near.retain(|one| seen.insert(one.clone()));
    near.truncate(3);
    near
}

/// A name, and what is left of it without its first words.
fn ends(alias: &str) -> impl Iterator<Item = &str> {
    let starts = alias
        .char_indices()
        .filter(|(_, c)| !c.is_alphanumeric())
        .map(|(at, c)| at + c.len_utf8());
    std::iter::once(0)
        .chain(starts)
        .filter_map(|start| alias.get(start..))
        .filter(|end| end.len() >= 3)
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
    fn near_names_may_be_near_the_end_of_one() {
        let models = MODELS.iter().map(|text| ModelRef::parse(text).unwrap());
        let models: Vec<_> = models.collect();
        let near = |text| {
            let near = near(text, &models);
            let near: Vec<_> = near.iter().map(ToString::to_string).collect();
            format!("{text}: {}", near.join(" "))
        };
        let texts = ["sonet-5", "claude-opsu-5", "codestra", "gema", "x", ""];
        insta::assert_snapshot!(texts.map(near).join("\n"), @"
        sonet-5: anthropic:claude-sonnet-5
        claude-opsu-5: anthropic:claude-opus-5
        codestra: mistral:codestral-2508 mistral:codestral-2509
        gema: 
        x: 
        :
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
