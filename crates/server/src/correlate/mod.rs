//! `/api/correlate`: what belongs together, over all signals.
//!
//! ```text
//!  trace=ID ──┐            ┌─> traces      (TraceQL)
//!  span=ID ───┼─> Subject ─┼─> exceptions  (events of spans, whatever the status of the span is)
//!  key=value ─┤            ├─> logs        (LogQL: by trace, span or key)
//!  hosts=A,B ─┘            ├─> exemplars   (of metrics: by trace, span or key)
//!                          └─> host, gpu   (PromQL: of the machines that the spans ran on, in their time)
//! ```
//!
//! A *share key* is an attribute that a program puts on everything that belongs to one session, request
//! or run: spans, log records, exemplars. Whoever knows its value finds all of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `question` | what can be asked |
//! | `traces`, `logs`, `exemplars`, `machines` | one kind of answer each |
//! | `answer` | all of them together |

mod answer;
mod exemplars;
mod logs;
mod machines;
mod question;
mod traces;

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{Request, StatusCode};
use kymo_engine::{Engine, EngineError, Tenants};

pub use answer::Correlated;
pub use question::{Part, Question, Subject};

use crate::parameters::Parameters;
use crate::reply::{self, json_error, typed};
use crate::router::Shared;
use crate::tenant;

/// The path.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new().route("/api/correlate", get(answer))
}

async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let began = Instant::now();
    let wrong = |message: String| json_error(StatusCode::BAD_REQUEST, &message);
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(message) => return wrong(message),
    };
    let asked = Parameters::of(request.uri()).and_then(|parameters| Question::of(&parameters));
    let question = match asked {
        Ok(question) => question,
        Err(message) => {
            shared.telemetry.query("correlate", "invalid", began.elapsed());
            return wrong(message);
        }
    };
    let answered = correlate(&shared.engine, &tenants, &question).await;
    let outcome = answered.as_ref().map_or_else(EngineError::kind, |_| "ok");
    shared.telemetry.query("correlate", outcome, began.elapsed());
    match answered {
        Ok(found) => {
            let respond = move || match serde_json::to_string(&found) {
                Ok(text) => typed(StatusCode::OK, "application/json", text),
                Err(error) => {
                    json_error(StatusCode::INTERNAL_SERVER_ERROR, &format!("no JSON: {error}"))
                }
            };
            shared.encode(respond).await
        }
        Err(error) => reply::failed(&error, |status, message| json_error(status, &message)),
    }
}

/// Finds what belongs to a subject.
pub async fn correlate(
    engine: &Engine,
    tenants: &Tenants,
    question: &Question,
) -> Result<Correlated, EngineError> {
    let mut found = Correlated::of(question);
    let asked = traces::Asked { engine, tenants, question };
    // Of hosts nothing is told but what they did.
    if !matches!(question.subject, Subject::Hosts { .. }) {
        asked.records(&mut found).await?;
    }
    found.settle_window(question);
    let wants_machines = question.wants(Part::Host) || question.wants(Part::Gpu);
    if let (true, Some(window)) = (wants_machines, found.window(question)) {
        found.hosts = asked.hosts(&found.trace_ids()).await?;
        found.machines = asked.machines(&found.hosts, &window).await?;
    }
    found.settle_bounds(question);
    if !question.wants(Part::Traces) {
        found.traces.clear();
    }
    Ok(found)
}

impl traces::Asked<'_> {
    /// Finds what was recorded: traces, and what belongs to them.
    async fn records(&self, found: &mut Correlated) -> Result<(), EngineError> {
        found.traces = self.traces().await?;
        let ids = found.trace_ids();
        if self.question.wants(Part::Exceptions) {
            found.exceptions = self.exceptions(&ids).await?;
        }
        if self.question.wants(Part::Logs) {
            found.logs = self.logs(&ids).await?;
        }
        if self.question.wants(Part::Exemplars) {
            found.exemplars = self.exemplars(&ids, found.window(self.question)).await?;
        }
        Ok(())
    }
}
