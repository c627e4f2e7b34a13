//! Groups and managers over stand-ins. Times are given, not waited for, except where tasks are
//! what is tested: there the intervals are short.

mod api;
mod restart;
mod running;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_promql::ast::Expr;
use kymo_promql::labels::Labels;
use kymo_promql::sample::{Value, is_stale};

use crate::evaluate::{BoxFuture, Evaluate, RuleSample, Sink, SinkError, VectorSample};
use crate::file::RuleFiles;
use crate::group::{Context, GroupRun};
use crate::notify::{Notify, OutgoingAlert};
use crate::options::RuleOptions;
use crate::state::{RuleState, lock};

const MINUTE: i64 = 60_000_000_000;

/// Answers what it was told to, and keeps what is written and sent.
#[derive(Default)]
struct World {
    answers: Mutex<HashMap<String, Result<Vec<VectorSample>, String>>>,
    asked: Mutex<Vec<(String, i64)>>,
    written: Mutex<Vec<RuleSample>>,
    sent: Mutex<Vec<OutgoingAlert>>,
    refuses_writes: Mutex<bool>,
    /// Writes all the same, but says that some was left out.
    writes_partly: Mutex<bool>,
}

impl World {
    fn answer(&self, query: &str, series: &[(&str, f64)]) {
        let sample = |(labels, value): &(&str, f64)| VectorSample {
            labels: kymo_promql::parser::parse_metric(labels).unwrap(),
            value: Value::Float(*value),
        };
        lock(&self.answers).insert(query.to_owned(), Ok(series.iter().map(sample).collect()));
    }

    fn find(&self, query: String, time_millis: i64) -> Result<Vec<VectorSample>, String> {
        lock(&self.asked).push((query.clone(), time_millis));
        if let Some(answer) = lock(&self.answers).get(&query) {
            return answer.clone();
        }
        // What was written can be asked for by its name.
        let written = lock(&self.written);
        let mut last: HashMap<Labels, VectorSample> = HashMap::new();
        for sample in written.iter().filter(|sample| sample.labels.metric_name() == query) {
            let found = VectorSample { labels: sample.labels.clone(), value: sample.value.clone() };
            last.insert(sample.labels.clone(), found);
        }
        let is_alive =
            |sample: &VectorSample| !matches!(sample.value, Value::Float(v) if is_stale(v));
        Ok(last.into_values().filter(is_alive).collect())
    }

    /// What was written since the last time, as text, in order.
    fn written(&self) -> Vec<String> {
        let text = |sample: &RuleSample| {
            let value = match &sample.value {
                Value::Float(value) if is_stale(*value) => "stale".to_owned(),
                Value::Float(value) => value.to_string(),
                Value::Histogram(histogram) => histogram.to_string(),
            };
            format!("{} {value} @{}", sample.labels, sample.time_millis)
        };
        let mut texts: Vec<String> = lock(&self.written).drain(..).map(|s| text(&s)).collect();
        texts.sort();
        texts
    }
}

impl Evaluate for World {
    fn promql<'a>(
        &'a self,
        expr: &'a Expr,
        time_millis: i64,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        Box::pin(async move { self.find(expr.to_string(), time_millis) })
    }

    fn traceql<'a>(
        &'a self,
        query: &'a str,
        time_millis: i64,
        interval: Duration,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        let query = format!("{query} over {}s", interval.as_secs());
        Box::pin(async move { self.find(query, time_millis) })
    }
}

impl Sink for World {
    fn write(&self, samples: Vec<RuleSample>) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(async move {
            if *lock(&self.refuses_writes) {
                return Err(SinkError::Lost("the disk is full".to_owned()));
            }
            lock(&self.written).extend(samples);
            match *lock(&self.writes_partly) {
                true => Err(SinkError::Partly(1, "too old".to_owned())),
                false => Ok(()),
            }
        })
    }
}

impl Notify for World {
    fn notify(&self, alerts: Vec<OutgoingAlert>) {
        lock(&self.sent).extend(alerts);
    }
}

fn world() -> (Arc<World>, Context) {
    let world = Arc::new(World::default());
    let options = RuleOptions {
        external_labels: [("region".to_owned(), "eu".to_owned())].into(),
        external_url: "http://kymo/prometheus/".into(),
        ..RuleOptions::default()
    };
    let context = Context {
        evaluate: world.clone(),
        sink: world.clone(),
        notify: world.clone(),
        options: Arc::new(options),
    };
    (world, context)
}

