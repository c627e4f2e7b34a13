//! `GET /api/traces/search`: traces as they are found, as lines of JSON (`application/x-ndjson`).
//!
//! | line | when |
//! |---|---|
//! | `{"traces":[…]}` | some were found; each trace comes once |
//! | `{"progress":{"inspectedTraces","inspectedSpans","inspectedBytes","blocks","jobs","completedJobs","elapsedMillis"}}` | behind each part |
//! | `{"done":{"traces","truncated","cursor","damagedBlocks","elapsedMillis"}}` | the last, if all went well |
//! | `{"error":"…"}` | the last, if not |
//!
//! What is wrong with the question is told before the first line, with status 400. Who closes the
//! connection ends the search.
//!
//! A trace is `{"id","rootService","rootName","start","durationNanos","spanCount","errorCount","orphans",
//! "matched","services":[{"name","spans","errors"}],"spanSets":[{"matched","attributes":[…],"spans":[{"id",
//! "name","start","durationNanos","attributes":[{"key","type","value"}]}]}]}`; `rootService` and `rootName`
//! are `null` while there is no root, `start` is nanoseconds since 1970 as text. Attributes of spans are
//! those of `select`, with the keys that it has, then what else the query names, with scopes: `span.a` and
//! `resource.a` are two.

use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use futures::{StreamExt, stream};
use http::StatusCode;
use kymo_engine::EngineError;
use kymo_engine::traceql::{
    Cursor, Found, FoundSet, FoundSpan, FoundTrace, SearchStats, Searching,
};
use kymo_traceql::OwnedValue;
use kymo_traceview::hex;
use serde::Serialize;

use super::asked::Parameters;
use super::columns::Columns;
use super::value::Typed;
use crate::Page;
use crate::answer::{Failed, Query, Whose, typed};

pub(super) async fn search(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Parameters>,
) -> Result<Response, Failed> {
    let search = asked.search()?;
    let columns = Columns::of(asked.selected()?);
    let searching = page.engine.search(&tenants, search).await?;
    let answer = Answer {
        searching,
        began: Instant::now(),
        traces: 0,
        next: None,
        stats: SearchStats::default(),
        columns,
        page,
        is_done: false,
    };
    // What compresses answers asks for more after the end.
    let lines = stream::unfold(answer, |mut answer| async move {
        let line = answer.lines().await?;
        Some((Ok::<_, std::convert::Infallible>(line), answer))
    })
    .fuse();
    Ok(typed(StatusCode::OK, "application/x-ndjson", Body::from_stream(lines)))
}

/// The same with parameters as a JSON object, for queries that are too long for an address.
pub(super) async fn search_posted(
    page: State<Page>,
    whose: Whose,
    asked: Result<Json<Parameters>, JsonRejection>,
) -> Result<Response, Failed> {
    let Json(asked) = asked?;
    search(page, whose, Query(asked)).await
}

/// A search whose answer is being sent.
struct Answer {
    searching: Searching,
    began: Instant,
    traces: usize,
    next: Option<Cursor>,
    stats: SearchStats,
    columns: Columns,
    page: Page,
    is_done: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Traces(Vec<Trace>),
    Progress(Progress),
    Done(Done),
    Error(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    inspected_traces: usize,
    inspected_spans: usize,
    inspected_bytes: u64,
    blocks: usize,
    jobs: usize,
    completed_jobs: usize,
    elapsed_millis: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    traces: usize,
    truncated: bool,
    cursor: Option<String>,
    damaged_blocks: usize,
    elapsed_millis: u64,
}

impl Answer {
    /// The next lines; `None` after the last.
    async fn lines(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let found = match self.searching.next().await {
            Some(Ok(found)) => found,
            Some(Err(error)) => return Some(self.failed(&error)),
            None => {
                self.is_done = true;
                return Some(written(&[Line::Done(self.done())]));
            }
        };
        (self.next, self.stats) = (found.next, found.stats);
        self.traces += found.traces.len();
        let (progress, columns) = (self.progress(), self.columns.clone());
        match self.page.engine.blocking(move || part(found, progress, &columns)).await {
            Ok(lines) => Some(lines),
            Err(error) => Some(self.failed(&error)),
        }
    }

