//! Slash commands: as the prompt of `panto -p`, and by `panto x`.

use crate::support::{Machine, Ran};

fn machine() -> Machine {
    let machine =
        Machine::with_script("[[steps]]\nwhen = { last = \"say hi\" }\nplay = [{ text = \"hi\" }]");
    machine.extension(
        "commands",
        "local function register(name, handler)\n\
           panto.ext.register_command { name = name, description = 'Does ' .. name .. '.\\nAnd more.', handler = handler }\n\
         end\n\
         register('greet', function(args) return 'hello, ' .. args end)\n\
         register('count', function() return { text = 'seven', data = { n = 7 }, exit_code = 4 } end)\n\
         register('ask', function(args) return { text = 'asking', prompt = 'say ' .. args } end)\n\
         register('nothing', function() end)\n\
         register('raises', function() error('no luck') end)",
    );
    machine
}

/// The run without what differs from one to the next, and without the tools that are shipped.
fn shown(ran: &Ran) -> String {
    let mut shown = ran.shown();
    for (key, end) in [("\"duration_ms\":", ','), ("\"tools\":[", ']')] {
        if let Some(at) = shown.find(key) {
            let start = at + key.len();
            let end = start + shown[start..].find(end).unwrap();
            shown.replace_range(start..end, "");
        }
    }
    shown
}

