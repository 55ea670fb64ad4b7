//! Sessions with a scripted model; each test decides by gates when an answer goes on.

use std::sync::Arc;

use pantograph::{Agent, Event, Model, ModelRef, Outcome, Role, StopReason, Submission};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step, Text};

use super::{SessionCommand, SessionEvent, SessionEvents, SessionHandle, SessionRefusal};

fn agent(script: Script) -> Agent {
    let model = Model::new(ModelRef::parse("test:model").unwrap());
    Agent::builder(Arc::new(ScriptedProtocol::new(script)), model).ephemeral()
}

/// An answer that begins, then waits for the gate.
fn gated(text: &str, gate: &Gate) -> Step {
    Step::new()
        .then(Text::new(format!("{text} …")))
        .then(gate)
        .then(Text::new(format!("{text}!")))
}

async fn wait_for(events: &mut SessionEvents, name: &str) {
    while let Some(event) = events.next().await {
        if matches!(&event, SessionEvent::Turn(event) if event.name() == name) {
            return;
        }
    }
    panic!("the session ended before `{name}`");
}

/// The outcomes until the session is idle or closed.
async fn outcomes(events: &mut SessionEvents) -> Vec<Arc<Outcome>> {
    let mut outcomes = Vec::new();
    loop {
        match events.next().await {
            Some(SessionEvent::Turn(Event::Settled(outcome))) => outcomes.push(outcome),
            Some(SessionEvent::Idle) | None => return outcomes,
            Some(_) => {}
        }
    }
}

fn stops(outcomes: &[Arc<Outcome>]) -> Vec<StopReason> {
    outcomes.iter().map(|outcome| outcome.stop).collect()
}

fn users(agent: &Agent) -> Vec<String> {
    let conversation = agent.conversation();
    let users = conversation.messages().iter();
    users
        .filter(|message| message.role == Role::User)
        .map(|message| message.text())
        .collect()
}

#[tokio::test]
async fn what_is_submitted_starts_turns_in_order_until_the_session_is_idle() {
    let gate = Gate::new();
    let script = Script::new()
        .step(gated("one", &gate))
        .step(Step::text("two"))
        .step(Step::text("three"));
    let handle = SessionHandle::open(agent(script));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    handle.submit(Submission::follow_up("2")).unwrap();
    handle.submit(Submission::follow_up("3").by_code()).unwrap();
    gate.open();
    let outcomes = outcomes(&mut events).await;
    assert_eq!(stops(&outcomes), [StopReason::End; 3]);
    assert_eq!(users(handle.agent()), ["1", "2", "3"]);
    handle.close().await;
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn an_interrupt_gives_back_what_a_person_queued_and_holds_what_code_did() {
    let gate = Gate::new();
    let script = Script::new()
        .step(gated("one", &gate))
        .step(Step::text("more").repeated());
    let handle = SessionHandle::open(agent(script));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    handle.submit(Submission::follow_up("person")).unwrap();
    handle
        .submit(Submission::follow_up("code").by_code())
        .unwrap();
    assert_eq!(handle.interrupt(), []);
    handle.interrupt();
    let settled = outcomes(&mut events).await;
    assert_eq!(stops(&settled), [StopReason::Cancelled]);
    let returned: Vec<_> = settled[0]
        .returned
        .iter()
        .map(|queued| queued.submission.clone())
        .collect();
    assert_eq!(returned, [Submission::follow_up("person")]);
    assert_eq!(users(handle.agent()), ["1"]);

    handle
        .submit(Submission::follow_up("late code").by_code())
        .unwrap();
    assert_eq!(outcomes(&mut events).await.len(), 0);

    handle.submit(Submission::follow_up("2")).unwrap();
    let settled = outcomes(&mut events).await;
    assert!(
        settled
            .iter()
            .all(|outcome| outcome.stop == StopReason::End)
    );
    let mut said = users(handle.agent());
    said.sort();
    assert_eq!(said, ["1", "2", "code", "late code"]);
    handle.close().await;
}

#[tokio::test]
async fn an_interrupt_before_the_turn_starts_gives_the_prompt_back() {
    let handle = SessionHandle::open(agent(Script::new()));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("never")).unwrap();
    // The driver shares this thread and has not run yet.
    assert_eq!(handle.interrupt().len(), 1);
    assert_eq!(outcomes(&mut events).await.len(), 0);
    assert_eq!(users(handle.agent()), Vec::<String>::new());
    handle.close().await;
}

