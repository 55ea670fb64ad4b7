//! A server on loopback that gives every request the same answer, which it has ready.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// A server on a thread of its own. It goes with the process.
pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    /// A server that answers once `together` requests wait, so that they are open all at once.
    pub(crate) fn start(answer: String, together: usize) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let answer: Arc<[u8]> = (head + &answer).into_bytes().into();
        let together = Arc::new(Barrier::new(together));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&together)));
                }
            });
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Arc<[u8]>,
    together: Arc<Barrier>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    while read_request(&mut stream, &mut read).await? {
        together.wait().await;
        stream.write_all(&answer).await?;
    }
    Ok(())
}

/// Reads one request; `false` if the client went.
async fn read_request(stream: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<bool> {
    loop {
        if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..at]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .and_then(|value| value.trim().parse().ok())
                .unwrap_or(0);
            while read.len() < at + 4 + length {
                if stream.read_buf(read).await? == 0 {
                    return Ok(false);
                }
            }
            read.drain(..at + 4 + length);
            return Ok(true);
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(false);
        }
    }
}
