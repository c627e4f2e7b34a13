//! `convertFieldType`: the same values as another kind.
//!
//! Null stays null, where Grafana writes the text "null". The texts "false", "0" and "" are false.
//! An enumeration without texts is left as it is.

use std::collections::HashMap;

use chrono_tz::Tz;
use serde_json::{Value as Json, json};

use super::options::Options;
use super::{Outcome, map_fields};
use crate::effort;
use crate::fields::units::date;
use crate::fields::{FieldMatcher, Names, Place};
use crate::frame::{Field, Frame, Kind, Value, parse_number};

pub(super) fn apply(options: Options<'_>, frames: &[Frame], zone: Tz) -> Outcome {
    options.expect("conversions", "a list", Json::is_array)?;
    let mut made = frames.to_vec();
    for conversion in options.list("conversions") {
        let conversion = Options(conversion);
        let Some(target) = conversion.text("targetField") else { continue };
        effort::check()?;
        let matcher = FieldMatcher::Names(vec![target.to_owned()]);
        let names = Names::new(&made);
        made = map_fields(&made, |frame, at, field| {
            let place = Place { frames: &made, names: &names, frame, field: at };
            if matcher.matches(&place) { convert(field, conversion, zone) } else { field.clone() }
        });
    }
    Ok(made)
}

fn convert(field: &Field, conversion: Options<'_>, zone: Tz) -> Field {
    let format = conversion.text("dateFormat");
    let zone = date::zone(conversion.text("timezone"), zone);
    let kind = conversion.text("destinationType").and_then(Kind::from_name);
    let each = |kind: Kind, convert: &dyn Fn(&Value) -> Value| {
        let values = field.values.iter().map(convert).collect();
        Field { kind, ..field.with_values(values) }
    };
    match kind {
        Some(Kind::Time) => each(Kind::Time, &|value| to_time(value, format, zone).into()),
        Some(Kind::Number) => each(Kind::Number, &|value| to_number(field, value).into()),
        Some(Kind::String) => {
            let join = conversion.text("joinWith");
            each(Kind::String, &|value| to_text(field, value, format, zone, join))
        }
        Some(Kind::Boolean) => each(Kind::Boolean, &|value| is_true(value).into()),
        Some(Kind::Enum) => to_enum(field, conversion.within("enumConfig")),
        Some(Kind::Other) => each(Kind::Other, &parsed),
        Some(Kind::Frame) | None => field.clone(),
    }
}

fn to_time(value: &Value, format: Option<&str>, zone: Tz) -> Option<f64> {
    match value {
        Value::Number(number) if format == Some("X") => Some(number * 1e3),
        Value::Number(number) => Some(*number),
        Value::Text(text) => date::parse(text, format, zone),
        _ => None,
    }
}

fn to_number(field: &Field, value: &Value) -> Option<f64> {
    let number = match value {
        Value::Text(text) => parse_number(&text.replace(',', "")),
        Value::Number(index) if field.kind == Kind::Enum => {
            let text = field.enum_texts().get(*index as usize).and_then(Json::as_str);
            text.and_then(parse_number).or(Some(*index))
        }
        value => value.to_number(),
    };
    number.filter(|number| number.is_finite())
}

/// A value as text; times by a pattern, lists joined.
pub(super) fn to_text(
    field: &Field,
    value: &Value,
    format: Option<&str>,
    zone: Tz,
    join: Option<&str>,
) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Number(millis) if field.kind == Kind::Time => {
            let format = format.unwrap_or("YYYY-MM-DDTHH:mm:ssZ");
            date::format(*millis, format, zone).map_or(Value::Null, Value::from)
        }
        Value::Number(index) if field.kind == Kind::Enum => {
            let text = field.enum_texts().get(*index as usize);
            text.map_or_else(|| value.to_text().into(), Value::from_json)
        }
        Value::List(values) => match join {
            Some(join) => values.iter().map(Value::to_text).collect::<Vec<_>>().join(join).into(),
            None => value.to_json().to_string().into(),
        },
        value => value.to_text().into(),
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Boolean(truth) => *truth,
        Value::Number(number) => *number != 0.0 && !number.is_nan(),
        Value::Text(text) => !matches!(&**text, "" | "0" | "false" | "False" | "FALSE"),
        _ => true,
    }
}

fn to_enum(field: &Field, config: Options<'_>) -> Field {
    let texts = config.list("text");
    if texts.is_empty() {
        return field.clone();
    }
    let text = |json: &Json| Value::from_json(json).to_text();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, known) in texts.iter().enumerate() {
        places.insert(text(known), index);
    }
    let place = |value: &Value| match value {
        Value::Null => Value::Null,
        value => places.get(&value.to_text()).map_or(Value::Null, |&place| place.into()),
    };
    let mut made = field.with_values(field.values.iter().map(place).collect());
    made.kind = Kind::Enum;
    made.config.insert("type".to_owned(), json!({"enum": config.0}));
    made
}

fn parsed(value: &Value) -> Value {
    match value {
        Value::Text(text) => {
            serde_json::from_str(text).map_or(Value::Null, |json: Json| Value::from_json(&json))
        }
        other => other.clone(),
    }
}
