//! Dashboards in the store: one document for each version, see `docs/formats/dashboards.md`.

use std::time::{SystemTime, UNIX_EPOCH};

use kymo_engine::Engine;
use kymo_store::settings::{Change, Setting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::answer::Failed;

/// The version of the format that is written.
const FORMAT: u32 = 1;

/// A version of a dashboard as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The version of the format.
    pub(super) format: u32,
    /// When it was saved, in milliseconds since 1970.
    pub(super) saved_millis: i64,
    /// Who saved it.
    #[serde(default)]
    pub(super) by: String,
    /// Why.
    #[serde(default)]
    pub(super) message: String,
    /// Where it is listed.
    #[serde(default)]
    pub(super) folder: String,
    /// As it came, to the letter: numbers and the order of members are its author's.
    pub(super) dashboard: Box<RawValue>,
}

impl Kept {
    pub(super) fn new(dashboard: Box<RawValue>, by: &str, message: String, folder: String) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let saved_millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Self { format: FORMAT, saved_millis, by: by.to_owned(), message, folder, dashboard }
    }

    /// The dashboard's JSON, which may be some megabytes: to be read on the engine's threads.
    pub(super) fn json(&self) -> Result<Value, Failed> {
        serde_json::from_str(self.dashboard.get()).map_err(damaged)
    }

    fn read(body: &[u8]) -> Result<Self, Failed> {
        let kept: Self = serde_json::from_slice(body).map_err(damaged)?;
        if kept.format > FORMAT {
            let format = kept.format;
            return Err(Failed::Internal(format!(
                "a dashboard is stored in format {format}, which a newer version wrote: expected {FORMAT}"
            )));
        }
        Ok(kept)
    }
}

fn damaged(error: serde_json::Error) -> Failed {
    Failed::Internal(format!("a stored dashboard is damaged: {error}"))
}

/// The dashboard that holds, with its version.
pub(super) async fn get(
    engine: &Engine,
    tenant: &str,
    uid: &str,
) -> Result<Option<(u64, Kept)>, Failed> {
    let set = engine.setting(tenant, Setting::Dashboard(uid.to_owned())).await?;
    let Some(set) = set else { return Ok(None) };
    let kept = engine.blocking(move || Kept::read(&set.body)).await??;
    Ok(Some((set.version, kept)))
}

/// A version of a dashboard.
pub(super) async fn version(
    engine: &Engine,
    tenant: &str,
    uid: &str,
    version: u64,
) -> Result<Option<Kept>, Failed> {
    let setting = Setting::Dashboard(uid.to_owned());
    let body = engine.setting_version(tenant, setting, version).await?;
    let Some(body) = body else { return Ok(None) };
    Ok(Some(engine.blocking(move || Kept::read(&body)).await??))
}

/// The versions that are kept, the newest first. One that deleted it is left out.
pub(super) async fn versions(
    engine: &Engine,
    tenant: &str,
    uid: &str,
) -> Result<Vec<(u64, Kept)>, Failed> {
    let mut found = Vec::new();
    let numbers = engine.setting_versions(tenant, Setting::Dashboard(uid.to_owned())).await?;
    for number in numbers.into_iter().rev() {
        if let Some(kept) = version(engine, tenant, uid, number).await? {
            found.push((number, kept));
        }
    }
    Ok(found)
}

/// Writes the version after `expected`, which must hold; 0 if there is none.
pub(super) async fn put(
    engine: &Engine,
    tenant: &str,
    uid: &str,
    expected: u64,
    kept: Option<&Kept>,
) -> Result<Change, Failed> {
    let body = kept.map(serde_json::to_vec).transpose();
    let body = body.map_err(|error| Failed::Internal(error.to_string()))?;
    let setting = Setting::Dashboard(uid.to_owned());
    Ok(engine.set(tenant, setting, expected, body.map(Into::into)).await?)
}
