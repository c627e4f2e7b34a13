//! Variables that data gives: `${__field.name}`, `${__value.raw}`, `${__data.fields.x}` and so on.
//!
//! They are put in first, and the dashboard's own variables only into the text between them: what
//! comes from data is never read as a template.

use super::display::Displayer;
use super::name::Names;
use super::units::Clock;
use crate::frame::{Field, Frame, Value};
use crate::limits::{MAX_INTERPOLATED_BYTES, MAX_NAMED_BYTES};

/// Frames with what is made of them once, for many templates.
#[derive(Debug)]
pub struct Prepared<'a> {
    /// The frames.
    pub frames: &'a [Frame],
    /// The names that people see, by frame and field.
    pub seen: Vec<Vec<String>>,
    /// What shows the values, by frame and field.
    pub displayers: Vec<Vec<Displayer<'a>>>,
}

impl<'a> Prepared<'a> {
    /// Reads the frames.
    pub fn new(frames: &'a [Frame], clock: &Clock) -> Self {
        let seen = Names::new(frames).into_seen();
        let displayer = |frame: &'a Frame| {
            frame.fields.iter().map(|field| Displayer::new(field, clock)).collect()
        };
        Self { frames, seen, displayers: frames.iter().map(displayer).collect() }
    }

    /// A value as people see it, with its unit.
    pub fn text(&self, frame: usize, field: usize, value: &Value) -> String {
        let displayer = self.displayers.get(frame).and_then(|fields| fields.get(field));
        displayer.map(|displayer| displayer.show(value).whole()).unwrap_or_default()
    }

    /// The name that people see.
    pub fn name(&self, frame: usize, field: usize) -> &str {
        self.seen.get(frame).and_then(|fields| fields.get(field)).map_or("", String::as_str)
    }
}

/// Where a template stands: a field, perhaps a row, perhaps a value that was computed.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// All frames.
    pub of: &'a Prepared<'a>,
    /// Which frame.
    pub frame: usize,
    /// Which field of it.
    pub field: usize,
    /// Which row, where there is one.
    pub row: Option<usize>,
    /// The reducer's id and its result, where a value was computed.
    pub calculated: Option<(&'a str, &'a Value)>,
    /// What `${__url_time_range}` stands for: `from=…&to=…`.
    pub url_time_range: &'a str,
}

impl Scope<'_> {
    fn frame(&self) -> Option<&Frame> {
        self.of.frames.get(self.frame)
    }

    fn field(&self) -> Option<&Field> {
        self.frame()?.fields.get(self.field)
    }

    /// The value in question.
    fn value(&self) -> Value {
        match (self.calculated, self.row, self.field()) {
            (Some((_, value)), ..) => value.clone(),
            (None, Some(row), Some(field)) => field.at(row).clone(),
            _ => Value::Null,
        }
    }

    /// What a variable stands for, none where data does not give it.
    pub fn resolve(&self, name: &str) -> Option<String> {
        if let Some(column) = name.strip_prefix("__cell_") {
            return self.cell(column.parse().ok()?, "text");
        }
        let (head, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        match head {
            "__field" => self.of_field(rest),
            "__series" if rest.starts_with("labels") => self.of_field(rest),
            // The second is what was written before there were paths, as the next two are.
            "__series" | "__series_name" => Some(super::name::of_frame(self.frame()?)),
            "__field_name" => self.of_field("displayName"),
            "__value_time" => self.of_value("time"),
            "__value" => self.of_value(rest),
            "__data" => self.of_data(rest.strip_prefix("fields")?),
            "__calc" => Some(self.calculated?.0.to_owned()),
            "__url_time_range" => Some(self.url_time_range.to_owned()),
            _ => None,
        }
    }

    fn of_field(&self, rest: &str) -> Option<String> {
        let field = self.field()?;
        match rest {
            "" | "name" => Some(field.name.clone()),
            "displayName" => Some(self.of.name(self.frame, self.field).to_owned()),
            "labels" => Some(super::name::write_labels(&field.labels)),
            rest => {
                let label = key(rest.strip_prefix("labels")?)?.0;
                // A label that a series has not is nothing, not the text of the template.
                Some(field.labels.get(label).cloned().unwrap_or_default())
            }
        }
    }

    fn of_value(&self, rest: &str) -> Option<String> {
        let value = self.value();
        Some(match rest {
            "raw" => value.to_text(),
            "numeric" => value.to_number().map(crate::frame::write_number).unwrap_or_default(),
            "calc" => self.calculated.map(|(id, _)| id.to_owned()).unwrap_or_default(),
            "time" => self.frame()?.first_of(crate::frame::Kind::Time)?.at(self.row?).to_text(),
            "text" | "" => self.of.text(self.frame, self.field, &value),
            _ => return None,
        })
    }

    fn of_data(&self, rest: &str) -> Option<String> {
        let (name, rest) = key(rest)?;
        let form = rest.strip_prefix('.').unwrap_or("text");
        let fields = &self.frame()?.fields;
        let place = match name.parse::<usize>() {
            Ok(place) if place < fields.len() => place,
            _ => {
                let seen = self.of.seen.get(self.frame)?.iter().position(|known| known == name);
                seen.or_else(|| fields.iter().position(|field| field.name == name))?
            }
        };
        self.cell(place, form)
    }

    fn cell(&self, place: usize, form: &str) -> Option<String> {
        let field = self.frame()?.fields.get(place)?;
        let value = match self.row {
            Some(row) => field.at(row),
            None if field.values.len() == 1 => field.at(0),
            None => return Some(String::new()),
        };
        Some(match form {
            "numeric" => value.to_number().map(crate::frame::write_number).unwrap_or_default(),
            "raw" => value.to_text(),
            _ => self.of.text(self.frame, place, value),
        })
    }
}

