//! gRPC, as far as unary requests and streamed answers need it.
//!
//! A message is a byte that tells whether it is compressed, its length in four bytes, and the
//! message; an answer ends with its status in trailers. We do that here instead of letting a gRPC
//! library do it, because the journal keeps OTLP requests as they came, compressed; and because the
//! specification of OTLP wants codes (too large, not decodable, back-pressure with a time) that a
//! library answers otherwise.
//!
//! A method of a query API is a function from a message to a response; [`answer`] does the rest:
//!
//! ```text
//! grpc::answer(shared, request, async |shared, tenants, asked: Asked| {
//!     let found = shared.engine.…(&tenants, …).await.map_err(|error| grpc::of_engine(&error))?;
//!     Ok(grpc::unary(&Answer { … }))          // or grpc::stream(&shared, messages)
//! })
//! ```

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{Stream, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use kymo_admit::{Compression, Refusal};
use kymo_engine::{EngineError, Tenants};
use prost::Message;
use tokio::sync::mpsc;

use crate::answer::{Code, Failure, retry_info, rpc_status};
use crate::body::{self, Bounds};
use crate::limits::{
    BODY_PAUSE_TIMEOUT, GRPC_ERROR_BYTES, MAX_QUERY_BYTES, PEER_TIMEOUT, RESPONSE_PIECES,
};
use crate::reply::plain;
use crate::router::Shared;
use crate::tenant;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const SUPPORTED: HeaderValue = HeaderValue::from_static("identity,gzip,deflate,zstd");

/// Bytes before a message.
pub(crate) const PREFIX_BYTES: usize = 5;

/// How a call ended that did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// When to try again; `None` if that is of no use.
    pub(crate) retry_after: Option<Duration>,
}

impl Status {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after: None }
    }

    /// The request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }
}

impl From<Failure> for Status {
    fn from(Failure { code, message, retry_after, .. }: Failure) -> Self {
        Self { code, message, retry_after }
    }
}

/// The status of a query that failed.
pub(crate) fn of_engine(error: &EngineError) -> Status {
    let code = match error {
        EngineError::Invalid(_) | EngineError::Evaluation(_) => Code::InvalidArgument,
        EngineError::NotAllowed(_) => Code::PermissionDenied,
        EngineError::Memory { .. } | EngineError::Rows { .. } | EngineError::Busy { .. } => {
            Code::ResourceExhausted
        }
        EngineError::Timeout { .. } => Code::DeadlineExceeded,
        EngineError::Cancelled => Code::Cancelled,
        EngineError::Internal(_) => Code::Internal,
        EngineError::Store(_) | EngineError::Damaged { .. } => Code::Unavailable,
    };
    let retry_after = match error {
        EngineError::Busy { retry_after } => Some(*retry_after),
        _ => None,
    };
    Status { code, message: error.to_string(), retry_after }
}

/// Whether a request speaks gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Answers a method of a query API: reads whose it is and what is asked, and says what went wrong.
pub(crate) async fn answer<M: Message + Default>(
    shared: Shared,
    request: Request<Body>,
    method: impl AsyncFnOnce(Shared, Tenants, M) -> Result<Response, Status>,
) -> Response {
    let (head, body) = request.into_parts();
    if !is_grpc(&head.headers) {
        let other = Failure::unsupported("content_type", "this path speaks gRPC only");
        return plain(other.status, other.message);
    }
    let tenants = match tenant::readable(&head.headers) {
        Ok(tenants) => tenants,
        Err(message) => return fail(&Status::invalid(message)),
    };
    let answered = match read(&shared, &head.headers, body).await {
        Ok(message) => method(shared, tenants, message).await,
        Err(status) => Err(status),
    };
    answered.unwrap_or_else(|status| fail(&status))
}

