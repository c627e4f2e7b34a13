//! Fields as a panel shows them: names, configuration, values, colours, links.
//!
//! [`resolve`] gives every field of a panel its configuration: what the query set, the panel's
//! defaults, then the overrides whose matcher means it. After it a field's `state` holds the name
//! that people see, its place for colours of a palette, the ends of its scale and its links.
//!
//! | module | what it is for |
//! |---|---|
//! | [`name`] | the names that people see |
//! | [`matcher`] | which fields and frames are meant |
//! | [`pattern`] | regular expressions as dashboards write them |
//! | [`mod@display`] | a value as text with unit and colour |
//! | [`mapping`] | texts and colours for certain values |
//! | [`units`] | how numbers are written, as a table for server and page |
//! | [`scope`], [`links`] | variables that data gives, and links made of them |
//! | `linker` | which rows have links: there is room for so many |
//!
//! Differences from Grafana, by design: the panel's default name is not given to fields of times, a
//! step of thresholds without a value is the lowest wherever it stands, and a scale is shared by the
//! fields of one unit, not by all.

pub mod display;
mod linker;
pub mod links;
pub mod mapping;
pub mod matcher;
pub mod name;
mod nested;
pub mod pattern;
mod range;
pub mod scope;
pub mod units;

pub use display::{Display, Displayer, display};
pub use matcher::{FieldMatcher, FrameMatcher, Place};
pub use name::Names;

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Value as Json, json};

use crate::frame::{Config, Field, Frame, Kind, Notice, State};
use crate::{effort, limits, reduce, size};
use linker::Linker;
use scope::{Prepared, Scope};
use units::Clock;

/// What resolving needs to know of the dashboard.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Puts the dashboard's variables into a text.
    pub interpolate: &'a dyn Fn(&str) -> String,
    /// What `${__url_time_range}` stands for: `from=…&to=…`.
    pub url_time_range: &'a str,
    /// Zone and time for dates.
    pub clock: Clock,
}

/// Properties that only numbers have.
const OF_NUMBERS: [&str; 5] = ["min", "max", "decimals", "thresholds", "fieldMinMax"];

/// What a panel sets, read once for all its frames.
struct Settings<'a> {
    defaults: Option<&'a Map<String, Json>>,
    defaults_bytes: usize,
    rules: Vec<Rule<'a>>,
    /// What fields may still be given.
    left_bytes: Cell<usize>,
    /// Whether there was too little of it for some.
    is_short: Cell<bool>,
}

/// An override that could be read.
struct Rule<'a> {
    matcher: FieldMatcher,
    properties: &'a [Json],
    bytes: usize,
}

/// Kinds of panels whose values have the colours of their series, where the panel says nothing.
const COLOURED_BY_SERIES: [&str; 7] =
    ["timeseries", "barchart", "piechart", "histogram", "trend", "xychart", "candlestick"];

/// Kinds of panels that have thresholds, where the panel says nothing.
const WITH_THRESHOLDS: [&str; 10] = [
    "timeseries",
    "stat",
    "gauge",
    "bargauge",
    "table",
    "barchart",
    "state-timeline",
    "status-history",
    "trend",
    "xychart",
];

/// What a panel sets for its fields, with what its kind has by itself.
#[derive(Debug, Clone)]
pub struct FieldConfig<'a> {
    json: Cow<'a, Json>,
    /// Whether the values that the panel draws have links of their own, see [`reduce::shown`]: then
    /// rows need none.
    is_of_single_values: bool,
}

impl FieldConfig<'_> {
    /// As JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
}

/// What a panel of a kind sets for its fields, with what the kind has by itself, as Grafana: colours of
/// the series, and thresholds of green and, from 80, red.
#[must_use]
pub fn of_kind<'a>(field_config: &'a Json, kind: &str) -> FieldConfig<'a> {
    let says = |pointer: &str| field_config.pointer(pointer).is_some_and(|value| !value.is_null());
    let mode = field_config.pointer("/defaults/color/mode").and_then(Json::as_str);
    let mut own = Vec::new();
    if mode.is_none_or(str::is_empty) {
        if COLOURED_BY_SERIES.contains(&kind) {
            own.push(("color", json!({"mode": "palette-classic"})));
        } else if kind == "state-timeline" && !says("/defaults/thresholds") {
            own.push(("color", json!({"mode": "continuous-GrYlRd"})));
        }
    }
    if WITH_THRESHOLDS.contains(&kind) && !says("/defaults/thresholds") {
        let steps = json!([{"color": "green", "value": null}, {"color": "red", "value": 80}]);
        own.push(("thresholds", json!({"mode": "absolute", "steps": steps})));
    }
    let mut json = Cow::Borrowed(field_config);
    if !own.is_empty() {
        let mut with = field_config.as_object().cloned().unwrap_or_default();
        let defaults = with.entry("defaults").or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(defaults) = defaults {
            defaults.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
        json = Cow::Owned(Json::Object(with));
    }
    FieldConfig { json, is_of_single_values: reduce::shown::KINDS.contains(&kind) }
}

