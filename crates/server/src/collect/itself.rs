//! The server's own metrics, stored as any target's would be.
//!
//! What `/metrics` shows is read at the probe's interval and written with `job="kymo"`. Two things
//! differ. The label `tenant` is left out, and what differs in it alone is one series with the sum:
//! these metrics belong to the tenant `default`, whose readers are not to learn the names of others.
//! And a count that appears is said to have been zero at the reading before, which it was, so that
//! its first rise is part of rates.
//!
//! Labels are words of the code, and of rules and destinations that the configuration names: their
//! number does not grow with what is sent. Should there be more series than [`MAX_OWN_SERIES`], whole
//! metrics are left out.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kymo_wire::exposition::{Entry, ExpositionError, Format, MetricKind, ParseOptions, Parser};
use kymo_wire::remote_write::{Metadata, RequestWriter};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::own::Own;
use super::scraping::metadata_type;
use super::{CollectOptions, MIN_WAIT, hostname};
use crate::limits::MAX_OWN_SERIES;
use crate::telemetry::Telemetry;

/// The label `job` of these metrics.
const JOB: &str = "kymo";
/// The label that is summed over.
const TENANT: &str = "tenant";

/// What reads and writes them, as long as it is kept.
pub(super) struct Itself {
    /// Dropped, the task ends.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Itself {
    /// Must be called in the server's runtime.
    pub(super) fn start(options: &CollectOptions, telemetry: Arc<Telemetry>, own: Own) -> Self {
        let (stop, stopped) = oneshot::channel();
        let instance = options.instance.clone().unwrap_or_else(hostname);
        let round = Round { telemetry, own, instance, before: None, is_failing: false };
        let interval = options.interval.max(MIN_WAIT);
        Self { stop, task: tokio::spawn(round.repeat(interval, stopped)) }
    }

    /// Ends it, when what it writes is written.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // A task that died has said so.
        let _ = self.task.await;
    }
}

/// A metric with its series.
#[derive(Debug)]
struct Family {
    kind: MetricKind,
    help: String,
    series: BTreeMap<SeriesName, f64>,
}

/// The name and the labels of a series, in order.
type SeriesName = (String, Vec<(String, String)>);

/// What was there at the reading before.
#[derive(Debug)]
struct Before {
    time_millis: i64,
    counts: HashSet<SeriesName>,
}

/// What is done again and again.
struct Round {
    telemetry: Arc<Telemetry>,
    own: Own,
    instance: String,
    before: Option<Before>,
    /// Whether the last reading could not be stored.
    is_failing: bool,
}

impl Round {
    async fn repeat(mut self, interval: Duration, mut stopped: oneshot::Receiver<()>) {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stopped => return,
            }
            let told = self.tell().await;
            self.note(told.err());
        }
    }

    /// Reads and writes once; or says why not all of it is stored.
    async fn tell(&mut self) -> Result<(), String> {
        let mut families = read(&self.telemetry.text()).map_err(|error| error.to_string())?;
        let left_out = bound(&mut families, MAX_OWN_SERIES);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let time_millis = since.map_or(0, |since| since.as_millis() as i64);
        let mut pieces = self.own.pieces();
        for family in &families {
            for (name, value) in &family.series {
                let zero_millis = zero_before(self.before.as_ref(), family, name);
                let times = Times { time_millis, zero_millis };
                write_series(pieces.writer(), family, name, *value, &self.instance, times);
                pieces.send_if_large().await.map_err(|failure| failure.message)?;
            }
        }
        let counts = families.into_iter().filter(|family| family.kind.has_start());
        let counts = counts.flat_map(|family| family.series.into_keys()).collect();
        self.before = Some(Before { time_millis, counts });
        match pieces.finish().await.map_err(|failure| failure.message)? {
            Some((count, why)) => Err(format!("{count} samples: {why}")),
            None if left_out > 0 => Err(format!("{left_out} metrics have too many series")),
            None => Ok(()),
        }
    }

    /// A failure is worth a line when it begins, and one when it ends.
    fn note(&mut self, failed: Option<String>) {
        match failed {
            Some(why) if !self.is_failing => {
                self.is_failing = true;
                tracing::warn!("metrics of the server itself are lost: {why}");
            }
            None if self.is_failing => {
                self.is_failing = false;
                tracing::info!("metrics of the server itself are stored again");
            }
            _ => {}
        }
    }
}

