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
    protocol: Protocol,
}

impl Own {
    /// Of what the server knows by itself.
    pub(super) fn new(receiver: Arc<Receiver>) -> Self {
        Self { receiver, protocol: Protocol::Own }
    }

    /// Of what targets told.
    pub(super) fn of_targets(receiver: Arc<Receiver>) -> Self {
        Self { receiver, protocol: Protocol::Scraped }
    }

    /// Makes samples durable. What is not accepted is counted, as any sender's.
    pub(super) async fn write(&self, request: RequestWriter) -> Result<Accepted, Failure> {
        let incoming = Incoming {
            tenant: tenant::DEFAULT,
            signal: Signal::Metrics,
            protocol: self.protocol,
            content: Content::RemoteWrite(Version::Two),
            compression: Compression::None,
            body: Bytes::from(request.finish()),
        };
        let received = self.receiver.receive(incoming).await;
        if let Err(failure) = &received {
            self.receiver.refused(tenant::DEFAULT, Signal::Metrics, failure);
        }
        received
    }

    /// Writes samples of any number, in requests of bounded size.
    pub(super) fn pieces(&self) -> Pieces<'_> {
        let max_bytes = self.receiver.bounds(tenant::DEFAULT).max_bytes;
        Pieces {
            own: self,
            max_bytes: PIECE_BYTES.min(max_bytes / 2),
            writer: RequestWriter::new(),
            refused: None,
        }
    }
}

/// A request that has this size is sent: large enough to be worth its fixed costs, and well below
/// what a request may have, also with one more series.
const PIECE_BYTES: usize = 4 << 20;

/// Samples on their way, in requests of bounded size. If one of them fails, those before it are
/// stored and the rest is not.
pub(super) struct Pieces<'a> {
    own: &'a Own,
    max_bytes: usize,
    writer: RequestWriter,
    /// Samples that were left out, and why the first of them were.
    refused: Option<(u64, String)>,
}

impl Pieces<'_> {
    /// Where the next series is written to.
    pub(super) fn writer(&mut self) -> &mut RequestWriter {
        &mut self.writer
    }

    /// Makes what was written durable, if it is enough for a request.
    pub(super) async fn send_if_large(&mut self) -> Result<(), Failure> {
        if self.writer.size_bytes() >= self.max_bytes {
            self.send().await?;
        }
        Ok(())
    }

    /// Makes the rest durable. Gives how many samples were refused for what they are, and why.
    pub(super) async fn finish(mut self) -> Result<Option<(u64, String)>, Failure> {
        self.send().await?;
        Ok(self.refused)
    }

    async fn send(&mut self) -> Result<(), Failure> {
        let request = std::mem::take(&mut self.writer);
        if request.points() == 0 {
            return Ok(());
        }
        let accepted = self.own.write(request).await?;
        if let Some((count, why)) = accepted.partial.filter(|(count, _)| *count > 0) {
            let (before, why) = self.refused.take().unwrap_or((0, why));
            self.refused = Some((before + count, why));
        }
        Ok(())
    }
}
