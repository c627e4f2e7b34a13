//! The old table: styles by column, and a transform that is now a transformation.

use serde_json::{Value, json};

use super::notes::Notes;
use super::{defaults_of, mappings, matcher_of, push_override, reducer_of, set_missing};
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    let is_old = read::text(panel, "type") == Some("table-old")
        || panel.contains_key("styles")
        || panel.contains_key("columns") && panel.contains_key("transform");
    panel.insert("type".to_owned(), json!("table"));
    if !is_old {
        return footer(panel);
    }
    let old = panel.clone();
    notes.changed("the old table is drawn as table");
    transform(panel, &old, notes);
    for style in read::list(&old, "styles").iter().filter_map(Value::as_object) {
        self::style(panel, style, notes);
    }
    let options = read::object_mut(panel, "options");
    let shows_header = old.get("showHeader") != Some(&Value::Bool(false));
    set_missing(options, "showHeader", json!(shows_header));
    for member in
        ["styles", "columns", "transform", "fontSize", "scroll", "showHeader", "sort", "pageSize"]
    {
        panel.remove(member);
    }
}

/// Reducers below the columns: a member of the options that newer versions write per field.
fn footer(panel: &mut Object) {
    let Some(options) = read::object(panel, "options") else { return };
    let reducers: Vec<Value> = match read::object(options, "footer") {
        Some(footer) if read::is_true(footer, "show") => read::list(footer, "reducer").to_vec(),
        _ => return,
    };
    let custom = read::object_mut(defaults_of(panel), "custom");
    set_missing(custom, "footer", json!({"reducers": reducers}));
}

fn transform(panel: &mut Object, old: &Object, notes: &mut Notes) {
    let step = match read::text(old, "transform") {
        Some("timeseries_to_columns") => {
            json!({"id": "seriesToColumns", "options": {"reducers": []}})
        }
        Some("timeseries_to_rows") => json!({"id": "seriesToRows", "options": {"reducers": []}}),
        Some("timeseries_aggregations") => {
            let columns = read::list(old, "columns").iter().filter_map(Value::as_object);
            let names = columns.filter_map(|column| read::text(column, "value"));
            let reducers: Vec<&str> = names.filter_map(reducer_of).collect();
            json!({"id": "reduce", "options": {"includeTimeField": false, "reducers": reducers}})
        }
        Some("table") => json!({"id": "merge", "options": {"reducers": []}}),
        Some(other @ ("annotations" | "json")) => {
            return notes.lost(format!("the table's transform `{other}` is not kept"));
        }
        _ => return,
    };
    let steps = panel.entry("transformations").or_insert_with(|| json!([]));
    if let Value::Array(steps) = steps
        && steps.is_empty()
    {
        steps.push(step);
    }
}

fn style(panel: &mut Object, style: &Object, notes: &mut Notes) {
    let Some(pattern) = read::text(style, "pattern") else { return };
    let properties = properties(style, notes);
    if pattern != "/.*/" {
        return push_override(panel, matcher_of(pattern), properties);
    }
    let defaults = defaults_of(panel);
    for property in properties {
        let Some(id) = property["id"].as_str() else { continue };
        let value = property["value"].clone();
        match id.strip_prefix("custom.") {
            Some(id) => set_missing(read::object_mut(defaults, "custom"), id, value),
            None => set_missing(defaults, id, value),
        }
    }
}

fn properties(style: &Object, notes: &mut Notes) -> Vec<Value> {
    let mut found = Vec::new();
    let mut add = |id: &str, value: Value| found.push(json!({"id": id, "value": value}));
    if let Some(alias) = read::text(style, "alias") {
        add("displayName", json!(alias));
    }
    match read::text(style, "type") {
        Some("hidden") => add("custom.hidden", json!(true)),
        Some("date") => {
            let format = read::text(style, "dateFormat").unwrap_or("YYYY-MM-DD HH:mm:ss");
            add("unit", json!(format!("time:{format}")));
        }
        Some("number") => {
            if let Some(unit) = read::text(style, "unit") {
                add("unit", json!(unit));
            }
            if let Some(decimals) = read::number(style, "decimals") {
                add("decimals", read::json_number(decimals));
            }
        }
        _ => {}
    }
    let mappings = mappings::of_style(style);
    if !mappings.is_empty() {
        add("mappings", json!(mappings));
    }
    if let Some(cell) = cell_of(read::text(style, "colorMode")) {
        add("custom.cellOptions", cell);
        add("thresholds", thresholds(style));
    }
    if let Some(align) = read::text(style, "align").filter(|align| *align != "auto") {
        add("custom.align", json!(align));
    }
    if read::is_true(style, "link") {
        let url = read::text(style, "linkUrl").unwrap_or_default();
        if url.contains("$__cell") {
            notes.changed("`$__cell` in a link of the old table is the value of the cell");
        }
        let link = json!({
            "title": read::text(style, "linkTooltip").unwrap_or_default(),
            "url": url.replace("${__cell:raw}", "${__value.raw}").replace("$__cell", "${__value.text}"),
            "targetBlank": read::is_true(style, "linkTargetBlank"),
        });
        add("links", json!([link]));
    }
    found
}

/// How a cell is coloured.
fn cell_of(mode: Option<&str>) -> Option<Value> {
    Some(match mode? {
        "cell" => json!({"type": "color-background", "mode": "gradient"}),
        "row" => json!({"type": "color-background", "mode": "basic", "applyToRow": true}),
        "value" => json!({"type": "color-text"}),
        _ => return None,
    })
}

fn thresholds(style: &Object) -> Value {
    let colors = read::list(style, "colors");
    let color = |index: usize| colors.get(index).cloned().unwrap_or_else(|| json!("green"));
    let mut steps = vec![json!({"value": null, "color": color(0)})];
    let values = read::list(style, "thresholds").iter().filter_map(read::number_of);
    for (index, value) in values.enumerate() {
        steps.push(json!({"value": read::json_number(value), "color": color(index + 1)}));
    }
    json!({"mode": "absolute", "steps": steps})
}
