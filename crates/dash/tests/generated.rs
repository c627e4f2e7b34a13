//! Dashboards that a generator makes, over all schema versions: each is understood without a panic, and
//! its JSON is kept. Then the same with random damage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;

use kymo_dash::interpolate::{Context, Held, Style};
use kymo_dash::layout::lay_out;
use kymo_dash::model::Choice;
use kymo_dash::report::{Status, report};
use kymo_dash::variables::{choose, order};
use serde_json::{Map, Value, json};

/// Random numbers that are the same for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    fn flag(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

fn source(random: &mut Random, version: i64) -> Value {
    match (version < 33, random.below(3)) {
        (true, 0) => Value::Null,
        (true, 1) => json!("$ds"),
        (true, _) => json!("Prometheus"),
        (false, 0) => json!({"type": "prometheus", "uid": "${ds}"}),
        (false, 1) => json!({"type": "prometheus", "uid": "abc"}),
        (false, _) => json!({"uid": "$ds"}),
    }
}

fn old_graph(random: &mut Random) -> Map<String, Value> {
    let panel = json!({
        "type": "graph", "lines": random.flag(), "bars": random.flag(), "points": random.flag(),
        "fill": random.below(11), "linewidth": random.below(5), "fillGradient": random.below(11),
        "stack": random.flag(), "percentage": random.flag(), "steppedLine": random.flag(),
        "nullPointMode": random.of(&["null", "connected", "null as zero"]),
        "legend": {"show": random.flag(), "values": random.flag(), "avg": random.flag(),
                   "current": random.flag(), "alignAsTable": random.flag(), "rightSide": random.flag()},
        "yaxes": [{"format": random.of(&["short", "bytes", "percent"]), "min": random.of(&[json!(0), json!("1"), Value::Null]),
                   "logBase": random.of(&[1, 2, 10]), "show": random.flag()}, {"format": "s"}],
        "xaxis": {"mode": random.of(&["time", "series", "histogram"]), "show": random.flag(), "values": ["total"]},
        "tooltip": {"shared": random.flag(), "sort": random.below(3)},
        "thresholds": [{"value": random.below(100), "op": random.of(&["gt", "lt"]), "colorMode": random.of(&["critical", "ok", "custom"])}],
        "seriesOverrides": [{"alias": random.of(&["a", "/b.*/"]), "yaxis": 2, "color": "#f00", "zindex": 3, "stack": random.of(&[json!(false), json!("B")])}],
        "aliasColors": {"x": "#123456"}
    });
    panel.as_object().cloned().unwrap()
}

fn panel(random: &mut Random, version: i64) -> Map<String, Value> {
    let old = version < 27;
    let mut panel = match random.below(8) {
        0 | 1 if old => old_graph(random),
        2 if old => json!({
            "type": "singlestat", "format": "percent", "valueName": random.of(&["avg", "current", "name", "odd"]),
            "thresholds": random.of(&["", "1,2", "x"]), "colors": ["a", "b", "c"], "gauge": {"show": random.flag()},
            "valueMaps": [{"value": "null", "text": "N/A"}], "mappingType": random.below(3),
            "rangeMaps": [{"from": "1", "to": "2", "text": "low"}]
        }).as_object().cloned().unwrap(),
        3 if old => json!({
            "type": random.of(&["table", "table-old"]), "transform": random.of(&["timeseries_to_rows", "table", "json"]),
            "styles": [{"pattern": "Time", "type": "date"}, {"pattern": "/.*/", "type": "number", "unit": "s", "colorMode": "cell"}]
        }).as_object().cloned().unwrap(),
        4 if old => json!({"type": "text", "mode": "markdown", "content": "hello $v"}).as_object().cloned().unwrap(),
        5 if old => json!({
            "type": "gauge", "options": {"fieldOptions": {"calcs": ["mean"], "defaults": {"unit": "s", "mappings": [{"type": 1, "value": "1", "text": "x"}]}}}
        }).as_object().cloned().unwrap(),
        _ => json!({
            "type": random.of(&["timeseries", "stat", "gauge", "bargauge", "table", "barchart", "piechart", "heatmap", "histogram", "state-timeline", "logs"]),
            "options": {"reduceOptions": {"calcs": ["lastNotNull"], "values": random.flag(), "fields": ""}},
            "fieldConfig": {"defaults": {"unit": "bytes", "custom": {"lineWidth": 1}}, "overrides": [
                {"matcher": {"id": "byName", "options": "a"}, "properties": [{"id": "unit", "value": "s"}]}]},
            "transformations": [{"id": random.of(&["organize", "reduce", "groupBy"]), "options": {}}]
        }).as_object().cloned().unwrap(),
    };
    panel.insert("title".to_owned(), json!("Panel $v"));
    panel.insert("datasource".to_owned(), source(random, version));
    panel.insert(
        "targets".to_owned(),
        json!([{
            "expr": "rate(x{a=~\"$v\"}[$__rate_interval])", "legendFormat": "{{a}}", "refId": "A",
            "format": random.of(&["time_series", "table"]), "instant": random.flag()
        }]),
    );
    if random.below(4) == 0 {
        panel.insert("repeat".to_owned(), json!("v"));
        panel.insert("repeatDirection".to_owned(), json!(random.of(&["h", "v"])));
    }
    panel
}

