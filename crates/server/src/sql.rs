//! `POST /api/sql`: a query in, rows out, as they are found.
//!
//! The body is `{"query": "…"}` or the query as plain text; `Accept` chooses JSON, CSV or Arrow.
//! The answer begins when the first rows are there, so that most errors come as a status. An error
//! after that breaks the connection: no reader takes a part for the whole.

use std::io;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt;
use http::header::ACCEPT;
use http::{Request, StatusCode};
use kymo_engine::{EngineError, Rows};
use tokio::sync::mpsc;

use crate::answer::Failure;
use crate::body::{self, Bounds};
use crate::format::{Encoder, Format};
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES, PEER_TIMEOUT, RESPONSE_PIECES};
use crate::reply::{self, json_error, streamed};
use crate::router::Shared;
use crate::tenant;

pub(crate) async fn post(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let tenants = match tenant::readable(&head.headers) {
        Ok(tenants) => tenants,
        Err(message) => return json_error(StatusCode::BAD_REQUEST, &message),
    };
    let bounds = Bounds::new(MAX_QUERY_BYTES, BODY_PAUSE_TIMEOUT);
    let (text, _reservation) = match body::read(body, bounds, &shared.receiver.budget).await {
        Ok(read) => read,
        Err(error) => return unread(error.into()),
    };
    let query = match query_of(&text) {
        Ok(query) => query,
        Err(message) => return json_error(StatusCode::BAD_REQUEST, &message),
    };
    let accept = head.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    let format = Format::accepted(accept);
    let telemetry = shared.telemetry.clone();
    let first = match shared.engine.sql(&tenants, &query).await {
        Ok(mut rows) => match rows.next().await.transpose() {
            Ok(first) => Ok((first, rows)),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match first {
        Ok((first, rows)) => stream(&shared, format, first, rows, move |outcome| {
            telemetry.query("sql", outcome, began.elapsed());
        }),
        Err(error) => {
            telemetry.query("sql", error.kind(), began.elapsed());
            failed(&error)
        }
    }
}

/// The answer to a query whose text could not be read.
fn unread(failure: Failure) -> Response {
    reply::refused(failure, |status, message| json_error(status, &message))
}

fn failed(error: &EngineError) -> Response {
    reply::failed(error, |status, message| json_error(status, &message))
}

/// The query in a body.
fn query_of(body: &[u8]) -> Result<String, String> {
    #[derive(serde::Deserialize)]
    struct Document {
        query: String,
    }
    let text = std::str::from_utf8(body).map_err(|_| "the query is not UTF-8".to_owned())?;
    if text.trim_start().starts_with('{') {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| format!("expected {{\"query\": \"SELECT …\"}}: {error}"))?;
        Ok(document.query)
    } else if text.trim().is_empty() {
        Err("the body is empty: send {\"query\": \"SELECT …\"} or the query as text".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Encodes rows on the engine's threads and sends them as the reader takes them. A reader that goes
/// away ends the query.
fn stream(
    shared: &Shared,
    format: Format,
    first: Option<arrow_array::RecordBatch>,
    mut rows: Rows,
    ended: impl FnOnce(&'static str) + Send + 'static,
) -> Response {
    let (sender, receiver) = mpsc::channel(RESPONSE_PIECES);
    let sending = async move {
        let mut encoder = format.encoder();
        let sent = send(&mut *encoder, first, &mut rows, &sender).await;
        let outcome = match sent {
            Ok(()) => "ok",
            Err(Broken::Reader) => "cancelled",
            Err(Broken::Query(error)) => {
                tracing::warn!(%error, "an answer broke off after its first rows");
                let piece = encoder.error(&error.to_string());
                for last in [Ok(Bytes::from(piece)), Err(io::Error::other(error.to_string()))] {
                    // A reader that has gone does not want to know.
                    let _ = give(&sender, last).await;
                }
                error.kind()
            }
        };
        ended(outcome);
    };
    if let Err(error) = shared.engine.spawn(sending) {
        return failed(&error);
    }
    let pieces = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    streamed(format.content_type(), pieces)
}

/// Why an answer broke off.
enum Broken {
    Reader,
    Query(EngineError),
}

type Piece = Result<Bytes, io::Error>;

async fn send(
    encoder: &mut dyn Encoder,
    first: Option<arrow_array::RecordBatch>,
    rows: &mut Rows,
    pieces: &mpsc::Sender<Piece>,
) -> Result<(), Broken> {
    let encoding = |error: arrow_schema::ArrowError| {
        Broken::Query(EngineError::Internal(format!("cannot write the answer: {error}")))
    };
    let begin = encoder.begin(&rows.schema()).map_err(encoding)?;
    give(pieces, Ok(begin.into())).await?;
    let mut next = first;
    while let Some(batch) = next {
        let piece = encoder.batch(&batch).map_err(encoding)?;
        give(pieces, Ok(piece.into())).await?;
        let found = tokio::select! {
            found = rows.next() => found,
            () = pieces.closed() => return Err(Broken::Reader),
        };
        next = found.transpose().map_err(Broken::Query)?;
    }
    let end = encoder.end().map_err(encoding)?;
    give(pieces, Ok(end.into())).await
}

/// Waits until the reader has room, but not for ever.
async fn give(pieces: &mpsc::Sender<Piece>, piece: Piece) -> Result<(), Broken> {
    if matches!(&piece, Ok(bytes) if bytes.is_empty()) {
        return Ok(());
    }
    match pieces.send_timeout(piece, PEER_TIMEOUT).await {
        Ok(()) => Ok(()),
        Err(_) => Err(Broken::Reader),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_comes_as_json_or_as_text() {
        assert_eq!(query_of(b"{\"query\": \"SELECT 1\"}"), Ok("SELECT 1".to_owned()));
        assert_eq!(query_of(b" SELECT 1"), Ok(" SELECT 1".to_owned()));
        assert!(query_of(b"{\"sql\": 1}").unwrap_err().contains("query"));
        assert!(query_of(b"  ").unwrap_err().contains("empty"));
        assert!(query_of(&[0xff]).unwrap_err().contains("UTF-8"));
    }
}
