//! Old panels and what becomes of them.

use serde_json::{Value, json};

use super::*;

fn migrated(panel: Value) -> (Value, Vec<String>) {
    let done = migrate(&json!({"title": "T", "panels": [panel]})).unwrap();
    let notes = done.notes.values().flatten().filter(|note| note.is_loss);
    let losses = notes.map(|note| note.text.clone()).collect();
    (done.json["panels"][0].clone(), losses)
}

#[test]
fn an_old_graph_becomes_a_time_series() {
    let (panel, losses) = migrated(json!({
        "id": 1, "type": "graph", "lines": true, "linewidth": 2, "fill": 1, "fillGradient": 0,
        "points": false, "pointradius": 2, "bars": false, "stack": true, "percentage": true,
        "steppedLine": true, "nullPointMode": "connected", "dashes": true, "dashLength": 4,
        "spaceLength": 6, "aliasColors": {"a": "#fff"},
        "legend": {"show": true, "values": true, "avg": true, "current": true, "max": true,
                   "alignAsTable": true, "rightSide": true, "sideWidth": 200, "sort": "avg",
                   "sortDesc": true},
        "tooltip": {"shared": false, "sort": 2},
        "yaxes": [{"format": "celsius", "min": "0", "max": 100, "label": "T", "logBase": 2,
                   "decimals": 1, "show": true}, {"format": "short", "show": true}],
        "xaxis": {"mode": "time", "show": false},
        "thresholds": [{"value": 80, "op": "gt", "colorMode": "critical", "fill": true, "line": false}],
        "seriesOverrides": [{"alias": "/tx/", "transform": "negative-Y", "yaxis": 2, "fill": 0}]
    }));
    assert_eq!(losses, Vec::<String>::new());
    assert_eq!(panel["type"], "timeseries");
    let defaults = &panel["fieldConfig"]["defaults"];
    assert_eq!(
        (&defaults["unit"], &defaults["min"], &defaults["max"], &defaults["decimals"]),
        (&json!("celsius"), &json!(0), &json!(100), &json!(1))
    );
    let custom = &defaults["custom"];
    for (key, value) in [
        ("drawStyle", json!("line")),
        ("lineWidth", json!(2)),
        ("fillOpacity", json!(10)),
        ("lineInterpolation", json!("stepAfter")),
        ("spanNulls", json!(true)),
        ("showPoints", json!("never")),
        ("stacking", json!({"mode": "percent", "group": "A"})),
        ("lineStyle", json!({"fill": "dash", "dash": [4, 6]})),
        ("axisLabel", json!("T")),
        ("scaleDistribution", json!({"type": "log", "log": 2})),
        ("thresholdsStyle", json!({"mode": "area"})),
    ] {
        assert_eq!(custom[key], value, "{key}");
    }
    assert_eq!(defaults["thresholds"]["steps"][1], json!({"value": 80, "color": "red"}));
    assert_eq!(
        panel["options"]["legend"],
        json!({"showLegend": true, "displayMode": "table", "placement": "right",
               "calcs": ["max", "mean", "lastNotNull"], "width": 200, "sortBy": "Mean",
               "sortDesc": true})
    );
    assert_eq!(panel["options"]["tooltip"], json!({"mode": "single", "sort": "desc"}));
    let overrides = panel["fieldConfig"]["overrides"].as_array().unwrap();
    assert_eq!(overrides[0]["matcher"], json!({"id": "byType", "options": "time"}));
    assert_eq!(overrides[1]["properties"][0]["value"]["fixedColor"], "#fff");
    assert_eq!(overrides[2]["matcher"], json!({"id": "byRegexp", "options": "/tx/"}));
    let mut ids: Vec<&str> = overrides[2]["properties"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|property| property["id"].as_str())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["custom.axisPlacement", "custom.fillOpacity", "custom.transform", "unit"]);
    assert!(panel.get("yaxes").is_none());
}

