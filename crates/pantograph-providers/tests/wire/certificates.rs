//! When a system's certificates matter.

use std::process::Command;

use pantograph_providers::{AnthropicFlags, AnthropicMessages};

use crate::support::conversation::{model, simple};
use crate::support::server::{Script, Server};
use crate::support::{ask, endpoint, render};

const ANSWER: &str = "data: {\"type\":\"message_stop\"}\n\n";

async fn answer_of(url: &str) -> String {
    let protocol = AnthropicMessages::new(endpoint(url), AnthropicFlags::default());
    render(&ask(&protocol, simple(model("p", "m", url))).await)
}

#[tokio::test]
async fn a_server_without_tls_is_asked() {
    let server = Server::start([Script::events(ANSWER)]).await;
    assert_eq!(answer_of(&server.url()).await, "Done { stop: End }");
}

/// Runs the test above in a process that finds no certificates, as containers have none.
#[test]
fn a_server_without_tls_is_asked_where_there_are_no_certificates() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "certificates::a_server_without_tls_is_asked"])
        .env("SSL_CERT_FILE", "/nonexistent")
        .env("SSL_CERT_DIR", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}
