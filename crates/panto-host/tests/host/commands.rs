//! Slash commands.

use panto_host::host::{CommandOutput, RunCommandError};
use pantograph_scripted::Script;
use serde_json::json;

use crate::support::Desk;

fn desk() -> Desk {
    Desk::new(Script::new().step("Hello yourself.")).extension(
        "commands",
        "local function register(name, handler) panto.ext.register_command { name = name, description = 'Does ' .. name .. '.', handler = handler } end\n\
         register('greet', function(args) return 'hello, ' .. args end)\n\
         register('nothing', function() end)\n\
         register('data', function() return { text = 't', data = { n = 1, list = panto.json.array {} }, exit_code = 3 } end)\n\
         register('wrong', function() return { exit_code = 'high' } end)\n\
         register('says', function() return nil, 'went wrong' end)\n\
         register('raises', function() error('broken') end)\n\
         register('waits', function() require('luv').sleep(0) local uv, co = require('luv'), coroutine.running()\n\
           uv.new_timer():start(1, 0, function() coroutine.resume(co, 'waited') end) return coroutine.yield() end)\n\
         register('skill:ask', function(args) return { prompt = 'hi ' .. args } end)",
    )
}

#[test]
fn commands_give_text_data_and_exit_codes() {
    let desk = desk();
    desk.run(async |_, mut live| {
        let host = &mut live.host;
        let text = |text: &str| CommandOutput {
            text: Some(text.to_owned()),
            ..CommandOutput::default()
        };
        assert_eq!(
            host.command("greet", "Ada").await.unwrap(),
            text("hello, Ada")
        );
        assert_eq!(
            host.command("nothing", "").await.unwrap(),
            CommandOutput::default()
        );
        assert_eq!(host.command("waits", "").await.unwrap(), text("waited"));
        let data = host.command("data", "").await.unwrap();
        assert_eq!(data.data, Some(json!({ "n": 1, "list": [] })));
        assert_eq!(data.exit_code, 3);
        for name in ["wrong", "raises", "unknown", "gret"] {
            let error = host.command(name, "").await.unwrap_err();
            match name {
                "wrong" => assert!(matches!(error, RunCommandError::Output { .. })),
                "raises" => assert!(matches!(error, RunCommandError::Failed(_))),
                _ => assert!(matches!(error, RunCommandError::Unknown { .. })),
            }
        }
        let error = host.command("says", "").await.unwrap_err();
        assert!(matches!(error, RunCommandError::Gave { .. }));
        assert_eq!(error.to_string(), "the command `/says` failed: went wrong");
        let near = host.command("gret", "").await.unwrap_err().to_string();
        assert_eq!(near, "there is no command `/gret`; did you mean `greet`?");
        live.end().await;
    });
}

#[test]
fn a_prompt_is_a_command_only_if_it_is_registered() {
    let desk = desk();
    desk.run(async |_, live| {
        let of = |prompt: &str| live.host.command_in(prompt);
        let command = |name: &str, arguments: &str| Some((name.to_owned(), arguments.to_owned()));
        assert_eq!(
            of("/greet  Ada Lovelace \n"),
            command("greet", "Ada Lovelace")
        );
        assert_eq!(of("/greet"), command("greet", ""));
        assert_eq!(of("/skill:ask x"), command("skill:ask", "x"));
        assert_eq!(of("/usr/bin/greet is broken"), None);
        assert_eq!(of("greet"), None);
        assert_eq!(of(" /greet"), None);
        live.end().await;
    });
}

#[test]
fn a_command_may_say_something_to_the_model() {
    let desk = desk();
    desk.run(async |_, mut live| {
        let mut events = live.handle.events();
        let before = live.handle.asked();
        let output = live.host.command("skill:ask", "there").await.unwrap();
        assert!(output.prompted);
        assert_eq!(live.handle.asked(), before + 1);
        let idle = async {
            while let Some(event) = events.next().await {
                if matches!(event, panto_host::session::SessionEvent::Idle) {
                    break;
                }
            }
        };
        live.host.run_until(idle).await;
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("hi there") && transcript.contains("Hello yourself."));
        live.end().await;
    });
}

#[test]
fn of_two_commands_only_the_one_that_does_not_count_is_lost() {
    let register = |name: &str, says: &str| {
        format!(
            "panto.ext.register_command {{ name = '{name}', description = 'd', handler = function() return \"{says}\" end }}\n"
        )
    };
    let file = format!(
        "local panto = require('panto')\nreturn {{ name = 'ours', activate = function() {} end }}",
        register("greet", "the project's")
    );
    let desk = desk()
        .extension(
            "other",
            &format!(
                "{}panto.ext.register_command {{ name = 'data', fallback = true, file = '/a/data.md', description = 'd', handler = print }}\n\
                 panto.ext.diagnose('info', 'other is active')",
                register("nothing", "another's")
            ),
        )
        .extension(
            "waiting",
            "panto.ext.register_command { name = 'late', fallback = true, description = 'd', handler = function() return 'waited' end }",
        )
        .extension(
            "without",
            "panto.ext.register_command { name = 'late', description = 'd', handler = print } error('no')",
        )
        .file("project/.panto/extensions/ours.lua", file);
    desk.run(async |_, mut live| {
        let mut said = Vec::new();
        for name in ["greet", "nothing", "late"] {
            said.push(live.host.command(name, "").await.unwrap().text);
        }
        let data = live.host.command("data", "").await.unwrap();
        assert_eq!(data.exit_code, 3);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(said, [text("the project's"), None, text("waited")]);
        live.end().await;
    });
    insta::assert_snapshot!(desk.said().join("\n"), @"
    warning: extension `other`: this `/nothing` is not used: the extension `commands` has a command of that name
    warning: /a/data.md: this `/data` is not used: the extension `commands` has a command of that name
    info: extension `other`: other is active
    warning: extension `waiting`: this `/late` is not used: the extension `without` has a command of that name
    error: ROOT/config/panto/extensions/without.lua:3: extension `without`: no
    info: extension `commands`: this `/greet` is not used: the extension `ours` has a command of that name
    ");
}

#[test]
fn what_lua_prints_goes_to_people_and_never_to_standard_output() {
    let desk = Desk::silent().extension(
        "prints",
        "print('a', nil, 1, setmetatable({}, { __tostring = function() return 'own' end }))",
    );
    desk.run(async |_, live| live.end().await);
    assert_eq!(desk.said(), ["printed: a\tnil\t1\town"]);
}