/// Gives all fields their configuration and state. Returns what could not be understood.
pub fn resolve(
    field_config: &FieldConfig<'_>,
    frames: &mut [Frame],
    context: &Context<'_>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut linker = Linker::new(!field_config.is_of_single_values);
    let settings = Settings::read(field_config.json(), "series", &mut notices);
    resolve_within(&settings, frames, &mut linker, context);
    let mut is_short = settings.is_short.get();
    // What is wrong with overrides is said once.
    let settings = Settings::read(field_config.json(), "nested", &mut Vec::new());
    nested::resolve(&settings, frames, &mut linker, context);
    is_short |= settings.is_short.get();
    if is_short {
        notices.push(Notice::warning(
            "some fields are shown without what the panel sets for them: it is too much for so many",
        ));
    }
    notices.extend(linker.notice());
    notices
}

impl<'a> Settings<'a> {
    /// Reads what is meant for a scope: the frames of the panel, or those nested in them.
    fn read(field_config: &'a Json, scope: &str, notices: &mut Vec<Notice>) -> Self {
        let defaults = field_config.get("defaults").and_then(Json::as_object);
        Self {
            defaults,
            defaults_bytes: defaults.map_or(0, size::config_bytes),
            rules: rules(field_config, scope, notices),
            left_bytes: Cell::new(limits::MAX_CONFIG_BYTES),
            is_short: Cell::new(false),
        }
    }

    /// Whether a field may be given so much: each has a copy of its own.
    fn gives(&self, bytes: usize) -> bool {
        let left = self.left_bytes.get().checked_sub(bytes).filter(|_| !effort::is_over());
        self.left_bytes.set(left.unwrap_or(self.left_bytes.get()));
        self.is_short.set(self.is_short.get() || left.is_none());
        left.is_some()
    }
}

/// Configures the frames of one scope.
fn resolve_within(
    settings: &Settings<'_>,
    frames: &mut [Frame],
    linker: &mut Linker,
    context: &Context<'_>,
) {
    let rules = &settings.rules;
    let linked = linker.linked_by_queries(frames);
    let before = Names::new(frames);
    let meant_by = |rule: &Rule<'_>, frame: usize| match effort::is_over() {
        true => Vec::new(),
        false => rule.matcher.fields(frames, &before, frame),
    };
    let meant: Vec<Vec<Vec<usize>>> = (0..frames.len())
        .map(|frame| rules.iter().map(|rule| meant_by(rule, frame)).collect())
        .collect();
    for (frame, meant) in frames.iter_mut().zip(&meant) {
        for (at, field) in frame.fields.iter_mut().enumerate() {
            let is_meant =
                |(_, fields): &(&Rule<'_>, &Vec<usize>)| fields.binary_search(&at).is_ok();
            let rules = || rules.iter().zip(meant).filter(is_meant).map(|(rule, _)| rule);
            let bytes = settings.defaults_bytes + rules().map(|rule| rule.bytes).sum::<usize>();
            if settings.gives(bytes) {
                if let Some(defaults) = settings.defaults {
                    set_defaults(field, defaults);
                }
                let properties = rules().flat_map(|rule| rule.properties);
                properties.for_each(|property| set_property(&mut field.config, property));
            }
            tidy(&mut field.config);
        }
    }
    name_fields(frames, context);
    set_states(frames);
    linker.set_links(frames, &linked, context);
}

fn rules<'a>(field_config: &'a Json, scope: &str, notices: &mut Vec<Notice>) -> Vec<Rule<'a>> {
    let overrides = field_config.get("overrides").and_then(Json::as_array);
    let mut rules = Vec::new();
    if overrides.is_some_and(|overrides| overrides.len() > limits::MAX_OVERRIDES) {
        let most = limits::MAX_OVERRIDES;
        notices.push(Notice::warning(format!("only the first {most} overrides are looked at")));
    }
    for rule in overrides.into_iter().flatten().take(limits::MAX_OVERRIDES) {
        let matcher = rule.get("matcher").unwrap_or(&Json::Null);
        if matcher.get("scope").and_then(Json::as_str).unwrap_or("series") != scope {
            continue;
        }
        let properties = rule.get("properties").and_then(Json::as_array);
        match FieldMatcher::read(matcher) {
            Ok(matcher) => {
                let properties = properties.map_or(&[][..], Vec::as_slice);
                let bytes = properties.iter().map(size::json_bytes).sum();
                rules.push(Rule { matcher, properties, bytes });
            }
            Err(reason) => {
                notices.push(Notice::warning(format!("an override is left out: {reason}")));
            }
        }
    }
    rules
}

/// Sets what the field has not set itself.
fn set_defaults(field: &mut Field, defaults: &Map<String, Json>) {
    for (key, value) in defaults {
        let for_others = field.kind != Kind::Number && OF_NUMBERS.contains(&key.as_str());
        if value.is_null() || for_others || key == "displayName" && field.kind == Kind::Time {
            continue;
        }
        match (key.as_str(), field.config.get_mut(key)) {
            ("custom", Some(Json::Object(own))) => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    if own.get(key).is_none_or(Json::is_null) {
                        own.insert(key.clone(), value.clone());
                    }
                }
            }
            ("links", Some(Json::Array(own))) => {
                own.extend(value.as_array().into_iter().flatten().cloned());
            }
            (_, Some(own)) if !own.is_null() => {}
            _ => _ = field.config.insert(key.clone(), value.clone()),
        }
    }
}

