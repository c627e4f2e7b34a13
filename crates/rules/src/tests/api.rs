//! The JSON of the API.

use std::path::Path;
use std::sync::Arc;

use super::{evaluate, lock, parsed, world};
use crate::group::GroupRun;

/// Replaces what differs from run to run.
fn without_times(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "evaluationTime" => *value = 0.into(),
                    "lastEvaluation" | "activeAt" | "file" => {
                        assert!(value.is_string(), "{key}");
                        *value = "".into();
                    }
                    _ => without_times(value),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[tokio::test]
async fn the_api_shows_what_prometheus_shows() {
    let (world, context) = world();
    world.answer("sum by (job) (up)", &[(r#"{job="a"}"#, 1.0)]);
    world.answer("vector(1) > 0", &[("{}", 1.0)]);
    let text = "groups: [{name: example, interval: 2s, rules: [\
                {record: 'job:up:sum', expr: sum by (job) (up)}, \
                {alert: AlwaysFiring, expr: vector(1) > 0, labels: {severity: page}, \
                annotations: {summary: 'value {{ $value }}'}}]}]";
    let mut group = GroupRun::new(Arc::new(parsed(text).remove(0)), &context.options, false);
    evaluate(&mut group, &context, 1).await;
    let mut shown = serde_json::to_value(&*lock(&group.shared.state)).unwrap();
    without_times(&mut shown);
    let mut expected = serde_json::json!({
        "name": "example", "file": "", "interval": 2, "limit": 0, "evaluationTime": 0,
        "lastEvaluation": "",
        "rules": [
            {"name": "job:up:sum", "query": "sum by (job) (up)", "health": "ok",
             "evaluationTime": 0, "lastEvaluation": "", "type": "recording"},
            {"state": "firing", "name": "AlwaysFiring", "query": "vector(1) > 0", "duration": 0,
             "keepFiringFor": 0, "labels": {"severity": "page"},
             "annotations": {"summary": "value {{ $value }}"},
             "alerts": [{"labels": {"alertname": "AlwaysFiring", "severity": "page"},
                         "annotations": {"summary": "value 1"}, "state": "firing",
                         "activeAt": "", "value": "1e+00"}],
             "health": "ok", "evaluationTime": 0, "lastEvaluation": "", "type": "alerting"}
        ]
    });
    // The answer of a Prometheus, where it is at hand.
    if let Ok(data) = std::env::var("KYMO_TEST_DATA") {
        let text = std::fs::read_to_string(Path::new(&data).join("promapi/rules.json"));
        if let Ok(text) = text {
            let found: serde_json::Value = serde_json::from_str(&text).unwrap();
            expected = found["data"]["groups"][0].clone();
            without_times(&mut expected);
        }
    }
    assert_eq!(shown, expected);
}