/// Metrics of a text, in its order, without tenants.
fn read(text: &str) -> Result<Vec<Family>, ExpositionError> {
    let mut parser = Parser::new(text.as_bytes(), Format::OpenMetrics, ParseOptions::default());
    let mut families: Vec<Family> = Vec::new();
    let mut next_help = String::new();
    while let Some(entry) = parser.next_entry()? {
        match entry {
            // It comes before the type.
            Entry::Help { help, .. } => next_help = help.to_owned(),
            Entry::Type { kind, .. } => {
                let help = std::mem::take(&mut next_help);
                families.push(Family { kind, help, series: BTreeMap::new() });
            }
            Entry::Series(series) => {
                let Some(family) = families.last_mut() else { continue };
                let labels = series.labels.iter().filter(|label| &*label.name != TENANT);
                let labels = labels.map(|label| (label.name.to_string(), label.value.to_string()));
                let mut labels: Vec<(String, String)> = labels.collect();
                labels.sort_unstable();
                *family.series.entry((series.name.to_owned(), labels)).or_default() += series.value;
            }
            Entry::Unit { .. } | Entry::Histogram(_) => {}
        }
    }
    Ok(families)
}

/// Leaves out metrics for whose series there is no room: whole ones, since a histogram without some
/// of its buckets is wrong. Gives how many.
fn bound(families: &mut Vec<Family>, most: usize) -> usize {
    let (all, mut room) = (families.len(), most);
    families.retain(|family| match room.checked_sub(family.series.len()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    });
    all - families.len()
}

/// When a series was zero, if it is a count that was not there yet at the reading before.
fn zero_before(before: Option<&Before>, family: &Family, name: &SeriesName) -> Option<i64> {
    let before = before.filter(|_| family.kind.has_start())?;
    (!before.counts.contains(name)).then_some(before.time_millis)
}

/// When a sample was taken, and when before it there was nothing.
#[derive(Debug, Clone, Copy)]
struct Times {
    time_millis: i64,
    zero_millis: Option<i64>,
}

fn write_series(
    writer: &mut RequestWriter,
    family: &Family,
    (name, labels): &SeriesName,
    value: f64,
    instance: &str,
    Times { time_millis, zero_millis }: Times,
) {
    let own = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let target = [("__name__", name.as_str()), ("job", JOB), ("instance", instance)];
    let labels: Vec<(&str, &str)> = own.chain(target).collect();
    let metadata =
        Metadata { metric_type: metadata_type(family.kind), help: &family.help, unit: "" };
    writer.series(labels, Some(metadata), |series| {
        if let Some(zero_millis) = zero_millis.filter(|zero_millis| *zero_millis < time_millis) {
            series.sample(0.0, zero_millis, 0);
        }
        series.sample(value, time_millis, 0);
    });
}

#[cfg(test)]
mod tests {
    use kymo_admit::Signal;

    use super::*;

    fn labels(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn family(kind: MetricKind, names: &[&str]) -> Family {
        let series = names.iter().map(|name| (((*name).to_owned(), Vec::new()), 1.0)).collect();
        Family { kind, help: String::new(), series }
    }

    #[test]
    fn tenants_are_summed_and_not_named() {
        let telemetry = Telemetry::new();
        for (tenant, count) in [("red", 2), ("blue", 3)] {
            for _ in 0..count {
                telemetry.request_refused(tenant, Signal::Logs, "busy");
            }
        }
        let families = read(&telemetry.text()).unwrap();
        let name = "kymo_refused_requests_total".to_owned();
        let labels = labels(&[("reason", "busy"), ("signal", "logs")]);
        let found: Vec<_> = families.iter().filter(|family| !family.series.is_empty()).collect();
        let refused = found.iter().find(|family| family.help.starts_with("Requests refused"));
        let refused = refused.unwrap();
        assert_eq!(refused.kind, MetricKind::Counter);
        assert_eq!(refused.series, BTreeMap::from([((name, labels), 5.0)]));
        let all = format!("{found:?}");
        assert!(!all.contains("red\"") && !all.contains("blue") && !all.contains(TENANT), "{all}");
    }

    #[test]
    fn what_has_no_room_is_left_out_as_a_whole() {
        let counter = MetricKind::Counter;
        let mut families =
            vec![family(counter, &["a"]), family(counter, &["b", "c"]), family(counter, &["d"])];
        assert_eq!(bound(&mut families, 4), 0);
        assert_eq!(bound(&mut families, 2), 1);
        let names = families.iter().flat_map(|family| family.series.keys());
        assert_eq!(names.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "d"]);
    }

    #[test]
    fn a_count_that_appears_was_zero_before() {
        let (a, b) = (("a".to_owned(), Vec::new()), ("b".to_owned(), Vec::new()));
        let before = Before { time_millis: 7, counts: HashSet::from([a.clone()]) };
        let (counter, gauge) =
            (family(MetricKind::Counter, &["a", "b"]), family(MetricKind::Gauge, &["b"]));
        assert_eq!(zero_before(Some(&before), &counter, &b), Some(7));
        assert_eq!(zero_before(Some(&before), &counter, &a), None);
        assert_eq!(zero_before(Some(&before), &gauge, &b), None);
        // What was counted before the first reading was counted before.
        assert_eq!(zero_before(None, &counter, &b), None);
    }
}
