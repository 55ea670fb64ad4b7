//! What a turn's outcome says: the text, the stop and the usage of what really happened.

use pantograph::{ErrorClass, Prompt, StopReason, Submission};
use pantograph_scripted::{Call, Fault, Gate, Script, Step, Thinking};
use serde_json::json;

use crate::support::{builder, echo, finish, finish_and, run, scripted, used};

#[tokio::test]
async fn the_agent_is_free_before_its_reader_sees_the_outcome() {
    let gate = Gate::new();
    let protocol = scripted(Script::new().step(Step::text("a").then(&gate)).step("b"));
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            let waiter = agent.clone();
            tokio::spawn(async move { waiter.settled().await });
            tokio::task::yield_now().await;
            gate.open();
        }
    }
    assert!(agent.run("next").is_ok());
}

#[tokio::test]
async fn a_call_that_the_limit_cut_is_no_plain_success_without_dispatch() {
    let cut = Step::new()
        .then(Call::with_raw_input("echo", r#"{"a":"#))
        .then(StopReason::Limit);
    let protocol = scripted(Script::new().step(cut));
    let agent = builder(&protocol).tool_source(echo("ok")).ephemeral();
    let (_, outcome) = finish(agent.run(Prompt::from("go").without_dispatch()).unwrap()).await;
    assert_eq!(outcome.stop, StopReason::Limit);
    assert_eq!(outcome.tool_calls, []);
}

#[tokio::test]
async fn an_empty_last_answer_has_no_text() {
    let script = Script::new()
        .step(Step::text("I will look").then(Call::new("echo", json!({}))))
        .step(Step::new());
    let protocol = scripted(script);
    let agent = builder(&protocol).tool_source(echo("ok")).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!((outcome.stop, &outcome.text), (StopReason::End, &None));
}

#[tokio::test]
async fn what_a_cancelled_answer_used_counts_even_if_it_said_nothing() {
    let step = Step::new()
        .then(used(1000, 5))
        .then(Thinking::new("unsigned"))
        .then(Fault::Stall);
    let protocol = scripted(Script::new().step(step));
    let agent = builder(&protocol).ephemeral();
    let turn = agent.run("go").unwrap();
    let (_, outcome) = finish_and(turn, "thinking_delta", |turn| turn.cancel()).await;
    assert_eq!(outcome.usage.usage.input, Some(1000));
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_attempt_used_counts() {
    let failed = Step::new()
        .then(used(1000, 5))
        .then("lost")
        .then(ErrorClass::Server);
    let protocol = scripted(
        Script::new()
            .step(failed)
            .step(Step::text("kept").then(used(1000, 7))),
    );
    let agent = builder(&protocol).ephemeral();
    let (_, outcome) = run(&agent, "go").await;
    assert_eq!(outcome.usage.usage.input, Some(2000));
    assert_eq!(outcome.usage.usage.output, Some(12));
}

#[tokio::test]
async fn without_dispatch_the_turn_ends_at_the_first_answer() {
    let gate = Gate::new();
    let protocol = scripted(
        Script::new()
            .step(Step::text("one").then(&gate))
            .step("two"),
    );
    let agent = builder(&protocol).ephemeral();
    let prompt = Prompt::from("go").without_dispatch();
    let turn = tokio::spawn(finish(agent.run(prompt).unwrap()));
    gate.reached().await;
    agent.submit(Submission::steering("more"));
    gate.open();
    turn.await.unwrap();
    assert_eq!(protocol.requests().len(), 1);
    assert_eq!(agent.queued().len(), 1);
}
