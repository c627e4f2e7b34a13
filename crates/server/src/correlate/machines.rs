//! What the machines did meanwhile that spans ran on: hosts and their GPUs.
//!
//! What is asked is said in `kymo_page::machines`, for the pages of hosts too.

use std::collections::BTreeSet;
use std::ops::Range;

use kymo_engine::EngineError;
use kymo_page::machines::{Asking, Found, LEAST_STEP_MILLIS, OF_GPUS, OF_HOSTS, host_of_resource};
use kymo_promql::eval::Times;

use super::answer::{Measure, Points};
use super::question::{Part, Subject};
use super::traces::{Asked, listed};
use crate::limits::{CORRELATE_MAX_HOSTS, CORRELATE_POINTS};
use kymo_engine::table::Table;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// What is told of machines: of what, which measure it is, and what it is called and measured in here.
struct Told {
    of: &'static str,
    measure: &'static str,
    name: &'static str,
    unit: &'static str,
}

const fn told(
    of: &'static str,
    measure: &'static str,
    name: &'static str,
    unit: &'static str,
) -> Told {
    Told { of, measure, name, unit }
}

const TOLD: [Told; 9] = [
    told("host", "cpu", "cpu", "ratio"),
    told("host", "memory", "memory", "ratio"),
    told("host", "load", "load", "processes"),
    told("host", "disk", "disk", "bytes/s"),
    told("host", "network", "network", "bytes/s"),
    told("gpu", "utilisation", "utilisation", "percent"),
    told("gpu", "memory_used", "memory", "MiB"),
    told("gpu", "power", "power", "watts"),
    told("gpu", "temperature", "temperature", "celsius"),
];

impl Told {
    /// What is asked for it, of some hosts.
    fn query(&self, hosts: &[String]) -> Result<String, EngineError> {
        let all = if self.of == "gpu" { OF_GPUS.as_slice() } else { OF_HOSTS.as_slice() };
        let measure = all.iter().find(|measure| measure.name == self.measure);
        let measure =
            measure.ok_or_else(|| EngineError::Internal(format!("no measure {}", self.measure)))?;
        Ok(measure.of_hosts(hosts))
    }
}

impl Asked<'_> {
    /// Hosts that spans of some traces ran on, or the span that is asked about.
    pub(super) async fn hosts(&self, ids: &[String]) -> Result<Vec<String>, EngineError> {
        if let Subject::Hosts { hosts } = &self.question.subject {
            return Ok(hosts.clone());
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let of_span = match &self.question.subject {
            Subject::Span { span, .. } => format!(" AND span_id = '{span}'"),
            _ => String::new(),
        };
        let host = host_of_resource();
        let query = format!(
            "SELECT DISTINCT {host} AS host FROM spans \
             WHERE {host} IS NOT NULL AND trace_id IN ({}){of_span} LIMIT {CORRELATE_MAX_HOSTS}",
            listed(ids)
        );
        let table = Table::ask(self.engine, self.tenants, &query).await?;
        let hosts: BTreeSet<String> = table.texts("host")?.into_iter().flatten().collect();
        Ok(hosts.into_iter().collect())
    }

    /// What hosts and GPUs did within a time, and a step before and after it; measures without any
    /// series are left out.
    pub(super) async fn machines(
        &self,
        hosts: &[String],
        window: &Range<i64>,
    ) -> Result<Vec<Measure>, EngineError> {
        let mut measures = Vec::new();
        if hosts.is_empty() {
            return Ok(measures);
        }
        let asking = Asking { engine: self.engine, tenants: self.tenants };
        let times = times(window);
        for told in TOLD {
            let part = if told.of == "gpu" { Part::Gpu } else { Part::Host };
            if !self.question.wants(part) {
                continue;
            }
            let query = told.query(hosts)?;
            let series = asking.series(&query, times).await?;
            if !series.is_empty() {
                let Told { of, name, unit, .. } = told;
                let step = times.step as f64 / 1e3;
                let series = series.into_iter().map(Points::from).collect();
                measures.push(Measure { of, name, unit, query, step, series });
            }
        }
        Ok(measures)
    }
}

impl From<Found> for Points {
    fn from(Found { labels, points }: Found) -> Self {
        let points = points.iter().map(|(millis, value)| (*millis as f64 / 1e3, *value)).collect();
        Self { labels, points }
    }
}

/// The moments that machines are asked about: those of a time, and one more on both sides. Many a time
/// is shorter than a step, and what stands beside it says what was between.
fn times(window: &Range<i64>) -> Times {
    let (start, end) = (window.start / NANOS_PER_MILLI, window.end / NANOS_PER_MILLI + 1);
    let step = (end.saturating_sub(start) / CORRELATE_POINTS).max(LEAST_STEP_MILLIS);
    // Nothing was measured before 1970.
    Times { start: start.saturating_sub(step).max(0), end: end.saturating_add(step), step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_moment_on_both_sides_however_short_it_is() {
        let second = 1_000 * NANOS_PER_MILLI;
        let short = times(&(10 * second..10 * second + 5 * NANOS_PER_MILLI));
        assert_eq!(short, Times { start: 9_000, end: 11_006, step: 1_000 });
        let long = times(&(600 * second..1_800 * second));
        assert_eq!(long, Times { start: 590_000, end: 1_810_001, step: 10_000 });
        assert_eq!(times(&(0..0)), Times { start: 0, end: 1_001, step: 1_000 });
    }

    #[test]
    fn all_that_is_told_of_machines_is_measured() {
        for told in TOLD {
            let query = told.query(&["a".to_owned(), "b".to_owned()]).unwrap();
            assert!(query.contains("(a|b)"), "{query}");
        }
    }
}
