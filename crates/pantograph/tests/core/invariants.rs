//! The invariants of the turn loop, over random scripts, faults and cancels.
//!
//! - every call has exactly one result;
//! - there is one `settled`, the last;
//! - cancelling ends a turn in bounded time;
//! - what a request shows is stored;
//! - what a failed attempt said is nowhere;
//! - undeclared tools never run;
//! - results are capped.

use std::sync::Arc;
use std::time::Duration;

use pantograph::protocol::Protocol;
use pantograph::{
    Agent, AgentOptions, Block, ErrorClass, Event, Role, StopReason, ToolBatch, ToolDeclaration,
    ToolOutput, ToolSet, ToolSource,
};
use pantograph_scripted::{Call, Fault, Script, Step, Text, Thinking, check_request};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{CountingClock, Durable, MemoryStore, finish, model, run, scripted};

const MAX_RESULT: usize = 1_000;
const GRACE: Duration = Duration::from_secs(2);

/// Tools that answer, fail, panic, forget to answer, answer late or never, or say too much.
#[derive(Default)]
struct Tools {
    invoked: Mutex<Vec<String>>,
}

const TOOLS: [&str; 8] = [
    "ok", "fails", "panics", "forgets", "slow", "ignores", "heeds", "talks",
];

impl ToolSource for Tools {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        TOOLS
            .iter()
            .chain(&["undeclared"])
            .map(|name| {
                let schema = json!({"type": "object", "properties": {"key": {"type": "string"}}});
                ToolDeclaration::new(name, "A tool.", schema).unwrap()
            })
            .collect()
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        for call in batch.calls {
            self.invoked.lock().push(call.tool_name.to_string());
            let cancel = batch.cancel.clone();
            tokio::spawn(async move {
                call.reply.output("working\n");
                match &*call.tool_name {
                    "ok" => call.reply.finish(ToolOutput::text("fine")),
                    "fails" => call.reply.finish(ToolOutput::error("no such file")),
                    "panics" => std::panic::resume_unwind(Box::new("on purpose")),
                    "slow" => {
                        tokio::time::sleep(Duration::from_millis(1_500)).await;
                        call.reply.finish(ToolOutput::text("at last"));
                    }
                    "ignores" => {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        call.reply.finish(ToolOutput::text("too late"));
                    }
                    "heeds" => {
                        tokio::select! {
                            () = cancel.asked() => {
                                call.reply.finish(ToolOutput::cancelled("stopped"));
                            }
                            () = tokio::time::sleep(Duration::from_secs(1)) => {
                                call.reply.finish(ToolOutput::text("undisturbed"));
                            }
                        }
                    }
                    "talks" => call.reply.finish(ToolOutput::text("é".repeat(100_000))),
                    // Forgets.
                    _ => {}
                }
            });
        }
    }
}

#[derive(Debug, Clone)]
enum Part {
    Text(u8),
    Thinking { signed: bool },
    Call { tool: usize, input: &'static str },
}

#[derive(Debug, Clone)]
struct Answer {
    parts: Vec<Part>,
    limit: bool,
    fault: Option<(u64, Trouble)>,
}

#[derive(Debug, Clone)]
enum Trouble {
    Error(ErrorClass),
    Disconnect,
    Stall,
    Delay,
}

#[derive(Debug, Clone)]
struct Case {
    answers: Vec<Answer>,
    /// Cancel after so many events.
    cancel: Option<usize>,
    /// The same by dropping the turn.
    dropped: bool,
}

const INPUTS: [&str; 7] = [
    "{}",
    "",
    "null",
    r#"{"key":"value"}"#,
    r#"{"key":"#,
    "[1]",
    r#"{"key":"\ud83d"}"#,
];

fn part() -> impl Strategy<Value = Part> {
    let inputs = prop::sample::select(INPUTS.as_slice());
    prop_oneof![
        (1_u8..5).prop_map(Part::Text),
        any::<bool>().prop_map(|signed| Part::Thinking { signed }),
        // One past the declared tools: a tool that the source has and the agent has not; two
        // past: one that nobody has.
        (0..TOOLS.len() + 2, inputs).prop_map(|(tool, input)| Part::Call { tool, input }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let trouble = prop_oneof![
        Just(Trouble::Error(ErrorClass::RateLimit)),
        Just(Trouble::Error(ErrorClass::Overloaded)),
        Just(Trouble::Error(ErrorClass::Server)),
        Just(Trouble::Error(ErrorClass::Transport)),
        Just(Trouble::Error(ErrorClass::Authentication)),
        Just(Trouble::Error(ErrorClass::InvalidRequest)),
        Just(Trouble::Error(ErrorClass::ContextOverflow)),
        Just(Trouble::Disconnect),
        Just(Trouble::Stall),
        Just(Trouble::Delay),
    ];
    (
        prop::collection::vec(part(), 0..4),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.4, (0_u64..8, trouble)),
    )
        .prop_map(|(parts, limit, fault)| Answer {
            parts,
            limit,
            fault,
        })
}

fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(answer(), 1..6),
        prop::option::of(0_usize..40),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(answers, cancel, dropped)| Case {
            answers,
            cancel,
            dropped,
        })
}

