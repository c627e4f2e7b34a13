//! A scraper whose samples a test waits for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kymo_scrape::{
    ScrapeSettings, ScrapedBatch, ScrapedSeries, ScrapedValue, Scraper, ScraperOptions, Sink,
    SinkError, SinkFuture, TargetState,
};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Longer than anything takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

struct Channel(UnboundedSender<ScrapedBatch>);

impl Sink for Channel {
    fn send(&self, batch: ScrapedBatch) -> SinkFuture<'_> {
        let result = self.0.send(batch);
        Box::pin(async move { result.map_err(|error| SinkError::Lost(error.to_string())) })
    }
}

pub(crate) struct Fixture {
    pub(crate) scraper: Scraper,
    batches: UnboundedReceiver<ScrapedBatch>,
}

pub(crate) fn settings(yaml: &str) -> ScrapeSettings {
    ScrapeSettings::from_yaml(yaml, Path::new("/test.yml")).unwrap()
}

/// A job `j` whose scrapes come often, and yet leave time for an answer on a busy machine.
pub(crate) fn job(address: &str, keys: &str) -> String {
    format!(
        "scrape_configs:\n  - job_name: j\n    scrape_interval: 400ms\n    static_configs: \
         [{{targets: ['{address}']}}]\n{keys}"
    )
}

impl Fixture {
    pub(crate) async fn start(yaml: &str) -> Self {
        let (sender, batches) = mpsc::unbounded_channel();
        let options =
            ScraperOptions { file_poll: Duration::from_millis(20), ..ScraperOptions::default() };
        let scraper =
            Scraper::start(&settings(yaml), Arc::new(Channel(sender)), options).await.unwrap();
        Self { scraper, batches }
    }

    /// The next scrape of any target.
    pub(crate) async fn next(&mut self) -> Batch {
        let batch = tokio::time::timeout(PATIENCE, self.batches.recv()).await;
        Batch(batch.expect("there is a scrape in time").expect("the scraper lives"))
    }

    /// The first scrape from now on of which `is_wanted` holds.
    pub(crate) async fn until(&mut self, is_wanted: impl Fn(&Batch) -> bool) -> Batch {
        let wanted = async {
            loop {
                let batch = self.next().await;
                if is_wanted(&batch) {
                    return batch;
                }
            }
        };
        tokio::time::timeout(PATIENCE, wanted).await.expect("there is such a scrape in time")
    }

    /// Forgets the scrapes that were not waited for.
    pub(crate) fn skip(&mut self) {
        while self.batches.try_recv().is_ok() {}
    }

    /// The state of the only target, once it says how its scrapes went.
    pub(crate) async fn state(&self) -> TargetState {
        loop {
            let targets = self.scraper.targets();
            assert_eq!(targets.len(), 1);
            if targets[0].last_scrape.is_some() {
                return targets[0].clone();
            }
            // The state is set right after the batch was handed on.
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) struct Batch(pub(crate) ScrapedBatch);

impl Batch {
    pub(crate) fn series(&self, name: &str) -> Option<&ScrapedSeries> {
        self.0.series.iter().find(|series| series.labels.get("__name__") == name)
    }

    /// The value of a series that is there and has not ended.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        match self.series(name) {
            Some(series) if series.is_stale() => None,
            Some(ScrapedSeries { value: ScrapedValue::Float(value), .. }) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn has_ended(&self, name: &str) -> bool {
        self.series(name).is_some_and(ScrapedSeries::is_stale)
    }

    pub(crate) fn instance(&self) -> &str {
        self.0.series[0].labels.get("instance")
    }
}

impl Fixture {
    /// The scraper, and what was handed on and not waited for.
    pub(crate) fn into_rest(mut self) -> (Scraper, Vec<Batch>) {
        let mut rest = Vec::new();
        while let Ok(batch) = self.batches.try_recv() {
            rest.push(Batch(batch));
        }
        (self.scraper, rest)
    }
}
