//! `POST /api/trace/upload`: a file to look at, of a format that `kymo_traceview::upload` reads.
//!
//! Answers `{"traces":[{"id","traceId","name","service","spans","start","durationNanos"}]}`, the largest
//! first. What is in a file names its id, so that the same file gives the same ids, and a link to it
//! can be opened again by who has uploaded it again.
//!
//! A few files are taken apart at once; who has waited for too long is asked to come again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use kymo_engine::EngineError;
use kymo_traceview::flame::title;
use kymo_traceview::{TraceError, TraceTree, hex, upload as files};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use xxhash_rust::xxh3::xxh3_64;

use super::kept::Loaded;
use super::limits::{UPLOAD_MAX_BYTES, UPLOAD_WAIT};
use super::load::{Traces, UPLOAD};
use crate::answer::{Failed, json};

#[derive(Serialize)]
struct Uploaded {
    traces: Vec<UploadedTrace>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UploadedTrace {
    id: String,
    trace_id: String,
    name: Option<String>,
    service: Option<String>,
    spans: usize,
    /// Nanoseconds since 1970.
    start: String,
    duration_nanos: i64,
}

pub(super) async fn upload(
    traces: Traces,
    file: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let file = file.map_err(|_| {
        let mebibytes = UPLOAD_MAX_BYTES >> 20;
        let message = format!(
            "the file did not arrive, or has more than {mebibytes} MiB: `kymo import` stores any size"
        );
        Failed::TooLarge(message)
    })?;
    let turn = turn(&traces.kept.turns, UPLOAD_WAIT).await?;
    let take_apart = move || {
        // Whoever hangs up ends nothing that is begun: the turn ends with the work.
        let (_turn, file) = (turn, file);
        read(&file)
    };
    let loaded = traces.page.engine.blocking(take_apart).await??;
    let shown = loaded.iter().map(shown).collect();
    // The largest is added last: it goes last.
    for loaded in loaded.into_iter().rev() {
        traces.kept.add_upload(&traces.tenants, loaded);
    }
    json(&Uploaded { traces: shown })
}

/// A turn at taking a file apart, as soon as there is one.
async fn turn(turns: &Arc<Semaphore>, within: Duration) -> Result<OwnedSemaphorePermit, Failed> {
    let busy = || Failed::Engine(EngineError::Busy { retry_after: within });
    let turn = tokio::time::timeout(within, turns.clone().acquire_owned()).await;
    turn.map_err(|_| busy())?.map_err(|_| busy())
}

/// Traces of a file, laid out, the largest first.
fn read(file: &[u8]) -> Result<Vec<Loaded>, TraceError> {
    let mut found = Vec::new();
    for trace in files::read(file)? {
        // By all it holds, so that a file that was corrected is another one.
        let hash = xxh3_64(&trace.body);
        let id = format!("{UPLOAD}{hash:016x}-{}", hex(&trace.trace_id[8..]));
        let tree = TraceTree::read(trace.body)?;
        found.push(Loaded { tree: Arc::new(tree), id, damaged_blocks: 0 });
    }
    found.sort_by_key(|loaded| std::cmp::Reverse(loaded.tree.len()));
    Ok(found)
}

fn shown(loaded: &Loaded) -> UploadedTrace {
    let tree = &loaded.tree;
    let (name, service) = title(tree).unzip();
    UploadedTrace {
        id: loaded.id.clone(),
        trace_id: hex(&tree.trace_id),
        name: name.map(Into::into),
        service: service.map(Into::into),
        spans: tree.len(),
        start: tree.start_nanos.to_string(),
        duration_nanos: tree.end_nanos - tree.start_nanos,
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http::header::RETRY_AFTER;

    use super::*;

    #[tokio::test]
    async fn who_has_waited_for_a_turn_for_too_long_is_asked_to_come_again() {
        use axum::response::IntoResponse;
        let turns = Arc::new(Semaphore::new(1));
        let held = turn(&turns, UPLOAD_WAIT).await.unwrap();
        let refused = turn(&turns, Duration::from_millis(1)).await.unwrap_err().into_response();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(refused.headers().contains_key(RETRY_AFTER));
        drop(held);
        assert!(turn(&turns, UPLOAD_WAIT).await.is_ok());
    }
}
