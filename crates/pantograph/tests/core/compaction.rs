//! Conversations that outgrow the model's context.

use std::sync::Arc;

use pantograph::protocol::{Protocol, Purpose};
use pantograph::{
    Agent, Block, ErrorClass, Event, Metadata, Model, StopReason, ToolContext, ToolDeclaration,
    ToolOutput, ToolRegistry, TurnError, Usage,
};
use pantograph_scripted::{Script, ScriptedProtocol, Step, check_request};
use serde_json::json;

use crate::support::{
    CountingClock, Durable, MemoryStore, finish, model, names, run, scripted, shown,
};

fn small(context_window: u64) -> Model {
    let mut model = model();
    model.context_window = Some(context_window);
    model
}

fn summary(text: &str) -> Step {
    Step::text(text).when_purpose(Purpose::Compaction)
}

fn answer(text: &str) -> Step {
    Step::text(text).when_purpose(Purpose::Turn)
}

fn tools(output: String) -> Arc<ToolRegistry> {
    let declaration = ToolDeclaration::new("read", "A tool.", json!({"type": "object"})).unwrap();
    let tools = ToolRegistry::new()
        .tool(declaration, move |_: ToolContext| {
            let output = output.clone();
            async move { ToolOutput::text(output) }
        })
        .unwrap();
    Arc::new(tools)
}

async fn agent(
    protocol: &Arc<ScriptedProtocol>,
    model: Model,
    store: &MemoryStore,
    output: String,
) -> Agent {
    let durable: Arc<dyn Protocol> = Durable::new(protocol, store);
    Agent::builder(durable, model)
        .clock(Arc::new(CountingClock::default()))
        .tool_source(tools(output))
        .create(store, "/project")
        .await
        .unwrap()
}

/// What a restart would show must be what is shown now.
fn assert_stored(agent: &Agent, store: &MemoryStore) {
    let stored = store.tree().conversation();
    assert_eq!(stored.messages(), agent.conversation().messages());
    assert_eq!(stored.head(), agent.conversation().head());
}

#[tokio::test]
async fn near_the_window_older_turns_become_a_summary() {
    let used = |tokens| Usage {
        input: Some(tokens),
        output: Some(10),
        ..Usage::default()
    };
    let script = Script::new()
        .step(answer("one").then(used(100)))
        .step(answer("two").then(used(900)))
        .step(summary("they greeted"))
        .step(answer("three").then(used(200)));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, small(1_000), &store, String::new()).await;
    let mut manifest = Metadata::new();
    manifest.insert("kept".to_owned(), json!(true));
    agent
        .add_system_message("be brief", manifest.clone())
        .await
        .unwrap();
    run(&agent, &"first ".repeat(100)).await;
    run(&agent, &"second ".repeat(100)).await;
    let (events, outcome) = run(&agent, "third").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    let sizes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::CompactionEnd {
                tokens_before,
                tokens_after,
                cancelled: false,
                error,
            } => Some((*tokens_before > 900, *tokens_after < 200, error.is_none())),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [(true, true, true)]);
    insta::assert_snapshot!(shown(&agent), @r"
    system: be brief
    user: (summary) they greeted
    user: third
    assistant [end]: three
    ");
    assert_eq!(agent.conversation().messages()[0].metadata, manifest);
    assert_stored(&agent, &store);
    assert_eq!(protocol.reset_contexts(), [agent.session_id().to_string()]);
    // Nothing is lost: the branch still has it all.
    assert_eq!(store.tree().branch().len(), 7);
    let asked = protocol.requests()[2].last_text();
    let asked = asked
        .replace(&"first ".repeat(100), "first…")
        .replace(&"second ".repeat(100), "second…");
    insta::assert_snapshot!(asked, @r"
    Summarise the transcript below. Keep, under these headings and only where there is something to say:
    - Goal: what the user wants, in their words where they matter, with all constraints.
    - Done: what was done and found, with file paths, commands, names and exact values.
    - Decided: decisions and their reasons, and what was tried and did not work.
    - Open: what is unfinished or failing, and the next step.
    Write it densely, as notes for a colleague who takes over. Leave out pleasantries.

    <transcript>
    [user]
      first…

    [assistant]
      one

    [user]
      second…

    [assistant]
      two

    </transcript>
    ");
}

#[tokio::test]
async fn on_request_everything_but_the_last_turn_is_summarised() {
    let script = Script::new()
        .step(answer("one"))
        .step(answer("two"))
        .step(summary("first things"))
        .step(summary("more things"))
        .step(answer("three"));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, model(), &store, String::new()).await;
    let (_, outcome) = finish(agent.compact(None).unwrap()).await;
    assert!(matches!(outcome.error, Some(TurnError::NothingToCompact)));
    run(&agent, "first").await;
    let (_, outcome) = finish(agent.compact(None).unwrap()).await;
    assert!(matches!(outcome.error, Some(TurnError::NothingToCompact)));
    run(&agent, "second").await;
    let (events, outcome) = finish(agent.compact(Some("mind the numbers".into())).unwrap()).await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    assert_eq!(
        names(&events),
        [
            "turn_start",
            "compaction_start",
            "usage",
            "compaction_end",
            "settled"
        ]
    );
    assert!(
        protocol.requests()[2]
            .last_text()
            .contains("mind the numbers")
    );
    insta::assert_snapshot!(shown(&agent), @r"
    user: (summary) first things
    user: second
    assistant [end]: two
    ");
    assert_stored(&agent, &store);
    run(&agent, "third").await;
    // The next summary covers the last one.
    assert_stored(&agent, &store);
}

#[tokio::test]
async fn a_compaction_that_fails_leaves_everything_as_it_was() {
    let script = Script::new()
        .step(answer("one"))
        .step(answer("two"))
        .step(Step::error(ErrorClass::Terminal).when_purpose(Purpose::Compaction))
        .step(Step::new().when_purpose(Purpose::Compaction));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, model(), &store, String::new()).await;
    run(&agent, "first").await;
    run(&agent, "second").await;
    let before = store.records();
    for _ in 0..2 {
        let (_, outcome) = finish(agent.compact(None).unwrap()).await;
        assert_eq!(outcome.stop, StopReason::Failed);
    }
    assert_eq!(store.records(), before);
    assert_stored(&agent, &store);
}

