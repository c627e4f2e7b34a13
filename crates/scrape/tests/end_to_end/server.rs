//! A small HTTP server on a free port, with or without TLS, that answers what a test wants.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
}

/// What is answered.
pub(crate) enum Reply {
    /// Status, headers and body.
    Full(u16, Vec<(String, String)>, Vec<u8>),
    /// A body of so many bytes.
    Large(u64),
    /// Nothing, until the other side gives up.
    Hang,
}

impl Reply {
    pub(crate) fn text(body: &str) -> Self {
        Self::typed("text/plain; version=0.0.4", body)
    }

    pub(crate) fn typed(content_type: &str, body: &str) -> Self {
        let header = ("Content-Type".to_owned(), content_type.to_owned());
        Self::Full(200, vec![header], body.as_bytes().to_vec())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Full(status, Vec::new(), Vec::new())
    }
}

type Handler = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

/// What the server saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) requests: Mutex<Vec<Request>>,
}

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) seen: Arc<Seen>,
    is_stopped: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(None, handler)
    }

    pub(crate) fn start_with(
        tls: Option<Arc<ServerConfig>>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen::default());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let handler: Arc<Handler> = Arc::new(Box::new(handler));
        let (seen_here, stopped_here) = (seen.clone(), is_stopped.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped_here.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                seen_here.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, handler, tls) = (seen_here.clone(), handler.clone(), tls.clone());
                std::thread::spawn(move || match tls {
                    None => serve(stream, &seen, &handler),
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        serve(StreamOwned::new(connection, stream), &seen, &handler);
                    }
                });
            }
        });
        Self { address, seen, is_stopped }
    }

    /// The last request.
    pub(crate) fn last_request(&self) -> Request {
        self.seen.requests.lock().unwrap().last().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which then ends.
        let _ = TcpStream::connect(&self.address);
    }
}

/// Answers requests of one connection until it is closed.
fn serve(stream: impl Read + Write, seen: &Seen, handler: &Handler) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream) {
        seen.requests.lock().unwrap().push(request.clone());
        let written = match handler(&request) {
            Reply::Full(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str("\r\n");
                let stream = stream.get_mut();
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body))
            }
            Reply::Large(size) => send_large(stream.get_mut(), seen, size),
            Reply::Hang => {
                // The other side closes the connection when it has waited enough.
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        if written.and_then(|()| stream.get_mut().flush()).is_err() {
            return;
        }
    }
}

fn send_large(stream: &mut impl Write, seen: &Seen, size: u64) -> std::io::Result<()> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let line = b"a_metric_of_some_length{label=\"value\"} 1\n".repeat(1_000);
    let mut rest = size;
    while rest > 0 {
        let part = &line[..line.len().min(usize::try_from(rest).unwrap_or(usize::MAX))];
        stream.write_all(part)?;
        rest -= part.len() as u64;
        seen.sent_bytes.fetch_add(part.len() as u64, Ordering::SeqCst);
    }
    Ok(())
}

fn read_request(stream: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            return Some(Request { path, headers });
        }
        if let Some((name, value)) = line.trim_end().split_once(": ") {
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
    }
}
