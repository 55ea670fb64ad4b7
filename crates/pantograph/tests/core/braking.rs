//! One agent's limit slows every agent of its provider.

use std::sync::Arc;
use std::time::Duration;

use pantograph::protocol::Protocol;
use pantograph::{Agent, ErrorClass, Governor, Model, ProviderError, StopReason};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step};
use tokio::time::Instant;

use crate::support::{finish, model, names, scripted};

fn agent(protocol: &Arc<ScriptedProtocol>, model: &Model) -> Agent {
    let protocol: Arc<dyn Protocol> = protocol.clone();
    Agent::builder(protocol, model.clone()).ephemeral()
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_one_agent_slows_its_siblings_and_fails_none() {
    let limit = ProviderError::new(ErrorClass::RateLimit, "slow down")
        .with_retry_after(Duration::from_secs(30));
    let protocol = scripted(
        Script::new()
            .step(Step::error(limit))
            .step(Step::text("fine").repeated()),
    );
    let shared = model();
    let start = Instant::now();
    let first = tokio::spawn(finish(agent(&protocol, &shared).run("go").unwrap()));
    protocol.wait_for_requests(1).await;
    tokio::task::yield_now().await;
    let siblings: Vec<_> = (0..3)
        .map(|_| {
            let turn = agent(&protocol, &shared).run("go").unwrap();
            tokio::spawn(async move {
                let (events, outcome) = finish(turn).await;
                (events, outcome, start.elapsed())
            })
        })
        .collect();
    for sibling in siblings {
        let (events, outcome, settled) = sibling.await.unwrap();
        assert_eq!(outcome.stop, StopReason::End);
        assert!(settled >= Duration::from_secs(30), "{settled:?}");
        assert!(names(&events).contains(&"paused"), "{:?}", names(&events));
    }
    let (_, outcome) = first.await.unwrap();
    assert_eq!(outcome.stop, StopReason::End);
    assert_eq!(protocol.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_probe_says_so() {
    let shared = model();
    shared.governor.slow(Duration::from_secs(1));
    tokio::time::advance(Duration::from_secs(2)).await;
    let gate = Gate::new();
    let protocol = scripted(
        Script::new()
            .step(Step::new().then(&gate).then("a"))
            .step("b"),
    );
    let first = tokio::spawn(finish(agent(&protocol, &shared).run("go").unwrap()));
    gate.reached().await;
    let (events, _) = finish(agent(&protocol, &shared).run("go").unwrap()).await;
    assert!(names(&events).contains(&"paused"), "{:?}", names(&events));
    gate.open();
    first.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn answers_from_before_the_brake_do_not_loosen_it() {
    let governor = Arc::new(Governor::default());
    let mut permits = Vec::new();
    for _ in 0..16 {
        permits.push(governor.admit().await);
    }
    drop(permits.pop());
    governor.slow(Duration::from_secs(5));
    for permit in permits {
        permit.answered();
    }
    let _probe = governor.admit().await;
    let next = tokio::time::timeout(Duration::from_secs(1), governor.admit()).await;
    assert!(next.is_err(), "a second attempt joined the probe");
}