#[test]
fn a_graph_over_series_or_values_becomes_bars_or_a_histogram() {
    let kind = |mode: &str| {
        let axis = json!({"mode": mode, "values": ["avg"], "buckets": 20});
        migrated(json!({"type": "graph", "xaxis": axis})).0
    };
    assert_eq!(kind("series")["options"]["reduceOptions"]["calcs"], json!(["mean"]));
    assert_eq!(
        (&kind("histogram")["type"], &kind("histogram")["options"]["bucketCount"]),
        (&json!("histogram"), &json!(20))
    );
    assert_eq!(
        migrated(json!({"type": "graph", "bars": true, "lines": false})).0["fieldConfig"]["defaults"]
            ["custom"]["drawStyle"],
        "bars"
    );
}

#[test]
fn a_single_value_becomes_a_stat_or_a_gauge() {
    let old = json!({
        "type": "singlestat", "format": "percent", "valueName": "current", "decimals": 1,
        "thresholds": "50, 80", "colors": ["green", "orange", "red"], "colorBackground": true,
        "sparkline": {"show": true}, "nullText": "none", "tableColumn": "a.b", "mappingType": 1,
        "valueMaps": [{"op": "=", "value": "null", "text": "N/A"}, {"value": "1", "text": "up"}]
    });
    let (panel, losses) = migrated(old.clone());
    assert_eq!((panel["type"].as_str(), losses.len()), (Some("stat"), 0));
    let defaults = &panel["fieldConfig"]["defaults"];
    assert_eq!(defaults["noValue"], "none");
    assert_eq!(
        defaults["thresholds"]["steps"],
        json!([{"value": null, "color": "green"}, {"value": 50, "color": "orange"}, {"value": 80, "color": "red"}])
    );
    assert_eq!(
        defaults["mappings"],
        json!([{"type": "value", "options": {"1": {"text": "up", "index": 1}}},
               {"type": "special", "options": {"match": "null", "result": {"text": "N/A", "index": 0}}}])
    );
    let options = &panel["options"];
    assert_eq!(
        (&options["colorMode"], &options["graphMode"]),
        (&json!("background"), &json!("area"))
    );
    assert_eq!(
        options["reduceOptions"],
        json!({"calcs": ["lastNotNull"], "fields": r"/^a\.b$/", "values": false})
    );

    let mut gauge = old;
    gauge["gauge"] =
        json!({"show": true, "minValue": 0, "maxValue": 100, "thresholdMarkers": true});
    let (panel, _) = migrated(gauge);
    assert_eq!(
        (&panel["type"], &panel["fieldConfig"]["defaults"]["max"]),
        (&json!("gauge"), &json!(100))
    );
    assert_eq!(panel["options"]["showThresholdMarkers"], true);
}

#[test]
fn thresholds_and_mappings_of_overrides_are_brought_up_to_date_as_those_of_all_fields() {
    let thresholds = json!({"steps": [{"color": "green", "value": 0}]});
    let mappings = json!([{"type": 1, "value": "0", "text": "none"}]);
    let (panel, _) = migrated(json!({"type": "stat", "fieldConfig": {
        "defaults": {"thresholds": thresholds, "mappings": mappings},
        "overrides": [{"matcher": {"id": "byName", "options": "a"}, "properties": [
            {"id": "thresholds", "value": thresholds}, {"id": "mappings", "value": mappings},
        ]}]
    }}));
    let config = &panel["fieldConfig"];
    let properties = &config["overrides"][0]["properties"];
    let steps = json!([{"color": "green", "value": null}]);
    assert_eq!(config["defaults"]["thresholds"]["steps"], steps);
    assert_eq!(properties[0]["value"], config["defaults"]["thresholds"]);
    assert_eq!(config["defaults"]["mappings"][0]["type"], "value");
    assert_eq!(properties[1]["value"], config["defaults"]["mappings"]);
}

