//! OTLP over HTTP: `POST /v1/traces`, `/v1/metrics`, `/v1/logs`, protobuf or JSON.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use kymo_admit::{Compression, Format, Signal};

use super::{Wrapping, export, response};
use crate::answer::{Failure, retry_info, rpc_status};
use crate::receive::Accepted;
use crate::reply::{refused, typed};
use crate::router::Shared;
use crate::telemetry::Protocol;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Answers a path.
pub(crate) async fn answer(shared: Shared, signal: Signal, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let format = format_of(&head.headers);
    // Who sends an unknown type is answered in the one that people read.
    let answer_format = *format.as_ref().unwrap_or(&Format::Json);
    match export(&shared, signal, &head.headers, body, format.map(Http)).await {
        Ok(accepted) => accept(&accepted, signal, answer_format),
        Err(failure) => fail(failure, answer_format),
    }
}

/// A body that is the message.
struct Http(Format);

impl Wrapping for Http {
    const PREFIX_BYTES: usize = 0;

    fn protocol(&self) -> Protocol {
        match self.0 {
            Format::Protobuf => Protocol::HttpProtobuf,
            Format::Json => Protocol::HttpJson,
        }
    }

    fn format(&self) -> Format {
        self.0
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        compression_of(headers).map(drop)
    }

    fn unwrap(&self, headers: &HeaderMap, body: Bytes) -> Result<(Compression, Bytes), Failure> {
        Ok((compression_of(headers)?, body))
    }
}

pub(crate) fn format_of(headers: &HeaderMap) -> Result<Format, Failure> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = value.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case(PROTOBUF)
        || essence.eq_ignore_ascii_case("application/protobuf")
    {
        Ok(Format::Protobuf)
    } else if essence.eq_ignore_ascii_case(JSON) {
        Ok(Format::Json)
    } else {
        let message = format!("content type is {value:?}; send {PROTOBUF} or {JSON}");
        Err(Failure::unsupported("content_type", message))
    }
}

pub(crate) fn compression_of(headers: &HeaderMap) -> Result<Compression, Failure> {
    let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(Compression::None) };
    let name = value.to_str().unwrap_or("?");
    name.parse::<Compression>().map_err(Failure::from)
}

pub(crate) fn accept(accepted: &Accepted, signal: Signal, format: Format) -> Response {
    let partial = accepted.partial.as_ref();
    let body = match (format, partial) {
        (Format::Protobuf, partial) => response(partial),
        (Format::Json, None) => b"{}".to_vec(),
        (Format::Json, Some((rejected, message))) => serde_json::json!({
            "partialSuccess": {
                signal.rejected_key(): rejected.to_string(),
                "errorMessage": message,
            }
        })
        .to_string()
        .into_bytes(),
    };
    message(StatusCode::OK, format, body)
}

pub(crate) fn fail(failure: Failure, format: Format) -> Response {
    let (code, retry_after) = (failure.code as i32, failure.retry_after);
    refused(failure, |status, why| {
        let body = match format {
            Format::Protobuf => {
                let details: Vec<Vec<u8>> = retry_after.map(retry_info).into_iter().collect();
                rpc_status(code, &why, &details)
            }
            Format::Json => {
                serde_json::json!({ "code": code, "message": why }).to_string().into_bytes()
            }
        };
        message(status, format, body)
    })
}

fn message(status: StatusCode, format: Format, body: Vec<u8>) -> Response {
    let content_type = match format {
        Format::Protobuf => PROTOBUF,
        Format::Json => JSON,
    };
    typed(status, content_type, body)
}
