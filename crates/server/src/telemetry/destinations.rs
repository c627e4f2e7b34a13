//! What destinations count themselves.

use std::fmt;

use kymo_forward::destination::{DestinationState, DestinationStatus, SignalStatus};
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::gauges::{Out, Sources};

/// A number of a destination and one signal.
type OfSignal = (&'static str, &'static str, fn(&SignalStatus) -> u64);
/// A number of a destination.
type Whole = (&'static str, &'static str, MetricType, fn(&DestinationStatus) -> u64);

const OF_SIGNALS: [OfSignal; 6] = [
    ("destination_sent_requests", "Requests that a destination took", |s| s.sent_requests),
    ("destination_sent_bytes", "Their bytes, as they were sent", |s| s.sent_bytes),
    ("destination_rejected", "Records that a destination took requests without", |s| s.rejected),
    (
        "destination_refused_requests",
        "Requests that a destination refused and that were set aside",
        |s| s.refused_records,
    ),
    (
        "destination_lost_requests",
        "Requests that a destination did not get since it lagged more than its budget",
        |s| s.lost_records,
    ),
    ("destination_lost_bytes", "Their bytes", |s| s.lost_bytes),
];

const WHOLE: [Whole; 5] = [
    ("destination_retries", "Tries that had to be repeated", MetricType::Counter, |d| d.retries),
    (
        "destination_lag_bytes",
        "Bytes of the journal that a destination has still to get",
        MetricType::Gauge,
        |d| d.lag_bytes,
    ),
    (
        "destination_damaged_bytes",
        "Bytes of the journal that a destination did not get since the disk had damaged them",
        MetricType::Counter,
        |d| d.damaged_bytes,
    ),
    (
        "destination_early_decisions",
        "Traces that were decided on before their time, since there were too many",
        MetricType::Counter,
        |d| d.early_decisions,
    ),
    (
        "destination_is_up",
        "Whether a destination took what was last sent to it",
        MetricType::Gauge,
        |d| u64::from(matches!(d.state, DestinationState::Idle | DestinationState::Sending)),
    ),
];

impl Sources {
    pub(super) fn destinations(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let all = self.destinations.status();
        if all.is_empty() {
            return Ok(());
        }
        for (name, help, number) in OF_SIGNALS {
            let kind = MetricType::Counter;
            let mut encoder = out.encoder.encode_descriptor(name, help, None, kind)?;
            for destination in &all {
                for signal in &destination.signals {
                    let labels =
                        [("destination", destination.name.as_str()), ("signal", signal.signal)];
                    ConstCounter::new(number(signal)).encode(encoder.encode_family(&labels)?)?;
                }
            }
        }
        for (name, help, kind, number) in WHOLE {
            let mut encoder = out.encoder.encode_descriptor(name, help, None, kind)?;
            for destination in &all {
                let labels = [("destination", destination.name.as_str())];
                let encoder = encoder.encode_family(&labels)?;
                let value = number(destination);
                match kind {
                    MetricType::Counter => ConstCounter::new(value).encode(encoder)?,
                    _ => {
                        let value = i64::try_from(value).unwrap_or(i64::MAX);
                        ConstGauge::new(value).encode(encoder)?;
                    }
                }
            }
        }
        Ok(())
    }
}