/// The one message of a request to a query API.
pub(crate) async fn read<M: Message + Default>(
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<M, Status> {
    let bounds = Bounds::new(MAX_QUERY_BYTES + PREFIX_BYTES, BODY_PAUSE_TIMEOUT);
    let read = body::read(body, bounds, &shared.receiver.budget).await;
    let (framed, _reservation) = read.map_err(Failure::from)?;
    decode(unwrap(headers, framed)?)
}

fn decode<M: Message + Default>((compression, packed): (Compression, Bytes)) -> Result<M, Status> {
    let message = kymo_admit::unpack(compression, packed, MAX_QUERY_BYTES);
    let message = message.map_err(|refusal| match refusal {
        Refusal::TooLarge { .. } => {
            let message = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
            Status::new(Code::ResourceExhausted, message)
        }
        other => Failure::from(other).into(),
    })?;
    let unread = |error| Status::invalid(format!("the gRPC message cannot be read: {error}"));
    M::decode(message).map_err(unread)
}

/// A unary request's one message, compressed as it came.
pub(crate) fn unwrap(
    headers: &HeaderMap,
    mut framed: Bytes,
) -> Result<(Compression, Bytes), Failure> {
    let malformed = |message: &str| Failure::invalid("malformed", message);
    if framed.len() < PREFIX_BYTES {
        return Err(malformed("the request has no gRPC message"));
    }
    let flag = framed.get_u8();
    let length = framed.get_u32() as usize;
    if framed.len() != length {
        return Err(malformed("the gRPC message is not as long as its prefix says"));
    }
    let encoding = headers.get(ENCODING).map(|value| value.to_str().unwrap_or("?"));
    let compression = match (flag, encoding) {
        (0, _) => Compression::None,
        (1, Some(name)) => name.parse().map_err(Failure::from)?,
        (1, None) => {
            return Err(malformed("the gRPC message is compressed, but grpc-encoding is missing"));
        }
        _ => return Err(malformed("the gRPC message has an unknown flag")),
    };
    Ok((compression, framed))
}

/// An answer of one message.
pub(crate) fn unary(message: &impl Message) -> Response {
    unary_bytes(&message.encode_to_vec())
}

/// An answer of one message that is encoded already.
pub(crate) fn unary_bytes(message: &[u8]) -> Response {
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.extend_from_slice(message);
    let body = Full::new(framed.freeze()).with_trailers(std::future::ready(Some(Ok(ended()))));
    with_headers(Body::new(body))
}

/// An answer of many messages, encoded on the engine's threads and sent as the reader takes them.
/// A reader that goes away ends the stream.
pub(crate) fn stream<M: Message + 'static>(
    shared: &Shared,
    messages: impl Stream<Item = Result<M, Status>> + Send + 'static,
) -> Response {
    let (sender, receiver) = mpsc::channel(RESPONSE_PIECES);
    let sending = async move {
        let mut messages = pin!(messages);
        let trailers = loop {
            let next = tokio::select! {
                next = messages.next() => next,
                () = sender.closed() => return,
            };
            match next {
                Some(Ok(message)) => {
                    let piece = Frame::data(frame(&message));
                    if sender.send_timeout(piece, PEER_TIMEOUT).await.is_err() {
                        return;
                    }
                }
                Some(Err(status)) => break trailers_of(&status),
                None => break ended(),
            }
        };
        // A reader that has gone does not want to know.
        let _ = sender.send_timeout(Frame::trailers(trailers), PEER_TIMEOUT).await;
    };
    if let Err(error) = shared.engine.spawn(sending) {
        return fail(&of_engine(&error));
    }
    let frames = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|frame| (Ok::<_, Infallible>(frame), receiver))
    });
    with_headers(Body::new(StreamBody::new(frames.fuse())))
}

/// A message with its prefix.
fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = Vec::with_capacity(PREFIX_BYTES + length);
    framed.put_u8(0);
    framed.put_u32(length as u32);
    message.encode_raw(&mut framed);
    framed.into()
}

fn with_headers(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response.headers_mut().insert(ACCEPT_ENCODING, SUPPORTED);
    response
}

/// The trailers of a call that ended well.
fn ended() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    trailers
}

fn trailers_of(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(3);
    trailers.insert(STATUS, HeaderValue::from(status.code as u16));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&status.message)) {
        trailers.insert(MESSAGE, message);
    }
    if let Some(after) = status.retry_after {
        let details = rpc_status(status.code as i32, &status.message, &[retry_info(after)]);
        if let Ok(details) = HeaderValue::from_str(&STANDARD_NO_PAD.encode(details)) {
            trailers.insert(DETAILS, details);
        }
    }
    trailers
}

