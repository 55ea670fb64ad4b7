//! What people are told about files that are wrong.

use super::*;

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
        "[providers.p.models.a]\nreasoning_control = \"efort\"",
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
    config.toml:2:21: `providers.p.models.a.reasoning_control` takes one of `"effort"`, `"budget"`, `"none"`, not this text; did you mean `effort`?
      |
    2 | reasoning_control = "efort"
      |                     ^^^^^^^
    config.toml:1:13: `reasoning` takes text in quotes, not `true`
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
    2 | api_key_command = …
      |                   ^
    config.toml:2:19: `providers.p.api_key_command` takes a list of texts in quotes: a command and its arguments, not this text
      |
    2 | api_key_command = …
      |                   ^
    config.toml:2:1: a provider takes its key from `api_key_env` or from `api_key_command`, not both
      |
    2 | api_key_command = …
      | ^^^^^^^^^^^^^^^
    config.toml:2:22: `providers.p.headers.x-team` takes text in quotes without control characters, not `5`
      |
    2 | headers = …
      |            ^
    config.toml:2:29: `providers.p.headers.authorization` takes text in quotes without control characters, not this text
      |
    2 | headers = …
      |            ^
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
    insta::assert_snapshot!(desk.told(), @"could not read the configuration file `/home/.config/panto/config.toml`: it is not a regular file");
    let mut desk = Desk::new().file(USER, "broken");
    desk.explicit = Some(PathBuf::from("mine.toml"));
    insta::assert_snapshot!(desk.told(), @"the configuration file `/project/mine.toml` does not exist; check the path after `--config`");
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

#[test]
fn a_file_cut_or_changed_anywhere_never_panics_and_marks_its_line() {
    const WHOLE: &str = "\u{feff}model = \"ü:é\"\r\n[providers.p]\nheaders = { a = 'x', \"b c\" = \"\\u00e9\" }\n\
        connect_timeout_s = 0x10\n[providers.p.models.\"m\"]\nprice.input = 1e-3\nreasoning = [\n 'off', # ü\n]\n\
        [extensions.settings.s]\nt = 1979-05-27T07:32:00Z\nm = \"\"\"\nä\n\"\"\"\n";
    let starts = WHOLE.char_indices().map(|(at, _)| at);
    for at in starts.chain([WHOLE.len()]) {
        for inserted in ["", "\"", "[", "=", "\n", "é", "\u{0}", "5"] {
            for rest in ["", &WHOLE[at..]] {
                let text = format!("{}{inserted}{rest}", &WHOLE[..at]);
                let document = document::Document::new(Path::new("f"), Layer::User, &text);
                let checked = check::parse(&document)
                    .and_then(|root| check::check(&document, &root, &mut Vec::new()));
                if let Err(problem) = checked {
                    let end = problem.line_text.chars().count();
                    assert!(problem.caret <= end && problem.width >= 1, "{problem}");
                    assert!(problem.place.line <= text.split('\n').count(), "{problem}");
                }
            }
        }
    }
}

#[test]
fn a_url_with_a_user_in_it_is_refused() {
    let all: String = [
        "https://me:secret@host/v1?key=x",
        "//secret@host",
        "me:secret@host",
        "https:\\\\\\\\secret@host",
    ]
    .map(|url| told(format!("[providers.p]\nbase_url = \"{url}\"")) + "\n")
    .concat();
    let once = r"/home/.config/panto/config.toml:2:12: `providers.p.base_url` takes a URL in quotes, without a user name or a password, not this text; name the key's source with `api_key_env` or `api_key_command`, or send what the provider wants with `headers`
  |
2 | base_url = …
  |            ^
";
    assert_eq!(all, once.repeat(4));
    assert_eq!(
        told("[providers.p]\nbase_url = \"http://[::1]:80/@me?a=b@c\""),
        ""
    );
}

#[test]
fn lines_that_may_hold_a_secret_are_not_shown() {
    for text in [
        "[providers.p.headers]\nx-team = \"sk-secret\\q\"",
        "[providers.p.headers]\nx-team = \"sk-secret\\u0001\"",
        "[providers.p.headers]\nx-team = \"\"\"\nsk-secret\\q\"\"\"",
        "[providers.p]\nheaders.x-team = sk-secret",
        "[providers.p]\nheaders = { x-team = sk-secret }",
        "[providers]\np = { headers = { x-team = sk-secret } }",
        "[providers.p]\napi_key_command = [\"echo\", sk-secret]",
        "[providers.p]\napi_key_command = [\n  \"echo\",\n  \"sk-secret\", 5]",
        "[providers.p]\napi_key_command = [\n\"echo\",\n[\"sk-secret\"]]",
        "[providers.p]\napi_key_command = [\"a\", \"sk-secret\"]\napi_key_env = \"A\"",
        "[providers]\np = { api_key_command = [\"sk-secret\", 5] }",
        "[providers.p]\nbase_url = \"https://host/?key=sk-secret\\q\"",
        "[providers.p]\nbase_url = sk-secret",
    ] {
        let told = told(text);
        assert!(
            told.contains("config.toml:") && told.contains('^'),
            "{told}"
        );
        assert!(!told.contains("sk-secret"), "{text}\n{told}");
    }
}
