//! `panto login` and `panto logout`: a key is kept, and never shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{Machine, Ran, block};

/// Found nowhere but in the credential file.
const KEY: &str = "sk-test-0123456789";

fn login(machine: &Machine, provider: &str, input: &str) -> Ran {
    unseen(machine.run_with_input(&["login", provider], input.as_bytes()))
}

/// The run, in whose output no key is.
#[track_caller]
fn unseen(ran: Ran) -> Ran {
    let shown = ran.shown();
    assert!(!shown.contains("sk-test"), "{shown}");
    ran
}

/// The stored key of a provider.
fn stored(machine: &Machine, provider: &str) -> Option<String> {
    let text = fs::read_to_string(machine.credentials()).ok()?;
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = file["providers"][provider]["key"].as_str();
    key.map(str::to_owned)
}

#[test]
fn a_key_is_piped_in_and_replaced_and_removed() {
    let machine = Machine::without_config();
    let first = login(&machine, "anthropic", &format!("  {KEY}\r\nuser: ada\n"));
    insta::assert_snapshot!(first.shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: stored the key of `anthropic` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    assert_eq!(stored(&machine, "anthropic").as_deref(), Some(KEY));
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(machine.credentials()), 0o600);
    assert_eq!(
        mode(machine.credentials().parent().unwrap().to_owned()),
        0o700
    );
    insta::assert_snapshot!(login(&machine, "anthropic", KEY).shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: this key of `anthropic` is in `ROOT/home/.local/share/panto/auth/credentials.json` already
    ");
    insta::assert_snapshot!(login(&machine, "anthropic", "sk-test-2\n").shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: replaced the key of `anthropic` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    assert_eq!(stored(&machine, "anthropic").as_deref(), Some("sk-test-2"));
    login(&machine, "openai", KEY).answer();
    insta::assert_snapshot!(machine.run(&["logout", "anthropic"]).shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: removed the key of `anthropic` from `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    assert_eq!(stored(&machine, "anthropic"), None);
    assert_eq!(stored(&machine, "openai").as_deref(), Some(KEY));
    // What was asked for holds.
    insta::assert_snapshot!(machine.run(&["logout", "anthropic"]).shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: there is no key of `anthropic` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    insta::assert_snapshot!(machine.run(&["logout", "opnai"]).shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: there is no key of `opnai` in `ROOT/home/.local/share/panto/auth/credentials.json`; did you mean `openai`?
    ");
}

#[test]
fn what_is_no_key_is_not_stored() {
    let machine = Machine::without_config();
    let long = "sk-test".repeat(10_000);
    let inputs = [
        "",
        "\n",
        " \t\nsk-test\n",
        "sk-test key\n",
        "\"sk-test\"\n",
        "sk-test\u{1b}[2J\n",
        "sk-t\u{e9}st\n",
        &long,
    ];
    let shown: Vec<String> = inputs
        .into_iter()
        .map(|input| login(&machine, "anthropic", input).shown())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    exit 2
    -- stdout
    -- stderr
    error: no key was given; nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: no key was given; nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: no key was given; nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: this is no key: it has a blank inside
      hint: nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: this is no key: it stands in quotes; give it without them
      hint: nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: this is no key: it has control characters
      hint: nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: this is no key: it has characters that no key has
      hint: nothing was stored

    exit 2
    -- stdout
    -- stderr
    error: this is no key: it is longer than any key: more than 8 KiB
      hint: nothing was stored
    ");
    let bytes = machine.run_with_input(&["login", "anthropic"], b"sk-test\xff\n");
    insta::assert_snapshot!(unseen(bytes).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: this is no key: it is not text
      hint: nothing was stored
    ");
    assert!(!machine.credentials().exists());
}

#[test]
fn a_key_on_the_command_line_is_refused_and_not_repeated() {
    let machine = Machine::without_config();
    let run = |arguments: &[&str]| unseen(machine.run(arguments)).shown();
    insta::assert_snapshot!(run(&["login", "anthropic", KEY]), @"
    exit 2
    -- stdout
    -- stderr
    error: a key is not taken from the command line, where it would stand in the list of processes and in the shell's history
      hint: `panto login anthropic` asks for it; one that a program prints is piped in: pass show NAME | panto login anthropic
    ");
    insta::assert_snapshot!(run(&["login", KEY]), @"
    exit 2
    -- stdout
    -- stderr
    error: a key is not taken from the command line, where it would stand in the list of processes and in the shell's history
      hint: `panto login PROVIDER` asks for it; one that a program prints is piped in: pass show NAME | panto login PROVIDER
    ");
    for arguments in [
        &["login", "anthropic", "--key", KEY][..],
        &["login", "anthropic", "--key=sk-test"],
        &["login", "anthropic", "-k", KEY],
        &["login", "--key=sk-test", "anthropic"],
        &["login", "sk test"],
        &["login", "anthropic/sk-test"],
        &["logout", KEY],
    ] {
        assert_eq!(
            unseen(machine.run(arguments)).code,
            Some(2),
            "{arguments:?}"
        );
    }
    assert!(!machine.credentials().exists());
}

#[test]
fn an_unknown_provider_is_a_warning_with_the_nearest_names() {
    let machine = Machine::without_config();
    machine.write_config("[providers.work]\nprotocol = \"anthropic-messages\"");
    insta::assert_snapshot!(login(&machine, "antropic", KEY).shown(), @"
    exit 0
    -- stdout
    -- stderr
    warning: `antropic` is neither built in nor configured; did you mean `anthropic`?
    panto: stored the key of `antropic` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    insta::assert_snapshot!(login(&machine, "wrok", KEY).shown(), @"
    exit 0
    -- stdout
    -- stderr
    warning: `wrok` is neither built in nor configured; did you mean `work`?
    panto: stored the key of `wrok` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    insta::assert_snapshot!(login(&machine, "work", KEY).shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: stored the key of `work` in `ROOT/home/.local/share/panto/auth/credentials.json`
    ");
    assert_eq!(stored(&machine, "antropic").as_deref(), Some(KEY));
}

#[test]
fn what_wins_over_the_stored_key_is_said() {
    let machine = Machine::without_config();
    machine.write_config(
        "[providers.work]\napi_key_env = \"WORK_KEY\"\n\
         [providers.safe]\napi_key_command = [\"pass\", \"show\", \"safe\"]",
    );
    let run = |arguments: &[&str], variable: &str, value: &str| {
        let mut command = machine.command(arguments);
        command.env(variable, value).stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // `logout` does not read.
        let _ = std::io::Write::write_all(&mut input, KEY.as_bytes());
        drop(input);
        let output = child.wait_with_output().unwrap();
        let errors = machine.readable(&String::from_utf8(output.stderr).unwrap());
        assert!(!errors.contains("sk-test"), "{errors}");
        errors
    };
    insta::assert_snapshot!(run(&["login", "google"], "GOOGLE_API_KEY", "sk-test-other"), @"
    panto: stored the key of `google` in `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: the environment variable GOOGLE_API_KEY wins over the stored key
    ");
    insta::assert_snapshot!(run(&["logout", "google"], "GEMINI_API_KEY", "sk-test-other"), @"
    panto: removed the key of `google` from `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: the environment variable GEMINI_API_KEY still gives a key
    ");
    insta::assert_snapshot!(run(&["login", "google"], "GOOGLE_API_KEY", "sk-test\n-other"), @"
    panto: stored the key of `google` in `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: no usable key from the environment variable GOOGLE_API_KEY: it has control characters; it wins over the stored key
    ");
    insta::assert_snapshot!(run(&["login", "work"], "WORK_KEY", "sk-test-other"), @"
    panto: stored the key of `work` in `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: the environment variable WORK_KEY of `api_key_env` in ROOT/home/.config/panto/config.toml:2:1 wins over the stored key
    ");
    insta::assert_snapshot!(run(&["login", "work"], "WORK_KEY", ""), @"panto: this key of `work` is in `ROOT/home/.local/share/panto/auth/credentials.json` already");
    insta::assert_snapshot!(run(&["login", "safe"], "OTHER", "sk-test-other"), @"
    panto: stored the key of `safe` in `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: the command of `api_key_command` in ROOT/home/.config/panto/config.toml:4:1 wins over the stored key
    ");
    insta::assert_snapshot!(run(&["logout", "safe"], "OTHER", "sk-test-other"), @"
    panto: removed the key of `safe` from `ROOT/home/.local/share/panto/auth/credentials.json`
    warning: the command of `api_key_command` in ROOT/home/.config/panto/config.toml:4:1 still gives a key
    ");
}

#[test]
fn a_broken_configuration_stops_neither() {
    let machine = Machine::without_config();
    machine.write_config("model = ");
    let ran = login(&machine, "anthropic", KEY);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stderr.starts_with("warning: "), "{}", ran.stderr);
    assert_eq!(machine.run(&["logout", "anthropic"]).code, Some(0));
    assert_eq!(stored(&machine, "anthropic"), None);
}

#[test]
fn a_broken_credential_file_is_said_and_stays_as_it_is() {
    let machine = Machine::without_config();
    let broken = "{\n  \"providers\": {\"openai\": {\"key\": \"sk-test\"}";
    fs::create_dir_all(machine.credentials().parent().unwrap()).unwrap();
    fs::write(machine.credentials(), broken).unwrap();
    insta::assert_snapshot!(login(&machine, "anthropic", KEY).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: the credential file is broken: ROOT/home/.local/share/panto/auth/credentials.json:2:44: EOF while parsing an object
      hint: it was not touched: mend it, or move it away and log in again to each provider
    ");
    insta::assert_snapshot!(unseen(machine.run(&["logout", "openai"])).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: the credential file is broken: ROOT/home/.local/share/panto/auth/credentials.json:2:44: EOF while parsing an object
      hint: it was not touched: mend it, or move it away and log in again to each provider
    ");
    assert_eq!(fs::read_to_string(machine.credentials()).unwrap(), broken);
}

#[test]
fn a_place_that_cannot_be_written_is_said() {
    let machine = Machine::without_config();
    // In the place of `.local`.
    block(machine.credentials().ancestors().nth(4).unwrap());
    insta::assert_snapshot!(login(&machine, "anthropic", KEY).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: could not read `ROOT/home/.local/share/panto/auth/credentials.json`
      cause: Not a directory (os error 20)
      hint: what was stored before is as it was; XDG_DATA_HOME says where panto keeps its data
    ");
    let machine = Machine::without_config();
    let mut command = machine.command(&["login", "anthropic"]);
    let output = command.env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"error: cannot tell where to keep data: `HOME` is not set; set `HOME`, or `XDG_DATA_HOME`");
}

#[test]
fn a_full_disk_leaves_the_keys_that_were_there() {
    let machine = Machine::without_config();
    login(&machine, "openai", KEY).answer();
    let before = fs::read(machine.credentials()).unwrap();
    // A limit on the size of files acts as a full disk does.
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -f 0; echo sk-test-new | \"$0\" login anthropic",
        env!("CARGO_BIN_EXE_panto"),
    ]);
    shell
        .env("HOME", machine.credentials().ancestors().nth(5).unwrap())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME");
    let output = shell.current_dir(machine.work()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(machine.readable(&String::from_utf8(output.stderr).unwrap()), @r#"
    error: could not write `ROOT/home/.local/share/panto/auth/credentials.json`
      cause: File too large (os error 27)
      hint: what was stored before is as it was; XDG_DATA_HOME says where panto keeps its data
    "#);
    assert_eq!(fs::read(machine.credentials()).unwrap(), before);
    let beside = fs::read_dir(machine.credentials().parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 2);
}

#[test]
fn logins_at_the_same_time_keep_each_others_keys() {
    let machine = Machine::without_config();
    let names = ["anthropic", "openai", "google", "mistral", "groq", "xai"];
    std::thread::scope(|scope| {
        for name in names {
            let machine = &machine;
            scope.spawn(move || login(machine, name, &format!("sk-test-{name}")).answer());
        }
    });
    for name in names {
        assert_eq!(stored(&machine, name), Some(format!("sk-test-{name}")));
    }
}

#[test]
fn a_key_is_in_no_file_but_one_and_in_no_log() {
    let machine = Machine::without_config();
    let mut command = machine.command(&["login", "anthropic", "--verbose"]);
    let mut child = command
        .env("PANTO_LOG", "trace")
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, KEY.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&said).contains("sk-test"));
    let mut holding = Vec::new();
    let mut directories = vec![machine.root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("sk-test") {
                holding.push(path);
            }
        }
    }
    assert_eq!(holding, [machine.credentials()]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_says_nothing_can_be_interrupted() {
    let machine = Machine::without_config();
    let mut command = machine.command(&["login", "anthropic"]);
    let running = machine.start_command(command.stdin(Stdio::piped()));
    running.wait_for_thread("stdin");
    running.signal(rustix::process::Signal::INT);
    insta::assert_snapshot!(running.finish().shown(), @"
    exit 130
    -- stdout
    -- stderr
    panto: nothing was stored
    ");
}

/// On a terminal that is the program's own, which only Linux gives without unsafe code.
#[cfg(target_os = "linux")]
mod typed {
    use rustix::process::Signal;

    use super::*;
    use crate::support::Terminal;

    /// At the prompt for a key.
    fn asked(machine: &Machine) -> Terminal {
        let mut terminal = Terminal::start_typing(machine, &["login", "anthropic"]);
        terminal.read_until("keys): ");
        assert!(!terminal.echoes());
        terminal
    }

    /// The end, after which the terminal shows again what is typed.
    #[track_caller]
    fn ended(machine: &Machine, mut terminal: Terminal) -> String {
        let (code, shown) = terminal.read_to_end();
        assert!(terminal.echoes());
        assert!(!shown.contains("sk-"), "{shown}");
        format!("exit {}\n{}", code.unwrap(), machine.readable(&shown))
    }

    #[test]
    fn a_key_is_typed_unseen() {
        let machine = Machine::without_config();
        let mut terminal = asked(&machine);
        // Backspace works.
        terminal.type_in("sk-test-typedd\u{7f}\n");
        insta::assert_snapshot!(ended(&machine, terminal), @"
        exit 0
        Key for anthropic (https://platform.claude.com/settings/keys): 
        panto: stored the key of `anthropic` in `ROOT/home/.local/share/panto/auth/credentials.json`
        ");
        assert_eq!(
            stored(&machine, "anthropic").as_deref(),
            Some("sk-test-typed")
        );
    }

    #[test]
    fn ctrl_c_stores_nothing() {
        let machine = Machine::without_config();
        let mut terminal = asked(&machine);
        terminal.type_in("sk-test-half\u{3}");
        insta::assert_snapshot!(ended(&machine, terminal), @"
        exit 130
        Key for anthropic (https://platform.claude.com/settings/keys): 
        panto: nothing was stored
        ");
        assert!(!machine.credentials().exists());
    }

    #[test]
    fn ctrl_d_and_an_empty_line_store_nothing() {
        let machine = Machine::without_config();
        let mut terminal = asked(&machine);
        terminal.type_in("\u{4}");
        insta::assert_snapshot!(ended(&machine, terminal), @"
        exit 2
        Key for anthropic (https://platform.claude.com/settings/keys): 
        error: no key was given; nothing was stored
        ");
        let mut terminal = asked(&machine);
        terminal.type_in("sk-test-half\u{4}\u{4}");
        assert!(ended(&machine, terminal).starts_with("exit 2\n"));
        let mut terminal = asked(&machine);
        terminal.type_in("\r");
        assert!(ended(&machine, terminal).starts_with("exit 2\n"));
        assert!(!machine.credentials().exists());
    }

    #[test]
    fn keys_that_would_leave_the_terminal_behind_do_nothing() {
        let machine = Machine::without_config();
        let mut terminal = asked(&machine);
        // They end up in the line, where no key has them.
        terminal.type_in("sk-test\u{1a}\u{1c}\n");
        insta::assert_snapshot!(ended(&machine, terminal), @"
        exit 2
        Key for anthropic (https://platform.claude.com/settings/keys): 
        error: this is no key: it has control characters
          hint: nothing was stored
        ");
    }

    #[test]
    fn a_request_to_terminate_gives_the_terminal_back() {
        let machine = Machine::without_config();
        for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
            let terminal = asked(&machine);
            terminal.signal(signal);
            let shown = ended(&machine, terminal);
            assert!(shown.starts_with(&format!("exit {code}\n")), "{shown}");
        }
        assert!(!machine.credentials().exists());
    }

    #[test]
    fn what_is_longer_than_a_line_of_the_terminal_is_not_stored_in_part() {
        let machine = Machine::without_config();
        let mut terminal = asked(&machine);
        // In parts, so that the terminal's own buffer takes it.
        for _ in 0..5 {
            terminal.type_in(&"k".repeat(1000));
        }
        terminal.type_in("\n");
        insta::assert_snapshot!(ended(&machine, terminal), @"
        exit 2
        Key for anthropic (https://platform.claude.com/settings/keys): 
        error: a terminal takes no line that is so long; nothing was stored
          hint: pipe the key in: panto login PROVIDER < FILE
        ");
        assert!(!machine.credentials().exists());
    }
}
