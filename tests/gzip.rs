//! Answers to clients that take gzip, as browsers, Grafana and most HTTP libraries do: the same as
//! without it, whole, from every API.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::Read;

use flate2::read::GzDecoder;
use harness::Answer;
use harness::jaeger::{CHECKOUT, hex, server};
use harness::otlp::START_NANOS;
use reqwest::blocking::RequestBuilder;

/// The answer, unpacked if it is packed, and whether it was.
#[track_caller]
fn unpacked(request: RequestBuilder) -> (Vec<u8>, bool) {
    let answer = Answer::of(request).expect(200);
    match answer.header("content-encoding") {
        "gzip" => {
            let mut body = Vec::new();
            GzDecoder::new(&*answer.body).read_to_end(&mut body).unwrap();
            (body, true)
        }
        other => {
            assert_eq!(other, "");
            (answer.body, false)
        }
    }
}

#[test]
fn every_answer_is_the_same_with_gzip_as_without() {
    let server = server();
    let id = hex(CHECKOUT);
    let seconds = START_NANOS / 1_000_000_000;
    let trace = format!("/jaeger/api/traces/{id}");
    let pretty = format!("{trace}?prettyPrint=true");
    let around = format!("start={}&end={}", (seconds - 60) * 1_000_000, (seconds + 60) * 1_000_000);
    let search = format!("/jaeger/api/traces?service=shop&{around}");
    let v3_trace = format!("/jaeger/api/v3/traces/{id}");
    let times = "query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-03T00:00:00Z";
    let v3_search = format!("/jaeger/api/v3/traces?{times}");
    let summaries = format!("/jaeger/api/v3/trace-summaries?{times}");
    let (v1, v2) = (format!("/tempo/api/traces/{id}"), format!("/tempo/api/v2/traces/{id}"));
    let series = format!(
        "/tempo/api/metrics/query_range?q=%7B%7D|rate()by(name)&start={seconds}&end={}&step=10",
        seconds + 60
    );
    let (json, csv, arrow) =
        ("application/json", "text/csv", "application/vnd.apache.arrow.stream");
    let gets = [
        ("/jaeger/api/services", json),
        (&trace, json),
        (&pretty, json),
        (&search, json),
        ("/jaeger/api/v3/services", json),
        (&v3_trace, json),
        (&v3_search, json),
        (&summaries, json),
        (&v1, json),
        (&v1, "application/protobuf"),
        (&v2, json),
        (&v2, "application/vnd.grafana.llm"),
        ("/tempo/api/search?q=%7B%7D", json),
        ("/tempo/api/search?q=%7B%7D|select(name)", csv),
        ("/tempo/api/search?q=%7B%7D|select(name)", arrow),
        ("/tempo/api/v2/search/tags", json),
        ("/tempo/api/v2/search/tag/name/values", json),
        (&series, json),
    ];
    let mut packed = 0;
    let mut compare = |what: &str, request: &dyn Fn() -> RequestBuilder| {
        let (plain, _) = unpacked(request());
        assert!(!plain.is_empty(), "{what}");
        let (body, is_packed) = unpacked(request().header("accept-encoding", "gzip"));
        assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&plain), "{what}");
        packed += usize::from(is_packed);
    };
    for (path, accept) in gets {
        let what = format!("{path} as {accept}");
        compare(&what, &|| server.client.get(server.url(path)).header("accept", accept));
    }
    let few = "SELECT 1 AS one";
    let many = "SELECT value, repeat('x', 100) FROM generate_series(1, 5000)";
    for (query, accept) in [few, many].into_iter().flat_map(|q| [json, csv, arrow].map(|a| (q, a)))
    {
        compare(&format!("{query} as {accept}"), &|| {
            server.client.post(server.url("/api/sql")).header("accept", accept).body(query)
        });
    }
    assert!(packed >= 20, "{packed} answers were packed");
}
