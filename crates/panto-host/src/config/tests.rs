//! What files give, from text to values, warnings and errors.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::dirs::{Dirs, Environment};

/// A home, a project in it, and what to load from them.
struct Desk {
    base: tempfile::TempDir,
    explicit: Option<PathBuf>,
    trusted: bool,
}

const USER: &str = "home/.config/panto/config.toml";
const PROJECT: &str = "project/.panto/config.toml";
const LOCAL: &str = "project/.panto/local/config.toml";

impl Desk {
    fn new() -> Self {
        Self {
            base: tempfile::tempdir().unwrap(),
            explicit: None,
            trusted: true,
        }
    }

    fn untrusted() -> Self {
        Self {
            trusted: false,
            ..Self::new()
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.base.path().join(file)
    }

    fn file(self, file: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        let environment = Environment {
            cwd: self.path("project"),
            home: Some(self.path("home").into_os_string()),
            ..Environment::default()
        };
        Config::load(&LoadConfig {
            dirs: &Dirs::new(&environment),
            project_root: self.path("project"),
            explicit: self.explicit.clone(),
            trusted: self.trusted,
        })
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.base.path().display().to_string(), "")
    }

    /// The error, with its causes, or the warnings.
    fn told(&self) -> String {
        let told = match self.load() {
            Err(error) => pantograph::with_causes(&error),
            Ok(loaded) => {
                let warnings = loaded.warnings.iter().map(ToString::to_string);
                warnings.collect::<Vec<_>>().join("\n")
            }
        };
        self.plain(&told)
    }

    fn config(&self) -> Config {
        self.load().unwrap().config
    }

    /// Where a value came from.
    fn from<T>(&self, value: &Sourced<T>) -> String {
        self.plain(&value.source.to_string())
    }
}

/// What the user hears about a file of theirs.
fn told(text: impl AsRef<[u8]>) -> String {
    Desk::new().file(USER, text).told()
}

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
        let setting = SETTINGS.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(setting.default, actual, "{key}");
    }
}

