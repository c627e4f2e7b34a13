//! The third version of the API over HTTP, which Jaeger UI asks: OTLP/JSON for traces, summaries for
//! lists of them.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Request, StatusCode, Uri};
use kymo_store::otlp::TraceResult;
use kymo_traceql::ast::Kind;
use kymo_wire::{Signal, WireError};
use serde::Serialize;

use super::document::{Answer, Frame, answer, whole};
use super::failed::Failed;
use super::legacy::kind_of;
use super::messages::{
    DependenciesResponse, DependencyMessage, FindTraceSummariesResponse, GetOperationsResponse,
    GetServicesResponse, OperationMessage,
};
use super::question::Question;
use super::reader::{Operation, Reader, TraceId};
use super::{ids, summary};
use crate::body::{self, Bounds};
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES};
use crate::parameters::Parameters;
use crate::router::Shared;

/// The words of Jaeger, which clients look for.
const NOT_FOUND: &str = "No traces found";

/// What stands around resource groups of all traces.
const TRACES: Frame =
    Frame { begin: "{\"result\":{\"resourceSpans\":[", end: |_, _| "]}}".to_owned() };

/// An answer, or the error in its envelope.
fn reply(answer: Result<Response, Failed>) -> Response {
    answer.unwrap_or_else(|failed| failed.response(error))
}

/// `{"error": {"grpcCode": …, "httpCode": …, "message": …, "httpStatus": …}}`.
fn error(status: StatusCode, message: String) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Details {
        grpc_code: i32,
        http_code: u16,
        message: String,
        http_status: &'static str,
    }
    #[derive(Serialize)]
    struct Envelope {
        error: Details,
    }
    let details = Details {
        grpc_code: grpc_code(status),
        http_code: status.as_u16(),
        message,
        http_status: status.canonical_reason().unwrap_or_default(),
    };
    whole(status, &Envelope { error: details }, false)
}

/// The code that gRPC has for a status.
fn grpc_code(status: StatusCode) -> i32 {
    match status {
        StatusCode::BAD_REQUEST => 3,
        StatusCode::GATEWAY_TIMEOUT => 4,
        StatusCode::NOT_FOUND => 5,
        StatusCode::FORBIDDEN => 7,
        StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::UNPROCESSABLE_ENTITY => 8,
        StatusCode::NOT_IMPLEMENTED => 12,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        _ => 13,
    }
}

/// An answer that is not a trace, written on the engine's threads.
async fn document(shared: &Shared, answer: impl Serialize + Send + 'static) -> Response {
    shared.encode(move || whole(StatusCode::OK, &answer, false)).await
}

pub(super) async fn services(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let answered = async {
        let services = Reader::of(&shared, &headers)?.services().await?;
        Ok(document(&shared, GetServicesResponse { services }).await)
    };
    reply(answered.await)
}

pub(super) async fn operations(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let reader = Reader::of(&shared, &headers)?;
        let parameters = Parameters::of(&uri).map_err(Failed::Invalid)?;
        let service = parameters.text("service");
        let kind = parameters.text(parameters.either("spanKind", "span_kind"));
        let operations = find_operations(&reader, &service, &kind).await?;
        Ok(document(&shared, operations).await)
    };
    reply(answered.await)
}

/// Operations, where spans without a kind count as internal.
pub(super) async fn find_operations(
    reader: &Reader,
    service: &str,
    kind: &str,
) -> Result<GetOperationsResponse, Failed> {
    const INTERNAL: &str = "internal";
    let kinds: &[&str] = match kind_of(kind).map_err(Failed::Invalid)?.map(Kind::name) {
        None => &[],
        Some(INTERNAL) => &[INTERNAL, "unspecified"],
        Some(kind) => &[kind],
    };
    let shown = |operation: Operation| OperationMessage {
        name: operation.name,
        span_kind: match operation.kind.as_str() {
            "unspecified" => INTERNAL.to_owned(),
            _ => operation.kind,
        },
    };
    let found = reader.operations(service, kinds).await?;
    let mut operations: Vec<OperationMessage> = found.into_iter().map(shown).collect();
    // In the order of names and kinds, so that equal ones are neighbours but for an unspecified one.
    operations
        .sort_by(|one, other| (&one.name, &one.span_kind).cmp(&(&other.name, &other.span_kind)));
    operations.dedup();
    Ok(GetOperationsResponse { operations })
}

