//! What a question is about: which dashboard, when, with which values chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use chrono::Weekday;
use chrono_tz::Tz;
use http::StatusCode;
use kymo_dash::interpolate::Context;
use kymo_dash::interpolate::interval::{SCRAPE_MILLIS, rate_interval};
use kymo_dash::report::{Inspected, report};
use kymo_engine::Tenants;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::find::find;
use super::limits::{MAX_QUESTION_BYTES, MAX_TIME_BYTES};
use super::range::{self, Calendar};
use super::saved::check_size;
use crate::answer::Failed;
use crate::{Page, times};

/// The part that questions have in common.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    /// A dashboard that is kept.
    uid: Option<String>,
    /// One that is being edited.
    dashboard: Option<Box<RawValue>>,
    /// Values chosen, by variable.
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Values>,
    from: Option<Value>,
    to: Option<Value>,
    /// The same as they stand in the address, where `from` and `to` are milliseconds.
    #[serde(rename = "rawFrom")]
    raw_from: Option<String>,
    #[serde(rename = "rawTo")]
    raw_to: Option<String>,
    timezone: Option<String>,
}

/// One value or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    One(String),
    Several(Vec<String>),
}

impl Values {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}

/// What a question is about.
pub(super) struct About {
    pub(super) inspected: Inspected,
    /// Time and surroundings; variables are put in when they are resolved.
    pub(super) context: Context,
    /// How its days and weeks are counted.
    pub(super) calendar: Calendar,
    /// Values chosen, by variable.
    pub(super) chosen: BTreeMap<String, Values>,
    pub(super) tenants: Tenants,
}

/// A dashboard as it came.
enum Written {
    Kept(Arc<Value>),
    Edited(Box<RawValue>),
}

/// Reads a question: what all have in common, and what this one has more. It may be some megabytes, and
/// is read on the engine's threads, where it delays no acknowledgement.
pub(super) async fn read<More: DeserializeOwned + Send + 'static>(
    page: &Page,
    body: Result<Bytes, BytesRejection>,
) -> Result<(Asked, More), Failed> {
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failed::TooLarge(format!("a question has at most {MAX_QUESTION_BYTES} bytes"))
        }
        _ => Failed::Invalid(error.body_text()),
    })?;
    // Twice, since what one part does not know is skipped: to flatten them would hold all of it.
    let read = move || -> Result<(Asked, More), serde_json::Error> {
        Ok((serde_json::from_slice(&body)?, serde_json::from_slice(&body)?))
    };
    let read = page.engine.blocking(read).await?;
    read.map_err(|error| Failed::Invalid(format!("the question cannot be read: {error}")))
}

impl Asked {
    pub(super) async fn about(
        self,
        page: &Page,
        tenants: Tenants,
        by: &str,
    ) -> Result<About, Failed> {
        let (uid, written) = match (self.dashboard, self.uid) {
            (Some(edited), uid) => {
                check_size(edited.get().len())?;
                (uid.unwrap_or_default(), Written::Edited(edited))
            }
            (None, Some(uid)) => {
                let found = find(page, &tenants, &uid).await?;
                (uid, Written::Kept(found.json))
            }
            (None, None) => {
                return Err(Failed::Invalid("expected `uid` or `dashboard`".to_owned()));
            }
        };
        // A large one is brought up to date on the engine's threads, where it delays no acknowledgement.
        let inspecting = move || -> Result<Inspected, Failed> {
            let json = match written {
                Written::Kept(json) => json,
                Written::Edited(edited) => serde_json::from_str(edited.get())
                    .map(Arc::new)
                    .map_err(|error| Failed::Invalid(error.to_string()))?,
            };
            report(&json).map_err(|error| Failed::Invalid(error.to_string()))
        };
        let inspected = page.engine.blocking(inspecting).await??;
        let dashboard = &inspected.dashboard;
        let zone = zone(self.timezone.as_deref(), &dashboard.timezone);
        let text = |given: Option<Value>, otherwise: &str| {
            given.as_ref().and_then(range::text).unwrap_or_else(|| otherwise.to_owned())
        };
        let (from, to) = (text(self.from, &dashboard.time_from), text(self.to, &dashboard.time_to));
        let written = |given: Option<String>, otherwise: &str| {
            given
                .filter(|text| text.len() <= MAX_TIME_BYTES)
                .unwrap_or_else(|| otherwise.to_owned())
        };
        let written_time = Some((written(self.raw_from, &from), written(self.raw_to, &to)));
        let calendar = Calendar {
            zone,
            week_start: dashboard.week_start.parse().unwrap_or(Weekday::Mon),
            fiscal_month0: dashboard.fiscal_year_start_month,
        };
        let time = range::range(&from, &to, times::now_nanos() / 1_000_000, calendar)?;
        let uid = if uid.is_empty() { dashboard.uid.clone() } else { uid };
        let context = Context {
            time,
            written_time,
            zone,
            dashboard: (dashboard.title.clone(), uid),
            user: by.to_owned(),
            organisation: tenants.to_string(),
            // What variables ask is about no panel, whose width would say how far points are apart.
            interval_millis: SCRAPE_MILLIS,
            rate_interval_millis: rate_interval(SCRAPE_MILLIS, SCRAPE_MILLIS),
            ..Context::default()
        };
        Ok(About { inspected, context, calendar, chosen: self.variables, tenants })
    }
}

/// The zone that is asked for, else the dashboard's, else UTC: `browser` is not known here.
fn zone(asked: Option<&str>, written: &str) -> Tz {
    let named = |name: &str| match name {
        "utc" => Some(Tz::UTC),
        name => name.parse().ok(),
    };
    asked.and_then(named).or_else(|| named(written)).unwrap_or(Tz::UTC)
}
