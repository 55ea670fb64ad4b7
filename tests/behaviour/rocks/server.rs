//! A server of rocks on loopback: a manifest, rockspecs, and sources of one file each.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::zip::zip;

/// It serves until it is dropped.
pub(super) struct RockServer {
    address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shelf {
    /// By path.
    files: BTreeMap<String, Vec<u8>>,
    /// Versions by rock, each with the kind of its file.
    rocks: BTreeMap<String, Vec<(String, &'static str)>>,
}

impl RockServer {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (served, stop) = (Arc::clone(&shelf), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                // A client may go away at any time.
                let _ = stream.and_then(|stream| answer(stream, &served));
            }
        });
        Self {
            address,
            shelf,
            is_over,
            thread: Some(thread),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Offers a rock of one module, whose source is a file beside it.
    pub(super) fn publish(
        &self,
        name: &str,
        version: &str,
        file: &str,
        source: &str,
        needs: &[&str],
    ) {
        let spec = self.spec(name, version, file, needs);
        let mut shelf = self.shelf.lock();
        let path = format!("/{version}/{file}");
        shelf.files.insert(path, source.into());
        let path = format!("/{name}-{version}.rockspec");
        shelf.add(name, version, "rockspec", path, spec.into());
    }

    /// Offers the same as one archive with its source.
    pub(super) fn publish_archive(&self, name: &str, version: &str, file: &str, source: &str) {
        let spec = self.spec(name, version, file, &[]);
        let inside = format!("{name}-{version}.rockspec");
        let archive = zip(&[(&inside, &spec), (file, source)]);
        let path = format!("/{name}-{version}.src.rock");
        let mut shelf = self.shelf.lock();
        shelf.add(name, version, "src", path, archive);
    }

    /// Offers a rock as it is packed: its rockspec and all its files.
    pub(super) fn publish_packed(
        &self,
        name: &str,
        version: &str,
        spec: &str,
        files: &[(String, String)],
    ) {
        let inside = format!("{name}-{version}.rockspec");
        let mut parts = vec![(inside.as_str(), spec)];
        parts.extend(
            files
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str())),
        );
        let path = format!("/{name}-{version}.src.rock");
        let mut shelf = self.shelf.lock();
        shelf.add(name, version, "src", path, zip(&parts));
    }

    fn spec(&self, name: &str, version: &str, file: &str, needs: &[&str]) -> String {
        let needs: String = needs.iter().map(|need| format!(", \"{need}\"")).collect();
        format!(
            r#"rockspec_format = "3.0"
package = "{name}"
version = "{version}"
source = {{ url = "{}/{version}/{file}" }}
description = {{ summary = "A rock of a test" }}
dependencies = {{ "lua >= 5.4"{needs} }}
build = {{ type = "builtin", modules = {{ ["{name}"] = "{file}" }} }}
"#,
            self.url()
        )
    }
}

impl Shelf {
    fn add(&mut self, name: &str, version: &str, arch: &'static str, path: String, file: Vec<u8>) {
        self.files.insert(path, file);
        let versions = self.rocks.entry(name.to_owned()).or_default();
        versions.push((version.to_owned(), arch));
        let manifest = manifest(&self.rocks);
        self.files
            .insert("/manifest-5.4".to_owned(), manifest.into());
    }
}

impl Drop for RockServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes it.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn manifest(rocks: &BTreeMap<String, Vec<(String, &str)>>) -> String {
    let mut text = String::from("commands = {}\nmodules = {}\nrepository = {\n");
    for (name, versions) in rocks {
        text += &format!("  [\"{name}\"] = {{\n");
        for (version, arch) in versions {
            text += &format!("    [\"{version}\"] = {{ {{ arch = \"{arch}\" }} }},\n");
        }
        text += "  },\n";
    }
    text + "}\n"
}

fn answer(stream: TcpStream, shelf: &Mutex<Shelf>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let file = shelf.lock().files.get(path).cloned();
    let (status, body) = match &file {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &[][..]),
    };
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(body)?;
    }
    stream.flush()
}
