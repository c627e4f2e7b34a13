//! Bodies of requests: pieces of memory, one after the other, that are not copied.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use kymo_journal::Compression;

use crate::answer::GRPC_FRAME_BYTES;

/// What is sent: bytes, and how they are packed.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    pub(crate) chunks: Vec<Bytes>,
    pub(crate) compression: Compression,
}

impl Encoded {
    pub(crate) fn size_bytes(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum()
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.compression != Compression::None
    }

    /// As the body of a request; for gRPC with what stands in front of a message.
    pub(crate) fn body(&self, is_grpc: bool) -> Result<reqwest::Body, String> {
        let mut chunks = self.chunks.clone();
        if is_grpc {
            chunks.insert(0, frame(self)?);
        }
        Ok(match <[Bytes; 1]>::try_from(chunks) {
            Ok([one]) => one.into(),
            Err(chunks) => reqwest::Body::wrap(Chunks::new(chunks)),
        })
    }
}

/// What stands in front of a message of gRPC.
fn frame(encoded: &Encoded) -> Result<Bytes, String> {
    let length = u32::try_from(encoded.size_bytes())
        .map_err(|_| "the message is too large for gRPC".to_owned())?;
    let mut frame = Vec::with_capacity(GRPC_FRAME_BYTES);
    frame.push(u8::from(encoded.is_packed()));
    frame.extend_from_slice(&length.to_be_bytes());
    Ok(frame.into())
}

/// Pieces of memory as a body, one after the other.
struct Chunks {
    chunks: std::vec::IntoIter<Bytes>,
    remaining_bytes: u64,
}

impl Chunks {
    fn new(chunks: Vec<Bytes>) -> Self {
        let remaining_bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { chunks: chunks.into_iter(), remaining_bytes }
    }
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.chunks.next();
        self.remaining_bytes -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes)
    }
}
