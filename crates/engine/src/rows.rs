//! The answer of a query.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::Stream;
use tokio::sync::mpsc::Receiver;

use crate::clock::Clock;
use crate::error::EngineError;
use crate::query::Message;

/// The rows of an answer, as a stream of batches. It can be read on any runtime. Dropping it ends
/// the query and its scans.
#[derive(Debug)]
pub struct Rows {
    schema: SchemaRef,
    messages: Receiver<Message>,
    clock: Arc<Clock>,
    is_done: bool,
}

impl Rows {
    pub(crate) fn new(schema: SchemaRef, messages: Receiver<Message>, clock: Arc<Clock>) -> Self {
        Self { schema, messages, clock, is_done: false }
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for Rows {
    /// Tells the query here and now: its threads may be too busy to see that nobody listens.
    fn drop(&mut self) {
        self.clock.leave();
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let item = match self.messages.poll_recv(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(Some(held)))) => return Poll::Ready(Some(Ok(held.take()))),
            Poll::Ready(Some(Ok(None))) => None,
            Poll::Ready(Some(Err(error))) => Some(Err(error)),
            // The engine was shut down before the end was told.
            Poll::Ready(None) => Some(Err(EngineError::Cancelled)),
        };
        self.is_done = true;
        Poll::Ready(item)
    }
}
