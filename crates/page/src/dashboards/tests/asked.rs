//! Layout and data of panels, in every language.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, Weekday};
use http::{Method, StatusCode};
use kymo_dash::limits::MAX_DASHBOARD_BYTES;
use kymo_journal::Signal;
use serde_json::{Value, json};

use super::{panels, post, send};
use crate::dashboards::limits::MAX_QUESTION_BYTES;
use crate::tested::Place;

/// When the data begins: a whole minute, in seconds since 1970.
const BEGIN_SECS: i64 = 1_700_000_040;

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// A gauge of two GPUs on two hosts, a point every 15 s for 10 minutes; some lines and spans.
fn fill(place: &Place) {
    let nanos = |secs: i64| ((BEGIN_SECS + secs) * 1_000_000_000).to_string();
    let mut metrics = Vec::new();
    for (host, gpu, base) in [("a", "0", 10.0), ("a", "1", 20.0), ("b", "0", 30.0)] {
        let points: Vec<Value> = (0..40)
            .map(|n| {
                json!({"timeUnixNano": nanos(n * 15), "asDouble": base,
                       "attributes": [attribute("gpu", gpu), attribute("instance", host)]})
            })
            .collect();
        metrics.push(json!({"name": "gpu_temp", "gauge": {"dataPoints": points}}));
    }
    let scope = json!([{"metrics": metrics}]);
    place.send_json(
        Signal::Metrics,
        &json!({"resourceMetrics": [{"resource": {"attributes": []}, "scopeMetrics": scope}]}),
    );
    let lines: Vec<Value> = (0..5)
        .map(|n| json!({"timeUnixNano": nanos(n * 10), "severityText": "ERROR", "body": {"stringValue": format!("line {n}")}}))
        .collect();
    let resource = json!({"attributes": [attribute("service.name", "shop")]});
    place.send_json(
        Signal::Logs,
        &json!({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": lines}]}]}),
    );
    let spans: Vec<Value> = (1..=4)
        .map(|n: i64| json!({
            "traceId": format!("{n:032x}"), "spanId": format!("{n:016x}"), "name": "work", "kind": 2,
            "startTimeUnixNano": nanos(n * 60), "endTimeUnixNano": nanos(n * 60 + 30)
        }))
        .collect();
    let resource = json!({"attributes": [attribute("service.name", "shop")]});
    place.send_json(
        Signal::Traces,
        &json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}),
    );
}

fn question(dashboard: &Value) -> Value {
    json!({"dashboard": dashboard, "from": BEGIN_SECS * 1000, "to": (BEGIN_SECS + 600) * 1000})
}

fn gpus() -> Value {
    json!({
        "title": "GPUs", "schemaVersion": 22,
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus"},
            {"name": "instance", "type": "query", "datasource": "$datasource", "multi": true,
             "includeAll": true, "sort": 1, "refresh": 1, "query": "label_values(gpu_temp, instance)", "current": {}},
            {"name": "gpu", "type": "query", "datasource": "$datasource", "multi": true, "includeAll": true, "sort": 1,
             "refresh": 1, "query": "label_values(gpu_temp{instance=~\"$instance\"}, gpu)", "current": {}}]},
        "panels": [
            {"id": 12, "type": "graph", "title": "Temperature of $instance", "datasource": "$datasource", "fill": 1,
             "legend": {"show": true, "values": true, "avg": true}, "yaxes": [{"format": "celsius"}],
             "gridPos": {"x": 0, "y": 0, "w": 18, "h": 8},
             "targets": [{"expr": "gpu_temp{instance=~\"$instance\", gpu=~\"$gpu\"}", "legendFormat": "GPU {{gpu}}", "refId": "A"}]},
            {"id": 14, "type": "gauge", "title": "Mean", "datasource": "$datasource", "gridPos": {"x": 18, "y": 0, "w": 6, "h": 8},
             "options": {"fieldOptions": {"calcs": ["mean"], "defaults": {"unit": "celsius", "max": 100}}},
             "targets": [{"expr": "avg(gpu_temp{instance=~\"$instance\"})", "instant": true, "range": false, "refId": "A"}]},
            {"id": 15, "type": "stat", "title": "$instance", "repeat": "instance", "maxPerRow": 2, "datasource": "$datasource",
             "gridPos": {"x": 0, "y": 8, "w": 24, "h": 4}, "targets": [{"expr": "count(gpu_temp{instance=~\"$instance\"})", "refId": "A", "format": "table", "instant": true}]},
            {"id": 16, "type": "stat", "datasource": "$datasource", "targets": [{"expr": "sum(gpu_temp{", "refId": "A"}]},
            {"id": 17, "type": "table", "datasource": {"type": "influxdb"}, "targets": [{"query": "x"}]}
        ]
    })
}

