//! OTLP taken in without a server behind it: on a port of this machine, for one program and those
//! that it starts.
//!
//! It speaks what the server speaks, on one port: gRPC, HTTP with protobuf and with JSON, each plain or
//! packed with gzip, deflate or zstd. A request is read and checked as the server does, answered, and
//! handed on in plain protobuf. There is no tenant, no journal and nothing to ask.
//!
//! What waits to be worked off is bounded ([`INLET_BYTES`]): senders are asked to try again while
//! there is no room, which exporters of SDKs do without holding their program up.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kymo_admit::{Admission, Compression, Format, Signal};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::answer::Failure;
use crate::body::{self, Bounds, Budget, Reservation};
use crate::limits::{ACCEPT_PAUSE, BODY_PAUSE_TIMEOUT, INLET_BYTES, INLET_CONNECTIONS};
use crate::receive::Accepted;
use crate::reply::plain;
use crate::{grpc, listen, otlp, tenant};

/// A request that was taken in. While it lives, its bytes count as waiting.
#[derive(Debug)]
pub struct Received {
    /// What it holds.
    pub signal: Signal,
    /// The request in protobuf, not packed.
    pub request: Bytes,
    _reserved: Reservation,
}

/// A port that takes requests in. Dropped, it takes no more, and cuts what is under way.
pub struct Inlet {
    address: SocketAddr,
    ending: watch::Sender<bool>,
    /// How many connections are open.
    open: watch::Receiver<usize>,
}

impl fmt::Debug for Inlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Shared {
    admission: Admission,
    budget: Arc<Budget>,
    deliver: Box<dyn Fn(Received) + Send + Sync>,
    open: watch::Sender<usize>,
    ending: watch::Receiver<bool>,
}

