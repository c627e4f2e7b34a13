//! Frames read from JSON: what [`Frame`](super::Frame) writes, and snapshots kept in dashboards.

use serde_json::{Map, Value as Json};
use thiserror::Error;

use super::{Field, Frame, Kind, Labels, Value, parse_number};

/// Why JSON is not a frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The frame has no list of fields.
    #[error("expected a frame with a list \"fields\"")]
    NoFields,
    /// A field has no name or no values.
    #[error("expected field {0} to have a \"name\" and a list \"values\"")]
    Field(usize),
}

impl Frame {
    /// The frame that a JSON object describes. Short fields are filled with nulls; a field without
    /// a type gets that of its first value.
    pub fn from_json(json: &Json) -> Result<Self, FrameError> {
        let fields = json.get("fields").and_then(Json::as_array).ok_or(FrameError::NoFields)?;
        let fields = fields.iter().enumerate();
        let fields = fields.map(|(index, field)| read_field(field).ok_or(FrameError::Field(index)));
        let mut frame = Self::new(fields.collect::<Result<_, _>>()?);
        frame.name = text(json, "name").unwrap_or_default();
        frame.ref_id = text(json, "refId");
        frame.meta = object(json, "meta");
        frame.square();
        Ok(frame)
    }
}

fn read_field(json: &Json) -> Option<Field> {
    let name = text(json, "name")?;
    let values: Vec<Value> = json.get("values")?.as_array()?.iter().map(Value::from_json).collect();
    let kind = text(json, "type").and_then(|kind| Kind::from_name(&kind));
    let kind = kind.unwrap_or_else(|| guess_kind(&values));
    let mut field = Field::new(name, kind, values);
    if matches!(kind, Kind::Number | Kind::Time) {
        field.values.iter_mut().for_each(unquote);
    }
    field.config = object(json, "config");
    let labels = json.get("labels").and_then(Json::as_object);
    let label = |(name, value): (&String, &Json)| Some((name.clone(), value.as_str()?.to_owned()));
    field.labels = labels.into_iter().flatten().filter_map(label).collect::<Labels>();
    Some(field)
}

/// Numbers that JSON has not are written as texts.
fn unquote(value: &mut Value) {
    if let Value::Text(text) = value
        && let Some(number) = parse_number(text)
        && !number.is_finite()
    {
        *value = Value::Number(number);
    }
}

/// What a column is, by its first cell that is not null.
pub(crate) fn guess_kind(values: &[Value]) -> Kind {
    match values.iter().find(|value| !value.is_null()) {
        Some(Value::Number(_)) => Kind::Number,
        Some(Value::Text(_)) => Kind::String,
        Some(Value::Boolean(_)) => Kind::Boolean,
        Some(Value::Frame(_)) => Kind::Frame,
        _ => Kind::Other,
    }
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key)?.as_str().map(str::to_owned)
}

fn object(json: &Json, key: &str) -> Map<String, Json> {
    json.get(key).and_then(Json::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"name":"n","refId":"A","fields":[{"name":"v","type":"number","labels":{"a":"b"},"values":[1,"NaN",null]}]}"#;
        let frame = Frame::from_json(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&frame).unwrap(), text);
    }

    #[test]
    fn a_field_without_a_type_gets_that_of_its_first_value() {
        let json = json!({"fields": [{"name": "a", "values": [null, "x"]}, {"name": "b", "values": [true]}]});
        let frame = Frame::from_json(&json).unwrap();
        assert_eq!(frame.fields[0].kind, Kind::String);
        assert_eq!(frame.fields[1].values, [Value::Boolean(true), Value::Null]);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(Frame::from_json(&json!(1)), Err(FrameError::NoFields));
        let nameless = json!({"fields": [{"name": "a", "values": []}, {"values": []}]});
        assert_eq!(Frame::from_json(&nameless), Err(FrameError::Field(1)));
    }
}
