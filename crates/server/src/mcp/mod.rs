//! The Model Context Protocol, at `/tempo/api/mcp`: queries as tools of language models, by Tempo's
//! names, and one for SQL.
//!
//! A call of a tool becomes a request of our own API, which the routes of the server answer in
//! process: limits, tenants, queueing and errors are theirs. There are no sessions: every POST is
//! answered by itself, with one JSON document. It is off unless a setting switches it on, since what
//! is stored then goes where the model runs.
//!
//! | module | what it holds |
//! |---|---|
//! | `message` | JSON-RPC: requests, notifications, errors |
//! | `version` | versions of the protocol, and what their requests have to say |
//! | `origin` | which web pages may ask |
//! | `methods` | what is asked: `initialize`, `tools/list`, `tools/call`, … |
//! | `tools`, `arguments` | the tools, and what they are given |
//! | `ask` | a call as a request of our API, and its answer as text |
//! | `guide` | what models may read about TraceQL, SQL and the settings |

mod arguments;
mod ask;
mod guide;
mod message;
mod methods;
mod origin;
mod tools;
mod version;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{any, post};
use http::{HeaderMap, Request, StatusCode};
use serde_json::Value;

use self::ask::Caller;
use self::message::{Incoming, Message, Refused, RpcError};
use self::origin::Origins;
use self::version::Version;
use crate::answer::Failure;
use crate::body::{self, Bounds};
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES, MCP_MAX_BATCH};
use crate::reply::{self, plain, typed};
use crate::router::Shared;

pub(crate) const PATH: &str = "/tempo/api/mcp";

/// Who may use it.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) is_on: bool,
    /// Origins of web pages that may.
    pub(crate) allowed_origins: Vec<String>,
}

/// The path. `api` answers what tools ask.
pub(crate) fn over_http(access: Access, api: Router) -> Router<Shared> {
    if !access.is_on {
        return Router::new().route(PATH, any(switched_off));
    }
    let server = Server { api, origins: Origins::new(access.allowed_origins) };
    let answer = move |State(shared), request| server.clone().answer(shared, request);
    // There are no streams to open (GET) and no sessions to end (DELETE): both are 405.
    Router::new().route(PATH, post(answer))
}

async fn switched_off() -> Response {
    let message = "MCP is switched off here; query.mcp: true in the configuration, --query-mcp true \
                   or KYMO_QUERY_MCP=true switches it on\n";
    plain(StatusCode::NOT_FOUND, message.to_owned())
}

#[derive(Debug, Clone)]
struct Server {
    api: Router,
    origins: Origins,
}

impl Server {
    async fn answer(self, shared: Shared, request: Request<Body>) -> Response {
        let (head, body) = request.into_parts();
        if let Err(error) = self.origins.check(&head.headers) {
            body::drain(body).await;
            return refused(error.into());
        }
        let bounds = Bounds::new(MAX_QUERY_BYTES, BODY_PAUSE_TIMEOUT);
        let (text, _reservation) = match body::read(body, bounds, &shared.receiver.budget).await {
            Ok(read) => read,
            Err(error) => return unread(error.into()),
        };
        let incoming = match shared.read(move || message::parse(&text)).await {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(error)) => return refused(error.into()),
            Err(error) => return refused(RpcError::internal(error.to_string()).into()),
        };
        let caller = Caller::new(shared.clone(), self.api, &head.headers);
        let answered = Exchange { caller, headers: head.headers }.answer(incoming).await;
        match answered {
            Ok(None) => accepted(),
            Ok(Some((status, document))) => shared.encode(move || json(status, &document)).await,
            Err(error) => refused(error),
        }
    }
}

/// One POST.
struct Exchange {
    caller: Caller,
    headers: HeaderMap,
}

/// Status and document of an answer; `None` where nothing is to be said.
type Answer = Option<(StatusCode, Value)>;

impl Exchange {
    async fn answer(mut self, incoming: Incoming) -> Result<Answer, Refused> {
        match incoming {
            Incoming::Single(value) => self.single(value).await,
            Incoming::Batch(values) => self.batch(values).await,
        }
    }

    /// Answers a message.
    async fn single(&mut self, value: Value) -> Result<Answer, Refused> {
        let (id, method, params) = match Message::of(value)? {
            Message::Request { id, method, params } => (id, method, params),
            Message::Silent => {
                version::named(&self.headers)?;
                return Ok(None);
            }
        };
        let answered = match version::of_request(&self.headers, &method, &params) {
            Ok(version) => methods::answer(&mut self.caller, version, &method, &params).await,
            Err(error) => Err(error),
        };
        Ok(Some(match answered {
            Ok(result) => (StatusCode::OK, message::result(&id, result)),
            Err(error) => (error.status, error.document(Some(&id))),
        }))
    }

    /// Answers messages that were sent together, one after another.
    async fn batch(&mut self, values: Vec<Value>) -> Result<Answer, Refused> {
        let version = version::named(&self.headers)?.unwrap_or(Version::ASSUMED);
        if !version.takes_batches() {
            let message = format!("version {} has no batches: send one message", version.name());
            return Err(RpcError::invalid_request(message).into());
        }
        if values.is_empty() || values.len() > MCP_MAX_BATCH {
            let message = format!("a batch has 1 to {MCP_MAX_BATCH} messages");
            return Err(RpcError::invalid_request(message).into());
        }
        let mut answers = Vec::new();
        for value in values {
            match self.single(value).await {
                Ok(answer) => answers.extend(answer.map(|(_, document)| document)),
                Err(refused) => answers.push(refused.document()),
            }
        }
        Ok((!answers.is_empty()).then_some((StatusCode::OK, Value::Array(answers))))
    }
}

fn json(status: StatusCode, document: &Value) -> Response {
    typed(status, "application/json", document.to_string())
}

fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn refused(refused: Refused) -> Response {
    json(refused.error.status, &refused.document())
}

/// The answer to a request whose body could not be read.
fn unread(failure: Failure) -> Response {
    reply::refused(failure, |status, message| {
        refused(RpcError { status, ..RpcError::invalid_request(message) }.into())
    })
}
