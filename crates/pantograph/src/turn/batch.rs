//! One batch: all tool calls of one assistant message, from dispatch to the stored results.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::drive::{Drive, Hooked, panic_text};
use crate::batch::{
    NO_ANSWER, PendingCall, ReplyUpdate, TOOL_DETAILS, ToolBatch, ToolOutput, replies,
};
use crate::cap::cap_content;
use crate::error::TurnError;
use crate::event::Event;
use crate::hooks::{CheckedInput, HookedCall, HookedResult};
use crate::ids::BatchId;
use crate::message::{
    Block, CallId, Metadata, Role, ToolCall, ToolContent, ToolResult, ToolStatus, join_text,
};
use crate::raw_json::RawJson;
use crate::tool::ToolSet;
use crate::tool_input;

const CANCELLED: &str = "The call was cancelled before it gave a result; it may have had effects.";
const NOT_RUN: &str = "The call was not run: the turn was cancelled first.";
const NOT_CHECKED: &str = "The call was not run: what checks it first failed inside.";

impl Drive {
    /// Runs the calls concurrently and appends their results in call order.
    pub(super) async fn run_batch(
        &mut self,
        calls: Vec<ToolCall>,
        cut: &HashSet<CallId>,
    ) -> Result<(), TurnError> {
        if self.cancel.is_asked() {
            return self.refuse_calls(calls).await;
        }
        let tools = self.agent.tools();
        let mut results: Vec<Option<ToolResult>> = Vec::with_capacity(calls.len());
        let mut runnable: Vec<(usize, RawJson)> = Vec::new();
        for (position, call) in calls.iter().enumerate() {
            let checked = checked_input(call, &tools, cut.contains(&call.id));
            let input = match checked {
                Ok(input) => self.hooked_input(call, input).await,
                Err(text) => Err(text),
            };
            match input {
                Ok(input) => {
                    runnable.push((position, input));
                    results.push(None);
                }
                Err(text) => {
                    let result = self.result(call, ToolOutput::error(text), false).await;
                    results.push(Some(result));
                }
            }
        }
        // Hooks may have taken their time: nothing starts after a cancel.
        if self.cancel.is_asked() {
            for (position, _) in runnable.drain(..) {
                let output = ToolOutput::cancelled(NOT_RUN);
                results[position] = Some(self.result(&calls[position], output, false).await);
            }
        }
        let details = self.dispatch(&calls, runnable, &mut results).await;
        let blocks = results
            .into_iter()
            .flatten()
            .map(Block::ToolResult)
            .collect();
        let mut message = self.agent.shared.new_message(Role::Tool, blocks);
        if !details.is_empty() {
            let details = serde_json::Value::Object(details);
            message.metadata.insert(TOOL_DETAILS.to_owned(), details);
        }
        self.append(message).await
    }

    /// Hands the runnable calls to the source and gathers results until none is missing. Gives
    /// their details, by call.
    async fn dispatch(
        &mut self,
        calls: &[ToolCall],
        runnable: Vec<(usize, RawJson)>,
        results: &mut [Option<ToolResult>],
    ) -> Metadata {
        let mut details = Metadata::new();
        if runnable.is_empty() {
            return details;
        }
        let batch_id = BatchId::new(self.agent.shared.clock.fresh_id());
        let positions: Vec<usize> = runnable.iter().map(|(position, _)| *position).collect();
        let count = runnable.len();
        let (replies, updates) = replies(count);
        let pending = runnable
            .into_iter()
            .zip(replies)
            .map(|((position, input), reply)| PendingCall {
                id: Arc::clone(&calls[position].id),
                tool_name: Arc::clone(&calls[position].name),
                input,
                reply,
            })
            .collect();
        for &position in &positions {
            self.emitter.push(Event::ToolDispatchStart {
                id: Arc::clone(&calls[position].id),
                tool_name: Arc::clone(&calls[position].name),
                batch_id,
            });
        }
        tracing::debug!(batch = %batch_id, calls = count, "tools start");
        self.emitter.pause().await;
        let batch = ToolBatch {
            id: batch_id,
            turn: self.id,
            session: self.agent.shared.session_id,
            agent: self.agent.clone(),
            cancel: self.cancel.clone(),
            calls: pending,
        };
        let source = Arc::clone(&self.agent.shared.source);
        // A source that panics drops its replies, which settles them.
        let panic = catch_unwind(AssertUnwindSafe(|| source.invoke_batch(batch)))
            .err()
            .map(|panic| format!("The tool failed inside: {}", panic_text(&*panic)));

        let mut missing = positions.len();
        while missing > 0 {
            // Force comes first: a tool that has always something to show does not put it off.
            let news = tokio::select! {
                biased;
                () = self.cancel.forced() => updates.endings(),
                update = updates.next() => vec![update],
            };
            if news.is_empty() {
                break;
            }
            // Tools that flood the turn must not keep the clock from being looked at.
            tokio::task::coop::consume_budget().await;
            for update in news {
                let (index, output) = match update {
                    ReplyUpdate::Output { index, chunk } => {
                        let call = &calls[positions[index]];
                        self.emitter
                            .emit(Event::ToolOutputDelta {
                                id: Arc::clone(&call.id),
                                tool_name: Arc::clone(&call.name),
                                delta: chunk,
                            })
                            .await;
                        continue;
                    }
                    ReplyUpdate::Answered { index, mut output } => {
                        self.keep_details(&calls[positions[index]], &mut output, &mut details);
                        (index, output)
                    }
                    ReplyUpdate::Dropped { index } if self.cancel.is_asked() => {
                        (index, ToolOutput::cancelled(CANCELLED))
                    }
                    ReplyUpdate::Dropped { index } => {
                        let text = panic.as_deref().unwrap_or(NO_ANSWER);
                        (index, ToolOutput::error(text))
                    }
                };
                missing -= 1;
                let position = positions[index];
                results[position] = Some(self.result(&calls[position], output, false).await);
            }
        }
        for position in positions {
            if results[position].is_none() {
                let output = ToolOutput::cancelled(CANCELLED);
                results[position] = Some(self.result(&calls[position], output, false).await);
            }
        }
        details
    }

