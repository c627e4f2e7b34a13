//! How a value of a field is shown: its text with unit, its colour, its place on the scale.
//!
//! Colours are names, as Grafana has them (`semi-dark-red`), or what CSS knows. What follows from
//! the value (a mapping, a threshold) or is fixed is given here. Colours out of a palette follow from
//! `state.seriesIndex`, those of a gradient from `percent`, and are chosen where they are drawn.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::mapping::Mappings;
use super::units::{self, Clock, Unit, date};
use crate::frame::{Field, Kind, Value};

/// A value as people see it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Display {
    /// The value as a number, none where it is not one.
    #[serde(serialize_with = "number")]
    pub numeric: Option<f64>,
    /// What stands before the text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The text, by the mapping or the unit.
    pub text: String,
    /// What stands behind the text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suffix: String,
    /// The colour, where value or configuration say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The icon of a mapping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// The place between the ends of the scale, from 0 to 1 and beyond.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub percent: Option<f64>,
}

/// A number as frames write it, since JSON has neither NaN nor infinities.
fn number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    Value::from(*number).serialize(serializer)
}

impl Display {
    /// The text with what stands around it.
    pub fn whole(&self) -> String {
        [self.prefix.as_str(), &self.text, &self.suffix].concat()
    }
}

/// Thresholds: the colour of a value is that of the last step it reaches.
#[derive(Debug, Default)]
pub struct Thresholds {
    steps: Vec<(f64, String)>,
    percentage: bool,
}

impl Thresholds {
    /// Reads a field's `thresholds`. A step without a value is the lowest.
    pub fn read(json: &Json) -> Self {
        let step = |step: &Json| {
            let value = step.get("value").and_then(Json::as_f64).unwrap_or(f64::NEG_INFINITY);
            Some((value, step.get("color")?.as_str()?.to_owned()))
        };
        let steps = json.get("steps").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let mut steps: Vec<(f64, String)> = steps.iter().filter_map(step).collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let percentage = json.get("mode").and_then(Json::as_str) == Some("percentage");
        Self { steps, percentage }
    }

    /// The colour of a value that lies at that part of the scale.
    pub fn color(&self, value: f64, percent: f64) -> Option<&str> {
        let value = if self.percentage { percent * 100.0 } else { value };
        let reached = self.steps.iter().rev().find(|(from, _)| value >= *from);
        reached.or(self.steps.first()).map(|(_, color)| color.as_str())
    }
}

/// Shows the values of one field.
#[derive(Debug)]
pub struct Displayer<'a> {
    field: &'a Field,
    unit: Unit,
    is_text: bool,
    is_date: bool,
    decimals: Option<i64>,
    mappings: Mappings,
    thresholds: Thresholds,
    range: (f64, f64),
    clock: Clock,
}

impl<'a> Displayer<'a> {
    /// Reads a field's configuration, which should be resolved.
    pub fn new(field: &'a Field, clock: &Clock) -> Self {
        let config = |key: &str| field.config.get(key).unwrap_or(&Json::Null);
        let set = field.config_text("unit");
        let is_date_unit = |id: &str| id.starts_with("dateTime") || id.starts_with("time:");
        let is_date = field.kind == Kind::Time || set.is_some_and(is_date_unit);
        let unit = match (field.kind, set) {
            (Kind::Time, set) => set.filter(|id| is_date_unit(id)).map_or_else(
                || Unit::Date { pattern: time_pattern(field).to_owned(), today: None },
                units::find,
            ),
            (Kind::Boolean, None) => Unit::Boolean { yes: "true".into(), no: "false".into() },
            (Kind::String, None) => units::find("string"),
            (_, set) => units::find(set.unwrap_or("none")),
        };
        let range = field.state.as_ref().and_then(|state| state.range);
        Self {
            field,
            is_text: matches!(unit, Unit::Special { rules: units::Rules::Text }),
            unit,
            is_date,
            decimals: config("decimals").as_f64().map(|decimals| decimals as i64),
            mappings: Mappings::read(config("mappings")),
            thresholds: Thresholds::read(config("thresholds")),
            range: range.unwrap_or_else(|| super::range::local(field)),
            clock: *clock,
        }
    }