#[test]
fn every_setting_takes_its_own_example_and_reaches_its_value() {
    for setting in SETTINGS {
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
fn paths_start_at_the_directory_of_their_file() {
    let desk = Desk::new().file(
        PROJECT,
        "[providers.p]\nscript = \"demo.toml\"\n[extensions]\npaths = [\"../x\", \"/abs\"]",
    );
    let config = desk.config();
    let script = config.providers["p"].script.as_ref().unwrap();
    assert_eq!(script.value, desk.path("project/.panto/demo.toml"));
    let paths = &config.extensions.paths.value;
    assert_eq!(
        paths,
        &[desk.path("project/.panto/../x"), PathBuf::from("/abs")]
    );
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
fn unknown_keys_are_warned_of_with_the_nearest_known_one() {
    insta::assert_snapshot!(told(
        "modle = \"p:a\"\ncolour = 1\n[tool]\nask = []\n[providers.p]\nbase-url = \"x\"\n\
         api_key = \"sk-secret\"\n[providers.p.models.a]\ncontext = 1\n\"\\u001b[2J\" = 1\n\
         [extensions]\nallowed = []"
    ), @r#"
    /home/.config/panto/config.toml:1:1: unknown key `modle`, ignored; did you mean `model`?
    /home/.config/panto/config.toml:2:1: unknown key `colour`, ignored
    /home/.config/panto/config.toml:3:2: unknown key `tool`, ignored; did you mean `tools`?
    /home/.config/panto/config.toml:6:1: unknown key `providers.p.base-url`, ignored; did you mean `base_url`?
    /home/.config/panto/config.toml:7:1: unknown key `providers.p.api_key`, ignored; keys do not belong in this file: name their source with `api_key_env` or `api_key_command`
    /home/.config/panto/config.toml:9:1: unknown key `providers.p.models.a.context`, ignored; did you mean `context_window`?
    /home/.config/panto/config.toml:10:1: unknown key `providers.p.models.a."�[2J"`, ignored
    /home/.config/panto/config.toml:12:1: unknown key `extensions.allowed`, ignored; did you mean `allow`?
    "#);
}

#[test]
fn broken_toml_names_the_place_and_shows_the_line() {
    for text in [
        "model = \"p:a\"\nreasoning = medium\n",
        "[providers.p\nprotocol = \"x\"\n",
        "model = \"p:a",
        "model = \"a\"\nmodel = \"b\"\n",
        "model",
        "= 1",
        "x = [1,\n",
        "ü = \"ü\" \u{1b}[2J",
        "[a]\nb = 1\n[a]\n",
        "api_key = sk-secret",
        &format!(
            "headers = {{ X-Api-Key = \"sk-secret{}\", b = }}",
            "x".repeat(300)
        ),
        "x = \"\\q\"",
    ] {
        let error = told(text);
        assert!(
            error.starts_with("/home/.config/panto/config.toml:"),
            "{error}"
        );
        assert!(
            !error.contains("sk-secret") && !error.contains('\u{1b}'),
            "{error}"
        );
    }
    insta::assert_snapshot!(told("model = \"p:a\"\nreasoning = medium\n"), @r"
    /home/.config/panto/config.toml:2:13: not valid TOML: string values must be quoted, expected literal string
      |
    2 | reasoning = medium
      |             ^^^^^^
    ");
    insta::assert_snapshot!(told("[providers.p\nprotocol = \"x\"\n"), @r"
    /home/.config/panto/config.toml:1:13: not valid TOML: unclosed table, expected `]`
      |
    1 | [providers.p
      |             ^
    ");
    insta::assert_snapshot!(told("model = \"a\"\nmodel = \"b\"\n"), @r#"
    /home/.config/panto/config.toml:2:1: not valid TOML: duplicate key
      |
    2 | model = "b"
      | ^^^^^
    "#);
    insta::assert_snapshot!(told("ok = 1\r\nmodel = \"p:a"), @r#"
    /home/.config/panto/config.toml:2:13: not valid TOML: invalid basic string, expected `"`
      |
    2 | model = "p:a
      |             ^
    "#);
    insta::assert_snapshot!(told("api_key = sk-secret"), @r"
    /home/.config/panto/config.toml:1:11: not valid TOML: string values must be quoted, expected literal string
      |
    1 | api_key = …
      |           ^
    ");
}

#[test]
fn values_that_do_not_fit_name_what_was_expected() {
    let all: String = [
        "model = 5",
        "model = \"\"",
        "model = [\"a\"]",
        "reasoning = \"hihg\"",
        "reasoning = true",
        "providers = []",
        "[[providers]]",
        "[providers]\np = \"x\"",
        "[providers.\"a b\"]",
        "[providers.p.models.\"a b\"]",
        "[providers.p]\nconnect_timeout_s = 0",
        "[providers.p]\nidle_timeout_s = -1.5",
        "[providers.p]\nrequest_timeout_s = \"5m\"",
        "[providers.p]\nrequest_timeout_s = nan",
        "[providers.p]\nrequest_timeout_s = 1e300",
        "[providers.p]\nmax_retries = 2.5",
        "[providers.p]\nmax_retries = 101",
        "[providers.p]\napi_key_command = []",
        "[providers.p]\napi_key_command = \"pass show x\"",
        "[providers.p]\napi_key_command = [\"a\"]\napi_key_env = \"A\"",
        "[providers.p]\nheaders = { x-team = 5 }",
        "[providers.p]\nheaders = { authorization = \"Bearer\\nsecret\" }",
        "[providers.p.models.a]\ncontext_window = 0",
        "[providers.p.models.a]\nmax_output = 99999999999999999999",
        "[providers.p.models.a]\nreasoning = [\"off\", \"hi\"]",
        "[providers.p.models.a]\nattachments = \"no\"",
        "[providers.p.models.a]\nforced_tool = \"maybe\"",
        "[providers.p.models.a]\nprice = 5",
        "[providers.p.models.a]\nprice = { input = -1 }",
        "[tools]\nask = \"shell\"",
        "[tools]\nask = [\"shell\", 5]",
        "[compaction]\nauto = 1979-05-27",
        "[extensions]\npaths = [\"\"]",
        "[extensions.settings.x]\nn = 99999999999999999999",
    ]
    .map(|text| told(text).replace("/home/.config/panto/", "") + "\n")
    .concat();
    insta::assert_snapshot!(all, @r#"
    config.toml:1:9: `model` takes text in quotes, not `5`
      |
    1 | model = 5
      |         ^
    config.toml:1:9: `model` takes text in quotes, not empty text
      |
    1 | model = ""
      |         ^^
    config.toml:1:9: `model` takes text in quotes, not a list
      |
    1 | model = ["a"]
      |         ^^^^^
    config.toml:1:13: `reasoning` takes one of `"off"`, `"minimal"`, `"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`, not this text; did you mean `high`?
      |
    1 | reasoning = "hihg"
      |             ^^^^^^
    config.toml:1:13: `reasoning` takes one of `"off"`, `"minimal"`, `"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`, not `true`
      |
    1 | reasoning = true
      |             ^^^^
    config.toml:1:13: `providers` takes a table
      |
    1 | providers = []
      |             ^^
    config.toml:1:1: `providers` takes a table
      |
    1 | [[providers]]
      | ^^^^^^^^^^^^^
    config.toml:2:5: `providers.p` takes a table
      |
    2 | p = "x"
      |     ^^^
    config.toml:1:12: a provider's name is made of letters, digits, `_` and `-`
      |
    1 | [providers."a b"]
      |            ^^^^^
    config.toml:1:21: a model's alias has no blanks and is not empty
      |
    1 | [providers.p.models."a b"]
      |                     ^^^^^
    config.toml:2:21: `providers.p.connect_timeout_s` takes seconds as a number above 0 and up to 31536000, not `0`
      |
    2 | connect_timeout_s = 0
      |                     ^
    config.toml:2:18: `providers.p.idle_timeout_s` takes seconds as a number above 0 and up to 31536000, not `-1.5`
      |
    2 | idle_timeout_s = -1.5
      |                  ^^^^
    config.toml:2:21: `providers.p.request_timeout_s` takes seconds as a number above 0 and up to 31536000, not this text
      |
    2 | request_timeout_s = "5m"
      |                     ^^^^
    config.toml:2:21: `providers.p.request_timeout_s` takes seconds as a number above 0 and up to 31536000, not `nan`
      |
    2 | request_timeout_s = nan
      |                     ^^^
    config.toml:2:21: `providers.p.request_timeout_s` takes seconds as a number above 0 and up to 31536000, not `1e300`
      |
    2 | request_timeout_s = 1e300
      |                     ^^^^^
    config.toml:2:15: `providers.p.max_retries` takes a whole number from 0 to 100, not `2.5`
      |
    2 | max_retries = 2.5
      |               ^^^
    config.toml:2:15: `providers.p.max_retries` takes a whole number from 0 to 100, not `101`
      |
    2 | max_retries = 101
      |               ^^^
    config.toml:2:19: `providers.p.api_key_command` takes a list of texts in quotes: a command and its arguments, not an empty list
      |
    2 | api_key_command = []
      |                   ^^
    config.toml:2:19: `providers.p.api_key_command` takes a list of texts in quotes: a command and its arguments, not this text
      |
    2 | api_key_command = "pass show x"
      |                   ^^^^^^^^^^^^^
    config.toml:2:1: a provider takes its key from `api_key_env` or from `api_key_command`, not both
      |
    2 | api_key_command = ["a"]
      | ^^^^^^^^^^^^^^^
    config.toml:2:22: `providers.p.headers.x-team` takes text in quotes without control characters, not `5`
      |
    2 | headers = { x-team = 5 }
      |                      ^
    config.toml:2:29: `providers.p.headers.authorization` takes text in quotes without control characters, not this text
      |
    2 | headers = { authorization = …
      |                             ^
    config.toml:2:18: `providers.p.models.a.context_window` takes a whole number above 0, not `0`
      |
    2 | context_window = 0
      |                  ^
    config.toml:2:14: `providers.p.models.a.max_output` takes a whole number above 0, not `99999999999999999999`
      |
    2 | max_output = 99999999999999999999
      |              ^^^^^^^^^^^^^^^^^^^^
    config.toml:2:21: `providers.p.models.a.reasoning` takes a list of some of `"off"`, `"minimal"`, `"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`, not this text
      |
    2 | reasoning = ["off", "hi"]
      |                     ^^^^
    config.toml:2:15: `providers.p.models.a.attachments` takes `true` or `false`, not this text
      |
    2 | attachments = "no"
      |               ^^^^
    config.toml:2:15: `providers.p.models.a.forced_tool` takes one of `"yes"`, `"no"`, `"without_thinking"`, not this text
      |
    2 | forced_tool = "maybe"
      |               ^^^^^^^
    config.toml:2:9: `providers.p.models.a.price` takes a table
      |
    2 | price = 5
      |         ^
    config.toml:2:19: `providers.p.models.a.price.input` takes US dollars as a number from 0, not `-1`
      |
    2 | price = { input = -1 }
      |                   ^^
    config.toml:2:7: `tools.ask` takes a list of texts in quotes, not this text
      |
    2 | ask = "shell"
      |       ^^^^^^^
    config.toml:2:17: `tools.ask` takes a list of texts in quotes, not `5`
      |
    2 | ask = ["shell", 5]
      |                 ^
    config.toml:2:8: `compaction.auto` takes `true` or `false`, not a date
      |
    2 | auto = 1979-05-27
      |        ^^^^^^^^^^
    config.toml:2:10: `extensions.paths` takes a list of paths in quotes, not empty text
      |
    2 | paths = [""]
      |          ^^
    config.toml:2:5: `99999999999999999999` is out of range
      |
    2 | n = 99999999999999999999
      |     ^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn the_keys_of_an_untrusted_file_are_named_in_bounded_space() {
    let keys: String = (0..1000)
        .map(|n| format!("{}{n} = 1\n", "k".repeat(200)))
        .collect();
    let told = Desk::untrusted().file(PROJECT, keys).told();
    assert!(told.contains(" and 992 more until you trust"), "{told}");
    assert!(told.len() < 1200, "{}", told.len());
}

#[test]
fn a_long_line_is_shown_in_part() {
    let text = format!("ask = [{}5]", "\"é\", ".repeat(1000));
    let error = told(format!("[tools]\n{text}"));
    assert!(
        error.lines().all(|line| line.chars().count() < 140),
        "{error}"
    );
    let lines: Vec<_> = error.lines().collect();
    let caret = lines[3].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[2].chars().nth(caret), Some('5'), "{error}");
}

#[test]
fn files_that_cannot_be_read_say_so() {
    insta::assert_snapshot!(told(b"model = \"a:b\"\nx = \"\xff\""), @"/home/.config/panto/config.toml:2:6: not UTF-8; save the file as UTF-8");
    insta::assert_snapshot!(told(vec![b'#'; (4 << 20) + 1]), @"the configuration file `/home/.config/panto/config.toml` is larger than 4 MiB; is it the right file?");
    let desk = Desk::new();
    fs::create_dir_all(desk.path(USER)).unwrap();
    insta::assert_snapshot!(desk.told(), @"could not read the configuration file `/home/.config/panto/config.toml`: Is a directory (os error 21)");
    let mut desk = Desk::new().file(USER, "broken");
    desk.explicit = Some(PathBuf::from("mine.toml"));
    insta::assert_snapshot!(desk.told(), @"the configuration file `/project/mine.toml` does not exist; check the path after `--config`");
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
fn an_untrusted_project_sets_the_model_and_the_reasoning_only() {
    let desk = Desk::untrusted()
        .file(USER, "[providers.p]\napi_key_env = \"MINE\"")
        .file(
            PROJECT,
            "model = \"p:a\"\nwhatever = 1\n[providers.p]\napi_key_env = \"THEIRS\"\n\
             base_url = \"http://evil\"\n[providers.\"\\u001b[2J\"]\n[tools]\nask = 5\n[compaction]",
        )
        .file(LOCAL, "reasoning = \"low\"\nextensions.paths = [\"x\"]");
    insta::assert_snapshot!(desk.told(), @r#"
    /project/.panto/config.toml: ignored `whatever`, `providers.p`, `providers."�[2J"`, `tools.ask`, `compaction` until you trust this project (`panto trust`)
    /project/.panto/local/config.toml: ignored `extensions.paths` until you trust this project (`panto trust`)
    "#);
    let config = desk.config();
    assert_eq!(config.model.unwrap().value, "p:a");
    assert_eq!(config.reasoning.unwrap().value, "low");
    let provider = &config.providers["p"];
    assert_eq!(provider.api_key_env.as_ref().unwrap().value, "MINE");
    assert!(provider.base_url.is_none());
    assert_eq!(config.providers.len(), 1);
    assert!(config.extensions.paths.is_empty());
}

#[test]
fn what_is_wrong_with_an_untrusted_file_is_one_warning() {
    for text in ["model = ", "model = 5\nother = 1", "\u{1b}"] {
        let loaded = Desk::untrusted().file(PROJECT, text).load().unwrap();
        assert_eq!(loaded.warnings.len(), 1, "{text}");
        assert!(loaded.config.files.is_empty());
    }
    let broken = Desk::untrusted().file(PROJECT, "model = 5\nother = 1");
    insta::assert_snapshot!(broken.told(), @r"
    ignored the configuration of this untrusted project: /project/.panto/config.toml:1:9: `model` takes text in quotes, not `5`
      |
    1 | model = 5
      |         ^
    ");
    let binary = Desk::untrusted().file(LOCAL, b"\xff");
    insta::assert_snapshot!(binary.told(), @"ignored the configuration of this untrusted project: /project/.panto/local/config.toml:1:1: not UTF-8; save the file as UTF-8");
}

#[test]
fn what_is_wrong_with_a_trusted_file_is_an_error() {
    let desk = Desk::new().file(LOCAL, "model = 5");
    assert!(matches!(desk.load(), Err(ConfigError::Invalid(_))));
}

#[test]
fn header_values_stay_out_of_debug_output() {
    let desk = Desk::new().file(USER, "[providers.p]\nheaders = { x = \"secret-value\" }");
    let config = desk.config();
    assert_eq!(config.providers["p"].headers.0["x"].value, "secret-value");
    assert!(!format!("{config:?}").contains("secret-value"));
}

#[test]
fn deeply_nested_files_are_refused() {
    const DEPTH: usize = 100_000;
    for text in [
        format!("x = {}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("x = {}{}", "{a=".repeat(DEPTH), "}".repeat(DEPTH)),
        format!("extensions.settings.x{} = 1", ".a".repeat(DEPTH)),
        format!("[extensions.settings.x{}]", ".a".repeat(DEPTH)),
        format!("[extensions.settings]\nx{} = 1", ".a".repeat(DEPTH)),
    ] {
        let error = told(&text);
        assert!(error.contains("recurs"), "{error}");
    }
}

#[test]
fn a_file_with_very_many_keys_loads() {
    let keys: String = (0..50_000).map(|n| format!("k{n} = {n}\n")).collect();
    let desk = Desk::new().file(USER, format!("[extensions.settings.x]\n{keys}"));
    let config = desk.config();
    let settings = &config.extensions.settings["x"].value;
    assert_eq!(settings.as_table().unwrap().len(), 50_000);
}

#[test]
fn places_count_characters_from_one() {
    let at = |text: &str, offset| {
        let document = document::Document::new(Path::new("f"), Layer::User, text);
        document.place(offset).to_string()
    };
    assert_eq!(at("", 0), "f:1:1");
    assert_eq!(at("ab\ncd", 3), "f:2:1");
    assert_eq!(at("äö\nü=1", 7), "f:2:2");
    assert_eq!(at("a\n", 99), "f:2:1");
}
