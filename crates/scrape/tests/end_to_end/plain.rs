//! Targets that behave.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use kymo_scrape::TargetHealth;

use crate::fixture::{Fixture, job};
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_target_is_scraped_with_all_that_belongs_to_it() {
    let server = Server::start(|_| {
        Reply::text("# HELP a Help.\n# TYPE a gauge\na{x=\"1\"} 5\na{x=\"2\"} 6\ngo_x 1\n")
    });
    let keys = "    params: {p: [q]}\n    metrics_path: /m\n    extra_scrape_metrics: true\n    \
                sample_limit: 10\n    metric_relabel_configs: [{source_labels: [__name__], regex: \
                go_.*, action: drop}]\n";
    let mut fixture = Fixture::start(&job(&server.address, keys)).await;
    let batch = fixture.next().await;
    let a = batch.series("a").unwrap();
    let address = &server.address;
    assert_eq!(
        a.labels.to_string(),
        format!(r#"{{__name__="a", instance="{address}", job="j", x="1"}}"#)
    );
    assert_eq!(a.metadata.as_ref().unwrap().help, "Help.");
    assert_eq!(&*batch.0.job_name, "j");
    for (name, value) in [
        ("a", 5.0),
        ("up", 1.0),
        ("scrape_samples_scraped", 3.0),
        ("scrape_samples_post_metric_relabeling", 2.0),
        ("scrape_series_added", 2.0),
        ("scrape_timeout_seconds", 0.4),
        ("scrape_sample_limit", 10.0),
        ("scrape_body_size_bytes", 59.0),
    ] {
        assert_eq!(batch.value(name), Some(value), "{name}");
    }
    let up = batch.series("up").unwrap();
    assert_eq!(
        up.labels.to_string(),
        format!(r#"{{__name__="up", instance="{address}", job="j"}}"#)
    );
    assert!(batch.value("scrape_duration_seconds").unwrap() < 0.4);
    let request = server.last_request();
    assert_eq!(request.path, "/m?p=q");
    assert!(request.headers["accept"].starts_with("application/openmetrics-text;version=1.0.0;"));
    assert_eq!(request.headers["accept-encoding"], "gzip");
    assert_eq!(request.headers["x-prometheus-scrape-timeout-seconds"], "0.4");
    let state = fixture.state().await;
    assert_eq!((state.health, state.last_error.as_str()), (TargetHealth::Up, ""));
    assert_eq!(state.scrape_url, format!("http://{address}/m?p=q"));
    assert_eq!((state.scrape_pool.as_str(), state.scrape_interval.as_str()), ("j", "400ms"));
    assert_eq!(state.labels.get("job"), "j");
    assert_eq!(state.discovered_labels.get("__metrics_path__"), "/m");
    assert_eq!(fixture.scraper.metadata()[0].metrics[0].family, "a");
    assert_eq!(fixture.scraper.scrape_pools(), ["j"]);
    fixture.scraper.shutdown().await;
}

#[tokio::test]
async fn scrapes_of_a_target_share_a_connection_and_keep_their_rhythm() {
    let server = Server::start(|_| Reply::text("a 1\n"));
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push(fixture.next().await.series("up").unwrap().time_millis);
    }
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1);
    for pair in times.windows(2) {
        assert!(pair[1] > pair[0], "{times:?}");
    }
    assert_eq!(fixture.next().await.value("scrape_series_added"), Some(0.0));
}

#[tokio::test]
async fn open_metrics_brings_exemplars_and_start_times() {
    let server = Server::start(|_| {
        Reply::typed(
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# TYPE c counter\nc_total 7 # {trace_id=\"t\"} 1 12.5\nc_created 3.5\n# EOF\n",
        )
    });
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    let batch = fixture.next().await;
    let series = batch.series("c_total").unwrap();
    assert_eq!(series.start_millis, Some(3_500));
    assert_eq!(series.exemplars[0].labels, [("trace_id".to_owned(), "t".to_owned())]);
    assert_eq!(series.exemplars[0].time_millis, 12_500);
    assert_eq!(batch.series("c_created"), None);
}

#[tokio::test]
async fn packed_answers_are_unpacked_and_redirects_followed() {
    let server = Server::start(|request| {
        if request.path == "/metrics" {
            let location = ("Location".to_owned(), "/other".to_owned());
            return Reply::Full(302, vec![location], Vec::new());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"packed 1\n").unwrap();
        let headers = [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Reply::Full(200, headers.to_vec(), encoder.finish().unwrap())
    });
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    assert_eq!(fixture.next().await.value("packed"), Some(1.0));
    let keys = "    follow_redirects: false\n";
    let mut fixture = Fixture::start(&job(&server.address, keys)).await;
    assert_eq!(fixture.next().await.value("up"), Some(0.0));
    assert_eq!(fixture.state().await.last_error, "server returned HTTP status 302 Found");
}

#[tokio::test]
async fn series_end_when_they_vanish_and_when_the_target_fails() {
    let content = Arc::new(Mutex::new(Some("a 1\nb 1\n")));
    let served = content.clone();
    let server = Server::start(move |_| match *served.lock().unwrap() {
        Some(text) => Reply::text(text),
        None => Reply::status(503),
    });
    let mut fixture = Fixture::start(&job(&server.address, "")).await;
    assert_eq!(fixture.next().await.value("b"), Some(1.0));
    *content.lock().unwrap() = Some("a 2\n");
    let batch = fixture.until(|batch| batch.value("a") == Some(2.0)).await;
    assert!(batch.has_ended("b"));
    *content.lock().unwrap() = None;
    let batch = fixture.until(|batch| batch.value("up") == Some(0.0)).await;
    assert!(batch.has_ended("a") && batch.series("b").is_none());
    assert_eq!(fixture.next().await.series("a"), None, "it ends once");
    *content.lock().unwrap() = Some("a 3\n");
    let batch = fixture.until(|batch| batch.value("a").is_some()).await;
    assert_eq!(batch.value("up"), Some(1.0));
    fixture.scraper.shutdown().await;
    fixture.skip();
    assert_eq!(fixture.scraper.targets(), []);
}
