//! The task of one target: wait, ask, read, hand on.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant as TokioInstant, MissedTickBehavior, interval_at};

use crate::cache::SeriesCache;
use crate::client::{FetchError, HttpClient};
use crate::config::{JobSettings, ScrapeProtocol};
use crate::ingest::{Counts, format_of, ingest};
use crate::limits::{INLINE_PARSE_BYTES, MAX_BODY_BYTES, TIME_TOLERANCE};
use crate::pool::Surroundings;
use crate::report::Report;
use crate::sink::{ScrapedBatch, ScrapedSeries, SinkError};
use crate::state::{Shared, Status, TargetHealth};
use crate::target::Target;

/// How to scrape a target. A new plan takes effect with the next scrape.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) job: Arc<JobSettings>,
    pub(crate) target: Arc<Target>,
    pub(crate) client: Arc<HttpClient>,
    /// Why it is not scraped at all.
    pub(crate) forced_error: Option<String>,
}

/// What is left of a target when it is no longer scraped.
#[derive(Debug)]
pub(crate) struct Remains {
    pub(crate) cache: SeriesCache,
    pub(crate) plan: Arc<Plan>,
}

/// Scrapes until `stop` says so, or whoever holds its other end is gone.
pub(crate) async fn run(
    plans: watch::Receiver<Arc<Plan>>,
    mut stop: watch::Receiver<bool>,
    shared: Arc<Shared>,
    surroundings: Surroundings,
    cache: SeriesCache,
) -> Remains {
    let plan = plans.borrow().clone();
    let interval = plan.target.interval;
    let first = TokioInstant::now() + offset(plan.target.id, surroundings.offset_seed, interval);
    let mut ticks = interval_at(first, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut worker = Worker { plans, plan, shared, surroundings, cache: Some(cache) };
    let mut rhythm = None;
    loop {
        tokio::select! {
            _ = stop.wait_for(|is_stopped| *is_stopped) => break,
            _ = ticks.tick() => {}
        }
        let now_nanos = unix_nanos(SystemTime::now());
        let time_millis = on_rhythm(&mut rhythm, now_nanos, interval) / 1_000_000;
        if !worker.scrape(time_millis, &mut stop).await {
            break;
        }
    }
    Remains { cache: worker.cache.unwrap_or_default(), plan: worker.plan }
}

/// How long to wait for the first scrape: targets are spread over the interval, each at its own
/// place in absolute time, also after a restart.
fn offset(id: u64, seed: u64, interval: Duration) -> Duration {
    let interval_nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    let now_nanos = unix_nanos(SystemTime::now()).unsigned_abs();
    let place = (id ^ seed) % interval_nanos;
    let wait = (interval_nanos - now_nanos % interval_nanos + place) % interval_nanos;
    Duration::from_nanos(wait)
}

/// The time of a scrape: that of the rhythm, if it is near enough.
fn on_rhythm(rhythm: &mut Option<i64>, now_nanos: i64, interval: Duration) -> i64 {
    let interval_nanos = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).max(1);
    let tolerance_nanos = (interval_nanos / 100).min(TIME_TOLERANCE.as_nanos() as i64);
    let beat = rhythm.get_or_insert(now_nanos);
    let behind = now_nanos.saturating_sub(*beat);
    if behind < 0 {
        // The clock was set back: a new rhythm.
        *beat = now_nanos;
        return now_nanos;
    }
    *beat += behind / interval_nanos * interval_nanos;
    if now_nanos - *beat <= tolerance_nanos { *beat } else { now_nanos }
}

fn unix_nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The `Accept` header: the job's formats, best first.
pub(crate) fn accept_header(job: &JobSettings) -> String {
    let escaping = job.escaping.name();
    let mut weight = ScrapeProtocol::ALL.len() + 1;
    let mut header = String::new();
    for protocol in &job.scrape_protocols {
        let media_type = match protocol {
            ScrapeProtocol::PrometheusProto => {
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited"
                    .to_owned()
            }
            ScrapeProtocol::OpenMetricsText0_0_1 => {
                "application/openmetrics-text;version=0.0.1".to_owned()
            }
            ScrapeProtocol::OpenMetricsText1_0_0 => {
                format!("application/openmetrics-text;version=1.0.0;escaping={escaping}")
            }
            ScrapeProtocol::PrometheusText0_0_4 => "text/plain;version=0.0.4".to_owned(),
            ScrapeProtocol::PrometheusText1_0_0 => {
                format!("text/plain;version=1.0.0;escaping={escaping}")
            }
        };
        header.push_str(&format!("{media_type};q=0.{weight},"));
        weight = weight.saturating_sub(1);
    }
    header.push_str(&format!("*/*;q=0.{weight}"));
    header
}

