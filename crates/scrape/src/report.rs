//! The series that tell about each scrape, such as `up`.

use std::sync::Arc;

use crate::config::JobSettings;
use crate::ingest::Counts;
use crate::labels::{Labels, METRIC_NAME};
use crate::sink::{ScrapedBatch, ScrapedSeries};
use crate::target::Target;
use crate::worker::{Plan, Remains};

/// What is told about a scrape.
pub(crate) struct Report {
    pub(crate) is_up: f64,
    pub(crate) duration_secs: f64,
    pub(crate) counts: Counts,
    pub(crate) body_size_bytes: i64,
}

/// The series that are told about each scrape of a job's targets.
fn names(job: &JobSettings) -> impl Iterator<Item = &'static str> {
    const ALWAYS: usize = 5;
    const NAMES: [&str; 8] = [
        "up",
        "scrape_duration_seconds",
        "scrape_samples_scraped",
        "scrape_samples_post_metric_relabeling",
        "scrape_series_added",
        "scrape_timeout_seconds",
        "scrape_sample_limit",
        "scrape_body_size_bytes",
    ];
    let count = if job.extra_scrape_metrics { NAMES.len() } else { ALWAYS };
    NAMES.into_iter().take(count)
}

fn labels(target: &Target, name: &str) -> Arc<Labels> {
    let mut labels = target.labels.clone();
    labels.set(METRIC_NAME, name);
    Arc::new(labels)
}

impl Report {
    /// Adds the series.
    pub(crate) fn add_to(
        &self,
        out: &mut Vec<ScrapedSeries>,
        job: &JobSettings,
        target: &Target,
        time_millis: i64,
    ) {
        // In the order of the names.
        let values = [
            self.is_up,
            self.duration_secs,
            self.counts.scraped as f64,
            self.counts.kept as f64,
            self.counts.added as f64,
            target.timeout.as_secs_f64(),
            job.limits.samples as f64,
            self.body_size_bytes as f64,
        ];
        for (name, value) in names(job).zip(values) {
            out.push(ScrapedSeries::plain(labels(target, name), value, time_millis));
        }
    }
}

impl Remains {
    /// The ends of all series of the target, those about its scrapes among them.
    pub(crate) fn ends(&mut self, time_millis: i64) -> ScrapedBatch {
        let Plan { job, target, .. } = &*self.plan;
        let mut series = self.cache.end_all(time_millis);
        let ends = names(job).map(|name| ScrapedSeries::stale(labels(target, name), time_millis));
        series.extend(ends);
        ScrapedBatch { job_name: job.job_name.as_str().into(), series }
    }
}