    /// Notes the details of a call, in order; what is too large goes.
    fn keep_details(&self, call: &ToolCall, output: &mut ToolOutput, all: &mut Metadata) {
        if output.details.is_empty() {
            return;
        }
        let bytes = serde_json::to_vec(&output.details).map_or(usize::MAX, |text| text.len());
        if bytes > self.agent.shared.options.max_result_bytes {
            tracing::warn!(
                tool = &*call.name,
                bytes,
                "details of a result are left out"
            );
            output.details.clear();
            return;
        }
        let details = serde_json::Value::Object(output.details.clone());
        all.insert(call.id.to_string(), details);
    }

    /// Appends `cancelled` results for calls that were never dispatched.
    pub(super) async fn refuse_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), TurnError> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut blocks = Vec::with_capacity(calls.len());
        for call in &calls {
            let output = ToolOutput::cancelled(NOT_RUN);
            blocks.push(Block::ToolResult(self.result(call, output, false).await));
        }
        let message = self.agent.shared.new_message(Role::Tool, blocks);
        self.append(message).await
    }

    /// The input for the tool as the hook leaves it, or why the call must not run.
    async fn hooked_input(&self, call: &ToolCall, input: RawJson) -> Result<RawJson, String> {
        let hooks = Arc::clone(&self.agent.shared.hooks);
        let context = self.hook_context();
        let hooked = HookedCall {
            id: &call.id,
            tool_name: &call.name,
            input: input.as_str(),
        };
        let checked = async { Some(hooks.tool_input(&context, hooked).await) };
        match self.hooked(checked).await {
            Hooked::Changed(CheckedInput::Changed(changed)) => {
                Ok(RawJson::from_value(&serde_json::Value::Object(changed)))
            }
            Hooked::Changed(CheckedInput::Refused(text)) => Err(text),
            Hooked::Changed(CheckedInput::AsIs) | Hooked::Unchanged => Ok(input),
            Hooked::Panicked => Err(NOT_CHECKED.to_owned()),
        }
    }

    /// The result of a call as it will be stored: capped, and as the hook leaves it.
    pub(super) async fn result(
        &self,
        call: &ToolCall,
        output: ToolOutput,
        interrupted: bool,
    ) -> ToolResult {
        let max_bytes = self.agent.shared.options.max_result_bytes;
        let mut content = capped(loaded(output.content).await, max_bytes);
        let text = join_text(&content);
        let hooks = Arc::clone(&self.agent.shared.hooks);
        let context = self.hook_context();
        let hooked = HookedResult {
            id: &call.id,
            tool_name: &call.name,
            output: &text,
            status: output.status,
            interrupted,
        };
        let hooked = self.hooked(hooks.tool_result(&context, hooked)).await;
        if let Hooked::Changed(changed) = hooked {
            content.retain(|part| matches!(part, ToolContent::Attachment(_)));
            content.insert(0, ToolContent::Text(changed));
            content = capped(content, max_bytes);
        }
        let result = ToolResult {
            call: Arc::clone(&call.id),
            status: output.status,
            content,
        };
        self.emitter.push(Event::ToolResult {
            id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            output: result.output().into(),
            status: result.status,
            details: Arc::new(output.details),
        });
        result
    }
}

/// The content with every attachment in memory: its file may change or go.
async fn loaded(content: Vec<ToolContent>) -> Vec<ToolContent> {
    let mut loaded = Vec::with_capacity(content.len());
    for part in content {
        loaded.push(match part {
            ToolContent::Attachment(attachment) => match attachment.load().await {
                Ok(attachment) => ToolContent::Attachment(attachment),
                Err(reason) => ToolContent::Text(reason),
            },
            part => part,
        });
    }
    loaded
}

fn capped(content: Vec<ToolContent>, max_bytes: usize) -> Vec<ToolContent> {
    cap_content(&content, max_bytes).unwrap_or(content)
}

/// The input for a call, or what the model is told instead.
fn checked_input(call: &ToolCall, tools: &ToolSet, cut: bool) -> Result<RawJson, String> {
    let Some(declaration) = tools.get(&call.name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(if names.is_empty() {
            format!("There is no tool `{}`: no tools are available.", call.name)
        } else {
            format!(
                "There is no tool `{}`. Available tools: {}.",
                call.name,
                names.join(", ")
            )
        });
    };
    if cut {
        return Err(tool_input::InputError::truncated(&call.input, declaration).to_string());
    }
    tool_input::parse(&call.input, declaration).map_err(|error| error.to_string())
}

impl ToolStatus {
    /// Whether the tool answered.
    pub fn is_ok(self) -> bool {
        self == ToolStatus::Ok
    }
}