#[test]
fn a_command_answers_in_every_format() {
    let machine = machine();
    let run = |format: &str| {
        let ran = machine.run(&["-p", "/count", "-o", format]);
        machine.readable(&shown(&ran))
    };
    insta::assert_snapshot!(run("text"), @"
    exit 4
    -- stdout
    seven
    -- stderr
    ");
    insta::assert_snapshot!(run("json"), @r#"
    exit 4
    -- stdout
    {"type":"result","status":"failed","stop":null,"text":"seven","data":{"n":7},"session_id":"ID","saved":false,"model":"test:model","usage":{},"requests":0,"cost":null,"turns":0,"duration_ms":,"exit_code":4}
    -- stderr
    "#);
    insta::assert_snapshot!(run("stream-json"), @r#"
    exit 4
    -- stdout
    {"type":"init","version":1,"session_id":"ID","saved":true,"model":"test:model","reasoning":null,"cwd":"ROOT/work","tools":[]}
    {"type":"command_output","text":"seven","data":{"n":7}}
    {"type":"result","status":"failed","stop":null,"text":"seven","session_id":"ID","saved":false,"model":"test:model","usage":{},"requests":0,"cost":null,"turns":0,"duration_ms":,"exit_code":4}
    -- stderr
    "#);
    // Nothing was said, so nothing is kept.
    assert_eq!(machine.session_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_command_may_ask_the_model() {
    let machine = machine();
    assert_eq!(machine.run(&["-p", "/ask hi"]).answer(), "asking\nhi\n");
    assert_eq!(machine.run(&["x", "ask", "hi"]).answer(), "asking\nhi\n");
    let ran = machine.run(&["-p", "/ask hi", "-o", "json"]);
    assert_eq!(ran.result()["text"], "hi");
    let ran = machine.run(&["-p", "/ask hi", "-o", "stream-json"]);
    let kinds: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|object| object["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds[..2], ["init", "command_output"]);
    assert!(kinds.contains(&"user_message".to_owned()), "{kinds:?}");
}

#[test]
fn one_that_fails_is_exit_1_and_other_slashes_are_prompts() {
    let machine = machine();
    insta::assert_snapshot!(machine.run(&["-p", "/raises"]).shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: the command `/raises` failed: ROOT/home/.config/panto/extensions/commands.lua:10: no luck
    ");
    let result = machine.run(&["-p", "/raises", "-o", "json"]).result();
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["kind"], "command");
    assert_eq!(
        machine.run(&["-p", "/usr/bin/env, please say hi"]).answer(),
        "hi\n"
    );
}

#[test]
fn they_are_listed() {
    let machine = machine();
    insta::assert_snapshot!(machine.run(&["x"]).shown(), @"
    exit 0
    -- stdout
    agents            Lists the profiles for children; `agents check [PATH]` examines their files.
    ask               Does ask.
    count             Does count.
    greet             Does greet.
    nothing           Does nothing.
    raises            Does raises.
    session:children  Lists the children of a session: `session:children ID`; of this one without ID.
    -- stderr
    ");
    let list: serde_json::Value =
        serde_json::from_str(&machine.run(&["x", "--json"]).answer()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 7);
    assert_eq!(
        list[2],
        serde_json::json!({ "name": "count", "description": "Does count.\nAnd more.", "source": "commands" })
    );
    let none = machine.run(&["x", "--no-extensions"]);
    insta::assert_snapshot!(none.shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: no extension registers a command
    ");
}

#[test]
fn scripts_run_them() {
    let machine = machine();
    assert_eq!(
        machine.run(&["x", "/greet", "a", "--json", "-p"]).answer(),
        "hello, a --json -p\n"
    );
    assert_eq!(machine.run(&["x", "nothing"]).answer(), "");
    let counted = machine.run(&["x", "count"]);
    assert_eq!((counted.code, &*counted.stdout), (Some(4), "seven\n"));
    let counted = machine.run(&["x", "--json", "count"]);
    assert_eq!(
        (counted.code, &*counted.stdout),
        (Some(4), "{\n  \"n\": 7\n}\n")
    );
    assert_eq!(machine.run(&["x", "--json", "greet"]).answer(), "null\n");
    insta::assert_snapshot!(machine.run(&["x", "raises"]).shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: the command `/raises` failed: ROOT/home/.config/panto/extensions/commands.lua:10: no luck
    ");
    insta::assert_snapshot!(machine.run(&["x", "gret"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is no command `/gret`; did you mean `greet`?
      hint: `panto x` lists the commands that there are
    ");
}

#[test]
fn many_need_no_model() {
    let machine = machine();
    machine.write_config("");
    assert_eq!(machine.run(&["x", "greet", "b"]).answer(), "hello, b\n");
}

#[test]
fn a_command_has_a_short_form() {
    let machine = machine();
    machine.extension(
        "more",
        "local register = panto.ext.register_command\n\
         register { name = 'session:fork', description = 'Forks.', handler = function(args) return { text = 'forked ' .. args, data = { args = args } } end }\n\
         register { name = 'models', description = 'Never.', handler = function() return 'mine' end }",
    );
    machine.write_config("");
    let answer = |arguments: &[&str]| machine.run(arguments).answer();
    assert_eq!(
        answer(&["greet", "a", "--verbose", "-p"]),
        "hello, a --verbose -p\n"
    );
    assert_eq!(answer(&["/greet", "--help"]), "hello, --help\n");
    assert_eq!(answer(&["session", "fork", "1", "2"]), "forked 1 2\n");
    for arguments in [
        &["session", "fork", "--json", "1"][..],
        &["session", "fork", "1", "--json"],
        &["x", "--json", "session:fork", "1"],
        &["session:fork", "1", "--json"],
    ] {
        let data: serde_json::Value = serde_json::from_str(&answer(arguments)).unwrap();
        assert_eq!(data, serde_json::json!({ "args": "1" }), "{arguments:?}");
    }
    assert_eq!(
        answer(&["greet", "a", "--json", "b"]),
        "hello, a --json b\n"
    );
    assert_eq!(answer(&["greet", "--", "--json"]), "hello, --json\n");
    assert_eq!(answer(&["greet", "--json"]), "null\n");
    let counted = machine.run(&["-v", "count"]);
    assert_eq!((counted.code, &*counted.stdout), (Some(4), "seven\n"));
    // What panto has itself wins.
    assert!(!answer(&["models"]).contains("mine"));
    assert_eq!(answer(&["x", "models"]), "mine\n");
}

#[test]
fn a_short_form_that_nobody_knows() {
    let machine = machine();
    machine.extension(
        "more",
        "panto.ext.register_command { name = 'session:fork', description = 'Forks.', handler = function() end }",
    );
    let said: Vec<String> = [
        &["gret", "a"][..],
        &["modles"],
        &["session", "shwo", "1"],
        &["session", "frok"],
        &["--no-extensions", "greet"],
    ]
    .into_iter()
    .map(|arguments| {
        let ran = machine.run(arguments);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{arguments:?}");
        ran.stderr.lines().next().unwrap_or_default().to_owned()
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    error: there is no `panto gret`, and no extension registers the command `gret`; did you mean `greet`?
    error: there is no `panto modles`, and no extension registers the command `modles`; did you mean `models`?
    error: there is no `panto session shwo`, and no extension registers the command `session:shwo`; did you mean `show`?
    error: there is no `panto session frok`, and no extension registers the command `session:frok`; did you mean `fork`?
    error: there is no `panto greet`, and no extension registers the command `greet`
    ");
    // A sentence is a prompt in the wrong place, and so is a word behind a prompt.
    for arguments in [&["why does it fail?"][..], &["-p", "say hi", "greet"]] {
        let ran = machine.run(arguments);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr.contains("a prompt stands behind `-p`"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn the_short_form_asks_the_model_too() {
    let machine = machine();
    assert_eq!(machine.run(&["ask", "hi"]).answer(), "asking\nhi\n");
}

#[test]
fn stored_sessions_are_found_without_a_live_one() {
    let machine = machine();
    machine.extension(
        "stored",
        "panto.ext.register_command { name = 'stored', description = 'Lists.', handler = function()\n\
           local store = panto.file_system_jsonl_store { dir = panto.ext.dirs.sessions }\n\
           local info, message = panto.ext.session_info()\n\
           return { text = #assert(store:list()) .. ' ' .. (info and 'live' or message) }\n\
         end }",
    );
    assert_eq!(machine.run(&["-p", "say hi"]).answer(), "hi\n");
    assert_eq!(
        machine.run(&["-p", "/stored", "--no-session"]).answer(),
        "1 live\n"
    );
    machine.write_config("");
    assert_eq!(machine.run(&["stored"]).answer(), "1 there is no session\n");
}

#[test]
fn a_text_takes_no_command_from_an_extension_or_a_skill() {
    let machine = Machine::with_script("");
    machine.extension(
        "greeter",
        "panto.ext.register_command { name = 'greet', description = 'd', handler = function(args) return 'hello, ' .. args end }",
    );
    machine.file("home/.config/panto/commands/greet.md", "Greet me.");
    machine.file("home/.config/panto/commands/skill/two.md", "Do two.");
    machine.file(
        "home/.config/panto/skills/two/SKILL.md",
        "---\nname: two\ndescription: The second.\n---\nDo it.",
    );
    let ran = machine.run(&["x", "greet", "Ada"]);
    assert_eq!(ran.stdout, "hello, Ada\n", "{}", ran.shown());
    insta::assert_snapshot!(ran.stderr, @"
    warning: ROOT/home/.config/panto/commands/skill/two.md: this `/skill:two` is not used: `ROOT/home/.config/panto/skills/two/SKILL.md` has a command of that name
    warning: ROOT/home/.config/panto/commands/greet.md: this `/greet` is not used: the extension `greeter` has a command of that name
    ");
    let list = machine.run(&["x"]).answer();
    assert!(list.contains("The second."), "{list}");
}

#[test]
fn all_that_stands_behind_the_name_is_the_command_s_own() {
    let machine = machine();
    let said = |arguments: &[&str]| machine.run(arguments).answer();
    for word in ["--json", "-v", "-h", "--trust", "--cwd", "--bogus"] {
        assert_eq!(
            said(&["x", "greet", word, "Ada"]),
            format!("hello, {word} Ada\n")
        );
        assert_eq!(
            said(&["x", "greet", "Ada", word]),
            format!("hello, Ada {word}\n")
        );
    }
    assert_eq!(said(&["x", "greet", "--", "--json"]), "hello, --json\n");
    assert_eq!(said(&["x", "-v", "--json", "nothing"]), "null\n");
    assert_eq!(machine.run(&["x", "--bogus", "greet"]).code, Some(2));
}

#[test]
fn a_command_that_fails_names_its_session() {
    let ran = machine().run(&["-p", "/raises", "-o", "stream-json"]);
    assert_eq!(ran.code, Some(1));
    let result = ran.result();
    assert!(result["session_id"].is_string(), "{result}");
    assert_eq!(result["model"], "test:model");
}

#[test]
fn what_is_piped_is_no_argument() {
    let machine = machine();
    let greeted = machine.run_with_input(&["-p", "/greet Ada"], b"data");
    assert_eq!(greeted.answer(), "hello, Ada\n");
    machine.write_script(
        "[[steps]]\nwhen = { last = \"say hi\\n\\n<stdin>\\ndata\\n</stdin>\" }\nplay = [{ text = \"both\" }]",
    );
    let asked = machine.run_with_input(&["-p", "/ask hi"], b"data");
    assert_eq!(asked.answer(), "asking\nboth\n");
    let piped = machine.run_with_input(&["-p"], b"/greet Ada");
    assert_eq!(piped.answer(), "hello, Ada\n");
}
