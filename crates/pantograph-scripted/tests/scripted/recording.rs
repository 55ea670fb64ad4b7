//! What the protocol remembers.

use pantograph::protocol::{Protocol, ToolChoice};
use pantograph::{Attachment, Block, Role, ToolStatus};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step};

use crate::support::{answer, ask, assistant, calls, open, request, result, system, user};

#[tokio::test]
async fn a_recorded_request_reads_well() {
    let protocol = ScriptedProtocol::new(Script::new().step("ok"));
    let long = "long ".repeat(2_000);
    let mut asked = request([
        system("Answer in French."),
        (
            Role::User,
            vec![
                Block::text("two\nlines"),
                Block::Attachment(Attachment::new("image/png", vec![1, 2, 3])),
            ],
        ),
        calls([("a", "read", "{\"path\":\"x\"}"), ("b", "list", "")]),
        (
            Role::Tool,
            vec![
                result("a", ToolStatus::Error, "no such file"),
                result("b", ToolStatus::Ok, &long),
            ],
        ),
        assistant("Nothing there."),
        user("Sure?"),
    ]);
    asked.system_prompt = Some("Be brief.".into());
    asked.label = Some("main".into());
    asked.tool_choice = ToolChoice::Named("list".to_owned());
    answer(&protocol, asked).await;
    let recorded = protocol.requests().remove(0);
    assert_eq!(recorded.last_text(), "Sure?");
    let shown = recorded.to_string().replace(&"long ".repeat(800), "long …");
    insta::assert_snapshot!(shown, @r#"
    turn test:model, label main
    prompt: Be brief.
    tools: read, list
    tool choice: list
    system: Answer in French.
    user: two
        lines
      (attachment image/png)
    assistant: (call a) read {"path":"x"}
      (call b) list
    tool: (error a) no such file
      (ok b) long …… (10000 bytes)
    assistant: Nothing there.
    user: Sure?
    "#);
}

#[tokio::test]
async fn refused_requests_are_recorded_too_and_use_up_nothing() {
    let protocol = ScriptedProtocol::new(Script::new().step("ok"));
    answer(&protocol, request([])).await;
    answer(&protocol, ask("go")).await;
    let recorded = protocol.requests();
    assert!(recorded[0].refusal.is_some());
    assert_eq!((recorded[0].step, recorded[1].step), (None, Some(0)));
    assert_eq!(recorded[1].refusal, None);
}

#[tokio::test]
async fn waiting_for_requests_needs_no_sleep() {
    let gate = Gate::new();
    let protocol =
        ScriptedProtocol::new(Script::new().step(Step::text("x").on_open(&gate).repeated()));
    let tasks: Vec<_> = ["a", "b"]
        .map(|text| {
            let protocol = protocol.clone();
            tokio::spawn(async move { open(&protocol, ask(text)).await.map(drop) })
        })
        .into();
    let seen = protocol.wait_for_requests(2).await;
    let mut texts: Vec<String> = seen.iter().map(|request| request.last_text()).collect();
    texts.sort();
    assert_eq!(texts, ["a", "b"]);
    gate.open();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_share_one_script_and_each_step_is_played_once() {
    let script = Script::new().steps((0..200).map(|number| number.to_string()));
    let protocol = ScriptedProtocol::new(script);
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let protocol = protocol.clone();
            tokio::spawn(async move { answer(&protocol, ask("go")).await })
        })
        .collect();
    let mut answers = std::collections::HashSet::new();
    for task in tasks {
        answers.insert(task.await.unwrap());
    }
    assert_eq!(answers.len(), 200);
    assert_eq!((protocol.unused_steps(), protocol.open_streams()), (0, 0));
}

#[test]
fn contexts_are_remembered() {
    let protocol = ScriptedProtocol::new(Script::new());
    protocol.reset_context("a");
    protocol.reset_context("a");
    protocol.release_context("b");
    assert_eq!(protocol.reset_contexts(), ["a", "a"]);
    assert_eq!(protocol.released_contexts(), ["b"]);
}
