//! `GET /api/export/logs`: log records as they were sent, as OTLP requests in protobuf, each after its
//! length.
//!
//! Rows of SQL have less: no types within attributes, no order of keys, no schema URLs. Traces are had
//! whole by their ids (`tempo`).
//!
//! The answer begins when the first request is there, so that most errors come as a status. An error
//! after that breaks the connection: no reader takes a part for the whole.

use std::io;
use std::ops::Range;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::{Request, StatusCode};
use kymo_engine::{EngineError, Requests};
use kymo_wire::encode::Writer;
use tokio::sync::mpsc;

use crate::limits::{PEER_TIMEOUT, RESPONSE_PIECES};
use crate::parameters::Parameters;
use crate::reply::{self, json_error, streamed};
use crate::router::Shared;
use crate::{tenant, times};

const CONTENT_TYPE: &str = "application/x-protobuf; encoding=delimited";

/// The path.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new().route("/api/export/logs", get(logs))
}

async fn logs(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let began = Instant::now();
    let wrong = |message: String| json_error(StatusCode::BAD_REQUEST, &message);
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(message) => return wrong(message),
    };
    let time = match Parameters::of(request.uri()).and_then(|parameters| time_of(&parameters)) {
        Ok(time) => time,
        Err(message) => return wrong(message),
    };
    let first = match shared.engine.export_logs(&tenants, time).await {
        Ok(mut requests) => match requests.recv().await.transpose() {
            Ok(first) => Ok((first, requests)),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    let telemetry = shared.telemetry.clone();
    let answered = first.and_then(|(first, requests)| {
        let (sender, receiver) = mpsc::channel(RESPONSE_PIECES);
        let sending = async move {
            let outcome = send(first, requests, &sender).await;
            telemetry.query("export", outcome, began.elapsed());
        };
        shared.engine.spawn(sending).map(|()| receiver)
    });
    match answered {
        Ok(receiver) => {
            let pieces = futures::stream::unfold(receiver, |mut receiver| async {
                receiver.recv().await.map(|piece| (piece, receiver))
            });
            streamed(CONTENT_TYPE, pieces)
        }
        Err(error) => {
            shared.telemetry.query("export", error.kind(), began.elapsed());
            reply::failed(&error, |status, message| json_error(status, &message))
        }
    }
}

/// The time that is asked for; none for all.
fn time_of(parameters: &Parameters) -> Result<Option<Range<i64>>, String> {
    let moment = |name: &str| parameters.read(name, times::TIME, times::timestamp);
    match (moment("start")?, moment("end")?) {
        (None, None) => Ok(None),
        (Some(start), Some(end)) if end < start => Err("end is before start".to_owned()),
        (start, end) => Ok(Some(start.unwrap_or(0)..end.unwrap_or(i64::MAX))),
    }
}

/// Sends requests as the reader takes them; says how that ended. A reader that goes away ends the
/// work.
async fn send(
    first: Option<Vec<u8>>,
    mut requests: Requests,
    pieces: &mpsc::Sender<io::Result<Bytes>>,
) -> &'static str {
    let mut next: Option<Result<Vec<u8>, EngineError>> = first.map(Ok);
    while let Some(request) = next {
        let (piece, failed) = match request {
            Ok(body) => (Ok(Bytes::from(delimited(&body))), None),
            Err(error) => {
                tracing::warn!(%error, "an export broke off after its first request");
                (Err(io::Error::other(error.to_string())), Some(error.kind()))
            }
        };
        let is_taken = pieces.send_timeout(piece, PEER_TIMEOUT).await.is_ok();
        match (failed, is_taken) {
            (Some(kind), _) => return kind,
            (None, false) => return "cancelled",
            (None, true) => next = requests.recv().await,
        }
    }
    "ok"
}

/// A request after its length.
pub fn delimited(request: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint(request.len() as u64);
    let mut bytes = writer.into_bytes();
    bytes.extend_from_slice(request);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_stands_after_its_length() {
        assert_eq!(delimited(b""), [0]);
        assert_eq!(delimited(b"ab"), [2, b'a', b'b']);
        assert_eq!(delimited(&[7; 300])[..3], [0xac, 0x02, 7]);
    }

    #[test]
    fn a_time_may_be_open_on_either_side_but_not_turned_round() {
        let time = |text: &str| Parameters::parse(text).and_then(|given| time_of(&given));
        assert_eq!(time(""), Ok(None));
        assert_eq!(time("start=5"), Ok(Some(5_000_000_000..i64::MAX)));
        assert_eq!(time("end=1970-01-01T00:00:01Z"), Ok(Some(0..1_000_000_000)));
        assert!(time("start=5&end=4").unwrap_err().contains("before"));
        assert!(time("start=now").unwrap_err().contains("invalid start"));
    }
}
