//! Settings of queries in PromQL.

use std::time::Duration;

use kymo_promql::eval::EvalOptions;
use kymo_promql::parser::ParseOptions;

use super::naming::Naming;

/// Settings.
#[derive(Debug, Clone)]
pub struct PrometheusOptions {
    /// How series of OpenTelemetry appear.
    pub naming: Naming,
    /// How old a sample may be to count as current.
    pub lookback: Duration,
    /// Samples that a query may hold.
    pub max_samples: usize,
    /// What Prometheus has behind flags: functions, duration expressions, `anchored` and
    /// `smoothed`, fill modifiers, names that go at the end of a query, start times.
    pub has_experimental: bool,
}

impl Default for PrometheusOptions {
    fn default() -> Self {
        Self {
            naming: Naming::default(),
            lookback: Duration::from_secs(300),
            max_samples: kymo_promql::limits::MAX_SAMPLES,
            has_experimental: true,
        }
    }
}

impl PrometheusOptions {
    /// What the parser accepts.
    pub fn parsing(&self) -> ParseOptions {
        let on = self.has_experimental;
        ParseOptions {
            experimental_functions: on,
            duration_expressions: on,
            extended_ranges: on,
            fill_modifiers: on,
        }
    }

    pub(super) fn evaluation(&self, lookback: Option<Duration>, threads: usize) -> EvalOptions {
        let lookback = lookback.unwrap_or(self.lookback);
        EvalOptions {
            lookback: i64::try_from(lookback.as_millis()).unwrap_or(i64::MAX / 4).max(1),
            max_samples: self.max_samples,
            delayed_name_removal: self.has_experimental,
            start_timestamps: self.has_experimental,
            threads,
            ..EvalOptions::default()
        }
    }
}
