//! Showing dashboards: the list, one, its history, its JSON.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use kymo_dash::migrate::{migrate, unwrapped};
use kymo_dash::model::read::{self, Object};
use kymo_dash::report::{Report, report};
use kymo_dash::shipped;
use kymo_engine::EngineError;
use kymo_store::StoreError;
use kymo_store::settings::Family;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::find::{Found, Kind, Summary, find};
use super::kept::{self, Kept};
use super::limits::{
    MAX_FOLDER_CHARS, MAX_LISTED_TAG_CHARS, MAX_LISTED_TAGS, MAX_LISTED_TITLE_CHARS,
};
use crate::Page;
use crate::answer::{Failed, Whose, json as answer};

/// `GET /api/dashboards`
pub(super) async fn list(
    State(page): State<Page>,
    Whose(tenants): Whose,
) -> Result<Response, Failed> {
    let mut shown: Vec<Value> = Vec::new();
    let mut own: Vec<String> = Vec::new();
    for tenant in tenants.names() {
        for (uid, version) in page.engine.settings_of(tenant, Family::Dashboards).await? {
            let summary = summary(&page, tenant, &uid, version).await?;
            if !summary.is_deleted && !own.contains(&uid) {
                shown.push(entry(&uid, version, Kind::Own, &summary, None));
                own.push(uid);
            }
        }
    }
    for one in page.dashboards.of_folders(&page).await? {
        if own.contains(&one.uid) {
            continue;
        }
        let (json, broken) = match &one.json {
            Ok((json, _)) => (Some(json.as_ref()), None),
            Err(why) => (None, Some(why.as_str())),
        };
        let mut summary = summary_of(json, &one.file);
        (summary.saved_millis, summary.by) = (one.changed_millis, one.file.clone());
        shown.push(entry(&one.uid, 0, Kind::Provisioned, &summary, broken));
        own.push(one.uid);
    }
    for (uid, json) in shipped::all().into_iter().filter(|(uid, _)| !own.contains(uid)) {
        shown.push(entry(&uid, 0, Kind::Shipped, &summary_of(Some(&json), &uid), None));
    }
    answer(&json!({ "dashboards": shown }))
}

fn entry(uid: &str, version: u64, kind: Kind, summary: &Summary, broken: Option<&str>) -> Value {
    let mut entry = json!({
        "uid": uid,
        "title": summary.title,
        "tags": summary.tags,
        "folder": summary.folder,
        "version": version,
        "updated": (summary.saved_millis > 0).then_some(summary.saved_millis),
        "by": summary.by,
        "kind": kind,
        "provisioned": kind == Kind::Provisioned,
    });
    if let Some(why) = broken {
        entry["error"] = json!(why);
    }
    entry
}

/// What the list shows of a version.
pub(super) async fn summary(
    page: &Page,
    tenant: &str,
    uid: &str,
    version: u64,
) -> Result<Summary, Failed> {
    let key = (tenant.to_owned(), uid.to_owned(), version);
    if let Some(summary) = page.dashboards.summary(&key) {
        return Ok(summary);
    }
    let summary = match kept::version(&page.engine, tenant, uid, version).await {
        Ok(Some(kept)) => {
            let uid = uid.to_owned();
            let read = move || Summary {
                folder: cut(&kept.folder, MAX_FOLDER_CHARS),
                by: kept.by.clone(),
                saved_millis: kept.saved_millis,
                ..summary_of(kept.json().ok().as_ref(), &uid)
            };
            page.engine.blocking(read).await?
        }
        Ok(None) => Summary { is_deleted: true, ..summary_of(None, uid) },
        // One that is damaged must not hide the others, nor must one that cannot be read just now.
        Err(error) => {
            let summary = Summary { by: error.to_string(), ..summary_of(None, uid) };
            if !is_damage(&error) {
                return Ok(summary);
            }
            summary
        }
    };
    page.dashboards.remember(key, summary.clone());
    Ok(summary)
}

/// Whether an error is one of the version itself, which does not pass.
fn is_damage(error: &Failed) -> bool {
    matches!(
        error,
        Failed::Internal(_) | Failed::Engine(EngineError::Store(StoreError::Corrupt(_)))
    )
}

