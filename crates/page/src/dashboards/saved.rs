//! Saving and deleting.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use kymo_dash::limits::MAX_DASHBOARD_BYTES;
use kymo_dash::migrate::{migrate, unwrapped, written_uid};
use kymo_dash::model::read::{self, Object};
use kymo_dash::shipped;
use kymo_store::settings::{Change, Family};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::find::find;
use super::kept::{self, Kept};
use super::limits::{MAX_DASHBOARDS, MAX_FOLDER_CHARS, MAX_MESSAGE_CHARS, MAX_UID_CHARS};
use super::listed::summary;
use crate::answer::{Failed, Who, Whose, json as answer, one_tenant};
use crate::{Page, times};

/// Dashboards of a tenant with those that were deleted, whose history is kept: all are listed whenever one
/// is looked for.
const MAX_WITH_DELETED: usize = 20_000;

/// A dashboard to be saved.
#[derive(Deserialize)]
pub(super) struct Save {
    /// As it was sent, to the letter.
    dashboard: Box<RawValue>,
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
pub(super) fn imported(text: &str, overwrite: bool) -> Result<Save, Failed> {
    let dashboard = RawValue::from_string(text.to_owned());
    let dashboard = dashboard.map_err(|error| Failed::Invalid(error.to_string()))?;
    Ok(Save { dashboard, message: "imported".to_owned(), folder: None, overwrite, version: None })
}

/// Keeps a dashboard and gives its id and version.
pub(super) async fn keep(
    page: &Page,
    tenant: &str,
    save: Save,
    by: &str,
) -> Result<(String, u64), Failed> {
    let written = save.dashboard;
    let (dashboard, uid) = page.engine.blocking(move || with_uid(written)).await??;
    check(&dashboard, &uid, &save.message, save.folder.as_deref())?;
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
    if held == 0 {
        check_room(page, tenant, &uid, MAX_DASHBOARDS).await?;
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

/// Whether there is room for one more dashboard. Those that were deleted take none, though their history
/// stays: which they are is looked at only once there may be too many.
pub(super) async fn check_room(
    page: &Page,
    tenant: &str,
    uid: &str,
    most: usize,
) -> Result<(), Failed> {
    let all = page.engine.settings_of(tenant, Family::Dashboards).await?;
    if all.len() < most {
        return Ok(());
    }
    if all.len() >= MAX_WITH_DELETED && !all.iter().any(|(other, _)| other == uid) {
        let count = all.len();
        let why = format!(
            "there are {count} dashboards with those that were deleted, at most {MAX_WITH_DELETED} \
             are kept: save it under the uid of one that was deleted"
        );
        return Err(Failed::TooLarge(why));
    }
    let mut count = 0;
    for (uid, version) in all {
        count += usize::from(!summary(page, tenant, &uid, version).await?.is_deleted);
    }
    if count >= most {
        let why = format!("there are {count} dashboards, at most {most} are kept: delete some");
        return Err(Failed::TooLarge(why));
    }
    Ok(())
}

/// Whether a dashboard is as large as one may be, kept or not.
pub(super) fn check_size(bytes: usize) -> Result<(), Failed> {
    if bytes > MAX_DASHBOARD_BYTES {
        let why =
            format!("a dashboard has at most {MAX_DASHBOARD_BYTES} bytes, this one has {bytes}");
        return Err(Failed::TooLarge(why));
    }
    Ok(())
}

fn check(
    dashboard: &RawValue,
    uid: &str,
    message: &str,
    folder: Option<&str>,
) -> Result<(), Failed> {
    check_size(dashboard.get().len())?;
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
    if folder.is_some_and(|folder| folder.chars().count() > MAX_FOLDER_CHARS) {
        let why = format!("the name of a folder has at most {MAX_FOLDER_CHARS} letters");
        return Err(Failed::Invalid(why));
    }
    Ok(())
}

/// A dashboard with its id: the one that is written, or a new one, which is then written into it.
fn with_uid(written: Box<RawValue>) -> Result<(Box<RawValue>, String), Failed> {
    let invalid = |error: &dyn std::fmt::Display| Failed::Invalid(error.to_string());
    let json: Value = serde_json::from_str(written.get()).map_err(|error| invalid(&error))?;
    migrate(&json).map_err(|error| invalid(&error))?;
    if let Some(uid) = written_uid(&json) {
        return Ok((written, uid.to_owned()));
    }
    let uid = new_uid(unwrapped(&json).map_err(|error| invalid(&error))?);
    let text = with_member(written.get(), &uid);
    let text = text.ok_or_else(|| Failed::Internal("a uid cannot be written".to_owned()))?;
    let written = RawValue::from_string(text).map_err(|error| invalid(&error))?;
    Ok((written, uid))
}

/// An id that nothing else has, which begins as the title does.
fn new_uid(of: &Object) -> String {
    let title = read::text(of, "title").unwrap_or("dashboard");
    let words: String = title
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let words: String = words.trim_matches('-').chars().take(20).collect();
    let uid = format!("{}-{:x}", words.trim_matches('-'), times::now_nanos());
    uid.trim_start_matches('-').chars().take(MAX_UID_CHARS).collect()
}

/// The text of an object with an id in it: in the place of one that says nothing, else before all other
/// members. All the rest stays to the letter.
fn with_member(text: &str, uid: &str) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let uid = json!(uid);
    if let Some(empty) = members.get("uid") {
        // It is a part of the text: where it begins is how far it is from the text's begin.
        let start = (empty.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let (before, after) = (text.get(..start)?, text.get(start + empty.get().len()..)?);
        return Some(format!("{before}{uid}{after}"));
    }
    let rest = text.trim_start().strip_prefix('{')?;
    let comma = if members.is_empty() { "" } else { "," };
    Some(format!("{{\"uid\":{uid}{comma}{rest}"))
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