#[tokio::test]
async fn an_overflow_compacts_once_and_then_goes_on() {
    let script = Script::new()
        .step(answer("one"))
        .step(Step::error(ErrorClass::ContextOverflow).when_purpose(Purpose::Turn))
        .step(summary("first things"))
        .step(answer("two"));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, model(), &store, String::new()).await;
    run(&agent, &"a long first prompt ".repeat(50)).await;
    let (_, outcome) = run(&agent, "second").await;
    assert_eq!(outcome.text.as_deref(), Some("two"), "{:?}", outcome.error);
    assert_stored(&agent, &store);
}

#[tokio::test]
async fn an_overflow_that_stays_fails_and_says_so() {
    let overflow = Step::error(ErrorClass::ContextOverflow).when_purpose(Purpose::Turn);
    let script = Script::new()
        .step(answer("one"))
        .step(overflow.repeated())
        .step(summary("first things"));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, model(), &store, String::new()).await;
    run(&agent, &"a long first prompt ".repeat(50)).await;
    let (_, outcome) = run(&agent, "second").await;
    assert!(matches!(outcome.error, Some(TurnError::ContextFull(_))));
    assert_stored(&agent, &store);
}

#[tokio::test]
async fn a_turn_that_overflows_alone_loses_the_middle_of_its_largest_results() {
    let script = Script::new()
        .step(Step::call("read", json!({})))
        .step(Step::error(ErrorClass::ContextOverflow))
        .step("read enough");
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = agent(&protocol, model(), &store, "x".repeat(500_000)).await;
    let (_, outcome) = run(&agent, "read it").await;
    assert_eq!(
        outcome.text.as_deref(),
        Some("read enough"),
        "{:?}",
        outcome.error
    );
    let conversation = agent.conversation();
    let result = conversation.messages()[2].tool_results().next().unwrap();
    assert!(result.output().len() < 260_000);
    assert_stored(&agent, &store);
    // The whole result is still in the session, on the branch that was left.
    let whole = store
        .tree()
        .messages()
        .flat_map(|message| message.tool_results())
        .map(|result| result.output().len())
        .max();
    assert_eq!(whole, Some(500_000));
}

#[tokio::test]
async fn a_long_turn_is_compacted_again_and_again_and_every_request_is_valid() {
    // Each round adds 3,000 bytes, the window holds about 24,000.
    let script = Script::new()
        .step(summary("went through some files").repeated())
        .step(answer("done").when_last("stop now"))
        .step(
            Step::call("read", json!({}))
                .when_purpose(Purpose::Turn)
                .repeated(),
        );
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let durable: Arc<dyn Protocol> = Durable::new(&protocol, &store);
    let agent = Agent::builder(durable, small(8_000))
        .clock(Arc::new(CountingClock::default()))
        .tool_source(tools("y".repeat(3_000)))
        .options(pantograph::AgentOptions {
            max_rounds: Some(60),
            ..pantograph::AgentOptions::default()
        })
        .create(&store, "/project")
        .await
        .unwrap();
    let (events, outcome) = run(&agent, "go through the files").await;
    assert_eq!(outcome.stop, StopReason::Limit, "{:?}", outcome.error);
    assert!(
        names(&events)
            .iter()
            .filter(|name| **name == "compaction_end")
            .count()
            > 3
    );
    for request in protocol.requests() {
        if let Err(invalid) = check_request(&request.request) {
            panic!("{invalid}");
        }
    }
    assert_stored(&agent, &store);
    // The prompt of the turn survives every compaction.
    let texts: Vec<String> = agent
        .conversation()
        .messages()
        .iter()
        .map(|message| message.text())
        .collect();
    assert!(
        texts.iter().any(|text| text == "go through the files"),
        "{texts:?}"
    );
    assert!(matches!(
        agent.conversation().messages()[0].blocks[0],
        Block::Summary { .. }
    ));
}

/// What the requests so far ask for at most.
fn asked_for(protocol: &ScriptedProtocol) -> Vec<u64> {
    let requests = protocol.requests().into_iter();
    let asked = requests.map(|recorded| recorded.request.model.max_output);
    asked.map(Option::unwrap).collect()
}

#[tokio::test]
async fn an_answer_is_asked_for_that_the_window_has_room_for() {
    // A server that counts nothing is not believed.
    let uncounted = Usage {
        input: Some(1),
        output: Some(1),
        ..Usage::default()
    };
    let script = Script::new()
        .step(answer("one").then(uncounted))
        .step(answer("two"));
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let mut model = small(10_000);
    model.max_output = Some(9_900);
    let agent = agent(&protocol, model, &store, String::new()).await;
    run(&agent, &"word ".repeat(2_400)).await;
    run(&agent, "more").await;
    let [first, second] = asked_for(&protocol)[..] else {
        panic!("two requests");
    };
    assert!((5_500..6_000).contains(&first), "{first}");
    assert!((9_000..9_400).contains(&second), "{second}");
    // The agent's own model is as it was.
    assert_eq!(agent.config().model.max_output, Some(9_900));
}
