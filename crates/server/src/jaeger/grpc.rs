//! `jaeger.api_v3.QueryService` over gRPC, on the main port.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use http::Request;
use kymo_engine::EngineError;
use kymo_store::otlp::TraceResult;
use kymo_wire::WireError;

use super::failed::Failed;
use super::fetch::Kept;
use super::messages::{
    FindTraceSummariesResponse, FindTracesRequest, GetDependenciesRequest, GetOperationsRequest,
    GetServicesRequest, GetServicesResponse, GetTraceRequest, Time, TracesData,
};
use super::question::Question;
use super::reader::Reader;
use super::units::of_parts;
use super::{chunks, ids, summary, v3};
use crate::grpc::{self, Status, of_engine};
use crate::limits::{JAEGER_SUMMARIES_AT_ONCE, STREAM_MESSAGE_BYTES};
use crate::router::Shared;

/// The methods.
pub(super) fn methods() -> Router<Shared> {
    Router::new()
        .route("/jaeger.api_v3.QueryService/GetTrace", post(get_trace))
        .route("/jaeger.api_v3.QueryService/FindTraces", post(find_traces))
        .route("/jaeger.api_v3.QueryService/FindTraceSummaries", post(find_summaries))
        .route("/jaeger.api_v3.QueryService/GetServices", post(get_services))
        .route("/jaeger.api_v3.QueryService/GetOperations", post(get_operations))
        .route("/jaeger.api_v3.QueryService/GetDependencies", post(get_dependencies))
}

async fn get_trace(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared: Shared, tenants, asked: GetTraceRequest| {
        let id = ids::parse(&asked.trace_id).map_err(Status::invalid)?;
        let reader = Reader::new(shared, tenants);
        let mut found = Box::pin(reader.traces(vec![id], divide, |chunks| size_of(chunks)));
        match found.try_next().await.map_err(|error| of_engine(&error))? {
            Some((_, Some(chunks))) => {
                let messages = messages_of(Some(chunks)).map_err(|error| of_engine(&error));
                Ok(grpc::stream(reader.shared(), messages))
            }
            _ => Err(Failed::Unknown("trace not found").into()),
        }
    };
    grpc::answer(shared, request, method).await
}

async fn find_traces(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared: Shared, tenants, asked: FindTracesRequest| {
        let question = question(asked)?;
        let reader = Reader::new(shared, tenants);
        let ids = reader.find_ids(&question).await.map_err(|error| of_engine(&error))?;
        let traces = reader.traces(ids, divide, |chunks| size_of(chunks));
        let messages = traces.map_ok(|(_, chunks)| messages_of(chunks)).try_flatten();
        let messages = messages.map_err(|error| of_engine(&error));
        Ok(grpc::stream(reader.shared(), messages))
    };
    grpc::answer(shared, request, method).await
}

/// The messages of one trace, none if it is gone. Its bytes count until the last is taken.
fn messages_of(
    chunks: Option<Kept<Vec<TracesData>>>,
) -> impl Stream<Item = Result<TracesData, EngineError>> + Send {
    let (chunks, counted) = chunks.map(Kept::split).unzip();
    stream::iter(chunks.unwrap_or_default()).map(move |chunk| {
        let _counted = &counted;
        Ok(chunk)
    })
}

fn size_of(chunks: &[TracesData]) -> usize {
    chunks.iter().flat_map(|chunk| &chunk.resource_spans).map(Vec::len).sum()
}

async fn find_summaries(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared: Shared, tenants, asked: FindTracesRequest| {
        let question = question(asked)?;
        let reader = Reader::new(shared, tenants);
        let found = summary::find(&reader, &question).await.map_err(|error| of_engine(&error))?;
        let messages: Vec<_> = found
            .chunks(JAEGER_SUMMARIES_AT_ONCE)
            .map(|some| Ok(FindTraceSummariesResponse { summaries: some.to_vec() }))
            .collect();
        Ok(grpc::stream(reader.shared(), stream::iter(messages)))
    };
    grpc::answer(shared, request, method).await
}

async fn get_services(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared, tenants, _: GetServicesRequest| {
        let asked = Reader::new(shared, tenants).services().await;
        let services = asked.map_err(|error| of_engine(&error))?;
        Ok(grpc::unary(&GetServicesResponse { services }))
    };
    grpc::answer(shared, request, method).await
}

async fn get_operations(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared, tenants, asked: GetOperationsRequest| {
        let reader = Reader::new(shared, tenants);
        let found = v3::find_operations(&reader, &asked.service, &asked.span_kind).await?;
        Ok(grpc::unary(&found))
    };
    grpc::answer(shared, request, method).await
}

async fn get_dependencies(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let method = async |shared, tenants, asked: GetDependenciesRequest| {
        let nanos = |time: Option<Time>| time.and_then(|time| of_parts(time.seconds, time.nanos));
        let reader = Reader::new(shared, tenants);
        let (start, end) = (nanos(asked.start_time), nanos(asked.end_time));
        Ok(grpc::unary(&v3::find_dependencies(&reader, start, end).await?))
    };
    grpc::answer(shared, request, method).await
}

fn question(asked: FindTracesRequest) -> Result<Question, Status> {
    let Some(query) = asked.query else {
        return Err(Status::invalid("the request has no query"));
    };
    query.question().map_err(Status::invalid)
}

fn divide(trace: &TraceResult) -> Result<Vec<TracesData>, WireError> {
    chunks::divide(&trace.body, STREAM_MESSAGE_BYTES)
}
