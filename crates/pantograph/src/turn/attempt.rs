//! One request to a provider, and its repetitions.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::draft::{Answer, Draft, Visibility};
use super::drive::Drive;
use crate::cancel::Cancel;
use crate::error::{ErrorClass, ProviderError};
use crate::event::Event;
use crate::governor::Permit;
use crate::message::{CallId, StopReason};
use crate::model::StreamLimits;
use crate::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};

/// How asking the provider ended.
pub(super) enum Asked {
    Answered(Answer),
    /// With what was there of the answer.
    Cancelled(Option<Answer>),
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
        let model = Arc::clone(&request.model);
        let mut retry = 0;
        loop {
            let permit = {
                let pause = model.governor.pause();
                if !pause.is_zero() {
                    self.emitter.emit(Event::Paused { delay: pause }).await;
                }
                tokio::select! {
                    biased;
                    () = self.cancel.asked() => return Asked::Cancelled(None),
                    permit = model.governor.admit() => permit,
                }
            };
            let mut draft = Draft::new();
            let attempt = self
                .attempt(&*protocol, request.clone(), permit, &mut draft, visibility)
                .await;
            let error = match attempt {
                Attempt::Complete(stop) => return Asked::Answered(draft.finish(stop)),
                Attempt::Cancelled => return Asked::Cancelled(draft.interrupted()),
                Attempt::Failed(error) => error,
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
            retry += 1;
            let delay = model.retry.delay(retry, &error, self.rng.f64());
            if matches!(error.class, ErrorClass::RateLimit | ErrorClass::Overloaded)
                && let Some(pause) = delay.or(error.retry_after)
                && pause <= model.retry.max_retry_after
            {
                model.governor.slow(pause);
            }
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
                () = self.cancel.asked() => return Asked::Cancelled(None),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    async fn attempt(
        &mut self,
        protocol: &dyn Protocol,
        request: Request,
        permit: Permit,
        draft: &mut Draft,
        visibility: Visibility,
    ) -> Attempt {
        let limits = request.model.limits;
        let mut permit = Some(permit);
        let cancel = self.cancel.clone();
        let mut watch = Watch::new(&cancel, limits);
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
                    stream.cancel();
                    return Attempt::Cancelled;
                }
                Step::TooLong(error) => {
                    stream.cancel();
                    return Attempt::Failed(error);
                }
            };
            if let Some(permit) = permit.take() {
                permit.answered();
            }
            let emitter = &self.emitter;
            let stop = draft.apply(
                event,
                &self.call_ids,
                || fresh_call_id(&*clock),
                &mut |event| visibility.push(emitter, event),
            );
            if let Some(stop) = stop {
                return Attempt::Complete(stop);
            }
            self.emitter.pause().await;
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
}

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
                return Poll::Ready(Step::TooLong(too_long("connection", limit)));
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
            if let Poll::Ready(event) = stream.poll_event(cx) {
                self.armed = false;
                return Poll::Ready(Step::Ready(event));
            }
            if let (Some(timer), Some(limit)) = (&mut self.idle, self.limits.idle) {
                if !self.armed {
                    timer.as_mut().reset(Instant::now() + limit);
                    self.armed = true;
                }
                if timer.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Step::TooLong(too_long("event", limit)));
                }
            }
            self.poll_total(cx)
        })
        .await
    }

    fn poll_total<T>(&mut self, cx: &mut Context<'_>) -> Poll<Step<T>> {
        if let (Some(timer), Some(limit)) = (&mut self.total, self.limits.total)
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Step::TooLong(too_long("complete answer", limit)));
        }
        match self.asked.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Step::Cancelled),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn too_long(what: &str, limit: Duration) -> ProviderError {
    let setting = match what {
        "connection" => "connect",
        "event" => "idle",
        _ => "request",
    };
    ProviderError::transport(format!(
        "no {what} within {} s (the {setting} limit of this provider)",
        limit.as_secs_f64()
    ))
}
