//! What people choose, and what they are told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::{Attachments, ForcedTool, ProviderError, ReasoningControl};
use pantograph_providers::catalog;

use super::*;
use crate::config::LoadConfig;
use crate::dirs::{Dirs, Environment};

mod names;
mod sources;

struct Silent;

#[async_trait]
impl Protocol for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn open(&self, _request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Err(ProviderError::transport("silent"))
    }
}

const CONFIG: &str = r#"
[providers.local]
protocol = "silent"
base_url = "http://127.0.0.1:8080/v1"
connect_timeout_s = 2.5
idle_timeout_s = 60
request_timeout_s = 600
max_retries = 1

[providers.local.models.big]
id = "qwen3-coder"
context_window = 131072
max_output = 16384
reasoning = ["off", "low", "high"]
price = { input = 0.5 }

[providers.local.models.bag]

[providers.locale]
protocol = "silent"
[providers.locale.models.only]
[providers.locale.models.bag]

[providers.mute]

[providers.odd]
protocol = "silnet"

[providers.picky]
protocol = "picky"
"#;

/// Models of `CONFIG` with `top` before it, as one user file at `/config.toml`.
fn models(top: &str) -> (tempfile::TempDir, Models) {
    with_file(&format!("{top}\n{CONFIG}"))
}

fn with_file(text: &str) -> (tempfile::TempDir, Models) {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    let models = loaded(base.path(), Some(file));
    (base, models)
}

fn loaded(base: &Path, explicit: Option<std::path::PathBuf>) -> Models {
    let environment = Environment {
        home: Some(base.join("home").into_os_string()),
        ..Environment::default()
    };
    let loaded = Config::load(&LoadConfig {
        dirs: &Dirs::new(&environment),
        project_root: base.join("project"),
        explicit,
        trusted: true,
        bundle: None,
    })
    .unwrap();
    let mut registry = ProtocolRegistry::default();
    for name in [
        "silent",
        "anthropic-messages",
        "openai-responses",
        "openai-chat",
        "google-generate",
    ] {
        registry.register(name, |_| Ok(Arc::new(Silent)));
    }
    registry.register("picky", |_| Err("it has no `script`".into()));
    Models::new(Arc::new(loaded.config), registry)
}

fn ask<'a>(model: &'a str, reasoning: &'a str) -> ChoiceRequest<'a> {
    let set = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    ChoiceRequest {
        model: set(model),
        reasoning: set(reasoning),
        ..ChoiceRequest::default()
    }
}

/// The error's text with its causes, or what was chosen and the warnings.
fn told(models: &(tempfile::TempDir, Models), model: &str, reasoning: &str) -> String {
    told_of(models, &ask(model, reasoning))
}

fn told_of((base, models): &(tempfile::TempDir, Models), request: &ChoiceRequest<'_>) -> String {
    let told = match models.choose(request) {
        Err(error) => pantograph::with_causes(&error),
        Ok(chosen) => {
            let notes = chosen.notes.iter().map(|note| format!("\n{note}"));
            let warnings = chosen.warnings.iter().map(|warning| format!("\n{warning}"));
            format!(
                "{} {}{}",
                chosen.model.reference,
                chosen.model.reasoning.as_deref().unwrap_or("-"),
                notes.chain(warnings).collect::<String>()
            )
        }
    };
    told.replace(&base.path().display().to_string(), "")
}

/// Models of `text`, with keys for these providers.
fn with_keys(text: &str, providers: &'static [&'static str]) -> (tempfile::TempDir, Models) {
    let (base, models) = with_file(text);
    let models = models.with_keys(move |provider: &Provider| {
        let variable = provider
            .key_variables()
            .first()
            .map(|name| format!("variable {name}"));
        variable.filter(|_| providers.contains(&provider.name.as_str()))
    });
    (base, models)
}

#[test]
fn a_listed_model_has_its_settings_and_its_providers() {
    let (_base, models) = models("");
    let chosen = models.choose(&ask("local:big", "high")).unwrap();
    assert!(chosen.warnings.is_empty());
    assert_eq!(chosen.protocol.name(), "silent");
    let model = chosen.model;
    assert_eq!(model.wire_model, "qwen3-coder");
    assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!(model.reasoning.as_deref(), Some("high"));
    assert_eq!(
        (model.context_window, model.max_output),
        (Some(131_072), Some(16_384))
    );
    assert_eq!(model.price.unwrap().input, Some(0.5));
    assert_eq!(model.limits.connect, Some(Duration::from_millis(2500)));
    assert_eq!(model.limits.idle, Some(Duration::from_secs(60)));
    assert_eq!(model.limits.total, Some(Duration::from_secs(600)));
    assert_eq!(model.retry.max_retries, 1);
}

