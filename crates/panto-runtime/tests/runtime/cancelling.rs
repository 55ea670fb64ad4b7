//! How handlers are stopped: asked first, closed at the deadline.

use std::time::Duration;

use pantograph::AgentOptions;
use serde_json::json;

use crate::support::{calling, machine, results};

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_asked_to_stop_may_give_its_own_result() {
    let mut machine = machine();
    machine.tool(
        "polite",
        "repeat sleep(10) until context.cancelled() return 'stopped by itself'",
    );
    let agent = machine.agent(calling("polite", [json!({})]));
    let interrupting = agent.clone();
    let ask = async {
        tokio::join!(agent.ask("Go."), async {
            tokio::time::sleep(Duration::from_millis(55)).await;
            interrupting.interrupt();
        })
        .0
    };
    let outcome = machine.runtime.run_until(ask).await.unwrap();
    assert_eq!(outcome.stop, pantograph::StopReason::Cancelled);
    assert_eq!(
        results(&agent),
        [("ok".to_owned(), "stopped by itself".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_stop_is_closed_at_the_deadline() {
    let mut machine = machine();
    machine.tool(
        "stubborn",
        r#"
        local x <close> = setmetatable({}, { __close = function() note("closed") end })
        note("begin")
        sleep(1e6)
        note("not reached")
        "#,
    );
    let agent = machine.agent(calling("stubborn", (0..3).map(|n| json!({ "n": n }))));
    let interrupting = agent.clone();
    let start = tokio::time::Instant::now();
    let ask = async {
        tokio::join!(agent.ask("Go."), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            interrupting.interrupt();
        })
        .0
    };
    machine.runtime.run_until(ask).await.unwrap();
    assert_eq!(
        start.elapsed(),
        Duration::from_millis(50) + AgentOptions::default().grace
    );
    machine.runtime.run_until(tokio::task::yield_now()).await;
    assert_eq!(
        machine.log(),
        ["begin", "begin", "begin", "closed", "closed", "closed"]
    );
    assert!(
        results(&agent)
            .iter()
            .all(|(status, _)| status == "cancelled")
    );
    assert_eq!(machine.runtime.live_handlers(), 0);
}