struct Worker {
    plans: watch::Receiver<Arc<Plan>>,
    plan: Arc<Plan>,
    shared: Arc<Shared>,
    surroundings: Surroundings,
    /// Away while a large answer is read elsewhere.
    cache: Option<SeriesCache>,
}

/// How a scrape went.
struct Outcome {
    counts: Counts,
    /// Of the answer; -1 if it was too large.
    body_size_bytes: i64,
    result: Result<Vec<ScrapedSeries>, String>,
}

impl Worker {
    /// Scrapes once. `false` if it was told to stop meanwhile, and nothing was handed on.
    async fn scrape(&mut self, time_millis: i64, stop: &mut watch::Receiver<bool>) -> bool {
        self.take_plan();
        let started = Instant::now();
        let outcome = tokio::select! {
            _ = stop.wait_for(|is_stopped| *is_stopped) => return false,
            answer = self.ask() => answer,
        };
        // Kept until the samples are handed on, which take more room than their text.
        let (outcome, _turn) = match outcome {
            Ok((content_type, body)) => {
                let turn = tokio::select! {
                    _ = stop.wait_for(|is_stopped| *is_stopped) => return false,
                    turn = self.turn(body.len()) => turn,
                };
                (self.read(content_type, body, time_millis).await, turn)
            }
            Err(failure) => (failure, None),
        };
        let duration = started.elapsed();
        self.hand_on(outcome, time_millis, duration).await;
        true
    }

    /// Waits until an answer of this size may be read; small ones need not wait.
    async fn turn(&self, size_bytes: usize) -> Option<OwnedSemaphorePermit> {
        if size_bytes <= INLINE_PARSE_BYTES {
            return None;
        }
        // Nobody closes it.
        self.surroundings.parsing.clone().acquire_owned().await.ok()
    }

    fn take_plan(&mut self) {
        let plan = self.plans.borrow_and_update().clone();
        let is_other = !Arc::ptr_eq(&plan.job, &self.plan.job)
            || plan.target.labels != self.plan.target.labels;
        // The rules may have changed; what lines became is found out anew.
        if let Some(cache) = self.cache.as_mut().filter(|_| is_other) {
            cache.forget_lines();
        }
        self.plan = plan;
    }

    async fn ask(&self) -> Result<(String, Vec<u8>), Outcome> {
        let failed = |error: String, body_size_bytes| Outcome {
            counts: Counts::default(),
            body_size_bytes,
            result: Err(error),
        };
        let plan = &self.plan;
        if let Some(error) = &plan.forced_error {
            return Err(failed(error.clone(), 0));
        }
        let (job, timeout) = (&plan.job, plan.target.timeout);
        let encoding = if job.enable_compression { "gzip" } else { "identity" };
        let headers = [
            ("Accept", accept_header(job)),
            ("Accept-Encoding", encoding.to_owned()),
            ("X-Prometheus-Scrape-Timeout-Seconds", timeout.as_secs_f64().to_string()),
        ];
        let limit_bytes = match job.limits.body_size_bytes {
            0 => MAX_BODY_BYTES,
            limit_bytes => limit_bytes,
        };
        match plan.client.get(&plan.target.url, &headers, timeout, limit_bytes).await {
            Ok(answer) => Ok((answer.content_type, answer.body)),
            Err(FetchError::BodySize) => {
                let error = if job.limits.body_size_bytes == 0 {
                    format!("{} ({limit_bytes} bytes; set body_size_limit)", FetchError::BodySize)
                } else {
                    FetchError::BodySize.to_string()
                };
                Err(failed(error, -1))
            }
            Err(error) => Err(failed(error.to_string(), 0)),
        }
    }

    async fn read(&mut self, content_type: String, body: Vec<u8>, time_millis: i64) -> Outcome {
        let body_size_bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let plan = self.plan.clone();
        let mut cache = self.cache.take().unwrap_or_default();
        let work = move || {
            let (counts, result) = match format_of(&content_type, &plan.job) {
                // Nothing is not a wrong format.
                _ if body.is_empty() => {
                    cache.begin();
                    let mut ends = Vec::new();
                    cache.commit(time_millis, &mut ends);
                    (Counts::default(), Ok(ends))
                }
                Ok(format) => {
                    ingest(&mut cache, &plan.job, &plan.target, &body, format, time_millis)
                }
                Err(error) => (Counts::default(), Err(error)),
            };
            (cache, Outcome { counts, body_size_bytes, result })
        };
        if body_size_bytes <= INLINE_PARSE_BYTES as i64 {
            let (cache, outcome) = work();
            self.cache = Some(cache);
            return outcome;
        }
        match tokio::task::spawn_blocking(work).await {
            Ok((cache, outcome)) => {
                self.cache = Some(cache);
                outcome
            }
            // Reading does not panic on any input; the runtime may end while it waits.
            Err(error) => Outcome {
                counts: Counts::default(),
                body_size_bytes,
                result: Err(format!("reading was given up: {error}")),
            },
        }
    }

