//! Counters of sessions, to check what was counted from events. Of other metrics counts only when
//! they were heard.
//!
//! A counter is the sum, over the times from which its points count, of the last point of each: of
//! one that goes on counting that is its last point, of one that says what came since the point
//! before it is all of them. So neither the order of points nor their temporality matters, but for
//! points that do not say from when they count: those of the second kind are all counted, of the
//! others the last.

use kymo_wire::{MetricData, MetricView, NumberPointView, NumberValue, Repeated, WireError};

use super::add::{Recording, Source, hash};
use super::sessions::CounterPoint;
use crate::limits::MAX_COUNTER_SERIES;

/// The bit of a point that says there is no value.
const NO_VALUE: u32 = 1;

/// The temporality of points that say what came since the one before.
const DELTA: i32 = 1;

/// The metrics whose values are looked at.
pub const METRICS: [&str; 9] = [
    "tasks_submitted",
    "tasks_started",
    "tasks_completed",
    "tasks_failed",
    "tasks_canceled",
    "tasks_running",
    "session_events_dropped",
    "session_events_after_end",
    DURATIONS,
];
/// A histogram, which has two counters: those with `_count` and `_sum`.
const DURATIONS: &str = "task_duration_seconds";

pub(super) fn add(
    recording: &mut Recording,
    source: &Source,
    identity: u64,
    metric: &MetricView<'_>,
) -> Result<(), WireError> {
    let counter = METRICS.into_iter().find(|name| name.as_bytes() == metric.name);
    match (&metric.data, counter) {
        (MetricData::Sum(sum), counter) => {
            let from = CountsFrom::of(sum.aggregation_temporality);
            numbers(recording, source, identity, counter, &sum.data_points, from)
        }
        (MetricData::Gauge(gauge), counter) => {
            numbers(recording, source, identity, counter, &gauge.data_points, CountsFrom::Nowhere)
        }
        (MetricData::Histogram(histogram), _) => {
            let from = CountsFrom::of(histogram.aggregation_temporality);
            for point in histogram.data_points {
                let point = point?;
                recording.found.points += 1;
                recording.heard(source, point.time_unix_nano);
                if metric.name != DURATIONS.as_bytes() || point.flags & NO_VALUE != 0 {
                    continue;
                }
                let labels = point.attributes.raws().map_while(Result::ok);
                let begin = from.begin(point.start_time_unix_nano, point.time_unix_nano);
                let series = hash(&(identity, begin, labels.collect::<Vec<_>>()));
                let time = point.time_unix_nano;
                let sum = point.sum.unwrap_or_default();
                let counted = [
                    ("task_duration_seconds_count", point.count as f64),
                    ("task_duration_seconds_sum", sum),
                ];
                for (name, value) in counted {
                    keep(recording, source, (name, series), time, value);
                }
            }
            Ok(())
        }
        (MetricData::ExponentialHistogram(histogram), _) => {
            for point in histogram.data_points {
                recording.heard(source, point?.time_unix_nano);
            }
            Ok(())
        }
        (MetricData::Summary(summary), _) => {
            for point in summary.data_points {
                recording.heard(source, point?.time_unix_nano);
            }
            Ok(())
        }
        (MetricData::None, _) => Ok(()),
    }
}

/// From when the points of a metric count.
#[derive(Debug, Clone, Copy)]
enum CountsFrom {
    /// From what they say: they go on counting.
    Start,
    /// From the point before, if they do not say.
    LastPoint,
    /// What a gauge says began nowhere.
    Nowhere,
}

impl CountsFrom {
    fn of(temporality: i32) -> Self {
        if temporality == DELTA { Self::LastPoint } else { Self::Start }
    }

    /// What tells points that count from different moments apart.
    fn begin(self, start_nanos: u64, time_nanos: u64) -> u64 {
        match self {
            Self::LastPoint if start_nanos == 0 => time_nanos,
            Self::Start | Self::LastPoint => start_nanos,
            Self::Nowhere => 0,
        }
    }
}

fn numbers(
    recording: &mut Recording,
    source: &Source,
    identity: u64,
    counter: Option<&'static str>,
    points: &Repeated<'_, NumberPointView<'_>>,
    from: CountsFrom,
) -> Result<(), WireError> {
    recording.found.points += points.count() as u64;
    for point in points {
        let point = point?;
        recording.heard(source, point.time_unix_nano);
        let Some(name) = counter else { continue };
        let value = match point.value {
            NumberValue::Double(value) => value,
            NumberValue::Int(value) => value as f64,
            NumberValue::None => continue,
        };
        if point.flags & NO_VALUE != 0 || !value.is_finite() {
            continue;
        }
        let labels = point.attributes.raws().map_while(Result::ok);
        let begin = from.begin(point.start_time_unix_nano, point.time_unix_nano);
        let series = hash(&(identity, begin, labels.collect::<Vec<_>>()));
        keep(recording, source, (name, series), point.time_unix_nano, value);
    }
    Ok(())
}

fn keep(
    recording: &mut Recording,
    source: &Source,
    series: (&'static str, u64),
    time_nanos: u64,
    value: f64,
) {
    let Some(owner) = recording.owner(source, None, None) else { return };
    let draft = &mut recording.drafts[owner];
    match draft.series.get_mut(&series) {
        // Also when a point comes again.
        Some(last) if (last.time_nanos, last.value) >= (time_nanos, value) => {}
        Some(last) => *last = CounterPoint { time_nanos, value },
        None if recording.room.series < MAX_COUNTER_SERIES => {
            recording.room.series += 1;
            draft.series.insert(series, CounterPoint { time_nanos, value });
        }
        None => draft.left_out.points += 1,
    }
}
