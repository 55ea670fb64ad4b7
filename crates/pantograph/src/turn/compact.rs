//! Compacting within a turn: when, with what request, and what becomes of the conversation.

use std::sync::Arc;

use super::attempt::Asked;
use super::draft::Visibility;
use super::drive::{Drive, Ended};
use super::rewrite::copy;
use crate::cap::cap_text;
use crate::compaction::{Plan, SYSTEM_PROMPT, Tail, plan, request_text};
use crate::conversation::Conversation;
use crate::error::{ErrorClass, ProviderError, TurnError};
use crate::estimate;
use crate::event::Event;
use crate::ids::MessageId;
use crate::message::{Block, Message, Role, StopReason};
use crate::model::Model;
use crate::protocol::{Purpose, Request, ToolChoice};
use crate::tool::ToolSet;
use crate::transcript::transcript_capped;

/// How much of the latest conversation is kept beside the summary, if it may be so large.
const KEEP_TOKENS: u64 = 20_000;
/// How much of one tool result the summarising model sees.
const MAX_TRANSCRIPT_RESULT: usize = 8 * 1024;

/// How a compaction within a turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compacted {
    Done,
    Nothing,
    Cancelled,
}

impl Compacted {
    pub(super) fn is_cancelled(self) -> bool {
        self == Compacted::Cancelled
    }
}

impl Drive {
    /// Compacts if the next request would come near the model's context window.
    ///
    /// If that fails, the turn goes on as it is: the provider decides whether it fits.
    pub(super) async fn compact_if_near(&mut self) -> Result<Compacted, TurnError> {
        let model = self.agent.config().model;
        if !self.agent.shared.options.auto_compact || self.compaction_failed {
            return Ok(Compacted::Nothing);
        }
        let Some(limit) = request_limit(&model) else {
            return Ok(Compacted::Nothing);
        };
        let size = self.estimate(&self.agent.conversation());
        if size <= limit {
            return Ok(Compacted::Nothing);
        }
        match self.compact(None, size, Some(limit)).await {
            Err(error @ TurnError::Session(_)) => Err(error),
            Err(_) => {
                self.compaction_failed = true;
                Ok(Compacted::Nothing)
            }
            Ok(Compacted::Nothing) => {
                self.compaction_failed = true;
                Ok(Compacted::Nothing)
            }
            Ok(compacted) => Ok(compacted),
        }
    }

    /// Compacts after the provider refused a request as too large.
    pub(super) async fn compact_after_overflow(
        &mut self,
        overflow: ProviderError,
    ) -> Result<Compacted, TurnError> {
        let size = self.estimate(&self.agent.conversation());
        // The estimate was too low, or the window is not known: halve it.
        let room =
            request_limit(&self.agent.config().model).map_or(size / 2, |limit| limit.min(size / 2));
        match self.compact(None, size, Some(room)).await {
            Err(error @ TurnError::Session(_)) => Err(error),
            Err(_) | Ok(Compacted::Nothing) => Err(TurnError::ContextFull(overflow)),
            Ok(compacted) => Ok(compacted),
        }
    }

    /// Compacts because somebody asked for it.
    pub(super) async fn compact_on_request(
        &mut self,
        instructions: Option<String>,
    ) -> Result<Ended, TurnError> {
        let size = self.estimate(&self.agent.conversation());
        let room = request_limit(&self.agent.config().model);
        match self.compact(instructions.as_deref(), size, room).await? {
            Compacted::Done => Ok(Ended::End),
            Compacted::Nothing => Err(TurnError::NothingToCompact),
            Compacted::Cancelled => Ok(Ended::Cancelled),
        }
    }

    /// Compacts a conversation of `size` tokens into `room`. After an error it is as it was.
    async fn compact(
        &mut self,
        instructions: Option<&str>,
        size: u64,
        room: Option<u64>,
    ) -> Result<Compacted, TurnError> {
        let conversation = self.agent.conversation();
        let room = room.map(|room| room.saturating_sub(self.fixed_tokens()));
        let keep = KEEP_TOKENS
            .min(size / 4)
            .min(room.map_or(u64::MAX, |room| room / 4));
        let Some(plan) = plan(conversation.messages(), keep, room) else {
            return Ok(Compacted::Nothing);
        };
        self.emitter
            .emit(Event::CompactionStart {
                tokens_before: size,
            })
            .await;
        let result = self
            .carry_out(&conversation, plan, room, instructions)
            .await;
        let (cancelled, error) = match &result {
            Ok(compacted) => (compacted.is_cancelled(), None),
            Err(error) => (false, Some(error.clone())),
        };
        let tokens_after = self.estimate(&self.agent.conversation());
        self.emitter
            .emit(Event::CompactionEnd {
                tokens_before: size,
                tokens_after,
                cancelled,
                error,
            })
            .await;
        result
    }

