//! A key gets a person an answer, and nobody else sees it.

use std::fs;
use std::path::Path;

use crate::support::Machine;
use crate::support::loopback::{Loopback, Script, chat, generate, messages, responses};

/// Found nowhere but where a person put it.
const KEY: &str = "sk-test-Zk93xQ0kP7";

#[test]
fn each_key_alone_gets_an_answer_from_its_provider() {
    let answer = "Hello.";
    let providers = [
        (
            "anthropic",
            "ANTHROPIC_API_KEY",
            messages(answer),
            "x-api-key",
        ),
        (
            "openai",
            "OPENAI_API_KEY",
            responses(answer),
            "authorization",
        ),
        (
            "google",
            "GEMINI_API_KEY",
            generate(answer),
            "x-goog-api-key",
        ),
        (
            "openrouter",
            "OPENROUTER_API_KEY",
            chat(answer),
            "authorization",
        ),
    ];
    for (provider, variable, script, header) in providers {
        let server = Loopback::start([script]);
        let machine = Machine::without_config();
        // Only so that nobody elsewhere is asked.
        machine.write_config(&format!(
            "providers.{provider}.base_url = {:?}",
            server.url()
        ));
        let ran = machine.run_with(&[(variable, KEY)], &["-p", "hi"]);
        assert!(
            ran.stderr.starts_with(&format!("panto: using {provider}:"))
                && ran
                    .stderr
                    .contains(&format!("the environment variable {variable};")),
            "{}",
            ran.shown()
        );
        assert_eq!(ran.answer(), "Hello.\n");
        let asked = server.asked();
        let sent = asked.header(header).unwrap().trim_start_matches("Bearer ");
        assert_eq!(sent, KEY, "{provider}");
    }
}

#[test]
fn a_refused_key_is_exit_3_and_is_not_tried_again() {
    let mut shown = Vec::new();
    for status in [401, 403] {
        // A server that repeats the key.
        let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#);
        let server = Loopback::start([Script::json(status, &body), chat("Hello.")]);
        let machine = server.machine();
        let config = machine.config_dir().join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        machine.write_config(&text.replace("max_retries = 0", "api_key_env = \"MY_KEY\""));
        let ran = machine.run_with(&[("MY_KEY", KEY)], &["-p", "go"]);
        assert_eq!(server.seen().len(), 1);
        shown.push(ran.shown());
    }
    assert_eq!(shown[0], shown[1]);
    insta::assert_snapshot!(shown[0], @"
    exit 3
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: Incorrect API key provided: [redacted]. (the key is from the environment variable MY_KEY of `api_key_env` in ROOT/home/.config/panto/config.toml:6:1)
      hint: check the key of the provider `local`; `panto login local` stores another
    ");
}

#[test]
fn a_source_that_gives_no_key_ends_before_any_request() {
    let server = Loopback::start([chat("Hello.")]);
    let mut shown = Vec::new();
    for source in [
        r#"api_key_command = ["sh", "-c", "echo broken >&2; exit 3"]"#,
        r#"api_key_command = ["/nowhere/get-key"]"#,
        r#"api_key_command = ["true"]"#,
        r#"api_key_env = "MY_KEY""#,
    ] {
        let machine = Machine::without_config();
        machine.write_config(&format!(
            "model = \"local:m\"\n[providers.local]\nbase_url = {:?}\n{source}\n[providers.local.models.m]\n",
            server.url()
        ));
        shown.push(machine.run(&["-p", "go"]).shown());
    }
    assert!(server.seen().is_empty());
    insta::assert_snapshot!(shown.join("\n"), @"
    exit 2
    -- stdout
    -- stderr
    error: no usable key from the command of `api_key_command` in ROOT/home/.config/panto/config.toml:4:1: `sh` failed with exit code 3; it says: broken

    exit 2
    -- stdout
    -- stderr
    error: no usable key from the command of `api_key_command` in ROOT/home/.config/panto/config.toml:4:1: there is no program `/nowhere/get-key`, or it names an interpreter that is not there

    exit 2
    -- stdout
    -- stderr
    error: no usable key from the command of `api_key_command` in ROOT/home/.config/panto/config.toml:4:1: `true` printed nothing

    exit 2
    -- stdout
    -- stderr
    error: no key for `local`: looked at the environment variable MY_KEY of `api_key_env` in ROOT/home/.config/panto/config.toml:4:1 (not set), the credential file `ROOT/home/.local/share/panto/auth/credentials.json` (does not exist)
      hint: set one with `export MY_KEY=…` or `panto login local`, or name another source with `api_key_env` or `api_key_command` under `[providers.local]` in `ROOT/home/.config/panto/config.toml`
    ");
}

#[test]
fn what_stands_in_for_a_key_changes_no_words() {
    for key in ["1", "EMPTY", "ollama"] {
        let body = r#"{"error":{"message":"model 'ollama/1' is EMPTY","code":"model_not_found"}}"#;
        let server = Loopback::start([Script::json(404, body)]);
        let machine = Machine::without_config();
        machine.write_config(&format!(
            "providers.local.base_url = {:?}\nproviders.local.api_key_env = \"MY_KEY\"",
            server.url()
        ));
        let arguments = ["-p", "hi", "--model", "local:m", "-o", "json"];
        let result = machine.run_with(&[("MY_KEY", key)], &arguments).result();
        assert_eq!(result["error"]["kind"], "model_not_found", "{key}");
        let said = "`local:m` gave no answer: model 'ollama/1' is EMPTY";
        assert_eq!(result["error"]["message"], said, "{key}");
    }
}

#[test]
fn a_key_in_the_query_of_a_base_url_is_sent_and_not_shown() {
    let page = format!("Cannot POST /chat/completions?key={KEY}");
    let location = format!("location: /chat/completions?key={KEY}\r\n");
    let server = Loopback::start([
        Script::answer(404, "content-type: text/plain\r\n", &page),
        Script::answer(308, &location, ""),
        chat("Hello."),
    ]);
    let machine = Machine::without_config();
    let url = format!("{}?key={KEY}", server.url());
    let arguments = ["-p", "hi", "--model", "m", "--base-url", &url, "--verbose"];
    let variables = [("PANTO_LOG", "trace")];
    for _ in 0..3 {
        let ran = machine.run_with(&variables, &arguments);
        assert!(ran.stderr.contains("TRACE"), "{}", ran.shown());
        assert!(!ran.shown().contains(KEY), "{}", ran.shown());
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|asked| asked.line.contains(KEY)));
    for (path, content) in files_but(&machine.root(), &machine.credentials()) {
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(KEY), "{path}: {content}");
    }
    let broken = url.replace("http://", "http://me:hunter2@") + ":";
    let arguments = ["-p", "hi", "--model", "m", "--base-url", &broken];
    let refused = machine.run(&arguments);
    assert_eq!(refused.code, Some(2));
    for secret in [KEY, "hunter2"] {
        assert!(!refused.stderr.contains(secret), "{}", refused.shown());
    }
}

