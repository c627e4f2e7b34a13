//! The old graph, as a time series. With other axes it was a bar gauge or a histogram.

use serde_json::{Value, json};

use super::notes::Notes;
use super::{axes, defaults_of, push_override, reducer_of, series_overrides, set_missing};
use crate::model::read::{self, Object};

/// Members of the old panel that have no meaning any more.
const OLD_MEMBERS: [&str; 34] = [
    "aliasColors",
    "bars",
    "dashLength",
    "dashes",
    "decimals",
    "fill",
    "fillGradient",
    "grid",
    "hiddenSeries",
    "leftYAxisLabel",
    "legend",
    "lines",
    "linewidth",
    "nullPointMode",
    "percentage",
    "pointradius",
    "points",
    "renderer",
    "rightYAxisLabel",
    "seriesOverrides",
    "spaceLength",
    "stack",
    "steppedLine",
    "thresholds",
    "timeRegions",
    "tooltip",
    "x-axis",
    "xaxis",
    "y-axis",
    "y_formats",
    "yaxes",
    "yaxis",
    "zerofill",
    "alertThreshold",
];

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    let old = panel.clone();
    let mode = read::object(&old, "xaxis").and_then(|axis| read::text(axis, "mode"));
    let kind = match mode {
        Some("series") => "bargauge",
        Some("histogram") => "histogram",
        _ => "timeseries",
    };
    notes.changed(format!("the old graph is drawn as {kind}"));
    panel.insert("type".to_owned(), json!(kind));
    for member in OLD_MEMBERS {
        panel.remove(member);
    }
    links(panel, &old);
    axes::migrate(panel, &old);
    colors(panel, &old);
    match kind {
        "bargauge" => series_bars(panel, &old),
        "histogram" => histogram(panel, &old),
        _ => {
            lines(panel, &old);
            options(panel, &old);
            thresholds(panel, &old);
            series_overrides::migrate(panel, &old, notes);
        }
    }
    if !read::list(&old, "timeRegions").is_empty() {
        notes.lost("coloured time regions are not kept");
    }
}

/// How lines are drawn.
fn lines(panel: &mut Object, old: &Object) {
    let custom = read::object_mut(defaults_of(panel), "custom");
    let (bars, points) = (read::is_true(old, "bars"), read::is_true(old, "points"));
    let lines = old.get("lines").and_then(Value::as_bool).unwrap_or(true);
    let style = match (bars, lines, points) {
        (true, ..) => "bars",
        (_, true, _) => "line",
        (.., true) => "points",
        _ => "line",
    };
    let fill = read::number(old, "fill").unwrap_or(1.0).clamp(0.0, 10.0) * 10.0;
    let gradient = read::number(old, "fillGradient").unwrap_or(0.0).clamp(0.0, 10.0) * 10.0;
    let width = read::number(old, "linewidth").unwrap_or(1.0);
    let is_invisible = !bars && !lines && !points;
    custom.insert("drawStyle".into(), json!(style));
    custom.insert(
        "lineWidth".into(),
        read::json_number(if is_invisible { 0.0 } else { width.clamp(0.0, 10.0) }),
    );
    // Bars of the old graph are filled whatever it says of lines.
    let opacity = if bars { 100.0 } else { fill.max(gradient) };
    custom.insert("fillOpacity".into(), read::json_number(opacity));
    let gradient_mode = if gradient > 0.0 && !bars { "opacity" } else { "none" };
    custom.insert("gradientMode".into(), json!(gradient_mode));
    custom.insert("showPoints".into(), json!(if points { "always" } else { "never" }));
    let radius = read::number(old, "pointradius").unwrap_or(2.0).clamp(0.5, 10.0);
    custom.insert("pointSize".into(), read::json_number(radius * 2.0 + 1.0));
    let stepped = read::is_true(old, "steppedLine");
    custom.insert("lineInterpolation".into(), json!(if stepped { "stepAfter" } else { "linear" }));
    let spans_nulls = read::text(old, "nullPointMode") == Some("connected");
    custom.insert("spanNulls".into(), json!(spans_nulls));
    let stacking = match (read::is_true(old, "stack"), read::is_true(old, "percentage")) {
        (true, true) => "percent",
        (true, false) => "normal",
        _ => "none",
    };
    custom.insert("stacking".into(), json!({"mode": stacking, "group": "A"}));
    if read::is_true(old, "dashes") {
        custom.insert("lineStyle".into(), dash(old));
    }
    if read::is_true(old, "hiddenSeries") {
        custom.insert("hideFrom".into(), json!({"viz": true, "legend": false, "tooltip": false}));
    }
}

/// A dashed line.
pub(super) fn dash(old: &Object) -> Value {
    let length = |key| read::json_number(read::number(old, key).unwrap_or(10.0));
    json!({"fill": "dash", "dash": [length("dashLength"), length("spaceLength")]})
}

/// Legend and tooltip.
fn options(panel: &mut Object, old: &Object) {
    let options = read::object_mut(panel, "options");
    options.remove("dataLinks");
    options.remove("alertThreshold");
    options.insert("legend".into(), legend(read::object(old, "legend")));
    let tooltip = read::object(old, "tooltip");
    let is_shared = tooltip.is_none_or(|t| t.get("shared") != Some(&Value::Bool(false)));
    let sort = match tooltip.and_then(|tooltip| read::integer(tooltip, "sort")) {
        Some(1) => "asc",
        Some(2) => "desc",
        _ => "none",
    };
    let mode = if is_shared { "multi" } else { "single" };
    options.insert("tooltip".into(), json!({"mode": mode, "sort": sort}));
}

