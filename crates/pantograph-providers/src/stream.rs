//! One answer from the first byte to the last event, for every protocol.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt};
use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request};
use pantograph::wire_name::WireNames;
use pantograph::{ErrorClass, ProviderError};
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use crate::endpoint::Endpoint;
use crate::failure::{self, Exchange};
use crate::history;
use crate::http::{self, Head, Post};
use crate::payload::Payload;
use crate::sse::{Body, Event, Events};

/// How long the words of a failure are waited for; its status is known already.
const WORDS_WAIT: Duration = Duration::from_secs(5);

/// How long a server that gave the reason to end may keep the connection open without a word.
const LULL: Duration = Duration::from_secs(2);

/// How much the events of one answer may hold: the core bounds what it is told, and decoders
/// also keep what they tell it later or never.
const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;

/// Turns a protocol's own events into the core's.
pub(crate) trait Decoder: Send {
    /// Takes one event in and adds what it means to `out`.
    ///
    /// # Errors
    ///
    /// The provider reported a failure, or what came is not of this protocol.
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError>;

    /// There are no more events: the body ended, or said `[DONE]`. Protocols whose last event
    /// does not say that it is the last add [`ProtocolEvent::Done`] here, if they saw it.
    fn end(&mut self, out: &mut VecDeque<ProtocolEvent>) -> Result<(), ProviderError> {
        let _ = out;
        Ok(())
    }

    /// Whether the answer is complete should nothing more come.
    fn is_finished(&self) -> bool {
        false
    }
}

/// Puts a request as `build` does, and reads its answer with what `decoder` makes.
///
/// # Errors
///
/// The runtime goes while attachments are read.
pub(crate) async fn open<D: Decoder + 'static>(
    endpoint: &Endpoint,
    head: Head,
    request: Request,
    build: impl FnOnce(&Request) -> Payload + Send + 'static,
    decoder: impl FnOnce(Arc<WireNames>) -> D,
) -> Result<Box<dyn ProtocolStream>, ProviderError> {
    let connect = request.model.limits.connect;
    let decoder = decoder(Arc::new(history::wire_names(&request)));
    let body = encode(request, build).await?;
    let post = Post {
        head,
        body,
        connect,
    };
    let sending = State::Sending(Box::pin(ask(endpoint.clone(), post)));
    Ok(Box::new(WireStream::with(sending, decoder)))
}

/// Reads an answer to `request` that is there already.
pub(crate) fn read<D: Decoder + 'static>(
    request: &Request,
    body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    decoder: impl FnOnce(Arc<WireNames>) -> D,
) -> Box<dyn ProtocolStream> {
    let body = body.map(|chunk| {
        chunk.map_err(|error| ProviderError::transport(format!("the answer broke off: {error}")))
    });
    let reading = State::Reading(Box::new(Events::new(body.boxed())));
    let decoder = decoder(Arc::new(history::wire_names(request)));
    Box::new(WireStream::with(reading, decoder))
}

/// Builds a request's body without blocking the runtime on attachments that lie in files.
async fn encode(
    request: Request,
    build: impl FnOnce(&Request) -> Payload + Send + 'static,
) -> Result<Payload, ProviderError> {
    if !history::reads_files(&request) {
        return Ok(build(&request));
    }
    let built = tokio::task::spawn_blocking(move || build(&request)).await;
    built.map_err(|_| ProviderError::transport("the request was abandoned"))
}

/// A stream that sends its request when it is first polled and closes its connection when it is
/// dropped.
struct WireStream<D> {
    state: State,
    /// Known once there is an answer or none will come; never of a recorded answer.
    exchange: Option<Exchange>,
    decoder: D,
    ready: VecDeque<ProtocolEvent>,
    /// Bytes of event data.
    taken: usize,
    /// Runs while a finished answer waits for more.
    lull: Option<Pin<Box<Sleep>>>,
}

enum State {
    Sending(BoxFuture<'static, (Exchange, Result<Body, ProviderError>)>),
    Reading(Box<Events>),
    Ended,
}

impl<D: Decoder> WireStream<D> {
    fn with(state: State, decoder: D) -> Self {
        Self {
            state,
            exchange: None,
            decoder,
            ready: VecDeque::new(),
            taken: 0,
            lull: None,
        }
    }