#[tokio::test]
async fn closing_settles_the_live_turn_and_refuses_what_comes_after() {
    let gate = Gate::new();
    let handle = SessionHandle::open(agent(Script::new().step(gated("one", &gate))));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    let reader = tokio::spawn(async move { outcomes(&mut events).await });
    handle.close().await;
    handle.close().await;
    assert_eq!(stops(&reader.await.unwrap()), [StopReason::Cancelled]);
    assert!(!handle.agent().is_busy());
    assert_eq!(
        handle.submit(Submission::follow_up("2")),
        Err(SessionRefusal::Closed)
    );
    assert_eq!(
        handle.command(SessionCommand::Continue),
        Err(SessionRefusal::Closed)
    );
    assert!(handle.events().next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_reader_that_does_not_read() {
    let script = Script::new().step(Step::new().then(Text::new("x").count(100_000)));
    let handle = SessionHandle::open(agent(script));
    let mut stuck = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut stuck, "assistant_text_delta").await;
    handle.close().await;
    assert!(!handle.agent().is_busy());
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_session() {
    let gate = Gate::new();
    let handle = SessionHandle::open(agent(Script::new().step(gated("one", &gate))));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    drop(handle);
    assert_eq!(stops(&outcomes(&mut events).await), [StopReason::Cancelled]);
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn every_reader_sees_everything_and_a_dropped_one_no_longer_counts() {
    let script = Script::new().step(Step::new().then(Text::new("x").count(5_000)));
    let handle = SessionHandle::open(agent(script));
    let mut first = handle.events();
    let mut second = handle.events();
    drop(handle.events());
    handle.emit("progress", serde_json::json!(1)).await;
    handle.submit(Submission::follow_up("1")).unwrap();
    let count = async |events: &mut SessionEvents| {
        let mut names = Vec::new();
        loop {
            match events.next().await.unwrap() {
                SessionEvent::Turn(event) => names.push(event.name().to_owned()),
                SessionEvent::Custom { name, .. } => names.push(name.to_string()),
                SessionEvent::Idle => return names,
            }
        }
    };
    let (first, second) = tokio::join!(count(&mut first), count(&mut second));
    assert_eq!(first, second);
    assert_eq!(first[0], "progress");
    assert!(first.len() > 5_000);
    handle.close().await;
}

#[tokio::test]
async fn commands_come_before_what_is_queued() {
    let gate = Gate::new();
    let script = Script::new()
        .step(gated("one", &gate))
        .step(Step::text("two"));
    let handle = SessionHandle::open(agent(script));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    handle.submit(Submission::follow_up("2")).unwrap();
    handle
        .command(SessionCommand::Compact { instructions: None })
        .unwrap();
    gate.open();
    let settled = outcomes(&mut events).await;
    let kinds: Vec<_> = settled
        .iter()
        .map(|outcome| outcome.error.as_ref().map(|error| error.kind()))
        .collect();
    assert_eq!(kinds, [None, Some("nothing_to_compact"), None]);
    handle.close().await;
}

#[tokio::test]
async fn a_prompt_submitted_during_the_grace_period_after_an_interrupt_starts_a_turn() {
    let gate = Gate::new();
    let script = Script::new()
        .step(gated("one", &gate))
        .step(Step::text("two"));
    let handle = SessionHandle::open(agent(script));
    let mut events = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    wait_for(&mut events, "assistant_text_delta").await;
    handle.submit(Submission::follow_up("before")).unwrap();
    handle.interrupt();
    // The driver shares this thread: the turn has not settled yet.
    handle.submit(Submission::follow_up("after")).unwrap();
    let settled = outcomes(&mut events).await;
    assert_eq!(stops(&settled), [StopReason::Cancelled, StopReason::End]);
    let returned: Vec<_> = settled[0]
        .returned
        .iter()
        .map(|queued| queued.submission.clone())
        .collect();
    assert_eq!(returned, [Submission::follow_up("before")]);
    assert_eq!(users(handle.agent()), ["1", "after"]);
    handle.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_cannot_hold_an_interrupt_up() {
    let script = Script::new()
        .step(Step::new().then(Text::new("x").count(5_000)))
        .step(Step::text("two"));
    let handle = SessionHandle::open(agent(script));
    let mut events = handle.events();
    let mut stuck = handle.events();
    handle.submit(Submission::follow_up("1")).unwrap();
    let reader = tokio::spawn(async move { (outcomes(&mut events).await, events) });
    // The clock goes on by itself once everybody waits: the driver for the stuck reader.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(!reader.is_finished());
    handle.interrupt();
    let (settled, mut events) = reader.await.unwrap();
    assert_eq!(stops(&settled), [StopReason::Cancelled]);

    // It has what was in its buffer, and no more; the others go on.
    assert_eq!(outcomes(&mut stuck).await.len(), 0);
    assert!(stuck.next().await.is_none());
    handle.submit(Submission::follow_up("2")).unwrap();
    assert_eq!(stops(&outcomes(&mut events).await), [StopReason::End]);
    handle.close().await;
}
