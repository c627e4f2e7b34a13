//! Attributes that a job writes down itself, in files whose names end in `.attrs`: the way to add
//! what no tool's output tells.
//!
//! ```text
//! wheel.abi=3
//! coverage.ratio=0.87
//! is_release=true
//! commit="0012345"
//! {"model": {"layers": 12, "shape": [3, 4]}}
//! ```
//!
//! A value is a whole number, a number, `true` or `false`, and text otherwise; quotes around it make
//! it text, and so does a zero in front, which no number has. Objects within JSON become names with
//! full stops, `model.layers`; lists become their JSON, and `null` nothing. The last value of a name
//! counts. A line that is neither form is left out, with a warning.

use serde_json::Value as Json;

use super::folder::StashFile;
use super::limits::{MAX_ATTRIBUTES, MAX_NAME_BYTES};
use super::text::{BadLines, bounded_text, numbered_lines};
use crate::attributes::{Attributes, Value};
use crate::warnings::Warnings;

/// The attributes of all files, for the job.
pub(super) fn read(files: &[&StashFile], warnings: &mut Warnings) -> Attributes {
    let mut attributes = Attributes::new();
    for file in files {
        if let Some(text) = file.text(warnings) {
            parse(&text, &file.shown(), &mut attributes, warnings);
        }
    }
    attributes
}

fn parse(text: &str, file: &str, attributes: &mut Attributes, warnings: &mut Warnings) {
    let mut bad = BadLines::new(file, warnings);
    for (number, line) in numbered_lines(text) {
        let line = line.trim();
        let result = match line {
            "" => Ok(()),
            _ if line.starts_with('{') => take_json(line, attributes),
            _ => take_pair(line, attributes),
        };
        if let Err(what) = result {
            bad.add(number, what);
        }
    }
    bad.finish();
}

fn take_pair(line: &str, attributes: &mut Attributes) -> Result<(), &'static str> {
    let (name, value) = line.split_once('=').ok_or("is neither key=value nor a JSON object")?;
    set(attributes, name.trim(), value_of(value.trim()))
}

fn take_json(line: &str, attributes: &mut Attributes) -> Result<(), &'static str> {
    let object: Json = serde_json::from_str(line).map_err(|_| "is no JSON object")?;
    take_object("", &object, attributes)
}

/// serde_json reads no more than 128 objects within each other, so neither does this.
fn take_object(name: &str, json: &Json, attributes: &mut Attributes) -> Result<(), &'static str> {
    let value = match json {
        Json::Object(members) => {
            let mut result = Ok(());
            for (member, value) in members {
                let name = if name.is_empty() { member } else { &format!("{name}.{member}") };
                result = result.and(take_object(name, value, attributes));
            }
            return result;
        }
        Json::Null => return Ok(()),
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Double(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::Text(bounded_text(text)),
        Json::Array(_) => Value::Text(bounded_text(&json.to_string())),
    };
    set(attributes, name, value)
}

fn set(attributes: &mut Attributes, name: &str, value: Value) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("has a value without a name");
    }
    if name.len() > MAX_NAME_BYTES {
        return Err("has a name that is too long");
    }
    if attributes.len() == MAX_ATTRIBUTES && attributes.get(name).is_none() {
        return Err("is left out, there are too many attributes");
    }
    attributes.set(name, value);
    Ok(())
}

fn value_of(text: &str) -> Value {
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)));
    match (quoted, text) {
        (Some(text), _) => Value::Text(bounded_text(text)),
        (None, "true") => Value::Bool(true),
        (None, "false") => Value::Bool(false),
        (None, _) => number(text).unwrap_or_else(|| Value::Text(bounded_text(text))),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let has_leading_zero =
        digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    // Words such as `inf` and `nan` are text, although they can be read as numbers.
    if has_leading_zero || !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        return None;
    }
    match text.parse::<i64>() {
        Ok(whole) => Some(Value::Int(whole)),
        // A hash such as 12e4567 is no number that there is.
        Err(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "a.int=-3\r\nb = 0.5\nflag=true\ntext=one = two\n\nquoted=\"12\"\n\
        {\"model\": {\"layers\": 12, \"shape\": [3, 4], \"none\": null, \"deep\": {\"x\": \"y\"}}}\n";

    fn parsed(text: &str) -> (Attributes, Warnings) {
        let (mut attributes, mut warnings) = (Attributes::new(), Warnings::new());
        parse(text, "f.attrs", &mut attributes, &mut warnings);
        (attributes, warnings)
    }

    #[test]
    fn lines_and_objects_become_attributes() {
        let (attributes, warnings) = parsed(LINES);
        let expected: Vec<(&str, Value)> = vec![
            ("a.int", Value::Int(-3)),
            ("b", Value::Double(0.5)),
            ("flag", Value::Bool(true)),
            ("text", "one = two".into()),
            ("quoted", "12".into()),
            ("model.deep.x", "y".into()),
            ("model.layers", Value::Int(12)),
            ("model.shape", "[3,4]".into()),
        ];
        assert_eq!(attributes, expected.into_iter().collect());
        assert!(warnings.all().is_empty(), "{warnings:?}");
    }

    #[test]
    fn values_are_numbers_only_if_they_look_like_numbers() {
        for (text, value) in [
            ("7", Value::Int(7)),
            ("0", Value::Int(0)),
            ("-0.5", Value::Double(-0.5)),
            (".5", Value::Double(0.5)),
            ("1e3", Value::Double(1000.0)),
            ("18446744073709551615", Value::Double(18_446_744_073_709_551_615.0)),
            ("007", "007".into()),
            ("12e4567", "12e4567".into()),
            ("1.2.3", "1.2.3".into()),
            ("nan", "nan".into()),
            ("-inf", "-inf".into()),
            ("True", "True".into()),
            ("'true'", "true".into()),
            ("\"", "\"".into()),
            ("", "".into()),
        ] {
            assert_eq!(value_of(text), value, "{text}");
        }
    }

    #[test]
    fn bad_lines_are_left_out_by_number_and_the_last_value_counts() {
        let (attributes, warnings) =
            parsed("a=1\nnothing\n{\"b\":\n=5\n{\"\": 1, \"c\": 2}\na=9\n");
        let expected: Attributes = [("a", 9_i64), ("c", 2)].into_iter().collect();
        assert_eq!(attributes, expected);
        let expected = [
            "f.attrs: line 2 is neither key=value nor a JSON object",
            "f.attrs: line 3 is no JSON object",
            "f.attrs: line 4 has a value without a name",
            "f.attrs: line 5 has a value without a name",
        ];
        assert_eq!(warnings.all(), expected);
    }

    #[test]
    fn more_attributes_than_the_limit_are_a_warning() {
        let text: String = (0..MAX_ATTRIBUTES + 2).map(|number| format!("a{number}=1\n")).collect();
        let (attributes, warnings) = parsed(&format!("{text}a0=2\n"));
        assert_eq!(attributes.len(), MAX_ATTRIBUTES);
        assert_eq!(attributes.get("a0"), Some(&Value::Int(2)));
        assert_eq!(warnings.all().len(), 2);
        assert!(warnings.all()[0].contains("too many attributes"), "{warnings:?}");
    }

    #[test]
    fn nothing_that_a_file_holds_makes_the_parser_panic() {
        let deep = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500));
        assert_eq!(parsed(&deep).1.all(), ["f.attrs: line 1 is no JSON object"]);
        super::super::tests::mutations(LINES, |bytes| {
            parsed(&crate::text::decode(&bytes));
        });
    }
}
