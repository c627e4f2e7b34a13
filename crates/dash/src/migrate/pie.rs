//! The pie chart that was a plugin.

use serde_json::json;

use super::notes::Notes;
use super::{defaults_of, push_override, reducer_of, set_missing};
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    let old = panel.clone();
    notes.changed("the pie chart plugin is drawn as piechart");
    panel.insert("type".to_owned(), json!("piechart"));
    if let Some(unit) = read::text(&old, "format") {
        set_missing(defaults_of(panel), "unit", json!(unit));
    }
    let calc = read::text(&old, "valueName").and_then(reducer_of).unwrap_or("lastNotNull");
    let legend = read::object(&old, "legend");
    let shows = |key: &str| legend.is_some_and(|legend| read::is_true(legend, key));
    let values: Vec<&str> = [("values", "value"), ("percentage", "percent")]
        .into_iter()
        .filter_map(|(old, new)| shows(old).then_some(new))
        .collect();
    let placement = match read::text(&old, "legendType") {
        Some("Right side") => "right",
        _ => "bottom",
    };
    let options = read::object_mut(panel, "options");
    let is_donut = read::text(&old, "pieType") == Some("donut");
    for (key, value) in [
        ("pieType", json!(if is_donut { "donut" } else { "pie" })),
        ("reduceOptions", json!({"calcs": [calc], "fields": "", "values": false})),
        ("displayLabels", json!([])),
        (
            "legend",
            json!({
                "showLegend": legend.is_none() || shows("show"),
                "displayMode": if values.is_empty() { "list" } else { "table" },
                "placement": placement,
                "values": values,
            }),
        ),
    ] {
        set_missing(options, key, value);
    }
    for (name, color) in read::object(&old, "aliasColors").into_iter().flatten() {
        let Some(color) = color.as_str() else { continue };
        let value = json!({"mode": "fixed", "fixedColor": color});
        let property = json!({"id": "color", "value": value});
        push_override(panel, json!({"id": "byName", "options": name}), vec![property]);
    }
    if read::object(&old, "combine").and_then(|c| read::number(c, "threshold")).unwrap_or(0.0) > 0.0
    {
        notes.lost("small slices are not combined");
    }
    for member in [
        "aliasColors",
        "breakPoint",
        "combine",
        "fontSize",
        "format",
        "legend",
        "legendType",
        "pieType",
        "strokeWidth",
        "valueName",
        "cacheTimeout",
        "nullPointMode",
    ] {
        panel.remove(member);
    }
}
