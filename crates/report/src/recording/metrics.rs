//! Counters of sessions, to check what was counted from events.

use kymo_wire::{MetricData, MetricView, NumberPointView, NumberValue, Repeated, WireError};

use super::add::{Recording, Source, hash};
use super::sessions::CounterPoint;
use crate::limits::MAX_COUNTER_SERIES;

/// OTLP's temporality of points that say what came since the one before.
const DELTA: i32 = 1;
/// The bit of a point that says there is no value.
const NO_VALUE: u32 = 1;

/// The counters that are looked at. A histogram has two: those with `_count` and `_sum`.
const COUNTERS: [&str; 10] = [
    "tasks_submitted",
    "tasks_started",
    "tasks_completed",
    "tasks_failed",
    "tasks_canceled",
    "tasks_running",
    "task_duration_seconds_count",
    "task_duration_seconds_sum",
    "session_events_dropped",
    "session_events_after_end",
];
const DURATIONS: &[u8] = b"task_duration_seconds";

pub(super) fn add(
    recording: &mut Recording,
    source: &Source,
    identity: u64,
    metric: &MetricView<'_>,
) -> Result<(), WireError> {
    let counter = COUNTERS.into_iter().find(|name| name.as_bytes() == metric.name);
    match (&metric.data, counter) {
        (MetricData::Sum(sum), counter) => {
            let is_delta = sum.aggregation_temporality == DELTA;
            numbers(recording, source, identity, counter, &sum.data_points, is_delta)
        }
        (MetricData::Gauge(gauge), counter) => {
            numbers(recording, source, identity, counter, &gauge.data_points, false)
        }
        (MetricData::Histogram(histogram), _) => {
            let is_delta = histogram.aggregation_temporality == DELTA;
            for point in histogram.data_points {
                let point = point?;
                recording.found.points += 1;
                if metric.name != DURATIONS || point.flags & NO_VALUE != 0 {
                    continue;
                }
                let labels = point.attributes.raws().map_while(Result::ok);
                let series = hash(&(identity, labels.collect::<Vec<_>>()));
                let time = point.time_unix_nano;
                let sum = point.sum.unwrap_or_default();
                let counted = [
                    ("task_duration_seconds_count", point.count as f64),
                    ("task_duration_seconds_sum", sum),
                ];
                for (name, value) in counted {
                    keep(recording, source, (name, series), time, value, is_delta);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn numbers(
    recording: &mut Recording,
    source: &Source,
    identity: u64,
    counter: Option<&'static str>,
    points: &Repeated<'_, NumberPointView<'_>>,
    is_delta: bool,
) -> Result<(), WireError> {
    recording.found.points += points.count() as u64;
    let Some(name) = counter else { return Ok(()) };
    for point in points {
        let point = point?;
        let value = match point.value {
            NumberValue::Double(value) => value,
            NumberValue::Int(value) => value as f64,
            NumberValue::None => continue,
        };
        if point.flags & NO_VALUE != 0 || !value.is_finite() {
            continue;
        }
        let labels = point.attributes.raws().map_while(Result::ok);
        let series = hash(&(identity, labels.collect::<Vec<_>>()));
        keep(recording, source, (name, series), point.time_unix_nano, value, is_delta);
    }
    Ok(())
}

fn keep(
    recording: &mut Recording,
    source: &Source,
    series: (&'static str, u64),
    time_nanos: u64,
    value: f64,
    is_delta: bool,
) {
    let Some(owner) = recording.owner(source, None, None) else { return };
    let known = &mut recording.drafts[owner].series;
    match known.get_mut(&series) {
        // Also when a point comes again.
        Some(last) if last.time_nanos >= time_nanos => {}
        Some(last) if is_delta => {
            *last = CounterPoint { time_nanos, value: last.value + value };
        }
        Some(last) => *last = CounterPoint { time_nanos, value },
        None if recording.room.series < MAX_COUNTER_SERIES => {
            recording.room.series += 1;
            known.insert(series, CounterPoint { time_nanos, value });
        }
        None => {}
    }
}