#[test]
fn the_models_of_a_provider_share_its_protocol_and_its_governor() {
    let (_base, models) = models("");
    let choose = |model| models.choose(&ask(model, "")).unwrap();
    let (one, two) = (choose("local:big"), choose("local:new"));
    let other = choose("locale:only");
    assert!(Arc::ptr_eq(&one.protocol, &two.protocol));
    assert!(Arc::ptr_eq(&one.model.governor, &two.model.governor));
    assert!(!Arc::ptr_eq(&one.model.governor, &other.model.governor));
}

#[test]
fn an_unlisted_model_is_taken_with_conservative_limits_and_one_warning() {
    let models = models("");
    let chosen = models.1.choose(&ask("openai:gpt6", "max")).unwrap();
    assert_eq!(chosen.model.wire_model, "gpt6");
    assert_eq!(chosen.model.context_window, Some(UNLISTED_CONTEXT_WINDOW));
    assert_eq!(chosen.model.max_output, Some(UNLISTED_MAX_OUTPUT));
    insta::assert_snapshot!(told(&models, "openai:gpt6", "max"), @"
    openai:gpt6 max
    neither the catalog nor a configuration lists the model `openai:gpt6`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models.gpt6]`; did you mean `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol` or `openai:gpt-6-sol`?
    ");
    insta::assert_snapshot!(told(&models, "openai:hf/x:7b", ""), @r#"
    openai:hf/x:7b -
    neither the catalog nor a configuration lists the model `openai:hf/x:7b`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models."hf/x:7b"]`
    "#);
}

