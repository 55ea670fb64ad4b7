//! Between a cancel and the end of its grace period nothing begins, and nothing puts the end off.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pantograph::{
    AgentOptions, CheckedInput, HookContext, HookedCall, StopReason, ToolBatch, ToolDeclaration,
    ToolReply, ToolSource, TurnHooks,
};
use pantograph_scripted::{Call, Fault, Script, Step};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{builder, declare, finish, finish_and, scripted, shown};

#[tokio::test]
async fn a_grace_without_end_is_none_too_long() {
    let protocol = scripted(Script::new().step(Step::text("a").then(Fault::Stall)));
    let options = AgentOptions {
        grace: Duration::MAX,
        ..AgentOptions::default()
    };
    let agent = builder(&protocol).options(options).ephemeral();
    let turn = agent.run("go").unwrap();
    let (_, outcome) = finish_and(turn, "assistant_text_delta", |_| agent.interrupt()).await;
    assert_eq!(outcome.stop, StopReason::Cancelled);
}

/// Never answers, and keeps the replies.
struct Held(Arc<Mutex<Vec<ToolReply>>>);

impl ToolSource for Held {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        vec![declare("flood")]
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        for call in &batch.calls {
            call.reply.output("x");
        }
        let replies = batch.calls.into_iter().map(|call| call.reply);
        self.0.lock().extend(replies);
    }
}

#[tokio::test(start_paused = true)]
async fn output_that_is_always_there_cannot_hold_off_the_end_of_the_grace_period() {
    let calls = (0..64).map(|_| Call::new("flood", json!({})));
    let step = calls.fold(Step::new(), Step::then);
    let protocol = scripted(Script::new().step(step));
    let replies = Arc::new(Mutex::new(Vec::new()));
    let agent = builder(&protocol)
        .tool_source(Arc::new(Held(Arc::clone(&replies))))
        .ephemeral();
    let mut turn = agent.run("go").unwrap();
    let mut shown = 0;
    while let Some(event) = turn.next().await {
        for reply in &*replies.lock() {
            reply.output("x");
        }
        if event.name() != "tool_output_delta" {
            continue;
        }
        shown += 1;
        if shown == 1 {
            turn.control().cancel_within(Duration::from_millis(50));
            tokio::time::advance(Duration::from_millis(60)).await;
        }
        assert!(shown < 1_000, "the grace period has no end");
    }
}

/// Says that it was asked, and never lets a call go.
struct Asking(Arc<Notify>);

#[async_trait]
impl TurnHooks for Asking {
    async fn tool_input(&self, _: &HookContext, _: HookedCall<'_>) -> CheckedInput {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_dispatched_after_a_cancel() {
    let protocol = scripted(Script::new().step(Step::call("flood", json!({}))));
    let asked = Arc::new(Notify::new());
    let replies = Arc::new(Mutex::new(Vec::new()));
    let agent = builder(&protocol)
        .hooks(Arc::new(Asking(Arc::clone(&asked))))
        .tool_source(Arc::new(Held(Arc::clone(&replies))))
        .ephemeral();
    let turn = agent.run("go").unwrap();
    let control = turn.control();
    let turn = tokio::spawn(finish(turn));
    asked.notified().await;
    control.cancel();
    turn.await.unwrap();
    assert!(replies.lock().is_empty());
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) flood {}
    tool: (Cancelled) The call was not run: the turn was cancelled first.
    ");
}
