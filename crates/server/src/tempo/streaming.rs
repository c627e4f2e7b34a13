//! `tempopb.StreamingQuerier`: the same questions over gRPC, with answers that come as they are
//! found. Grafana asks them on the port that it asks over HTTP.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use futures::stream::{self, Stream};
use http::Request;
use kymo_engine::Tenants;
use kymo_engine::traceql::{Found, Searching};
use prost::Message;

use super::asked::Unanswered;
use super::messages::*;
use super::metrics::{self, Shape};
use super::tag_search::TagSearch;
use super::{fit, range, search, tags};
use crate::grpc::{self, Status};
use crate::limits::STREAM_MESSAGE_BYTES;
use crate::question::{self, Unanswered as _};
use crate::router::Shared;
use crate::telemetry::Timed;
use crate::times;

/// The path of a method.
macro_rules! method {
    ($name:literal) => {
        concat!("/tempopb.StreamingQuerier/", $name)
    };
}

pub(crate) fn over_grpc() -> Router<Shared> {
    Router::new()
        .route(method!("Search"), post(search))
        .route(method!("SearchTags"), post(search_tags))
        .route(method!("SearchTagsV2"), post(search_tags_v2))
        .route(method!("SearchTagValues"), post(search_tag_values))
        .route(method!("SearchTagValuesV2"), post(search_tag_values_v2))
        .route(method!("MetricsQueryRange"), post(query_range))
        .route(method!("MetricsQueryInstant"), post(query_instant))
}

type Response = axum::response::Response;
type Call = State<Shared>;

/// A number that is not zero.
fn some(number: u32) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0)
}

async fn search(State(shared): Call, request: Request<Body>) -> Response {
    grpc::answer(shared, request, async |shared: Shared, tenants: Tenants, asked: SearchRequest| {
        let timed = Timed::new(&shared.telemetry, "search");
        let has_sets = !asked.query.is_empty();
        match begin(&shared, &tenants, asked).await {
            Ok(searching) => {
                Ok(grpc::stream(&shared, messages(Part::new(searching, timed, has_sets))))
            }
            Err(unanswered) => {
                timed.ended(unanswered.kind());
                Err(unanswered.into())
            }
        }
    })
    .await
}

async fn begin(
    shared: &Shared,
    tenants: &Tenants,
    asked: SearchRequest,
) -> Result<Searching, Unanswered> {
    let nanos = |millis: u32| (millis > 0).then(|| i64::from(millis) * 1_000_000);
    let wanted = search::Wanted {
        query: Some(asked.query).filter(|query| !query.is_empty()),
        tags: TagSearch {
            tags: asked.tags.into_iter().collect(),
            min_duration_nanos: nanos(asked.min_duration_ms),
            max_duration_nanos: nanos(asked.max_duration_ms),
        },
        time: range::between(asked.start, asked.end)?,
        limit: some(asked.limit),
        spans_per_set: some(asked.spans_per_span_set),
        ..search::Wanted::default()
    };
    let search = wanted.search(shared, search::DEFAULTS).await?;
    Ok(shared.engine.search(tenants, search).await?)
}

/// A search whose answer is being sent.
struct Part {
    searching: Searching,
    timed: Timed,
    has_sets: bool,
    /// Traces that did not fit into the last message, the next at the end.
    waiting: Vec<TraceSearchMetadata>,
    metrics: SearchMetrics,
}

impl Part {
    fn new(searching: Searching, timed: Timed, has_sets: bool) -> Self {
        let (waiting, metrics) = (Vec::new(), SearchMetrics::default());
        Self { searching, timed, has_sets, waiting, metrics }
    }

    fn take(&mut self, found: Found) {
        self.metrics = found.stats.into();
        let traces = found.traces.into_iter().rev();
        let fitting = |trace| fit::trace(TraceSearchMetadata::of(trace, self.has_sets));
        self.waiting = traces.map(fitting).collect();
    }

    /// The next message: what waits, as much as a message may hold, and one trace at least.
    fn message(&mut self) -> SearchResponse {
        let mut traces = Vec::new();
        let mut bytes = 0;
        while let Some(trace) = self.waiting.pop() {
            bytes += trace.encoded_len() + 8;
            if bytes > STREAM_MESSAGE_BYTES && !traces.is_empty() {
                self.waiting.push(trace);
                break;
            }
            traces.push(trace);
        }
        SearchResponse { traces, metrics: Some(self.metrics) }
    }
}

/// A message for each part of an answer, or several where a part is large.
fn messages(part: Part) -> impl Stream<Item = Result<SearchResponse, Status>> + Send + 'static {
    stream::unfold(Some(part), |part| async {
        let mut part = part?;
        if !part.waiting.is_empty() {
            return Some((Ok(part.message()), Some(part)));
        }
        match part.searching.next().await {
            Some(Ok(found)) => {
                part.take(found);
                Some((Ok(part.message()), Some(part)))
            }
            Some(Err(error)) => {
                part.timed.ended(error.kind());
                Some((Err(grpc::of_engine(&error)), None))
            }
            None => {
                part.timed.ended("ok");
                None
            }
        }
    })
}

