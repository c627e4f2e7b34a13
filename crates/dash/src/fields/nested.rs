//! Frames within cells: a trend is shown as its field is, a nested table as the panel says.
//!
//! One level is looked into. A table within a table within a table keeps what its query set.

use std::sync::Arc;

use super::linker::Linker;
use super::{Context, Settings, resolve_within, set_states};
use crate::frame::{Field, Frame, Kind, Value};
use crate::size;

/// Gives the fields of nested frames their configuration and state.
pub(super) fn resolve(
    settings: &Settings<'_>,
    frames: &mut [Frame],
    linker: &mut Linker,
    context: &Context<'_>,
) {
    let fields = frames.iter_mut().flat_map(|frame| &mut frame.fields);
    for field in fields.filter(|field| field.kind == Kind::Frame) {
        let values = std::mem::take(&mut field.values);
        let config_bytes = size::config_bytes(&field.config);
        field.values = values
            .into_iter()
            .map(|value| match value {
                Value::Frame(inner) => trend(field, &inner, || settings.gives(config_bytes)),
                Value::List(list) => {
                    list.iter().map(|value| table(settings, value, linker, context)).collect()
                }
                other => other,
            })
            .collect();
    }
}

/// A series in a cell has the configuration of the cell's field where it has none of its own.
/// `gives` says whether there is room for one more copy of it.
fn trend(outer: &Field, inner: &Frame, gives: impl Fn() -> bool) -> Value {
    let mut inner = [inner.clone()];
    for field in inner[0].fields.iter_mut().filter(|field| field.kind == Kind::Number) {
        if !gives() {
            continue;
        }
        for (key, value) in outer.config.iter().filter(|(key, _)| *key != "displayName") {
            field.config.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    set_states(&mut inner);
    let [inner] = inner;
    Value::Frame(Arc::new(inner))
}

/// A table in a cell has the panel's defaults, and the overrides that are meant for nested ones.
fn table(
    settings: &Settings<'_>,
    value: &Value,
    linker: &mut Linker,
    context: &Context<'_>,
) -> Value {
    let Value::Frame(inner) = value else { return value.clone() };
    let mut inner = [Frame::clone(inner)];
    resolve_within(settings, &mut inner, linker, context);
    let [inner] = inner;
    Value::Frame(Arc::new(inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::of_kind;
    use crate::fields::units::Clock;
    use serde_json::{Value as Json, json};

    fn resolved(field: Field, config: Json) -> Vec<Value> {
        let mut frames = [Frame::new(vec![field])];
        let context =
            Context { interpolate: &str::to_owned, url_time_range: "", clock: Clock::default() };
        crate::fields::resolve(&of_kind(&config, ""), &mut frames, &context);
        let [frame] = frames;
        frame.fields.into_iter().flat_map(|field| field.values).collect()
    }

    fn inner() -> Value {
        let fields = vec![Field::time("Time", [1.0]), Field::number("v", [Some(5.0)])];
        Value::Frame(Arc::new(Frame::new(fields)))
    }

    #[test]
    fn a_trend_is_configured_as_its_field() {
        let trends = Field::new("Trend", Kind::Frame, vec![inner()]);
        let made = resolved(trends, json!({"defaults": {"unit": "watt"}}));
        let Value::Frame(frame) = &made[0] else { panic!("{made:?}") };
        assert_eq!(frame.fields[1].config_text("unit"), Some("watt"));
        assert_eq!(frame.fields[1].state.as_ref().unwrap().display_name, "v");
    }

    #[test]
    fn overrides_of_nested_tables_have_their_own_scope() {
        let list = Value::List([inner()].into());
        let tables = Field::new("__nestedFrames", Kind::Frame, vec![list]);
        let rule = |scope: &str, unit: &str| {
            json!({"matcher": {"id": "byName", "options": "v", "scope": scope},
                "properties": [{"id": "unit", "value": unit}]})
        };
        let overrides = json!([rule("nested", "bytes"), rule("series", "watt")]);
        let made = resolved(tables, json!({"overrides": overrides}));
        let Value::List(list) = &made[0] else { panic!("{made:?}") };
        let Value::Frame(frame) = &list[0] else { panic!("{list:?}") };
        assert_eq!(frame.fields[1].config_text("unit"), Some("bytes"));
    }
}
