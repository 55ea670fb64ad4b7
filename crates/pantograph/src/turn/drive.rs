//! The turn loop: from a prompt to the settled outcome.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use super::attempt::{Asked, call_ids};
use super::draft::{Answer, Visibility};
use super::{Emitter, Opening};
use crate::agent::{Agent, Writer, WriterGuard};
use crate::cancel::Cancel;
use crate::error::{ErrorClass, TurnError};
use crate::event::{Event, Outcome};
use crate::hooks::HookContext;
use crate::ids::{MessageId, TurnId};
use crate::message::{Block, CallId, Message, Metadata, Role, StopReason, ToolCall};
use crate::protocol::{Protocol, Purpose, Request};
use crate::queue::{Queued, Sender};
use crate::usage::{Usage, UsageTotal};

/// The work of one turn.
pub(super) struct Drive {
    pub(super) agent: Agent,
    pub(super) writer: WriterGuard,
    pub(super) id: TurnId,
    pub(super) cancel: Cancel,
    pub(super) emitter: Emitter,
    pub(super) rng: fastrand::Rng,
    /// The ids of every call in the conversation.
    pub(super) call_ids: HashSet<CallId>,
    /// Set by a compaction that failed, so that the turn does not try at every request.
    pub(super) compaction_failed: bool,
    usage: UsageTotal,
    rounds: u32,
    dispatch_tools: bool,
}

/// How a turn ended that did not fail.
pub(super) enum Ended {
    End,
    Limit,
    Cancelled,
    ToolCalls(Vec<ToolCall>),
}

impl Drive {
    pub(super) fn new(
        agent: Agent,
        writer: WriterGuard,
        id: TurnId,
        cancel: Cancel,
        emitter: Emitter,
    ) -> Self {
        let seed = agent.shared.clock.fresh_id().as_u64_pair().1;
        Self {
            agent,
            writer,
            id,
            cancel,
            emitter,
            rng: fastrand::Rng::with_seed(seed),
            call_ids: HashSet::new(),
            compaction_failed: false,
            usage: UsageTotal::default(),
            rounds: 0,
            dispatch_tools: true,
        }
    }

