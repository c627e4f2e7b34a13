//! Targets that come and go, by discovery and by other settings.

use std::sync::{Arc, Mutex};

use crate::fixture::{Fixture, job, settings};
use crate::server::{Reply, Server};

fn good() -> Server {
    Server::start(|_| Reply::text("a 1\n"))
}

const DISCOVERED: &str = "scrape_configs:\n  - job_name: j\n    scrape_interval: 400ms\n";

#[tokio::test]
async fn a_file_of_targets_is_followed_and_what_leaves_ends() {
    let (first, second) = (good(), good());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("targets.yml");
    let write = |addresses: &[&str]| {
        let targets = addresses.join("', '");
        // Renamed into place, so that no half of it is read.
        let new = directory.path().join("new");
        std::fs::write(&new, format!("- targets: ['{targets}']\n  labels: {{env: x}}\n")).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    write(&[&first.address]);
    let pattern = directory.path().join("*.yml");
    let yaml = format!("{DISCOVERED}    file_sd_configs: [{{files: ['{}']}}]\n", pattern.display());
    let mut fixture = Fixture::start(&yaml).await;
    let batch = fixture.next().await;
    assert_eq!(batch.instance(), first.address);
    assert_eq!(batch.series("a").unwrap().labels.get("env"), "x");
    assert!(batch.series("a").unwrap().labels.get("__meta_filepath").is_empty());
    write(&[&first.address, &second.address]);
    fixture.until(|batch| batch.instance() == second.address).await;
    write(&[&second.address]);
    let is_end_of_first =
        |batch: &crate::fixture::Batch| batch.instance() == first.address && batch.has_ended("up");
    let batch = fixture.until(is_end_of_first).await;
    assert!(batch.has_ended("a") && batch.has_ended("scrape_duration_seconds"));
    assert_eq!(fixture.scraper.targets().len(), 1);
}

#[tokio::test]
async fn a_server_with_targets_is_asked_again() {
    let target = good();
    let list = Arc::new(Mutex::new(Vec::<String>::new()));
    let served = list.clone();
    let discovery = Server::start(move |request| {
        if request.headers.get("authorization").is_none_or(|given| given != "Bearer t") {
            return Reply::status(401);
        }
        let targets = served.lock().unwrap().join("\", \"");
        let body = format!(r#"[{{"targets": ["{targets}"], "labels": {{"__meta_dc": "d"}}}}]"#);
        Reply::typed("application/json; charset=utf-8", &body)
    });
    list.lock().unwrap().push(target.address.clone());
    let yaml = format!(
        "{DISCOVERED}    http_sd_configs:\n      - url: http://{}/sd\n        refresh_interval: \
         50ms\n        authorization: {{credentials: t}}\n    relabel_configs:\n      - \
         {{source_labels: [__meta_dc], target_label: dc}}\n      - {{source_labels: [__address__], \
         regex: drop.*, action: drop}}\n",
        discovery.address
    );
    let mut fixture = Fixture::start(&yaml).await;
    let batch = fixture.next().await;
    assert_eq!(batch.instance(), target.address);
    assert_eq!(batch.series("up").unwrap().labels.get("dc"), "d");
    assert_eq!(fixture.scraper.dropped_target_counts(), [("j".to_owned(), 0)]);
    list.lock().unwrap().push("drop:1".to_owned());
    fixture.until(|_| discovery.last_request().path == "/sd").await;
    while fixture.scraper.dropped_targets().is_empty() {
        fixture.next().await;
    }
    let dropped = &fixture.scraper.dropped_targets()[0];
    assert_eq!(dropped.discovered_labels.get("__address__"), "drop:1");
    list.lock().unwrap().clear();
    fixture.until(|batch| batch.has_ended("up")).await;
}

#[tokio::test]
async fn a_reload_keeps_what_is_unchanged_and_ends_what_is_gone() {
    let (kept, gone) = (good(), good());
    let two = format!(
        "{}  - job_name: k\n    scrape_interval: 400ms\n    static_configs: [{{targets: ['{}']}}]\n",
        job(&kept.address, ""),
        gone.address
    );
    let mut fixture = Fixture::start(&two).await;
    fixture.until(|batch| batch.instance() == kept.address).await;
    fixture.until(|batch| batch.instance() == gone.address).await;
    let one =
        job(&kept.address, "    metric_relabel_configs: [{target_label: n, replacement: m}]\n");
    fixture.scraper.reload(&settings(&one)).await.unwrap();
    assert_eq!(fixture.scraper.scrape_pools(), ["j"]);
    assert!(fixture.scraper.targets()[0].last_scrape.is_some(), "the target goes on");
    let mut has_ended = false;
    let batch = loop {
        let batch = fixture.next().await;
        has_ended |= batch.instance() == gone.address && batch.has_ended("a");
        let is_changed = batch.0.series.iter().any(|series| series.labels.contains("n"));
        if is_changed {
            break batch;
        }
    };
    assert!(has_ended, "the job that is gone");
    let of_a = batch.0.series.iter().filter(|series| series.labels.get("__name__") == "a");
    let mut of_a: Vec<_> = of_a.map(|s| (s.labels.get("n"), s.is_stale())).collect();
    of_a.sort_unstable();
    assert_eq!(of_a, [("", true), ("m", false)], "the old series ends where the new begins");
    assert_eq!(batch.value("up"), Some(1.0));
}

#[tokio::test]
async fn another_interval_goes_on_with_the_same_series() {
    let server = good();
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    fixture.next().await;
    let faster = job(&server.address, "").replace("400ms", "300ms");
    fixture.scraper.reload(&settings(&faster)).await.unwrap();
    fixture.skip();
    for _ in 0..6 {
        let batch = fixture.next().await;
        assert_eq!(batch.value("a"), Some(1.0));
        assert!(batch.0.series.iter().all(|series| !series.is_stale()));
    }
    assert_eq!(fixture.scraper.targets()[0].scrape_interval, "300ms");
}

#[tokio::test]
async fn series_end_also_where_the_target_that_went_on_with_them_was_never_scraped() {
    let server = good();
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    let last = fixture.next().await.series("a").unwrap().time_millis;
    let later = job(&server.address, "").replace("400ms", "1h");
    fixture.scraper.reload(&settings(&later)).await.unwrap();
    fixture.skip();
    fixture.scraper.reload(&settings("")).await.unwrap();
    let batch = fixture.until(|batch| batch.has_ended("a")).await;
    assert!(batch.has_ended("up"));
    assert!(batch.series("a").unwrap().time_millis > last);
}

#[tokio::test]
async fn a_reload_after_the_shutdown_starts_nothing() {
    let server = good();
    let fixture = Fixture::start("").await;
    fixture.scraper.shutdown().await;
    fixture.scraper.reload(&settings(&job(&server.address, ""))).await.unwrap();
    assert!(fixture.scraper.scrape_pools().is_empty());
}

#[tokio::test]
async fn a_shutdown_ends_no_series() {
    let server = good();
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    fixture.next().await;
    fixture.skip();
    fixture.scraper.shutdown().await;
    let (scraper, last) = fixture.into_rest();
    assert!(last.iter().all(|batch| !batch.has_ended("a")));
    drop(scraper);
}
