//! A server on loopback that answers by script, and breaks in every way that servers do.
//!
//! Written on sockets, since what it has to do no HTTP library lets it: stop amid a header, send
//! a length that is not true, reset.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// What a server does for one request, step by step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    /// Raw bytes.
    Send(Vec<u8>),
    /// One chunk of a chunked body.
    Chunk(Vec<u8>),
    /// Opened by the test.
    Wait(Gate),
    /// Until the client goes.
    Stall,
    /// A reset instead of an end.
    Reset,
    /// The end of the connection.
    Close,
}

impl Script {
    /// A `200` with events, whole.
    pub(crate) fn events(body: &str) -> Self {
        Self::head(
            200,
            "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n",
        )
        .chunk(body)
        .end()
    }

    /// The head of a `200` with events; chunks follow.
    pub(crate) fn begin() -> Self {
        Self::head(
            200,
            "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n",
        )
    }

    /// A whole answer. `headers` are lines that end with `\r\n`.
    pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let headers = format!("{headers}content-length: {}\r\n", body.len());
        Self::head(status, &headers).send(body)
    }

    /// A whole answer of JSON.
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::answer(status, "content-type: application/json\r\n", body)
    }

    pub(crate) fn head(status: u16, headers: &str) -> Self {
        Self::default().send(format!("HTTP/1.1 {status} X\r\n{headers}\r\n"))
    }

    pub(crate) fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Send(bytes.as_ref().to_vec()))
    }

    pub(crate) fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Chunk(bytes.as_ref().to_vec()))
    }

    /// The end of a chunked body.
    pub(crate) fn end(self) -> Self {
        self.send("0\r\n\r\n")
    }

    pub(crate) fn wait(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// This, and then the other.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    pub(crate) fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    pub(crate) fn close(self) -> Self {
        self.step(Step::Close)
    }

    fn step(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}

/// Shut until a test opens it, then open for everyone.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn open(&self) {
        self.0.close();
    }

    async fn passed(&self) {
        let _ = self.0.acquire().await;
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Method, target and version.
    pub(crate) line: String,
    /// Names in lower case, in order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Answers requests in the order of its scripts; goes with its value.
pub(crate) struct Server {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    scripts: Mutex<VecDeque<Script>>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    /// A client went while it was stalled.
    gone: Notify,
}

impl Server {
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            scripts: Mutex::new(scripts.into_iter().collect()),
            ..Shared::default()
        });
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            _tasks: tasks,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Waits until the client of a stalled answer has closed its connection.
    pub(crate) async fn client_gone(&self) {
        self.shared.gone.notified().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // A client that goes amid an answer is no failure of the server.
            let _ = serve(stream, &shared).await;
        });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    while let Some(seen) = request(&mut stream, &mut read).await? {
        shared.seen.lock().push(seen);
        let script = shared.scripts.lock().pop_front();
        let Some(Script(steps)) = script else {
            return Ok(());
        };
        for step in steps {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes).await?,
                Step::Chunk(bytes) => {
                    let head = format!("{:x}\r\n", bytes.len());
                    stream.write_all(head.as_bytes()).await?;
                    stream.write_all(&bytes).await?;
                    stream.write_all(b"\r\n").await?;
                }
                Step::Wait(gate) => gate.passed().await,
                Step::Stall => {
                    while stream.read_buf(&mut read).await.is_ok_and(|read| read > 0) {}
                    shared.gone.notify_one();
                    return Ok(());
                }
                Step::Reset => return stream.set_zero_linger(),
                Step::Close => return stream.shutdown().await,
            }
        }
    }
    Ok(())
}

/// Reads one request; `None` if the client went.
async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<Option<Seen>> {
    let head_end = loop {
        if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    while read.len() < head_end + length {
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
    let body = read[head_end..head_end + length].to_vec();
    read.drain(..head_end + length);
    Ok(Some(Seen {
        line,
        headers,
        body,
    }))
}
