//! The system prompt, questions to the person, and diagnostics.

use std::sync::Arc;

use panto_host::host::{Asker, Question};
use pantograph::async_trait;
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Desk, ask};

#[test]
fn sections_stand_between_the_base_and_the_environment_in_a_stable_order() {
    let desk = Desk::new(Script::new().step("One.").step("Two.")).extension(
        "sections",
        "panto.ext.section('z', 'LAST')\npanto.ext.section('a', 'MIDDLE')\npanto.ext.section('first', 'FIRST', { order = 1 })\n\
         panto.ext.section('gone', 'GONE') panto.ext.section('gone', nil)\n\
         panto.ext.on('turn_end', function() panto.ext.section('z', 'CHANGED') end)",
    )
    .extension("thief", "panto.ext.section('z', 'stolen')");
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        ask(&mut live, "again").await;
        live.end().await;
    });
    let prompts: Vec<String> = desk
        .protocol
        .requests()
        .iter()
        .map(|request| {
            let prompt = request.request.system_prompt.as_deref().unwrap_or_default();
            let (before, today) = desk
                .plain(prompt)
                .rsplit_once("Today: ")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .unwrap();
            assert_eq!(today.len(), 10);
            before
        })
        .collect();
    insta::assert_snapshot!(prompts.join("\n=====\n"));
    insta::assert_snapshot!(desk.said().join("\n"));
}

#[test]
fn the_branch_is_read_without_git() {
    let desk = Desk::silent().file("project/.git/HEAD", "ref: refs/heads/topic/x\n");
    desk.run(async |_, live| {
        let prompt = live.handle.agent().system_prompt().unwrap();
        assert!(prompt.contains("Git branch: topic/x\n"), "{prompt}");
        live.end().await;
    });
}

/// Says yes to everything that mentions `allowed`, and remembers what was asked.
#[derive(Default)]
struct Person(parking_lot::Mutex<Vec<Question>>);

#[async_trait]
impl Asker for Person {
    async fn ask(&self, question: Question) -> Result<String, String> {
        let answer = match question.text.contains("allowed") {
            true => "yes",
            false => "no",
        };
        self.0.lock().push(question);
        Ok(answer.to_owned())
    }
}

fn asking(person: Option<Arc<Person>>) -> Desk {
    let script = Script::new()
        .step(
            Step::call("risky", json!({ "what": "allowed" }))
                .then(pantograph_scripted::Call::new(
                    "risky",
                    json!({ "what": "else" }),
                ))
                .then(pantograph_scripted::Call::new("asks", json!({}))),
        )
        .step("Done.");
    let mut desk = Desk::new(script)
        .file(
            "config/panto/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n[tools]\nask = [\"risky\"]\n",
        )
        .extension(
            "tools",
            "local schema = { type = 'object' }\n\
             panto.ext.register_tool { name = 'risky', description = 'd', schema = schema, handler = function(input) return 'did ' .. input.what end }\n\
             panto.ext.register_tool { name = 'asks', description = 'd', schema = schema, handler = function()\n\
               return panto.ext.ask { question = 'is it allowed?', choices = { 'yes', 'no' } } end }",
        );
    if let Some(person) = person {
        desk.asker = person;
    }
    desk
}

fn transcript(desk: &Desk) -> String {
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let transcript = live.handle.agent().conversation().transcript();
        live.end().await;
        transcript
    })
}

#[test]
fn a_tool_that_wants_a_yes_runs_only_with_one() {
    let person = Arc::new(Person::default());
    let desk = asking(Some(Arc::clone(&person)));
    insta::assert_snapshot!(transcript(&desk));
    assert_eq!(person.0.lock().len(), 3);
}

#[test]
fn a_question_names_the_agent_that_it_is_for() {
    let script = Script::new()
        .step(Step::call("delegate", json!({})))
        .step(
            Step::call("risky", json!({ "what": "allowed" }))
                .then(pantograph_scripted::Call::new("asks", json!({})))
                .when_label("the reviewer"),
        )
        .step(Step::text("Reviewed.").when_label("the reviewer"))
        .step(
            Step::call("risky", json!({ "what": "allowed" }))
                .then(pantograph_scripted::Call::new("asks", json!({}))),
        )
        .step("Done.");
    let person = Arc::new(Person::default());
    let mut desk = Desk::new(script)
        .file(
            "config/panto/config.toml",
            "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n[tools]\nask = [\"risky\"]\n",
        )
        .extension(
            "tools",
            "local schema = { type = 'object' }\n\
             panto.ext.register_tool { name = 'risky', description = 'd', schema = schema, handler = function() return 'did it' end }\n\
             panto.ext.register_tool { name = 'asks', description = 'd', schema = schema, handler = function()\n\
               return panto.ext.ask { question = 'allowed?', choices = { 'yes', 'no' } } end }\n\
             panto.ext.register_tool { name = 'delegate', description = 'd', schema = schema, handler = function()\n\
               local agent <close> = assert(panto.agent { config = assert(panto.ext.resolve_model()),\n\
                 store = panto.null_store(), label = 'the reviewer' })\n\
               assert(agent:set_tools(panto.ext.agent:tools()))\n\
               for _ in assert(agent:run('review')):events() do end\n\
               return 'reviewed' end }\n\
             panto.ext.on('tool_result', function(event)\n\
               if event.tool_name == 'asks' then panto.ext.diagnose('info', tostring(event.label)) end end)",
        );
    desk.asker = person.clone();
    transcript(&desk);
    let asked: Vec<Option<String>> = person
        .0
        .lock()
        .iter()
        .map(|question| question.agent.clone())
        .collect();
    let reviewer = Some("the reviewer".to_owned());
    assert_eq!(asked, [reviewer.clone(), reviewer, None, None]);
    assert_eq!(
        desk.said(),
        [
            "info: extension `tools`: the reviewer",
            "info: extension `tools`: nil"
        ]
    );
}

#[test]
fn where_nobody_can_be_asked_everything_fails_closed_and_at_once() {
    insta::assert_snapshot!(transcript(&asking(None)));
}

#[test]
fn diagnostics_are_said_once_with_their_position() {
    let desk = Desk::silent().extension(
        "diag",
        "for _ = 1, 2 do panto.ext.diagnose('warning', 'odd', { file = '/x.md', line = 3, column = 4 }) end\n\
         panto.ext.diagnose('info', 'by the way')\n\
         assert(not pcall(panto.ext.diagnose, 'loud', 'x'))",
    );
    desk.run(async |_, live| live.end().await);
    insta::assert_snapshot!(desk.said().join("\n"));
}
