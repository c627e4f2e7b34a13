//! `GET /tempo/api/traces/{id}` and `/tempo/api/v2/traces/{id}`.
//!
//! | | found | unknown |
//! |---|---|---|
//! | v1 protobuf | `Trace` | 404 |
//! | v1 JSON | `{"batches":[…]}` | 404 |
//! | v2 protobuf | `TraceByIDResponse` | 200, an empty trace |
//! | v2 JSON | `{"trace":{"resourceSpans":[…]},"metrics":{}}` | 200, `{"trace":{},"metrics":{}}` |
//!
//! JSON is protobuf's own mapping: ids in base64, enumerations by name.

use std::time::Instant;

use axum::extract::{Path, State};
use axum::response::Response;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use kymo_engine::EngineError;
use kymo_store::otlp::TraceResult;
use kymo_wire::encode::Writer;
use kymo_wire::json::{Style, encode_styled};
use kymo_wire::{Signal, WireError};

use super::complete::complete;
use crate::reply::{failed, plain, typed};
use crate::router::Shared;
use crate::tenant;

/// What `resourceSpans` alone looks like in front of its list.
const JSON_LIST: &[u8] = b"{\"resourceSpans\":";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

pub(crate) async fn by_id(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    answer(&shared, &id, &headers, Version::One).await
}

pub(crate) async fn by_id_v2(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    answer(&shared, &id, &headers, Version::Two).await
}

async fn answer(shared: &Shared, id: &str, headers: &HeaderMap, version: Version) -> Response {
    let began = Instant::now();
    let tenant = match tenant::of(headers) {
        Ok(tenant) => tenant,
        Err(message) => return plain(StatusCode::BAD_REQUEST, message),
    };
    let Some(trace_id) = parse_id(id) else {
        let message = format!("{id:?} is no trace id: 1 to 32 hexadecimal digits are expected");
        return plain(StatusCode::BAD_REQUEST, message);
    };
    let protobuf = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/protobuf"));
    let found = shared.engine.trace(tenant, trace_id).await;
    let outcome = found.as_ref().err().map_or("ok", EngineError::kind);
    shared.telemetry.query("trace", outcome, began.elapsed());
    match found {
        Ok(None) if version == Version::One => plain(StatusCode::NOT_FOUND, String::new()),
        Ok(trace) => shared.encode(move || write(trace, version, protobuf)).await,
        Err(error) => failed(&error, plain),
    }
}

fn write(trace: Option<TraceResult>, version: Version, protobuf: bool) -> Response {
    let damaged_blocks = trace.as_ref().map_or(0, |trace| trace.damaged_blocks);
    let trace = match trace.map(|trace| complete(&trace.body)).transpose() {
        Ok(trace) => trace.unwrap_or_default(),
        Err(error) => return unreadable(error),
    };
    if protobuf {
        let body = match version {
            Version::One => trace,
            Version::Two => response_v2(&trace, damaged_blocks),
        };
        return typed(StatusCode::OK, "application/protobuf", body);
    }
    match json(&trace, version, damaged_blocks) {
        Ok(body) => typed(StatusCode::OK, "application/json", body),
        Err(error) => unreadable(error),
    }
}

/// `TraceByIDResponse`: `trace` = 1, `metrics` = 2, `status` = 3, `message` = 4.
fn response_v2(trace: &[u8], damaged_blocks: usize) -> Vec<u8> {
    const PARTIAL: u64 = 1;
    let mut writer = Writer::with_capacity(trace.len() + 16);
    writer.bytes_field(1, trace);
    writer.bytes_field(2, &[]);
    if damaged_blocks > 0 {
        writer.varint_field(3, PARTIAL);
        writer.bytes_field(4, damaged(damaged_blocks).as_bytes());
    }
    writer.into_bytes()
}

fn damaged(blocks: usize) -> String {
    let plural = if blocks == 1 { "block is" } else { "blocks are" };
    format!("{blocks} damaged {plural} left out; spans may be missing")
}

fn json(trace: &[u8], version: Version, damaged_blocks: usize) -> Result<Vec<u8>, WireError> {
    let mut document = Vec::with_capacity(trace.len() * 3);
    encode_styled(Signal::Traces, trace, Style::Protobuf, &mut document)?;
    Ok(match version {
        Version::One => match document.strip_prefix(JSON_LIST) {
            Some(list) => [b"{\"batches\":", list].concat(),
            None => document,
        },
        Version::Two => {
            let mut out = b"{\"trace\":".to_vec();
            out.append(&mut document);
            out.extend_from_slice(b",\"metrics\":{}");
            if damaged_blocks > 0 {
                let message = damaged(damaged_blocks);
                out.extend_from_slice(
                    format!(",\"status\":\"PARTIAL\",\"message\":\"{message}\"").as_bytes(),
                );
            }
            out.push(b'}');
            out
        }
    })
}

fn unreadable(error: WireError) -> Response {
    tracing::error!(%error, "a stored trace cannot be read");
    let message = format!("the stored trace cannot be read: {error}");
    plain(StatusCode::INTERNAL_SERVER_ERROR, message)
}

/// A trace id in hexadecimal; leading zeros may be missing.
fn parse_id(text: &str) -> Option<[u8; 16]> {
    let is_hex =
        !text.is_empty() && text.len() <= 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hex {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_lack_leading_zeros_and_nothing_else() {
        assert_eq!(parse_id("ff"), Some(u128::to_be_bytes(255)));
        assert_eq!(parse_id("5B8EFFF798038103d269b633813fc60c").map(|id| id[0]), Some(0x5b));
        for bad in ["", "+1", "0x1", "g", "123456789012345678901234567890123"] {
            assert_eq!(parse_id(bad), None, "{bad}");
        }
    }
}
