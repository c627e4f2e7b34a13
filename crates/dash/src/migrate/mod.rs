//! Dashboards of any age, brought up to date.
//!
//! ```text
//! JSON ─> unwrap (API, v2) ─> inputs, library panels ─> rows to grid ─> order ─> ids ─> panels ─> classic, version 42
//! ```
//!
//! What is done to a panel depends on what it has, not on the version that the dashboard claims: files
//! are edited by hand and by generators. Only where the same text meant something else once, the version
//! tells. Every step leaves alone what it does not know. What cannot be kept is noted by panel, in words.
//! The original is not changed: callers keep it.
//!
//! | module | what it brings up to date |
//! |---|---|
//! | `inputs` | data sources and constants that a shared dashboard asks for; library panels |
//! | `rows` | rows with spans, from before there was a grid |
//! | `graph`, `axes`, `series_overrides` | the old graph |
//! | `singlestat`, `gauge`, `table`, `heatmap`, `pie`, `text` | other old panels |
//! | `thresholds`, `mappings`, `steps`, `links` | old forms within panels of any kind |
//! | `variables` | variables that meant something else once |
//! | `v2`, `v2_layout` | Grafana's second schema, to the classic one |

mod axes;
mod gauge;
mod graph;
mod heatmap;
mod inputs;
mod links;
mod mappings;
mod notes;
mod pie;
mod rows;
mod series_overrides;
mod singlestat;
mod steps;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod thresholds;
mod v2;
mod v2_layout;
mod variables;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::limits::{MAX_DASHBOARD_BYTES, MAX_DEPTH, MAX_PANELS, MAX_VARIABLES};
use crate::model::panel::{COLUMNS, DRAWN, is_row};
use crate::model::read::{self, Object};

pub use notes::{Note, Notes, NotesById};

/// The version of the classic schema that comes out.
pub const CURRENT_VERSION: i64 = 42;
/// The oldest version that Grafana's documentation still describes.
pub const OLDEST_VERSION: i64 = 16;

/// Kinds of panels that became others.
const OLD: [&str; 6] = [
    "graph",
    "singlestat",
    "grafana-singlestat-panel",
    "table-old",
    "heatmap-new",
    "grafana-piechart-panel",
];

/// Why JSON is no dashboard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotADashboard {
    /// It is something else.
    #[error("expected a dashboard, a JSON object with `panels`: this is {0}")]
    OtherJson(&'static str),
    /// It has more panels than allowed.
    #[error("a dashboard has at most {MAX_PANELS} panels, this one has {0}")]
    TooManyPanels(usize),
    /// It has more variables than allowed.
    #[error("a dashboard has at most {MAX_VARIABLES} variables, this one has {0}")]
    TooManyVariables(usize),
    /// Its JSON is nested too deep.
    #[error("the JSON of a dashboard is nested at most {MAX_DEPTH} levels deep")]
    TooDeep,
    /// Its inputs and library panels would make it too large.
    #[error("inputs and library panels bring at most {MAX_DASHBOARD_BYTES} bytes into a dashboard")]
    TooMuchPutIn,
}

/// A dashboard that is up to date.
#[derive(Debug, Clone)]
pub struct Migrated {
    /// As the classic schema of today has it.
    pub json: Object,
    /// What is to be said of panels.
    pub notes: NotesById,
    /// What is to be said of the whole.
    pub general: Notes,
}

/// The dashboard within what Grafana's API, its exports and its Kubernetes resources wrap around it.
pub fn unwrapped(original: &Value) -> Result<&Object, NotADashboard> {
    let of = match original {
        Value::Object(of) => of,
        Value::Array(_) => return Err(NotADashboard::OtherJson("a list")),
        _ => return Err(NotADashboard::OtherJson("a single value")),
    };
    let is_wrapped = !of.contains_key("panels") && !of.contains_key("rows");
    match (read::object(of, "dashboard"), read::object(of, "spec")) {
        (Some(inner), _) if is_wrapped => Ok(inner),
        (_, Some(inner)) if is_wrapped => Ok(inner),
        _ => Ok(of),
    }
}

