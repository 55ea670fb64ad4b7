//! The invariants of the turn loop, over random scripts, faults, submissions and cancels.
//!
//! - every call has exactly one result;
//! - there is one `settled`, the last;
//! - cancelling ends a turn in bounded time;
//! - what a request shows is stored, and what is stored is what is remembered;
//! - what a failed attempt said is nowhere;
//! - what is submitted lands once, or is given back, or is still queued;
//! - undeclared tools never run;
//! - results are capped;
//! - whatever happened, the next turns go on.

mod case;
mod tools;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use pantograph::{
    Agent, AgentOptions, Block, Conversation, Event, Metadata, Model, ModelRef, Outcome, Queued,
    StopReason, Submission, ToolSet, ToolSource,
};
use pantograph_scripted::{Script, ScriptedProtocol, Step, check_request};
use proptest::prelude::*;
use tokio::time::Instant;

use self::case::{Action, Case, INPUTS, case, words};
use self::tools::Tools;
use crate::support::{CountingClock, Durable, MemoryStore, finish, model, run, scripted};

const MAX_RESULT: usize = 1_000;
const GRACE: Duration = Duration::from_secs(2);

async fn check(case: Case) {
    let store = MemoryStore::default();
    let played = scripted(case.script());
    let tools = Arc::new(Tools::default());
    let agent = agent(&case, &store, &played, &tools).await;
    let (seen, calm) = first_turn(&case, &agent, &store).await;
    assert_eq!(played.open_streams(), 0, "a stream was left open");
    if calm {
        assert_same(&store, &agent);
        assert_well_formed(&agent.conversation());
    }

    // The conversation goes on at once, with another protocol, as soon as the store can.
    store.set_failing(false);
    let after = go_on(&agent, &store).await;
    assert_same(&store, &agent);
    assert_well_formed(&agent.conversation());
    for request in played.requests().iter().chain(&after.requests()) {
        if let Err(invalid) = check_request(&request.request) {
            panic!("{invalid}");
        }
    }
    let ran = tools.invoked.lock().clone();
    assert!(
        !ran.iter()
            .any(|name| name == "undeclared" || name == "unknown")
    );

    let tree = store.tree();
    for answer in &seen.discarded {
        let words = words(*answer);
        let kept = tree.messages().any(|message| says(&message.blocks, &words));
        assert!(!kept, "`{words}` was discarded and is in the session");
    }
    for token in &seen.submitted {
        let landed = tree
            .branch()
            .iter()
            .filter(|message| says(&message.blocks, token))
            .count();
        let given_back = seen
            .returned
            .iter()
            .filter(|queued| says(&queued.submission.blocks, token))
            .count();
        assert_eq!(landed + given_back, 1, "`{token}`: {landed}, {given_back}");
    }
}

async fn agent(
    case: &Case,
    store: &MemoryStore,
    played: &Arc<ScriptedProtocol>,
    tools: &Arc<Tools>,
) -> Agent {
    let mut model = model();
    model.context_window = case.window;
    let mut declared = tools.declarations();
    declared.retain(|tool| tool.name.as_str() != "undeclared");
    let agent = Agent::builder(Durable::new(played, store), model)
        .clock(Arc::new(CountingClock::default()))
        .tool_source(tools.clone())
        .tools(ToolSet::new(declared).unwrap())
        .options(AgentOptions {
            grace: GRACE,
            max_result_bytes: MAX_RESULT,
            ..AgentOptions::default()
        })
        .create(store, "/project")
        .await
        .unwrap();
    // Something that a compaction can summarise.
    let old = vec![Block::text("old ".repeat(900))];
    agent.add_user_message(old, Metadata::new()).await.unwrap();
    agent
}

/// What came to light while the first turn ran.
#[derive(Default)]
struct Seen {
    /// The answers of which an attempt was shown and then discarded.
    discarded: HashSet<usize>,
    submitted: Vec<String>,
    returned: Vec<Queued>,
}

