//! What is pushed to Loki: `POST /loki/api/v1/push`, and OTLP at `/loki/otlp/v1/logs`.
//!
//! A push is JSON if its content type says so, otherwise protobuf in snappy, as Loki has it. It
//! becomes OTLP before it is admitted, so that limits, rules and the audience are the same for all.
//! What is accepted is answered with 204; streams and entries that cannot be kept with 400 and the
//! first of their faults, the others of the push are kept.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use kymo_admit::{Compression, PushFormat, Signal};

use crate::answer::Failure;
use crate::body;
use crate::otlp::http as otlp_http;
use crate::receive::{Accepted, Content, Incoming};
use crate::reply::{plain, refused};
use crate::router::Shared;
use crate::telemetry::Protocol;
use crate::tenant;

/// `/loki/api/v1/push`
pub(super) async fn push(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let tenant = tenant::of(&head.headers);
    let counted_for = tenant.as_ref().map_or(tenant::DEFAULT, |tenant| tenant).to_owned();
    let checked = tenant.map_err(|why| Failure::invalid("bad_tenant", why)).and_then(|tenant| {
        let format = format_of(&head.headers);
        Ok((tenant, format, compression_of(&head.headers, format)?))
    });
    let received = match checked {
        Ok((tenant, format, compression)) => {
            receive(&shared, tenant, format, compression, body).await
        }
        Err(failure) => {
            body::drain(body).await;
            Err(failure)
        }
    };
    match received {
        Ok(accepted) => accept(&accepted),
        Err(failure) => {
            shared.receiver.refused(&counted_for, Signal::Logs, &failure);
            refused(failure, plain)
        }
    }
}

/// `/loki/otlp/v1/logs`: OTLP as everywhere, but that Loki answers without a body.
pub(super) async fn otlp(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let response = otlp_http::answer(shared, Signal::Logs, request).await;
    // A partial success has something to say.
    let is_silent = response.headers().get(CONTENT_TYPE).is_some_and(|content_type| {
        let body_bytes = http_body::Body::size_hint(response.body()).exact();
        let nothing = if content_type == "application/json" { 2 } else { 0 };
        body_bytes == Some(nothing)
    });
    match response.status() {
        StatusCode::OK if is_silent => no_content(),
        _ => response,
    }
}

async fn receive(
    shared: &Shared,
    tenant: &str,
    format: PushFormat,
    compression: Compression,
    body: Body,
) -> Result<Accepted, Failure> {
    let receiver = &shared.receiver;
    let (body, _reservation) = body::read(body, receiver.bounds(tenant), &receiver.budget).await?;
    let (signal, protocol) = (Signal::Logs, Protocol::Loki);
    let content = Content::Push(format);
    receiver.receive(Incoming { tenant, signal, protocol, content, compression, body }).await
}

fn accept(accepted: &Accepted) -> Response {
    match &accepted.partial {
        // What is refused will be refused again: the sender must not try.
        Some((refused, message)) if *refused > 0 => {
            plain(StatusCode::BAD_REQUEST, format!("{message}; everything else was kept"))
        }
        _ => no_content(),
    }
}

fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// JSON if the content type says so.
fn format_of(headers: &HeaderMap) -> PushFormat {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = value.split(';').next().unwrap_or("").trim();
    match essence.eq_ignore_ascii_case("application/json") {
        true => PushFormat::Json,
        false => PushFormat::Protobuf,
    }
}

/// Protobuf is always in snappy, and says so or not.
fn compression_of(headers: &HeaderMap, format: PushFormat) -> Result<Compression, Failure> {
    let name = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    let is_snappy = name.is_none_or(|name| name.is_empty() || name.eq_ignore_ascii_case("snappy"));
    match format {
        PushFormat::Json if name.is_some_and(|name| name.eq_ignore_ascii_case("snappy")) => {
            Ok(Compression::Snappy)
        }
        PushFormat::Json => otlp_http::compression_of(headers),
        PushFormat::Protobuf if is_snappy => Ok(Compression::Snappy),
        PushFormat::Protobuf => {
            let name = name.unwrap_or_default();
            let message = format!("content encoding is {name:?}; protobuf is pushed with snappy");
            Err(Failure::unsupported("content_encoding", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(content_type: &str, encoding: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        }
        if !encoding.is_empty() {
            headers.insert(CONTENT_ENCODING, encoding.parse().unwrap());
        }
        headers
    }

    #[test]
    fn what_is_not_json_is_protobuf_in_snappy() {
        for (content_type, encoding, expected) in [
            ("application/json", "", Some((PushFormat::Json, Compression::None))),
            (
                "Application/JSON; charset=utf-8",
                "gzip",
                Some((PushFormat::Json, Compression::Gzip)),
            ),
            ("application/json", "deflate", Some((PushFormat::Json, Compression::Deflate))),
            ("application/x-protobuf", "", Some((PushFormat::Protobuf, Compression::Snappy))),
            ("", "snappy", Some((PushFormat::Protobuf, Compression::Snappy))),
            ("text/plain", "", Some((PushFormat::Protobuf, Compression::Snappy))),
            ("application/x-protobuf", "gzip", None),
            ("application/json", "br", None),
        ] {
            let headers = headers(content_type, encoding);
            let format = format_of(&headers);
            let found = compression_of(&headers, format).ok().map(|found| (format, found));
            assert_eq!(found, expected, "{content_type} {encoding}");
        }
    }
}
