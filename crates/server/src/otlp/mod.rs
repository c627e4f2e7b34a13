//! OTLP, as its specification wants it answered: over gRPC (`grpc`) and over HTTP with protobuf
//! and JSON bodies (`http`). Both unwrap a request and say in their own words what came of it; what
//! lies between is the same ([`export`]).

pub(crate) mod grpc;
pub(crate) mod http;

use ::http::HeaderMap;
use axum::body::Body;
use bytes::Bytes;
use kymo_admit::{Compression, Format, Signal};
use kymo_wire::encode::Writer;

use crate::answer::Failure;
use crate::body;
use crate::receive::{Accepted, Content, Incoming};
use crate::router::Shared;
use crate::telemetry::Protocol;
use crate::tenant;

/// What a protocol puts around a request.
trait Wrapping {
    /// Bytes before the message.
    const PREFIX_BYTES: usize;
    /// How metrics name it.
    fn protocol(&self) -> Protocol;
    fn format(&self) -> Format;
    /// Refuses what headers alone show to be wrong, before a body is read.
    fn check(&self, headers: &HeaderMap) -> Result<(), Failure>;
    /// The message in a body.
    fn unwrap(&self, headers: &HeaderMap, body: Bytes) -> Result<(Compression, Bytes), Failure>;
}

/// Reads a request and makes it durable. What is refused on the way is counted here.
async fn export(
    shared: &Shared,
    signal: Signal,
    headers: &HeaderMap,
    body: Body,
    wrapping: Result<impl Wrapping, Failure>,
) -> Result<Accepted, Failure> {
    let receiver = &shared.receiver;
    let tenant = tenant::of(headers);
    let counted_for = *tenant.as_ref().unwrap_or(&tenant::DEFAULT);
    let checked = tenant.map_err(|why| Failure::invalid("bad_tenant", why)).and_then(|tenant| {
        let wrapping = wrapping?;
        wrapping.check(headers)?;
        Ok((tenant, wrapping))
    });
    let exported = match checked {
        Ok((tenant, wrapping)) => {
            read_and_receive(shared, signal, headers, body, tenant, &wrapping).await
        }
        Err(failure) => {
            body::drain(body).await;
            Err(failure)
        }
    };
    exported.inspect_err(|failure| receiver.refused(counted_for, signal, failure))
}

async fn read_and_receive<W: Wrapping>(
    shared: &Shared,
    signal: Signal,
    headers: &HeaderMap,
    body: Body,
    tenant: &str,
    wrapping: &W,
) -> Result<Accepted, Failure> {
    let receiver = &shared.receiver;
    let mut bounds = receiver.bounds(tenant);
    bounds.max_bytes = bounds.max_bytes.saturating_add(W::PREFIX_BYTES);
    let (whole, _reservation) = body::read(body, bounds, &receiver.budget).await?;
    let (compression, body) = wrapping.unwrap(headers, whole)?;
    let (protocol, content) = (wrapping.protocol(), Content::Otlp(wrapping.format()));
    receiver.receive(Incoming { tenant, signal, protocol, content, compression, body }).await
}

/// The messages of an answer are alike for all signals: `partial_success`, in it how many records
/// were refused, and why.
const PARTIAL_SUCCESS: u32 = 1;
const REJECTED: u32 = 1;
const ERROR_MESSAGE: u32 = 2;

/// The answer to a request that was accepted, wholly or in part.
pub(crate) fn response(partial: Option<&(u64, String)>) -> Vec<u8> {
    let mut writer = Writer::new();
    if let Some((rejected, message)) = partial {
        writer.message(PARTIAL_SUCCESS, |partial| {
            if *rejected > 0 {
                partial.varint_field(REJECTED, *rejected);
            }
            partial.bytes_field(ERROR_MESSAGE, message.as_bytes());
        });
    }
    writer.into_bytes()
}