impl Inlet {
    /// Listens on a free port of this machine, and gives what comes to `deliver`, which must not
    /// wait. Needs a runtime.
    pub async fn listen(deliver: impl Fn(Received) + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (ending, is_ending) = watch::channel(false);
        let (open_sender, open) = watch::channel(0);
        let shared = Arc::new(Shared {
            admission: Admission::default(),
            budget: Budget::new(INLET_BYTES),
            deliver: Box::new(deliver),
            open: open_sender,
            ending: is_ending,
        });
        tokio::spawn(accept(listener, shared));
        Ok(Self { address, ending, open })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until all connections are closed, and what was on its way before is taken in; at most
    /// for some time.
    pub async fn drain(mut self, at_most: Duration) {
        // One that was made but not accepted yet is accepted first.
        self.ending.send_replace(true);
        let closed = async {
            // The sender goes when nobody accepts and no connection is left.
            while self.open.changed().await.is_ok() {}
        };
        let _ = tokio::time::timeout(at_most, closed).await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut ending = shared.ending.clone();
    loop {
        let accepted = tokio::select! {
            _ = ending.wait_for(|is_ending| *is_ending) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => serve(stream, &shared),
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // The runtime may not know yet of those that wait; the system does.
    if let Ok(listener) = listener.into_std() {
        while let Ok((stream, _)) = listener.accept() {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = stream {
                serve(stream, &shared);
            }
        }
    }
}

/// Serves a connection, unless there are too many.
fn serve(stream: TcpStream, shared: &Arc<Shared>) {
    let mut has_room = true;
    shared.open.send_if_modified(|open| {
        has_room = *open < INLET_CONNECTIONS;
        *open += usize::from(has_room);
        has_room
    });
    if !has_room {
        return;
    }
    let _ = listen::prepare(&stream);
    let shared = shared.clone();
    tokio::spawn(async move {
        let of_requests = shared.clone();
        let service = service_fn(move |request| answer(of_requests.clone(), request));
        let mut connection = listen::builder();
        // A program may end as soon as it has sent: what it sent counts.
        connection.http1().half_close(true);
        let connection = connection.serve_connection(TokioIo::new(stream), service);
        let mut dropped = shared.ending.clone();
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke");
            },
            // Not the word that it ends, which lets connections go on, but the end itself.
            () = async { while dropped.changed().await.is_ok() {} } => {}
        }
        shared.open.send_modify(|open| *open -= 1);
    });
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response, Infallible> {
    let (head, body) = request.into_parts();
    let signal_at = |path_of: fn(Signal) -> &'static str| {
        Signal::ALL.into_iter().find(|signal| path_of(*signal) == head.uri.path())
    };
    let headers = &head.headers;
    let response = if head.method != Method::POST {
        plain(StatusCode::METHOD_NOT_ALLOWED, "send OTLP with POST".to_owned())
    } else if let Some(signal) = signal_at(Signal::http_path) {
        over_http(&shared, signal, headers, body).await
    } else if !grpc::is_grpc(headers) {
        body::drain(body).await;
        let message = "there is /v1/traces, /v1/metrics and /v1/logs here".to_owned();
        plain(StatusCode::NOT_FOUND, message)
    } else if let Some(signal) = signal_at(Signal::grpc_path) {
        over_grpc(&shared, signal, headers, body).await
    } else {
        grpc::unimplemented(head.uri.path())
    };
    Ok(response)
}

async fn over_http(
    shared: &Shared,
    signal: Signal,
    headers: &HeaderMap,
    body: Incoming,
) -> Response {
    let format = match otlp::http::format_of(headers) {
        Ok(format) => format,
        Err(failure) => {
            body::drain(body).await;
            return otlp::http::fail(failure, Format::Json);
        }
    };
    let unwrap = |whole| Ok((otlp::http::compression_of(headers)?, whole));
    match shared.take(signal, format, body, 0, unwrap).await {
        Ok(partial) => otlp::http::accept(&Accepted { partial, written: None }, signal, format),
        Err(failure) => otlp::http::fail(failure, format),
    }
}

async fn over_grpc(
    shared: &Shared,
    signal: Signal,
    headers: &HeaderMap,
    body: Incoming,
) -> Response {
    let unwrap = |whole| grpc::unwrap(headers, whole);
    match shared.take(signal, Format::Protobuf, body, grpc::PREFIX_BYTES, unwrap).await {
        Ok(partial) => grpc::unary_bytes(&otlp::response(partial.as_ref())),
        Err(failure) => grpc::fail(&failure.into()),
    }
}

impl Shared {
    /// Reads a request, checks it and hands it on. What the sender is to be told of it.
    async fn take(
        &self,
        signal: Signal,
        format: Format,
        body: Incoming,
        prefix_bytes: usize,
        unwrap: impl FnOnce(Bytes) -> Result<(Compression, Bytes), Failure>,
    ) -> Result<Option<(u64, String)>, Failure> {
        let limits = self.admission.limits_for(tenant::DEFAULT);
        let max_bytes = limits.max_request_bytes.saturating_add(prefix_bytes);
        let bounds = Bounds::new(max_bytes, BODY_PAUSE_TIMEOUT);
        let (whole, _reading) = body::read(body, bounds, &self.budget).await?;
        let (compression, body) = unwrap(whole)?;
        let admitted = self.admission.admit(tenant::DEFAULT, signal, format, compression, body)?;
        let partial = admitted.partial_success();
        if !admitted.is_empty() {
            let max_bytes = limits.max_decompressed_bytes;
            let request = kymo_admit::unpack(admitted.compression, admitted.body, max_bytes)?;
            let _reserved = Reservation::of(&self.budget, request.len());
            (self.deliver)(Received { signal, request, _reserved });
        }
        Ok(partial)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Mutex;

    use super::*;

    /// One span, as JSON.
    const SPAN: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a",
        "traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708",
        "startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}"#;

    fn post(address: SocketAddr, path: &str, content_type: &str, body: &[u8]) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    type Requests = Arc<Mutex<Vec<(Signal, Bytes)>>>;

    fn ears() -> (Requests, impl Fn(Received) + Send + Sync + 'static) {
        let heard = Requests::default();
        let told = heard.clone();
        (heard, move |received: Received| {
            told.lock().unwrap().push((received.signal, received.request.clone()));
        })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_sent_comes_out_as_protobuf_and_the_rest_is_refused_with_a_reason() {
        let (heard, deliver) = ears();
        let inlet = Inlet::listen(deliver).await.unwrap();
        let address = inlet.address();
        assert!(address.ip().is_loopback());
        tokio::task::spawn_blocking(move || {
            let ok = post(address, "/v1/traces", "application/json", SPAN.as_bytes());
            assert!(ok.starts_with("HTTP/1.1 200"), "{ok}");
            let bad = post(address, "/v1/logs", "application/x-protobuf", b"\xff\xff");
            assert!(bad.starts_with("HTTP/1.1 400"), "{bad}");
            let odd = post(address, "/v1/logs", "text/plain", b"hello");
            assert!(odd.starts_with("HTTP/1.1 415"), "{odd}");
            let lost = post(address, "/elsewhere", "application/json", b"{}");
            assert!(lost.starts_with("HTTP/1.1 404") && lost.contains("/v1/traces"), "{lost}");
            let empty = post(address, "/v1/metrics", "application/json", b"{}");
            assert!(empty.starts_with("HTTP/1.1 200"), "{empty}");
        })
        .await
        .unwrap();
        let heard = heard.lock().unwrap();
        let expected = kymo_wire::json::decode(Signal::Traces, SPAN.as_bytes()).unwrap();
        assert_eq!(*heard, [(Signal::Traces, Bytes::from(expected))]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_end_takes_in_what_was_on_its_way_and_waits_for_nobody_else() {
        let (heard, deliver) = ears();
        let inlet = Inlet::listen(deliver).await.unwrap();
        let address = inlet.address();
        // One that never says anything.
        let silent = std::net::TcpStream::connect(address).unwrap();
        let mut late = std::net::TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{SPAN}",
            SPAN.len()
        );
        late.write_all(head.as_bytes()).unwrap();
        drop(late);
        let began = std::time::Instant::now();
        inlet.drain(Duration::from_millis(300)).await;
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(heard.lock().unwrap().len(), 1);
        drop(silent);
        assert!(std::net::TcpStream::connect(address).is_err(), "it listens no more");
    }
}