pub(super) async fn trace(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let reader = Reader::of(&shared, &headers)?;
        let id = ids::parse(&id).map_err(Failed::Invalid)?;
        let parameters = Parameters::of(&uri).map_err(Failed::Invalid)?;
        // A trace is found without its time; but what is no time is told.
        start_and_end(&parameters).map_err(Failed::Invalid)?;
        let raw = parameters.either("rawTraces", "raw_traces");
        parameters.switch(raw).map_err(Failed::Invalid)?;
        traces(&reader, vec![id]).await
    };
    reply(answered.await)
}

pub(super) async fn search(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    let answered = async {
        let reader = Reader::of(&shared, &headers)?;
        let question = Question::v3(&uri).map_err(Failed::Invalid)?;
        let ids = reader.find_ids(&question).await?;
        traces(&reader, ids).await
    };
    reply(answered.await)
}

pub(super) async fn search_by_body(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Response {
    let answered = async {
        let (reader, question) = question_in(&shared, request).await?;
        let ids = reader.find_ids(&question).await?;
        traces(&reader, ids).await
    };
    reply(answered.await)
}

pub(super) async fn summaries(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let reader = Reader::of(&shared, &headers)?;
        let question = Question::v3(&uri).map_err(Failed::Invalid)?;
        found(&reader, &question).await
    };
    reply(answered.await)
}

pub(super) async fn summaries_by_body(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Response {
    let answered = async {
        let (reader, question) = question_in(&shared, request).await?;
        found(&reader, &question).await
    };
    reply(answered.await)
}

pub(super) async fn dependencies(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let reader = Reader::of(&shared, &headers)?;
        let parameters = Parameters::of(&uri).map_err(Failed::Invalid)?;
        let (start, end) = start_and_end(&parameters).map_err(Failed::Invalid)?;
        let dependencies = find_dependencies(&reader, start, end).await?;
        Ok(document(&shared, dependencies).await)
    };
    reply(answered.await)
}

/// The times in parameters, as far as they are there.
fn start_and_end(parameters: &Parameters) -> Result<(Option<i64>, Option<i64>), String> {
    let start = parameters.time(parameters.either("startTime", "start_time"))?;
    let end = parameters.time(parameters.either("endTime", "end_time"))?;
    Ok((start, end))
}

/// Who calls whom between two moments, both of which must be given.
pub(super) async fn find_dependencies(
    reader: &Reader,
    start: Option<i64>,
    end: Option<i64>,
) -> Result<DependenciesResponse, Failed> {
    let invalid = |message: &str| Failed::Invalid(message.to_owned());
    let (Some(start), Some(end)) = (start, end) else {
        return Err(invalid("startTime and endTime are required: as in 2026-01-02T03:04:05Z"));
    };
    if start >= end {
        return Err(invalid("startTime must be before endTime"));
    }
    let found = reader.dependencies(start..end).await?;
    let dependencies = found.into_iter().map(|link| DependencyMessage {
        parent: link.parent,
        child: link.child,
        call_count: link.calls,
    });
    Ok(DependenciesResponse { dependencies: dependencies.collect() })
}

/// The question in a body, and who asks it.
async fn question_in(
    shared: &Shared,
    request: Request<Body>,
) -> Result<(Reader, Question), Failed> {
    let (head, body) = request.into_parts();
    let reader = Reader::of(shared, &head.headers)?;
    let bounds = Bounds::new(MAX_QUERY_BYTES, BODY_PAUSE_TIMEOUT);
    let read = body::read(body, bounds, &shared.receiver.budget).await;
    let (text, _reservation) = read.map_err(|error| Failed::Unread(error.into()))?;
    let question = shared.read(move || Question::of_body(&text)).await?;
    Ok((reader, question.map_err(Failed::Invalid)?))
}

async fn found(reader: &Reader, question: &Question) -> Result<Response, Failed> {
    let summaries = summary::find(reader, question).await?;
    Ok(document(reader.shared(), FindTraceSummariesResponse { summaries }).await)
}

async fn traces(reader: &Reader, ids: Vec<TraceId>) -> Result<Response, Failed> {
    match answer(reader.traces(ids, groups, Vec::len), TRACES, None).await? {
        Answer::Traces(response) => Ok(response),
        Answer::Nothing(_) => Err(Failed::Unknown(NOT_FOUND)),
    }
}

/// The resource groups of a trace as OTLP/JSON, without what stands around them.
fn groups(trace: &TraceResult) -> Result<Vec<u8>, WireError> {
    let mut json = Vec::with_capacity(trace.body.len() * 3);
    kymo_wire::json::encode(Signal::Traces, &trace.body, &mut json)?;
    let inner =
        json.strip_prefix(b"{\"resourceSpans\":[").and_then(|json| json.strip_suffix(b"]}"));
    Ok(inner.unwrap_or_default().to_vec())
}