/// The id that a dashboard says: its `uid`, or the name of the resource that it is the `spec` of.
pub fn written_uid(original: &Value) -> Option<&str> {
    let outer = original.as_object()?;
    let inner = unwrapped(original).ok()?;
    let name = read::object(outer, "metadata").and_then(|metadata| read::text(metadata, "name"));
    read::text(inner, "uid").or_else(|| read::text(outer, "uid")).or(name)
}

/// Brings a dashboard up to date.
pub fn migrate(original: &Value) -> Result<Migrated, NotADashboard> {
    if is_deeper(original, MAX_DEPTH) {
        return Err(NotADashboard::TooDeep);
    }
    let inner = unwrapped(original)?;
    let mut general = Notes::default();
    let mut json = if v2::is_v2(inner) {
        general.changed("it is written in Grafana's second schema and was converted");
        v2::to_classic(inner, &mut general)
    } else {
        inner.clone()
    };
    if !["panels", "rows", "title", "templating"].iter().any(|key| json.contains_key(*key)) {
        return Err(NotADashboard::OtherJson("an object with neither `panels` nor `title`"));
    }
    note_version(&json, &mut general);
    inputs::resolve(&mut json, &mut general)?;
    rows::to_grid(&mut json);
    drop_copies(&mut json, &mut general);
    check_counts(&json)?;
    sort_by_place(&mut json);
    if let Some(version) = read::integer(&json, "schemaVersion") {
        if version < steps::LABELS_APART_SINCE {
            for_each_panel(&mut json, steps::merge_labels);
        }
        variables::migrate(&mut json, version);
    }
    let notes = panels(&mut json, &mut general);
    // What is wrapped around it is gone, but not which dashboard it is.
    if let Some(uid) = written_uid(original) {
        json.insert("uid".to_owned(), json!(uid));
    }
    json.insert("schemaVersion".to_owned(), json!(CURRENT_VERSION));
    Ok(Migrated { json, notes, general })
}

fn note_version(json: &Object, general: &mut Notes) {
    let Some(version) = read::integer(json, "schemaVersion") else { return };
    if version < OLDEST_VERSION {
        general.changed(format!(
            "its schema version {version} is older than {OLDEST_VERSION}: look whether all is as it was"
        ));
    } else if version > CURRENT_VERSION {
        general.changed(format!(
            "its schema version {version} is newer than {CURRENT_VERSION}, the newest that is known"
        ));
    }
}

/// Drops copies of repeated panels that Grafana saved with a dashboard once: they are made anew. A copy
/// whose panel is not there is all that there is, and stays.
fn drop_copies(json: &mut Object, general: &mut Notes) {
    let mut ids: BTreeSet<i64> = BTreeSet::new();
    for_each_panel(json, |panel| ids.extend(read::integer(panel, "id")));
    let is_copy = |panel: &Value| {
        let of = panel.as_object().and_then(|panel| read::integer(panel, "repeatPanelId"));
        of.is_some_and(|id| ids.contains(&id))
    };
    let mut count = 0;
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return };
    let mut keep = |panels: &mut Vec<Value>| {
        let before = panels.len();
        panels.retain(|panel| !is_copy(panel));
        count += before - panels.len();
    };
    keep(panels);
    for panel in panels.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(within)) = panel.get_mut("panels") {
            keep(within);
        }
    }
    if count > 0 {
        general.changed("copies of repeated panels that were saved with it are made anew");
    }
}

/// Panels from top to bottom and from left to right, as Grafana sorts them before it looks which row each
/// is of: files have them in any order. One without a place is at the top.
fn sort_by_place(json: &mut Object) {
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return };
    let place = |panel: &Value| {
        let grid = panel.as_object().and_then(|panel| read::object(panel, "gridPos"));
        let part = |key| grid.and_then(|grid| read::integer(grid, key)).unwrap_or(0);
        (part("y"), part("x"))
    };
    panels.sort_by_key(place);
}