    /// Takes the head of the answer or the next event of its body in.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        match &mut self.state {
            State::Sending(sending) => {
                let (exchange, answer) = ready!(sending.as_mut().poll(cx));
                self.exchange = Some(exchange);
                self.state = State::Reading(Box::new(Events::new(answer?)));
            }
            State::Reading(events) => {
                let event = match events.poll_event(cx) {
                    Poll::Ready(event) => event.transpose()?,
                    // A recording may be read where there are no timers.
                    Poll::Pending
                        if self.decoder.is_finished() && Handle::try_current().is_ok() =>
                    {
                        let until = || Box::pin(tokio::time::sleep_until(Instant::now() + LULL));
                        ready!(self.lull.get_or_insert_with(until).as_mut().poll(cx));
                        None
                    }
                    Poll::Pending => return Poll::Pending,
                };
                self.lull = None;
                match event {
                    Some(event) if !event.is_done() => self.take(event)?,
                    _ => {
                        let other = events.other_text();
                        self.state = State::Ended;
                        if let Some(text) = other {
                            return Poll::Ready(Err(self.no_events(text)));
                        }
                        self.decoder.end(&mut self.ready)?;
                    }
                }
            }
            State::Ended => {}
        }
        Poll::Ready(Ok(()))
    }

    fn take(&mut self, event: Event) -> Result<(), ProviderError> {
        self.taken = self.taken.saturating_add(event.data.len());
        if self.taken > MAX_ANSWER_BYTES {
            return Err(ProviderError::new(
                ErrorClass::Terminal,
                format!(
                    "the answer is larger than any answer may be ({} MiB of events)",
                    MAX_ANSWER_BYTES >> 20
                ),
            ));
        }
        let name = event.name.as_deref();
        let taken = self.decoder.event(name, &event.data, &mut self.ready);
        let (Err(error), Some(exchange)) = (&taken, &self.exchange) else {
            return taken;
        };
        // An error may quote the beginning of the event, and where it was cut, half a secret.
        let harmless = exchange.redact(event.data.clone());
        if harmless == event.data {
            return taken;
        }
        let again = self.decoder.event(name, &harmless, &mut self.ready);
        again.and(Err(ProviderError::new(
            error.class,
            "the provider sent a broken event",
        )))
    }

    /// The failure that a body without events is, whatever its head said.
    fn no_events(&self, text: String) -> ProviderError {
        let text = match &self.exchange {
            Some(exchange) => exchange.redact(text),
            None => text,
        };
        failure::from_answer(StatusCode::OK, &HeaderMap::new(), &text)
    }

    /// Ends the stream. A body that is at its end already gives its connection back to the pool.
    fn close(&mut self, cx: &mut Context<'_>) {
        if let State::Reading(events) = &mut self.state {
            let _ = events.poll_event(cx);
        }
        self.state = State::Ended;
        self.ready.clear();
    }
}

impl<D: Decoder> ProtocolStream for WireStream<D> {
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, ProtocolEvent::Done { .. }) {
                    self.close(cx);
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if matches!(self.state, State::Ended) {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.poll_read(cx)) {
                self.state = State::Ended;
                self.ready.clear();
                return Poll::Ready(Some(Err(match &self.exchange {
                    Some(exchange) => exchange.complete(error),
                    None => error,
                })));
            }
        }
    }
}

/// Sends the request and reads the answer's head.
async fn ask(endpoint: Endpoint, post: Post) -> (Exchange, Result<Body, ProviderError>) {
    let mut exchange = Exchange::with(endpoint);
    let answer = async {
        exchange.key = exchange.endpoint.credentials.key().await?;
        let response = http::send(&exchange.endpoint, exchange.key.as_ref(), post).await?;
        // A server may repeat a key in any header.
        exchange.request_id = failure::request_id(response.headers()).map(|id| exchange.name(id));
        tracing::debug!(
            status = response.status().as_u16(),
            request_id = exchange.request_id.as_deref(),
            "the provider answered"
        );
        match is_stream(&response) {
            true => Ok(http::body(response)),
            false => Err(refusal(response).await),
        }
    }
    .await;
    (exchange, answer)
}

/// Whether the answer is events. Servers that send them under a wrong or no media type exist;
/// those that send these two mean them.
fn is_stream(response: &Response) -> bool {
    let media_type = failure::media_type(response.headers()).to_ascii_lowercase();
    response.status().is_success() && !matches!(&*media_type, "application/json" | "text/html")
}

/// The failure that an answer is, in the words that came.
async fn refusal(response: Response) -> ProviderError {
    let status = response.status();
    let headers = response.headers().clone();
    let mut body = http::body(response);
    let mut words: Vec<u8> = Vec::new();
    // What came before a break or the limits is enough.
    let _ = tokio::time::timeout(WORDS_WAIT, async {
        while let Some(Ok(chunk)) = body.next().await {
            words.extend_from_slice(&chunk);
            if words.len() >= failure::MAX_BODY_BYTES {
                words.truncate(failure::MAX_BODY_BYTES);
                break;
            }
        }
    })
    .await;
    failure::from_answer(status, &headers, &String::from_utf8_lossy(&words))
}
