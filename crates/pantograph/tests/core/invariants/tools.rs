//! Tools of every kind.

use std::time::Duration;

use pantograph::{ToolBatch, ToolDeclaration, ToolOutput, ToolSource};
use parking_lot::Mutex;
use serde_json::json;

/// Tools that answer, fail, panic, forget to answer, answer late or never, or say too much.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) invoked: Mutex<Vec<String>>,
}

/// Those that the agent declares.
pub(super) const TOOLS: [&str; 8] = [
    "ok", "fails", "panics", "forgets", "slow", "ignores", "heeds", "talks",
];

impl ToolSource for Tools {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        TOOLS
            .iter()
            .chain(&["undeclared"])
            .map(|name| {
                let schema = json!({"type": "object", "properties": {"key": {"type": "string"}}});
                ToolDeclaration::new(name, "A tool.", schema).unwrap()
            })
            .collect()
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        for call in batch.calls {
            self.invoked.lock().push(call.tool_name.to_string());
            let cancel = batch.cancel.clone();
            tokio::spawn(async move {
                call.reply.output("working\n");
                match &*call.tool_name {
                    "ok" => call.reply.finish(ToolOutput::text("fine")),
                    "fails" => call.reply.finish(ToolOutput::error("no such file")),
                    "panics" => std::panic::resume_unwind(Box::new("on purpose")),
                    "slow" => {
                        tokio::time::sleep(Duration::from_millis(1_500)).await;
                        call.reply.finish(ToolOutput::text("at last"));
                    }
                    "ignores" => {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        call.reply.finish(ToolOutput::text("too late"));
                    }
                    "heeds" => {
                        tokio::select! {
                            () = cancel.asked() => {
                                call.reply.finish(ToolOutput::cancelled("stopped"));
                            }
                            () = tokio::time::sleep(Duration::from_secs(1)) => {
                                call.reply.finish(ToolOutput::text("undisturbed"));
                            }
                        }
                    }
                    "talks" => call.reply.finish(ToolOutput::text("é".repeat(100_000))),
                    // Forgets.
                    _ => {}
                }
            });
        }
    }
}
