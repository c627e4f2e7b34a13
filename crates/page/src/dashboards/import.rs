//! Importing: JSON as Grafana exports it, or a Kubernetes ConfigMap with dashboards.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use kymo_dash::configmap::{self, Found};
use kymo_dash::report::report as look;
use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::MAX_BODY_BYTES;
use super::saved;
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

/// `POST /api/dashboards/report`: what of a file works, without keeping it.
pub(super) async fn report(
    Whose(_): Whose,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let found = found(body)?;
    let reports: Vec<Value> = found.iter().map(|one| reported(one, None)).collect();
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
    let found = found(body)?;
    let mut reports = Vec::new();
    for one in &found {
        if asked.dry_run {
            reports.push(reported(one, None));
            continue;
        }
        let tenant = one_tenant(&tenants, "a dashboard")?;
        let save = saved::imported(&one.text, asked.overwrite)?;
        match saved::keep(&page, tenant, save, &by).await {
            Err(error) if found.len() == 1 => return Err(error),
            kept => reports.push(reported(one, Some(kept))),
        }
    }
    answer(&json!({ "dashboards": reports }))
}

fn found(body: Result<Bytes, BytesRejection>) -> Result<Vec<Found>, Failed> {
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failed::TooLarge(format!("a file has at most {MAX_BODY_BYTES} bytes"))
        }
        _ => Failed::Invalid(error.body_text()),
    })?;
    let text = std::str::from_utf8(&body)
        .map_err(|_| Failed::Invalid("expected JSON or YAML, which is UTF-8".to_owned()))?;
    configmap::dashboards(text).map_err(|error| Failed::Invalid(error.to_string()))
}

fn reported(one: &Found, kept: Option<Result<(String, u64), Failed>>) -> Value {
    let Found { name, json, .. } = one;
    let mut shown = match look(json) {
        Ok(inspected) => json!({
            "name": name, "report": inspected.report, "dashboard": json,
        }),
        Err(error) => json!({"name": name, "error": error.to_string()}),
    };
    match kept {
        Some(Ok((uid, version))) => {
            shown["uid"] = json!(uid);
            shown["version"] = json!(version);
        }
        Some(Err(error)) => shown["error"] = json!(error.to_string()),
        None => {}
    }
    shown
}
