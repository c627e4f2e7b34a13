//! Data frames: what a query answers and a panel draws, as columns of equal length.
//!
//! The model is Grafana's, because transformations, overrides and panels are written for it: a
//! frame has fields; a field has a name, a kind, labels, a configuration and values. A series is a
//! frame with a time field and number fields; a table is a frame with any fields.
//!
//! What it promises:
//! - A field holds cells ([`Value`]) rather than a vector of one type: a transformation may put a
//!   text into a column of numbers, as Grafana's do. Frames hold what one panel shows, so that their
//!   size is that of an answer, not of a table on disk.
//! - Times are milliseconds since 1970 as `f64`. In 2026 that resolves 0.25 microseconds; a column
//!   that needs every nanosecond is a text or a number of its own.
//! - After [`Frame::square`] all fields of a frame have the same length, missing cells being null.
//!
//! As JSON for the page (see [`Frame`]'s `Serialize`):
//!
//! ```text
//! {"name","refId","meta","notices":[{"severity","text"}],
//!  "fields":[{"name","type","labels","config","state","values":[…]}]}
//! ```
//!
//! What is empty is left out, except `fields` and `values`. Numbers are numbers; those that JSON has
//! not are the texts `"NaN"`, `"Infinity"`, `"-Infinity"`, which occur as such only in fields of
//! type `number` and `time`. A nested frame is a frame object, a list is a list.

mod json;
mod value;

pub use json::FrameError;
pub(crate) use json::guess_kind;
pub use value::{Key, Value, parse_number, write_number};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::fields::links::Link;

/// Labels of a series, sorted by name.
pub type Labels = BTreeMap<String, String>;

/// The configuration of a field by the names that Grafana gives its properties: `unit`,
/// `displayName`, `displayNameFromDS`, `decimals`, `thresholds`, `custom` and so on.
///
/// It stays open, since overrides may set any property and the page may know more than the server.
pub type Config = Map<String, Json>;

/// What a field's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Milliseconds since 1970.
    Time,
    /// Numbers.
    Number,
    /// Texts.
    String,
    /// True or false.
    Boolean,
    /// Indices into the texts of `config.type.enum.text`.
    Enum,
    /// Frames, one or several in each cell.
    Frame,
    /// Anything else, such as lists and objects.
    Other,
}

impl Kind {
    /// The kind of that name, as Grafana writes it.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "time" => Self::Time,
            "number" => Self::Number,
            "string" => Self::String,
            "boolean" => Self::Boolean,
            "enum" => Self::Enum,
            "frame" | "nestedFrames" => Self::Frame,
            "other" | "trace" | "geo" => Self::Other,
            _ => return None,
        })
    }
}

/// What became of a field when its configuration was resolved; see [`crate::fields`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The name that people see.
    pub display_name: String,
    /// The place among the coloured fields of the panel, for colours from a palette.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_index: Option<usize>,
    /// The least and the greatest value of the scale: set, or found in the data of all fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// The reducers that the panel asked for.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub calcs: Map<String, Json>,
    /// The links of each row, where the field has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Vec<Link>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// The name, which need not be unique.
    pub name: String,
    /// What the values are.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The labels of the series that the field is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// How it is shown.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub config: Config,
    /// What became of it when its configuration was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The cells.
    pub values: Vec<Value>,
}

impl Field {
    /// A field without labels and configuration.
    pub fn new(name: impl Into<String>, kind: Kind, values: Vec<Value>) -> Self {
        let (labels, config) = (Labels::new(), Config::new());
        Self { name: name.into(), kind, labels, config, state: None, values }
    }

    /// A field of times in milliseconds since 1970.
    pub fn time(name: impl Into<String>, millis: impl IntoIterator<Item = f64>) -> Self {
        Self::new(name, Kind::Time, millis.into_iter().map(Value::Number).collect())
    }

    /// A field of numbers; `None` is null.
    pub fn number(name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self::new(name, Kind::Number, values.into_iter().map(Value::from).collect())
    }

    /// A field of texts; `None` is null.
    pub fn text<T: Into<Arc<str>>>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Self {
        let values = values.into_iter().map(|text| text.map_or(Value::Null, |t| t.into().into()));
        Self::new(name, Kind::String, values.collect())
    }