/// Every panel, those in rows included.
fn for_each_panel(json: &mut Object, mut act: impl FnMut(&mut Object)) {
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return };
    for panel in panels.iter_mut().filter_map(Value::as_object_mut) {
        act(panel);
        let Some(Value::Array(within)) = panel.get_mut("panels") else { continue };
        within.iter_mut().filter_map(Value::as_object_mut).for_each(&mut act);
    }
}

fn check_counts(json: &Object) -> Result<(), NotADashboard> {
    let outer = read::list(json, "panels");
    let inner =
        outer.iter().filter_map(Value::as_object).map(|row| read::list(row, "panels").len());
    let panels = outer.len() + inner.sum::<usize>();
    if panels > MAX_PANELS {
        return Err(NotADashboard::TooManyPanels(panels));
    }
    let variables = read::object(json, "templating").map_or(0, |of| read::list(of, "list").len());
    if variables > MAX_VARIABLES {
        return Err(NotADashboard::TooManyVariables(variables));
    }
    Ok(())
}

/// Brings every panel up to date and gives each an id of its own.
fn panels(json: &mut Object, general: &mut Notes) -> NotesById {
    let mut ids = Ids::of(json);
    let mut by_id = NotesById::new();
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return by_id };
    let before = panels.len();
    panels.retain(Value::is_object);
    if panels.len() < before {
        general.lost("some entries of `panels` are no objects and are left out");
    }
    for panel in panels.iter_mut().filter_map(Value::as_object_mut) {
        each(panel, &mut ids, &mut by_id);
        let Some(Value::Array(within)) = panel.get_mut("panels") else { continue };
        for panel in within.iter_mut().filter_map(Value::as_object_mut) {
            each(panel, &mut ids, &mut by_id);
        }
    }
    by_id
}

fn each(of: &mut Object, ids: &mut Ids, by_id: &mut NotesById) {
    let id = ids.give(of);
    if is_row(of) {
        return;
    }
    let mut notes = Notes::default();
    panel(of, &mut notes);
    if !notes.0.is_empty() {
        by_id.insert(id, notes.0);
    }
}

/// Brings one panel up to date. One of a kind that is not known stays as it is, member for member.
pub fn panel(of: &mut Object, notes: &mut Notes) {
    if of.contains_key("alert") {
        notes.lost("its alert rule is not kept: alerts are not evaluated here");
    }
    let kind = read::text(of, "type").unwrap_or_default();
    if !DRAWN.contains(&kind) && !OLD.contains(&kind) {
        return;
    }
    match kind {
        "graph" => graph::migrate(of, notes),
        "singlestat" | "grafana-singlestat-panel" => singlestat::migrate(of, notes),
        "table" | "table-old" => table::migrate(of, notes),
        "heatmap" | "heatmap-new" => heatmap::migrate(of, notes),
        "grafana-piechart-panel" => pie::migrate(of, notes),
        "text" => text::migrate(of),
        _ => {}
    }
    // What was a singlestat may be a gauge now.
    if let "gauge" | "bargauge" | "stat" = read::text(of, "type").unwrap_or_default() {
        gauge::migrate(of);
    }
    // Copies were at least so wide once; today so many stand abreast.
    let least_width = of.remove("minSpan").as_ref().and_then(read::number_of);
    if let Some(least) = least_width.filter(|least| *least >= 1.0) {
        let abreast = (COLUMNS as f64 / least).floor().max(1.0);
        set_missing(of, "maxPerRow", read::json_number(abreast));
    }
    if let Some(Value::Object(options)) = of.get_mut("options")
        && let Some(tooltip) = options.remove("tooltipOptions")
    {
        set_missing(options, "tooltip", tooltip);
    }
    each_setting(of, "thresholds", thresholds::modern);
    each_setting(of, "mappings", mappings::modern);
    steps::name_reducers(of);
    links::migrate(of, notes);
}

