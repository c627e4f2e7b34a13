//! `POST /api/trace/upload`: a file to look at, of a format that `kymo_traceview::upload` reads.
//!
//! Answers `{"traces":[{"id","traceId","name","service","spans","start","durationNanos"}]}`, the largest
//! first. What is in a file names its id, so that the same file gives the same ids, and a link to it
//! can be opened again by who has uploaded it again.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use kymo_traceview::flame::title;
use kymo_traceview::{TraceError, TraceTree, hex, upload as files};
use serde::Serialize;

use super::kept::Loaded;
use super::limits::UPLOAD_MAX_BYTES;
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
    let loaded = traces.page.engine.blocking(move || read(&file)).await??;
    let shown = loaded.iter().map(shown).collect();
    // The largest is added last: it goes last.
    for loaded in loaded.into_iter().rev() {
        traces.kept.add_upload(&traces.tenants, loaded);
    }
    json(&Uploaded { traces: shown })
}

/// Traces of a file, laid out, the largest first.
fn read(file: &[u8]) -> Result<Vec<Loaded>, TraceError> {
    let mut found = Vec::new();
    for trace in files::read(file)? {
        let tree = TraceTree::read(trace.body)?;
        let id = format!("{UPLOAD}{}-{}", tree.revision(), hex(&trace.trace_id[8..]));
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
