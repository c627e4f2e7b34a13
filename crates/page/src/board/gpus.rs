//! What GPUs did, from stored metrics: of nodes of a session of which the session itself tells nothing.
//!
//! A program that is not asked to look at GPUs sends no updates about them, while the server's probe
//! or DCGM's exporter on its nodes does. Their values are put among the updates, so that all that is
//! made of those (lanes, idle GPUs, replays, comparisons) has them too.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use kymo_engine::{Engine, EngineError, Tenants};
use kymo_promql::eval::Times;
use kymo_report::Session;
use kymo_report::recording::{Measure, Sample};

use super::limits::{GPU_POINTS, MAX_GPUS, MAX_HOST_BYTES, MAX_NODES};
use super::replay::{NANOS_PER_MILLI, bounds};
use crate::fleet::ask::{Asking, Found};
use crate::machines::{LEAST_STEP_MILLIS, hosts_of_gpu, use_of_gpus};

/// Adds what GPUs of the session's nodes did in its time. What came after the last that was heard of
/// it says nothing of whether it goes on, and is left out.
pub(super) async fn add(
    engine: &Engine,
    tenants: &Tenants,
    session: &mut Session,
) -> Result<(), EngineError> {
    let nodes = silent_nodes(session);
    let (start_nanos, end_nanos) = bounds(session);
    if nodes.is_empty() || start_nanos == 0 || end_nanos == 0 {
        return Ok(());
    }
    let asking = Asking { engine, tenants };
    let times = times(start_nanos, end_nanos);
    let found = asking.series(&use_of_gpus().of_hosts(&nodes), times).await?;
    let nodes: HashSet<&str> = nodes.iter().map(String::as_str).collect();
    let mut known: HashSet<(&str, String)> = HashSet::new();
    let mut samples = Vec::new();
    for series in &found {
        let node = hosts_of_gpu(&series.labels).into_iter().find(|host| nodes.contains(host));
        let Some(node) = node else { continue };
        let gpu = series.labels.get("gpu").cloned().unwrap_or_default();
        // Two exporters may look at one GPU.
        if known.len() >= MAX_GPUS || !known.insert((node, gpu.clone())) {
            continue;
        }
        samples.extend(samples_of(series, &Arc::from(node), &Arc::from(gpu)));
    }
    session.samples.extend(samples);
    session.samples.sort_by_key(|sample| sample.time_nanos);
    Ok(())
}

/// Nodes of a session that tell nothing of their GPUs.
fn silent_nodes(session: &Session) -> Vec<String> {
    let of_tasks = session.tasks.iter().filter_map(|task| task.node.as_deref());
    let of_samples = session.samples.iter().map(|sample| &*sample.node);
    let all: BTreeSet<&str> =
        session.host.as_deref().into_iter().chain(of_tasks).chain(of_samples).collect();
    let tells = |sample: &&Sample| sample.gpu.is_some() && sample.value(Measure::Gpu).is_some();
    let telling: HashSet<&str> =
        session.samples.iter().filter(tells).map(|sample| &*sample.node).collect();
    let is_asked =
        |node: &&str| (1..=MAX_HOST_BYTES).contains(&node.len()) && !telling.contains(*node);
    all.into_iter().filter(is_asked).take(MAX_NODES).map(str::to_owned).collect()
}

/// Whole steps within a time, so that one that goes on is asked about at the same times again.
fn times(start_nanos: u64, end_nanos: u64) -> Times {
    let millis = |nanos: u64| i64::try_from(nanos / NANOS_PER_MILLI).unwrap_or(i64::MAX);
    let (from, to) = (millis(start_nanos), millis(end_nanos));
    let step = (to.saturating_sub(from) / GPU_POINTS).max(LEAST_STEP_MILLIS);
    // Doubled until it is enough: a step that grows with every second would never be the same.
    let mut whole = LEAST_STEP_MILLIS;
    while whole < step {
        whole = whole.saturating_mul(2);
    }
    let start = from.saturating_add(whole - 1) / whole * whole;
    Times { start: start.min(to), end: to, step: whole }
}

fn samples_of(series: &Found, node: &Arc<str>, gpu: &Arc<str>) -> Vec<Sample> {
    let sample = |(millis, percent): &(i64, f64)| {
        let mut values = [None; Measure::COUNT];
        values[Measure::Gpu as usize] = Some(*percent);
        Sample {
            time_nanos: u64::try_from(*millis).unwrap_or(0).saturating_mul(NANOS_PER_MILLI),
            node: node.clone(),
            backend: None,
            gpu: Some(gpu.clone()),
            values,
        }
    };
    series.points.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_steps_within_the_session_and_not_too_many() {
        let second = 1_000_000_000;
        let short = times(1_500_000_000, 10 * second);
        assert_eq!((short.start, short.end, short.step), (2_000, 10_000, 1_000));
        let day = times(100 * second, (100 + 86_400) * second);
        assert_eq!((day.start % day.step, day.end), (0, 86_500_000));
        assert!((day.end - day.start) / day.step <= GPU_POINTS, "{}", day.step);
        let longer = times(100 * second, (160 + 86_400) * second);
        assert_eq!(longer.step, day.step);
        // Nothing lies in it: its end is asked about.
        assert_eq!(times(1_100_000_000, 1_200_000_000).start, 1_200);
    }
}
