//! Remote-write, 1.0 and 2.0: `POST /api/v1/write`.
//!
//! Which of the two a body is, its content type says. What is accepted is answered with 204; single
//! series that cannot be kept are refused with 400 and counted, the others of the request are kept.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use kymo_admit::{Compression, Signal, Version};

use crate::answer::Failure;
use crate::body;
use crate::receive::{Accepted, Content, Incoming};
use crate::reply::{plain, refused};
use crate::router::Shared;
use crate::telemetry::Protocol;
use crate::tenant;

const PROTOBUF: &str = "application/x-protobuf";
const SECOND: &str = "io.prometheus.write.v2.request";
const FIRST: &str = "prometheus.writerequest";

/// Answers the path.
pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let tenant = tenant::of(&head.headers);
    let counted_for = tenant.as_ref().map_or(tenant::DEFAULT, |tenant| tenant).to_owned();
    let checked = tenant.map_err(|why| Failure::invalid("bad_tenant", why)).and_then(|tenant| {
        Ok((tenant, version_of(&head.headers)?, compression_of(&head.headers)?))
    });
    let received = match checked {
        Ok((tenant, version, compression)) => {
            receive(&shared, tenant, version, compression, body).await.map(|a| (version, a))
        }
        Err(failure) => {
            body::drain(body).await;
            Err(failure)
        }
    };
    match received {
        Ok((version, accepted)) => accept(version, &accepted),
        Err(failure) => {
            shared.receiver.refused(&counted_for, Signal::Metrics, &failure);
            refused(failure, plain)
        }
    }
}

async fn receive(
    shared: &Shared,
    tenant: &str,
    version: Version,
    compression: Compression,
    body: Body,
) -> Result<Accepted, Failure> {
    let receiver = &shared.receiver;
    let bounds = receiver.bounds(tenant);
    let (body, _reservation) = body::read(body, bounds, &receiver.budget).await?;
    let content = Content::RemoteWrite(version);
    let (signal, protocol) = (Signal::Metrics, Protocol::RemoteWrite);
    receiver.receive(Incoming { tenant, signal, protocol, content, compression, body }).await
}

fn accept(version: Version, accepted: &Accepted) -> Response {
    let mut response = match &accepted.partial {
        // What is refused will be refused again: the sender must not try.
        Some((refused, message)) if *refused > 0 => {
            plain(StatusCode::BAD_REQUEST, format!("{message}; everything else was kept"))
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
    };
    if let (Version::Two, Some(counts)) = (version, &accepted.written) {
        for (name, count) in [
            ("x-prometheus-remote-write-samples-written", counts.samples),
            ("x-prometheus-remote-write-histograms-written", counts.histograms),
            ("x-prometheus-remote-write-exemplars-written", counts.exemplars),
        ] {
            response.headers_mut().insert(name, HeaderValue::from(count));
        }
    }
    response
}

/// The version that a content type names.
fn version_of(headers: &HeaderMap) -> Result<Version, Failure> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or("");
    let wrong = || {
        let message = format!(
            "content type is {value:?}; send {PROTOBUF} for remote-write 1.0, or \
             {PROTOBUF};proto=io.prometheus.write.v2.Request for 2.0"
        );
        Failure::unsupported("content_type", message)
    };
    // Senders of 1.0 that say nothing are known.
    if !essence.is_empty() && !essence.eq_ignore_ascii_case(PROTOBUF) {
        return Err(wrong());
    }
    let proto = parts.find_map(|part| part.split_once('=').filter(|(name, _)| *name == "proto"));
    match proto.map(|(_, message)| message.trim_matches('"').to_ascii_lowercase()) {
        None => Ok(Version::One),
        Some(message) if message == FIRST => Ok(Version::One),
        Some(message) if message == SECOND => Ok(Version::Two),
        Some(_) => Err(wrong()),
    }
}

fn compression_of(headers: &HeaderMap) -> Result<Compression, Failure> {
    let name = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    // Some senders of 1.0 leave the header out: the body is snappy all the same.
    match name {
        None => Ok(Compression::Snappy),
        Some(name) if name.eq_ignore_ascii_case("snappy") => Ok(Compression::Snappy),
        Some(name) => {
            let message = format!("content encoding is {name:?}; remote-write is sent with snappy");
            Err(Failure::unsupported("content_encoding", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_tells_the_version() {
        let version = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, value.parse().unwrap());
            version_of(&headers).ok()
        };
        assert_eq!(version("application/x-protobuf"), Some(Version::One));
        let first = "application/x-protobuf; proto=prometheus.WriteRequest";
        assert_eq!(version(first), Some(Version::One));
        let second = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
        assert_eq!(version(second), Some(Version::Two));
        assert_eq!(version("application/x-protobuf;proto=other"), None);
        assert_eq!(version("application/json"), None);
        assert_eq!(version_of(&HeaderMap::new()).ok(), Some(Version::One));
    }
}
