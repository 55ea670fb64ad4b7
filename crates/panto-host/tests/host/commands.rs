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
fn two_extensions_cannot_have_one_command() {
    let desk = desk().extension(
        "other",
        "panto.ext.register_command { name = 'greet', description = 'd', handler = print }",
    );
    desk.run(async |_, live| live.end().await);
    insta::assert_snapshot!(desk.said().join("\n"));
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
