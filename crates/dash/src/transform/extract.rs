//! `extractFields`: columns out of texts that hold JSON, pairs, parts or what a pattern finds.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::options::Options;
use super::{Outcome, check_cells, too_many_fields};
use crate::effort;
use crate::fields::Names;
use crate::fields::pattern::{self, Pattern};
use crate::frame::{Field, Frame, Kind, Value, guess_kind};
use crate::limits;

/// How a text is taken apart.
enum Format<'a> {
    Json,
    Pairs,
    /// JSON where it is, else pairs.
    Auto,
    Delimiter(&'a str),
    Pattern(Pattern),
}

pub(super) fn apply(options: Options<'_>, frames: &[Frame]) -> Outcome {
    // Newer dashboards list several sources, older ones have one.
    let sources: Vec<Options<'_>> = match options.list("sources") {
        [] => vec![options],
        sources => sources.iter().map(Options).collect(),
    };
    let mut formats = Vec::new();
    for source in &sources {
        formats.push(format(*source)?);
    }
    let names = Names::new(frames);
    let mut made = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let seen = names.of_frame(index);
        let mut columns = Columns::default();
        let mut found = false;
        for (source, format) in sources.iter().zip(&formats) {
            let wanted = source.text("source").unwrap_or_default();
            let place = seen.iter().position(|name| name == wanted);
            let own = || frame.fields.iter().position(|field| field.name == wanted);
            let Some(place) = place.or_else(own) else { continue };
            found = true;
            for (row, value) in frame.fields[place].values.iter().enumerate() {
                effort::check_at(row)?;
                check_cells(columns.cells)?;
                take(*source, format, value, &mut |name, value| columns.set(name, row, value));
            }
        }
        let fields = columns.into_fields(frame.rows())?;
        made.push(match (found, options.truth("replace")) {
            (false, _) => frame.clone(),
            (true, true) => {
                let time = frame.first_of(Kind::Time).filter(|_| options.truth("keepTime"));
                frame.with_fields(time.cloned().into_iter().chain(fields).collect())
            }
            (true, false) => {
                frame.with_fields(frame.fields.iter().cloned().chain(fields).collect())
            }
        });
    }
    Ok(made)
}