/// Runs the first turn, and says whether the store was well all the time.
async fn first_turn(case: &Case, agent: &Agent, store: &MemoryStore) -> (Seen, bool) {
    let mut seen = Seen::default();
    let mut turn = agent.run("first prompt").unwrap();
    let mut attempt = String::new();
    let mut outcome: Option<Arc<Outcome>> = None;
    let mut asked_at = None;
    let mut well_again = None;
    let mut number = 0;
    while let Some(event) = turn.next().await {
        assert!(outcome.is_none(), "{} after `settled`", event.name());
        match event {
            Event::AssistantTextDelta { delta, .. } | Event::ThinkingDelta { delta, .. } => {
                attempt.push_str(&delta);
            }
            Event::AttemptDiscarded { .. } => {
                let shown = std::mem::take(&mut attempt);
                let answers = (0..10).filter(|answer| shown.contains(&words(*answer)));
                seen.discarded.extend(answers);
            }
            Event::Usage { .. } => attempt.clear(),
            Event::Settled(settled) => outcome = Some(settled),
            _ => {}
        }
        for (_, action) in case.actions.iter().filter(|(at, _)| *at == number) {
            match action {
                Action::Submit(timing, sender) => {
                    let token = format!("<submission {}>", seen.submitted.len());
                    agent.submit(Submission {
                        timing: *timing,
                        sender: *sender,
                        ..Submission::steering(&token)
                    });
                    seen.submitted.push(token);
                }
                Action::FailStore(events) => {
                    store.set_failing(true);
                    well_again = Some(number + events);
                }
                Action::SwitchModel => switch_model(agent),
            }
        }
        if well_again == Some(number) {
            store.set_failing(false);
        }
        if case.cancel == Some(number) {
            asked_at = Some(Instant::now());
            if case.dropped {
                break;
            }
            turn.control().cancel();
            turn.control().cancel();
        }
        number += 1;
    }
    let dropped = asked_at.is_some() && case.dropped;
    drop(turn);
    agent.settled().await;
    if let Some(asked_at) = asked_at {
        assert!(asked_at.elapsed() <= GRACE + Duration::from_millis(10));
    }
    assert!(dropped || outcome.is_some(), "no `settled`");
    if !dropped {
        seen.returned = outcome
            .map(|outcome| outcome.returned.clone())
            .unwrap_or_default();
    }
    (seen, well_again.is_none())
}

const SECOND: &str = "test:second";

fn switch_model(agent: &Agent) {
    let mut config = agent.config();
    let mut model = Model::new(ModelRef::parse(SECOND).unwrap());
    model.context_window = config.model.context_window;
    config.model = Arc::new(model);
    agent.set_config(config);
}

/// Runs a second turn, and all that is queued, with a protocol that always answers.
async fn go_on(agent: &Agent, store: &MemoryStore) -> Arc<ScriptedProtocol> {
    let after = scripted(Script::new().step(Step::text("and on it goes").repeated()));
    let mut config = agent.config();
    config.protocol = Durable::new(&after, store);
    let reference = config.model.reference.to_string();
    agent.set_config(config);
    let (_, mut outcome) = run(agent, "second prompt").await;
    loop {
        assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
        assert_eq!(outcome.text.as_deref(), Some("and on it goes"));
        let Some(turn) = agent.run_queued().unwrap() else {
            break;
        };
        (_, outcome) = finish(turn).await;
    }
    assert_eq!(agent.queued(), []);
    let conversation = agent.conversation();
    let origin = conversation.last().unwrap().origin.clone().unwrap();
    assert_eq!(origin.reference, reference);
    after
}

fn says(blocks: &[Block], words: &str) -> bool {
    blocks.iter().any(|block| match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } | Block::Summary { text } => {
            text.contains(words)
        }
        _ => false,
    })
}

/// What is stored is what is remembered.
fn assert_same(store: &MemoryStore, agent: &Agent) {
    let (stored, shown) = (store.tree().conversation(), agent.conversation());
    assert_eq!(stored.messages(), shown.messages());
    assert_eq!(stored.head(), shown.head());
}

/// Every call has its one result, capped, and blocks are as they may be.
fn assert_well_formed(conversation: &Conversation) {
    let mut messages = conversation.messages().iter().peekable();
    while let Some(message) = messages.next() {
        let calls: Vec<_> = message.tool_calls().map(|call| &call.id).collect();
        if !calls.is_empty() {
            let results = messages.next().expect("results follow their calls");
            let answered: Vec<_> = results.tool_results().map(|result| &result.call).collect();
            assert_eq!(calls, answered);
            let mut results = results.tool_results();
            assert!(results.all(|result| result.output().len() <= MAX_RESULT));
        }
        let cancelled = message.stop == Some(StopReason::Cancelled);
        for block in &message.blocks {
            match block {
                Block::Thinking { signature, .. } => assert!(signature.is_some() || !cancelled),
                Block::ToolCall(call) => assert!(INPUTS.contains(&&*call.input)),
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn hold_whatever_happens(case in case()) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(check(case));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_never_polled_leaves_nothing() {
    let protocol = scripted(Script::new().step("hello"));
    let agent = crate::support::builder(&protocol).ephemeral();
    drop(agent.run("taken back").unwrap());
    assert!(agent.conversation().is_empty());
    let (_, outcome) = finish(agent.run("kept").unwrap()).await;
    assert_eq!(outcome.text.as_deref(), Some("hello"));
}
