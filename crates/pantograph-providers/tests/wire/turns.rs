//! An agent's turns over real sockets: what it makes of answers that do not begin, or do not go
//! on.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use pantograph::{Agent, Event, Model, Outcome};

use crate::party::Party;
use crate::support::server::{Script, Server};

fn agent(party: Party, server: &Server, change: fn(&mut Model)) -> Agent {
    let mut model = party.model();
    model.retry.base_delay = Duration::ZERO;
    change(&mut model);
    Agent::builder(party.protocol(&server.url()), model).ephemeral()
}

/// The errors of the attempts that were repeated, and how the turn ended.
async fn turn(agent: &Agent) -> (Vec<String>, Arc<Outcome>) {
    let mut turn = agent.run("Hello").unwrap();
    let mut repeated = Vec::new();
    loop {
        match turn.next().await.unwrap() {
            Event::Retry { error, .. } => {
                repeated.push(format!("{}: {}", error.class.as_str(), error.message));
            }
            Event::Settled(outcome) => return (repeated, outcome),
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_answer_of_which_no_event_came_is_asked_for_again() {
    for party in Party::ALL {
        let begin = party.begin("Hello");
        let scripts = [
            Script::default().close(),
            Script::begin().close(),
            Script::begin().chunk(&begin[..begin.len() / 2]).end(),
            Script::events(&party.answer("Hello", None)),
        ];
        let server = Server::start(scripts).await;
        let agent = agent(party, &server, |_| {});
        let (repeated, outcome) = turn(&agent).await;
        assert_eq!(repeated.len(), 3, "{party:?}: {repeated:?}");
        assert!(
            repeated
                .iter()
                .all(|error| error.starts_with("transport: ")),
            "{party:?}: {repeated:?}"
        );
        assert_eq!(outcome.text.as_deref(), Some("Hello"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_and_left() {
    for party in Party::ALL {
        let begin = party.begin("Hello");
        let slow = [
            Script::default().stall(),
            Script::default()
                .send("HTTP/1.1 200 OK\r\ncontent-")
                .stall(),
            Script::begin().chunk(": a comment is no event\n\n").stall(),
            Script::begin().chunk(&begin).stall(),
            Script::begin().chunk(&begin[..begin.len() / 2]).stall(),
        ];
        for script in slow {
            let server = Server::start([script]).await;
            let agent = agent(party, &server, |model| {
                model.retry.max_retries = 0;
                model.limits.idle = Some(Duration::from_millis(50));
            });
            let (_, outcome) = turn(&agent).await;
            let error = outcome.error.as_ref().unwrap();
            let said = error.source().unwrap().to_string();
            assert_eq!(
                said, "no event within 0.05 s (the idle limit of this provider)",
                "{party:?}"
            );
            server.client_gone().await;
        }
    }
}