#[test]
fn options_of_old_gauges_become_options_of_fields() {
    let (panel, _) = migrated(json!({
        "type": "gauge",
        "options": {"showThresholdMarkers": true, "fieldOptions": {
            "calcs": ["mean"], "values": false, "overrides": [],
            "defaults": {"unit": "celsius", "min": 0, "nullValueMode": "connected", "title": "T",
                         "thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": 0}, {"color": "red", "value": 87}]},
                         "mappings": [{"id": 1, "type": 2, "from": "0", "to": "5", "text": "low"}]}}}
    }));
    let defaults = &panel["fieldConfig"]["defaults"];
    assert_eq!((&defaults["unit"], &defaults["displayName"]), (&json!("celsius"), &json!("T")));
    assert!(defaults.get("nullValueMode").is_none());
    assert_eq!(defaults["thresholds"]["steps"][0], json!({"value": null, "color": "green"}));
    assert_eq!(
        defaults["mappings"],
        json!([{"type": "range", "options": {"from": 0, "to": 5, "result": {"text": "low", "index": 0}}}])
    );
    assert_eq!(
        panel["options"]["reduceOptions"],
        json!({"calcs": ["mean"], "values": false, "fields": ""})
    );
    assert!(panel["options"].get("fieldOptions").is_none());

    let (first, _) = migrated(json!({
        "type": "gauge",
        "options": {"valueOptions": {"stat": "avg", "unit": "percent"}, "minValue": 0, "maxValue": 9,
                    "thresholds": [{"index": 1, "value": 5, "color": "red"}, {"index": 0, "value": null, "color": "green"}]}
    }));
    let defaults = &first["fieldConfig"]["defaults"];
    assert_eq!((&defaults["unit"], &defaults["max"]), (&json!("percent"), &json!(9)));
    assert_eq!(defaults["thresholds"]["steps"][1], json!({"value": 5, "color": "red"}));
}

#[test]
fn an_old_table_has_its_styles_as_overrides() {
    let (panel, losses) = migrated(json!({
        "type": "table", "transform": "timeseries_aggregations", "columns": [{"value": "avg"}, {"value": "max"}],
        "styles": [
            {"pattern": "Time", "type": "date", "dateFormat": "YYYY", "alias": "When"},
            {"pattern": "/.*/", "type": "number", "unit": "bytes", "decimals": 2},
            {"pattern": "/host/", "type": "hidden"},
            {"pattern": "load", "type": "number", "colorMode": "cell", "colors": ["a", "b"], "thresholds": ["5"],
             "link": true, "linkUrl": "/d/x?v=$__cell"}]
    }));
    assert_eq!((panel["type"].as_str(), losses.len()), (Some("table"), 0));
    assert_eq!(panel["transformations"][0]["options"]["reducers"], json!(["mean", "max"]));
    assert_eq!(panel["fieldConfig"]["defaults"]["unit"], "bytes");
    let overrides = panel["fieldConfig"]["overrides"].as_array().unwrap();
    assert_eq!(overrides[0]["properties"][1], json!({"id": "unit", "value": "time:YYYY"}));
    assert_eq!(overrides[1]["matcher"]["id"], "byRegexp");
    let thresholds = &overrides[2]["properties"][1]["value"]["steps"];
    assert_eq!(thresholds, &json!([{"value": null, "color": "a"}, {"value": 5, "color": "b"}]));
    assert_eq!(overrides[2]["properties"][2]["value"][0]["url"], "/d/x?v=${__value.text}");
    assert_eq!(migrated(json!({"type": "table-old", "styles": []})).0["type"], "table");
    let modern = json!({"id": 1, "type": "table", "options": {"showHeader": true}});
    assert_eq!(migrated(modern.clone()).0, modern);
}