/// Sets one property of an override, given by its path; null takes it away.
fn set_property(config: &mut Config, property: &Json) {
    let Some(path) = property.get("id").and_then(Json::as_str).filter(|id| !id.is_empty()) else {
        return;
    };
    let value = property.get("value").cloned().unwrap_or_default();
    let mut steps: Vec<&str> = path.split('.').take(limits::MAX_MATCHER_DEPTH).collect();
    let Some(last) = steps.pop() else { return };
    let mut at = config;
    for step in steps {
        let inner = at.entry(step).or_insert_with(|| Json::Object(Map::new()));
        if !inner.is_object() {
            *inner = Json::Object(Map::new());
        }
        match inner.as_object_mut() {
            Some(inner) => at = inner,
            None => return,
        }
    }
    match (value, at.get_mut(last)) {
        (Json::Null, _) => _ = at.remove(last),
        // Lists, such as links and mappings, go before those that are there.
        (Json::Array(mut new), Some(Json::Array(old))) => {
            new.append(old);
            *old = new;
        }
        (value, _) => _ = at.insert(last.to_owned(), value),
    }
}

/// Puts right what contradicts itself.
fn tidy(config: &mut Config) {
    let mode = config.get("color").and_then(|color| color.get("mode")).and_then(Json::as_str);
    if mode.is_none_or(str::is_empty) {
        config.remove("color");
        if config.contains_key("thresholds") {
            config.insert("color".to_owned(), json!({"mode": "thresholds"}));
        }
    }
    let number = |key: &str| config.get(key).and_then(Json::as_f64);
    if let (Some(least), Some(greatest)) = (number("min"), number("max"))
        && least > greatest
    {
        config.insert("min".to_owned(), greatest.into());
        config.insert("max".to_owned(), least.into());
    }
}

/// Puts variables into the names that the dashboard gives.
fn name_fields(frames: &mut [Frame], context: &Context<'_>) {
    let is_template = |field: &Field| {
        let name = field.config_text("displayName").unwrap_or_default();
        // What a single row or value says is put in where that is shown.
        let of_row = ["__cell", "__data", "__calc", "__value"];
        name.contains('$') && !of_row.iter().any(|variable| name.contains(variable))
    };
    if !frames.iter().flat_map(|frame| &frame.fields).any(is_template) {
        return;
    }
    // A name cannot be made of itself, so the names before it was given are taken.
    let unnamed = |field: &Field| {
        let mut plain = field.with_values(Vec::new());
        plain.config.remove("displayName");
        plain
    };
    let plain: Vec<Frame> = frames
        .iter()
        .map(|frame| frame.with_fields(frame.fields.iter().map(unnamed).collect()))
        .collect();
    let prepared = Prepared::new(&plain, &context.clock);
    for (frame, source) in frames.iter_mut().enumerate() {
        for (field, column) in source.fields.iter_mut().enumerate() {
            if !is_template(column) {
                continue;
            }
            let scope = scope_of(&prepared, frame, field, None, context);
            let resolve = |name: &str, _: Option<&str>, _: usize| scope.resolve(name);
            let template = column.config_text("displayName").unwrap_or_default();
            let name = scope::expand(template, &resolve, context.interpolate);
            let name = size::cut(name, limits::MAX_NAME_BYTES);
            column.config.insert("displayName".to_owned(), name.into());
        }
    }
}

fn set_states(frames: &mut [Frame]) {
    let seen = Names::new(frames).into_seen();
    let shared = range::Shared::of(frames);
    let mut series_index = 0;
    for (frame, seen) in frames.iter_mut().zip(seen) {
        for (field, display_name) in frame.fields.iter_mut().zip(seen) {
            let coloured = field.kind != Kind::Time;
            field.state = Some(State {
                display_name,
                series_index: coloured.then_some(series_index),
                range: range::of_field(field, &shared),
                ..State::default()
            });
            series_index += usize::from(coloured);
        }
    }
}

/// The place of a template, for [`scope::expand`].
pub(crate) fn scope_of<'a>(
    of: &'a Prepared<'a>,
    frame: usize,
    field: usize,
    row: Option<usize>,
    context: &'a Context<'_>,
) -> Scope<'a> {
    let url_time_range = context.url_time_range;
    Scope { of, frame, field, row, calculated: None, url_time_range }
}

/// Adds reducers, such as those of a legend, to the state of all fields of values.
pub fn add_calcs<T: AsRef<str>>(frames: &mut [Frame], ids: &[T]) {
    for field in frames.iter_mut().flat_map(|frame| &mut frame.fields) {
        if field.kind == Kind::Time {
            continue;
        }
        let calcs = reduce::calcs(field, ids);
        field.state.get_or_insert_default().calcs.extend(calcs);
    }
}

#[cfg(test)]
mod tests;
