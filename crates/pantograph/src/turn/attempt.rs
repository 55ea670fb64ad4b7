//! One request to a provider, and its repetitions.

use std::collections::HashSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, Sleep};

use super::draft::{Answer, Draft, Visibility};
use super::drive::{Drive, panic_text};
use crate::cancel::{Cancel, after};
use crate::error::{ErrorClass, ProviderError};
use crate::event::Event;
use crate::governor::Permit;
use crate::message::{CallId, StopReason};
use crate::model::{Model, StreamLimits};
use crate::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};

/// How asking the provider ended.
pub(super) enum Asked {
    Answered(Answer),
    /// With what there was of the answer.
    Cancelled(Answer),
    Failed(ProviderError),
}

enum Attempt {
    Complete(StopReason),
    Cancelled,
    Failed(ProviderError),
}

impl Drive {
    /// Asks until there is an answer, the repetitions are used up, or the turn is cancelled.
    pub(super) async fn ask(
        &mut self,
        protocol: Arc<dyn Protocol>,
        request: Request,
        visibility: Visibility,
    ) -> Asked {
        self.agent.shared.note_asked(&protocol);
        let model = Arc::clone(&request.model);
        let origin = {
            let mut origin = model.origin(protocol.name());
            let label = model.effective_reasoning(&request.tool_choice);
            origin.reasoning = label.map(str::to_owned);
            Arc::new(origin)
        };
        let mut retry = 0;
        loop {
            let Some(permit) = self.admitted(&model).await else {
                return Asked::Cancelled(Draft::new().interrupted(model, origin));
            };
            let mut permit = Some(permit);
            let mut draft = Draft::new();
            let attempt = self.attempt(
                &*protocol,
                request.clone(),
                &mut permit,
                &mut draft,
                visibility,
            );
            let attempt = AssertUnwindSafe(attempt).catch_unwind().await;
            let error = match attempt {
                Ok(Attempt::Complete(stop)) => {
                    return Asked::Answered(draft.finish(stop, model, origin));
                }
                Ok(Attempt::Cancelled) => {
                    return Asked::Cancelled(draft.interrupted(model, origin));
                }
                Ok(Attempt::Failed(error)) => error,
                Err(panic) => {
                    let what = panic_text(&*panic);
                    let message = format!("the protocol `{}` failed inside: {what}", origin.style);
                    ProviderError::new(ErrorClass::Terminal, message)
                }
            };
            tracing::debug!(
                retry,
                class = error.class.as_str(),
                status = error.status,
                request_id = error.request_id,
                "an attempt failed"
            );
            if draft.has_begun() {
                let error = error.clone();
                visibility.push(&self.emitter, Event::AttemptDiscarded { error });
            }
            if !draft.usage.is_unknown() {
                self.count(None, draft.usage, &model);
            }
            retry += 1;
            let delay = model.retry.delay(retry, &error, self.rng.f64());
            if matches!(error.class, ErrorClass::RateLimit | ErrorClass::Overloaded)
                && let Some(pause) = delay.or(error.retry_after)
                && pause <= model.retry.max_retry_after
            {
                model.governor.slow(pause);
            }
            // Only now, so that nobody slips through before the brake is on.
            drop(permit);
            let Some(delay) = delay else {
                return Asked::Failed(error);
            };
            let max_retries = model.retry.max_retries;
            self.emitter
                .emit(Event::Retry {
                    attempt: retry,
                    max_retries,
                    delay,
                    error,
                })
                .await;
            tokio::select! {
                biased;
                () = self.cancel.asked() => {
                    return Asked::Cancelled(Draft::new().interrupted(model, origin));
                }
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    /// The right to an attempt, as soon as the provider's governor gives it; `None` if the turn
    /// is cancelled first.
    async fn admitted(&self, model: &Model) -> Option<Permit> {
        let mut admit = std::pin::pin!(model.governor.admit());
        if let Some(permit) = admit.as_mut().now_or_never() {
            return Some(permit);
        }
        let delay = model.governor.pause();
        self.emitter.emit(Event::Paused { delay }).await;
        tokio::select! {
            biased;
            () = self.cancel.asked() => None,
            permit = admit => Some(permit),
        }
    }

    async fn attempt(
        &self,
        protocol: &dyn Protocol,
        request: Request,
        permit: &mut Option<Permit>,
        draft: &mut Draft,
        visibility: Visibility,
    ) -> Attempt {
        let limits = request.model.limits;
        let mut watch = Watch::new(&self.cancel, limits);
        let mut stream = match watch.open(protocol.open(request)).await {
            Step::Ready(Ok(stream)) => stream,
            Step::Ready(Err(error)) => return Attempt::Failed(error),
            Step::Cancelled => return Attempt::Cancelled,
            Step::TooLong(error) => return Attempt::Failed(error),
        };
        let clock = Arc::clone(&self.agent.shared.clock);
        loop {
            let event = match watch.next(&mut *stream).await {
                Step::Ready(Some(Ok(event))) => event,
                Step::Ready(Some(Err(error))) => return Attempt::Failed(error),
                Step::Ready(None) => {
                    return Attempt::Failed(ProviderError::transport(
                        "the stream ended before the answer was complete",
                    ));
                }
                Step::Cancelled => {
                    stream.cancel_turn();
                    return Attempt::Cancelled;
                }
                Step::TooLong(error) => {
                    stream.cancel_turn();
                    return Attempt::Failed(error);
                }
            };
            if let Some(permit) = permit.take() {
                permit.answered();
            }
            let stop = draft.apply(
                event,
                &self.call_ids,
                || fresh_call_id(&*clock),
                &mut |event| visibility.push(&self.emitter, event),
            );
            match stop {
                Ok(Some(stop)) => return Attempt::Complete(stop),
                Ok(None) => {}
                Err(error) => {
                    stream.cancel_turn();
                    return Attempt::Failed(error);
                }
            }
            self.emitter.pause().await;
            // A stream that always has something ready must not keep its thread for itself.
            tokio::task::coop::consume_budget().await;
        }
    }
}

fn fresh_call_id(clock: &dyn crate::clock::Clock) -> CallId {
    format!("call_{}", clock.fresh_id().simple()).into()
}

/// The call ids of a conversation.
pub(super) fn call_ids<'a>(
    messages: impl IntoIterator<Item = &'a Arc<crate::message::Message>>,
) -> HashSet<CallId> {
    messages
        .into_iter()
        .flat_map(|message| message.tool_calls())
        .map(|call| Arc::clone(&call.id))
        .collect()
}

type Opened = Result<Box<dyn ProtocolStream>, ProviderError>;

/// What a stream gave, or what came first.
enum Step<T> {
    Ready(T),
    Cancelled,
    TooLong(ProviderError),
}

/// Waits for a stream within the attempt's limits and the turn's cancellation.
///
/// The clock is only looked at when the stream has nothing ready, so an event costs no timer.
struct Watch<'a> {
    cancel: &'a Cancel,
    asked: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    limits: StreamLimits,
    idle: Option<Pin<Box<Sleep>>>,
    /// Whether `idle` counts from the last event.
    armed: bool,
    total: Option<Pin<Box<Sleep>>>,
    /// Events since the stream last had nothing ready.
    ready: u32,
}

/// After so many events without a pause the total limit is looked at.
const LOOK: u32 = 256;

impl<'a> Watch<'a> {
    fn new(cancel: &'a Cancel, limits: StreamLimits) -> Self {
        let timer = |limit: Duration| Box::pin(tokio::time::sleep(limit));
        Self {
            cancel,
            asked: Box::pin(cancel.asked()),
            limits,
            idle: limits.idle.map(timer),
            armed: false,
            total: limits.total.map(timer),
            ready: 0,
        }
    }