/// An answer without a message: all of it in headers.
pub(crate) fn fail(status: &Status) -> Response {
    let mut response = with_headers(Body::empty());
    response.headers_mut().extend(trailers_of(status));
    response
}

/// The answer to a method that is not here.
pub(crate) fn unimplemented(path: &str) -> Response {
    let message = format!(
        "there is no gRPC method {path} here; OTLP's Export, the query services of Tempo and Jaeger \
         and Flight SQL are"
    );
    fail(&Status::new(Code::Unimplemented, message))
}

/// Text as gRPC's `grpc-message` wants it: printable ASCII, the rest as `%XX`.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(GRPC_ERROR_BYTES));
    for byte in text.bytes() {
        if out.len() >= GRPC_ERROR_BYTES {
            break;
        }
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => {
                out.push('%');
                for digit in [byte >> 4, byte & 15] {
                    out.push(
                        char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase(),
                    );
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn message(flag: u8, length: u32, body: &[u8]) -> Bytes {
        let mut framed = vec![flag];
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(body);
        framed.into()
    }

    #[test]
    fn a_message_is_unwrapped() {
        let none = HeaderMap::new();
        let plain = unwrap(&none, message(0, 2, b"ab"));
        assert_eq!(plain, Ok((Compression::None, Bytes::from("ab"))));
        let mut zstd = HeaderMap::new();
        zstd.insert(ENCODING, HeaderValue::from_static("zstd"));
        let packed = unwrap(&zstd, message(1, 2, b"ab"));
        assert_eq!(packed, Ok((Compression::Zstd, Bytes::from("ab"))));
        let plain = unwrap(&zstd, message(0, 2, b"ab"));
        assert_eq!(plain, Ok((Compression::None, Bytes::from("ab"))));
    }

    #[test]
    fn a_bad_message_is_named() {
        let none = HeaderMap::new();
        for (framed, word) in [
            (Bytes::from("abcd"), "no gRPC message"),
            (message(0, 3, b"ab"), "as long as"),
            (message(0, 1, b"ab"), "as long as"),
            (message(1, 2, b"ab"), "grpc-encoding is missing"),
            (message(7, 2, b"ab"), "unknown flag"),
        ] {
            let failure = unwrap(&none, framed).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArgument);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }

    #[test]
    fn a_query_is_decoded_as_it_is_and_unpacked_within_bounds() {
        let gzip = |bytes: &[u8]| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            (Compression::Gzip, Bytes::from(encoder.finish().unwrap()))
        };
        let text = "{ }".to_owned();
        let encoded = text.encode_to_vec();
        assert_eq!(decode::<String>((Compression::None, encoded.clone().into())), Ok(text.clone()));
        assert_eq!(decode::<String>(gzip(&encoded)), Ok(text));
        let bomb = decode::<String>(gzip(&"x".repeat(MAX_QUERY_BYTES + 1).encode_to_vec()));
        assert_eq!(bomb.unwrap_err().code, Code::ResourceExhausted);
        let broken = decode::<String>((Compression::Gzip, Bytes::from("no gzip")));
        assert_eq!(broken.unwrap_err().code, Code::InvalidArgument);
        let broken = decode::<String>((Compression::None, Bytes::from_static(&[0x0a, 9])));
        assert_eq!(broken.unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn messages_are_percent_encoded_and_bounded() {
        assert_eq!(percent_encoded("50 % ü\n"), "50 %25 %C3%BC%0A");
        assert!(percent_encoded(&"ü".repeat(10_000)).len() <= GRPC_ERROR_BYTES + 2);
    }

    #[test]
    fn a_failure_is_all_in_headers() {
        let busy = EngineError::Busy { retry_after: Duration::from_secs(3) };
        let response = fail(&of_engine(&busy));
        assert_eq!(response.headers()[STATUS], "8");
        assert!(response.headers()[MESSAGE].to_str().unwrap().contains("try again in 3 s"));
        assert!(response.headers().contains_key(DETAILS));
        assert_eq!(response.headers()[CONTENT_TYPE], "application/grpc");
    }
}