    /// The same field with these labels.
    pub fn with_labels(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// The same field with one property of its configuration set.
    pub fn with_config(mut self, property: &str, value: impl Into<Json>) -> Self {
        self.config.insert(property.to_owned(), value.into());
        self
    }

    /// A property of the configuration that is a text and not empty.
    pub fn config_text(&self, property: &str) -> Option<&str> {
        self.config.get(property).and_then(Json::as_str).filter(|text| !text.is_empty())
    }

    /// The cell at a row, null beyond the end.
    pub fn at(&self, row: usize) -> &Value {
        self.values.get(row).unwrap_or(&Value::Null)
    }

    /// The same column with other values, its state forgotten.
    pub fn with_values(&self, values: Vec<Value>) -> Self {
        let (name, labels, config) = (self.name.clone(), self.labels.clone(), self.config.clone());
        Self { name, kind: self.kind, labels, config, state: None, values }
    }

    /// The texts of an enumeration, empty where there are none.
    pub fn enum_texts(&self) -> &[Json] {
        let texts = self.config.get("type").and_then(|t| t.get("enum")).and_then(|e| e.get("text"));
        texts.and_then(Json::as_array).map_or(&[], Vec::as_slice)
    }
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is left out or differs from what was asked for.
    Warning,
    /// Something failed.
    Error,
}

/// A sentence for the reader of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// How serious it is.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Notice {
    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }
}

/// Columns of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// The name, empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Which query it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_id: Option<String>,
    /// What is known beside the columns, by Grafana's names (`type`, `preferredVisualisationType`,
    /// `custom`).
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Json>,
    /// What the reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The columns.
    pub fields: Vec<Field>,
}

impl Frame {
    /// A frame without a name.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// The same frame, said to come from that query.
    pub fn with_ref_id(mut self, ref_id: impl Into<String>) -> Self {
        self.ref_id = Some(ref_id.into());
        self
    }

    /// The same frame with a name.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Everything but the fields, for a frame that takes this one's place.
    pub fn with_fields(&self, fields: Vec<Field>) -> Self {
        let (name, ref_id) = (self.name.clone(), self.ref_id.clone());
        Self { name, ref_id, meta: self.meta.clone(), notices: self.notices.clone(), fields }
    }

    /// How many rows it has: the length of its longest field.
    pub fn rows(&self) -> usize {
        self.fields.iter().map(|field| field.values.len()).max().unwrap_or(0)
    }

    /// Fills short fields with nulls, so that all are equally long.
    pub fn square(&mut self) {
        let rows = self.rows();
        for field in &mut self.fields {
            field.values.resize(rows, Value::Null);
        }
    }

    /// The first field of a kind.
    pub fn first_of(&self, kind: Kind) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == kind)
    }

    /// The same frame with these rows, in this order.
    pub fn with_rows(&self, rows: &[usize]) -> Self {
        let pick = |field: &Field| {
            field.with_values(rows.iter().map(|&row| field.at(row).clone()).collect())
        };
        self.with_fields(self.fields.iter().map(pick).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_compact_json_for_the_page() {
        let labels = Labels::from([("gpu".to_owned(), "0".to_owned())]);
        let values = [Some(1.5), None, Some(f64::NAN), Some(f64::NEG_INFINITY)];
        let frame = Frame::new(vec![
            Field::time("Time", [1.0, 2.0, 3.0, 4.5]),
            Field::number("Value", values).with_labels(labels).with_config("unit", "watt"),
        ])
        .with_ref_id("A");
        let expected = concat!(
            r#"{"refId":"A","fields":[{"name":"Time","type":"time","values":[1,2,3,4.5]},"#,
            r#"{"name":"Value","type":"number","labels":{"gpu":"0"},"config":{"unit":"watt"},"#,
            r#""values":[1.5,null,"NaN","-Infinity"]}]}"#
        );
        assert_eq!(serde_json::to_string(&frame).unwrap(), expected);
    }

    #[test]
    fn short_fields_are_filled_with_nulls() {
        let mut frame = Frame::new(vec![
            Field::number("a", [Some(1.0), Some(2.0)]),
            Field::text("b", [Some("x")]),
        ]);
        frame.square();
        assert_eq!(frame.fields[1].values, [Value::from("x"), Value::Null]);
        assert_eq!(frame.with_rows(&[1, 0, 7]).fields[0].values.len(), 3);
    }
}
