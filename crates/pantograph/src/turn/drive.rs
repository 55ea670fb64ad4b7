//! The turn loop: from a prompt to the settled outcome.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;

use super::attempt::{Asked, call_ids};
use super::compact::leave_room;
use super::draft::{Answer, Visibility};
use super::{Emitter, Opening};
use crate::agent::{Agent, Writer};
use crate::cancel::Cancel;
use crate::error::{ErrorClass, TurnError};
use crate::estimate;
use crate::event::{Event, Outcome};
use crate::hooks::HookContext;
use crate::ids::{MessageId, TurnId};
use crate::message::{Block, CallId, Message, Metadata, Role, StopReason, ToolCall, text_of};
use crate::model::Model;
use crate::protocol::{Protocol, Purpose, Request};
use crate::queue::{Sender, Submission};
use crate::usage::{Usage, UsageTotal};

/// The work of one turn.
pub(super) struct Drive {
    pub(super) agent: Agent,
    pub(super) writer: Writer,
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
    /// The text of the turn's last answer.
    answer_text: Option<String>,
    /// The last text of the turn.
    said: Option<String>,
}

/// How a turn ended that did not fail.
pub(super) enum Ended {
    End,
    /// With the whole calls of an answer that was not dispatched.
    Limit(Vec<ToolCall>),
    Cancelled,
    ToolCalls(Vec<ToolCall>),
}

impl Drive {
    pub(super) fn new(
        agent: Agent,
        writer: Writer,
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
            answer_text: None,
            said: None,
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
        let context = self.hook_context();
        let shared = &self.agent.shared;
        let (stop, error, tool_calls) = match ended {
            Ok(Ended::End) => (StopReason::End, None, Vec::new()),
            Ok(Ended::Limit(calls)) => (StopReason::Limit, None, calls),
            Ok(Ended::Cancelled) => (StopReason::Cancelled, None, Vec::new()),
            Ok(Ended::ToolCalls(calls)) => (StopReason::ToolCalls, None, calls),
            Err(error) => (StopReason::Failed, Some(error), Vec::new()),
        };
        tracing::debug!(
            stop = stop.as_str(),
            error = error.as_ref().map(TurnError::kind),
            requests = self.usage.requests,
            "settled"
        );
        let text = match stop {
            StopReason::Cancelled | StopReason::Failed => self.said,
            _ => self.answer_text,
        };
        let returned = {
            // Under this lock an interrupt either comes before, or finds no turn.
            let mut live = shared.live.lock();
            *live = None;
            let mut queue = shared.queue.lock();
            if !self.cancel.is_asked() {
                Vec::new()
            } else if self.emitter.is_abandoned() {
                // Nobody reads the outcome, so what a person queued stays where it is.
                queue.hold();
                Vec::new()
            } else {
                queue.take_from_person()
            }
        };
        let outcome = Outcome {
            turn_id: self.id,
            stop,
            error,
            text,
            tool_calls,
            usage: self.usage,
            returned,
        };
        drop(self.writer);
        let told = AssertUnwindSafe(|| shared.hooks.settled(&context, &outcome));
        if catch_unwind(told).is_err() {
            tracing::error!("a hook panicked when it heard that a turn has settled");
        }
        self.emitter.push(Event::Settled(Arc::new(outcome)));
    }

