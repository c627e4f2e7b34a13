//! Sinks that do not take what they are given, or not at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kymo_scrape::limits::{INLINE_PARSE_BYTES, PARSED_AT_ONCE};
use kymo_scrape::{
    ScrapedBatch, Scraper, ScraperOptions, Sink, SinkError, SinkFuture, TargetHealth, TargetState,
};

use crate::fixture::{job, settings};
use crate::server::{Reply, Server};

struct Refusing(SinkError);

impl Sink for Refusing {
    fn send(&self, _: ScrapedBatch) -> SinkFuture<'_> {
        Box::pin(async { Err(self.0.clone()) })
    }
}

/// What is shown of a target whose samples are not taken.
async fn refused(error: SinkError) -> TargetState {
    let server = Server::start(|_| Reply::text("a 1\n"));
    let settings = settings(&job(&server.address, ""));
    let sink = Arc::new(Refusing(error));
    let scraper = Scraper::start(&settings, sink, ScraperOptions::default()).await.unwrap();
    loop {
        let target = scraper.targets().pop();
        match target.filter(|target| target.last_scrape.is_some()) {
            Some(target) => return target,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test]
async fn a_target_whose_samples_are_lost_is_not_healthy() {
    let target = refused(SinkError::Lost("the disk is full".into())).await;
    assert_eq!(target.health, TargetHealth::Down);
    assert_eq!(target.last_error, "samples were not stored: the disk is full");
    let target = refused(SinkError::Partly(3, "too old".into())).await;
    assert_eq!(target.health, TargetHealth::Up, "most of it is there");
    assert_eq!(target.last_error, "3 samples were left out: too old");
}

/// Takes its time, and counts how many do so at once.
#[derive(Default)]
struct Slow {
    now: AtomicUsize,
    most: AtomicUsize,
    taken: AtomicUsize,
}

impl Sink for Slow {
    fn send(&self, _: ScrapedBatch) -> SinkFuture<'_> {
        Box::pin(async {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(2)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            self.taken.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }
}

#[tokio::test]
async fn only_a_few_large_answers_are_held_at_once() {
    let server = Server::start(|_| Reply::Large(2 * INLINE_PARSE_BYTES as u64));
    let address = &server.address;
    let targets: Vec<String> = (0..2 * PARSED_AT_ONCE)
        .map(|nth| format!("{{targets: ['{address}'], labels: {{nth: '{nth}'}}}}"))
        .collect();
    let yaml = format!(
        "scrape_configs:\n  - job_name: j\n    scrape_interval: 1s\n    static_configs: [{}]\n",
        targets.join(", ")
    );
    let sink = Arc::new(Slow::default());
    let options = ScraperOptions::default();
    let scraper = Scraper::start(&settings(&yaml), sink.clone(), options).await.unwrap();
    while sink.taken.load(Ordering::SeqCst) < PARSED_AT_ONCE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(sink.most.load(Ordering::SeqCst) <= PARSED_AT_ONCE);
    scraper.shutdown().await;
}
