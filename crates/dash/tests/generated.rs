//! Dashboards that a generator makes, over all schema versions: each is understood without a panic, and
//! its JSON is kept. Then the same with random damage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;

use kymo_dash::interpolate::{Context, Held, Style};
use kymo_dash::layout::lay_out;
use kymo_dash::model::{Choice, GridPos};
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
         "refresh": random.of(&[json!(0), json!(1), json!(true), json!(2)]), "current": {"text": "All", "value": ["$__all"]}},
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
    let places = dashboard.sections.iter().filter_map(|section| Some(section.row.as_ref()?.grid.y));
    assert!(places.is_sorted(), "rows are from top to bottom");
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

/// Panels with their places, by the row that they are below.
type Rows = Vec<(Option<i64>, Vec<(i64, GridPos)>)>;

/// Which panels are below which row, and where all of them go.
fn rows_of(panels: &[Value]) -> Rows {
    let inspected = report(&json!({"schemaVersion": 41, "panels": panels})).unwrap();
    let laid_out = lay_out(&inspected.dashboard, &BTreeMap::new());
    let shape = laid_out.sections.iter().map(|section| {
        let panels = section.panels.iter().map(|placed| (placed.panel.id, placed.grid));
        (section.row.as_ref().map(|placed| placed.row.id), panels.collect())
    });
    shape.collect()
}

#[test]
fn panels_are_below_the_row_above_them_in_whatever_order_a_file_has_them() {
    for seed in 1..200_u64 {
        let mut random = Random(seed * 7_919);
        let (mut panels, mut expected) = (Vec::new(), Vec::new());
        let mut y = 0;
        for row in 0..1 + random.below(4) {
            let id = i64::try_from(100 * (row + 1)).unwrap();
            panels.push(
                json!({"id": id, "type": "row", "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}}),
            );
            y += 1;
            let mut below = Vec::new();
            for place in 0..random.below(6) {
                let id = id + i64::try_from(place).unwrap() + 1;
                let x = 8 * i64::try_from(place % 3).unwrap();
                let grid = GridPos { x, y: y + 4 * i64::try_from(place / 3).unwrap(), w: 8, h: 4 };
                panels.push(json!({"id": id, "type": "stat", "gridPos": grid}));
                below.push((id, grid));
            }
            y = below.last().map_or(y, |(_, grid)| grid.y + grid.h);
            expected.push((Some(id), below));
        }
        for at in (1..panels.len()).rev() {
            panels.swap(at, random.below(at + 1));
        }
        assert_eq!(rows_of(&panels), expected, "seed {seed}: {panels:?}");
    }
}

#[test]
fn no_value_ends_the_quotes_that_it_stands_in() {
    let parts = ["\"", "'", "`", "\\", "} or vector(1) #", "\n", "$w", "a.b", "|", "\\\"", ""];
    for seed in 1..3_000_u64 {
        let mut random = Random(seed * 104_729);
        let value: String = (0..random.below(5)).map(|_| random.of(&parts)).collect();
        let mut context = Context::default();
        let (is_list, other) = (random.flag(), random.of(&parts));
        let values = [Choice::plain(value.clone()), Choice::plain(other)];
        let values = values.into_iter().take(1 + random.below(2)).collect();
        context.variables.insert("v".to_owned(), Held { values, is_list, ..Held::default() });
        let quote = random.of(&["\"", "'", "`"]);
        let text = format!("sum(a{{b={quote}$v{quote}, c={quote}x{quote}}})");
        let query = context.fill(&text, Style::Promql);
        let parsed = kymo_promql::parser::parse(&query);
        let parsed = parsed.unwrap_or_else(|why| panic!("seed {seed}: {query}: {why}"));
        let printed = parsed.to_string();
        assert!(printed.starts_with("sum(a{b=") && printed.ends_with(r#",c="x"})"#), "{printed}");
        if !is_list && quote != "`" && context.held("v").is_some_and(|held| held.values.len() == 1)
        {
            let expected = kymo_pattern::names::quoted(&value);
            assert_eq!(printed, format!("sum(a{{b={expected},c=\"x\"}})"), "seed {seed}: {query}");
        }
        if quote != "'" {
            let text = format!("{{a={quote}y{quote}, b={quote}$v{quote}}} |= {quote}x{quote}");
            let query = context.fill(&text, Style::Logql);
            let parsed = kymo_logql::parser::parse(&query);
            let parsed = parsed.unwrap_or_else(|why| panic!("seed {seed}: {query}: {why}"));
            let printed = parsed.to_string();
            assert!(printed.ends_with(r#"} |= "x""#), "seed {seed}: {query}: {printed}");
        }
    }
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