fn summary_of(json: Option<&Value>, otherwise: &str) -> Summary {
    let of = json.and_then(|json| unwrapped(json).ok());
    let title = of.and_then(|of| read::text(of, "title")).unwrap_or(otherwise);
    let tags = of.map_or(&[][..], |of| read::list(of, "tags"));
    let tags = tags.iter().filter_map(read::text_of).take(MAX_LISTED_TAGS);
    Summary {
        title: cut(title, MAX_LISTED_TITLE_CHARS),
        tags: tags.map(|tag| cut(&tag, MAX_LISTED_TAG_CHARS)).collect(),
        folder: String::new(),
        by: String::new(),
        saved_millis: 0,
        is_deleted: false,
    }
}

/// The first letters of a text.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// What is known of a dashboard beside its JSON.
pub(super) fn meta(found: &Found) -> Value {
    json!({
        "uid": found.uid,
        "kind": found.kind,
        "version": found.version,
        "folder": found.folder,
        "by": found.by,
        "message": found.message,
        "updated": (found.saved_millis > 0).then_some(found.saved_millis),
        "canSave": found.kind == Kind::Own,
    })
}

/// `GET /api/dashboards/{uid}`
pub(super) async fn one(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(uid): Path<String>,
) -> Result<Response, Failed> {
    let found = find(&page, &tenants, &uid).await?;
    let shown = move || {
        let inspected = report(&found.json).map_err(|error| Failed::Invalid(error.to_string()))?;
        answer(&One {
            meta: meta(&found),
            dashboard: &found.text,
            model: &inspected.migrated.json,
            report: &inspected.report,
        })
    };
    page.engine.blocking(shown).await?
}

/// A dashboard as it is written, and as it is understood.
#[derive(Serialize)]
struct One<'a> {
    meta: Value,
    dashboard: &'a RawValue,
    model: &'a Object,
    report: &'a Report,
}

/// `GET /api/dashboards/{uid}/export`: the JSON as it came.
pub(super) async fn export(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(uid): Path<String>,
) -> Result<Response, Failed> {
    let found = find(&page, &tenants, &uid).await?;
    let text: &RawValue = &found.text;
    let mut response = answer(&text)?;
    let name: String =
        found.uid.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.json\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET /api/dashboards/{uid}/versions`
pub(super) async fn versions(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(uid): Path<String>,
) -> Result<Response, Failed> {
    for tenant in tenants.names() {
        let versions = kept::versions(&page.engine, tenant, &uid).await?;
        if versions.is_empty() {
            continue;
        }
        let shown: Vec<Value> = versions
            .iter()
            .map(|(version, kept)| {
                json!({"version": version, "saved": kept.saved_millis, "by": kept.by, "message": kept.message})
            })
            .collect();
        return answer(&json!({ "versions": shown }));
    }
    // What was never saved here has no history.
    find(&page, &tenants, &uid).await?;
    answer(&json!({ "versions": [] }))
}

/// What is asked of a version.
#[derive(Deserialize)]
pub(super) struct AskedVersion {
    /// 1 for what is understood of it, too.
    #[serde(default)]
    model: u8,
}

/// `GET /api/dashboards/{uid}/versions/{version}`
pub(super) async fn version(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path((uid, version)): Path<(String, u64)>,
    Query(asked): Query<AskedVersion>,
) -> Result<Response, Failed> {
    for tenant in tenants.names() {
        if let Some(kept) = kept::version(&page.engine, tenant, &uid, version).await? {
            let has_model = asked.model != 0;
            return page.engine.blocking(move || shown_version(version, &kept, has_model)).await?;
        }
    }
    Err(Failed::Unknown(format!("version {version} of {uid:?} is not kept")))
}

fn shown_version(version: u64, kept: &Kept, has_model: bool) -> Result<Response, Failed> {
    let model = || {
        let migrated = migrate(&kept.json()?);
        migrated.map_err(|error| Failed::Invalid(error.to_string()))
    };
    let model = has_model.then(model).transpose()?;
    answer(&Version {
        version,
        saved: kept.saved_millis,
        by: &kept.by,
        message: &kept.message,
        dashboard: &kept.dashboard,
        model: model.as_ref().map(|migrated| &migrated.json),
    })
}

/// A version as it was saved.
#[derive(Serialize)]
struct Version<'a> {
    version: u64,
    saved: i64,
    by: &'a str,
    message: &'a str,
    dashboard: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Object>,
}

/// `GET /api/dashboards/units`: how numbers are written in each unit, so that the page writes them as
/// the server does.
pub(super) async fn units() -> Result<Response, Failed> {
    answer(kymo_dash::fields::units::table())
}