fn format(options: Options<'_>) -> Result<Format<'_>, String> {
    Ok(match options.text("format").unwrap_or("auto") {
        "json" => Format::Json,
        "kvp" => Format::Pairs,
        "auto" => Format::Auto,
        "delimiter" => Format::Delimiter(options.text("delimiter").unwrap_or(",")),
        "regexp" => Format::Pattern(pattern::compile(
            options.text("regExp").unwrap_or("/(?<NewField>.*)/"),
        )?),
        other => return Err(format!("the format \"{other}\" is not known")),
    })
}

/// Columns in the order in which they appear.
#[derive(Default)]
struct Columns {
    places: HashMap<String, usize>,
    columns: Vec<(String, Vec<(usize, Value)>)>,
    /// All that were set, those of the same place too.
    cells: usize,
}

impl Columns {
    fn set(&mut self, name: &str, row: usize, value: Value) {
        let place = match self.places.get(name) {
            Some(&place) => place,
            // One more than is allowed is kept, so that it is refused in the end.
            None if self.columns.len() > limits::MAX_FIELDS => return,
            None => {
                self.columns.push((name.to_owned(), Vec::new()));
                self.places.insert(name.to_owned(), self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        self.columns[place].1.push((row, value));
        self.cells += 1;
    }

    fn into_fields(self, rows: usize) -> Result<Vec<Field>, String> {
        if self.columns.len() > limits::MAX_FIELDS {
            return Err(too_many_fields());
        }
        check_cells(self.columns.len() * rows)?;
        let field = |(name, cells): (String, Vec<(usize, Value)>)| {
            let mut values = vec![Value::Null; rows];
            for (row, value) in cells {
                values[row] = value;
            }
            Field::new(name, guess_kind(&values), values)
        };
        Ok(self.columns.into_iter().map(field).collect())
    }
}

fn take(
    options: Options<'_>,
    format: &Format<'_>,
    value: &Value,
    set: &mut dyn FnMut(&str, Value),
) {
    let text = match value {
        Value::Null => return,
        Value::Object(json) => return take_json(options, json, set),
        Value::List(_) => return take_json(options, &value.to_json(), set),
        value => value.to_text(),
    };
    let json = || serde_json::from_str::<Json>(&text).ok();
    match format {
        Format::Json => json().iter().for_each(|json| take_json(options, json, set)),
        Format::Auto => match json().filter(|json| json.is_object() || json.is_array()) {
            Some(json) => take_json(options, &json, set),
            None => take_pairs(&text, set),
        },
        Format::Pairs => take_pairs(&text, set),
        Format::Delimiter(delimiter) => {
            let parts = text.split(delimiter).map(str::trim).filter(|part| !part.is_empty());
            parts.for_each(|part| set(part, Value::Number(1.0)));
        }
        Format::Pattern(regex) => {
            let Some(found) = regex.find(&text) else { return };
            for name in regex.names() {
                if let Some(text) = regex.named(&found, name) {
                    set(name, text.into());
                }
            }
        }
    }
}

fn take_json(options: Options<'_>, json: &Json, set: &mut dyn FnMut(&str, Value)) {
    let paths = options.list("jsonPaths");
    for path in paths {
        let path = Options(path);
        let Some(text) = path.text("path") else { continue };
        let found = text.split('.').filter(|step| !step.is_empty()).try_fold(json, step);
        set(path.text("alias").unwrap_or(text), found.map_or(Value::Null, Value::from_json));
    }
    if !paths.is_empty() {
        return;
    }
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| set(key, Value::from_json(value))),
        Json::Array(list) => {
            let items = list.iter().enumerate();
            items.for_each(|(index, value)| set(&index.to_string(), Value::from_json(value)));
        }
        _ => {}
    }
}

/// One step of a path: a key, an index, or a key with indices behind it (`a[0]`).
fn step<'a>(json: &'a Json, step: &str) -> Option<&'a Json> {
    let mut parts = step.split(['[', ']']).filter(|part| !part.is_empty());
    parts.try_fold(json, |json, part| match part.parse::<usize>() {
        Ok(index) => json.get(index).or_else(|| json.get(part)),
        Err(_) => json.get(part),
    })
}

/// Pairs such as `a=1, "b": 'two words'; c=3`.
fn take_pairs(text: &str, set: &mut dyn FnMut(&str, Value)) {
    let (mut key, mut word, mut quote) = (None::<String>, String::new(), None::<char>);
    let mut letters = text.chars();
    let mut finish = |key: &mut Option<String>, word: &mut String| {
        match key.take() {
            Some(key) => set(&key, word.as_str().into()),
            // A word alone is a key without a value.
            None if !word.is_empty() => set(word, "".into()),
            None => {}
        }
        word.clear();
    };
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.extend(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.push(letter),
            ('"' | '\'', None) => quote = Some(letter),
            ('=' | ':', None) if key.is_none() => key = Some(std::mem::take(&mut word)),
            (',' | ';' | '&' | '{' | '}' | ' ' | '\t' | '\r' | '\n', None) => {
                // Space after the sign belongs to neither.
                if !(word.is_empty() && key.is_some() && letter.is_whitespace()) {
                    finish(&mut key, &mut word);
                }
            }
            (letter, None) => word.push(letter),
        }
    }
    finish(&mut key, &mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        take_pairs(text, &mut |name, value| found.push((name.to_owned(), value.to_text())));
        found
    }

    #[test]
    fn pairs_have_quotes_and_several_separators() {
        let expected = [("a", "1"), ("b", "2"), ("c", "3"), ("x", "y"), ("z", "d and 4")];
        let found = pairs("a=\"1\",   \"b\"='2',c=3  x: y ;\r\nz=\"d and 4\"");
        let found: Vec<(&str, &str)> =
            found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
    }
}
