//! Conversations so long that several threads write them, where there are cores: what leaves is
//! what one thread would have written, whole and with its length.

use std::time::Duration;

use pantograph::protocol::Request;
use pantograph::session::{Header, NullStore, SessionStore};
use pantograph::{
    Agent, Block, Conversation, Metadata, RetryPolicy, Role, SessionId, StopReason, ToolContent,
    ToolStatus,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::agent::run;
use crate::party::Party;
use crate::support::ask;
use crate::support::conversation::{self, Log};
use crate::support::server::{Script, Seen, Server};

/// One and a half megabytes behind everything that a conversation can hold, of very different sizes.
fn long(party: Party) -> Conversation {
    let native = party.native();
    let line = "    let value = \"as code is\"; // with quotes, é and lines\n";
    let mut log = Log {
        conversation: conversation::rich(&native),
    };
    for n in 0..100 {
        let text = line.repeat(1 + n);
        let id = format!("call_{n}");
        let input = serde_json::json!({ "path": text }).to_string();
        let call = conversation::call(&id, "files.read", &input);
        let result =
            conversation::result(&id, ToolStatus::Ok, vec![ToolContent::Text(text.clone())]);
        log.answer(&native, vec![Block::ToolCall(call)], StopReason::ToolCalls);
        log.results(vec![result]);
        log.answer(&native, vec![Block::text(&*text)], StopReason::End);
        log.say(Role::User, vec![Block::text("Go on.")]);
    }
    log.say(Role::User, vec![Block::text(line.repeat(10_000))]);
    log.conversation
}

fn request(party: Party) -> Request {
    conversation::request(party.model(), long(party))
}

/// The body of a request that came with its length and not in chunks.
fn whole(seen: &Seen) -> &[u8] {
    let values = |name: &str| -> Vec<&str> {
        let headers = seen.headers.iter().filter(|(key, _)| key == name);
        headers.map(|(_, value)| &**value).collect()
    };
    assert_eq!(values("content-length"), [seen.body.len().to_string()]);
    assert_eq!(values("transfer-encoding"), [""; 0]);
    &seen.body
}

#[tokio::test]
async fn what_several_threads_write_is_what_one_would() {
    for party in Party::ALL {
        let answer = || Script::events(&party.answer("Done.", None));
        let server = Server::start([answer(), answer()]).await;
        let protocol = party.protocol(&server.url());
        let request = request(party);
        let expected = party.encode(&request);
        assert!(expected.len() > 1_500_000, "{}", expected.len());
        for _ in 0..2 {
            let answer = ask(&*protocol, request.clone()).await;
            assert_eq!(answer.error, None, "{party:?}");
            // The client's own task puts the connection back.
            tokio::task::yield_now().await;
        }
        for seen in server.seen() {
            assert!(whole(&seen) == expected.as_bytes(), "{party:?}");
        }
        // The connection is as good as after a short request.
        assert_eq!(server.connections(), 1, "{party:?}");
    }
}

#[tokio::test]
async fn it_is_sent_again_whole_after_a_failure() {
    for party in Party::ALL {
        let server = Server::start([
            Script::default().reset(),
            Script::json(503, "{}"),
            Script::events(&party.answer("Done.", None)),
        ])
        .await;
        let mut model = party.model();
        model.retry = RetryPolicy {
            base_delay: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let header = Header {
            id: SessionId::parse("01a22dd0-0000-7000-8000-000000000000").unwrap(),
            created: jiff::Timestamp::UNIX_EPOCH,
            cwd: "/".into(),
            metadata: Metadata::new(),
        };
        let agent = Agent::builder(party.protocol(&server.url()), model)
            .build(NullStore.create(header).await.unwrap(), long(party));
        let (events, outcome) = run(&agent).await;
        assert_eq!(outcome.text.as_deref(), Some("Done."), "{outcome:?}");
        assert_eq!(events.iter().filter(|&&name| name == "retry").count(), 2);
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        let first = whole(&seen[0]);
        assert!(first.len() > 1_500_000);
        assert!(seen.iter().all(|seen| whole(seen) == first), "{party:?}");
    }
}

#[tokio::test]
async fn a_client_that_goes_while_it_is_sent_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let protocol = Party::Chat.protocol(&format!("http://{}", listener.local_addr().unwrap()));
    let request = request(Party::Chat);
    let asking = tokio::spawn(async move { ask(&*protocol, request).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut read = vec![0; 1_000];
    stream.read_exact(&mut read).await.unwrap();
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    // Ends, be it with a reset.
    let _ = stream.read_to_end(&mut read).await;
}
