//! Saving and deleting.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use kymo_dash::limits::MAX_DASHBOARD_BYTES;
use kymo_dash::migrate::{migrate, unwrapped};
use kymo_dash::model::read;
use kymo_dash::shipped;
use kymo_store::settings::Change;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find::find;
use super::kept::{self, Kept};
use super::limits::{MAX_MESSAGE_CHARS, MAX_UID_CHARS};
use crate::answer::{Failed, Who, Whose, json as answer, one_tenant};
use crate::{Page, times};

/// A dashboard to be saved.
#[derive(Deserialize)]
pub(super) struct Save {
    dashboard: Value,
    /// Why.
    #[serde(default)]
    message: String,
    #[serde(default)]
    folder: Option<String>,
    /// Whether it goes over whatever version holds.
    #[serde(default)]
    overwrite: bool,
    /// The version that it was made of; none for a new one.
    version: Option<u64>,
}

/// `POST /api/dashboards`. To go back to a version is to save it again.
pub(super) async fn save(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    save: Result<Json<Save>, JsonRejection>,
) -> Result<Response, Failed> {
    let Json(save) = save?;
    let tenant = one_tenant(&tenants, "a dashboard")?;
    let saved = keep(&page, tenant, save, &by).await?;
    answer(&json!({"uid": saved.0, "version": saved.1}))
}

/// A dashboard that a file brought, saved over what has its id only if that is wanted.
pub(super) fn imported(dashboard: Value, overwrite: bool) -> Save {
    Save { dashboard, message: "imported".to_owned(), folder: None, overwrite, version: None }
}

/// Keeps a dashboard and gives its id and version.
pub(super) async fn keep(
    page: &Page,
    tenant: &str,
    save: Save,
    by: &str,
) -> Result<(String, u64), Failed> {
    let mut dashboard = save.dashboard;
    migrate(&dashboard).map_err(|error| Failed::Invalid(error.to_string()))?;
    let uid = uid_of(&mut dashboard)?;
    check(&dashboard, &uid, &save.message)?;
    let holds = kept::get(&page.engine, tenant, &uid).await?;
    let (held, folder) = holds.map_or((0, String::new()), |(version, kept)| (version, kept.folder));
    if let Some(version) = save.version.filter(|version| *version != held)
        && !save.overwrite
    {
        return Err(Failed::Conflict(format!(
            "version {held} of {uid:?} holds, not {version}: it was changed meanwhile"
        )));
    }
    if save.version.is_none() && held > 0 && !save.overwrite {
        return Err(Failed::Conflict(format!(
            "there is a dashboard {uid:?} already: say which version it replaces, or overwrite"
        )));
    }
    let folder = save.folder.unwrap_or(folder);
    let kept = Kept::new(dashboard, by, save.message, folder);
    match kept::put(&page.engine, tenant, &uid, held, Some(&kept)).await? {
        Change::Done(version) => Ok((uid, version)),
        Change::Conflict(holds) => Err(Failed::Conflict(format!(
            "version {holds} of {uid:?} holds now: it was changed meanwhile"
        ))),
    }
}

/// Whether a dashboard is as large as one may be, kept or not.
pub(super) fn check_size(dashboard: &Value) -> Result<(), Failed> {
    let bytes = dashboard.to_string().len();
    if bytes > MAX_DASHBOARD_BYTES {
        let why =
            format!("a dashboard has at most {MAX_DASHBOARD_BYTES} bytes, this one has {bytes}");
        return Err(Failed::TooLarge(why));
    }
    Ok(())
}

fn check(dashboard: &Value, uid: &str, message: &str) -> Result<(), Failed> {
    check_size(dashboard)?;
    if uid.starts_with(shipped::PREFIX) && shipped::find(uid).is_some() {
        let why = format!("{uid:?} comes with the program: save a copy under another uid");
        return Err(Failed::Conflict(why));
    }
    let is_plain = uid.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_plain || uid.len() > MAX_UID_CHARS {
        let why = format!(
            "the uid {uid:?} is none: expected at most {MAX_UID_CHARS} letters, digits, dashes, underscores"
        );
        return Err(Failed::Invalid(why));
    }
    if super::WORDS.contains(&uid) {
        let why = format!(
            "the uid {uid:?} is a word of the API, below which it could not be found: choose another"
        );
        return Err(Failed::Invalid(why));
    }
    if message.chars().count() > MAX_MESSAGE_CHARS {
        return Err(Failed::Invalid(format!("a message has at most {MAX_MESSAGE_CHARS} letters")));
    }
    Ok(())
}

/// The id that a dashboard says: its `uid`, or the name of the resource that it is the `spec` of.
pub(super) fn written_uid(dashboard: &Value) -> Option<String> {
    let outer = dashboard.as_object()?;
    let inner = unwrapped(dashboard).ok()?;
    let name = read::object(outer, "metadata").and_then(|metadata| read::text(metadata, "name"));
    let uid = read::text(inner, "uid").or_else(|| read::text(outer, "uid")).or(name);
    uid.map(str::to_owned)
}

/// The id that is written, or a new one, which is then written into it.
fn uid_of(dashboard: &mut Value) -> Result<String, Failed> {
    if let Some(uid) = written_uid(dashboard) {
        return Ok(uid);
    }
    let of = unwrapped(dashboard).map_err(|error| Failed::Invalid(error.to_string()))?;
    let title = read::text(of, "title").unwrap_or("dashboard");
    let words: String = title
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let words: String = words.trim_matches('-').chars().take(20).collect();
    let uid = format!("{}-{:x}", words.trim_matches('-'), times::now_nanos());
    let uid: String = uid.trim_start_matches('-').chars().take(MAX_UID_CHARS).collect();
    if let Value::Object(of) = dashboard {
        let target = match of.get_mut("dashboard") {
            Some(Value::Object(inner)) => inner,
            _ => of,
        };
        target.insert("uid".to_owned(), json!(uid));
    }
    Ok(uid)
}

/// `DELETE /api/dashboards/{uid}`
pub(super) async fn delete(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(uid): Path<String>,
) -> Result<Response, Failed> {
    let tenant = one_tenant(&tenants, "a dashboard")?;
    let Some((version, _)) = kept::get(&page.engine, tenant, &uid).await? else {
        // What is not saved here but there says why it stays.
        let found = find(&page, &tenants, &uid).await?;
        let why = format!("{:?} was not saved here and cannot be deleted", found.uid);
        return Err(Failed::Conflict(why));
    };
    match kept::put(&page.engine, tenant, &uid, version, None).await? {
        Change::Done(_) => answer(&json!({"uid": uid})),
        Change::Conflict(_) => {
            Err(Failed::Conflict(format!("{uid:?} was changed meanwhile: look at it again")))
        }
    }
}