    async fn open(
        &mut self,
        mut open: Pin<Box<dyn Future<Output = Opened> + Send + '_>>,
    ) -> Step<Opened> {
        let limit = self.limits.connect;
        let mut connect = limit.map(|limit| Box::pin(tokio::time::sleep(limit)));
        std::future::poll_fn(|cx| {
            if self.cancel.is_asked() {
                return Poll::Ready(Step::Cancelled);
            }
            if let Poll::Ready(result) = open.as_mut().poll(cx) {
                return Poll::Ready(Step::Ready(result));
            }
            if let (Some(timer), Some(limit)) = (&mut connect, limit)
                && timer.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Step::TooLong(too_long("connection", "connect", limit)));
            }
            self.poll_total(cx)
        })
        .await
    }

    async fn next(
        &mut self,
        stream: &mut dyn ProtocolStream,
    ) -> Step<Option<Result<ProtocolEvent, ProviderError>>> {
        std::future::poll_fn(|cx| {
            if self.cancel.is_asked() {
                return Poll::Ready(Step::Cancelled);
            }
            if self.ready >= LOOK {
                self.ready = 0;
                if let Some(step) = self.overdue() {
                    return Poll::Ready(step);
                }
            }
            if let Poll::Ready(event) = stream.poll_event(cx) {
                self.armed = false;
                self.ready += 1;
                return Poll::Ready(Step::Ready(event));
            }
            self.ready = 0;
            if let (Some(timer), Some(limit)) = (&mut self.idle, self.limits.idle) {
                if !self.armed || (timer.deadline() <= Instant::now() && stream.is_held_up()) {
                    timer.as_mut().reset(after(limit));
                    self.armed = true;
                }
                if timer.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Step::TooLong(too_long("event", "idle", limit)));
                }
            }
            self.poll_total(cx)
        })
        .await
    }

    /// Whether the total limit has passed. Asks the clock and not the timer, which says nothing
    /// while the task's budget is used up.
    fn overdue<T>(&self) -> Option<Step<T>> {
        let (timer, limit) = (self.total.as_ref()?, self.limits.total?);
        (timer.deadline() <= Instant::now())
            .then(|| Step::TooLong(too_long("complete answer", "request", limit)))
    }

    fn poll_total<T>(&mut self, cx: &mut Context<'_>) -> Poll<Step<T>> {
        if let (Some(timer), Some(limit)) = (&mut self.total, self.limits.total)
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Step::TooLong(too_long("complete answer", "request", limit)));
        }
        match self.asked.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Step::Cancelled),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn too_long(what: &str, setting: &str, limit: Duration) -> ProviderError {
    ProviderError::transport(format!(
        "no {what} within {} s (the {setting} limit of this provider)",
        limit.as_secs_f64()
    ))
}