#[test]
fn an_old_heat_map_text_and_pie_are_brought_up_to_date() {
    let (heat, _) = migrated(json!({
        "type": "heatmap", "dataFormat": "tsbuckets", "yBucketBound": "upper", "hideZeroBuckets": true,
        "color": {"mode": "spectrum", "colorScheme": "interpolateSpectral", "exponent": 0.5},
        "yAxis": {"format": "s", "show": true}, "cards": {"cardPadding": 2}
    }));
    let options = &heat["options"];
    assert_eq!(
        (&options["calculate"], &options["color"]["scheme"]),
        (&json!(false), &json!("Spectral"))
    );
    assert_eq!(
        (&options["yAxis"]["unit"], &options["rowsFrame"]["layout"]),
        (&json!("s"), &json!("le"))
    );
    assert_eq!((&options["cellGap"], &options["filterValues"]), (&json!(2), &json!({"le": 1e-9})));
    let (text, _) = migrated(json!({"type": "text", "mode": "html", "content": "<b>x</b>"}));
    assert_eq!(text["options"], json!({"content": "<b>x</b>", "mode": "html"}));
    let (pie, _) = migrated(json!({
        "type": "grafana-piechart-panel", "pieType": "donut", "valueName": "total",
        "legend": {"show": true, "values": true}, "legendType": "Right side"
    }));
    assert_eq!((&pie["type"], &pie["options"]["pieType"]), (&json!("piechart"), &json!("donut")));
    assert_eq!(pie["options"]["reduceOptions"]["calcs"], json!(["sum"]));
}

#[test]
fn rows_with_spans_are_put_onto_the_grid() {
    let done = migrate(&json!({"title": "T", "schemaVersion": 14, "rows": [
        {"height": "250px", "panels": [{"id": 1, "type": "graph", "span": 6}, {"id": 2, "type": "graph", "span": 6}, {"id": 3, "type": "graph", "span": 4}]},
        {"title": "More", "showTitle": true, "collapse": true, "height": 76, "panels": [{"id": 4, "type": "text", "span": 12}]}
    ]})).unwrap();
    let panels = done.json["panels"].as_array().unwrap();
    let places: Vec<(&Value, &Value)> =
        panels.iter().map(|p| (&p["type"], &p["gridPos"])).collect();
    assert_eq!(places[0].0, "row");
    assert_eq!(places[1].1, &json!({"x": 0, "y": 1, "w": 12, "h": 7}));
    assert_eq!(places[2].1, &json!({"x": 12, "y": 1, "w": 12, "h": 7}));
    assert_eq!(places[3].1, &json!({"x": 0, "y": 8, "w": 8, "h": 7}));
    assert_eq!(panels[4]["panels"][0]["gridPos"], json!({"x": 0, "y": 16, "w": 24, "h": 3}));
    assert!(done.general.0.iter().any(|note| note.text.contains("older than 16")));
    assert!(done.json.get("rows").is_none());
}

#[test]
fn inputs_and_library_panels_are_filled_in() {
    let done = migrate(&json!({
        "__inputs": [{"name": "DS_PROM", "type": "datasource", "pluginId": "prometheus"},
                     {"name": "VAR_JOB", "type": "constant", "value": "node"}],
        "__elements": {"lib-1": {"model": {"type": "stat", "title": "L", "targets": [{"expr": "${VAR_JOB}"}]}}},
        "title": "T",
        "panels": [
            {"id": 1, "type": "stat", "datasource": {"type": "prometheus", "uid": "${DS_PROM}"}},
            {"id": 2, "gridPos": {"x": 1, "y": 2, "w": 3, "h": 4}, "libraryPanel": {"uid": "lib-1", "name": "L"}},
            {"id": 3, "gridPos": {"x": 0, "y": 6}, "libraryPanel": {"uid": "gone", "name": "G"}}]
    })).unwrap();
    let panels = &done.json["panels"];
    assert_eq!(panels[0]["datasource"]["uid"], "kymo-prometheus");
    assert_eq!(
        (&panels[1]["type"], &panels[1]["targets"][0]["expr"]),
        (&json!("stat"), &json!("node"))
    );
    assert_eq!(panels[1]["gridPos"]["w"], 3);
    assert_eq!(panels[2]["type"], "library-panel");
    assert!(done.general.0.iter().any(|note| note.is_loss && note.text.contains("`G`")));
}

