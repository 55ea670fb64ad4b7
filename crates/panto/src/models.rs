//! `panto models`: what can be asked, what it takes and what it costs.

use panto_host::headless::sanitize_line;
use panto_host::models::{KeyState, Models, OfferedModel, OfferedProvider};
use pantograph::{Attachments, ReasoningControl};
use serde_json::{Value, json};

use crate::args::{CommonArgs, ModelsArgs};
use crate::failure::Failure;
use crate::keys::Keys;
use crate::place::Place;
use crate::{protocols, streams};

/// No name of a model is shown longer.
const MOST_WIDTH: usize = 72;

pub(crate) fn list(args: &ModelsArgs, common: &CommonArgs) -> Result<(), Failure> {
    let place = Place::find(common)?;
    let config = place.load_config(common)?;
    let keys = Keys::new(&place, &config);
    let models = Models::new(config, protocols::built_in(keys.credentials())).with_keys(keys);
    let mut offered = models.offered();
    let query = words(&args.query);
    for provider in &mut offered {
        provider.models.retain(|model| is_meant(model, &query));
    }
    if args.json {
        let rows = offered.iter().flat_map(|provider| {
            let models = provider.models.iter();
            models.map(|model| object(provider, model))
        });
        return streams::print_json(&rows.collect::<Vec<_>>());
    }
    let text = args.query.join(" ");
    let mut page = page(&offered, text.trim(), args.all);
    if page.is_empty() {
        page = nothing(&text, &models);
    }
    streams::print_text(&page)
}

/// What there is to say if no model at all is meant.
fn nothing(query: &str, models: &Models) -> String {
    let near: Vec<String> = models.near(query).iter().map(ToString::to_string).collect();
    let near = match near.is_empty() {
        true => String::new(),
        false => format!(
            "; near it: {}",
            sanitize_line(&near.join(", "), 3 * MOST_WIDTH)
        ),
    };
    format!(
        "no model has `{}` in its name{near}\n",
        sanitize_line(query, MOST_WIDTH)
    )
}

/// Whether a model has every word of a query in its reference or its name.
fn is_meant(model: &OfferedModel, query: &[String]) -> bool {
    let text = format!(
        "{} {}",
        model.reference.to_string().to_lowercase(),
        model.name.unwrap_or_default().to_lowercase()
    );
    query.iter().all(|word| text.contains(word.as_str()))
}

fn words(query: &[String]) -> Vec<String> {
    let words = query.iter().flat_map(|text| text.split_whitespace());
    words.map(str::to_lowercase).collect()
}

/// The tables of the providers that can be asked, or of all, and what else there is; empty if
/// there is nothing.
fn page(offered: &[OfferedProvider], query: &str, all: bool) -> String {
    let with_models = offered
        .iter()
        .filter(|provider| !provider.models.is_empty());
    let (shown, hidden): (Vec<_>, Vec<_>) =
        with_models.partition(|provider| all || provider.key.is_usable());
    let mut parts: Vec<String> = shown.iter().map(|provider| table(provider)).collect();
    if !hidden.is_empty() {
        parts.push(elsewhere(&hidden, query, shown.is_empty()));
    }
    if all && query.is_empty() {
        parts.push(any_model(offered));
    }
    parts.join("\n")
}

/// That there are models at providers without a key.
fn elsewhere(hidden: &[&OfferedProvider], query: &str, is_all: bool) -> String {
    let of_query = match query {
        "" => String::new(),
        query => format!(" with `{}`", sanitize_line(query, MOST_WIDTH)),
    };
    let count: usize = hidden.iter().map(|provider| provider.models.len()).sum();
    let names: Vec<&str> = hidden
        .iter()
        .map(|provider| provider.name.as_str())
        .collect();
    let begin = match is_all {
        true => format!("No provider that has a key has a model{of_query}. Without one"),
        false => format!("More{of_query} without a key"),
    };
    format!(
        "{begin}: {count} at {}; --all lists them.\n",
        names.join(", ")
    )
}

