//! What people choose, and what they are told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pantograph::ProviderError;
use pantograph::protocol::{Protocol, ProtocolStream, Request};

use super::*;
use crate::config::LoadConfig;
use crate::dirs::{Dirs, Environment};

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
    })
    .unwrap();
    let mut registry = ProtocolRegistry::default();
    registry.register("silent", |_| Ok(Arc::new(Silent)));
    registry.register("picky", |_| Err("it has no `script`".into()));
    Models::new(Arc::new(loaded.config), registry)
}

fn ask<'a>(model: &'a str, reasoning: &'a str) -> ChoiceRequest<'a> {
    let set = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    ChoiceRequest {
        model: set(model),
        reasoning: set(reasoning),
    }
}

/// The error's text with its causes, or what was chosen and the warnings.
fn told((base, models): &(tempfile::TempDir, Models), model: &str, reasoning: &str) -> String {
    let told = match models.choose(&ask(model, reasoning)) {
        Err(error) => pantograph::with_causes(&error),
        Ok(chosen) => {
            let warnings = chosen.warnings.iter().map(|warning| format!("\n{warning}"));
            format!(
                "{} {}{}",
                chosen.model.reference,
                chosen.model.reasoning.as_deref().unwrap_or("-"),
                warnings.collect::<String>()
            )
        }
    };
    told.replace(&base.path().display().to_string(), "")
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
fn the_command_line_wins_over_the_configuration() {
    let models = models("model = \"locale:only\"\nreasoning = \"low\"");
    assert_eq!(told(&models, "", ""), "locale:only low");
    assert_eq!(told(&models, "local:big", ""), "local:big low");
    assert_eq!(told(&models, "", "xhigh"), "locale:only xhigh");
}

#[test]
fn an_unlisted_model_is_taken_with_conservative_limits_and_one_warning() {
    let models = models("");
    let chosen = models.1.choose(&ask("local:bug", "max")).unwrap();
    assert_eq!(chosen.model.wire_model, "bug");
    assert_eq!(chosen.model.context_window, Some(UNLISTED_CONTEXT_WINDOW));
    assert_eq!(chosen.model.max_output, Some(UNLISTED_MAX_OUTPUT));
    insta::assert_snapshot!(told(&models, "local:bug", "max"), @r"
    local:bug max
    no configuration lists the model `local:bug`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.local.models.bug]`; did you mean `local:bag` or `local:big`?
    ");
    insta::assert_snapshot!(told(&models, "locale:hf/x:7b", ""), @r#"
    locale:hf/x:7b -
    no configuration lists the model `locale:hf/x:7b`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.locale.models."hf/x:7b"]`
    "#);
}

#[test]
fn a_model_takes_the_labels_of_its_list_or_any() {
    let from_file = models("reasoning = \"medium\"");
    insta::assert_snapshot!(told(&from_file, "local:big", ""), @"model `local:big` does not take the reasoning label `medium` (from /config.toml:1:1); it takes `off`, `low`, `high` (/config.toml:15:1); choose with `--reasoning`");
    assert_eq!(told(&from_file, "local:bag", ""), "local:bag medium");
    let models = models("");
    insta::assert_snapshot!(told(&models, "local:big", "max"), @"model `local:big` does not take the reasoning label `max` (from `--reasoning`); it takes `off`, `low`, `high` (/config.toml:15:1); choose with `--reasoning`");
    insta::assert_snapshot!(told(&models, "local:bag", "hihg"), @"unknown reasoning label `hihg` (from `--reasoning`); the labels are `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; did you mean `high`?");
    assert_eq!(told(&models, "local:bag", "xhigh"), "local:bag xhigh");
    let none = with_file("[providers.p]\nprotocol = \"silent\"\nmodels.a.reasoning = []");
    insta::assert_snapshot!(told(&none, "p:a", "low"), @"model `p:a` does not take the reasoning label `low` (from `--reasoning`); its list is empty (/config.toml:3:10)");
}

#[test]
fn no_model_says_where_to_name_one() {
    let base = tempfile::tempdir().unwrap();
    let models_of_nothing = loaded(base.path(), None);
    let nothing = (base, models_of_nothing);
    insta::assert_snapshot!(told(&nothing, "", ""), @r#"no model is set; name one with `--model provider:alias`, or write `model = "provider:alias"` into `/home/.config/panto/config.toml` (no model is configured yet); it also takes a provider (docs/configuration.md shows how), and `panto demo` needs neither"#);
    insta::assert_snapshot!(told(&models(""), "", ""), @r#"no model is set; name one with `--model provider:alias`, or write `model = "provider:alias"` into `/config.toml` (configured: `local:bag`, `local:big`, `locale:bag`, `locale:only`)"#);
    let homeless = Models::new(Arc::default(), ProtocolRegistry::default());
    insta::assert_snapshot!(homeless.choose(&ask("", "")).unwrap_err(), @r#"no model is set; name one with `--model provider:alias`, or write `model = "provider:alias"` into a file that you give with `--config` (no model is configured yet); it also takes a provider (docs/configuration.md shows how), and `panto demo` needs neither"#);
}

#[test]
fn an_alias_alone_is_refused_with_the_form() {
    let from_file = models("model = \"only\"");
    insta::assert_snapshot!(told(&from_file, "", ""), @"`only` (from /config.toml:1:1) is not a model; write it as `provider:alias`, here `locale:only`");
    let models = models("");
    insta::assert_snapshot!(told(&models, "bag", ""), @"`bag` (from `--model`) is not a model; write it as `provider:alias`");
    insta::assert_snapshot!(told(&models, "nowhere", ""), @"`nowhere` (from `--model`) is not a model; write it as `provider:alias`");
    insta::assert_snapshot!(told(&models, "\u{1b}[2J\u{202e}", ""), @"`�[2J�` (from `--model`) is not a model; write it as `provider:alias`");
}

#[test]
fn an_unknown_provider_is_an_error_with_the_nearest_names() {
    insta::assert_snapshot!(told(&models("model = \"lokal:big\""), "", ""), @"unknown provider `lokal` (from /config.toml:1:1); configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`); did you mean `local`?");
    insta::assert_snapshot!(told(&models(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`)");
    insta::assert_snapshot!(told(&with_file(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); no provider is configured (read `/config.toml`); add one under `[providers]`");
    let base = tempfile::tempdir().unwrap();
    let models = loaded(base.path(), None);
    insta::assert_snapshot!(told(&(base, models), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); no provider is configured (no configuration file was found); add one under `[providers]`");
}

#[test]
fn a_provider_that_cannot_be_reached_says_why() {
    let models = models("");
    insta::assert_snapshot!(told(&models, "mute:x", ""), @"provider `mute` (/config.toml:25:12) has no `protocol`; set it to one of `picky`, `silent`");
    insta::assert_snapshot!(told(&models, "odd:x", ""), @"provider `odd` has the unknown protocol `silnet` (/config.toml:28:1); there are `picky`, `silent`; did you mean `silent`?");
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
    let set = (Some(ReasoningControl::Budget), false, ForcedTool::No);
    assert_eq!(can("p:set"), set);
    let most = (None, true, ForcedTool::WithoutThinking);
    assert_eq!(can("p:bare"), most);
    assert_eq!(can("p:unlisted"), most);
}