/// Ids of panels, each of which is given once.
struct Ids {
    given: BTreeSet<i64>,
    next: i64,
}

impl Ids {
    /// New ids are greater than any that is written.
    fn of(json: &Object) -> Self {
        let outer = read::list(json, "panels").iter().filter_map(Value::as_object);
        let ids = outer.flat_map(|panel| {
            let inner = read::list(panel, "panels").iter().filter_map(Value::as_object);
            inner.chain([panel]).filter_map(|panel| read::integer(panel, "id"))
        });
        Self { given: BTreeSet::new(), next: ids.max().unwrap_or(0).max(0) + 1 }
    }

    fn give(&mut self, panel: &mut Object) -> i64 {
        if let Some(id) = read::integer(panel, "id").filter(|id| self.given.insert(*id)) {
            return id;
        }
        let id = self.next;
        self.next += 1;
        self.given.insert(id);
        panel.insert("id".to_owned(), json!(id));
        id
    }
}

/// Whether a value is nested deeper than allowed. It does not recurse.
fn is_deeper(value: &Value, allowed: usize) -> bool {
    let mut waiting = vec![(value, 1)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > allowed {
            return true;
        }
        match value {
            Value::Array(values) => waiting.extend(values.iter().map(|inner| (inner, depth + 1))),
            Value::Object(of) => waiting.extend(of.values().map(|inner| (inner, depth + 1))),
            _ => {}
        }
    }
    false
}

/// Adds a condition by field name or pattern, with its properties, to a panel's overrides.
fn push_override(panel: &mut Object, matcher: Value, properties: Vec<Value>) {
    if properties.is_empty() {
        return;
    }
    let config = read::object_mut(panel, "fieldConfig");
    let overrides = config.entry("overrides").or_insert_with(|| json!([]));
    if !overrides.is_array() {
        *overrides = json!([]);
    }
    if let Value::Array(overrides) = overrides {
        overrides.push(json!({"matcher": matcher, "properties": properties}));
    }
}

/// Brings a setting of the defaults and of overrides up to date.
fn each_setting(panel: &mut Object, id: &str, modern: impl Fn(&Value) -> Value) {
    let Some(Value::Object(config)) = panel.get_mut("fieldConfig") else { return };
    if let Some(Value::Object(defaults)) = config.get_mut("defaults")
        && let Some(setting) = defaults.get_mut(id)
    {
        *setting = modern(setting);
    }
    let Some(Value::Array(overrides)) = config.get_mut("overrides") else { return };
    for one in overrides {
        let Some(Value::Array(properties)) = one.get_mut("properties") else { continue };
        for property in properties.iter_mut().filter_map(Value::as_object_mut) {
            if read::text(property, "id") == Some(id)
                && let Some(value) = property.get_mut("value")
            {
                *value = modern(value);
            }
        }
    }
}

/// The matcher of a name; `/…/` is a regular expression.
fn matcher_of(name: &str) -> Value {
    let is_pattern = name.len() > 1 && name.starts_with('/') && name.rfind('/') > Some(0);
    let id = if is_pattern { "byRegexp" } else { "byName" };
    json!({"id": id, "options": name})
}

/// A panel's defaults for all fields.
fn defaults_of(panel: &mut Object) -> &mut Object {
    read::object_mut(read::object_mut(panel, "fieldConfig"), "defaults")
}

/// Sets a member unless it is there already.
fn set_missing(of: &mut Object, key: &str, value: Value) {
    if of.get(key).is_none_or(Value::is_null) {
        of.insert(key.to_owned(), value);
    }
}

/// Grafana's names of reducers for what old panels call them.
fn reducer_of(old: &str) -> Option<&'static str> {
    Some(match old {
        "avg" | "mean" => "mean",
        "current" | "last" => "lastNotNull",
        "total" | "sum" => "sum",
        "min" => "min",
        "max" => "max",
        "first" => "firstNotNull",
        "count" => "count",
        "range" => "range",
        "diff" => "diff",
        "delta" => "delta",
        _ => return None,
    })
}