/// Where any model can be asked by its name, since the server is the person's own.
fn any_model(offered: &[OfferedProvider]) -> String {
    let names: Vec<&str> = offered
        .iter()
        .filter(|provider| provider.models.is_empty() && provider.key.is_usable())
        .map(|provider| provider.name.as_str())
        .collect();
    format!(
        "Any model, by its name, of a server on this machine: {}\n",
        names.join(", ")
    )
}

/// One provider's models, under what there is to know about its key.
fn table(provider: &OfferedProvider) -> String {
    let title = sanitize_line(&provider.title, MOST_WIDTH);
    let key = match &provider.key {
        KeyState::Found(source) => format!("key from {}", sanitize_line(source, MOST_WIDTH)),
        KeyState::NotNeeded => "takes no key".to_owned(),
        KeyState::Missing => "no key".to_owned(),
    };
    let rows: Vec<[String; 6]> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(provider.models.iter().map(row))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut table = format!("{title}: {key}\n");
    for [model, context, output, input_price, output_price, reasoning] in &rows {
        let line = format!(
            "  {model:0$}  {context:>1$}  {output:>2$}  {input_price:>3$}  {output_price:>4$}  {reasoning}",
            widths[0], widths[1], widths[2], widths[3], widths[4],
        );
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

const HEADINGS: [&str; 6] = [
    "MODEL",
    "CONTEXT",
    "OUTPUT",
    "$/M IN",
    "$/M OUT",
    "REASONING",
];

fn row(model: &OfferedModel) -> [String; 6] {
    let price = |price: Option<f64>| price.map_or("-".to_owned(), |price| price.to_string());
    let reasoning = match &model.reasoning {
        Some(labels) if labels.is_empty() => "-".to_owned(),
        Some(labels) => sanitize_line(&labels.join(" "), MOST_WIDTH),
        None => "any".to_owned(),
    };
    [
        sanitize_line(&model.reference.to_string(), MOST_WIDTH),
        tokens(model.context_window),
        tokens(model.max_output),
        price(model.price.and_then(|price| price.input)),
        price(model.price.and_then(|price| price.output)),
        reasoning,
    ]
}

/// A count of tokens in at most four digits.
fn tokens(count: Option<u64>) -> String {
    match count {
        None => "-".to_owned(),
        Some(count @ 0..1_000) => count.to_string(),
        Some(count @ 1_000..1_000_000) => format!("{}k", count / 1_000),
        Some(count) => {
            let tenths = count / 100_000;
            match tenths % 10 {
                0 => format!("{}M", tenths / 10),
                tenth => format!("{}.{tenth}M", tenths / 10),
            }
        }
    }
}

fn object(provider: &OfferedProvider, model: &OfferedModel) -> Value {
    let (key, key_source) = match &provider.key {
        KeyState::Found(source) => ("found", Some(source)),
        KeyState::NotNeeded => ("not_needed", None),
        KeyState::Missing => ("missing", None),
    };
    json!({
        "model": model.reference.to_string(),
        "provider": provider.name,
        "name": model.name,
        "id": model.wire_model,
        "released": model.released,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "price": model.price,
        "reasoning": model.reasoning,
        "reasoning_control": model.reasoning_control.map(ReasoningControl::as_str),
        "attachments": attachments(model.attachments),
        "forced_tool": model.forced_tool.as_str(),
        "key": key,
        "key_source": key_source,
    })
}

/// The kinds that a model takes.
fn attachments(taken: Attachments) -> Vec<&'static str> {
    let kinds = [(taken.images, "images"), (taken.documents, "documents")];
    kinds
        .into_iter()
        .filter_map(|(takes, kind)| takes.then_some(kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let shown = [0, 999, 1_000, 131_072, 1_000_000, 1_048_576, 2_250_000]
            .map(|count| tokens(Some(count)));
        assert_eq!(shown, ["0", "999", "1k", "131k", "1M", "1M", "2.2M"]);
        assert_eq!(tokens(None), "-");
    }
}
