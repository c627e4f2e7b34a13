//! Deleting records for good, over our API: `/api/delete`, for admins of the tenant. `docs/delete.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | `asked` | what is asked for, checked |
//! | `shown` | deletions as JSON |
//!
//! A deletion is carried out apart from the connection that asked for it: who goes away has asked all
//! the same, and finds it in the list. Refused: a condition that cannot be tested exactly, and one
//! that means everything unless that is said.

mod asked;
mod shown;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, Request, StatusCode};
use kymo_engine::EngineError;
use kymo_engine::deletion::Condition;
use kymo_identity::{Action, Grant};
use kymo_store::deletion::{Affected, Order, Target};
use serde_json::{Value, json};

use crate::access::record;
use crate::limits::{DELETE_MAX_REQUEST_BYTES, DELETIONS_LISTED};
use crate::reply::{self, json_error, typed};
use crate::router::Shared;
use crate::{body, durable, tenant};
use asked::Asked;

/// The paths.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new().route("/api/delete", get(list).post(delete)).route("/api/delete/{id}", get(one))
}

async fn list(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let tenant = match tenant::of(&headers) {
        Ok(tenant) => tenant,
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    match shared.engine.deletions(tenant, DELETIONS_LISTED).await {
        Ok(deletions) => {
            let deletions: Vec<Value> = deletions.iter().map(shown::deletion).collect();
            answer(StatusCode::OK, &json!({ "deletions": deletions }))
        }
        Err(error) => failed(&error),
    }
}

async fn one(State(shared): State<Shared>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let tenant = match tenant::of(&headers) {
        Ok(tenant) => tenant,
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    match shared.engine.deletion(tenant, &id).await {
        Ok(Some(deletion)) => answer(StatusCode::OK, &shown::deletion(&deletion)),
        Ok(None) => {
            let message = "there is no deletion of this id; GET /api/delete lists those there are";
            json_error(StatusCode::NOT_FOUND, message)
        }
        Err(error) => failed(&error),
    }
}

async fn delete(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let tenant = match tenant::of(request.headers()) {
        Ok(tenant) => tenant.to_owned(),
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    let grant = request.extensions().get::<Grant>().cloned();
    let address = record::address_of(&request);
    let body = match body::small(request.into_body(), DELETE_MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let asked = match Asked::read(&body) {
        Ok(asked) => asked,
        Err(why) => return json_error(StatusCode::BAD_REQUEST, &why),
    };
    durable::apart(async move {
        let work = Work { shared: &shared, tenant: &tenant, asked: &asked };
        match work.run(grant.as_ref()).await {
            Ok((status, document)) => {
                if let (Some(id), Some(grant)) = (document["id"].as_str(), &grant) {
                    let what = format!("deletion/{id}");
                    let to = format!("tenant {tenant}");
                    record::done(Action::Changed { what, to }, grant, address);
                }
                answer(status, &document)
            }
            Err(response) => *response,
        }
    })
    .await
}

/// A deletion that somebody asks for.
struct Work<'a> {
    shared: &'a Shared,
    tenant: &'a str,
    asked: &'a Asked,
}

impl Work<'_> {
    /// Shows what would go, or lets it go.
    async fn run(&self, grant: Option<&Grant>) -> Result<(StatusCode, Value), Box<Response>> {
        let (engine, asked) = (&self.shared.engine, self.asked);
        let targets = engine.deletion_targets(self.tenant, &asked.condition).await;
        let targets = targets.map_err(|error| Box::new(failed(&error)))?;
        let affected = engine.preview_deletion(self.tenant, &targets).await;
        let affected = affected.map_err(|error| Box::new(failed(&error)))?;
        if asked.dry_run {
            return Ok((StatusCode::OK, shown::preview(asked, &affected)));
        }
        if let (Some(what), false) = (everything(&affected), asked.all) {
            let message = format!(
                "the condition means all {what} of tenant {}: say \"all\": true (--all) if that is \
                 meant",
                self.tenant
            );
            return Err(Box::new(json_error(StatusCode::CONFLICT, &message)));
        }
        let order = self.order(targets, grant);
        match engine.begin_deletion(self.tenant, order).await {
            Ok(deletion) => {
                let id = &deletion.asked.id;
                tracing::info!(id, by = deletion.asked.by, tenant = self.tenant, "records deleted");
                Ok((StatusCode::ACCEPTED, shown::deletion(&deletion)))
            }
            Err(error) => Err(Box::new(failed(&error))),
        }
    }

    fn order(&self, targets: Vec<Target>, grant: Option<&Grant>) -> Order {
        let Condition { text, language, time, whole_traces, .. } = &self.asked.condition;
        Order {
            by: grant.map_or("anonymous", |grant| &grant.name).to_owned(),
            condition: (!self.asked.redact).then(|| text.clone()),
            condition_hash: asked::hash(text),
            language: language.name().to_owned(),
            time: time.clone(),
            whole_traces: *whole_traces,
            targets,
        }
    }
}

/// The signal of which everything would go.
fn everything(affected: &[Affected]) -> Option<String> {
    let is_all = |one: &&Affected| one.records > 0 && one.records == one.total_records;
    let all: Vec<&str> =
        affected.iter().filter(is_all).map(|one| shown::records_name(one.signal)).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

fn failed(error: &EngineError) -> Response {
    reply::failed(error, |status, message| json_error(status, &message))
}

fn answer(status: StatusCode, document: &Value) -> Response {
    typed(status, "application/json", document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_store::Signal;

    #[test]
    fn all_that_there_is_of_a_signal_is_everything() {
        let affected = |records, total_records| Affected {
            signal: Signal::Logs,
            records,
            total_records,
            blocks: 1,
            block_bytes: 1,
            archived_spans: 0,
        };
        assert_eq!(everything(&[affected(2, 3), affected(0, 0)]), None);
        assert_eq!(everything(&[affected(3, 3)]).as_deref(), Some("log records"));
    }
}