/// A dashboard of a schema version.
fn dashboard(seed: u64, version: i64) -> Value {
    let mut random = Random(seed | 1);
    let mut panels = Vec::new();
    for id in 0..2 + random.below(12) {
        let mut panel = panel(&mut random, version);
        panel.insert("id".to_owned(), json!(id + 1));
        let (x, y) = (random.below(24), random.below(40));
        panel.insert(
            "gridPos".to_owned(),
            json!({"x": x, "y": y, "w": 1 + random.below(24), "h": 1 + random.below(12)}),
        );
        panels.push(Value::Object(panel));
    }
    let variables = json!([
        {"name": "ds", "type": "datasource", "query": "prometheus"},
        {"name": "v", "type": random.of(&["query", "custom", "interval", "textbox", "constant"]),
         "query": random.of(&["a,b", "label_values(up, a)", "$w"]), "multi": random.flag(), "includeAll": random.flag(),
         "refresh": random.of(&[json!(1), json!(true), json!(2)]), "current": {"text": "All", "value": ["$__all"]}},
        {"name": "w", "type": "custom", "query": random.of(&["x", "$v", "1 : 2"])}
    ]);
    let mut made = json!({
        "title": format!("Generated {seed}"), "schemaVersion": version, "tags": ["a"],
        "templating": {"list": variables}, "time": {"from": "now-1h", "to": "now"}
    });
    if version < 16 {
        made["rows"] =
            json!([{"height": "250px", "panels": panels, "collapse": random.flag(), "title": "R"}]);
    } else if random.flag() {
        made["panels"] = json!([{"type": "row", "collapsed": true, "title": "Row $v", "panels": panels, "repeat": random.of(&[json!("v"), Value::Null])}]);
    } else {
        made["panels"] = Value::Array(panels);
    }
    made
}

/// Everything that is done with a dashboard without a store.
fn handle(json: &Value) -> Option<Vec<Status>> {
    let inspected = report(json).ok()?;
    let dashboard = &inspected.dashboard;
    let mut context = Context { interval_millis: 15_000, ..Context::default() };
    for place in order(&dashboard.variables).places {
        let variable = &dashboard.variables[place];
        let options = [Choice::plain("a"), Choice::plain("b.c")];
        let held: Held = choose(variable, &options, None).held;
        context.variables.insert(variable.name.clone(), held);
    }
    let laid_out = lay_out(dashboard, &context.variables);
    for section in &laid_out.sections {
        for placed in &section.panels {
            assert!(placed.grid.x >= 0 && placed.grid.x + placed.grid.w <= 24, "{:?}", placed.grid);
            for target in &placed.panel.targets {
                for value in target.query.values().filter_map(Value::as_str) {
                    context.fill(value, Style::Promql);
                }
            }
        }
    }
    // What came out is itself a dashboard, and one that needs no further change.
    let again = report(&Value::Object(inspected.migrated.json.clone())).unwrap();
    assert_eq!(again.migrated.json, inspected.migrated.json, "it is not settled");
    Some(inspected.report.panels.iter().map(|panel| panel.status).collect())
}

#[test]
fn generated_dashboards_of_every_schema_are_understood_and_kept() {
    let mut seen: BTreeMap<Status, usize> = BTreeMap::new();
    for version in 14..=42 {
        for seed in 0..12_u64 {
            let made =
                dashboard(seed * 7_919 + u64::try_from(version).unwrap() * 104_729 + 1, version);
            let before = made.clone();
            let statuses = handle(&made).unwrap_or_else(|| panic!("schema {version}, seed {seed}"));
            assert_eq!(made, before, "the original is not touched");
            assert!(
                !statuses.contains(&Status::Unsupported),
                "schema {version}, seed {seed}: {made}"
            );
            for status in statuses {
                *seen.entry(status).or_default() += 1;
            }
        }
    }
    assert!(seen[&Status::Full] > 500, "{seen:?}");
}

/// Replaces a value somewhere.
fn damage(value: &mut Value, random: &mut Random) {
    match value {
        Value::Array(values) if !values.is_empty() && random.below(5) > 0 => {
            let place = random.below(values.len());
            damage(&mut values[place], random);
        }
        Value::Object(of) if !of.is_empty() && random.below(5) > 0 => {
            let place = random.below(of.len());
            let key = of.keys().nth(place).cloned().unwrap();
            if random.below(12) == 0 {
                of.remove(&key);
            } else {
                damage(of.get_mut(&key).unwrap(), random);
            }
        }
        other => *other = odd(random),
    }
}

/// A value that nobody expects.
fn odd(random: &mut Random) -> Value {
    random.of(&[
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e308),
        json!(9_007_199_254_740_993_i64),
        json!(""),
        json!("$v${v:regex}[[v]]${"),
        json!("ä\u{0}\u{1F600}"),
        json!([]),
        json!({}),
        json!([null, 1, "x", {"id": "a"}]),
        json!({"value": [], "text": {}, "uid": 5}),
    ])
}

#[test]
fn damaged_dashboards_never_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..3_000_u64 {
        let version = i64::try_from(14 + round % 29).unwrap();
        let mut made = dashboard(round * 31 + 7, version);
        for _ in 0..1 + random.below(6) {
            damage(&mut made, &mut random);
        }
        handle(&made);
    }
}