fn group(rules: &str, context: &Context, should_restore: bool) -> GroupRun {
    let text = format!("groups: [{{name: g, {rules}}}]");
    let mut groups = RuleFiles::parse(&text, Path::new("r.yml")).unwrap();
    GroupRun::new(Arc::new(groups.remove(0)), &context.options, should_restore)
}

async fn evaluate(group: &mut GroupRun, context: &Context, minute: i64) {
    group.evaluate(context, minute * MINUTE, &|| false).await;
}

fn last_error(group: &GroupRun, nth: usize) -> String {
    match &lock(&group.shared.state).rules[nth] {
        RuleState::Alerting(rule) => rule.last.last_error.clone(),
        RuleState::Recording(rule) => rule.last.last_error.clone(),
    }
}

#[tokio::test]
async fn a_recording_rule_sets_name_and_labels_and_later_rules_see_it() {
    let (world, context) = world();
    world.answer("up", &[(r#"up{job="a",x="1"}"#, 1.0), (r#"up{job="b"}"#, 0.0)]);
    let rules = "rules: [{record: job:up, expr: up, labels: {x: '2', job: ''}}, \
                 {record: again, expr: 'job:up'}], query_offset: 30s";
    let rules = rules.replace(", job: ''", "");
    let mut group = group(&rules, &context, false);
    evaluate(&mut group, &context, 10).await;
    assert_eq!(
        world.written(),
        [
            r#"{__name__="again", job="a", x="2"} 1 @570000"#,
            r#"{__name__="again", job="b", x="2"} 0 @570000"#,
            r#"{__name__="job:up", job="a", x="2"} 1 @570000"#,
            r#"{__name__="job:up", job="b", x="2"} 0 @570000"#,
        ]
    );
    assert_eq!(lock(&world.asked)[0], ("up".to_owned(), 570_000));
}

#[tokio::test]
async fn a_series_that_vanished_ends_once() {
    let (world, context) = world();
    world.answer("up", &[(r#"{job="a"}"#, 1.0), (r#"{job="b"}"#, 2.0)]);
    let mut group = group("rules: [{record: r, expr: up}]", &context, false);
    evaluate(&mut group, &context, 1).await;
    world.written();
    world.answer("up", &[(r#"{job="b"}"#, 3.0)]);
    evaluate(&mut group, &context, 2).await;
    let expected =
        [r#"{__name__="r", job="a"} stale @120000"#, r#"{__name__="r", job="b"} 3 @120000"#];
    assert_eq!(world.written(), expected);
    evaluate(&mut group, &context, 3).await;
    assert_eq!(world.written(), [r#"{__name__="r", job="b"} 3 @180000"#]);
}

#[tokio::test]
async fn what_could_not_be_written_is_remembered() {
    let (world, context) = world();
    world.answer("up", &[(r#"{job="a"}"#, 1.0)]);
    let mut group = group("rules: [{record: r, expr: up}]", &context, false);
    evaluate(&mut group, &context, 1).await;
    world.answer("up", &[]);
    *lock(&world.refuses_writes) = true;
    evaluate(&mut group, &context, 2).await;
    assert_eq!(last_error(&group, 0), "the disk is full");
    *lock(&world.refuses_writes) = false;
    world.written();
    evaluate(&mut group, &context, 3).await;
    assert_eq!(world.written(), [r#"{__name__="r", job="a"} stale @180000"#]);
    assert_eq!(last_error(&group, 0), "");
}

#[tokio::test]
async fn limits_equal_series_and_failing_queries_are_errors_of_the_rule_alone() {
    let (world, context) = world();
    world.answer("up", &[(r#"{job="a"}"#, 1.0), (r#"{job="b"}"#, 2.0)]);
    world.answer("same", &[(r#"a{job="a"}"#, 1.0), (r#"b{job="a"}"#, 2.0)]);
    world.answer("one", &[("{}", 5.0)]);
    lock(&world.answers).insert("bad".into(), Err("too many samples".into()));
    let rules = "limit: 1, rules: [{record: r, expr: up}, {record: s, expr: same}, \
                 {record: t, expr: bad}, {alert: A, expr: up}, {alert: B, expr: same}, \
                 {record: u, expr: one}]";
    let mut group = group(rules, &context, false);
    evaluate(&mut group, &context, 1).await;
    let errors: Vec<String> = (0..6).map(|nth| last_error(&group, nth)).collect();
    assert_eq!(
        errors,
        [
            "exceeded limit of 1 with 2 series",
            "vector contains metrics with the same labelset after applying rule labels",
            "too many samples",
            "exceeded limit of 1 with 2 alerts",
            "vector contains metrics with the same labelset after applying alert labels",
            "",
        ]
    );
    assert_eq!(world.written(), [r#"{__name__="u"} 5 @60000"#]);
}

#[tokio::test]
async fn an_alert_is_filled_in_written_sent_and_resolved() {
    let (world, context) = world();
    world.answer("up == 0", &[(r#"up{instance="a:1"}"#, 0.0)]);
    world.answer("sum(up)", &[("{}", 7.0)]);
    let rules = r#"rules: [{alert: Down, expr: up == 0, for: 1m,
        labels: {severity: page, host: '{{ $labels.instance | stripPort }}'},
        annotations: {summary: '{{ $labels.instance }} {{ $externalLabels.region }} {{ $value }}',
            sum: '{{ query "sum(up)" | first | value }}', wrong: '{{ humanize "x" }}'}}]"#;
    let mut group = group(rules, &context, false);
    evaluate(&mut group, &context, 1).await;
    let pending = world.written();
    assert!(pending[0].contains(r#"alertstate="pending", host="a""#), "{pending:?}");
    assert!(lock(&world.sent).is_empty());
    evaluate(&mut group, &context, 2).await;
    assert_eq!(
        world.written(),
        [
            r#"{__name__="ALERTS", alertname="Down", alertstate="firing", host="a", instance="a:1", severity="page"} 1 @120000"#,
            r#"{__name__="ALERTS", alertname="Down", alertstate="pending", host="a", instance="a:1", severity="page"} stale @120000"#,
            r#"{__name__="ALERTS_FOR_STATE", alertname="Down", host="a", instance="a:1", severity="page"} 60 @120000"#,
        ]
    );
    world.answer("up == 0", &[]);
    evaluate(&mut group, &context, 3).await;
    assert_eq!(world.written().len(), 2, "both series end");
    let sent = lock(&world.sent).clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].annotations["summary"], "a:1 eu 0");
    assert_eq!(sent[0].annotations["sum"], "7");
    let wrong = &sent[0].annotations["wrong"];
    assert!(wrong.starts_with("<error expanding template: error executing template"), "{wrong}");
    assert_eq!(sent[0].generator_url, "http://kymo/prometheus/graph?g0.expr=up+%3D%3D+0&g0.tab=1");
    assert_eq!((sent[0].starts_at_nanos, sent[0].ends_at_nanos), (2 * MINUTE, 6 * MINUTE));
    assert!(sent[1].is_resolved && sent[1].ends_at_nanos == 3 * MINUTE);
}

#[tokio::test]
async fn samples_that_are_left_out_are_an_error_of_the_rule_and_the_others_end_some_day() {
    let (world, context) = world();
    world.answer("up", &[(r#"{job="a"}"#, 1.0)]);
    let mut group = group("rules: [{record: r, expr: up}]", &context, false);
    *lock(&world.writes_partly) = true;
    evaluate(&mut group, &context, 1).await;
    assert_eq!(last_error(&group, 0), "1 samples were left out: too old");
    world.written();
    world.answer("up", &[]);
    *lock(&world.writes_partly) = false;
    evaluate(&mut group, &context, 2).await;
    assert_eq!(world.written(), [r#"{__name__="r", job="a"} stale @120000"#]);
    assert_eq!(last_error(&group, 0), "");
}

#[tokio::test]
async fn traceql_is_asked_over_the_interval_that_ended_a_while_ago() {
    let (world, mut context) = world();
    world.answer("{ } | rate() over 30s", &[(r#"{svc="a"}"#, 2.0)]);
    world.answer("up", &[("{}", 1.0)]);
    let rules = "interval: 30s, rules: [{record: r, traceql: '{ } | rate()'}, \
                 {record: s, expr: up}]";
    let mut by_default = group(rules, &context, false);
    evaluate(&mut by_default, &context, 5).await;
    assert_eq!(
        world.written(),
        [r#"{__name__="r", svc="a"} 2 @240000"#, r#"{__name__="s"} 1 @300000"#],
        "spans arrive late, samples do not"
    );
    let mut shorter = group(&format!("query_offset: 10s, {rules}"), &context, false);
    evaluate(&mut shorter, &context, 5).await;
    assert_eq!(
        world.written(),
        [r#"{__name__="r", svc="a"} 2 @290000"#, r#"{__name__="s"} 1 @290000"#],
        "the group has the last word"
    );
    let options = RuleOptions { query_offset: Duration::from_secs(120), ..RuleOptions::default() };
    context.options = Arc::new(options);
    let mut longer = group(rules, &context, false);
    evaluate(&mut longer, &context, 5).await;
    assert_eq!(
        world.written(),
        [r#"{__name__="r", svc="a"} 2 @180000"#, r#"{__name__="s"} 1 @180000"#],
        "the larger one"
    );
}

#[test]
fn an_interval_of_zero_is_the_default() {
    let (_, mut context) = world();
    let options = RuleOptions { evaluation_interval: Duration::ZERO, ..RuleOptions::default() };
    context.options = Arc::new(options);
    assert_eq!(group("rules: []", &context, false).interval, Duration::from_secs(60));
}

#[tokio::test]
async fn alerts_are_restored_after_a_restart() {
    let (world, context) = world();
    let rules = "rules: [{alert: A, expr: up, for: 1h, labels: {l: x}}]";
    world.answer("up", &[(r#"{i="was"}"#, 1.0), (r#"{i="ended"}"#, 1.0), (r#"{i="new"}"#, 1.0)]);
    let selector = r#"ALERTS_FOR_STATE{alertname="A",l="x"}"#;
    let series = |i: &str| format!(r#"{{alertname="A",i="{i}",l="x"}}"#);
    let (was, ended) = (series("was"), series("ended"));
    // Active since minute 100, written until minute 120; "ended" ended then.
    let range = format!("{selector}[1h]");
    world.answer(&format!("last_over_time({range})"), &[(&was, 6000.0), (&ended, 6000.0)]);
    world.answer(&format!("ts_of_last_over_time({range})"), &[(&was, 7200.0), (&ended, 7200.0)]);
    world.answer(selector, &[(&was, 6000.0)]);
    let mut group = group(rules, &context, true);
    evaluate(&mut group, &context, 149).await;
    assert!(world.written().is_empty(), "nothing is written before");
    group.restore(&context, 150 * MINUTE).await;
    evaluate(&mut group, &context, 150).await;
    let since: Vec<String> = world
        .written()
        .into_iter()
        .filter(|text| text.contains("FOR_STATE"))
        .map(|text| text.split_once(", i=").unwrap().1.to_owned())
        .collect();
    // It was pending for 20 minutes; the 30 minutes away do not count.
    assert_eq!(
        since,
        [
            r#""ended", l="x"} 8940 @9000000"#,
            r#""new", l="x"} 8940 @9000000"#,
            r#""was", l="x"} 7800 @9000000"#,
        ]
    );
    assert_eq!(lock(&world.asked).iter().filter(|(query, _)| query == selector).count(), 1);
}

#[tokio::test]
async fn a_changed_group_keeps_its_alerts_and_ends_what_is_gone() {
    let (world, context) = world();
    world.answer("up", &[("{}", 1.0)]);
    let mut before =
        group("rules: [{record: gone, expr: up}, {alert: A, expr: up, for: 1m}]", &context, false);
    evaluate(&mut before, &context, 1).await;
    world.written();
    let mut after =
        group("rules: [{alert: A, expr: up, for: 2m}, {record: new, expr: up}]", &context, false);
    after.inherit(before);
    evaluate(&mut after, &context, 3).await;
    let written = world.written();
    assert!(written.iter().any(|text| text == r#"{__name__="gone"} stale @180000"#), "{written:?}");
    assert!(written.iter().any(|text| text.contains(r#"alertstate="firing""#)), "{written:?}");
}

#[test]
fn groups_are_evaluated_at_times_of_their_own() {
    let (_, context) = world();
    let group = group("interval: 10s", &context, false);
    let first = group.next_slot(1_000 * MINUTE);
    assert!(first > 1_000 * MINUTE && first <= 1_000 * MINUTE + MINUTE / 6);
    assert_eq!(group.next_slot(first), first + MINUTE / 6);
    assert_eq!(group.next_slot(first - 1), first);
}

fn parsed(text: &str) -> Vec<crate::file::Group> {
    RuleFiles::parse(text, Path::new("r.yml")).unwrap()
}
