//! What layers give together, and that every setting reaches its value.

use super::*;

#[test]
fn no_file_at_all_gives_the_defaults() {
    let config = Desk::new().config();
    assert!(config.model.is_none());
    assert!(config.providers.is_empty());
    assert!(config.compaction.auto.value);
    assert_eq!(config.compaction.auto.source, Source::Default);
    assert!(config.files.is_empty());
}

#[test]
fn the_documented_defaults_are_the_ones_in_force() {
    let desk = Desk::new().file(USER, "[providers.p]");
    let config = desk.config();
    let provider = &config.providers["p"];
    let limits = provider.limits();
    let seconds = |limit: Option<std::time::Duration>| match limit {
        Some(limit) => limit.as_secs().to_string(),
        None => "none".to_owned(),
    };
    let list = |list: &[String]| format!("{list:?}");
    let actual = [
        ("providers.*.connect_timeout_s", seconds(limits.connect)),
        ("providers.*.idle_timeout_s", seconds(limits.idle)),
        ("providers.*.request_timeout_s", seconds(limits.total)),
        (
            "providers.*.max_retries",
            provider.retry().max_retries.to_string(),
        ),
        ("tools.ask", list(&config.tools.ask)),
        ("compaction.auto", config.compaction.auto.to_string()),
        ("extensions.allow", list(&config.extensions.allow)),
        ("extensions.deny", list(&config.extensions.deny)),
        (
            "extensions.paths",
            format!("{:?}", config.extensions.paths.value),
        ),
        ("extensions.rocks", list(&config.extensions.rocks)),
    ];
    for (key, actual) in actual {
        let setting = settings().find(|setting| setting.key == key).unwrap();
        assert_eq!(setting.default, actual, "{key}");
    }
}

#[test]
fn every_setting_takes_its_own_example_and_reaches_its_value() {
    for setting in settings() {
        let line = format!("{} = {}", setting.key.replace('*', "x"), setting.example);
        let without = Desk::new().file(USER, key_table(setting.key));
        let with = Desk::new().file(USER, &line);
        assert_eq!(with.told(), "", "{line}");
        let shape = |desk: &Desk| {
            let config = desk.config();
            desk.plain(&format!("{:?}", Shape(&config)))
        };
        assert_ne!(
            shape(&with),
            shape(&without),
            "`{}` changes nothing",
            setting.key
        );
    }
}

/// A file with the tables that a key lies in, and nothing in them.
fn key_table(key: &str) -> String {
    match key.replace('*', "x").rsplit_once('.') {
        Some((table, _)) => format!("[{table}]"),
        None => String::new(),
    }
}

/// The values of a configuration without their places.
struct Shape<'a>(&'a Config);

impl std::fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:?}", self.0);
        let mut rest = text.as_str();
        while let Some(at) = rest.find("line: ") {
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end);
            f.write_str(&rest[..at])?;
            rest = &rest[end..];
        }
        f.write_str(rest)
    }
}

#[test]
fn later_layers_win_key_by_key_and_every_value_knows_its_file() {
    let desk = Desk::new()
        .file(
            USER,
            "model = \"p:a\"\nreasoning = \"low\"\n\
             [providers.p]\nprotocol = \"scripted\"\nheaders = { a = \"1\", b = \"1\" }\n\
             [providers.p.models.a]\nid = \"wire\"\nprice = { input = 1, output = 2 }\n\
             [tools]\nask = [\"shell\", \"write\"]",
        )
        .file(
            PROJECT,
            "model = \"p:b\"\n[tools]\nask = [\"edit\"]\n\
             [providers.p]\nbase_url = \"http://h\"\nheaders.b = \"2\"\n\
             models.a.price.output = 3",
        )
        .file(
            LOCAL,
            "reasoning = \"max\"\n[providers.p]\nconnect_timeout_s = 1.5",
        );
    let config = desk.config();
    let model = config.model.as_ref().unwrap();
    assert_eq!(
        (model.as_str(), desk.from(model)),
        ("p:b", "/project/.panto/config.toml:1:1".to_owned())
    );
    let reasoning = config.reasoning.as_ref().unwrap();
    assert_eq!(reasoning.value, "max");
    assert_eq!(
        desk.from(reasoning),
        "/project/.panto/local/config.toml:1:1"
    );
    let provider = &config.providers["p"];
    let protocol = provider.protocol.as_ref().unwrap();
    assert_eq!(protocol.value, "scripted");
    assert_eq!(desk.from(protocol), "/home/.config/panto/config.toml:4:1");
    let headers = provider.headers.0.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(headers, [("a", "1"), ("b", "2")]);
    assert_eq!(
        provider.limits().connect,
        Some(std::time::Duration::from_millis(1500))
    );
    let price = provider.models["a"].price.unwrap();
    assert_eq!((price.input, price.output), (Some(1.0), Some(3.0)));
    assert_eq!(config.tools.ask.value, ["edit"]);
    assert_eq!(config.files.len(), 3);
}

