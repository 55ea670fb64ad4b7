//! No lane starves another, and the owner is not deaf while it works.

use std::time::Duration;

use serde_json::json;

use crate::support::{calling, machine, results};

#[tokio::test(start_paused = true)]
async fn a_batch_of_one_waits_for_one_step_of_a_batch_of_a_thousand() {
    let mut machine = machine();
    machine.exec("done = 0");
    machine.tool("many", "done = done + 1 return 'x'");
    machine.tool("one", "return tostring(done)");
    let many = machine.agent(calling("many", (0..1000).map(|n| json!({ "n": n }))));
    let one = machine.agent(calling("one", [json!({})]));
    // Both batches are posted before the owner looks.
    let all = async { tokio::join!(many.ask("Go."), one.ask("Go.")) };
    let _ = machine.runtime.run_until(all).await;
    assert_eq!(machine.eval::<i64>("return done"), 1000);
    let before: i64 = results(&one)[0].1.parse().unwrap();
    assert!(before <= 1, "{before} calls of the other lane came first");
}

#[tokio::test]
async fn timers_and_cancels_come_through_while_a_lane_is_busy() {
    let mut machine = machine();
    machine.exec("done, ticks = 0, 0");
    machine.tool(
        "many",
        "done = done + 1 for i = 1, 100000 do end return 'x'",
    );
    let agent = machine.agent(calling("many", (0..500).map(|n| json!({ "n": n }))));
    machine.exec("ticker = uv.new_timer() ticker:start(1, 1, function() ticks = ticks + 1 end)");
    let interrupting = agent.clone();
    let lua = machine.lua.clone();
    let ask = async {
        let (outcome, ()) = tokio::join!(agent.ask("Go."), async {
            let enough = |name: &str| lua.globals().get::<i64>(name).unwrap() > 3;
            while !enough("done") || !enough("ticks") {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            interrupting.interrupt();
        });
        outcome.unwrap()
    };
    let outcome = machine.runtime.run_until(ask).await;
    assert_eq!(outcome.stop, pantograph::StopReason::Cancelled);
    machine.exec("ticker:close()");
    let (done, ticks) = machine.eval::<(i64, i64)>("return done, ticks");
    assert!(done < 500, "the cancel came too late");
    assert!(ticks > 3, "{ticks} ticks, {done} done");
    let cancelled = results(&agent)
        .iter()
        .filter(|(status, _)| status == "cancelled")
        .count();
    assert_eq!(cancelled as i64, 500 - done);
}

#[tokio::test]
async fn an_endless_stream_does_not_keep_others_from_their_turn() {
    let mut machine = machine();
    machine.protocols();
    machine.exec(
        r#"
        said = 0
        register_protocol { name = "endless", open = function()
            return { next = function() said = said + 1 return { type = "text_delta", text = "x" } end }
        end }
        "#,
    );
    machine.tool("quick", "repeat sleep(1) until said > 200 return 'quick'");
    let protocol = machine.runtime.handle().protocol("endless").unwrap();
    let endless = machine.agent_of(protocol);
    let quick = machine.agent(calling("quick", [json!({})]));
    let turn = endless.run("Go.").unwrap();
    let control = turn.control();
    let talking = turn.outcome();
    let asking = async {
        let outcome = quick.ask("Go.").await.unwrap();
        control.cancel();
        outcome
    };
    let (talked, outcome) = machine
        .runtime
        .run_until(async { tokio::join!(talking, asking) })
        .await;
    assert_eq!(outcome.text.as_deref(), Some("Done."));
    assert!(machine.eval::<i64>("return said") > 0, "{talked:?}");
}

#[tokio::test]
async fn a_stream_that_always_says_there_is_more_leaves_the_thread_its_clock() {
    let mut machine = machine();
    machine.protocols();
    machine.exec(
        r#"
        register_protocol { name = "eager", open = function(request)
            return { next = function() request.notify() end }
        end }
        "#,
    );
    let protocol = machine.runtime.handle().protocol("eager").unwrap();
    let turn = machine.agent_of(protocol).run("Go.").unwrap();
    let control = turn.control();
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        control.cancel();
    };
    let both = async { tokio::join!(turn.outcome(), cancelling).0 };
    let outcome = machine.runtime.run_until(both).await;
    assert_eq!(outcome.stop, pantograph::StopReason::Cancelled);
}
