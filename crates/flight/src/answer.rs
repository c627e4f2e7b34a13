//! Rows as a stream of messages, and errors as statuses.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_schema::{Schema, SchemaRef};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kymo_engine::{Engine, EngineError, Rows};
use tokio::sync::mpsc;
use tonic::Status;

use crate::limits::{PEER_TIMEOUT, PIECES_WAITING};
use crate::service::Ended;

/// An answer on its way.
pub(crate) type Answer = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// The status of a query that failed.
pub(crate) fn status(error: &EngineError) -> Status {
    let message = error.to_string();
    match error {
        EngineError::Invalid(_) | EngineError::Evaluation(_) => Status::invalid_argument(message),
        EngineError::NotAllowed(_) => Status::permission_denied(message),
        EngineError::Memory { .. } | EngineError::Rows { .. } | EngineError::Busy { .. } => {
            Status::resource_exhausted(message)
        }
        EngineError::Timeout { .. } => Status::deadline_exceeded(message),
        EngineError::Cancelled => Status::cancelled(message),
        EngineError::Internal(_) => Status::internal(message),
        EngineError::Store(_) | EngineError::Damaged { .. } => Status::unavailable(message),
    }
}

/// Columns as they are sent: texts by code become texts, which every client has.
pub(crate) fn sent(schema: &Schema) -> SchemaRef {
    let schema = Arc::new(schema.clone());
    let none = stream::empty::<Result<RecordBatch, FlightError>>();
    let encoder = FlightDataEncoderBuilder::new().with_schema(schema.clone()).build(none);
    encoder.known_schema().unwrap_or(schema)
}

/// Rows of a query, encoded on the engine's threads and sent as the client takes them. One that
/// goes away ends the query.
pub(crate) fn rows(
    engine: &Engine,
    rows: Rows,
    began: Instant,
    ended: Ended,
) -> Result<Answer, Status> {
    let (sender, receiver) = mpsc::channel(PIECES_WAITING);
    let schema = rows.schema();
    let sending = async move {
        let failed = Arc::new(OnceLock::new());
        let noted = failed.clone();
        let rows = rows.map_err(move |error| {
            noted.get_or_init(|| error.kind());
            FlightError::Tonic(Box::new(status(&error)))
        });
        let mut messages = FlightDataEncoderBuilder::new().with_schema(schema).build(rows);
        let mut is_taken = true;
        loop {
            let next = tokio::select! {
                next = messages.next() => next,
                () = sender.closed() => None,
            };
            let Some(next) = next else { break };
            let message = next.map_err(Status::from);
            if sender.send_timeout(message, PEER_TIMEOUT).await.is_err() {
                is_taken = false;
                break;
            }
        }
        is_taken &= !sender.is_closed();
        drop(messages);
        let kind = failed.get().copied().unwrap_or("ok");
        ended(if is_taken { kind } else { "cancelled" }, began.elapsed());
    };
    engine.spawn(sending).map_err(|error| status(&error))?;
    let messages = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|message| (message, receiver))
    });
    Ok(Box::pin(messages.fuse()))
}

/// A batch that is there already.
pub(crate) fn batch(batch: RecordBatch) -> Answer {
    let schema = batch.schema();
    let batches = stream::iter([Ok(batch)]);
    let messages = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    Box::pin(messages.map_err(Status::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    #[test]
    fn texts_by_code_are_told_as_texts_wherever_they_are() {
        let code = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let schema = Schema::new(vec![
            Field::new("one", code.clone(), true),
            Field::new_list("several", Field::new_list_field(code, true), true),
            Field::new("id", DataType::FixedSizeBinary(16), false),
        ]);
        let expected = Schema::new(vec![
            Field::new("one", DataType::Utf8, true),
            Field::new_list("several", Field::new_list_field(DataType::Utf8, true), true),
            Field::new("id", DataType::FixedSizeBinary(16), false),
        ]);
        assert_eq!(*sent(&schema), expected);
    }
}