/// The key at the beginning of a path (`.x`, `["x y"]`, `[0]`), and what follows it.
fn key(path: &str) -> Option<(&str, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (key, rest) = rest.split_once(']')?;
        return Some((key.trim_matches(['"', '\'']), rest));
    }
    let path = path.strip_prefix('.')?;
    Some(path.split_at(path.find(['.', '[']).unwrap_or(path.len())))
}

/// What a variable of data stands for: its name, the format that is asked for, and its place in the
/// template are given.
pub type Resolve<'a> = &'a dyn Fn(&str, Option<&str>, usize) -> Option<String>;

/// Puts variables into a template. `scope` answers those of data; `interpolate` gets the text
/// between them, with the dashboard's variables.
pub fn expand(template: &str, scope: Resolve<'_>, interpolate: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    let mut between = 0;
    let mut at = 0;
    while let Some(found) = template[at..].find('$') {
        let start = at + found;
        let (inner, end) = match variable(&template[start..]) {
            Some((inner, length)) => (inner, start + length),
            None => {
                at = start + 1;
                continue;
            }
        };
        let (name, format) = split_format(inner);
        if let Some(value) = scope(name, format, start) {
            if between < start {
                text.push_str(&interpolate(&template[between..start]));
            }
            text.push_str(&value);
            between = end;
            if text.len() > MAX_INTERPOLATED_BYTES {
                return text;
            }
        }
        at = end;
    }
    if between < template.len() {
        text.push_str(&interpolate(&template[between..]));
    }
    text
}

/// The variable at the beginning of a text (`${name}` or `$name`), and how long it is.
fn variable(text: &str) -> Option<(&str, usize)> {
    if let Some(rest) = text.strip_prefix("${") {
        // No further than a variable is long: many without an end would take time with their square.
        let near = &rest.as_bytes()[..rest.len().min(MAX_NAMED_BYTES)];
        let end = near.iter().position(|byte| *byte == b'}')?;
        return Some((&rest[..end], end + 3));
    }
    let rest = text.strip_prefix('$')?;
    let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    (length > 0).then(|| (&rest[..length], length + 1))
}

/// A name and its format: `name:format`, where the name may hold colons within brackets.
fn split_format(inner: &str) -> (&str, Option<&str>) {
    let after_brackets = inner.rfind(']').map_or(0, |at| at + 1);
    match inner[after_brackets..].find(':') {
        Some(at) => (&inner[..after_brackets + at], Some(&inner[after_brackets + at + 1..])),
        None => (inner, None),
    }
}
