//! HTTP/2 with prior knowledge, and gRPC on it, without a library's opinion on either.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};

/// A test that waits for its answers longer than this has found something.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An answer with its trailers.
#[derive(Debug)]
pub struct H2Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub trailers: HeaderMap,
}

/// Sends requests one after another on one connection.
#[track_caller]
pub fn exchange(address: SocketAddr, requests: Vec<Request<Full<Bytes>>>) -> Vec<H2Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exchanged = async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        let mut answers = Vec::new();
        for request in requests {
            let response = sender.send_request(request).await.unwrap();
            let (head, body) = response.into_parts();
            let collected = body.collect().await.unwrap();
            let trailers = collected.trailers().cloned().unwrap_or_default();
            let (status, headers) = (head.status.as_u16(), head.headers);
            let body = collected.to_bytes().to_vec();
            answers.push(H2Answer { status, headers, body, trailers });
        }
        answers
    };
    let answers = runtime.block_on(async { tokio::time::timeout(TIMEOUT, exchanged).await });
    answers.unwrap_or_else(|_| panic!("{address} does not answer"))
}

/// A request to `address`.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

/// What a gRPC call gave.
#[derive(Debug)]
pub struct GrpcAnswer {
    pub code: i32,
    pub message: String,
    /// The message of the answer, without its prefix.
    pub body: Vec<u8>,
    pub headers: HeaderMap,
}

impl GrpcAnswer {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// A message with the prefix that gRPC puts before it.
pub fn framed(is_compressed: bool, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::from(is_compressed)];
    bytes.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// What a call gave that is answered by a stream of messages.
#[derive(Debug)]
pub struct GrpcStream {
    pub code: i32,
    pub message: String,
    /// Messages without their prefixes, each with the time from the call to its last byte.
    pub messages: Vec<(Duration, Vec<u8>)>,
}

/// Calls a method that answers with a stream, and reads it to its end.
#[track_caller]
pub fn call_stream(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    framed: Vec<u8>,
) -> GrpcStream {
    let common = [("content-type", "application/grpc"), ("te", "trailers")];
    let request = request(address, "POST", path, &[&common, headers].concat(), framed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let called = async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        let began = Instant::now();
        let (head, mut body) = sender.send_request(request).await.unwrap().into_parts();
        assert_eq!(head.status, 200, "gRPC says everything with 200: {head:?}");
        let (mut messages, mut bytes) = (Vec::new(), Vec::new());
        let mut end = head.headers.clone();
        while let Some(frame) = body.frame().await {
            match frame.unwrap().into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(frame) => end.extend(frame.into_trailers().unwrap()),
            }
            while bytes.len() >= 5 {
                let length = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize;
                if bytes.len() < 5 + length {
                    break;
                }
                assert_eq!(bytes[0], 0, "it is not compressed");
                let rest = bytes.split_off(5 + length);
                messages.push((began.elapsed(), bytes.split_off(5)));
                bytes = rest;
            }
        }
        assert!(bytes.is_empty(), "a message is cut off");
        let text = |name| end.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let code = text("grpc-status").parse().unwrap_or_else(|_| panic!("no status: {end:?}"));
        GrpcStream { code, message: text("grpc-message"), messages }
    };
    let called = runtime.block_on(async { tokio::time::timeout(TIMEOUT, called).await });
    called.unwrap_or_else(|_| panic!("{address} does not answer"))
}

/// Calls a method that answers with a stream, and goes away when the answer has begun.
#[track_caller]
pub fn hang_up(address: SocketAddr, path: &str, framed: Vec<u8>) {
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    let request = request(address, "POST", path, &headers, framed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let called = async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        let mut response = sender.send_request(request).await.unwrap();
        assert!(response.body_mut().frame().await.unwrap().unwrap().is_data());
    };
    let called = runtime.block_on(async { tokio::time::timeout(TIMEOUT, called).await });
    called.unwrap_or_else(|_| panic!("{address} does not answer"));
}

/// Calls a unary method with a body that is framed already.
#[track_caller]
pub fn call(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    framed: Vec<u8>,
) -> GrpcAnswer {
    let common = [("content-type", "application/grpc"), ("te", "trailers")];
    let headers = [&common, headers].concat();
    let request = request(address, "POST", path, &headers, framed);
    let answer = exchange(address, vec![request]).remove(0);
    assert_eq!(answer.status, 200, "gRPC says everything with 200: {answer:?}");
    // An answer without a message has its status among the headers.
    let status = answer.trailers.get("grpc-status").or(answer.headers.get("grpc-status"));
    let message = answer.trailers.get("grpc-message").or(answer.headers.get("grpc-message"));
    let code = status.unwrap_or_else(|| panic!("no status: {answer:?}")).to_str().unwrap();
    let body = match answer.body.split_at_checked(5) {
        None => Vec::new(),
        Some((prefix, body)) => {
            let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
            assert_eq!((prefix[0], length as usize), (0, body.len()), "one plain message");
            body.to_vec()
        }
    };
    let message = message.map_or("", |message| message.to_str().unwrap()).to_owned();
    GrpcAnswer { code: code.parse().unwrap(), message, body, headers: answer.headers }
}
