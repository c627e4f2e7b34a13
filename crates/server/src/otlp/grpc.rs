//! OTLP over gRPC: three unary methods.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Request};
use kymo_admit::{Compression, Format, Signal};

use super::{Wrapping, export, response};
use crate::answer::Failure;
use crate::grpc;
use crate::reply::plain;
use crate::router::Shared;
use crate::telemetry::Protocol;

/// Answers a method.
pub(crate) async fn answer(shared: Shared, signal: Signal, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let is_grpc = grpc::is_grpc(&head.headers);
    let wrapping = if is_grpc {
        Ok(Grpc)
    } else {
        Err(Failure::unsupported("content_type", "this path speaks gRPC only"))
    };
    match export(&shared, signal, &head.headers, body, wrapping).await {
        Ok(accepted) => grpc::unary_bytes(&response(accepted.partial.as_ref())),
        Err(failure) if is_grpc => grpc::fail(&failure.into()),
        Err(failure) => plain(failure.status, failure.message),
    }
}

/// A unary request's one message.
struct Grpc;

impl Wrapping for Grpc {
    const PREFIX_BYTES: usize = grpc::PREFIX_BYTES;

    fn protocol(&self) -> Protocol {
        Protocol::Grpc
    }

    fn format(&self) -> Format {
        Format::Protobuf
    }

    fn check(&self, _headers: &HeaderMap) -> Result<(), Failure> {
        Ok(())
    }

    fn unwrap(&self, headers: &HeaderMap, framed: Bytes) -> Result<(Compression, Bytes), Failure> {
        grpc::unwrap(headers, framed)
    }
}