    /// What no compaction makes smaller: the system prompt and messages, and the tools.
    fn fixed_tokens(&self) -> u64 {
        let conversation = self.agent.conversation();
        let system = conversation.system_messages().cloned().collect();
        self.estimate(&Conversation::from_parts(system, None))
    }

    async fn carry_out(
        &mut self,
        conversation: &Conversation,
        plan: Plan,
        room: Option<u64>,
        instructions: Option<&str>,
    ) -> Result<Compacted, TurnError> {
        let salt = conversation.head().map_or("", MessageId::as_str).to_owned();
        let renamed = |tail: Vec<Message>| -> Vec<Message> {
            tail.iter().map(|message| copy(message, &salt)).collect()
        };
        if plan.summarised.is_empty() {
            if let Tail::Rewritten { from, messages } = plan.tail {
                self.rewrite(from, renamed(messages)).await?;
            }
            return Ok(Compacted::Done);
        }
        let Some(summary) = self.summary(&plan, room, instructions).await? else {
            return Ok(Compacted::Cancelled);
        };
        let id = MessageId::from(self.agent.shared.clock.fresh_id());
        match plan.tail {
            Tail::Kept(keep) => self.summarise_before(keep, id, summary).await?,
            Tail::Rewritten { from, messages } => {
                self.summarise(id, summary, from, renamed(messages)).await?;
            }
        }
        Ok(Compacted::Done)
    }

    /// Asks the model for a summary; `None` if the turn was cancelled meanwhile.
    async fn summary(
        &mut self,
        plan: &Plan,
        room: Option<u64>,
        instructions: Option<&str>,
    ) -> Result<Option<String>, TurnError> {
        let shared = Arc::clone(&self.agent.shared);
        let config = self.agent.config();
        let mut transcript = transcript_capped(&plan.summarised, MAX_TRANSCRIPT_RESULT);
        // What did not fit once must not be sent again, so the room counts too.
        let limit = request_limit(&config.model).into_iter().chain(room).min();
        if let Some(limit) = limit {
            // Three bytes a token, as everywhere; a part is left for the request's own words.
            let max_bytes = limit.saturating_sub(limit / 8).saturating_mul(3);
            let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
            transcript = cap_text(&transcript, max_bytes).text.into_owned();
        }
        let text = request_text(&transcript, instructions);
        drop(transcript);
        let message = Message {
            parent: None,
            ..shared.new_message(Role::User, vec![Block::text(text)])
        };
        let mut request = Request {
            model: config.model,
            purpose: Purpose::Compaction,
            context: Arc::clone(&shared.context),
            label: shared.label.clone(),
            system_prompt: Some(SYSTEM_PROMPT.into()),
            conversation: Conversation::from_parts(vec![Arc::new(message)], None),
            tools: ToolSet::default(),
            tool_choice: ToolChoice::Auto,
        };
        let prompt = request.system_prompt.as_deref();
        leave_room(&mut request.model, || {
            estimate::context_tokens(&request.conversation, prompt, &request.tools)
        });
        let answer = match self.ask(config.protocol, request, Visibility::Silent).await {
            Asked::Answered(answer) => answer,
            Asked::Cancelled(answer) => {
                if !answer.usage.is_unknown() {
                    self.count(None, answer.usage, &answer.model);
                }
                return Ok(None);
            }
            Asked::Failed(error) if error.class == ErrorClass::ContextOverflow => {
                return Err(TurnError::ContextFull(error));
            }
            Asked::Failed(error) => return Err(TurnError::Provider(error)),
        };
        self.count(None, answer.usage, &answer.model);
        let no_summary =
            |what: &str| TurnError::Provider(ProviderError::new(ErrorClass::Terminal, what));
        if answer.stop == StopReason::Limit {
            return Err(no_summary("the output limit cut the summary"));
        }
        answer
            .text()
            .filter(|summary| !summary.trim().is_empty())
            .map(Some)
            .ok_or_else(|| no_summary("the model gave no summary"))
    }
}

/// Has an answer be no longer than what a request of `taken` tokens leaves of the window:
/// providers refuse a request that could not be answered in full.
pub(super) fn leave_room(model: &mut Arc<Model>, taken: impl FnOnce() -> u64) {
    /// Estimates are rather too high: what seems full may not be.
    const LEAST: u64 = 1_024;
    if let (Some(window), Some(max_output)) = (model.context_window, model.max_output) {
        let room = window.saturating_sub(taken()).max(LEAST);
        if room < max_output {
            Arc::make_mut(model).max_output = Some(room);
        }
    }
}

/// How large a request may be so that its answer still fits; `None` if the window is not known.
fn request_limit(model: &Model) -> Option<u64> {
    let window = model.context_window?;
    let answer = model.max_output.unwrap_or(window / 8).min(window / 4);
    Some(window.saturating_sub(answer))
}
