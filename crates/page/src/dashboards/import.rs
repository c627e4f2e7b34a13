//! Importing: JSON as Grafana exports it, or a Kubernetes ConfigMap with dashboards.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use kymo_dash::configmap::{self, Found};
use kymo_dash::migrate::written_uid;
use kymo_dash::report::report as look;
use kymo_dash::shipped;
use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::MAX_BODY_BYTES;
use super::{kept, saved};
use crate::Page;
use crate::answer::{Failed, Who, Whose, json as answer, one_tenant};

/// How a file is imported.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    overwrite: bool,
}

/// A dashboard of a file, and what is said of it.
struct Looked {
    text: String,
    /// The id that it says.
    uid: Option<String>,
    shown: Value,
}

/// `POST /api/dashboards/report`: what of a file works, without keeping it.
pub(super) async fn report(
    State(page): State<Page>,
    Whose(_): Whose,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let looked = looked(&page, body).await?;
    let reports: Vec<Value> = looked.into_iter().map(|one| one.shown).collect();
    answer(&json!({ "dashboards": reports }))
}

/// `POST /api/dashboards/import`: keeps what is in a file, one by one. One that cannot be kept does not
/// keep the others out.
pub(super) async fn import(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    Query(asked): Query<Asked>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let looked = looked(&page, body).await?;
    let is_alone = looked.len() == 1;
    let mut reports = Vec::new();
    for Looked { text, uid, mut shown } in looked {
        if asked.dry_run {
            reports.push(shown);
            continue;
        }
        let tenant = one_tenant(&tenants, "a dashboard")?;
        let save = saved::imported(&text, asked.overwrite)?;
        match saved::keep(&page, tenant, save, &by).await {
            Err(error) if is_alone => return Err(error),
            Err(error) => {
                shown["error"] = json!(error.to_string());
                if matches!(error, Failed::Conflict(_)) {
                    shown["taken"] = json!(is_taken(&page, tenant, uid.as_deref()).await?);
                }
            }
            Ok((uid, version)) => {
                shown["uid"] = json!(uid);
                shown["version"] = json!(version);
            }
        }
        reports.push(shown);
    }
    answer(&json!({ "dashboards": reports }))
}

/// Whether what has an id was saved here, so that another can be saved over it.
async fn is_taken(page: &Page, tenant: &str, uid: Option<&str>) -> Result<bool, Failed> {
    match uid {
        Some(uid) if shipped::find(uid).is_none() => {
            Ok(kept::get(&page.engine, tenant, uid).await?.is_some())
        }
        _ => Ok(false),
    }
}

/// What is in a file, and what of it works: on the engine's threads, since it may be many megabytes.
async fn looked(page: &Page, body: Result<Bytes, BytesRejection>) -> Result<Vec<Looked>, Failed> {
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failed::TooLarge(format!("a file has at most {MAX_BODY_BYTES} bytes"))
        }
        _ => Failed::Invalid(error.body_text()),
    })?;
    let look = move || -> Result<Vec<Looked>, Failed> {
        let text = std::str::from_utf8(&body)
            .map_err(|_| Failed::Invalid("expected JSON or YAML, which is UTF-8".to_owned()))?;
        let found =
            configmap::dashboards(text).map_err(|error| Failed::Invalid(error.to_string()))?;
        Ok(found.into_iter().map(looked_at).collect())
    };
    page.engine.blocking(look).await?
}

fn looked_at(one: Found) -> Looked {
    let Found { name, json, text } = one;
    let uid = written_uid(&json).map(str::to_owned);
    let shown = match look(&json) {
        Ok(inspected) => json!({
            "name": name, "report": inspected.report, "dashboard": json,
            "model": inspected.migrated.json,
        }),
        Err(error) => json!({"name": name, "error": error.to_string()}),
    };
    Looked { text, uid, shown }
}
