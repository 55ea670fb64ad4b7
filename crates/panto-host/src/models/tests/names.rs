//! What a person may call a model, and what is said of a name that means none or several.

use super::*;

#[test]
fn half_a_name_gets_the_other_half() {
    let models = models("");
    let texts = [
        "anthropic:",
        "local:",
        "ollama:",
        "antropic:",
        ":",
        ":x",
        ":sonnet-5",
        "\u{1b}[2J:",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    `anthropic:` (from `--model`) names no model; write it as `provider:alias`, such as `anthropic:claude-sonnet-5-5`
    `local:` (from `--model`) names no model; write it as `provider:alias`, such as `local:bag`, `local:big`
    `ollama:` (from `--model`) names no model; write it as `provider:alias`
    unknown provider `antropic` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`); did you mean `anthropic`?
    `:` (from `--model`) names no provider; write it as `provider:alias`
    `:x` (from `--model`) names no provider; write it as `provider:alias`, such as `openrouter:x-ai/grok-build-0.1`, `openrouter:x-ai/grok-4.7`, `openrouter:x-ai/grok-4.6`
    `:sonnet-5` (from `--model`) names no provider; write it as `provider:alias`, such as `anthropic:claude-sonnet-5`, `openrouter:anthropic/claude-sonnet-5`, `anthropic:claude-sonnet-5-5`
    `�[2J:` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`
    ");
}

#[test]
fn a_mistyped_name_gets_the_nearest() {
    let models = models("");
    let texts = [
        "sonet",
        "gemni",
        "opuss",
        "gpt6",
        "openai:gpt6",
        "anthropic:opuss",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    `sonet` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `anthropic:claude-sonnet-5-5`, `anthropic:claude-sonnet-5`, `anthropic:claude-sonnet-4-6`
    `gemni` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `google:gemini-pro-latest`, `google:gemini-flash-lite-latest`, `google:gemini-flash-latest`
    `opuss` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `anthropic:claude-opus-5`, `openrouter:anthropic/claude-opus-5`, `anthropic:claude-opus-5-5`
    `gpt6` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol`, `openai:gpt-6-sol`
    openai:gpt6 -
    neither the catalog nor a configuration lists the model `openai:gpt6`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models.gpt6]`; did you mean `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol` or `openai:gpt-6-sol`?
    anthropic:opuss -
    neither the catalog nor a configuration lists the model `anthropic:opuss`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.anthropic.models.opuss]`; did you mean `anthropic:claude-opus-5`, `anthropic:claude-opus-5-5` or `anthropic:claude-opus-4-8`?
    ");
}

#[test]
fn googles_own_spelling_is_understood() {
    let models = with_keys("", &["google"]);
    let texts = [
        "google:models/gemini-3.8-flash",
        "models/gemini-3.8-flash",
        "google:models/gemini-99",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    google:gemini-3.8-flash -
    `google:models/gemini-3.8-flash` is google:gemini-3.8-flash
    google:gemini-3.8-flash -
    `models/gemini-3.8-flash` is google:gemini-3.8-flash
    google:gemini-99 -
    `google:models/gemini-99` is google:gemini-99
    neither the catalog nor a configuration lists the model `google:gemini-99`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.google.models.gemini-99]`; did you mean `google:gemini-pro-latest`, `google:gemini-flash-lite-latest` or `google:gemini-flash-latest`?
    ");
}

#[test]
fn a_part_of_a_name_is_enough_if_it_is_of_one_model() {
    let models = with_keys("", &["anthropic", "openai"]);
    for (text, model) in [
        ("anthropic:sonnet-5", "anthropic:claude-sonnet-5"),
        ("anthropic:haiku-5.5", "anthropic:claude-haiku-5-5"),
        ("gpt-6.1-sol", "openai:gpt-6.1-sol"),
        ("opus-5.5", "anthropic:claude-opus-5-5"),
        // Its provider has no key, but is named.
        (
            "openrouter:claude-opus-5.5",
            "openrouter:anthropic/claude-opus-5.5",
        ),
    ] {
        let chosen = models.1.choose(&ask(text, "")).unwrap();
        assert_eq!(chosen.model.reference.to_string(), model);
        assert!(chosen.warnings.is_empty());
    }
    insta::assert_snapshot!(told(&models, "anthropic:sonnet-5", ""), @"
    anthropic:claude-sonnet-5 -
    `anthropic:sonnet-5` is anthropic:claude-sonnet-5
    ");
    insta::assert_snapshot!(told(&models, "anthropic:sonnet", ""), @"`anthropic:sonnet` (from `--model`) may be any of `anthropic:claude-sonnet-4-5`, `anthropic:claude-sonnet-4-6`, `anthropic:claude-sonnet-5`, `anthropic:claude-sonnet-5-5`; write more of the name, or list one of exactly this name under `[providers.anthropic.models.sonnet]`");
    insta::assert_snapshot!(told(&models, "opus", ""), @"`opus` (from `--model`) may be any of `anthropic:claude-opus-4-5`, `anthropic:claude-opus-4-6`, `anthropic:claude-opus-4-7`, `anthropic:claude-opus-4-8`, `anthropic:claude-opus-5`, `anthropic:claude-opus-5-5`; write more of the name");
    insta::assert_snapshot!(told(&models, "anthropic:sonet-5", ""), @"
    anthropic:sonet-5 -
    neither the catalog nor a configuration lists the model `anthropic:sonet-5`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.anthropic.models.sonet-5]`; did you mean `anthropic:claude-sonnet-5` or `anthropic:claude-sonnet-5-5`?
    ");
    insta::assert_snapshot!(told(&models, "grok-4.7", ""), @"`grok-4.7` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `xai:grok-4.7`");
    insta::assert_snapshot!(told(&models, "openrouter:google/gemma-4-31b-it:free", ""), @"openrouter:google/gemma-4-31b-it:free -");
    insta::assert_snapshot!(told(&models, "google/gemma-4-31b-it:free", ""), @"`google/gemma-4-31b-it:free` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `openrouter:google/gemma-4-31b-it:free`");
}

#[test]
fn an_alias_alone_is_looked_for_where_it_can_be_asked() {
    let from_file = models("model = \"only\"");
    assert_eq!(told(&from_file, "", ""), "locale:only -");
    let models = models("");
    insta::assert_snapshot!(told(&models, "bag", ""), @"`bag` (from `--model`) may be any of `local:bag`, `locale:bag`; write more of the name");
    insta::assert_snapshot!(told(&models, "nowhere", ""), @"`nowhere` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
    insta::assert_snapshot!(told(&models, "\u{1b}[2J\u{202e}", ""), @"`�[2J�` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
}

#[test]
fn an_unknown_provider_is_an_error_with_the_nearest_names() {
    insta::assert_snapshot!(told(&models("model = \"lokal:big\""), "", ""), @"unknown provider `lokal` (from /config.toml:1:1); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`); did you mean `local`?");
    insta::assert_snapshot!(told(&models(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`)");
    insta::assert_snapshot!(told(&with_file(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; others are added under `[providers]` (read `/config.toml`)");
    let base = tempfile::tempdir().unwrap();
    let models = loaded(base.path(), None);
    insta::assert_snapshot!(told(&(base, models), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; others are added under `[providers]` (no configuration file was found)");
}
