//! What the old graph says of single series, as overrides.

use serde_json::{Value, json};

use super::notes::Notes;
use super::{axes, graph, matcher_of, push_override};
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object, old: &Object, notes: &mut Notes) {
    for series in read::list(old, "seriesOverrides").iter().filter_map(Value::as_object) {
        let Some(alias) = read::text(series, "alias") else { continue };
        let mut properties = Vec::new();
        for (key, value) in series {
            properties.extend(property(key, value, series, old, notes));
        }
        push_override(panel, matcher_of(alias), properties);
    }
}

fn one(id: &str, value: Value) -> Vec<Value> {
    vec![json!({"id": id, "value": value})]
}

fn property(
    key: &str,
    value: &Value,
    series: &Object,
    old: &Object,
    notes: &mut Notes,
) -> Vec<Value> {
    let number = read::number_of(value);
    let is = value.as_bool();
    match (key, number, is) {
        ("yaxis", Some(2.0), _) => axes::right(old),
        ("fill", Some(fill), _) => {
            one("custom.fillOpacity", read::json_number(fill.clamp(0.0, 10.0) * 10.0))
        }
        ("fillGradient", Some(fill), _) if fill > 0.0 => {
            let mut both = one("custom.gradientMode", json!("opacity"));
            both.extend(one("custom.fillOpacity", read::json_number(fill.min(10.0) * 10.0)));
            both
        }
        ("linewidth", Some(width), _) => one("custom.lineWidth", read::json_number(width)),
        ("pointradius", Some(radius), _) => {
            one("custom.pointSize", read::json_number(radius * 2.0 + 1.0))
        }
        ("lines", _, Some(true)) => one("custom.drawStyle", json!("line")),
        ("lines", _, Some(false)) => one("custom.lineWidth", json!(0)),
        ("bars", _, Some(true)) => one("custom.drawStyle", json!("bars")),
        ("points", _, Some(true)) => {
            let draws_lines = series.get("lines") != Some(&Value::Bool(false));
            match draws_lines {
                true => one("custom.showPoints", json!("always")),
                false => one("custom.drawStyle", json!("points")),
            }
        }
        ("points", _, Some(false)) => one("custom.showPoints", json!("never")),
        ("steppedLine", _, Some(is)) => {
            one("custom.lineInterpolation", json!(if is { "stepAfter" } else { "linear" }))
        }
        ("dashes", _, Some(true)) => one("custom.lineStyle", graph::dash(series)),
        ("stack", _, Some(false)) => one("custom.stacking", json!({"mode": "none", "group": "A"})),
        ("stack", _, Some(true)) => one("custom.stacking", json!({"mode": "normal", "group": "A"})),
        ("legend", _, Some(false)) => {
            one("custom.hideFrom", json!({"viz": false, "legend": true, "tooltip": false}))
        }
        ("hiddenSeries", _, Some(true)) => {
            one("custom.hideFrom", json!({"viz": true, "legend": false, "tooltip": false}))
        }
        ("hideTooltip", _, Some(true)) => {
            one("custom.hideFrom", json!({"viz": false, "legend": false, "tooltip": true}))
        }
        _ => of_text(key, value, notes),
    }
}

fn of_text(key: &str, value: &Value, notes: &mut Notes) -> Vec<Value> {
    let Some(text) = value.as_str() else { return Vec::new() };
    match (key, text) {
        ("color", _) => one("color", json!({"mode": "fixed", "fixedColor": text})),
        ("transform", "negative-Y" | "constant") => one("custom.transform", json!(text)),
        ("nullPointMode", _) => one("custom.spanNulls", json!(text == "connected")),
        ("fillBelowTo", _) => one("custom.fillBelowTo", json!(text)),
        // A group of its own: A, B, C or D.
        ("stack", _) => one("custom.stacking", json!({"mode": "normal", "group": text})),
        // The second is what an old library of Grafana's page left behind.
        ("alias" | "$$hashKey", _) => Vec::new(),
        _ => {
            notes.lost(format!("`{key}` of a series override is not kept"));
            Vec::new()
        }
    }
}
