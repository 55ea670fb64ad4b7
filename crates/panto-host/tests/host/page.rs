//! `docs/extensions.md`: its examples are extensions that do what it says, and it leaves nothing
//! out. `lua/ext.lua` has the same functions, and their types.

use std::collections::BTreeSet;

use panto_host::host::ExtensionStatus;
use pantograph_scripted::{Call, Script, Step};
use serde_json::json;

use crate::support::{Desk, ask, log_of};

const PAGE: &str = include_str!("../../../../docs/extensions.md");
const STUB: &str = include_str!("../../lua/ext.lua");
/// The types of what other crates put into `panto.ext`.
const DATA: &str = include_str!("../../../panto-kit/lua/data.lua");

/// The page's examples in Lua: the file that each is said to be, and its text.
fn examples() -> Vec<(&'static str, &'static str)> {
    PAGE.split("```lua ")
        .skip(1)
        .map(|rest| {
            let (file, rest) = rest.split_once('\n').unwrap();
            (file, rest.split_once("```").unwrap().0)
        })
        .collect()
}

/// A desk with all of them.
fn desk(script: Script) -> Desk {
    examples()
        .into_iter()
        .fold(Desk::new(script), |desk, (file, text)| {
            desk.file(&format!("config/panto/extensions/{file}"), text)
        })
}

fn transcript(desk: &Desk, prompt: &str) -> String {
    desk.run(async |_, mut live| {
        ask(&mut live, prompt).await;
        let transcript = live.handle.agent().conversation().transcript();
        live.end().await;
        desk.plain(&transcript)
    })
}

#[test]
fn every_example_in_lua_is_an_extension_that_activates() {
    assert!(!PAGE.contains("```lua\n"), "an example without a file");
    let desk = desk(Script::new());
    let active = desk.run(async |_, live| {
        let extensions = live.host.extensions();
        live.end().await;
        let is_active = |status: &ExtensionStatus| *status == ExtensionStatus::Active;
        extensions.iter().filter(|it| is_active(&it.status)).count()
    });
    // The module of one of them is no extension.
    assert_eq!(active, examples().len() - 1);
    // The one thing that an example says.
    assert_eq!(
        desk.said(),
        ["info: extension `deploy`: no `target` is set, so nothing can be deployed"]
    );
}

#[test]
fn tools_and_handlers_of_the_page_do_what_it_says() {
    let script = Script::new()
        .step(
            Step::new()
                .then(Call::new("shout", json!({ "text": "sk-abc is mine" })))
                .then(Call::new("shout", json!({ "text": "sk-ABC" })))
                .then(Call::new("file_size", json!({ "path": "/dev/null" })))
                .then(Call::new("file_size", json!({ "path": "/not/there" })))
                .then(Call::new("deploy", json!({}))),
        )
        .step("I whisper.")
        .step("psst");
    insta::assert_snapshot!(transcript(&desk(script), "go"));
}

