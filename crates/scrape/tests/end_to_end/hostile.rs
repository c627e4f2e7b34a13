//! Targets that do not behave. None of them harms another.

use std::sync::atomic::Ordering;

use crate::fixture::{Fixture, job};
use crate::server::{Reply, Server};

/// What is said about the only target after its first scrape, which fails.
async fn failure(server: &Server, keys: &str) -> String {
    let mut fixture = Fixture::start(&job(&server.address, keys)).await;
    let batch = fixture.next().await;
    assert_eq!(batch.value("up"), Some(0.0));
    fixture.state().await.last_error
}

#[tokio::test]
async fn a_target_that_hangs_is_given_up_and_others_go_on() {
    let hanging = Server::start(|_| Reply::Hang);
    let good = Server::start(|_| Reply::text("a 1\n"));
    let targets = format!("{}', '{}", hanging.address, good.address);
    let mut fixture = Fixture::start(&job(&targets, "")).await;
    let mut is_down = false;
    for _ in 0..20 {
        let batch = fixture.next().await;
        let expected = if batch.instance() == good.address { 1.0 } else { 0.0 };
        assert_eq!(batch.value("up"), Some(expected));
        is_down |= expected == 0.0;
        if is_down && expected == 1.0 {
            break;
        }
    }
    assert!(is_down);
    assert_eq!(failure(&hanging, "").await, "no answer within 400ms");
}

#[tokio::test]
async fn a_gigabyte_is_cut_off() {
    const GIGABYTE: u64 = 1 << 30;
    let server = Server::start(|_| Reply::Large(GIGABYTE));
    let yaml = job(&server.address, "    extra_scrape_metrics: true\n").replace("400ms", "5s");
    let mut fixture = Fixture::start(&yaml).await;
    let batch = fixture.next().await;
    assert_eq!(batch.value("up"), Some(0.0));
    assert_eq!(batch.value("scrape_body_size_bytes"), Some(-1.0));
    assert_eq!(
        fixture.state().await.last_error,
        "body size limit exceeded (67108864 bytes; set body_size_limit)"
    );
    assert!(server.seen.sent_bytes.load(Ordering::SeqCst) < GIGABYTE / 4);
    assert_eq!(failure(&server, "    body_size_limit: 1KB\n").await, "body size limit exceeded");
}

#[tokio::test]
async fn a_wrong_content_type_is_refused_unless_there_is_a_fallback() {
    let server = Server::start(|_| Reply::typed("text/html", "a 1\n"));
    assert_eq!(
        failure(&server, "").await,
        "received unsupported Content-Type \"text/html\" and no fallback_scrape_protocol specified \
         for target"
    );
    let keys = "    fallback_scrape_protocol: PrometheusText0.0.4\n";
    let mut fixture = Fixture::start(&job(&server.address, keys)).await;
    assert_eq!(fixture.next().await.value("a"), Some(1.0));
    let lying = Server::start(|_| Reply::typed("application/openmetrics-text", "a 1\n"));
    assert_eq!(
        failure(&lying, "").await,
        "line 2: expected `# EOF` as the last line, found the end"
    );
}

#[tokio::test]
async fn answers_that_are_not_what_they_say_are_refused() {
    let html = Server::start(|_| Reply::text("<!DOCTYPE html>\n"));
    assert!(failure(&html, "").await.starts_with("line 1: expected the name of a metric"));
    let packed = Server::start(|_| {
        let headers = [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Reply::Full(200, headers.to_vec(), b"a 1\n".to_vec())
    });
    assert!(failure(&packed, "").await.starts_with("answer is not what it says"));
    let address = {
        let server = Server::start(|_| Reply::Hang);
        server.address.clone()
    };
    let mut fixture = Fixture::start(&job(&address, "")).await;
    fixture.until(|batch| batch.value("up") == Some(0.0)).await;
}

#[tokio::test]
async fn a_scrape_with_too_many_samples_is_dropped_whole() {
    let server = Server::start(|_| Reply::text("a 1\nb 1\nc 1\n"));
    let mut fixture = Fixture::start(&job(&server.address, "    sample_limit: 2\n")).await;
    let batch = fixture.next().await;
    assert_eq!(batch.value("up"), Some(0.0));
    assert_eq!(batch.value("scrape_samples_scraped"), Some(3.0));
    assert!(["a", "b", "c"].iter().all(|name| batch.series(name).is_none()));
    assert_eq!(fixture.state().await.last_error, "sample limit exceeded");
}

#[tokio::test]
async fn more_targets_than_the_limit_are_not_asked() {
    let server = Server::start(|_| Reply::text("a 1\n"));
    let targets = format!("{}', 'localhost:1", server.address);
    let mut fixture = Fixture::start(&job(&targets, "    target_limit: 1\n")).await;
    for _ in 0..2 {
        assert_eq!(fixture.next().await.value("up"), Some(0.0));
    }
    assert!(server.seen.requests.lock().unwrap().is_empty());
    let state = &fixture.scraper.targets()[0];
    assert!(
        ["", "target_limit exceeded (number of targets: 2, limit: 1)"]
            .contains(&state.last_error.as_str())
    );
}
