//! The name that was probably meant.

/// The names nearest to `wanted`, best first, at most three; none that is far off.
///
/// A name is near if it takes few edits (insert, delete, replace, swap of neighbours; case is
/// free) for its length, or if one of the two continues the other.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(LONGEST).collect();
    let allowed = (wanted.len() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
            let distance = edits(&wanted, &lower);
            let continues = wanted.len() >= 3
                && lower.len() >= 3
                && (lower.starts_with(&wanted) || wanted.starts_with(&lower));
            (distance <= allowed || continues).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// The clause that ends a message about an unknown name: empty if nothing is near.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    meant(&nearest(wanted, names))
}

/// The clause that offers `names`; empty if there are none.
pub(crate) fn meant<T: std::fmt::Display>(names: &[T]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, rest)) => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

/// Edits between two short texts: insert, delete, replace, swap of neighbours.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    edits(&chars(a), &chars(b))
}

/// Longer names are compared by their beginning: the table below is quadratic.
const LONGEST: usize = 100;

/// Edits between two names: optimal string alignment, Damerau's distance without overlaps.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_and_a_swap_is_one() {
        let count = distance;
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("model", "model"), 0);
        assert_eq!(count("modle", "model"), 1);
        assert_eq!(count("sonet", "sonnet"), 1);
        assert_eq!(count("straße", "strasse"), 2);
    }

    #[test]
    fn near_names_come_best_first_and_far_ones_not_at_all() {
        let names = ["anthropic", "openai", "openai-eu", "local"];
        assert_eq!(nearest("opnai", names), ["openai"]);
        assert_eq!(nearest("OpenAI", names), ["openai", "openai-eu"]);
        assert_eq!(nearest("gemini", names), Vec::<&str>::new());
        assert_eq!(nearest("", names), Vec::<&str>::new());
        assert_eq!(
            did_you_mean("openai-e", names),
            "; did you mean `openai-eu` or `openai`?"
        );
        assert_eq!(did_you_mean("x", names), "");
    }

    #[test]
    fn a_huge_name_is_no_trouble() {
        assert_eq!(
            nearest(&"x".repeat(10_000_000), ["model"]),
            Vec::<&str>::new()
        );
    }
}
