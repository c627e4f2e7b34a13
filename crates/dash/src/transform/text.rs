//! `formatTime` and `formatString`: the texts of a column written otherwise.

use chrono_tz::Tz;

use super::options::Options;
use super::{Outcome, convert, map_fields};
use crate::fields::units::date;
use crate::fields::{FieldMatcher, Names, Place};
use crate::frame::{Frame, Kind, Value};

pub(super) fn format_time(options: Options<'_>, frames: &[Frame], zone: Tz) -> Outcome {
    let wanted = options.text("timeField").unwrap_or_default();
    let zone = date::zone(options.text("timezone"), zone);
    let format = options.text("outputFormat");
    let names = Names::new(frames);
    Ok(map_fields(frames, |frame, at, field| {
        if names.of(frame, at) != wanted {
            return field.clone();
        }
        let text = |value: &Value| convert::to_text(field, value, format, zone, None);
        let mut made = field.with_values(field.values.iter().map(text).collect());
        made.kind = Kind::String;
        made
    }))
}

pub(super) fn format_string(options: Options<'_>, frames: &[Frame]) -> Outcome {
    let wanted = options.text("stringField").unwrap_or_default();
    let matcher = FieldMatcher::Names(vec![wanted.to_owned()]);
    let format = options.text("outputFormat").unwrap_or("Upper Case");
    let whole = |key: &str| options.number(key).filter(|number| *number >= 0.0);
    let part = (whole("substringStart").unwrap_or(0.0) as usize, whole("substringEnd"));
    if styled("", format, part).is_none() {
        return Err(format!("the output format \"{format}\" is not known"));
    }
    let names = Names::new(frames);
    Ok(map_fields(frames, |frame, at, field| {
        let place = Place { frames, names: &names, frame, field: at };
        if field.kind != Kind::String || !matcher.matches(&place) {
            return field.clone();
        }
        let text = |value: &Value| match value {
            Value::Text(text) => styled(text, format, part).map_or(Value::Null, Value::from),
            other => other.clone(),
        };
        field.with_values(field.values.iter().map(text).collect())
    }))
}

fn styled(text: &str, format: &str, (start, end): (usize, Option<f64>)) -> Option<String> {
    Some(match format {
        "Upper Case" => text.to_uppercase(),
        "Lower Case" => text.to_lowercase(),
        "Sentence Case" => with_first(text, |letter| letter.to_uppercase().collect()),
        "Title Case" => capitals(text).join(" "),
        "Pascal Case" => capitals(text).concat(),
        "Camel Case" => {
            with_first(&capitals(text).concat(), |letter| letter.to_lowercase().collect())
        }
        "Snake Case" => text.to_lowercase().replace(' ', "_"),
        "Kebab Case" => text.to_lowercase().replace(' ', "-"),
        "Trim" => text.trim().to_owned(),
        "Substring" => {
            // The ends may be given in either order.
            let length = text.chars().count();
            let (start, end) =
                (start.min(length), end.map_or(length, |end| end as usize).min(length));
            text.chars().skip(start.min(end)).take(start.max(end) - start.min(end)).collect()
        }
        _ => return None,
    })
}

fn with_first(text: &str, change: impl Fn(char) -> String) -> String {
    let mut letters = text.chars();
    letters.next().map(change).unwrap_or_default() + letters.as_str()
}

fn capitals(text: &str) -> Vec<String> {
    let word =
        |word: &str| with_first(&word.to_lowercase(), |letter| letter.to_uppercase().collect());
    text.split(' ').map(word).collect()
}
