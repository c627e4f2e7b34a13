//! A manager with tasks. The intervals are short, and what is waited for is a condition.

use std::time::Duration;

use kymo_promql::sample::{Value, is_stale};

use super::{lock, parsed, world};
use crate::evaluate::RuleSample;
use crate::manager::Manager;

async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within five seconds: {what}");
}

#[tokio::test]
async fn a_manager_evaluates_reloads_and_stops() {
    let (world, context) = world();
    world.answer("up", &[(r#"{i="a"}"#, 1.5)]);
    let both = "groups: [{name: g, interval: 20ms, rules: [{record: r, expr: up}, \
                {alert: A, expr: up}]}, {name: f, interval: 20ms, rules: [{record: s, expr: up}]}]";
    let options = (*context.options).clone();
    let manager =
        Manager::start(parsed(both), world.clone(), world.clone(), world.clone(), options);
    until("both groups are evaluated", || {
        manager.groups().iter().all(|group| group.last_evaluation_nanos > 0)
    })
    .await;
    assert_eq!(manager.groups()[0].name, "f", "groups are shown by name");
    assert_eq!(manager.alerts().len(), 1);
    assert_eq!(manager.alerts()[0].value, "1.5e+00");
    assert!(manager.alertmanagers().active_alertmanagers.is_empty());
    until("series about alerts are written after they were restored", || {
        lock(&world.written).iter().any(|sample| sample.labels.metric_name() == "ALERTS")
    })
    .await;

    let since = manager.alerts()[0].active_at_nanos;
    manager
        .reload(parsed(
            &both.replace(", {name: f, interval: 20ms, rules: [{record: s, expr: up}]}", ""),
        ))
        .await;
    assert_eq!(manager.groups().len(), 1);
    assert_eq!(manager.alerts()[0].active_at_nanos, since, "what did not change goes on");
    until("the series of the group that is gone ends", || {
        let ends = |sample: &RuleSample| {
            sample.labels.metric_name() == "s"
                && matches!(sample.value, Value::Float(v) if is_stale(v))
        };
        lock(&world.written).iter().any(ends)
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.yml");
    std::fs::write(&path, "groups: [{}]").unwrap();
    assert!(manager.reload_files(&[path]).await.is_err());
    assert_eq!(manager.groups().len(), 1, "the old rules stay");
    manager.shutdown().await;
    let count = lock(&world.written).len();
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(lock(&world.written).len(), count);
    manager.reload(parsed(both)).await;
    assert!(manager.groups().is_empty(), "what was shut down does not begin again");
}