fn names(variable: &Value, key: &str) -> Vec<String> {
    let list = variable[key].as_array().unwrap().iter();
    list.filter_map(|choice| choice["value"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_and_panels_are_laid_out() {
    let place = Place::new();
    fill(&place);
    let mut asked = question(&gpus());
    let (_, layout) = post(&place, "/api/dashboards/layout", &asked).await;
    let variables = layout["variables"].as_array().unwrap();
    assert_eq!(names(&variables[0], "current"), ["kymo-prometheus"]);
    assert_eq!(
        (names(&variables[1], "options"), names(&variables[1], "current")),
        (vec!["a".into(), "b".into()], vec!["$__all".into()])
    );
    assert_eq!(names(&variables[2], "options"), ["0", "1"]);
    let keys: Vec<&str> =
        layout["panels"].as_array().unwrap().iter().filter_map(|p| p["key"].as_str()).collect();
    assert_eq!(keys, ["12", "16", "17", "14", "15.0", "15.1"]);
    let panel =
        |key: &str| layout["panels"].as_array().unwrap().iter().find(|p| p["key"] == key).unwrap();
    assert_eq!(panel("12")["title"], "Temperature of All");
    assert_eq!(
        (&panel("12")["type"], &panel("12")["status"]),
        (&json!("timeseries"), &json!("full"))
    );
    assert_eq!(
        (&panel("15.1")["title"], &panel("15.1")["gridPos"]["w"]),
        (&json!("b"), &json!(12))
    );
    assert_eq!(panel("17")["status"], "unsupported");

    asked["variables"] = json!({"instance": ["b", "gone"]});
    let (_, layout) = post(&place, "/api/dashboards/layout", &asked).await;
    let instance = &layout["variables"][1];
    assert_eq!(
        (&instance["missing"], names(instance, "current")),
        (&json!(["gone"]), vec!["b".to_owned(), "gone".into()])
    );
    assert!(instance["warning"].as_str().unwrap().contains("not in range"));
    assert_eq!(names(&layout["variables"][2], "options"), ["0"], "it needs the other");
}

#[tokio::test(flavor = "multi_thread")]
async fn panels_are_answered_each_for_itself() {
    let place = Place::new();
    fill(&place);
    let lines = panels(&place, question(&gpus()), &["12", "14", "16", "17", "99"]).await;
    let frames = lines[0]["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 3, "{}", lines[0]);
    let value = &frames[0]["fields"][1];
    assert_eq!(
        (&value["state"]["displayName"], &value["config"]["unit"]),
        (&json!("GPU 0"), &json!("celsius"))
    );
    assert_eq!((&value["state"]["calcs"]["mean"], &value["values"][3]), (&json!(10), &json!(10)));
    assert_eq!(lines[0]["queries"][0]["query"], r#"gpu_temp{instance=~"(a|b)", gpu=~"(0|1)"}"#);
    let mean = &lines[1]["frames"][0]["fields"][1];
    assert_eq!((&mean["values"], &mean["config"]["max"]), (&json!([20]), &json!(100)));
    let error = &lines[2]["error"];
    assert_eq!((&error["status"], &error["refId"]), (&json!(400), &json!("A")));
    assert!(error["position"].as_i64().unwrap() > 10, "{error}");
    assert!(lines[3]["notices"][0]["text"].as_str().unwrap().contains("influxdb"));
    assert_eq!(lines[4]["error"]["status"], 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_have_their_own_values() {
    let place = Place::new();
    fill(&place);
    let mut asked = question(&gpus());
    asked["panels"] = json!([
        {"key": "15.0", "scope": {"instance": {"text": "a", "value": "a"}}},
        {"key": "15.1", "scope": {"instance": "b"}}]);
    let (_, text) = send(&place, Method::POST, "/api/dashboards/query", &asked.to_string()).await;
    let mut counts: Vec<(String, f64)> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            (
                line["panel"].to_string(),
                line["frames"][0]["fields"][1]["values"][0].as_f64().unwrap(),
            )
        })
        .collect();
    counts.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(counts, [("\"15.0\"".to_owned(), 2.0), ("\"15.1\"".to_owned(), 1.0)]);
}

fn panel(id: i64, kind: &str, source: &str, target: Value) -> Value {
    json!({"id": id, "type": kind, "datasource": {"type": source, "uid": "x"}, "targets": [target]})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_language_answers() {
    let place = Place::new();
    fill(&place);
    let dashboard = json!({"title": "T", "panels": [
        panel(1, "logs", "loki", json!({"expr": "{service_name=\"shop\"}"})),
        panel(2, "timeseries", "loki", json!({"expr": "sum(count_over_time({service_name=\"shop\"}[1m]))", "legendFormat": "lines"})),
        panel(3, "table", "tempo", json!({"queryType": "traceql", "query": "{ }", "tableType": "traces"})),
        panel(4, "timeseries", "tempo", json!({"queryType": "traceql", "query": "{ } | count_over_time() by (name)", "step": "1m"})),
        panel(5, "table", "postgres", json!({"rawSql": "SELECT name, count(*) AS n FROM spans WHERE $__timeFilter(start_time) GROUP BY name", "format": "table"})),
        panel(6, "timeseries", "postgres", json!({"rawSql": "SELECT start_time AS time, name, duration_nanos AS d FROM spans ORDER BY 1", "format": "time_series"})),
        panel(7, "table", "jaeger", json!({"queryType": "search", "service": "shop"})),
        panel(8, "traces", "tempo", json!({"queryType": "traceql", "query": format!("{:032x}", 2)})),
        {"id": 9, "type": "stat", "datasource": {"uid": "-- Dashboard --"}, "targets": [{"panelId": 5, "refId": "A"}]},
        panel(10, "table", "loki", json!({"expr": "{service_name=\"shop\"} | bad ("})),
    ]});
    let keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let lines = panels(&place, question(&dashboard), &keys).await;
    for line in &lines[..9] {
        assert!(line["error"].is_null(), "{line}");
    }
    let field = |at: usize, name: &str| -> Value {
        let fields = lines[at]["frames"][0]["fields"].as_array().unwrap();
        fields.iter().find(|field| field["name"] == name).unwrap_or_else(|| panic!("{}", lines[at]))
            ["values"]
            .clone()
    };
    assert_eq!(field(0, "Line"), json!(["line 4", "line 3", "line 2", "line 1", "line 0"]));
    assert_eq!(lines[1]["frames"][0]["fields"][1]["state"]["displayName"], "lines");
    assert_eq!(field(2, "traceDuration"), json!([30000, 30000, 30000, 30000]));
    assert_eq!(lines[3]["frames"][0]["fields"][1]["state"]["displayName"], "work");
    assert_eq!(field(4, "n"), json!([4]));
    assert_eq!(field(5, "d").as_array().unwrap().len(), 4);
    assert_eq!(field(6, "traceService"), json!(["shop", "shop", "shop", "shop"]));
    assert_eq!(
        (field(7, "operationName"), &lines[7]["frames"][0]["meta"]["traceId"]),
        (json!(["work"]), &json!(format!("{:032x}", 2)))
    );
    assert_eq!(field(8, "n"), json!([4]), "it has the data of the other panel");
    assert!(lines[9]["error"]["position"].is_number(), "{}", lines[9]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_are_offered_and_added() {
    let place = Place::new();
    fill(&place);
    let time = json!({"from": BEGIN_SECS * 1000, "to": (BEGIN_SECS + 600) * 1000, "type": "prometheus", "key": "instance"});
    let (_, values) = post(&place, "/api/dashboards/adhoc", &time).await;
    assert_eq!(values, json!({"values": ["a", "b"], "truncated": false}));
    let dashboard = json!({
        "title": "T", "templating": {"list": [{"name": "Filters", "type": "adhoc", "datasource": {"type": "prometheus"}}]},
        "panels": [panel(1, "stat", "prometheus", json!({"expr": "sum(gpu_temp)", "instant": true}))]
    });
    let mut asked = question(&dashboard);
    asked["variables"] = json!({"Filters": ["instance|=|b"]});
    let lines = panels(&place, asked, &["1"]).await;
    assert_eq!(lines[0]["frames"][0]["fields"][1]["values"], json!([30]), "{}", lines[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_that_cannot_be_added_are_said() {
    let place = Place::new();
    fill(&place);
    let dashboard = json!({
        "title": "T", "templating": {"list": [{"name": "Filters", "type": "adhoc", "datasource": {"type": "prometheus"}}]},
        "panels": [panel(1, "stat", "prometheus", json!({"expr": "sum(gpu_temp)"})),
                   panel(2, "stat", "prometheus", json!({"expr": "sum(gpu_temp"}))]
    });
    let mut asked = question(&dashboard);
    asked["variables"] = json!({"Filters": ["instance|=~|("]});
    let lines = panels(&place, asked, &["1", "2"]).await;
    let message = |line: &Value| line["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message(&lines[0]).contains("conditions cannot be added"), "{}", lines[0]);
    assert_eq!(lines[0]["frames"], json!([]));
    assert!(lines[1]["error"]["position"].is_number(), "{}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn intervals_may_be_named_in_intervals() {
    let place = Place::new();
    fill(&place);
    let query = |interval: &str| json!({"expr": "max_over_time(gpu_temp[$__rate_interval])", "interval": interval});
    let dashboard = json!({"title": "T", "panels": [
        panel(1, "timeseries", "prometheus", query("$__interval")),
        panel(2, "timeseries", "prometheus", query("$__rate_interval")),
        panel(3, "timeseries", "prometheus", query("30s")),
        panel(4, "timeseries", "loki", json!({"expr": "sum(count_over_time({service_name=\"shop\"}[$__auto]))", "step": "1m"})),
        panel(5, "stat", "loki", json!({"expr": "sum(count_over_time({service_name=\"shop\"}[$__auto]))", "queryType": "instant"})),
    ]});
    let lines = panels(&place, question(&dashboard), &["1", "2", "3", "4", "5"]).await;
    let asked = |at: usize| lines[at]["queries"][0]["query"].as_str().unwrap_or_default();
    let step = |at: usize| &lines[at]["frames"][0]["fields"][0]["config"]["interval"];
    assert_eq!((asked(0), step(0)), ("max_over_time(gpu_temp[1m])", &json!(15_000)));
    assert_eq!((asked(1), step(1)), ("max_over_time(gpu_temp[1m])", &json!(60_000)));
    assert_eq!((asked(2), step(2)), ("max_over_time(gpu_temp[2m])", &json!(30_000)));
    assert!(asked(3).ends_with("[1m]))"), "{}", lines[3]);
    assert!(asked(4).ends_with("[10m]))"), "{}", lines[4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_are_over_as_long_as_their_metrics_need() {
    let place = Place::new();
    fill(&place);
    let points: Vec<Value> = (0..10)
        .map(|n| {
            json!({"timeUnixNano": ((BEGIN_SECS + n * 60) * 1_000_000_000).to_string(), "asDouble": 1.0})
        })
        .collect();
    let slow = json!([{"metrics": [{"name": "slow", "gauge": {"dataPoints": points}}]}]);
    place.send_json(
        Signal::Metrics,
        &json!({"resourceMetrics": [{"resource": {"attributes": []}, "scopeMetrics": slow}]}),
    );
    let query = |expr: &str, interval: &str| json!({"expr": expr, "interval": interval});
    let dashboard = json!({"title": "T", "panels": [
        panel(1, "timeseries", "prometheus", query("max_over_time(slow[$__rate_interval])", "")),
        panel(2, "timeseries", "prometheus", query("max_over_time(gpu_temp[$__rate_interval])", "")),
        panel(3, "timeseries", "prometheus", query("max_over_time(slow[$__rate_interval])", "2m")),
        panel(4, "timeseries", "prometheus", query("max_over_time(none[$__rate_interval])", "")),
    ]});
    let lines = panels(&place, question(&dashboard), &["1", "2", "3", "4"]).await;
    let asked = |at: usize| lines[at]["queries"][0]["query"].as_str().unwrap_or_default();
    assert_eq!(asked(0), "max_over_time(slow[4m])", "it comes every minute");
    assert_eq!(asked(1), "max_over_time(gpu_temp[1m])");
    assert_eq!(asked(2), "max_over_time(slow[8m])", "who says more knows better");
    assert_eq!(asked(3), "max_over_time(none[1m])");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_sql_have_a_place_and_values_are_no_macros() {
    let place = Place::new();
    fill(&place);
    let dashboard = json!({"title": "T",
    "templating": {"list": [{"name": "service", "type": "textbox", "query": "x$__y"}]},
    "panels": [
        panel(1, "table", "postgres", json!({"rawSql": "SELECT name\nFROM spans WHERE ) = 1"})),
        panel(2, "table", "postgres",
            json!({"rawSql": "SELECT '$service' AS n FROM spans WHERE $__timeFilter(start_time) LIMIT 1"})),
    ]});
    let lines = panels(&place, question(&dashboard), &["1", "2"]).await;
    let error = &lines[0]["error"];
    assert_eq!((&error["position"], &error["place"]), (&json!(29), &json!([2, 18])), "{error}");
    assert_eq!(lines[1]["frames"][0]["fields"][0]["values"], json!(["x$__y"]), "{}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_of_spans_are_said_to_be_apart() {
    let place = Place::new();
    fill(&place);
    let buckets = json!({"queryType": "traceql", "query": "{ } | histogram_over_time(duration)", "step": "1m"});
    let counts = json!({"queryType": "traceql", "query": "{ } | count_over_time()", "step": "1m"});
    let dashboard = json!({"title": "T", "panels": [
        panel(1, "heatmap", "tempo", buckets), panel(2, "timeseries", "tempo", counts)]});
    let lines = panels(&place, question(&dashboard), &["1", "2"]).await;
    assert_eq!(lines[0]["frames"][0]["meta"]["type"], "heatmap-rows", "{}", lines[0]);
    assert!(lines[1]["frames"][0]["meta"]["type"].is_null(), "{}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_has_its_own_time_and_says_what_it_does_not_understand() {
    let place = Place::new();
    fill(&place);
    let stat = |id: i64, from: &str, shift: &str| {
        let mut panel =
            panel(id, "stat", "prometheus", json!({"expr": "vector(${__from}) + 0 * $__to"}));
        (panel["timeFrom"], panel["timeShift"]) = (json!(from), json!(shift));
        panel
    };
    let dashboard = json!({"title": "T", "panels": [stat(1, "now/d", ""), stat(2, "soon", "1x")]});
    let lines = panels(&place, question(&dashboard), &["1", "2"]).await;
    // The day of 2023-11-14, in which the data is.
    let asked = lines[0]["queries"][0]["query"].as_str().unwrap_or_default();
    assert!(asked.starts_with("vector(1699920000000)"), "{asked}");
    assert_eq!(lines[0]["notices"], json!([]));
    let notices = lines[1]["notices"].to_string();
    assert!(notices.contains("soon") && notices.contains("1x"), "{notices}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_say_which_data_source_they_are_about() {
    let place = Place::new();
    fill(&place);
    let dashboard = json!({"title": "T", "panels": [], "templating": {"list": [
        {"name": "source", "type": "datasource", "query": "loki"},
        {"name": "lines", "type": "adhoc", "datasource": {"type": "loki", "uid": "theirs"}},
        {"name": "any", "type": "adhoc"}]}});
    let (_, layout) = post(&place, "/api/dashboards/layout", &question(&dashboard)).await;
    let source = |at: usize| &layout["variables"][at]["datasource"];
    assert!(source(0).is_null());
    assert_eq!(source(1), &json!({"type": "loki", "uid": "kymo-loki"}));
    assert_eq!(source(2), &json!({"type": "prometheus", "uid": "kymo-prometheus"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_are_marks_over_the_panels() {
    let place = Place::new();
    fill(&place);
    let dashboard = json!({"title": "T", "panels": [], "annotations": {"list": [
        {"builtIn": 1, "name": "Annotations", "datasource": "-- Grafana --", "enable": true},
        {"name": "Hot", "datasource": {"type": "prometheus"}, "expr": "gpu_temp{instance=\"b\"}", "step": "60s",
         "iconColor": "red", "titleFormat": "{{instance}} is hot", "tagKeys": "gpu"},
        {"name": "Lines", "datasource": {"type": "loki"}, "target": {"expr": "{service_name=\"shop\"}"},
         "filter": {"exclude": false, "ids": [7]}},
        {"name": "Off", "enable": false, "datasource": {"type": "prometheus"}, "expr": "up"},
        {"name": "Broken", "datasource": {"type": "prometheus"}, "expr": "sum("}]}});
    let (_, answer) = post(&place, "/api/dashboards/annotations", &question(&dashboard)).await;
    let marks = answer["annotations"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let hot: Vec<&Value> = marks.iter().filter(|mark| mark["title"] == "b is hot").collect();
    assert_eq!(hot.len(), 1, "{answer}");
    assert_eq!((&hot[0]["color"], &hot[0]["tags"]), (&json!("red"), &json!(["0"])));
    assert!(hot[0]["timeEnd"].as_i64() > hot[0]["time"].as_i64(), "{answer}");
    assert_eq!(hot[0].get("panels"), None, "it is meant for all panels");
    let lines: Vec<&Value> = marks.iter().filter(|mark| mark["title"] == "Lines").collect();
    let texts: Vec<&Value> = lines.iter().map(|line| &line["text"]).collect();
    assert_eq!(texts, ["line 0", "line 1", "line 2", "line 3", "line 4"]);
    assert_eq!(lines[0]["panels"], json!({"exclude": false, "ids": [7]}));
    assert_eq!(answer["notices"].as_array().map(Vec::len), Some(1), "{answer}");
    assert!(answer["notices"][0].as_str().unwrap_or_default().contains("`Broken`"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_are_listed_by_the_layout_and_switched_by_name() {
    let place = Place::new();
    fill(&place);
    let lines = json!({"expr": "{service_name=\"shop\"}"});
    let dashboard = json!({"title": "T", "panels": [], "annotations": {"list": [
        {"builtIn": 1, "name": "Annotations", "datasource": "-- Grafana --", "enable": true, "hide": true},
        {"name": "On", "datasource": {"type": "loki"}, "target": lines, "iconColor": "red"},
        {"name": "Off", "enable": false, "hide": true, "datasource": {"type": "loki"}, "target": lines}]}});
    let (_, layout) = post(&place, "/api/dashboards/layout", &question(&dashboard)).await;
    let listed = json!([
        {"name": "On", "enable": true, "hide": false, "iconColor": "red"},
        {"name": "Off", "enable": false, "hide": true, "iconColor": null}]);
    assert_eq!(layout["annotations"], listed);

    for (switches, marked) in [
        (Value::Null, vec!["On"]),
        (json!({"Off": true}), vec!["Off", "On"]),
        (json!({"On": false, "Off": true, "None": true}), vec!["Off"]),
        (json!({"On": false}), vec![]),
    ] {
        let mut asked = question(&dashboard);
        if switches.is_object() {
            asked["annotations"] = switches.clone();
        }
        let (_, answer) = post(&place, "/api/dashboards/annotations", &asked).await;
        let marks = answer["annotations"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let titles: BTreeSet<&str> =
            marks.iter().filter_map(|mark| mark["title"].as_str()).collect();
        assert_eq!(Vec::from_iter(titles), marked, "{switches}");
        assert_eq!(answer["notices"], json!([]), "{switches}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_that_sql_does_not_heed_are_said() {
    let place = Place::new();
    fill(&place);
    let sql = json!({"rawSql": "SELECT name FROM spans", "format": "table"});
    let filter = json!({"name": "Filters", "type": "adhoc", "datasource": {"type": "postgres"}});
    let dashboard = json!({"title": "T", "templating": {"list": [filter]},
        "panels": [panel(1, "table", "postgres", sql),
                   panel(2, "stat", "prometheus", json!({"expr": "sum(gpu_temp)"}))]});
    let mut asked = question(&dashboard);
    let notices = |line: &Value| line["notices"].as_array().map(Vec::len);
    let lines = panels(&place, asked.clone(), &["1"]).await;
    assert_eq!(notices(&lines[0]), Some(0), "{}", lines[0]);
    asked["variables"] = json!({"Filters": ["name|=|work"]});
    let lines = panels(&place, asked, &["1", "2"]).await;
    assert!(lines[0]["notices"][0]["text"].as_str().unwrap().contains("SQL"), "{}", lines[0]);
    assert_eq!(lines[0]["frames"][0]["fields"][0]["values"].as_array().map(Vec::len), Some(4));
    assert_eq!(notices(&lines[1]), Some(0), "they are meant for SQL: {}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_said_to_be() {
    let place = Place::new();
    let large = "x".repeat(MAX_QUESTION_BYTES + 1);
    for path in ["", "/layout", "/query", "/annotations", "/adhoc"] {
        let path = format!("/api/dashboards{path}");
        let (status, answer) = send(&place, Method::POST, &path, &large).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{path}: {answer}");
    }
    // A file of dashboards may be larger than a question.
    let (status, answer) = send(&place, Method::POST, "/api/dashboards/report", &large).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    // One that is edited may be as large as one that is kept.
    let edited = |bytes: usize| json!({"title": "T", "panels": [], "x": "x".repeat(bytes)});
    for (bytes, expected) in [
        (MAX_DASHBOARD_BYTES / 2, StatusCode::OK),
        (MAX_DASHBOARD_BYTES, StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let mut asked = question(&edited(bytes));
        asked["panels"] = json!([]);
        for path in ["/layout", "/query", "/annotations"] {
            let path = format!("/api/dashboards{path}");
            assert_eq!(post(&place, &path, &asked).await.0, expected, "{path}: {bytes}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn weeks_and_fiscal_years_begin_as_the_dashboard_says() {
    let place = Place::new();
    let dashboard =
        json!({"title": "T", "panels": [], "weekStart": "sunday", "fiscalYearStartMonth": 3});
    for (from, month, weekday) in [("now/fy", Some(4), None), ("now/w", None, Some(Weekday::Sun))] {
        let asked = json!({"dashboard": dashboard, "from": from, "to": "now+1m"});
        let (_, layout) = post(&place, "/api/dashboards/layout", &asked).await;
        let from = DateTime::from_timestamp_millis(layout["from"].as_i64().unwrap()).unwrap();
        assert_eq!(month.unwrap_or(from.month()), from.month(), "{layout}");
        assert_eq!(weekday.unwrap_or(from.weekday()), from.weekday(), "{layout}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_another_panel_may_come_as_it_is_transformed_there() {
    let place = Place::new();
    fill(&place);
    let mut source = panel(
        1,
        "table",
        "prometheus",
        json!({"expr": "gpu_temp", "format": "table", "instant": true}),
    );
    source["transformations"] = json!([{"id": "limit", "options": {"limitField": 1}}]);
    let taking = |id: i64, with: bool| {
        json!({"id": id, "type": "table", "datasource": {"uid": "-- Dashboard --"},
               "targets": [{"refId": "A", "panelId": 1, "withTransforms": with}]})
    };
    let dashboard = json!({"title": "T", "panels": [source, taking(2, true), taking(3, false)]});
    let lines = panels(&place, question(&dashboard), &["1", "2", "3"]).await;
    let rows = |at: usize| lines[at]["frames"][0]["fields"][0]["values"].as_array().map(Vec::len);
    assert_eq!([rows(0), rows(1), rows(2)], [Some(1), Some(1), Some(3)], "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_another_panel_is_that_of_its_time() {
    let place = Place::new();
    fill(&place);
    let mut source = panel(1, "stat", "prometheus", json!({"expr": "vector(${__from})"}));
    source["timeFrom"] = json!("now/d");
    let taking = |id: i64, others: &[Value]| {
        let target = json!({"refId": "A", "panelId": 1, "withTransforms": true});
        let mut targets = vec![target];
        targets.extend_from_slice(others);
        json!({"id": id, "type": "stat", "datasource": {"uid": "-- Dashboard --"},
               "timeShift": "2h", "targets": targets})
    };
    let again = json!({"refId": "B", "panelId": 1});
    let dashboard = json!({"title": "T", "panels": [source, taking(2, &[]), taking(3, &[again])]});
    let lines = panels(&place, question(&dashboard), &["1", "2", "3"]).await;
    for line in &lines {
        let asked = line["queries"][0]["query"].as_str().unwrap_or_default();
        assert!(asked.starts_with("vector(1699920000000)"), "{asked}");
    }
    let notices = |at: usize| lines[at]["notices"].to_string();
    assert!(!notices(1).contains("not transformed"), "{}", notices(1));
    assert!(notices(2).contains("not transformed"), "{}", notices(2));
}