#[test]
fn of_a_server_of_ones_own_any_model_is_taken_without_an_output_limit() {
    let models = models("");
    for model in ["local:new", "ollama:qwen3:8b", "llama-cpp:x"] {
        let chosen = models.1.choose(&ask(model, "")).unwrap();
        assert_eq!(chosen.model.context_window, Some(UNLISTED_CONTEXT_WINDOW));
        assert_eq!(chosen.model.max_output, None);
        assert_eq!(
            (&chosen.notes[..], &chosen.warnings[..]),
            (&[][..], &[][..])
        );
    }
    // Whoever has made a list may have mistyped a name of it.
    insta::assert_snapshot!(told(&models, "local:bug", "max"), @"
    local:bug max
    the configuration does not list the model `local:bug`; did you mean `local:big` or `local:bag`?
    ");
}

#[test]
fn a_request_asks_for_less_than_the_longest_answer() {
    let models =
        with_file("[providers.openai.models.mine]\nid = \"gpt-6.1-sol\"\nmax_output = 100000");
    let asked = |model| models.1.choose(&ask(model, "")).unwrap().model.max_output;
    let known = catalog::provider("openai").unwrap();
    let (most, less) = ("gpt-6.1-sol", known.models().iter());
    assert!(known.model(most).unwrap().max_output > DEFAULT_MAX_OUTPUT);
    assert_eq!(asked("openai:gpt-6.1-sol"), Some(DEFAULT_MAX_OUTPUT));
    assert_eq!(asked("openai:mine"), Some(100_000));
    let small = less.filter(|model| model.max_output < DEFAULT_MAX_OUTPUT);
    for model in small {
        let name = format!("openai:{}", model.id);
        let chosen = models.1.choose(&ask(&name, "")).unwrap();
        assert_eq!(chosen.model.max_output, Some(model.max_output));
    }
    // What is listed is what the model can do.
    let offered = models.1.offered();
    let openai = offered.iter().find(|provider| provider.name == "openai");
    let listed = &openai.unwrap().models;
    let sol = listed.iter().find(|model| model.reference.alias() == most);
    assert_eq!(
        sol.unwrap().max_output,
        Some(known.model(most).unwrap().max_output)
    );
}

#[test]
fn a_model_takes_the_labels_of_its_list_or_any() {
    let from_file = models("reasoning = \"medium\"");
    insta::assert_snapshot!(told(&from_file, "local:big", ""), @"
    local:big low
    the model `local:big` does not know the reasoning label `medium` (from /config.toml:1:1); it gets `low`, the nearest that it knows
    ");
    assert_eq!(told(&from_file, "local:bag", ""), "local:bag medium");
    let models = models("");
    insta::assert_snapshot!(told(&models, "local:big", "max"), @"model `local:big` does not take the reasoning label `max` (from `--reasoning`); it takes `off`, `low`, `high` (/config.toml:15:1); choose with `--reasoning`");
    insta::assert_snapshot!(told(&models, "local:bag", "hihg"), @"unknown reasoning label `hihg` (from `--reasoning`); the labels are `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; did you mean `high`?");
    assert_eq!(told(&models, "local:bag", "xhigh"), "local:bag xhigh");
    let none = with_file("[providers.p]\nprotocol = \"silent\"\nmodels.a.reasoning = []");
    insta::assert_snapshot!(told(&none, "p:a", "low"), @"model `p:a` does not take the reasoning label `low` (from `--reasoning`); its list is empty (/config.toml:3:10)");
}

#[test]
fn the_catalog_lies_below_the_configuration() {
    let text = r#"
[providers.openai]
headers = { "x-team" = "a" }
max_retries = 1
[providers.openai.models."gpt-6.1-sol"]
max_output = 1000
price = { output = 1 }
[providers.openai.models.mine]
id = "gpt-6.1-terra"
reasoning = ["low"]
forced_tool = "no"
attachments = false
[providers.xai]
base_url = "http://127.0.0.1:1/v1"
protocol = "silent"
server = "vllm"
"#;
    let (_base, models) = with_file(text);
    let choose = |model| models.choose(&ask(model, "")).unwrap();
    let sol = choose("openai:gpt-6.1-sol");
    assert!(sol.warnings.is_empty() && sol.notes.is_empty());
    assert_eq!(sol.model.max_output, Some(1000));
    let known = catalog::provider("openai").unwrap();
    let known_sol = known.model("gpt-6.1-sol").unwrap();
    assert_eq!(sol.model.context_window, Some(known_sol.context_window));
    let price = sol.model.price.unwrap();
    let known_price = known_sol.price.unwrap();
    assert_eq!((price.input, price.output), (known_price.input, Some(1.0)));
    assert_eq!(sol.model.retry.max_retries, 1);
    assert_eq!(sol.model.base_url.as_deref(), Some(known.base_url));
    assert_eq!(sol.provider.protocol.unwrap().value, "openai-responses");
    assert_eq!(sol.provider.server.unwrap().value, "openai");
    let mine = choose("openai:mine").model;
    assert_eq!(mine.wire_model, "gpt-6.1-terra");
    assert_eq!(mine.context_window, Some(1_050_000));
    assert_eq!(
        (mine.attachments, mine.forced_tool),
        (Attachments::NONE, ForcedTool::No)
    );
    assert_eq!(sol.model.attachments, Attachments::ALL);
    let images = Attachments {
        documents: false,
        ..Attachments::ALL
    };
    assert_eq!(choose("google:gemma-4-31b-it").model.attachments, images);
    let grok = choose("xai:grok-4.7");
    assert_eq!(
        grok.model.base_url.as_deref(),
        Some("http://127.0.0.1:1/v1")
    );
    assert_eq!(grok.protocol.name(), "silent");
    assert_eq!(
        grok.provider.server.as_deref().map(String::as_str),
        Some("vllm")
    );
    assert_eq!(grok.provider.key_variables(), ["XAI_API_KEY"]);
}

#[test]
fn a_model_that_takes_no_label_gets_none() {
    let models = with_file("reasoning = \"medium\"");
    insta::assert_snapshot!(told(&models, "openai:gpt-4.1", ""), @"
    openai:gpt-4.1 -
    the model `openai:gpt-4.1` takes no reasoning label; `medium` (from /config.toml:1:1) is left out
    ");
    insta::assert_snapshot!(told(&models, "openai:gpt-4.1", "off"), @"openai:gpt-4.1 -");
    insta::assert_snapshot!(told(&models, "openai:gpt-6.1-sol", "off"), @"model `openai:gpt-6.1-sol` does not take the reasoning label `off` (from `--reasoning`); it takes `low`, `medium`, `high`, `xhigh`, `max` (panto's defaults); choose with `--reasoning`");
    let told_how = with_file("[providers.openai.models.\"gpt-4.1\"]\nreasoning = [\"low\"]");
    assert_eq!(
        told(&told_how, "openai:gpt-4.1", "low"),
        "openai:gpt-4.1 low"
    );
}

#[test]
fn what_there_is_to_choose_from() {
    let text = r#"
[providers.local]
base_url = "http://127.0.0.1:1"
[providers.local.models.big]
context_window = 1000
[providers.groq]
headers = { Authorization = "Bearer x" }
[providers.deepseek.models.mine]
[providers.xai]
base_url = "http://gateway/v1"
"#;
    let text = &format!("model = \"local:mine:7b\"\n{text}");
    let (_base, models) = with_keys(text, &["mistral"]);
    let offered = models.offered();
    let names: Vec<_> = offered
        .iter()
        .map(|provider| provider.name.as_str())
        .collect();
    assert_eq!(names[..4], ["local", "anthropic", "openai", "google"]);
    let of = |name: &str| {
        offered
            .iter()
            .find(|provider| provider.name == name)
            .unwrap()
    };
    let aliases = |name: &str| -> Vec<String> {
        let models = of(name).models.iter();
        models
            .map(|model| model.reference.alias().to_owned())
            .collect()
    };
    assert_eq!(of("local").key, KeyState::NotNeeded);
    assert_eq!(of("local").title, "local");
    assert_eq!(of("local").models[0].context_window, Some(1000));
    assert_eq!(
        of("mistral").key,
        KeyState::Found("variable MISTRAL_API_KEY".into())
    );
    assert_eq!(of("groq").key, KeyState::NotNeeded);
    assert_eq!(of("ollama").key, KeyState::NotNeeded);
    assert_eq!(of("ollama").models, []);
    assert_eq!(of("deepseek").key, KeyState::Missing);
    // A gateway of a company wants a key as the provider does.
    assert_eq!(of("xai").key, KeyState::Missing);
    // The model that answers is listed, whoever has the list.
    assert_eq!(aliases("local"), ["big", "mine:7b"]);
    assert_eq!(
        aliases("deepseek"),
        ["deepseek-flash", "deepseek-v4-pro", "mine"]
    );
    assert!(of("deepseek").is_configured && !of("openai").is_configured);
}

#[test]
fn a_provider_that_cannot_be_reached_says_why() {
    let models = models("");
    insta::assert_snapshot!(told(&models, "mute:x", ""), @"provider `mute` (/config.toml:25:12) has neither a `base_url` nor a `protocol`; set the first, or the second to one of `anthropic-messages`, `google-generate`, `openai-chat`, `openai-responses`, `picky`, `silent`");
    insta::assert_snapshot!(told(&models, "odd:x", ""), @"provider `odd` has the unknown protocol `silnet` (/config.toml:28:1); there are `anthropic-messages`, `google-generate`, `openai-chat`, `openai-responses`, `picky`, `silent`; did you mean `silent`?");
    insta::assert_snapshot!(told(&models, "picky:x", ""), @"could not set up the protocol `picky` for provider `picky` (/config.toml:30:12): it has no `script`");
}

#[test]
fn what_a_model_can_do_is_as_it_is_set_or_as_most_can() {
    let (_base, models) = with_file(
        "[providers.p]\n\
         protocol = \"silent\"\n\
         [providers.p.models.set]\n\
         reasoning_control = \"budget\"\n\
         attachments = false\n\
         forced_tool = \"no\"\n\
         [providers.p.models.bare]\n",
    );
    let can = |model| {
        let model = models.choose(&ask(model, "")).unwrap().model;
        (
            model.reasoning_control,
            model.attachments,
            model.forced_tool,
        )
    };
    let set = (
        Some(ReasoningControl::Budget),
        Attachments::NONE,
        ForcedTool::No,
    );
    assert_eq!(can("p:set"), set);
    let most = (None, Attachments::ALL, ForcedTool::WithoutThinking);
    assert_eq!(can("p:bare"), most);
    assert_eq!(can("p:unlisted"), most);
}
