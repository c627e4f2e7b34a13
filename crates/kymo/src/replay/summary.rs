//! What was sent, counted.

use std::fmt::{self, Display};

use kymo_wire::Signal;
use serde::Serialize;

use crate::table::Facts;
use crate::units;

/// The result of sending.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) endpoint: String,
    /// Those that were read, where it is files that are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<u64>,
    /// Requests that the server took.
    pub(crate) requests: u64,
    /// Their records, without those that were refused.
    pub(crate) spans: u64,
    pub(crate) points: u64,
    pub(crate) logs: u64,
    /// Requests that the server refused as a whole.
    pub(crate) refused_requests: u64,
    /// Records that the server did not take, alone or with their request.
    pub(crate) refused: u64,
    /// Requests, lines and files that could not be read.
    pub(crate) unreadable: u64,
    /// By how much times were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shift_seconds: Option<f64>,
    #[serde(rename = "interrupted")]
    pub(crate) is_interrupted: bool,
    /// Whether the server could not be reached any more.
    #[serde(rename = "unreached")]
    pub(crate) is_unreached: bool,
    pub(crate) seconds: f64,
}

impl Summary {
    /// Counts records that were taken.
    pub(crate) fn add(&mut self, signal: Signal, records: u64) {
        match signal {
            Signal::Traces => self.spans += records,
            Signal::Metrics => self.points += records,
            Signal::Logs => self.logs += records,
        }
    }

    /// Records that were taken.
    pub(crate) fn records(&self) -> u64 {
        self.spans + self.points + self.logs
    }

    /// Whether everything arrived.
    pub(crate) fn is_all_taken(&self) -> bool {
        let missing = self.refused_requests + self.refused + self.unreadable;
        missing == 0 && !self.is_interrupted && !self.is_unreached
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = Facts::default();
        facts.add("endpoint", self.endpoint.clone());
        if let Some(files) = self.files {
            facts.add("files", units::count(files));
        }
        facts.add("requests", units::count(self.requests));
        facts.add("spans", units::count(self.spans));
        facts.add("points", units::count(self.points));
        facts.add("logs", units::count(self.logs));
        facts.add("refused", units::count(self.refused));
        if self.unreadable > 0 {
            facts.add("not readable", units::count(self.unreadable));
        }
        if let Some(seconds) = self.shift_seconds {
            facts.add("times moved", units::nanos((seconds * 1e9) as i128));
        }
        let records = self.records();
        let rate = units::count((records as f64 / self.seconds.max(1e-9)) as u64);
        facts.add("time", format!("{:.1} s, {rate} records/s", self.seconds));
        facts.fmt(f)
    }
}