#[test]
fn inputs_are_put_in_once_and_are_not_looked_into() {
    let inputs: Vec<Value> = (0..40)
        .map(|nth| {
            let value = format!("${{I{}}}", nth + 1).repeat(10);
            json!({"name": format!("I{nth}"), "type": "constant", "value": value})
        })
        .collect();
    let done = migrate(&json!({"title": "${I0} ${other} ${I39", "__inputs": inputs})).unwrap();
    let expected = format!("{} ${{other}} ${{I39", "${I1}".repeat(10));
    assert_eq!(done.json["title"], json!(expected));
}

#[test]
fn a_small_file_makes_no_large_dashboard() {
    let long = "x".repeat(100_000);
    let inputs = json!([{"name": "I", "type": "constant", "value": long}]);
    let of = json!({"title": "${I}".repeat(100), "__inputs": inputs});
    assert_eq!(migrate(&of).unwrap_err(), NotADashboard::TooMuchPutIn);
    let panels = vec![json!({"libraryPanel": {"uid": "l", "name": "L"}}); 100];
    let elements = json!({"l": {"model": {"type": "text", "options": {"content": long}}}});
    let of = json!({"title": "T", "panels": panels, "__elements": elements});
    assert_eq!(migrate(&of).unwrap_err(), NotADashboard::TooMuchPutIn);
}

#[test]
fn queries_of_variables_were_asked_whatever_they_say_before_version_29() {
    let variable = |version: i64, refresh: Value| {
        let variable = json!({"name": "v", "type": "query", "query": "label_values(a)",
            "refresh": refresh, "options": [{"text": "old", "value": "old"}]});
        let of =
            json!({"schemaVersion": version, "panels": [], "templating": {"list": [variable]}});
        let made = migrate(&of).unwrap().json["templating"]["list"][0].clone();
        (made["refresh"].clone(), made.get("options").is_some())
    };
    assert_eq!(variable(28, json!(0)), (json!(1), false));
    assert_eq!(variable(28, json!(true)), (json!(1), false));
    assert_eq!(variable(28, json!(2)), (json!(2), false));
    assert_eq!(variable(29, json!(0)), (json!(0), true));
}

#[test]
fn constants_that_were_shown_before_version_27_are_typed() {
    let kind = |version: i64, hide: i64| {
        let variable = json!({"name": "v", "type": "constant", "query": "a", "hide": hide});
        let of =
            json!({"schemaVersion": version, "panels": [], "templating": {"list": [variable]}});
        let made = migrate(&of).unwrap().json["templating"]["list"][0].clone();
        (made["type"].clone(), made["current"]["value"].clone())
    };
    assert_eq!(kind(26, 0), (json!("textbox"), json!("a")));
    assert_eq!(kind(26, 1), (json!("textbox"), json!("a")));
    assert_eq!(kind(26, 2), (json!("constant"), Value::Null));
    assert_eq!(kind(27, 0), (json!("constant"), Value::Null));
}

#[test]
fn links_of_panels_that_name_a_dashboard_become_addresses() {
    let link = |link: Value| {
        let (panel, losses) = migrated(json!({"id": 1, "type": "stat", "links": [link]}));
        (panel["links"][0].clone(), losses.len())
    };
    let old = json!({"type": "absolute", "title": "L", "url": "/d/x?a=1", "keepTime": true,
        "includeVars": true, "params": "b=2", "targetBlank": true});
    let url = "/d/x?a=1&${__url_time_range}&${__all_variables}&b=2";
    assert_eq!(link(old), (json!({"title": "L", "url": url, "targetBlank": true}), 0));
    let named =
        json!({"type": "dashboard", "dashboard": "My  Board!", "dashUri": "db/x", "title": "L"});
    assert_eq!(link(named), (json!({"title": "L", "url": "/dashboard/db/my-board"}), 1));
    let named = json!({"dashUri": "db/x", "keepTime": true});
    assert_eq!(link(named), (json!({"url": "/dashboard/db/x?${__url_time_range}"}), 1));
    let today = json!({"title": "L", "url": "/d/x", "targetBlank": false});
    assert_eq!(link(today.clone()), (today, 0));
}

