//! OTLP over gRPC: three unary methods.
//!
//! A gRPC message is a byte that tells whether it is compressed, its length in four bytes, and the
//! message. We unwrap that here instead of letting a gRPC library do it, because the journal keeps
//! requests as they came, compressed; and because the specification of OTLP wants codes (too large,
//! not decodable, back-pressure with a time) that a library answers otherwise.

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use kymo_admit::{Compression, Format, Signal};

use super::{Wrapping, export, response, retry_info, status};
use crate::answer::Failure;
use crate::receive::Accepted;
use crate::reply::plain;
use crate::router::Shared;
use crate::telemetry::Protocol;

/// The path of a signal's method.
pub(crate) fn path(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    }
}

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const SUPPORTED: HeaderValue = HeaderValue::from_static("identity,gzip,deflate,zstd");

/// Bytes before a message.
const PREFIX_BYTES: usize = 5;

/// Whether a request speaks gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Answers a method.
pub(crate) async fn answer(shared: Shared, signal: Signal, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    if is_grpc(&head.headers) {
        return match export(&shared, signal, &head.headers, body, Ok(Grpc)).await {
            Ok(accepted) => accept(&accepted),
            Err(failure) => fail(&failure),
        };
    }
    let other: Result<Grpc, _> =
        Err(Failure::unsupported("content_type", "this path speaks gRPC only"));
    match export(&shared, signal, &head.headers, body, other).await {
        Ok(accepted) => accept(&accepted),
        Err(failure) => plain(failure.status, failure.message),
    }
}

/// A unary request's one message.
struct Grpc;

impl Wrapping for Grpc {
    const PREFIX_BYTES: usize = PREFIX_BYTES;

    fn protocol(&self) -> Protocol {
        Protocol::Grpc
    }

    fn format(&self) -> Format {
        Format::Protobuf
    }

    fn check(&self, _headers: &HeaderMap) -> Result<(), Failure> {
        Ok(())
    }

    fn unwrap(
        &self,
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
                let message = "the gRPC message is compressed, but grpc-encoding is missing";
                return Err(malformed(message));
            }
            _ => return Err(malformed("the gRPC message has an unknown flag")),
        };
        Ok((compression, framed))
    }
}

fn accept(accepted: &Accepted) -> Response {
    let message = response(accepted.partial.as_ref());
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.extend_from_slice(&message);
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    let body = Full::new(framed.freeze()).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response.headers_mut().insert(ACCEPT_ENCODING, SUPPORTED);
    response
}

/// An answer without a message: all of it in headers.
fn fail(failure: &Failure) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, GRPC);
    headers.insert(ACCEPT_ENCODING, SUPPORTED);
    headers.insert(STATUS, HeaderValue::from(failure.code as u16));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&failure.message)) {
        headers.insert(MESSAGE, message);
    }
    if let Some(after) = failure.retry_after {
        let details = status(failure.code as i32, &failure.message, &[retry_info(after)]);
        if let Ok(details) = HeaderValue::from_str(&STANDARD_NO_PAD.encode(details)) {
            headers.insert(DETAILS, details);
        }
    }
    response
}

/// The answer to a method that is not here.
pub(crate) fn unimplemented(path: &str) -> Response {
    let message = format!("there is no gRPC method {path} here; OTLP's Export is");
    fail(&Failure::unsupported("unknown_method", message))
}

/// Text as gRPC's `grpc-message` wants it: printable ASCII, the rest as `%XX`.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
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
    use crate::answer::Code;

    fn unwrap_message(framed: Bytes, headers: &HeaderMap) -> Result<(Compression, Bytes), Failure> {
        Grpc.unwrap(headers, framed)
    }

    fn message(flag: u8, length: u32, body: &[u8]) -> Bytes {
        let mut framed = vec![flag];
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(body);
        framed.into()
    }

    #[test]
    fn a_message_is_unwrapped() {
        let none = HeaderMap::new();
        let plain = unwrap_message(message(0, 2, b"ab"), &none);
        assert_eq!(plain, Ok((Compression::None, Bytes::from("ab"))));
        let mut zstd = HeaderMap::new();
        zstd.insert(ENCODING, HeaderValue::from_static("zstd"));
        let packed = unwrap_message(message(1, 2, b"ab"), &zstd);
        assert_eq!(packed, Ok((Compression::Zstd, Bytes::from("ab"))));
        let plain = unwrap_message(message(0, 2, b"ab"), &zstd);
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
            let failure = unwrap_message(framed, &none).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArgument);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }

    #[test]
    fn messages_are_percent_encoded() {
        assert_eq!(percent_encoded("50 % ü\n"), "50 %25 %C3%BC%0A");
    }
}
