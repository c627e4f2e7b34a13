//! The heat map of before Grafana 9, whose options stood beside the panel's.

use serde_json::{Value, json};

use super::notes::Notes;
use super::set_missing;
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    panel.insert("type".to_owned(), json!("heatmap"));
    let is_old =
        ["dataFormat", "yBucketBound", "cards", "yAxis"].iter().any(|m| panel.contains_key(*m));
    if !is_old {
        return;
    }
    let old = panel.clone();
    notes.changed("the old heat map is drawn as today's");
    let axis = read::object(&old, "yAxis").cloned().unwrap_or_default();
    // Buckets that the server made, or values that are sorted into buckets here.
    let calculates = read::text(&old, "dataFormat") != Some("tsbuckets");
    let options = read::object_mut(panel, "options");
    for (key, value) in [
        ("calculate", json!(calculates)),
        ("color", color(&old)),
        ("yAxis", y_axis(&axis, &old)),
        ("rowsFrame", json!({"layout": layout(&old)})),
        ("showValue", json!("never")),
        ("legend", json!({"show": shows(&old, "legend", true)})),
        ("tooltip", tooltip(&old)),
        ("cellGap", card(&old, "cardPadding", 1.0)),
        ("cellRadius", card(&old, "cardRound", 0.0)),
    ] {
        set_missing(options, key, value);
    }
    if calculates {
        set_missing(options, "calculation", calculation(&axis, &old));
    }
    if read::is_true(&old, "hideZeroBuckets") {
        set_missing(options, "filterValues", json!({"le": 1e-9}));
    }
    for member in [
        "cards",
        "color",
        "dataFormat",
        "heatmap",
        "hideZeroBuckets",
        "highlightCards",
        "legend",
        "reverseYBuckets",
        "tooltip",
        "tooltipDecimals",
        "xAxis",
        "xBucketNumber",
        "xBucketSize",
        "yAxis",
        "yBucketBound",
        "yBucketNumber",
        "yBucketSize",
    ] {
        panel.remove(member);
    }
}

fn shows(old: &Object, part: &str, otherwise: bool) -> bool {
    let part = read::object(old, part).and_then(|part| part.get("show"));
    part.and_then(Value::as_bool).unwrap_or(otherwise)
}

fn tooltip(old: &Object) -> Value {
    let histogram = read::object(old, "tooltip").is_some_and(|t| read::is_true(t, "showHistogram"));
    let mode = if shows(old, "tooltip", true) { "single" } else { "none" };
    json!({"mode": mode, "yHistogram": histogram})
}

fn card(old: &Object, key: &str, otherwise: f64) -> Value {
    let number = read::object(old, "cards").and_then(|cards| read::number(cards, key));
    read::json_number(number.unwrap_or(otherwise))
}

/// Whether a bucket is named by its upper or its lower bound.
fn layout(old: &Object) -> &'static str {
    match read::text(old, "yBucketBound") {
        Some("upper") => "le",
        Some("lower") => "ge",
        Some("middle") => "unknown",
        _ => "auto",
    }
}

fn color(old: &Object) -> Value {
    let color = read::object(old, "color").cloned().unwrap_or_default();
    let is_opacity = read::text(&color, "mode") == Some("opacity");
    let scheme = read::text(&color, "colorScheme").unwrap_or("interpolateOranges");
    let mut new = json!({
        "mode": if is_opacity { "opacity" } else { "scheme" },
        "scheme": scheme.strip_prefix("interpolate").unwrap_or(scheme),
        "fill": read::text(&color, "cardColor").unwrap_or("dark-orange"),
        "scale": match read::text(&color, "colorScale") {
            Some("linear") => "linear",
            _ => "exponential",
        },
        "exponent": read::json_number(read::number(&color, "exponent").unwrap_or(0.5)),
        "steps": 128,
    });
    for bound in ["min", "max"] {
        if let Some(number) = read::number(&color, bound) {
            new[bound] = read::json_number(number);
        }
    }
    new
}

fn y_axis(axis: &Object, old: &Object) -> Value {
    let hidden = axis.get("show") == Some(&Value::Bool(false));
    let mut new = json!({
        "axisPlacement": if hidden { "hidden" } else { "left" },
        "reverse": read::is_true(old, "reverseYBuckets"),
    });
    if let Some(unit) = read::text(axis, "format") {
        new["unit"] = json!(unit);
    }
    for key in ["decimals", "min", "max"] {
        if let Some(number) = read::number(axis, key) {
            new[key] = read::json_number(number);
        }
    }
    new
}

fn calculation(axis: &Object, old: &Object) -> Value {
    let buckets = |size: &str, count: &str| {
        let part = |key| old.get(key).filter(|value| !value.is_null()).and_then(read::text_of);
        match (part(size), part(count)) {
            (Some(size), _) => json!({"mode": "size", "value": size}),
            (_, Some(count)) => json!({"mode": "count", "value": count}),
            _ => json!({"mode": "size", "value": ""}),
        }
    };
    let mut y = buckets("yBucketSize", "yBucketNumber");
    if let Some(base) = read::number(axis, "logBase").filter(|base| *base > 1.0) {
        y["scale"] = json!({"type": "log", "log": read::json_number(base)});
        y["value"] = read::member(axis, "splitFactor").clone();
        y["mode"] = json!("count");
    }
    json!({"xBuckets": buckets("xBucketSize", "xBucketNumber"), "yBuckets": y})
}