#[test]
fn reducers_of_trends_and_tooltips_are_where_they_are_today() {
    let step = json!({"id": "timeSeriesTable", "options": {"refIdToStat": {"A": "mean"}, "B": {"timeField": "t"}}});
    let (panel, _) = migrated(json!({"id": 1, "type": "timeseries", "transformations": [step],
        "options": {"tooltipOptions": {"mode": "multi"}}}));
    assert_eq!(
        panel["transformations"][0]["options"],
        json!({"A": {"stat": "mean"}, "B": {"timeField": "t"}})
    );
    assert_eq!(panel["options"], json!({"tooltip": {"mode": "multi"}}));
}

#[test]
fn what_an_old_page_left_in_series_overrides_is_no_loss() {
    let series = json!({"$$hashKey": "object:64", "alias": "a", "color": "#fff"});
    assert!(migrated(json!({"type": "graph", "seriesOverrides": [series]})).1.is_empty());
}

#[test]
fn labels_were_merged_before_version_31() {
    let steps = |version: i64| -> Vec<Value> {
        let list =
            json!([{"id": "labelsToFields", "options": {"valueLabel": "a"}}, {"id": "limit"}]);
        let panel = json!({"id": 1, "type": "table", "options": {}, "transformations": list});
        let of = json!({"schemaVersion": version, "panels": [{"type": "row", "panels": [panel]}]});
        let done = migrate(&of).unwrap();
        let steps = done.json["panels"][0]["panels"][0]["transformations"].as_array().unwrap();
        steps.iter().map(|step| step["id"].clone()).collect()
    };
    assert_eq!(steps(30), ["labelsToFields", "merge", "limit"]);
    assert_eq!(steps(31), ["labelsToFields", "limit"]);
}

