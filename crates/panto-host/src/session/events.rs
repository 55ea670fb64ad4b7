//! What a session tells its readers, and how it reaches them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use pantograph::Event;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many events may wait for one reader before the session waits for it.
const BUFFER: usize = 256;

/// How long a turn that is to settle, or a session that is to close, waits for a reader that does
/// not read.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a session tells its readers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SessionEvent {
    /// A step of a turn.
    Turn(Event),
    /// Something that is not part of a turn.
    Custom {
        /// Says what it is; chosen by whoever emits it.
        name: Arc<str>,
        /// What there is to tell.
        data: serde_json::Value,
    },
    /// Nothing runs, and nothing is queued that may start a turn.
    Idle,
}

/// A session's events as one reader sees them; ends when the session is closed.
#[derive(Debug)]
pub struct SessionEvents(mpsc::Receiver<SessionEvent>);

impl SessionEvents {
    /// The next event; `None` once the session is closed.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        self.0.recv().await
    }

    /// The next event, if it is there already.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        self.0.try_recv().ok()
    }

    /// The stream of a session that is closed already.
    pub(super) fn ended() -> Self {
        Self(mpsc::channel(1).1)
    }
}

impl Stream for SessionEvents {
    type Item = SessionEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SessionEvent>> {
        self.0.poll_recv(cx)
    }
}

/// Everybody who reads a session.
#[derive(Default)]
pub(super) struct Readers {
    senders: Mutex<Arc<Vec<mpsc::Sender<SessionEvent>>>>,
}

impl Readers {
    pub(super) fn join(&self) -> SessionEvents {
        let (sender, receiver) = mpsc::channel(BUFFER);
        Arc::make_mut(&mut *self.senders.lock()).push(sender);
        SessionEvents(receiver)
    }

    /// Ends every stream.
    pub(super) fn end(&self) {
        *self.senders.lock() = Arc::default();
    }

    /// Hands `event` to every reader, and waits for those that are slow: as long as it takes, but
    /// once `hurry` is cancelled only for [`PATIENCE`].
    pub(super) async fn send(&self, event: SessionEvent, hurry: &CancellationToken) {
        let senders = Arc::clone(&self.senders.lock());
        let Some((last, others)) = senders.split_last() else {
            return;
        };
        for sender in others {
            self.send_to(sender, event.clone(), hurry).await;
        }
        self.send_to(last, event, hurry).await;
    }

    async fn send_to(
        &self,
        sender: &mpsc::Sender<SessionEvent>,
        event: SessionEvent,
        hurry: &CancellationToken,
    ) {
        let out_of_patience = async {
            hurry.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        let delivered = tokio::select! {
            biased;
            sent = sender.send(event) => sent.is_ok(),
            () = out_of_patience => false,
        };
        if !delivered {
            Arc::make_mut(&mut *self.senders.lock()).retain(|other| !other.same_channel(sender));
        }
    }
}
