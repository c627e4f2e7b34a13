//! The JSON API of Jaeger's first version: Grafana's data source asks it, and Jaeger UI for whole
//! traces and dependencies.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Request, StatusCode, Uri};
use kymo_traceql::ast::Kind;
use kymo_wire::Signal;
use serde::Serialize;

use super::document::{self, Answer, answer};
use super::envelope::{self, NOT_FOUND, TRACES};
use super::failed::Failed;
use super::monitor::Monitored;
use super::question::Question;
use super::reader::{Reader, TraceId};
use super::{ids, ui, units};
use crate::body::{self, Bounds};
use crate::limits::{
    BODY_PAUSE_TIMEOUT, JAEGER_DEPENDENCIES_LOOKBACK, JAEGER_MAX_TRACES, JAEGER_MAX_TRANSFORM_BYTES,
};
use crate::parameters::{Parameters, invalid};
use crate::router::Shared;
use crate::times;

/// A request as handlers get it.
pub(super) struct Asked {
    reader: Reader,
    parameters: Parameters,
    pub(super) is_pretty: bool,
}

impl Asked {
    pub(super) fn new(shared: &Shared, uri: &Uri, headers: &HeaderMap) -> Result<Self, Failed> {
        let reader = Reader::of(shared, headers)?;
        let parameters = Parameters::of(uri).map_err(Failed::Invalid)?;
        let is_pretty = parameters.get("prettyPrint").is_some_and(|on| on != "false");
        Ok(Self { reader, parameters, is_pretty })
    }

    /// Answers with traces of these ids.
    async fn traces(&self, ids: Vec<TraceId>) -> Result<Answer, Failed> {
        let traces = self.reader.traces(ids, ui::stored, Vec::len);
        let pretty = self.is_pretty.then(|| self.reader.engine().clone());
        Ok(answer(traces, TRACES, pretty).await?)
    }

    /// Answers with a list, written on the engine's threads.
    pub(super) async fn list<T: Serialize + Send + 'static>(&self, list: Vec<T>) -> Response {
        let is_pretty = self.is_pretty;
        self.reader.shared().encode(move || envelope::list(&list, is_pretty)).await
    }
}

/// An answer, or the error in its envelope.
pub(super) fn reply(answer: Result<Response, Failed>) -> Response {
    answer.unwrap_or_else(|failed| envelope::error(&failed))
}

pub(super) async fn services(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        Ok(asked.list(asked.reader.services().await?).await)
    };
    reply(answered.await)
}

/// `services/{service}/operations`. Grafana does not encode the slashes of a name.
pub(super) async fn operation_names(
    State(shared): State<Shared>,
    Path(rest): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let Some(service) = rest.strip_suffix("/operations") else {
            return Err(Failed::Unknown("there is services/NAME/operations, and nothing else"));
        };
        let operations = asked.reader.operations(service, &[]).await?;
        let mut names: Vec<String> = operations.into_iter().map(|found| found.name).collect();
        names.dedup();
        Ok(asked.list(names).await)
    };
    reply(answered.await)
}

pub(super) async fn operations(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    #[derive(Serialize)]
    struct Shown {
        name: String,
        #[serde(rename = "spanKind")]
        kind: String,
    }
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let Some(service) = asked.parameters.get("service") else {
            return Err(Failed::Invalid("the parameter service is required".to_owned()));
        };
        let kind = kind_of(&asked.parameters.text("spanKind")).map_err(Failed::Invalid)?;
        let found = asked.reader.operations(service, kind.map(Kind::name).as_slice()).await?;
        let shown = found.into_iter().map(|operation| Shown {
            name: operation.name,
            kind: if operation.kind == "unspecified" { String::new() } else { operation.kind },
        });
        Ok(asked.list(shown.collect()).await)
    };
    reply(answered.await)
}

/// The kind that a parameter names, if it is set.
pub(super) fn kind_of(name: &str) -> Result<Option<Kind>, String> {
    if name.is_empty() {
        return Ok(None);
    }
    let expected = "one of unspecified, internal, server, client, producer, consumer";
    let kind = Kind::from_name(&name.to_ascii_lowercase());
    kind.map(Some).ok_or_else(|| invalid("spanKind", expected, name))
}

