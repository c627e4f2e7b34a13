//! Grafana's second schema (`dashboard.grafana.app/v2…`), as the classic one: panels are named
//! elements, and a layout says where each goes.

use serde_json::{Value, json};

use super::notes::Notes;
use super::v2_layout::Layout;
use crate::model::read::{self, Object};

/// Whether a dashboard is written so.
pub(super) fn is_v2(json: &Object) -> bool {
    read::object(json, "elements").is_some() && read::object(json, "layout").is_some()
}

/// The same dashboard as the classic schema has it.
pub(super) fn to_classic(json: &Object, general: &mut Notes) -> Object {
    let time = read::object(json, "timeSettings").cloned().unwrap_or_default();
    let mut layout = Layout::new(general);
    if let Some(root) = read::object(json, "layout") {
        layout.walk(root);
    }
    let panels = layout.finish();
    let elements = read::object(json, "elements").cloned().unwrap_or_default();
    let panels: Vec<Value> =
        panels.into_iter().map(|panel| filled(panel, &elements, general)).collect();
    let variables: Vec<Value> =
        read::list(json, "variables").iter().filter_map(Value::as_object).map(variable).collect();
    let annotations: Vec<Value> = read::list(json, "annotations")
        .iter()
        .filter_map(|one| read::object(one.as_object()?, "spec").cloned().map(Value::Object))
        .collect();
    let tooltip = match read::text(json, "cursorSync") {
        Some("Crosshair") => 1,
        Some("Tooltip") => 2,
        _ => 0,
    };
    let mut classic = json!({
        "time": {"from": read::text(&time, "from").unwrap_or("now-6h"), "to": read::text(&time, "to").unwrap_or("now")},
        "timezone": read::text(&time, "timezone").unwrap_or_default(),
        "refresh": read::text(&time, "autoRefresh").unwrap_or_default(),
        "weekStart": read::text(&time, "weekStart").unwrap_or_default(),
        "fiscalYearStartMonth": read::integer(&time, "fiscalYearStartMonth").unwrap_or(0),
        "graphTooltip": tooltip,
        "templating": {"list": variables},
        "annotations": {"list": annotations},
        "panels": panels,
    });
    let mut made = match classic.take() {
        Value::Object(made) => made,
        _ => Object::new(),
    };
    for key in ["title", "uid", "description", "tags", "links", "editable", "liveNow"] {
        if let Some(value) = json.get(key) {
            made.insert(key.to_owned(), value.clone());
        }
    }
    made
}

/// A placed panel with what its element says; rows keep their children, each of which is filled.
fn filled(placed: Value, elements: &Object, general: &mut Notes) -> Value {
    let Value::Object(mut placed) = placed else { return placed };
    if let Some(Value::Array(within)) = placed.remove("panels") {
        let within: Vec<Value> =
            within.into_iter().map(|panel| filled(panel, elements, general)).collect();
        placed.insert("panels".to_owned(), Value::Array(within));
        return Value::Object(placed);
    }
    let Some(Value::String(name)) = placed.remove("__element") else {
        return Value::Object(placed);
    };
    let element = elements.get(&name).and_then(Value::as_object);
    let Some(spec) = element.and_then(|element| read::object(element, "spec")) else {
        general.lost(format!("the layout names an element `{name}` that is not there"));
        placed.insert("type".to_owned(), json!("missing"));
        return Value::Object(placed);
    };
    for (key, value) in panel(spec) {
        placed.insert(key, value);
    }
    Value::Object(placed)
}

