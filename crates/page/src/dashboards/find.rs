//! Finding a dashboard by its id, wherever it comes from: what a tenant saved goes before what a folder
//! has, and that before what comes with the program.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kymo_dash::shipped;
use kymo_engine::Tenants;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::kept;
use super::provisioned::{Folders, Provisioned};
use crate::Page;
use crate::answer::Failed;
use crate::paces::Paces;

/// Summaries by tenant, uid and version.
type Summaries = BTreeMap<(String, String, u64), Summary>;

/// What is needed beside the engine.
#[derive(Clone, Default)]
pub struct Dashboards {
    folders: Arc<Folders>,
    summaries: Arc<Mutex<Summaries>>,
    /// How often metrics come.
    pub(crate) paces: Arc<Paces>,
}

/// What the list shows of a dashboard, kept by version: it does not change.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) folder: String,
    pub(super) by: String,
    pub(super) saved_millis: i64,
    /// Whether this version says that it is deleted.
    pub(super) is_deleted: bool,
}

impl Dashboards {
    /// With dashboards of these folders.
    pub fn provisioned(paths: Vec<PathBuf>) -> Self {
        Self { folders: Arc::new(Folders::new(paths)), ..Self::default() }
    }

    pub(super) async fn of_folders(&self, page: &Page) -> Result<Vec<Provisioned>, Failed> {
        let folders = self.folders.clone();
        Ok(page.engine.blocking(move || folders.all()).await?)
    }

    pub(super) fn summary(&self, key: &(String, String, u64)) -> Option<Summary> {
        self.summaries.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(super) fn remember(&self, key: (String, String, u64), summary: Summary) {
        let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        // Other versions of the same are of no use any more.
        let older: Vec<_> = summaries
            .range((key.0.clone(), key.1.clone(), 0)..(key.0.clone(), key.1.clone(), key.2))
            .map(|(key, _)| key.clone())
            .collect();
        for key in older {
            summaries.remove(&key);
        }
        summaries.insert(key, summary);
    }
}

/// Where a dashboard comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// It was saved here.
    Own,
    /// A file of a folder.
    Provisioned,
    /// It comes with the program.
    Shipped,
}

/// A dashboard that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) uid: String,
    pub(super) kind: Kind,
    /// 0 of what has no versions.
    pub(super) version: u64,
    pub(super) folder: String,
    pub(super) by: String,
    pub(super) message: String,
    pub(super) saved_millis: i64,
    pub(super) json: Arc<Value>,
    /// The same as it is written.
    pub(super) text: Arc<RawValue>,
}

/// The dashboard with an id.
pub(super) async fn find(page: &Page, tenants: &Tenants, uid: &str) -> Result<Found, Failed> {
    for tenant in tenants.names() {
        if let Some((version, kept)) = kept::get(&page.engine, tenant, uid).await? {
            let read = move || kept.json().map(|json| (kept, json));
            let (kept, json) = page.engine.blocking(read).await??;
            return Ok(Found {
                uid: uid.to_owned(),
                json: Arc::new(json),
                kind: Kind::Own,
                version,
                folder: kept.folder,
                by: kept.by,
                message: kept.message,
                saved_millis: kept.saved_millis,
                text: kept.dashboard.into(),
            });
        }
    }
    let of_folders = page.dashboards.of_folders(page).await?;
    if let Some(one) = of_folders.into_iter().find(|one| one.uid == uid) {
        let (file, saved_millis) = (one.file, one.changed_millis);
        let (json, text) = one.json.map_err(|why| Failed::Invalid(format!("{file}: {why}")))?;
        return Ok(Found {
            message: file,
            saved_millis,
            ..fixed(uid, Kind::Provisioned, json, text)
        });
    }
    let Some((json, text)) = shipped::find(uid) else {
        return Err(Failed::Unknown(format!("there is no dashboard {uid:?}")));
    };
    let text = RawValue::from_string(text.trim().to_owned());
    let text = text.map_err(|error| Failed::Internal(error.to_string()))?;
    Ok(fixed(uid, Kind::Shipped, Arc::new(json), text.into()))
}

fn fixed(uid: &str, kind: Kind, json: Arc<Value>, text: Arc<RawValue>) -> Found {
    Found {
        uid: uid.to_owned(),
        kind,
        version: 0,
        folder: String::new(),
        by: String::new(),
        message: String::new(),
        saved_millis: 0,
        json,
        text,
    }
}