#[test]
fn copies_that_were_saved_are_dropped_if_their_panel_is_there() {
    let done = migrate(&json!({"panels": [
        {"id": 1, "type": "stat", "repeat": "v", "minSpan": 8},
        {"id": 2, "type": "stat", "repeatPanelId": 1},
        {"id": 3, "type": "stat", "repeatPanelId": 77},
        {"id": 4, "type": "row", "panels": [{"id": 5, "type": "stat", "repeatPanelId": 1}]}
    ]}))
    .unwrap();
    let panels = done.json["panels"].as_array().unwrap();
    let ids: Vec<&Value> = panels.iter().map(|panel| &panel["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(3), &json!(4)]);
    assert_eq!(panels[2]["panels"], json!([]));
    assert_eq!((&panels[0]["maxPerRow"], panels[0].get("minSpan")), (&json!(3), None));
    assert!(done.general.0.iter().any(|note| note.text.contains("made anew")));
}

#[test]
fn every_panel_has_an_id_of_its_own() {
    let done = migrate(&json!({"panels": [
        {"id": 3, "type": "stat"}, {"id": 3, "type": "stat"}, {"type": "row", "panels": [{"id": 3}, {"id": 7}]}
    ]})).unwrap();
    let panels = &done.json["panels"];
    let ids = [
        &panels[0]["id"],
        &panels[1]["id"],
        &panels[2]["id"],
        &panels[2]["panels"][0]["id"],
        &panels[2]["panels"][1]["id"],
    ];
    assert_eq!(ids, [&json!(3), &json!(8), &json!(9), &json!(10), &json!(7)]);
}

#[test]
fn the_second_schema_is_converted() {
    let done = migrate(&json!({
        "apiVersion": "dashboard.grafana.app/v2beta1", "kind": "Dashboard",
        "metadata": {"name": "abc"},
        "spec": {
            "title": "V2", "cursorSync": "Crosshair", "tags": ["x"],
            "timeSettings": {"from": "now-1h", "to": "now", "autoRefresh": "5s"},
            "variables": [{"kind": "QueryVariable", "spec": {"name": "job", "refresh": "onTimeRangeChanged",
                "sort": "alphabeticalAsc", "multi": true, "current": {"text": "a", "value": "a"},
                "query": {"kind": "DataQuery", "group": "prometheus", "spec": {"query": "label_values(job)"}}}}],
            "elements": {"p1": {"kind": "Panel", "spec": {"id": 4, "title": "P",
                "data": {"kind": "QueryGroup", "spec": {
                    "queries": [{"kind": "PanelQuery", "spec": {"refId": "A", "hidden": false,
                        "query": {"kind": "DataQuery", "group": "prometheus", "datasource": {"name": "ds"}, "spec": {"expr": "up"}}}}],
                    "transformations": [{"kind": "limit", "spec": {"id": "limit", "options": {"limitField": 3}}}],
                    "queryOptions": {"maxDataPoints": 100}}},
                "vizConfig": {"kind": "VizConfig", "group": "timeseries", "spec": {"options": {"a": 1}, "fieldConfig": {"defaults": {"unit": "s"}}}}}}},
            "layout": {"kind": "RowsLayout", "spec": {"rows": [{"kind": "RowsLayoutRow", "spec": {"title": "R", "collapse": true,
                "layout": {"kind": "GridLayout", "spec": {"items": [{"kind": "GridLayoutItem",
                    "spec": {"x": 2, "y": 0, "width": 6, "height": 5, "element": {"kind": "ElementReference", "name": "p1"}}}]}}}}]}}
        }
    })).unwrap();
    assert_eq!((&done.json["graphTooltip"], &done.json["refresh"]), (&json!(1), &json!("5s")));
    let row = &done.json["panels"][0];
    assert_eq!(
        (&row["type"], &row["title"], &row["collapsed"]),
        (&json!("row"), &json!("R"), &json!(true))
    );
    let panel = &row["panels"][0];
    assert_eq!(
        (&panel["type"], &panel["id"], &panel["gridPos"]["w"]),
        (&json!("timeseries"), &json!(4), &json!(6))
    );
    assert_eq!(panel["targets"][0]["datasource"], json!({"type": "prometheus", "uid": "ds"}));
    assert_eq!(
        (&panel["targets"][0]["expr"], &panel["maxDataPoints"]),
        (&json!("up"), &json!(100))
    );
    assert_eq!(panel["transformations"][0]["id"], "limit");
    let variable = &done.json["templating"]["list"][0];
    assert_eq!(
        (&variable["type"], &variable["refresh"], &variable["sort"]),
        (&json!("query"), &json!(2), &json!(1))
    );
    assert_eq!(variable["query"]["query"], "label_values(job)");
}

#[test]
fn what_is_no_dashboard_is_refused_in_words() {
    for (json, part) in [
        (json!([]), "a list"),
        (json!(5), "a single value"),
        (json!({"a": 1}), "neither"),
        (json!({"panels": vec![json!({"type": "stat"}); 3_000]}), "at most 2000 panels"),
    ] {
        let error = migrate(&json).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    assert_eq!(migrate(&json!({"panels": [], "x": deep})).unwrap_err(), NotADashboard::TooDeep);
}

#[test]
fn answers_of_grafanas_api_are_unwrapped() {
    let done = migrate(&json!({"meta": {"slug": "x"}, "dashboard": {"title": "In", "panels": []}}))
        .unwrap();
    assert_eq!(done.json["title"], "In");
}

#[test]
fn what_is_wrapped_around_a_dashboard_says_its_id() {
    for (original, uid) in [
        (json!({"metadata": {"name": "a"}, "spec": {"title": "T", "panels": []}}), json!("a")),
        (json!({"uid": "b", "spec": {"title": "T", "panels": []}}), json!("b")),
        (json!({"dashboard": {"uid": "c", "title": "T"}, "uid": "x"}), json!("c")),
        (
            json!({"metadata": {"name": "d"}, "spec": {"elements": {}, "layout": {}, "title": "T"}}),
            json!("d"),
        ),
        (json!({"title": "T", "uid": null}), Value::Null),
    ] {
        let done = migrate(&original).unwrap();
        assert_eq!(done.json.get("uid").unwrap_or(&Value::Null), &uid, "{original}");
    }
}

#[test]
fn rows_within_folded_rows_of_the_second_schema_keep_their_panels() {
    let grid = |name: &str| {
        json!({"kind": "GridLayout", "spec": {"items": [{"kind": "GridLayoutItem",
            "spec": {"x": 0, "y": 0, "width": 6, "height": 5, "element": {"name": name}}}]}})
    };
    let row = |title: &str, collapse: bool, layout: Value| {
        json!({"kind": "RowsLayoutRow",
            "spec": {"title": title, "collapse": collapse, "layout": layout}})
    };
    let rows = |rows: Value| json!({"kind": "RowsLayout", "spec": {"rows": rows}});
    let within = json!([row("Folded", true, grid("p1")), row("Open", false, grid("p2"))]);
    let outer = json!([row("Outer", true, rows(within)), row("Last", true, grid("p3"))]);
    let element = |id: i64| json!({"kind": "Panel", "spec": {"id": id, "vizConfig": {"group": "stat", "spec": {}}}});
    let done = migrate(&json!({"title": "T", "layout": rows(outer),
        "elements": {"p1": element(1), "p2": element(2), "p3": element(3)}}))
    .unwrap();
    let shape: Vec<(&str, bool, Vec<i64>)> = done.json["panels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let within = row["panels"].as_array().unwrap().iter();
            let ids = within.filter_map(|panel| panel["id"].as_i64()).collect();
            (row["title"].as_str().unwrap(), row["collapsed"] == true, ids)
        })
        .collect();
    assert_eq!(
        shape,
        [
            ("Outer", true, vec![]),
            ("Folded", true, vec![1]),
            ("Open", true, vec![2]),
            ("Last", true, vec![3])
        ]
    );
    assert!(done.general.0.iter().any(|note| note.text.contains("within a folded row")));
}

#[test]
fn panels_of_unknown_kinds_stay_as_they_are() {
    let unknown = json!({"id": 1, "type": "my-panel", "minSpan": 8, "fieldConfig": {"defaults": {
        "mappings": [{"id": 1, "type": 1, "value": "1", "text": "up"}],
        "thresholds": {"steps": [{"color": "red", "value": 5, "line": true}, {"value": 1}]}}}});
    assert_eq!(migrated(unknown.clone()).0, unknown);
    // What others have beside a value and a colour stays too.
    let (stat, _) = migrated(json!({"id": 1, "type": "stat", "fieldConfig": {"defaults": {
        "thresholds": {"mode": "absolute", "x": 1, "steps": [{"color": "red", "value": 5, "line": true}]}}}}));
    assert_eq!(
        stat["fieldConfig"]["defaults"]["thresholds"],
        json!({"mode": "absolute", "x": 1, "steps": [{"color": "red", "value": null, "line": true}]})
    );
}

#[test]
fn panels_belong_to_the_row_above_them_whatever_their_order_in_the_file() {
    let at = |id: i64, kind: &str, x: i64, y: i64| {
        let w = if kind == "row" { 24 } else { 12 };
        json!({"id": id, "type": kind, "title": "", "gridPos": {"x": x, "y": y, "w": w, "h": 1}})
    };
    let migrated = migrate(&json!({"schemaVersion": 41, "panels": [
        at(1, "row", 0, 10), at(2, "stat", 12, 1), at(3, "stat", 0, 11), at(4, "row", 0, 0),
        at(5, "stat", 0, 1), at(6, "stat", 12, 11), {"id": 7, "type": "text"},
    ]}))
    .unwrap();
    let dashboard = crate::model::Dashboard::read(&migrated.json);
    let shape: Vec<(Option<i64>, Vec<i64>)> = dashboard
        .sections
        .iter()
        .map(|s| (s.row.as_ref().map(|r| r.id), s.panels.iter().map(|p| p.id).collect()))
        .collect();
    assert_eq!(shape, [(Some(4), vec![7, 5, 2]), (Some(1), vec![3, 6])]);
}
