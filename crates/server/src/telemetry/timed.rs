//! Counting a query when it ends, however it does.

use std::sync::Arc;
use std::time::Instant;

use super::Telemetry;

/// A query that runs. Dropped before anybody said how it ended, it counts as cancelled: whoever
/// asked has gone.
#[derive(Debug)]
pub(crate) struct Timed {
    telemetry: Arc<Telemetry>,
    kind: &'static str,
    began: Instant,
    outcome: &'static str,
}

impl Timed {
    pub(crate) fn new(telemetry: &Arc<Telemetry>, kind: &'static str) -> Self {
        let telemetry = telemetry.clone();
        Self { telemetry, kind, began: Instant::now(), outcome: "cancelled" }
    }

    /// It ended so.
    pub(crate) fn ended(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.telemetry.query(self.kind, self.outcome, self.began.elapsed());
    }
}