#[test]
fn an_agent_of_a_tool_asks_the_same_model() {
    let script = Script::new()
        .step(Step::call(
            "second_opinion",
            json!({ "question": "is it?" }),
        ))
        .step("It is not.")
        .step("Others disagree.");
    insta::assert_snapshot!(transcript(&desk(script), "it is"), @r#"
    [user]
      it is

    [tool call call_1: second_opinion]
      {"question":"is it?"}

    [tool result call_1: ok]
      It is not.

    [assistant]
      Others disagree.
    "#);
}

#[test]
fn commands_of_the_page_do_what_it_says() {
    let desk = desk(Script::new().step("Done."))
        .file("project/TODO.md", "- [x] a\n- [ ] b\n- [ ] c\n")
        .file(
            "config/panto/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
             [extensions.settings.greeter]\ngreeting = \"Good morning\"\n",
        );
    desk.run(async |_, mut live| {
        let text = |output: panto_host::host::CommandOutput| output.text.unwrap();
        let host = &mut live.host;
        let greeted = text(host.command("greet", "").await.unwrap());
        assert_eq!(greeted, "Good morning, world!");
        let todo = host.command("todo", "").await.unwrap();
        assert_eq!(todo.text.as_deref(), Some("2 open"));
        assert_eq!(todo.data, Some(json!({ "open": ["b", "c"] })));
        assert_eq!(todo.exit_code, 3);
        assert!(host.command("todo", "next").await.unwrap().prompted);
        let places = desk.plain(&text(host.command("places", "").await.unwrap()));
        insta::assert_snapshot!(places, @"
        user ROOT/config/panto/templates
        project ROOT/project/.panto/templates
        local ROOT/project/.panto/local/templates
        ");
        live.end().await;
    });
}

#[test]
fn the_section_is_in_the_prompt_and_events_are_emitted() {
    let desk = desk(Script::new().step("Done."));
    desk.run(async |_, mut live| {
        let mut events = live.handle.events();
        ask(&mut live, "go").await;
        let told = async {
            loop {
                if let Some(panto_host::session::SessionEvent::Custom { name, data }) =
                    events.next().await
                {
                    break (name, data);
                }
            }
        };
        let (name, data) = live.host.run_until(told).await;
        assert_eq!(&*name, "journal");
        assert_eq!(
            data,
            json!({ "turns": 1, "reason": "completed", "batches": 0 })
        );
        live.end().await;
    });
    let request = desk.protocol.requests().remove(0).to_string();
    assert!(request.contains("Answer in one sentence."), "{request}");
}

#[test]
fn the_provider_of_the_page_answers() {
    let desk = desk(Script::new());
    let mut blocks = PAGE.split("```toml\n").skip(1);
    let config = blocks.find_map(|it| it.split("```").next().filter(|it| it.contains("parrot")));
    let config = config.unwrap();
    let desk = desk.file("config/panto/config.toml", config);
    let (_, answer) = desk.run(async |_, mut live| {
        let asked = ask(&mut live, "hello").await;
        live.end().await;
        asked
    });
    assert_eq!(answer, "hello \n");
}

/// The functions and tables that an extension finds in `panto.ext`.
fn registered() -> BTreeSet<String> {
    let desk = Desk::silent();
    let file = desk.path("log").display().to_string();
    let desk = desk.extension(
        "lists",
        &format!(
            "local file = io.open('{file}', 'w')\n\
             for _, names in ipairs {{ panto.ext, getmetatable(panto.ext).__index }} do\n\
               for name in pairs(names) do file:write(name, '\\n') end\n\
             end\n\
             file:close()"
        ),
    );
    desk.run(async |_, live| live.end().await);
    let names = log_of(&desk.path("log"));
    names.lines().map(str::to_owned).collect()
}

/// What the stubs say that there is.
fn declared() -> BTreeSet<String> {
    let functions = STUB.lines().chain(DATA.lines());
    let functions = functions.filter_map(|line| line.strip_prefix("function ext."));
    let functions = functions.filter_map(|rest| rest.split('(').next());
    let (_, class) = STUB.split_once("---@class panto.ext\n").unwrap();
    let fields = class.lines().map_while(|it| it.strip_prefix("---@field "));
    let fields = fields.filter_map(|rest| rest.split(' ').next());
    let mut declared = BTreeSet::new();
    for name in functions.chain(fields) {
        assert!(declared.insert(name.to_owned()), "{name} is there twice");
    }
    declared
}

#[test]
fn the_stub_has_what_is_registered() {
    assert_eq!(declared(), registered());
}

#[test]
fn the_page_names_everything() {
    let named = |name: &String| {
        let whole = [
            format!("panto.ext.{name}"),
            format!("`{name}("),
            format!("`{name} "),
        ];
        whole.iter().any(|text| PAGE.contains(text))
    };
    let missing: Vec<String> = registered().into_iter().filter(|it| !named(it)).collect();
    assert_eq!(missing, [""; 0]);
    let fields = STUB.lines().filter_map(|it| it.strip_prefix("---@field "));
    let fields = fields.filter_map(|rest| rest.split([' ', '?']).next());
    let missing: Vec<&str> = fields.filter(|name| !PAGE.contains(*name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_event_is_on_the_page() {
    let source = include_str!("../../src/host/events.rs");
    let (_, names) = source.split_once("const NAMES: &[&str] = &[").unwrap();
    let names = names.split_once("];").unwrap().0;
    let missing: Vec<&str> = names
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|name| !PAGE.contains(&format!("`{name}`")))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_parameter_and_every_return_has_its_type() {
    let mut comment = Vec::new();
    for line in STUB.lines() {
        if line.starts_with("---") {
            comment.push(line);
            continue;
        }
        if let Some(signature) = line.strip_prefix("function ") {
            let parameters = signature.split(['(', ')']).nth(1).unwrap();
            let typed: Vec<&str> = comment
                .iter()
                .filter_map(|line| line.strip_prefix("---@param "))
                .filter_map(|rest| rest.split_whitespace().next())
                .collect();
            assert_eq!(typed.join(", "), parameters, "{line}");
            let returns = |line: &&str| line.starts_with("---@return ");
            assert!(comment.iter().any(returns), "{line}");
        }
        comment.clear();
    }
}