/// Answers a question that has one message for an answer.
async fn one<M: Message + Default, A: Message + 'static>(
    shared: Shared,
    kind: &'static str,
    request: Request<Body>,
    answer: impl AsyncFnOnce(&Shared, &Tenants, M) -> Result<A, Unanswered>,
) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, asked: M| {
        answer(shared, tenants, asked).await.map(|message| vec![message])
    };
    several(shared, kind, request, answer).await
}

/// Answers a question whose answer is known at once, and may be too large for one message.
async fn several<M: Message + Default, A: Message + 'static>(
    shared: Shared,
    kind: &'static str,
    request: Request<Body>,
    answer: impl AsyncFnOnce(&Shared, &Tenants, M) -> Result<Vec<A>, Unanswered>,
) -> Response {
    grpc::answer(shared, request, async |shared: Shared, tenants: Tenants, asked: M| {
        let timed = Timed::new(&shared.telemetry, kind);
        let answered = answer(&shared, &tenants, asked).await;
        timed.ended(question::outcome(&answered));
        let messages = answered.map_err(Status::from)?;
        Ok(grpc::stream(&shared, stream::iter(messages.into_iter().map(Ok))))
    })
    .await
}

fn names_wanted(asked: &mut SearchTagsRequest) -> Result<(tags::Which, tags::Wanted), String> {
    let wanted = tags::Wanted {
        query: std::mem::take(&mut asked.query),
        time: range::between(asked.start, asked.end)?,
        limit: some(asked.max_tags_per_scope),
    };
    Ok((tags::Which::of(&asked.scope)?, wanted))
}

async fn search_tags(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, mut asked: SearchTagsRequest| {
        let (which, wanted) = names_wanted(&mut asked)?;
        let names = tags::all_names(shared, tenants, which, wanted).await?;
        Ok(SearchTagsResponse::from(names))
    };
    one(shared, "tags", request, answer).await
}

async fn search_tags_v2(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, mut asked: SearchTagsRequest| {
        let (which, wanted) = names_wanted(&mut asked)?;
        let scopes = tags::scopes(shared, tenants, which, wanted).await?;
        Ok(SearchTagsV2Response::from(scopes))
    };
    one(shared, "tags", request, answer).await
}

fn values_wanted(asked: &mut SearchTagValuesRequest) -> Result<tags::Wanted, String> {
    Ok(tags::Wanted {
        query: std::mem::take(&mut asked.query),
        time: range::between(asked.start, asked.end)?,
        limit: some(asked.max_tag_values),
    })
}

async fn search_tag_values(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, mut asked: SearchTagValuesRequest| {
        let wanted = values_wanted(&mut asked)?;
        let values = tags::plain_values(shared, tenants, &asked.tag_name, wanted).await?;
        Ok(SearchTagValuesResponse::from(values))
    };
    one(shared, "tag_values", request, answer).await
}

async fn search_tag_values_v2(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, mut asked: SearchTagValuesRequest| {
        let wanted = values_wanted(&mut asked)?;
        let values = tags::typed_values(shared, tenants, &asked.tag_name, wanted).await?;
        Ok(SearchTagValuesV2Response::from(values))
    };
    one(shared, "tag_values", request, answer).await
}

/// Start and end of a query for series; the last hour where there are none.
fn metrics_range(start: u64, end: u64) -> Result<(i64, i64), String> {
    let nanos = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let end = if end == 0 { times::now_nanos() } else { nanos(end) };
    let hour = crate::limits::DEFAULT_METRICS_RANGE.as_nanos() as i64;
    let start = if start == 0 { end.saturating_sub(hour).max(0) } else { nanos(start) };
    match start < end {
        true => Ok((start, end)),
        false => Err(format!("start must be before end. received start={start} end={end}")),
    }
}

async fn query_range(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, asked: QueryRangeRequest| {
        let (start_nanos, end_nanos) = metrics_range(asked.start, asked.end)?;
        let step = i64::try_from(asked.step).ok().filter(|step| *step > 0);
        let shape = Shape::Range(step);
        let exemplars = some(asked.exemplars);
        let wanted =
            metrics::Wanted { query: asked.query, start_nanos, end_nanos, shape, exemplars };
        let query = wanted.metrics_query(shared).await?;
        let found = shared.engine.metrics(tenants, query).await?;
        Ok(shared.engine.blocking(move || fit::series(QueryRangeResponse::from(found))).await?)
    };
    several(shared, "metrics", request, answer).await
}

async fn query_instant(State(shared): Call, request: Request<Body>) -> Response {
    let answer = async |shared: &Shared, tenants: &Tenants, asked: QueryInstantRequest| {
        let (start_nanos, end_nanos) = metrics_range(asked.start, asked.end)?;
        let (query, shape) = (asked.query, Shape::Instant);
        let wanted = metrics::Wanted { query, start_nanos, end_nanos, shape, exemplars: None };
        let query = wanted.metrics_query(shared).await?;
        let found = shared.engine.metrics(tenants, query).await?;
        Ok(shared.engine.blocking(move || fit::values(QueryInstantResponse::from(found))).await?)
    };
    one(shared, "metrics", request, answer).await
}