    async fn drive(&mut self, opening: Opening) -> Result<Ended, TurnError> {
        self.call_ids = call_ids(self.agent.conversation().messages());
        let healed = self.heal().await;
        match opening {
            Opening::Prompt(prompt) => {
                self.dispatch_tools = prompt.dispatch_tools;
                if prompt.sender == Sender::Person {
                    self.agent.shared.queue.lock().release();
                }
                // Even if healing could not be stored: the prompt must not be lost.
                let appended = self.append_user(prompt.blocks, prompt.metadata).await;
                healed.and(appended)?;
            }
            Opening::Continue => {
                healed?;
                self.agent.shared.queue.lock().release();
                self.rewind().await?;
            }
            Opening::Queue => {
                healed?;
                self.land_opening().await?;
            }
            Opening::Compact(instructions) => {
                healed?;
                return self.compact_on_request(instructions).await;
            }
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
                return Ok(Ended::Limit(Vec::new()));
            }
            if self.compact_if_near().await?.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            let answer = self.answer().await?;
            let (mut calls, stop) = (answer.calls(), answer.stop);
            let cut = answer.cut.clone();
            self.append_answer(answer).await?;
            if stop == StopReason::Cancelled {
                self.refuse_calls(calls).await?;
                return Ok(Ended::Cancelled);
            }
            if !self.dispatch_tools && stop == StopReason::Limit {
                calls.retain(|call| !cut.contains(&call.id));
                return Ok(Ended::Limit(calls));
            }
            if !self.dispatch_tools && !calls.is_empty() {
                return Ok(Ended::ToolCalls(calls));
            }
            if calls.is_empty() {
                if stop == StopReason::Limit {
                    return Ok(Ended::Limit(calls));
                }
                let goes_on = self.dispatch_tools
                    && !self.cancel.is_asked()
                    && self.agent.shared.queue.lock().has_steering();
                if goes_on {
                    continue;
                }
                return Ok(Ended::End);
            }
            self.run_batch(calls, &cut).await?;
        }
    }

    /// The model's next answer, or what there is of it when the turn is cancelled.
    async fn answer(&mut self) -> Result<Answer, TurnError> {
        let mut compacted = false;
        loop {
            let (protocol, request) = self.request();
            self.rounds += 1;
            let error = match self.ask(protocol, request, Visibility::Shown).await {
                Asked::Answered(answer) | Asked::Cancelled(answer) => return Ok(answer),
                Asked::Failed(error) => error,
            };
            if error.class != ErrorClass::ContextOverflow {
                return Err(TurnError::Provider(error));
            }
            if std::mem::replace(&mut compacted, true) {
                return Err(TurnError::ContextFull(error));
            }
            // After a cancel the next attempt gives an empty, cancelled answer at once.
            self.compact_after_overflow(error).await?;
        }
    }

    /// A request for the next answer, from what is set at this moment.
    pub(super) fn request(&self) -> (Arc<dyn Protocol>, Request) {
        let shared = &self.agent.shared;
        let config = self.agent.config();
        let mut request = Request {
            model: config.model,
            purpose: Purpose::Turn,
            context: Arc::clone(&shared.context),
            label: shared.label.clone(),
            system_prompt: self.agent.system_prompt(),
            conversation: self.agent.conversation(),
            tools: self.agent.tools(),
            tool_choice: config.tool_choice,
        };
        leave_room(&mut request.model, || {
            estimate::context_tokens(
                &request.conversation,
                request.system_prompt.as_deref(),
                &request.tools,
            )
        });
        (config.protocol, request)
    }

    /// Stores an answer, unless it is empty, and says what it used.
    async fn append_answer(&mut self, answer: Answer) -> Result<(), TurnError> {
        self.answer_text = answer.text();
        if self.answer_text.is_some() {
            self.said.clone_from(&self.answer_text);
        }
        let (usage, model) = (answer.usage, Arc::clone(&answer.model));
        if answer.blocks.is_empty() {
            if answer.stop != StopReason::Cancelled || !usage.is_unknown() {
                self.count(None, usage, &model);
            }
            return Ok(());
        }
        self.call_ids
            .extend(answer.calls().into_iter().map(|call| call.id));
        let mut message = self
            .agent
            .shared
            .new_message(Role::Assistant, answer.blocks);
        message.origin = Some(answer.origin);
        message.usage = Some(usage).filter(|usage| !usage.is_unknown());
        message.stop = Some(answer.stop);
        let id = message.id.clone();
        let stored = self.append(message).await;
        self.count(Some(id), usage, &model);
        stored
    }

    /// Counts what an answer of `model` used.
    pub(super) fn count(&mut self, message_id: Option<MessageId>, usage: Usage, model: &Model) {
        let price = model.price.as_ref();
        self.usage.record(Some(&usage), price);
        let cost = price.and_then(|price| price.cost(&usage));
        self.emitter.push(Event::Usage {
            message_id,
            usage,
            cost,
        });
    }

    /// Adds a message on disk and in memory.
    pub(super) async fn append(&mut self, message: Message) -> Result<(), TurnError> {
        Ok(self.writer.append(message).await?)
    }

    async fn append_user(
        &mut self,
        blocks: Vec<Block>,
        metadata: Metadata,
    ) -> Result<(), TurnError> {
        let mut blocks = loaded_blocks(blocks).await;
        let hooks = Arc::clone(&self.agent.shared.hooks);
        let context = self.hook_context();
        let text = text_of(&blocks);
        let hooked = self.hooked(hooks.user_message(&context, &text)).await;
        let text = match hooked {
            Hooked::Changed(changed) => {
                replace_text(&mut blocks, &changed);
                changed
            }
            Hooked::Unchanged | Hooked::Panicked => text,
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
            let next = self.agent.shared.queue.lock().take_steering();
            let Some(submission) = next else { break };
            self.append_user(submission.blocks, submission.metadata)
                .await?;
        }
        Ok(())
    }

    /// Appends what starts a turn by itself, unless it was withdrawn meanwhile.
    async fn land_opening(&mut self) -> Result<(), TurnError> {
        let next = {
            let mut queue = self.agent.shared.queue.lock();
            let next = queue.take_opening();
            if let Some(Submission {
                sender: Sender::Person,
                ..
            }) = next
            {
                queue.release();
            }
            next
        };
        let Some(submission) = next else {
            return Err(TurnError::NothingToContinue);
        };
        self.append_user(submission.blocks, submission.metadata)
            .await
    }

    pub(super) fn hook_context(&self) -> HookContext {
        HookContext {
            agent: self.agent.shared.id,
            label: self.agent.shared.label.clone(),
            session: self.agent.shared.session_id,
            turn: self.id,
        }
    }

    /// What a hook makes of what it was given. When the turn is forced to stop first, nothing.
    pub(super) async fn hooked<T>(
        &self,
        hook: impl Future<Output = Option<T>> + Send,
    ) -> Hooked<T> {
        tokio::select! {
            biased;
            result = AssertUnwindSafe(hook).catch_unwind() => match result {
                Ok(Some(changed)) => Hooked::Changed(changed),
                Ok(None) => Hooked::Unchanged,
                Err(panic) => {
                    tracing::error!("a hook panicked: {}", panic_text(&*panic));
                    Hooked::Panicked
                }
            },
            () = self.cancel.forced() => Hooked::Unchanged,
        }
    }
}

/// What a hook made of what it was given.
pub(super) enum Hooked<T> {
    Changed(T),
    Unchanged,
    Panicked,
}

/// What a panic says of itself.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
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

/// The blocks with every attachment in memory: its file may change or go.
async fn loaded_blocks(blocks: Vec<Block>) -> Vec<Block> {
    let mut loaded = Vec::with_capacity(blocks.len());
    for block in blocks {
        loaded.push(match block {
            Block::Attachment(attachment) => match attachment.load().await {
                Ok(attachment) => Block::Attachment(attachment),
                Err(reason) => Block::text(reason),
            },
            block => block,
        });
    }
    loaded
}
