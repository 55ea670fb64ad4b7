//! Stopping a turn: at once for a provider, within the grace period for tools.

use std::sync::Arc;
use std::time::Duration;

use pantograph::{
    ErrorClass, Event, Role, StopReason, ToolContext, ToolOutput, ToolRegistry, TurnError,
};
use pantograph_scripted::{Call, Fault, Gate, Script, Step, Thinking};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{builder, declare, finish, run, scripted, shown};

#[tokio::test(start_paused = true)]
async fn a_stream_is_closed_at_once_and_nothing_of_it_is_taken_any_more() {
    let gate = Gate::new();
    let script = Script::new()
        .step(
            Step::new()
                .then(Thinking::new("unsigned"))
                .then("as far as here")
                .then(&gate)
                .then(" and never on")
                .ignoring_cancel(),
        )
        .step("goes on");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    let start = Instant::now();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            agent.interrupt();
            agent.interrupt();
            gate.open();
        }
        if let Event::Settled(outcome) = event {
            assert_eq!(outcome.stop, StopReason::Cancelled);
            assert_eq!(outcome.text.as_deref(), Some("as far as here"));
        }
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(
        (protocol.cancelled_streams(), protocol.open_streams()),
        (1, 0)
    );
    run(&agent, "go on").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [cancelled]: as far as here
    user: go on
    assistant [end]: goes on
    ");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_a_cancel_is_settled_after_the_grace_period() {
    let tools = ToolRegistry::new()
        .tool(declare("deaf"), async |_: ToolContext| {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            ToolOutput::text("an hour later")
        })
        .unwrap()
        .tool(declare("quick"), async |_: ToolContext| {
            ToolOutput::text("done")
        })
        .unwrap()
        .tool(declare("polite"), async |context: ToolContext| {
            context.cancel.asked().await;
            ToolOutput::text("stopped half way, 3 of 7 files written")
        })
        .unwrap();
    let calls = Step::call("deaf", json!({}))
        .then(Call::new("quick", json!({})))
        .then(Call::new("polite", json!({})));
    let protocol = scripted(Script::new().step(calls).step("goes on"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let mut turn = agent.run("go").unwrap();
    let start = Instant::now();
    while let Some(event) = turn.next().await {
        if event.name() == "tool_result" {
            turn.control().cancel();
        }
    }
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    run(&agent, "go on").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) deaf {}
    assistant [tool_calls]: (calls) quick {}
    assistant [tool_calls]: (calls) polite {}
    tool: (Cancelled) The call was cancelled before it gave a result; it may have had effects.
    tool: (Ok) done
    tool: (Ok) stopped half way, 3 of 7 files written
    user: go on
    assistant [end]: goes on
    ");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_can_be_cancelled() {
    let script = Script::new().step(Step::error(
        pantograph::ProviderError::new(ErrorClass::RateLimit, "slow down")
            .with_retry_after(Duration::from_secs(300)),
    ));
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    let start = Instant::now();
    let mut last = None;
    while let Some(event) = turn.next().await {
        if event.name() == "retry" {
            turn.control().cancel();
        }
        last = Some(event);
    }
    assert!(matches!(last, Some(Event::Settled(outcome)) if outcome.stop == StopReason::Cancelled));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn opening_a_stream_can_be_cancelled() {
    let protocol = scripted(Script::new().step(Step::new().on_open(Fault::Stall)));
    let agent = builder(&protocol).ephemeral();
    let turn = agent.run("go").unwrap();
    let control = turn.control();
    let waiting = tokio::spawn(finish(turn));
    protocol.wait_for_requests(1).await;
    control.cancel();
    let (_, outcome) = waiting.await.unwrap();
    assert_eq!(outcome.stop, StopReason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_dropped_settles_in_the_background() {
    let tools = ToolRegistry::new()
        .tool(declare("slow"), async |context: ToolContext| {
            context.cancel.asked().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            ToolOutput::text("cleaned up")
        })
        .unwrap();
    let protocol = scripted(Script::new().step(Step::call("slow", json!({}))).step("on"));
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while let Some(event) = turn.next().await {
        if event.name() == "tool_dispatch_start" {
            break;
        }
    }
    drop(turn);
    assert!(agent.run("too early").is_err());
    agent.settled().await;
    run(&agent, "go on").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) slow {}
    tool: (Ok) cleaned up
    user: go on
    assistant [end]: on
    ");
}

#[tokio::test(start_paused = true)]
async fn stopping_again_in_the_next_turn_works_again() {
    let protocol = scripted(Script::new().step(Step::text("a").then(Fault::Stall).repeated()));
    let agent = builder(&protocol).ephemeral();
    for _ in 0..2 {
        let mut turn = agent.run("go").unwrap();
        let mut stop = None;
        while let Some(event) = turn.next().await {
            if event.name() == "assistant_text_delta" {
                agent.interrupt();
            }
            if let Event::Settled(outcome) = event {
                stop = Some(outcome.stop);
            }
        }
        assert_eq!(stop, Some(StopReason::Cancelled));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_answer_can_be_continued_without_a_new_message() {
    let script = Script::new()
        .step(Step::text("half").then(Fault::Stall))
        .step("the whole answer");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            turn.control().cancel();
        }
    }
    let (_, outcome) = finish(agent.continue_turn().unwrap()).await;
    assert_eq!(outcome.text.as_deref(), Some("the whole answer"));
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: the whole answer
    ");
    let (_, outcome) = finish(agent.continue_turn().unwrap()).await;
    assert!(matches!(outcome.error, Some(TurnError::NothingToContinue)));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_agents_stream_at_once_without_threads() {
    let gate = Gate::new();
    let step = Step::text("one").then(&gate).then("two").repeated();
    let protocol = scripted(Script::new().step(step));
    let turns: Vec<_> = (0..1_000)
        .map(|_| tokio::spawn(finish(builder(&protocol).ephemeral().run("go").unwrap())))
        .collect();
    gate.reached_times(1_000).await;
    assert_eq!(protocol.open_streams(), 1_000);
    gate.open();
    for turn in turns {
        assert_eq!(turn.await.unwrap().1.stop, StopReason::End);
    }
}

#[test]
fn a_turn_that_began_in_a_runtime_settles_there() {
    let protocol = scripted(Script::new().step(Step::call("wait", json!({}))));
    let tools = ToolRegistry::new()
        .tool(declare("wait"), async |context: ToolContext| {
            context.cancel.asked().await;
            ToolOutput::text("stopped")
        })
        .unwrap();
    let agent = builder(&protocol).tool_source(Arc::new(tools)).ephemeral();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let mut turn = agent.run("go").unwrap();
    runtime.block_on(async {
        while let Some(event) = turn.next().await {
            if event.name() == "tool_dispatch_start" {
                break;
            }
        }
    });
    // Dropped outside of any runtime.
    drop(turn);
    runtime.block_on(agent.settled());
    assert_eq!(agent.conversation().last().unwrap().role, Role::Tool);
}