    /// Runs the turn to its end. Whatever happens, the last event is the settled outcome, and
    /// the agent is free before its reader sees it.
    pub(super) async fn settle(mut self, opening: Opening) {
        self.emitter.push(Event::TurnStart { turn_id: self.id });
        let ended = AssertUnwindSafe(self.drive(opening))
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(TurnError::Internal(panic_text(&*panic))));
        let shared = &self.agent.shared;
        let (stop, error, tool_calls) = match ended {
            Ok(Ended::End) => (StopReason::End, None, Vec::new()),
            Ok(Ended::Limit) => (StopReason::Limit, None, Vec::new()),
            Ok(Ended::Cancelled) => (StopReason::Cancelled, None, Vec::new()),
            Ok(Ended::ToolCalls(calls)) => (StopReason::ToolCalls, None, calls),
            Err(error) => (StopReason::Failed, Some(error), Vec::new()),
        };
        let returned = if self.cancel.is_asked() {
            shared.queue.lock().interrupt()
        } else {
            Vec::new()
        };
        let outcome = Outcome {
            turn_id: self.id,
            stop,
            error,
            text: last_text(&shared.conversation.lock(), stop),
            tool_calls,
            usage: self.usage,
            returned,
        };
        *shared.live.lock() = None;
        drop(self.writer);
        self.emitter.push(Event::Settled(Arc::new(outcome)));
    }

    async fn drive(&mut self, opening: Opening) -> Result<Ended, TurnError> {
        self.call_ids = call_ids(self.agent.conversation().messages());
        self.heal().await?;
        match opening {
            Opening::Compact(instructions) => return self.compact_on_request(instructions).await,
            Opening::Prompt(prompt) => {
                self.dispatch_tools = prompt.dispatch_tools;
                self.agent.shared.queue.lock().release();
                self.append_user(prompt.blocks, prompt.metadata).await?;
            }
            Opening::Continue => {
                self.agent.shared.queue.lock().release();
                self.rewind().await?;
            }
            Opening::Queue => self.land_opening().await?,
        }
        self.rounds().await
    }

    /// Asks, runs tools and asks again until there is nothing left to do.
    async fn rounds(&mut self) -> Result<Ended, TurnError> {
        loop {
            self.land_steering().await?;
            if self.cancel.is_asked() {
                return Ok(Ended::Cancelled);
            }
            let max_rounds = self.agent.shared.options.max_rounds;
            if max_rounds.is_some_and(|max| self.rounds >= max) {
                return Ok(Ended::Limit);
            }
            if self.compact_if_near().await?.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            let Some(answer) = self.answer().await? else {
                return Ok(Ended::Cancelled);
            };
            let (calls, stop) = (answer.calls(), answer.stop);
            let cut = answer.cut.clone();
            self.append_answer(answer).await?;
            if stop == StopReason::Cancelled {
                self.refuse_calls(calls).await?;
                return Ok(Ended::Cancelled);
            }
            if calls.is_empty() {
                if stop == StopReason::Limit {
                    return Ok(Ended::Limit);
                }
                if self.agent.shared.queue.lock().next_steering().is_some()
                    && !self.cancel.is_asked()
                {
                    continue;
                }
                return Ok(Ended::End);
            }
            if !self.dispatch_tools {
                return Ok(Ended::ToolCalls(calls));
            }
            self.run_batch(calls, &cut).await?;
        }
    }

    /// The model's next answer; `None` if the turn was cancelled before there was any of it.
    async fn answer(&mut self) -> Result<Option<Answer>, TurnError> {
        let mut compacted = false;
        loop {
            let (protocol, request) = self.request();
            self.rounds += 1;
            let error = match self.ask(protocol, request, Visibility::Shown).await {
                Asked::Answered(answer) => return Ok(Some(answer)),
                Asked::Cancelled(answer) => return Ok(answer),
                Asked::Failed(error) => error,
            };
            if error.class != ErrorClass::ContextOverflow {
                return Err(TurnError::Provider(error));
            }
            if std::mem::replace(&mut compacted, true) {
                return Err(TurnError::ContextFull(error));
            }
            if self.compact_after_overflow(error).await?.is_cancelled() {
                return Ok(None);
            }
        }
    }

    /// A request for the next answer, from what is set at this moment.
    pub(super) fn request(&self) -> (Arc<dyn Protocol>, Request) {
        let shared = &self.agent.shared;
        let config = self.agent.config();
        let request = Request {
            model: config.model,
            purpose: Purpose::Turn,
            context: Arc::clone(&shared.context),
            label: shared.label.clone(),
            system_prompt: self.agent.system_prompt(),
            conversation: self.agent.conversation(),
            tools: self.agent.tools(),
            tool_choice: config.tool_choice,
        };
        (config.protocol, request)
    }

    /// Stores an answer, unless it is empty, and says what it used.
    async fn append_answer(&mut self, answer: Answer) -> Result<(), TurnError> {
        let usage = answer.usage;
        if answer.blocks.is_empty() {
            self.count(None, usage);
            return Ok(());
        }
        self.call_ids
            .extend(answer.calls().into_iter().map(|call| call.id));
        let config = self.agent.config();
        let mut message = self
            .agent
            .shared
            .new_message(Role::Assistant, answer.blocks);
        let mut origin = config.model.origin(config.protocol.name());
        let label = config.model.effective_reasoning(&config.tool_choice);
        origin.reasoning = label.map(str::to_owned);
        message.origin = Some(Arc::new(origin));
        message.usage = Some(usage).filter(|usage| !usage.is_unknown());
        message.stop = Some(answer.stop);
        let id = message.id.clone();
        let stored = self.append(message).await;
        self.count(Some(id), usage);
        stored
    }

    /// Counts an answer's usage.
    pub(super) fn count(&mut self, message_id: Option<MessageId>, usage: Usage) {
        let price = self.agent.config().model.price;
        self.usage.record(Some(&usage), price.as_ref());
        let cost = price.and_then(|price| price.cost(&usage));
        self.emitter.push(Event::Usage {
            message_id,
            usage,
            cost,
        });
    }

    /// Adds a message in memory, then on disk.
    pub(super) async fn append(&mut self, message: Message) -> Result<(), TurnError> {
        let writer: &mut Writer = &mut self.writer;
        self.agent.shared.append(writer, message).await?;
        Ok(())
    }

    async fn append_user(
        &mut self,
        mut blocks: Vec<Block>,
        metadata: Metadata,
    ) -> Result<(), TurnError> {
        let hooks = Arc::clone(&self.agent.shared.hooks);
        let context = self.hook_context();
        let text = text_of(&blocks);
        let hooked = self.hooked(hooks.user_message(&context, &text)).await;
        let text = match hooked {
            Some(changed) => {
                replace_text(&mut blocks, &changed);
                changed
            }
            None => text,
        };
        let mut message = self.agent.shared.new_message(Role::User, blocks);
        message.metadata = metadata;
        let id = message.id.clone();
        let stored = self.append(message).await;
        self.emitter.emit(Event::UserMessage { id, text }).await;
        stored
    }

    /// Appends all queued steering, in order.
    async fn land_steering(&mut self) -> Result<(), TurnError> {
        while !self.cancel.is_asked() {
            let next = self.agent.shared.queue.lock().next_steering();
            let Some(queued) = next else { break };
            self.land(queued).await?;
        }
        Ok(())
    }

    /// Appends what starts a turn by itself, unless it was withdrawn meanwhile.
    async fn land_opening(&mut self) -> Result<(), TurnError> {
        let next = {
            let mut queue = self.agent.shared.queue.lock();
            let next = queue.next_opening();
            if next
                .as_ref()
                .is_some_and(|queued| queued.submission.sender == Sender::Person)
            {
                queue.release();
            }
            next
        };
        match next {
            Some(queued) => self.land(queued).await,
            None => Err(TurnError::NothingToContinue),
        }
    }

    /// Appends a queued submission, unless it was withdrawn meanwhile.
    async fn land(&mut self, queued: Queued) -> Result<(), TurnError> {
        let taken = self.agent.shared.queue.lock().remove(queued.id);
        match taken {
            Some(submission) => self.append_user(submission.blocks, Metadata::new()).await,
            None => Ok(()),
        }
    }

    pub(super) fn hook_context(&self) -> HookContext {
        HookContext {
            agent: self.agent.shared.id,
            session: self.agent.shared.session_id,
            turn: self.id,
        }
    }

    /// What a hook gives; nothing if it panics or the turn is forced to stop first.
    pub(super) async fn hooked<T>(
        &self,
        hook: impl Future<Output = Option<T>> + Send,
    ) -> Option<T> {
        tokio::select! {
            biased;
            result = AssertUnwindSafe(hook).catch_unwind() => result.unwrap_or_else(|panic| {
                tracing::error!(turn = %self.id, "a hook panicked: {}", panic_text(&*panic));
                None
            }),
            () = self.cancel.forced() => None,
        }
    }
}

/// What a panic says of itself.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// The text blocks, joined as [`Message::text`] joins them.
fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// Puts one text in the place of all text blocks.
fn replace_text(blocks: &mut Vec<Block>, text: &str) {
    let position = blocks
        .iter()
        .position(|block| matches!(block, Block::Text { .. }))
        .unwrap_or(0);
    blocks.retain(|block| !matches!(block, Block::Text { .. }));
    blocks.insert(position, Block::text(text));
}

/// The text that the outcome gives.
fn last_text(conversation: &crate::conversation::Conversation, stop: StopReason) -> Option<String> {
    let mut answers = conversation
        .messages()
        .iter()
        .rev()
        .take_while(|message| message.role != Role::User)
        .filter(|message| message.role == Role::Assistant)
        .map(|message| message.text());
    match stop {
        StopReason::Cancelled | StopReason::Failed => answers.find(|text| !text.is_empty()),
        _ => answers.next().filter(|text| !text.is_empty()),
    }
}