    /// Hands on samples, ends of series, and what is told about each scrape.
    async fn hand_on(&mut self, outcome: Outcome, time_millis: i64, duration: Duration) {
        let (job, target) = (self.plan.job.clone(), self.plan.target.clone());
        let cache = self.cache.get_or_insert_default();
        let (mut series, error) = match outcome.result {
            Ok(series) => (series, String::new()),
            Err(error) => (cache.end_all(time_millis), error),
        };
        if let Some(metadata) = cache.changed_metadata() {
            self.shared.set_metadata(metadata);
        }
        if outcome.counts.left_out > 0 {
            tracing::warn!(
                target_url = %target.url,
                left_out = outcome.counts.left_out,
                "samples left out: second ones of a series, from the future, or histograms that do not \
                 add up"
            );
        }
        if !error.is_empty() {
            tracing::debug!(target_url = %target.url, "scrape failed: {error}");
        }
        let report = Report {
            is_up: if error.is_empty() { 1.0 } else { 0.0 },
            duration_secs: duration.as_secs_f64(),
            counts: outcome.counts,
            body_size_bytes: outcome.body_size_bytes,
        };
        report.add_to(&mut series, &job, &target, time_millis);
        cache.last_scrape_millis = Some(time_millis);
        let health = if error.is_empty() { TargetHealth::Up } else { TargetHealth::Down };
        let batch = ScrapedBatch { job_name: job.job_name.as_str().into(), series };
        let sent = self.surroundings.sink.send(batch).await;
        let (health, last_error) = match sent {
            Ok(()) => (health, error),
            Err(not_taken) => self.not_taken(&not_taken, health, error),
        };
        let seen = Duration::from_millis(time_millis.unsigned_abs());
        self.shared.set_status(Status {
            health,
            last_error,
            last_scrape: Some(UNIX_EPOCH + seen),
            last_duration: duration,
        });
    }

    /// What is shown of a target whose samples were not taken. It is logged once, not at each
    /// scrape anew.
    fn not_taken(
        &self,
        not_taken: &SinkError,
        health: TargetHealth,
        error: String,
    ) -> (TargetHealth, String) {
        let health = match not_taken {
            SinkError::Lost(_) => TargetHealth::Down,
            SinkError::Partly(..) => health,
        };
        // What is wrong with the target itself says more.
        let shown = if error.is_empty() { not_taken.to_string() } else { error };
        if self.shared.last_error() != shown {
            tracing::error!(target_url = %self.plan.target.url, "{not_taken}");
        }
        (health, shown)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::ScrapeSettings;

    #[test]
    fn targets_are_asked_for_what_the_job_wants() {
        let header = |keys: &str| {
            let text = format!("scrape_configs:\n  - job_name: j\n{keys}");
            let settings = ScrapeSettings::from_yaml(&text, Path::new("x.yml")).unwrap();
            accept_header(&settings.jobs[0])
        };
        assert_eq!(
            header(""),
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,\
             text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,\
             */*;q=0.2"
        );
        assert!(header("    scrape_native_histograms: true\n").starts_with(
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
             encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;"
        ));
        assert_eq!(
            header("    scrape_protocols: [PrometheusText0.0.4]\n"),
            "text/plain;version=0.0.4;q=0.6,*/*;q=0.5"
        );
    }

    #[test]
    fn times_keep_to_the_rhythm_unless_they_are_far_from_it() {
        let interval = Duration::from_secs(1);
        let mut rhythm = None;
        let second = 1_000_000_000;
        for (now, time) in [
            (100, 100),
            (second + 100 + 1_500_000, second + 100),
            (2 * second + 100 + 5_000_000, 2 * second + 100 + 5_000_000),
            (7 * second + 100, 7 * second + 100),
            (3 * second, 3 * second),
            (4 * second + 1, 4 * second),
        ] {
            assert_eq!(on_rhythm(&mut rhythm, now, interval), time, "{now}");
        }
    }

    #[test]
    fn first_scrapes_are_within_the_interval() {
        for id in 0..1_000 {
            let interval = Duration::from_millis(100);
            assert!(offset(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(id), 7, interval) < interval);
        }
    }
}