pub(super) async fn search(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let ids: Result<Vec<TraceId>, String> =
            asked.parameters.all("traceID").map(ids::parse).collect();
        let mut ids = ids.map_err(Failed::Invalid)?;
        let are_found = ids.is_empty();
        let question = Question::legacy(&asked.parameters).map_err(Failed::Invalid)?;
        if are_found {
            ids = asked.reader.find_ids(&question).await?;
        } else if ids.len() > JAEGER_MAX_TRACES {
            let message = format!("at most {JAEGER_MAX_TRACES} traces can be asked for at once");
            return Err(Failed::Invalid(message));
        }
        match asked.traces(ids).await? {
            Answer::Traces(response) => Ok(response),
            // Traces that were found and are gone since are not missed by anybody.
            Answer::Nothing(_) if are_found => Ok(envelope::nothing(&[], asked.is_pretty)),
            Answer::Nothing(missing) => Ok(envelope::nothing(&missing, asked.is_pretty)),
        }
    };
    reply(answered.await)
}

pub(super) async fn trace(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let id = ids::parse(&id).map_err(Failed::Invalid)?;
        // A trace is found without a time, and Grafana sends milliseconds where Jaeger reads
        // microseconds: that they are numbers is all that is asked of them.
        for name in ["start", "end"] {
            units::micros(&asked.parameters, name).map_err(Failed::Invalid)?;
        }
        asked.parameters.switch("raw").map_err(Failed::Invalid)?;
        match asked.traces(vec![id]).await? {
            Answer::Traces(response) => Ok(response),
            Answer::Nothing(_) => Err(Failed::Unknown(NOT_FOUND)),
        }
    };
    reply(answered.await)
}

pub(super) async fn dependencies(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    #[derive(Serialize)]
    struct Link {
        parent: String,
        child: String,
        #[serde(rename = "callCount")]
        calls: u64,
    }
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let millis = |name| units::millis(&asked.parameters, name).map_err(Failed::Invalid);
        let end = millis("endTs")?.unwrap_or_else(times::now_nanos);
        let default_nanos = JAEGER_DEPENDENCIES_LOOKBACK.as_nanos() as i64;
        let lookback = millis("lookback")?.unwrap_or(default_nanos);
        if lookback <= 0 {
            return Err(Failed::Invalid("lookback must be more than 0 ms".to_owned()));
        }
        let found = asked.reader.dependencies(end.saturating_sub(lookback)..end).await?;
        let service = asked.parameters.text("service");
        let links = found
            .into_iter()
            .filter(|link| [&link.parent, &link.child].contains(&&service) || service.is_empty())
            .map(|link| Link { parent: link.parent, child: link.child, calls: link.calls });
        Ok(asked.list(links.collect()).await)
    };
    reply(answered.await)
}

/// OTLP/JSON as the JSON of Jaeger UI, which asks for it when a file is dropped on it. It takes
/// room from answers here, not from those who send.
pub(super) async fn transform(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let answered = async {
        let asked = Asked::new(&shared, &head.uri, &head.headers)?;
        let bounds = Bounds::new(JAEGER_MAX_TRANSFORM_BYTES, BODY_PAUSE_TIMEOUT);
        let read = body::read(body, bounds, &shared.jaeger.budget).await;
        let (text, reservation) = read.map_err(|error| Failed::Unread(error.into()))?;
        let is_pretty = asked.is_pretty;
        let made = shared.read(move || {
            let _reservation = reservation;
            let otlp = kymo_wire::json::decode(Signal::Traces, &text)
                .map_err(|error| format!("the body is not OTLP/JSON: {error}"))?;
            let traces = ui::traces(&otlp, 0)
                .map_err(|error| format!("the body is not OTLP/JSON: {error}"))?;
            Ok(envelope::list(&traces, is_pretty))
        });
        made.await?.map_err(Failed::Invalid)
    };
    reply(answered.await)
}

/// What the Monitor tab draws. It is in no envelope.
pub(super) async fn metrics(
    State(shared): State<Shared>,
    Path(which): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answered = async {
        let asked = Asked::new(&shared, &uri, &headers)?;
        let monitored = Monitored::of(&which, &asked.parameters)?;
        let family = monitored.family(&asked.reader).await?;
        let is_pretty = asked.is_pretty;
        Ok(shared.encode(move || document::whole(StatusCode::OK, &family, is_pretty)).await)
    };
    reply(answered.await)
}