    fn failed(&mut self, error: &EngineError) -> Bytes {
        self.is_done = true;
        written(&[Line::Error(error.to_string())])
    }

    fn elapsed_millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn progress(&self) -> Progress {
        let stats = &self.stats;
        Progress {
            inspected_traces: stats.inspected_traces,
            inspected_spans: stats.inspected_spans,
            inspected_bytes: stats.inspected_bytes,
            blocks: stats.total_blocks,
            jobs: stats.total_jobs,
            completed_jobs: stats.completed_jobs,
            elapsed_millis: self.elapsed_millis(),
        }
    }

    fn done(&self) -> Done {
        Done {
            traces: self.traces,
            truncated: self.next.is_some(),
            cursor: self.next.map(|next| next.to_string()),
            damaged_blocks: self.stats.damaged_blocks,
            elapsed_millis: self.elapsed_millis(),
        }
    }
}

fn part(found: Found, progress: Progress, columns: &Columns) -> Bytes {
    let progress = Line::Progress(progress);
    if found.traces.is_empty() {
        return written(&[progress]);
    }
    let traces = found.traces.into_iter().map(|trace| Trace::of(trace, columns)).collect();
    written(&[Line::Traces(traces), progress])
}

fn written(lines: &[Line]) -> Bytes {
    let mut out = Vec::new();
    for line in lines {
        // Writing to memory cannot fail, and neither can these.
        let _ = serde_json::to_writer(&mut out, line);
        out.push(b'\n');
    }
    out.into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    id: String,
    root_service: Option<String>,
    root_name: Option<String>,
    start: String,
    duration_nanos: i64,
    span_count: usize,
    error_count: usize,
    orphans: usize,
    matched: usize,
    services: Vec<Service>,
    span_sets: Vec<SpanSet>,
}

#[derive(Serialize)]
struct Service {
    name: String,
    spans: usize,
    errors: usize,
}

#[derive(Serialize)]
struct SpanSet {
    matched: usize,
    attributes: Vec<Typed>,
    spans: Vec<Span>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    id: String,
    name: Option<String>,
    start: String,
    duration_nanos: i64,
    attributes: Vec<Typed>,
}

impl Trace {
    fn of(found: FoundTrace, columns: &Columns) -> Self {
        let span_set = |set: &FoundSet| SpanSet::of(set, &found, columns);
        let span_sets: Vec<SpanSet> = found.span_sets.iter().map(span_set).collect();
        let service = |stats: kymo_engine::traceql::ServiceStats| Service {
            name: stats.service,
            spans: stats.spans,
            errors: stats.errors,
        };
        Self {
            id: hex(&found.trace_id),
            root_service: found.root_service,
            root_name: found.root_name,
            start: found.start_nanos.to_string(),
            duration_nanos: found.duration_nanos,
            span_count: found.services.iter().map(|service| service.spans).sum(),
            error_count: found.services.iter().map(|service| service.errors).sum(),
            orphans: found.orphans,
            matched: span_sets.iter().map(|set| set.matched).sum(),
            services: found.services.into_iter().map(service).collect(),
            span_sets,
        }
    }
}

impl SpanSet {
    fn of(found: &FoundSet, trace: &FoundTrace, columns: &Columns) -> Self {
        let span = |span: &FoundSpan| Span::of(span, trace, columns);
        Self {
            matched: found.matched,
            attributes: found.attributes.iter().map(typed_value).collect(),
            spans: found.spans.iter().map(span).collect(),
        }
    }
}

impl Span {
    fn of(found: &FoundSpan, trace: &FoundTrace, columns: &Columns) -> Self {
        Self {
            id: hex(&found.span_id),
            name: found.name.clone(),
            start: found.start_nanos.to_string(),
            duration_nanos: found.duration_nanos,
            attributes: columns.values(trace, found),
        }
    }
}

fn typed_value((key, value): &(String, OwnedValue)) -> Typed {
    Typed::of(key.clone(), value)
}
