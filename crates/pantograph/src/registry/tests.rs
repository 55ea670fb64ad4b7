use async_trait::async_trait;
use serde_json::json;
use tokio::sync::{Barrier, oneshot};
use uuid::Uuid;

use super::*;
use crate::batch::{BatchReplies, ReplyUpdate, replies};
use crate::error::{ErrorClass, ProviderError};
use crate::ids::{BatchId, TurnId};
use crate::model::{Model, ModelRef};
use crate::protocol::{Protocol, ProtocolStream, Request};

/// A protocol for agents that ask nothing.
struct Silent;

#[async_trait]
impl Protocol for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn open(&self, _request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Err(ProviderError::new(ErrorClass::Terminal, "silent"))
    }
}

fn declare(name: &str) -> ToolDeclaration {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    });
    ToolDeclaration::new(name, "A tool.", schema).unwrap()
}

/// Starts a batch of calls, each a tool and its input.
fn invoke(registry: &ToolRegistry, calls: &[(&str, &str)]) -> (Cancel, BatchReplies) {
    let model = Model::new(ModelRef::parse("silent:model").unwrap());
    let agent = Agent::builder(Arc::new(Silent), model).ephemeral();
    let (replies, batch) = replies(calls.len());
    let cancel = Cancel::new();
    registry.invoke_batch(ToolBatch {
        id: BatchId::new(Uuid::nil()),
        turn: TurnId::new(Uuid::nil()),
        session: agent.session_id(),
        agent,
        cancel: cancel.clone(),
        calls: calls
            .iter()
            .zip(replies)
            .map(|((name, input), reply)| PendingCall {
                id: format!("call of {name}").into(),
                tool_name: Arc::from(*name),
                input: RawJson::parse(input).unwrap(),
                reply,
            })
            .collect(),
    });
    (cancel, batch)
}

/// Waits for all answers and renders them in the order of the calls, output first.
async fn answers(batch: &BatchReplies, count: usize) -> String {
    let mut calls = vec![String::new(); count];
    let mut open = count;
    while open > 0 {
        match batch.next().await {
            ReplyUpdate::Output { index, chunk } => {
                calls[index].push_str(&format!("output: {chunk}\n"));
            }
            ReplyUpdate::Answered { index, output } => {
                let status = output.status.as_str();
                let text = crate::message::join_text(&output.content);
                calls[index].push_str(&format!("{status}: {text}\n"));
                open -= 1;
            }
            ReplyUpdate::Dropped { index } => {
                calls[index].push_str("dropped\n");
                open -= 1;
            }
        }
    }
    calls.concat()
}

#[derive(serde::Deserialize)]
struct Input {
    path: String,
}

async fn read(context: ToolContext) -> ToolOutput {
    match context.input_as::<Input>() {
        Ok(input) => {
            context.output("reading");
            ToolOutput::text(format!(
                "{} / {} / {}",
                context.id, context.tool_name, input.path
            ))
        }
        Err(error) => error.into(),
    }
}

#[tokio::test]
async fn a_call_reaches_its_tool() {
    let registry = ToolRegistry::new()
        .tool(declare("files.read"), read)
        .unwrap();
    let calls = [
        ("files.read", r#"{"path":"a"}"#),
        ("files.read", r#"{"path":1}"#),
        ("files.write", r#"{"path":"a"}"#),
    ];
    let (_, batch) = invoke(&registry, &calls);
    insta::assert_snapshot!(answers(&batch, 3).await, @"
    output: reading
    ok: call of files.read / files.read / a
    error: the input of `files.read` does not fit: invalid type: integer `1`, expected a string at line 1 column 9
    expected one JSON object with these keys: `path` (required)
    error: there is no tool `files.write`
    ");
}

#[test]
fn a_name_is_registered_once() {
    let registry = ToolRegistry::new()
        .tool(declare("b"), read)
        .unwrap()
        .tool(declare("a"), read)
        .unwrap();
    assert_eq!(registry.declarations(), [declare("b"), declare("a")]);
    let again = registry.tool(declare("a"), read);
    assert_eq!(
        again.unwrap_err(),
        InvalidDeclaration::Duplicate(declare("a").name)
    );
}

#[tokio::test]
async fn the_calls_of_a_batch_run_at_the_same_time() {
    let meeting = Arc::new(Barrier::new(2));
    let registry = ToolRegistry::new()
        .tool(declare("meet"), move |_| {
            let meeting = Arc::clone(&meeting);
            async move {
                meeting.wait().await;
                ToolOutput::text("met")
            }
        })
        .unwrap();
    let (_, batch) = invoke(&registry, &[("meet", "{}"), ("meet", "{}")]);
    assert_eq!(answers(&batch, 2).await, "ok: met\nok: met\n");
}

#[tokio::test]
async fn a_panic_is_the_error_of_its_call() {
    let registry = ToolRegistry::new()
        .tool(declare("files.read"), read)
        .unwrap()
        .tool(declare("early"), |_| -> std::future::Ready<ToolOutput> {
            panic!("before the future")
        })
        .unwrap()
        .tool(declare("late"), async |context: ToolContext| {
            tokio::task::yield_now().await;
            panic!("in {}", context.tool_name)
        })
        .unwrap()
        .tool(declare("odd"), async |_| std::panic::panic_any(7))
        .unwrap();
    let calls = [
        ("early", "{}"),
        ("late", "{}"),
        ("odd", "{}"),
        ("files.read", r#"{"path":"a"}"#),
    ];
    let (_, batch) = invoke(&registry, &calls);
    insta::assert_snapshot!(answers(&batch, 4).await, @"
    error: the tool `early` panicked: before the future
    error: the tool `late` panicked: in late
    error: the tool `odd` panicked: no message
    output: reading
    ok: call of files.read / files.read / a
    ");
}

#[tokio::test]
async fn a_handler_hears_that_the_turn_is_to_stop() {
    let registry = ToolRegistry::new()
        .tool(declare("wait"), async |context: ToolContext| {
            context.cancel.asked().await;
            ToolOutput::cancelled("stopped")
        })
        .unwrap();
    let (cancel, batch) = invoke(&registry, &[("wait", "{}")]);
    cancel.ask();
    assert_eq!(answers(&batch, 1).await, "cancelled: stopped\n");
}

#[tokio::test]
async fn a_handler_is_dropped_when_the_turn_waits_no_longer() {
    let (alive, gone) = oneshot::channel::<()>();
    let alive = Arc::new(parking_lot::Mutex::new(Some(alive)));
    let registry = ToolRegistry::new()
        .tool(declare("hang"), move |context: ToolContext| {
            let alive = alive.lock().take();
            async move {
                context.output("hanging");
                std::future::pending::<()>().await;
                drop(alive);
                ToolOutput::text("never")
            }
        })
        .unwrap();
    let (_, batch) = invoke(&registry, &[("hang", "{}")]);
    assert!(matches!(batch.next().await, ReplyUpdate::Output { .. }));
    drop(batch);
    assert!(gone.await.is_err());
}
