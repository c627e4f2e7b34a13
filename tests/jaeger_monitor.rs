//! What Jaeger UI's Monitor tab asks.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::Server;
use harness::jaeger::{get, server};
use harness::otlp::START_NANOS;
use serde_json::{Value, json};

/// What the Monitor tab is answered: the name, and of each series its labels and numbers.
#[track_caller]
fn monitor(server: &Server, which: &str, more: &[(&str, &str)]) -> (String, Vec<(String, Value)>) {
    let end = (START_NANOS / 1_000_000 + 4000).to_string();
    let mut parameters = vec![("endTs", end.as_str()), ("lookback", "4000"), ("step", "1000")];
    parameters.push(("ratePer", "2000"));
    parameters.extend(more);
    let answer = get(server, &format!("/api/metrics/{which}"), &parameters);
    assert_eq!(answer.header("content-type"), "application/json");
    let family = answer.expect(200).json();
    assert_eq!(family["type"], "GAUGE");
    let series = family["metrics"].as_array().unwrap().iter().map(|metric| {
        let labels: Vec<String> = metric["labels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|label| {
                format!("{}={}", label["name"].as_str().unwrap(), label["value"].as_str().unwrap())
            })
            .collect();
        let points = metric["metricPoints"].as_array().unwrap();
        let times: Vec<&str> =
            points.iter().map(|point| point["timestamp"].as_str().unwrap()).collect();
        assert_eq!(times.len(), 5, "{times:?}");
        assert!(times.is_sorted() && times[0].ends_with('Z'), "{times:?}");
        let numbers = points.iter().map(|point| point["gaugeValue"]["doubleValue"].clone());
        (labels.join(" "), numbers.collect())
    });
    (family["name"].as_str().unwrap().to_owned(), series.collect())
}

#[test]
fn the_monitor_tab_is_drawn_from_spans() {
    let server = server();
    let calls = monitor(&server, "calls", &[("service", "shop")]);
    let rates = json!([0.5, 1.0, 0.5, 0.0, 0.0]);
    assert_eq!(calls, ("service_call_rate".to_owned(), vec![("service_name=shop".into(), rates)]));

    let by_operation = [("service", "shop"), ("groupByOperation", "true")];
    let (name, series) = monitor(&server, "calls", &by_operation);
    assert_eq!(name, "service_operation_call_rate");
    assert_eq!(series[0].0, "service_name=shop operation=GET /");
    assert_eq!(series[1].0, "service_name=shop operation=POST /checkout");
    assert_eq!(series[1].1, json!([0.5, 0.5, 0.0, 0.0, 0.0]));

    let (name, series) = monitor(&server, "latencies", &[("service", "shop"), ("quantile", "0.9")]);
    assert_eq!(name, "service_latencies");
    let millis: Vec<f64> =
        series[0].1.as_array().unwrap().iter().map(|told| told.as_f64().unwrap_or(-1.0)).collect();
    for (told, expected) in millis.into_iter().zip([200.0, 200.0, 5.0, -1.0, -1.0]) {
        assert!((told - expected).abs() <= expected.abs() / 100.0, "{told} is not {expected}");
    }

    let of_job = [("service", "it's"), ("service", "shop"), ("spanKind", "internal")];
    let (name, series) = monitor(&server, "errors", &of_job);
    assert_eq!(name, "service_error_rate");
    let expected = json!(["NaN", "NaN", 1.0, 1.0, "NaN"]);
    assert_eq!(series, [("service_name=it's".to_owned(), expected)]);
    let calm = monitor(&server, "errors", &[("service", "shop")]);
    assert_eq!(calm.1[0].1, json!([0.0, 0.0, 0.0, "NaN", "NaN"]));

    // Nobody has this name.
    assert_eq!(monitor(&server, "calls", &[("service", "nobody")]).1, []);
}
