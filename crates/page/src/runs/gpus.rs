//! What GPUs of the hosts of runs did meanwhile: whoever else used them is part of it.

use std::collections::BTreeMap;

use kymo_engine::{Engine, EngineError, Tenants};
use kymo_promql::eval::Times;

use super::compare::{Seen, Values};
use crate::fleet::ask::Asking;
use crate::machines::{LEAST_STEP_MILLIS, OF_GPUS};
use crate::times::NANOS_PER_MILLI;

/// Measures that are told, what they are called here, and how those of several GPUs become one.
const TOLD: [(&str, &str, &str); 2] =
    [("utilisation", "GPU use", "avg"), ("power", "GPU power", "sum")];

/// A measure of the hosts of each run, over its time.
pub(super) struct OfGpus {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) values: BTreeMap<String, Values>,
}

pub(super) async fn of_runs(
    engine: &Engine,
    tenants: &Tenants,
    runs: &BTreeMap<String, Seen>,
    points: usize,
) -> Result<Vec<OfGpus>, EngineError> {
    let asking = Asking { engine, tenants };
    let mut told = Vec::new();
    for (measure, name, together) in TOLD {
        let measure = OF_GPUS.iter().find(|of| of.name == measure);
        let Some(measure) = measure else { continue };
        let mut values = BTreeMap::new();
        for (run, seen) in runs.iter().filter(|(_, seen)| !seen.hosts.is_empty()) {
            let hosts: Vec<&String> = seen.hosts.iter().collect();
            let query = format!("{together}({})", measure.of_each_gpu(&hosts));
            // One series, since nothing is grouped by.
            let found = asking.series(&query, times(seen, points)).await?.into_iter().next();
            let of_run = found.map(|found| found.points).unwrap_or_default();
            let nanos = |(millis, value): (i64, f64)| (millis * NANOS_PER_MILLI, value);
            values.insert(run.clone(), of_run.into_iter().map(nanos).collect());
        }
        told.push(OfGpus { name, unit: measure.unit, values });
    }
    Ok(told)
}

/// As many times within a run as can be drawn, from its first value to its last.
fn times(seen: &Seen, points: usize) -> Times {
    let start = seen.first.saturating_add(NANOS_PER_MILLI - 1) / NANOS_PER_MILLI;
    let end = seen.last / NANOS_PER_MILLI;
    let points = i64::try_from(points).unwrap_or(i64::MAX).max(1);
    let step = ((end - start) / points).max(LEAST_STEP_MILLIS);
    Times { start: start.min(end), end, step }
}
