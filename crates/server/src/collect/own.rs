//! Writing what the server gathered itself.

use std::sync::Arc;

use bytes::Bytes;
use kymo_admit::{Compression, Signal, Version};
use kymo_wire::remote_write::RequestWriter;

use crate::answer::Failure;
use crate::receive::{Accepted, Content, Incoming, Receiver};
use crate::telemetry::Protocol;
use crate::tenant;

/// A sender within the server.
#[derive(Clone)]
pub(super) struct Own {
    receiver: Arc<Receiver>,
}

impl Own {
    pub(super) fn new(receiver: Arc<Receiver>) -> Self {
        Self { receiver }
    }

    /// Makes samples durable.
    pub(super) async fn write(&self, request: RequestWriter) -> Result<Accepted, Failure> {
        let incoming = Incoming {
            tenant: tenant::DEFAULT,
            signal: Signal::Metrics,
            protocol: Protocol::Own,
            content: Content::RemoteWrite(Version::Two),
            compression: Compression::None,
            body: Bytes::from(request.finish()),
        };
        self.receiver.receive(incoming).await
    }
}
