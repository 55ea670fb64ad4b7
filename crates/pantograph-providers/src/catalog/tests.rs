//! The data that ships holds together.

use std::collections::BTreeSet;

use pantograph::{ForcedTool, ModelRef, ReasoningControl};

use super::*;
use crate::{AnthropicMessages, BaseUrl, OpenAiChat, OpenAiChatFlags, OpenAiResponses};

const LABELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

fn with_models() -> impl Iterator<Item = (&'static CatalogProvider, Cut)> {
    providers().iter().filter_map(|provider| {
        let cut = Cut::parse(provider.json?).unwrap_or_else(|error| {
            panic!("catalog/{}.json: {error}", provider.name);
        });
        Some((provider, cut))
    })
}

/// A date as `2026-01-31`, which sorts as it says.
fn is_date(text: &str) -> bool {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts[..], [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2))
}

#[test]
fn every_file_names_its_source_and_is_sorted() {
    assert!(with_models().count() >= 10);
    for (provider, cut) in with_models() {
        let name = provider.name;
        assert!(cut.source.contains("models.dev"), "{name}");
        assert!(is_date(cut.date), "{name}");
        assert!(!cut.models.is_empty(), "{name}");
        let ids: Vec<_> = cut.models.iter().map(|model| model.id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{name}: {ids:?}");
    }
}

#[test]
fn every_model_makes_sense() {
    for (provider, cut) in with_models() {
        for model in &cut.models {
            let shown = format!("{}:{}", provider.name, model.id);
            let reference = ModelRef::parse(&shown).unwrap();
            assert_eq!(reference.alias(), model.id);
            assert!(!model.name.is_empty(), "{shown}");
            assert!(
                is_date(model.released) && model.released <= cut.date,
                "{shown}"
            );
            assert!(model.context_window >= 32_768, "{shown}");
            assert!(model.max_output > 0, "{shown}");
            // An answer as long as the window leaves no room for what is asked.
            assert!(model.max_output * 5 <= model.context_window * 4, "{shown}");
            let is_controlled = model.reasoning_control != ReasoningControl::None;
            assert_eq!(!model.reasoning.is_empty(), is_controlled, "{shown}");
            let known = LABELS
                .iter()
                .filter(|label| model.reasoning.contains(label));
            assert!(known.eq(&model.reasoning), "{shown}: {:?}", model.reasoning);
            // Otherwise a forced tool would turn off what cannot be turned off.
            if model.forced_tool == ForcedTool::WithoutThinking {
                assert_eq!(model.reasoning.first(), Some(&"off"), "{shown}");
            }
            if let Some(price) = model.price {
                assert!(price.input.is_some() && price.output.is_some(), "{shown}");
            }
        }
    }
}

#[test]
fn every_provider_can_be_asked() {
    let mut names = BTreeSet::new();
    for provider in providers() {
        let name = provider.name;
        assert!(names.insert(name), "{name}");
        assert!(ModelRef::parse(&format!("{name}:x")).is_ok(), "{name}");
        assert!(!provider.title.is_empty(), "{name}");
        assert!(BaseUrl::parse(provider.base_url).is_ok(), "{name}");
        if let Some(server) = provider.server {
            assert!(OpenAiChatFlags::of_server(server).is_some(), "{name}");
        }
        let is_hosted = provider.base_url.starts_with("https:");
        assert_eq!(provider.json.is_some(), is_hosted, "{name}");
        assert_eq!(!provider.key_variables.is_empty(), is_hosted, "{name}");
        assert_eq!(provider.key_page.is_some(), is_hosted, "{name}");
        let default = provider.default_model.map(|id| provider.model(id));
        assert_eq!(default.is_some(), is_hosted, "{name}");
        if let Some(default) = default {
            let default = default.unwrap_or_else(|| panic!("{name} has no default"));
            // Who names no model wants a current one.
            let newest = provider.models().iter().map(|model| model.released).max();
            let years = |date: &str| date[..4].parse::<i32>().unwrap();
            assert!(
                years(newest.unwrap()) - years(default.released) <= 1,
                "{name}"
            );
        }
    }
    let first: Vec<_> = names_in_order().take(4).collect();
    assert_eq!(first, ["anthropic", "openai", "google", "openrouter"]);
}

fn names_in_order() -> impl Iterator<Item = &'static str> {
    providers().iter().map(|provider| provider.name)
}

#[test]
fn the_makers_are_where_their_protocols_say() {
    let base_url = |name| provider(name).unwrap().base_url;
    assert_eq!(base_url("anthropic"), AnthropicMessages::BASE_URL);
    assert_eq!(base_url("openai"), OpenAiChat::BASE_URL);
    assert!(base_url("openai").starts_with(OpenAiResponses::BASE_URL));
}

#[test]
fn a_model_is_found_by_its_whole_id() {
    let anthropic = provider("anthropic").unwrap();
    assert_eq!(
        anthropic.model("claude-sonnet-5-5").unwrap().name,
        "Claude Sonnet 5.5"
    );
    assert_eq!(anthropic.model("claude-sonnet"), None);
    assert_eq!(provider("ollama").unwrap().models(), []);
    assert!(provider("Anthropic").is_none());
}

/// All files together stay small: they are in every binary.
#[test]
fn the_data_is_small() {
    let bytes: usize = providers()
        .iter()
        .filter_map(|provider| provider.json)
        .map(str::len)
        .sum();
    assert!(bytes < 150_000, "{bytes}");
}