fn panel(spec: &Object) -> Object {
    let mut made = Object::new();
    for key in ["id", "title", "description", "links", "transparent", "libraryPanel"] {
        if let Some(value) = spec.get(key) {
            made.insert(key.to_owned(), value.clone());
        }
    }
    let viz = read::object(spec, "vizConfig").cloned().unwrap_or_default();
    // The kind of panel is the group in newer versions, the kind itself in older ones.
    let kind = read::text(&viz, "group").or(read::text(&viz, "kind")).unwrap_or_default();
    made.insert("type".to_owned(), json!(kind));
    let inner = read::object(&viz, "spec").cloned().unwrap_or_default();
    for key in ["options", "fieldConfig", "pluginVersion"] {
        if let Some(value) = inner.get(key) {
            made.insert(key.to_owned(), value.clone());
        }
    }
    let data = read::object(spec, "data").and_then(|data| read::object(data, "spec"));
    let data = data.cloned().unwrap_or_default();
    let targets: Vec<Value> = read::list(&data, "queries")
        .iter()
        .filter_map(|query| target(query.as_object()?))
        .collect();
    made.insert("targets".to_owned(), Value::Array(targets));
    let steps = read::list(&data, "transformations")
        .iter()
        .filter_map(|step| transformation(step.as_object()?));
    made.insert("transformations".to_owned(), Value::Array(steps.collect()));
    for (key, value) in read::object(&data, "queryOptions").into_iter().flatten() {
        made.insert(key.clone(), value.clone());
    }
    made
}

/// A query with its data source.
fn target(query: &Object) -> Option<Value> {
    let spec = read::object(query, "spec")?;
    let inner = read::object(spec, "query")?;
    let mut made = read::object(inner, "spec").cloned().unwrap_or_default();
    made.insert("refId".to_owned(), read::member(spec, "refId").clone());
    if read::is_true(spec, "hidden") {
        made.insert("hide".to_owned(), json!(true));
    }
    let old_source = read::object(spec, "datasource");
    made.insert("datasource".to_owned(), source(inner, old_source));
    Some(Value::Object(made))
}

fn source(query: &Object, old: Option<&Object>) -> Value {
    if let Some(old) = old {
        return Value::Object(old.clone());
    }
    let kind = read::text(query, "group").or(read::text(query, "kind")).unwrap_or_default();
    let name = read::object(query, "datasource").and_then(|source| read::text(source, "name"));
    json!({"type": kind, "uid": name.unwrap_or_default()})
}

fn transformation(step: &Object) -> Option<Value> {
    let spec = read::object(step, "spec")?;
    let mut made = spec.clone();
    let id = read::text(spec, "id").or(read::text(step, "group")).or(read::text(step, "kind"))?;
    made.insert("id".to_owned(), json!(id));
    Some(Value::Object(made))
}

/// A variable: its kind is `QueryVariable` and the like.
fn variable(of: &Object) -> Value {
    let kind = read::text(of, "kind").unwrap_or_default();
    let kind = kind.strip_suffix("Variable").unwrap_or(kind).to_ascii_lowercase();
    let kind = if kind == "text" { "textbox".to_owned() } else { kind };
    let mut made = read::object(of, "spec").cloned().unwrap_or_default();
    made.insert("type".to_owned(), json!(kind));
    if kind == "query"
        && let Some(Value::Object(query)) = made.get("query").cloned()
    {
        made.insert("datasource".to_owned(), source(&query, read::object(&made, "datasource")));
        let spec = read::object(&query, "spec").cloned().unwrap_or_default();
        // A text query is kept in a member of its own.
        let text = read::text(&spec, "__legacyStringValue").map(|text| json!(text));
        made.insert("query".to_owned(), text.unwrap_or(Value::Object(spec)));
    }
    if kind == "datasource" {
        let plugin = read::member(&made, "pluginId").clone();
        made.insert("query".to_owned(), plugin);
    }
    let refresh = match read::text(&made, "refresh") {
        Some("onDashboardLoad") => 1,
        Some("onTimeRangeChanged") => 2,
        _ => 0,
    };
    made.insert("refresh".to_owned(), json!(refresh));
    let sort = match read::text(&made, "sort") {
        Some("alphabeticalAsc") => 1,
        Some("alphabeticalDesc") => 2,
        Some("numericalAsc") => 3,
        Some("numericalDesc") => 4,
        Some("alphabeticalCaseInsensitiveAsc") => 5,
        Some("alphabeticalCaseInsensitiveDesc") => 6,
        Some("naturalAsc") => 7,
        Some("naturalDesc") => 8,
        _ => 0,
    };
    made.insert("sort".to_owned(), json!(sort));
    let hide = match read::text(&made, "hide") {
        Some("hideLabel") => 1,
        Some("hideVariable") => 2,
        Some("inControlsMenu") => 3,
        _ => 0,
    };
    made.insert("hide".to_owned(), json!(hide));
    Value::Object(made)
}
