//! How much memory things take, about: what is copied many times is measured before.

use serde_json::Value as Json;

use crate::frame::{Config, Frame, Value};

/// A value of JSON by itself; a text and the name of a member have their letters beside.
const VALUE_BYTES: usize = 32;

/// The bytes of some JSON.
pub(crate) fn json_bytes(json: &Json) -> usize {
    let within = match json {
        Json::String(text) => text.len(),
        Json::Array(list) => list.iter().map(json_bytes).sum(),
        Json::Object(map) => config_bytes(map),
        _ => 0,
    };
    VALUE_BYTES + within
}

/// The bytes of a field's configuration.
pub(crate) fn config_bytes(config: &Config) -> usize {
    config.iter().map(|(key, value)| VALUE_BYTES + key.len() + json_bytes(value)).sum()
}

/// The bytes of all texts of some frames, as if each cell had its own: a step may write each anew.
pub(crate) fn text_bytes(frames: &[Frame]) -> usize {
    let in_cell = |value: &Value| match value {
        Value::Text(text) => text.len(),
        _ => 0,
    };
    let fields = frames.iter().flat_map(|frame| &frame.fields);
    let of_field = fields.map(|field| {
        let labels = field.labels.iter().map(|(name, value)| name.len() + value.len());
        let cells = field.values.iter().map(in_cell);
        field.name.len() + config_bytes(&field.config) + labels.chain(cells).sum::<usize>()
    });
    of_field.sum()
}

/// A text cut to so many bytes, at the end of a letter.
pub(crate) fn cut(mut text: String, most_bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(most_bytes));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::Field;

    #[test]
    fn everything_that_grows_is_counted() {
        let grown = |json: Json| json_bytes(&json) - json_bytes(&json!({"a": [""]}));
        assert_eq!(grown(json!({"a": ["xyz"]})), 3);
        assert_eq!(grown(json!({"abc": [""]})), 2);
        assert_eq!(grown(json!({"a": ["", 1]})), VALUE_BYTES);
        let field = Field::text("ab", [Some("cde"), None]).with_labels(
            [("f", "g")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        );
        assert_eq!(text_bytes(&[Frame::new(vec![field])]), 7);
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(cut("aäb".to_owned(), 2), "a");
        assert_eq!(cut("aäb".to_owned(), 3), "aä");
        assert_eq!(cut("a".to_owned(), 3), "a");
    }
}
