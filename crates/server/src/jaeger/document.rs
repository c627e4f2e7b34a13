//! A JSON document of traces, written trace by trace.
//!
//! The first trace is waited for, so that most errors come as a status. An error after that breaks
//! the connection: no reader takes a part for the whole.

use std::io;

use axum::response::Response;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http::StatusCode;
use kymo_engine::{Engine, EngineError};

use super::fetch::{Fetched, Kept};
use super::pretty::Pretty;
use super::reader::TraceId;
use crate::reply::{streamed, typed};

pub(super) const JSON: &str = "application/json";

/// What stands around the traces, which are divided by commas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) begin: &'static str,
    /// After the last trace: how many there were, and which were not found.
    pub(super) end: fn(usize, &[TraceId]) -> String,
}

/// What is to be answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// Traces, streamed.
    Traces(Response),
    /// There are none; which were looked for by id.
    Nothing(Vec<TraceId>),
}

type Written = Fetched<Vec<u8>>;

/// Writes traces as they come; those that are written as nothing count as not found. The engine
/// has the threads that indent, if that is wanted.
pub(super) async fn answer(
    traces: impl Stream<Item = Written> + Send + 'static,
    frame: Frame,
    pretty: Option<Engine>,
) -> Result<Answer, EngineError> {
    let mut writing = Writing {
        traces: traces.boxed(),
        frame,
        pretty: pretty.map(|engine| (engine, Pretty::default())),
        sending: None,
        count: 0,
        missing: Vec::new(),
        is_done: false,
    };
    let Some(first) = writing.next_trace().await? else {
        return Ok(Answer::Nothing(writing.missing));
    };
    let begin = writing.trace_piece(frame.begin, first).await?;
    let rest = futures::stream::unfold(writing, |mut writing| async {
        writing.next_piece().await.map(|piece| (piece, writing))
    });
    let pieces = futures::stream::once(std::future::ready(Ok(begin))).chain(rest);
    Ok(Answer::Traces(streamed(JSON, pieces)))
}

struct Writing {
    traces: BoxStream<'static, Written>,
    frame: Frame,
    pretty: Option<(Engine, Pretty)>,
    /// The trace that is being sent, whose bytes count until then.
    sending: Option<Kept<()>>,
    count: usize,
    missing: Vec<TraceId>,
    is_done: bool,
}

impl Writing {
    /// The next trace that is there.
    async fn next_trace(&mut self) -> Result<Option<Kept<Vec<u8>>>, EngineError> {
        // The reader has it.
        self.sending = None;
        while let Some(written) = self.traces.next().await {
            match written? {
                (_, Some(trace)) if !trace.value.is_empty() => {
                    self.count += 1;
                    return Ok(Some(trace));
                }
                (id, _) => self.missing.push(id),
            }
        }
        Ok(None)
    }

    async fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        if self.is_done {
            return None;
        }
        let piece = match self.next_trace().await {
            Ok(Some(trace)) => self.trace_piece(",", trace).await,
            Ok(None) => {
                self.is_done = true;
                let end = (self.frame.end)(self.count, &self.missing);
                self.piece(end.into_bytes()).await
            }
            Err(error) => Err(error),
        };
        Some(piece.map_err(|error| {
            self.is_done = true;
            tracing::warn!(%error, "an answer broke off after its first traces");
            io::Error::other(error.to_string())
        }))
    }

    /// A trace, and what comes before it.
    async fn trace_piece(
        &mut self,
        before: &str,
        trace: Kept<Vec<u8>>,
    ) -> Result<Bytes, EngineError> {
        let (text, counted) = trace.split();
        self.sending = Some(counted);
        self.piece([before.as_bytes(), &text].concat()).await
    }

    async fn piece(&mut self, piece: Vec<u8>) -> Result<Bytes, EngineError> {
        let Some((engine, pretty)) = &mut self.pretty else { return Ok(piece.into()) };
        let mut state = std::mem::take(pretty);
        let indent = move || {
            let indented = state.indent(&piece);
            (state, indented)
        };
        let indented;
        (*pretty, indented) = engine.blocking(indent).await?;
        Ok(indented.into())
    }
}

/// A document that is written at once. What may be large is written on the engine's threads
/// ([`Shared::encode`](crate::router::Shared::encode)).
pub(super) fn whole(
    status: StatusCode,
    document: &impl serde::Serialize,
    is_pretty: bool,
) -> Response {
    match serde_json::to_vec(document) {
        Ok(text) if is_pretty => typed(status, JSON, Pretty::default().indent(&text)),
        Ok(text) => typed(status, JSON, text),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            crate::reply::plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream::iter;
    use http_body_util::BodyExt;

    const FRAME: Frame =
        Frame { begin: "[", end: |count, missing| format!("] {count} {}", missing.len()) };

    fn trace(number: u8, text: Option<&str>) -> Written {
        Ok(([number; 16], text.map(|text| Kept::free(text.as_bytes().to_vec()))))
    }

    async fn written(traces: Vec<Written>) -> Result<String, String> {
        let answer = answer(iter(traces), FRAME, None).await.map_err(|e| e.to_string())?;
        let Answer::Traces(response) = answer else { return Ok(format!("{answer:?}")) };
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok(String::from_utf8(body.to_bytes().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn traces_are_divided_and_missing_ones_are_told() {
        let traces =
            vec![trace(1, None), trace(2, Some("a")), trace(3, Some("")), trace(4, Some("b"))];
        assert_eq!(written(traces).await, Ok("[a,b] 2 2".to_owned()));
        assert!(written(vec![trace(1, None)]).await.unwrap().starts_with("Nothing([[1, 1"));
    }

    #[tokio::test]
    async fn an_error_is_an_error_at_first_and_a_broken_answer_later() {
        let error = || Err(EngineError::Cancelled);
        assert!(answer(iter(vec![error()]), FRAME, None).await.is_err());
        let broken = written(vec![trace(1, Some("a")), error()]).await;
        assert!(broken.unwrap_err().contains("cancelled"));
    }
}
