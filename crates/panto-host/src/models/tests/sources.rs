//! Where the choice of a model comes from: the command line, a session, the configuration, a key.

use super::*;

#[test]
fn the_command_line_wins_over_the_configuration() {
    let models = models("model = \"locale:only\"\nreasoning = \"low\"");
    assert_eq!(told(&models, "", ""), "locale:only low");
    assert_eq!(told(&models, "local:big", ""), "local:big low");
    assert_eq!(told(&models, "", "xhigh"), "locale:only xhigh");
}

/// As an answer in a session says it.
fn origin(reference: &str, model: &str, base_url: Option<&str>) -> Origin {
    Origin {
        style: "openai-chat".to_owned(),
        base_url: base_url.map(str::to_owned),
        model: model.to_owned(),
        reference: reference.to_owned(),
        reasoning: Some("high".to_owned()),
    }
}

#[test]
fn a_session_goes_on_with_its_model() {
    let models = with_keys(
        "model = \"mistral:mistral-medium-latest\"\nproviders.own.base_url = \"http://own/v1\"",
        &["anthropic", "mistral"],
    );
    let on = |origin: &Origin, request: ChoiceRequest<'_>| {
        let request = ChoiceRequest {
            session: Some(origin),
            ..request
        };
        let place = models.1.choose(&request).ok();
        let place = place.and_then(|chosen| chosen.model.base_url);
        format!(
            "{} at {}",
            told_of(&models, &request),
            place.unwrap_or_default()
        )
    };
    let plain = ChoiceRequest::default;
    let home = "https://api.anthropic.com";
    let opus = origin("anthropic:claude-opus-5", "claude-opus-5", Some(home));
    insta::assert_snapshot!(on(&opus, plain()), @"anthropic:claude-opus-5 - at https://api.anthropic.com");
    insta::assert_snapshot!(on(&opus, ask("mistral:mistral-medium-latest", "")), @"mistral:mistral-medium-latest - at https://api.mistral.ai/v1");
    let at = ChoiceRequest {
        base_url: Some("http://there"),
        ..plain()
    };
    insta::assert_snapshot!(on(&opus, at), @"
    anthropic:claude-opus-5 -
    the key of `anthropic` (from variable ANTHROPIC_API_KEY) goes to `http://there/`, as `--base-url` says; if a server there calls a model `anthropic:claude-opus-5`, ask for it without a key: `--model local:anthropic:claude-opus-5` at http://there
    ");
    // After `--base-url` the place is that of the session, unless the configuration has one.
    let local = origin("local:qwen3:8b", "qwen3:8b", Some("http://127.0.0.1:9/v1"));
    insta::assert_snapshot!(on(&local, plain()), @"local:qwen3:8b - at http://127.0.0.1:9/v1");
    insta::assert_snapshot!(on(&local, at), @"local:qwen3:8b - at http://there");
    let own = origin("own:m", "m", Some("http://127.0.0.1:9/v1"));
    insta::assert_snapshot!(on(&own, plain()), @"
    own:m -
    own:m was asked at `http://127.0.0.1:9/v1` in this session, and now is at `http://own/v1` at http://own/v1
    ");
    // What cannot be asked is passed over.
    let passed_over = [
        origin("openai:gpt-6.1-sol", "gpt-6.1-sol", None),
        origin("gone:m", "m", None),
        origin("own:alias", "m", None),
        origin("\u{1b}[2J", "m", None),
    ];
    let passed_over = passed_over.map(|origin| on(&origin, plain()));
    insta::assert_snapshot!(passed_over.join("\n"), @"
    mistral:mistral-medium-latest -
    the session's model `openai:gpt-6.1-sol` cannot be asked (there is no key for `openai`); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `gone:m` cannot be asked (there is no provider `gone` any more); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `own:alias` cannot be asked (nothing lists it any more); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `�[2J` cannot be asked (its name is no model reference); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    ");
}

#[test]
fn a_model_that_the_project_chose_is_named() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("project/.panto");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(
        directory.join("config.toml"),
        "model = \"openai:gpt-6.1-sol\"",
    )
    .unwrap();
    let models = loaded(base.path(), None);
    let models = (base, models);
    insta::assert_snapshot!(told(&models, "", ""), @"
    openai:gpt-6.1-sol -
    using openai:gpt-6.1-sol (`model` of the project, /project/.panto/config.toml:1:1; choose another with `--model`)
    ");
    insta::assert_snapshot!(told(&models, "openai:gpt-6.1-sol", ""), @"openai:gpt-6.1-sol -");
}

#[test]
fn no_model_and_no_key_says_what_was_looked_at() {
    let base = tempfile::tempdir().unwrap();
    let models_of_nothing = loaded(base.path(), None);
    let nothing = (base, models_of_nothing);
    insta::assert_snapshot!(told(&nothing, "", ""), @"no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set");
    let hint = |models: &(tempfile::TempDir, Models)| {
        let error = models.1.choose(&ask("", "")).unwrap_err();
        let hint = error.hint().unwrap();
        hint.replace(&models.0.path().display().to_string(), "")
    };
    insta::assert_snapshot!(hint(&nothing), @"set a key, such as with `export ANTHROPIC_API_KEY=…` (https://platform.claude.com/settings/keys has them) or `panto login anthropic`; a server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; `panto models --all` lists what there is, and `panto demo` needs nothing");
    insta::assert_snapshot!(hint(&models("")), @r#"name a model with `--model`, or with `model = "…"` in `/config.toml`; configured: `local:bag`, `local:big`, `locale:bag`, `locale:only`"#);
    struct Nowhere;
    impl KeyLookup for Nowhere {
        fn find(&self, _provider: &Provider) -> Option<String> {
            None
        }

        fn file(&self) -> Option<std::path::PathBuf> {
            Some("/keys.json".into())
        }
    }
    let changed = with_file("[providers.openai]\napi_key_env = \"WORK_KEY\"");
    let changed = (changed.0, changed.1.with_keys(Nowhere));
    insta::assert_snapshot!(told(&changed, "", ""), @"no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, WORK_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set, and `/keys.json` has none");
}

#[test]
fn without_a_model_the_first_provider_with_a_key_answers() {
    let models = with_keys("", &["openrouter", "google", "mistral"]);
    insta::assert_snapshot!(told(&models, "", ""), @"
    google:gemini-3.8-flash -
    using google:gemini-3.8-flash (key from variable GEMINI_API_KEY; choose another with `--model` or `model` in `/config.toml`)
    ");
    let models = with_keys(
        "[providers.openrouter]\napi_key_env = \"MINE\"",
        &["openrouter"],
    );
    insta::assert_snapshot!(told(&models, "", "high"), @"
    openrouter:anthropic/claude-sonnet-5.5 high
    using openrouter:anthropic/claude-sonnet-5.5 (key from variable MINE; choose another with `--model` or `model` in `/config.toml`)
    ");
    // A model that is named wins, whoever has a key.
    let models = with_keys("model = \"openai:gpt-6.1-sol\"", &["anthropic"]);
    assert_eq!(told(&models, "", ""), "openai:gpt-6.1-sol -");
}

#[test]
fn a_place_alone_is_a_provider_that_speaks_openai_chat() {
    let (_base, models) = with_file("[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"");
    let chosen = models.choose(&ask("local:qwen", "")).unwrap();
    assert_eq!(chosen.provider.protocol.unwrap().value, DEFAULT_PROTOCOL);
    assert_eq!(chosen.model.wire_model, "qwen");
}

#[test]
fn a_place_on_the_command_line() {
    let at = |models: &(tempfile::TempDir, Models), model: &str, url: &str| {
        let request = ChoiceRequest {
            base_url: Some(url),
            ..ask(model, "")
        };
        let told = told_of(models, &request);
        match models.1.choose(&request) {
            Ok(chosen) => format!(
                "{told}\n{} {} {}",
                chosen.provider.protocol.as_deref().unwrap(),
                chosen.model.base_url.unwrap(),
                chosen.provider.takes_key()
            ),
            Err(_) => told,
        }
    };
    let url = "http://127.0.0.1:8080/v1";
    let nothing = with_file("");
    insta::assert_snapshot!(at(&nothing, "qwen3:8b", url), @"
    local:qwen3:8b -
    openai-chat http://127.0.0.1:8080/v1 false
    ");
    assert_eq!(
        at(&nothing, "local:qwen3:8b", url),
        at(&nothing, "qwen3:8b", url)
    );
    insta::assert_snapshot!(at(&nothing, "anthropic:opus-5", url), @"
    anthropic:claude-opus-5 -
    `anthropic:opus-5` is anthropic:claude-opus-5
    anthropic-messages http://127.0.0.1:8080/v1 true
    ");
    insta::assert_snapshot!(at(&nothing, "", url), @"`--base-url` says where a model is reached, and needs `--model NAME` to say which");
    insta::assert_snapshot!(at(&nothing, "a b", url), @"`a b` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
    for url in ["nonsense", "ftp://host/v1", "http://", "http://me:key@host"] {
        assert!(at(&nothing, "x", url).starts_with("`--base-url` cannot be used: "));
    }
    insta::assert_snapshot!(at(&nothing, "x", "ftp://host/v1"), @"`--base-url` cannot be used: the base URL `ftp://host/v1` must be `http://HOST` or `https://HOST`, perhaps with a path");
    let own = with_file(
        "[providers.local]\nprotocol = \"silent\"\napi_key_env = \"K\"\n[providers.local.models.big]\nid = \"b\"",
    );
    insta::assert_snapshot!(at(&own, "big", url), @"
    local:big -
    silent http://127.0.0.1:8080/v1 true
    ");
    // Another place is another server: it has a protocol and a governor of its own.
    let here = own.1.choose(&ask("local:big", "")).unwrap();
    let there = ChoiceRequest {
        base_url: Some(url),
        ..ask("local:big", "")
    };
    let there = own.1.choose(&there).unwrap();
    assert!(!Arc::ptr_eq(&here.model.governor, &there.model.governor));
}