#[test]
fn a_later_source_of_the_key_replaces_an_earlier_one() {
    let desk = Desk::new()
        .file(
            USER,
            "[providers.p]\napi_key_env = \"A\"\n[providers.q]\napi_key_command = [\"pass\", \"\"]",
        )
        .file(
            PROJECT,
            "[providers.p]\napi_key_command = [\"pass\"]\n[providers.q]\napi_key_env = \"B\"",
        );
    let config = desk.config();
    let sources = |name: &str| {
        let provider = &config.providers[name];
        (
            provider.api_key_env.is_some(),
            provider.api_key_command.is_some(),
        )
    };
    assert_eq!(sources("p"), (false, true));
    assert_eq!(sources("q"), (true, false));
}

#[test]
fn a_script_starts_at_the_directory_of_its_file_and_extensions_at_the_project() {
    let desk = Desk::new().file(
        PROJECT,
        "[providers.p]\nscript = \"demo.toml\"\n[extensions]\npaths = [\"../x\", \"/abs\"]",
    );
    let config = desk.config();
    let script = config.providers["p"].script.as_ref().unwrap();
    assert_eq!(script.value, desk.path("project/.panto/demo.toml"));
    let paths = &config.extensions.paths.value;
    assert_eq!(paths, &[PathBuf::from("../x"), PathBuf::from("/abs")]);
}

#[test]
fn settings_of_extensions_stay_as_written_and_merge() {
    let desk = Desk::new()
        .file(
            USER,
            "[extensions.settings.notes]\na = 1\ndeep = { x = [1, { y = 2.5 }], z = 1979-05-27 }",
        )
        .file(
            PROJECT,
            "[extensions.settings]\nnotes.b = true\nnotes.deep.x = \"new\"\nflag = true",
        );
    let config = desk.config();
    let settings = &config.extensions.settings;
    insta::assert_snapshot!(
        settings.iter().map(|(name, value)| format!("{name} = {}\n", value.value)).collect::<String>(),
        @r#"
    flag = true
    notes = { a = 1, b = true, deep = { x = "new", z = 1979-05-27 } }
    "#
    );
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let desk = Desk::new().file(USER, "\u{feff}model = \"p:a\"\r\n[tools]\r\nask = []\r\n");
    assert_eq!(desk.told(), "");
    assert_eq!(desk.config().model.unwrap().value, "p:a");
}

#[test]
fn an_explicit_file_stands_in_for_the_users() {
    let mut desk = Desk::new()
        .file(USER, "broken")
        .file(
            "project/mine.toml",
            "model = \"p:mine\"\nreasoning = \"low\"",
        )
        .file(PROJECT, "reasoning = \"high\"");
    desk.explicit = Some(PathBuf::from("mine.toml"));
    let config = desk.config();
    assert_eq!(config.model.unwrap().value, "p:mine");
    assert_eq!(config.reasoning.unwrap().value, "high");
}

#[test]
fn without_a_home_there_is_no_user_layer() {
    let desk = Desk::new().file(PROJECT, "model = \"p:a\"");
    let loaded = Config::load(&LoadConfig {
        dirs: &Dirs::new(&Environment::default()),
        project_root: desk.path("project"),
        explicit: None,
        trusted: true,
        bundle: None,
    })
    .unwrap();
    assert_eq!(loaded.config.model.unwrap().value, "p:a");
    assert_eq!(loaded.config.user_file, None);
}

#[test]
fn a_panto_that_is_a_file_configures_nothing() {
    let desk = Desk::new().file("project/.panto", "not a directory");
    assert_eq!(desk.told(), "");
}

#[test]
fn header_values_stay_out_of_debug_output() {
    let desk = Desk::new().file(USER, "[providers.p]\nheaders = { x = \"secret-value\" }");
    let config = desk.config();
    assert_eq!(config.providers["p"].headers.0["x"].value, "secret-value");
    assert!(!format!("{config:?}").contains("secret-value"));
}

#[test]
fn a_file_with_very_many_keys_loads() {
    let keys: String = (0..50_000).map(|n| format!("k{n} = {n}\n")).collect();
    let desk = Desk::new().file(USER, format!("[extensions.settings.x]\n{keys}"));
    let config = desk.config();
    let settings = &config.extensions.settings["x"].value;
    assert_eq!(settings.as_table().unwrap().len(), 50_000);
}