/// Every file below a directory but one, with what is in it.
fn files_but(directory: &Path, spared: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_but(&path, spared));
        } else if path != spared {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files
}

#[test]
fn a_key_is_in_no_file_log_event_or_stream_that_a_run_leaves() {
    // Every source in turn; a run that is refused with the key repeated, in a header too, one that
    // fails and is repeated, and one that goes well.
    let sources = [
        r#"api_key_env = "MY_KEY""#,
        r#"api_key_command = ["cat", "key.txt"]"#,
        "",
    ];
    for source in sources {
        let echo = format!(r#"{{"error":{{"message":"key {KEY} is wrong","code":"{KEY}"}}}}"#);
        let headers = format!(
            "content-type: application/json\r\nx-request-id: {KEY}\r\nretry-after-ms: 1\r\n"
        );
        let in_stream =
            format!("data: {{\"error\":{{\"message\":\"no {KEY}\",\"code\":500}}}}\n\n");
        let server = Loopback::start([
            Script::answer(403, &headers, &echo),
            Script::answer(500, &headers, &echo),
            Script::events(&in_stream),
            chat("Hello."),
            Script::answer(307, &format!("location: http://{KEY}.example/\r\n"), ""),
        ]);
        let machine = Machine::without_config();
        machine.write_config(&format!(
            "model = \"local:m\"\n[providers.local]\nbase_url = {:?}\n{source}\n[providers.local.models.m]\n",
            server.url()
        ));
        let mut spared = machine.credentials();
        if source.contains("cat") {
            spared = machine.work().join("key.txt");
            fs::write(&spared, KEY).unwrap();
        }
        if source.is_empty() {
            machine
                .run_with_input(&["login", "local"], KEY.as_bytes())
                .answer();
        }
        let variables = [("MY_KEY", KEY), ("PANTO_LOG", "trace")];
        for output in ["text", "stream-json", "json"] {
            let arguments = ["-p", "go", "--verbose", "--output", output];
            let ran = machine.run_with(&variables, &arguments);
            assert!(ran.stderr.contains("TRACE"), "{}", ran.shown());
            assert!(!ran.shown().contains(KEY), "{source}\n{}", ran.shown());
        }
        let seen = server.seen();
        assert_eq!(seen.len(), 5);
        for request in seen {
            let authorization = ("authorization".to_owned(), format!("Bearer {KEY}"));
            assert!(request.headers.contains(&authorization), "{request:?}");
        }
        let files = files_but(&machine.root(), &spared);
        assert!(files.iter().any(|(path, _)| path.ends_with(".jsonl")));
        for (path, content) in files {
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(KEY), "{path}: {content}");
        }
    }
}