fn step(answer: &Answer) -> Step {
    let fails = matches!(
        answer.fault,
        Some((_, Trouble::Error(_) | Trouble::Disconnect | Trouble::Stall))
    );
    // An answer that fails may be over before its fault strikes; then its words are kept.
    let word = if fails { "doubtful" } else { "kept" };
    let mut step = Step::new();
    for (index, part) in answer.parts.iter().enumerate() {
        step = match part {
            Part::Text(chunks) => {
                step.then(Text::new(format!("{word} text {index}")).chunks((*chunks).into()))
            }
            Part::Thinking { signed: true } => step.then(Thinking::new("hmm").signature("signed")),
            Part::Thinking { signed: false } => step.then(Thinking::new("hmm")),
            Part::Call { tool, input } => {
                let name = TOOLS
                    .get(*tool)
                    .copied()
                    .unwrap_or_else(|| ["undeclared", "unknown"][tool - TOOLS.len()]);
                // The same id in every answer: the agent must make them differ.
                step.then(Call::with_raw_input(name, *input).id("same").chunks(3))
            }
        };
    }
    if answer.limit {
        step = step.then(StopReason::Limit);
    }
    match &answer.fault {
        None => step,
        Some((at, Trouble::Error(class))) => step.at_event(*at, *class),
        Some((at, Trouble::Disconnect)) => step.at_event(*at, Fault::Disconnect),
        Some((at, Trouble::Stall)) => step.at_event(*at, Fault::Stall),
        Some((at, Trouble::Delay)) => step.at_event(*at, Duration::from_secs(1)),
    }
}

async fn check(case: Case) {
    let second = Step::text("and on it goes").when_last("second prompt");
    let mut script = Script::new().step(second);
    for answer in &case.answers {
        script = script.step(step(answer));
    }
    let inner = scripted(script);
    let store = MemoryStore::default();
    let protocol: Arc<dyn Protocol> = Arc::new(Durable {
        inner: Arc::clone(&inner),
        store: store.clone(),
    });
    let tools = Arc::new(Tools::default());
    let mut declared = tools.declarations();
    declared.retain(|tool| tool.name.as_str() != "undeclared");
    let agent = Agent::builder(protocol, model())
        .clock(Arc::new(CountingClock::default()))
        .tool_source(tools.clone())
        .tools(ToolSet::new(declared).unwrap())
        .options(AgentOptions {
            grace: GRACE,
            max_result_bytes: MAX_RESULT,
            ..AgentOptions::default()
        })
        .create(&store, "/project")
        .await
        .unwrap();

    let mut discarded: Vec<String> = Vec::new();
    let mut attempt = String::new();
    let mut turn = agent.run("first prompt").unwrap();
    let mut seen = 0;
    let mut settled = 0;
    let mut asked_at = None;
    let mut last = "";
    while let Some(event) = turn.next().await {
        last = event.name();
        match &event {
            Event::AssistantTextDelta { delta, .. } => attempt.push_str(delta),
            Event::AttemptDiscarded { .. } => discarded.push(std::mem::take(&mut attempt)),
            Event::Usage { .. } => attempt.clear(),
            Event::Settled(_) => settled += 1,
            _ => {}
        }
        if case.cancel == Some(seen) {
            asked_at = Some(Instant::now());
            if case.dropped {
                break;
            }
            turn.control().cancel();
            turn.control().cancel();
        }
        seen += 1;
    }
    let dropped = asked_at.is_some() && case.dropped;
    drop(turn);
    agent.settled().await;
    if !dropped {
        assert_eq!((settled, last), (1, "settled"));
    }
    if let Some(asked_at) = asked_at {
        assert!(asked_at.elapsed() <= GRACE + Duration::from_millis(10));
    }
    assert_eq!(inner.open_streams(), 0, "a stream was left open");

    // What is stored is what is remembered.
    let stored = store.tree().conversation();
    assert_eq!(stored.messages(), agent.conversation().messages());
    let mut messages = stored.messages().iter().peekable();
    while let Some(message) = messages.next() {
        let calls: Vec<_> = message.tool_calls().map(|call| &call.id).collect();
        if !calls.is_empty() {
            let results = messages.next().expect("results follow their calls");
            let answered: Vec<_> = results.tool_results().map(|result| &result.call).collect();
            assert_eq!(calls, answered);
            assert!(
                results
                    .tool_results()
                    .all(|result| result.output().len() <= MAX_RESULT)
            );
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
    let invoked = tools.invoked.lock().clone();
    assert!(
        !invoked
            .iter()
            .any(|name| name == "undeclared" || name == "unknown")
    );

    // Discarded words are nowhere, unless another answer said the same.
    let said: Vec<String> = stored
        .messages()
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .map(|message| message.text())
        .collect();
    let discards = discarded.iter().filter(|text| !text.is_empty()).count();
    let doubtful_answers = case
        .answers
        .iter()
        .filter(|answer| answer.fault.is_some())
        .count();
    let doubtful_said = said.iter().filter(|text| text.contains("doubtful")).count();
    assert!(doubtful_said + discards <= doubtful_answers.max(discards));

    // The conversation goes on at once, also from the store.
    let (_, outcome) = run(&agent, "second prompt").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    assert_eq!(outcome.text.as_deref(), Some("and on it goes"));
    for request in inner.requests() {
        if let Err(invalid) = check_request(&request.request) {
            panic!("{invalid}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
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