fn legend(old: Option<&Object>) -> Value {
    let Some(old) = old else {
        return json!({"showLegend": true, "displayMode": "list", "placement": "bottom", "calcs": []});
    };
    let calcs: Vec<&str> = match read::is_true(old, "values") {
        true => ["min", "max", "avg", "current", "total"]
            .into_iter()
            .filter(|calc| read::is_true(old, calc))
            .filter_map(reducer_of)
            .collect(),
        false => Vec::new(),
    };
    let is_table = read::is_true(old, "alignAsTable");
    let mut legend = json!({
        "showLegend": old.get("show") != Some(&Value::Bool(false)),
        "displayMode": if is_table { "table" } else { "list" },
        "placement": if read::is_true(old, "rightSide") { "right" } else { "bottom" },
        "calcs": calcs,
    });
    if let Some(width) = read::number(old, "sideWidth") {
        legend["width"] = read::json_number(width);
    }
    if let Some(name) = read::text(old, "sort").and_then(sort_column) {
        legend["sortBy"] = json!(name);
        legend["sortDesc"] = json!(read::is_true(old, "sortDesc"));
    }
    legend
}

/// The heading of the legend's column that it is sorted by.
fn sort_column(old: &str) -> Option<&'static str> {
    Some(match old {
        "avg" => "Mean",
        "current" => "Last *",
        "total" => "Total",
        "min" => "Min",
        "max" => "Max",
        _ => return None,
    })
}

/// Lines and areas at fixed values.
fn thresholds(panel: &mut Object, old: &Object) {
    let mut marks: Vec<(f64, &Object)> = read::list(old, "thresholds")
        .iter()
        .filter_map(Value::as_object)
        .filter_map(|mark| Some((read::number(mark, "value")?, mark)))
        .collect();
    if marks.is_empty() {
        return;
    }
    marks.sort_by(|left, right| left.0.total_cmp(&right.0));
    let any = |key| {
        let is = |mark: &Object| mark.get(key).and_then(Value::as_bool);
        marks.iter().any(|(_, mark)| is(mark).unwrap_or(true))
    };
    let mode = match (any("line"), any("fill")) {
        (true, true) => "line+area",
        (false, true) => "area",
        _ => "line",
    };
    let mut steps = Vec::new();
    let mut below = "transparent";
    for (value, mark) in &marks {
        let color = mark_color(mark);
        if read::text(mark, "op") == Some("lt") {
            // What lies below is coloured, and what lies above is not.
            if steps.is_empty() {
                below = color;
            }
            steps.push(json!({"value": read::json_number(*value), "color": "transparent"}));
        } else {
            steps.push(json!({"value": read::json_number(*value), "color": color}));
        }
    }
    steps.insert(0, json!({"value": null, "color": below}));
    let defaults = defaults_of(panel);
    defaults.insert("thresholds".into(), json!({"mode": "absolute", "steps": steps}));
    let custom = read::object_mut(defaults, "custom");
    custom.insert("thresholdsStyle".into(), json!({"mode": mode}));
}

fn mark_color(mark: &Object) -> &str {
    match read::text(mark, "colorMode") {
        Some("ok") => "green",
        Some("warning") => "orange",
        Some("custom") => {
            read::text(mark, "lineColor").or(read::text(mark, "fillColor")).unwrap_or("red")
        }
        _ => "red",
    }
}

/// Colours of series by name.
fn colors(panel: &mut Object, old: &Object) {
    let Some(colors) = read::object(old, "aliasColors") else { return };
    for (name, color) in colors {
        let Some(color) = color.as_str() else { continue };
        let value = json!({"mode": "fixed", "fixedColor": color});
        let matcher = json!({"id": "byName", "options": name});
        push_override(panel, matcher, vec![json!({"id": "color", "value": value})]);
    }
}

fn links(panel: &mut Object, old: &Object) {
    let links = read::object(old, "options").map_or(&[][..], |o| read::list(o, "dataLinks"));
    if !links.is_empty() {
        set_missing(defaults_of(panel), "links", json!(links));
    }
}

/// One bar for each series.
fn series_bars(panel: &mut Object, old: &Object) {
    let axis = read::object(old, "xaxis");
    let value = axis.and_then(|axis| read::list(axis, "values").first());
    let calc = value.and_then(Value::as_str).and_then(reducer_of).unwrap_or("sum");
    let options = read::object_mut(panel, "options");
    options.insert("orientation".into(), json!("vertical"));
    options.insert("displayMode".into(), json!("gradient"));
    let reduce = json!({"calcs": [calc], "fields": "", "values": false});
    options.insert("reduceOptions".into(), reduce);
}

/// How often values occur.
fn histogram(panel: &mut Object, old: &Object) {
    let buckets = read::object(old, "xaxis").and_then(|axis| read::number(axis, "buckets"));
    let is_combined = read::is_true(old, "stack");
    let options = read::object_mut(panel, "options");
    options.insert("combine".into(), json!(is_combined));
    if let Some(buckets) = buckets {
        options.insert("bucketCount".into(), read::json_number(buckets));
    }
    options.insert("legend".into(), legend(read::object(old, "legend")));
}