    /// A value as people see it.
    pub fn show(&self, value: &Value) -> Display {
        let numeric = self.numeric(value);
        let mut display = Display { numeric, ..Display::default() };
        let mut text = None;
        if let Some(mapped) = self.mappings.find(value) {
            text = mapped.text;
            display.color = mapped.color;
            display.icon = mapped.icon;
        } else if self.field.kind == Kind::Enum && self.mappings.is_empty() {
            let Some(index) = value.as_number() else { return display };
            let known = self.field.enum_texts().get(index as usize);
            text = Some(
                known.map_or_else(|| value.to_text(), |text| Value::from_json(text).to_text()),
            );
            display.color = self.enum_color(index);
        }
        let number = numeric.filter(|number| !number.is_nan());
        match (text, number) {
            (Some(text), _) => display.text = text,
            (None, Some(number)) => {
                let shown = units::write(&self.unit, number, self.decimals, &self.clock);
                (display.prefix, display.text, display.suffix) =
                    (shown.prefix, shown.text, shown.suffix);
            }
            (None, None) => display.text = self.without_number(value),
        }
        let percent = number.map_or(0.0, |number| self.percent(number));
        if display.color.is_none() {
            display.color = self.color(number.unwrap_or(f64::NEG_INFINITY), percent);
        }
        display.percent = number.map(|_| percent);
        display
    }

    fn numeric(&self, value: &Value) -> Option<f64> {
        match value {
            _ if self.is_text => None,
            Value::Text(text) if self.is_date => date::parse(text, None, self.clock.zone),
            value => value.to_number(),
        }
    }

    fn without_number(&self, value: &Value) -> String {
        let text = match value {
            Value::List(values) => values.iter().map(Value::to_text).collect::<Vec<_>>().join(", "),
            value => value.to_text(),
        };
        match self.field.config.get("noValue") {
            Some(Json::String(missing)) if text.is_empty() => missing.clone(),
            Some(Json::Number(missing)) if text.is_empty() => missing.to_string(),
            _ => text,
        }
    }

    fn percent(&self, number: f64) -> f64 {
        let (least, greatest) = self.range;
        let percent = (number - least) / (greatest - least);
        if percent.is_nan() { 0.0 } else { percent }
    }

    fn enum_color(&self, index: f64) -> Option<String> {
        let texts = self.field.config.get("type")?.get("enum")?;
        texts.get("color")?.get(index as usize)?.as_str().map(str::to_owned)
    }

    fn color(&self, number: f64, percent: f64) -> Option<String> {
        let color = self.field.config.get("color");
        let mode = color.and_then(|color| color.get("mode")).and_then(Json::as_str);
        if self.field.kind == Kind::Boolean && mode != Some("fixed") {
            return Some(if number == 1.0 { "green" } else { "red" }.to_owned());
        }
        match mode {
            Some("fixed") => {
                color.and_then(|color| color.get("fixedColor")?.as_str()).map(str::to_owned)
            }
            Some("thresholds") | None => self.thresholds.color(number, percent).map(str::to_owned),
            Some(_) => None,
        }
    }
}

/// Milliseconds are shown where all times lie within a minute.
fn time_pattern(field: &Field) -> &'static str {
    let end = |value: Option<&Value>| value.and_then(Value::as_number);
    let ends = (end(field.values.first()), end(field.values.last()));
    match ends {
        (Some(first), Some(last)) if field.values.len() > 1 && (last - first).abs() < 60e3 => {
            date::FULL_MILLIS
        }
        _ => date::FULL,
    }
}

/// One value of a field, as people see it. For many values of a field, keep a [`Displayer`].
pub fn display(field: &Field, value: &Value, clock: &Clock) -> Display {
    Displayer::new(field, clock).show(value)
}
