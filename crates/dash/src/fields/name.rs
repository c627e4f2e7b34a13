//! The names that people see for fields: what matchers compare, legends show and headers say.
//!
//! A name that somebody chose (`displayName`, then the one that the query gave) is the name. Else it
//! is made of the frame's name where frames differ by it, the field's name unless that is just
//! `Value`, and the labels. Where all series have the same single label, its value is enough.

use std::collections::HashMap;

use crate::frame::{Field, Frame, Kind, Labels};

/// The name that fields of series have when nobody named them.
pub const VALUE: &str = "Value";

/// The names of all fields of some frames. They are composed once: each override and transformation
/// compares all of them.
#[derive(Debug, Default)]
pub struct Names {
    several: bool,
    /// By frame and field.
    seen: Vec<Vec<String>>,
}

impl Names {
    /// Reads the frames.
    pub fn new(frames: &[Frame]) -> Self {
        let around = Surroundings {
            frame_names_differ: frames.windows(2).any(|pair| pair[0].name != pair[1].name),
            single_label: single_label(frames),
        };
        let seen = frames.iter().map(|frame| around.names(frame)).collect();
        Self { several: frames.len() > 1, seen }
    }

    /// The name of a field, given by the places of its frame and of itself.
    pub fn of(&self, frame: usize, field: usize) -> &str {
        self.of_frame(frame).get(field).map_or("", String::as_str)
    }

    /// The names of all fields of a frame.
    pub fn of_frame(&self, frame: usize) -> &[String] {
        self.seen.get(frame).map_or(&[], Vec::as_slice)
    }

    /// All names, by frame and field.
    pub fn into_seen(self) -> Vec<Vec<String>> {
        self.seen
    }

    /// The name by which `groupBy` and its kin know a field: without frame and labels where there
    /// are several frames, since one option stands for the fields of all of them.
    pub fn within(&self, frames: &[Frame], frame: usize, field: usize) -> String {
        if !self.several {
            return self.of(frame, field).to_owned();
        }
        let column = frames.get(frame).and_then(|frame| frame.fields.get(field));
        let name =
            |column: &Field| column.config_text("displayName").unwrap_or(&column.name).into();
        column.map(name).unwrap_or_default()
    }
}

/// What the names of a set of frames depend on.
struct Surroundings {
    frame_names_differ: bool,
    single_label: Option<String>,
}

impl Surroundings {
    /// The names of the fields of one of the frames.
    fn names(&self, frame: &Frame) -> Vec<String> {
        let named = frame.fields.iter().zip(places(frame));
        named.map(|(field, place)| self.name(frame, field, place)).collect()
    }

    fn name(&self, frame: &Frame, field: &Field, place: Option<usize>) -> String {
        if let Some(chosen) = chosen(field) {
            return chosen.to_owned();
        }
        if field.kind == Kind::Time && field.labels.is_empty() {
            return if field.name.is_empty() { "Time".to_owned() } else { field.name.clone() };
        }
        let name = self.composed(frame, field);
        match place {
            Some(place) if name == field.name => format!("{name} {place}"),
            _ => name,
        }
    }

    fn composed(&self, frame: &Frame, field: &Field) -> String {
        let mut parts: Vec<String> = Vec::new();
        let by_frame = self.frame_names_differ && !frame.name.is_empty();
        if by_frame {
            parts.push(frame.name.clone());
        }
        if !field.name.is_empty() && field.name != VALUE {
            parts.push(field.name.clone());
        }
        let labels = match &self.single_label {
            Some(label) => field.labels.get(label).cloned().unwrap_or_default(),
            None => write_labels(&field.labels),
        };
        if !labels.is_empty() {
            parts.push(labels);
        } else if !by_frame && field.name == VALUE && !frame.name.is_empty() {
            parts.push(frame.name.clone());
        }
        if !parts.is_empty() {
            parts.join(" ")
        } else if field.name.is_empty() {
            VALUE.to_owned()
        } else {
            field.name.clone()
        }
    }
}

/// The name of a field that stands alone.
pub fn of_field(field: &Field) -> &str {
    chosen(field).unwrap_or(&field.name)
}

/// The name of a frame: its own, or that of its only field of values, or those of all.
pub fn of_frame(frame: &Frame) -> String {
    if !frame.name.is_empty() {
        return frame.name.clone();
    }
    let alone = std::slice::from_ref(frame);
    let names = Names::new(alone);
    let values = (0..frame.fields.len()).filter(|&field| frame.fields[field].kind != Kind::Time);
    values.map(|field| names.of(0, field)).collect::<Vec<_>>().join(", ")
}

/// Labels as they are written in legends: `{a="b", c="d"}`, empty where there are none.
pub fn write_labels(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let parts: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    format!("{{{}}}", parts.join(", "))
}

fn chosen(field: &Field) -> Option<&str> {
    field.config_text("displayName").or_else(|| field.config_text("displayNameFromDS"))
}

/// The label that is the only one in all frames.
fn single_label(frames: &[Frame]) -> Option<String> {
    let mut single: Option<&String> = None;
    let fields = frames.iter().flat_map(|frame| &frame.fields);
    for label in fields.flat_map(|field| field.labels.keys()) {
        match single {
            Some(known) if known != label => return None,
            _ => single = Some(label),
        }
    }
    single.cloned()
}

/// The place of each field among those of its frame with the same name, where there are others.
fn places(frame: &Frame) -> Vec<Option<usize>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for field in &frame.fields {
        *counts.entry(&field.name).or_default() += 1;
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut place = |field: &'_ Field| -> Option<usize> {
        if counts.get(field.name.as_str()).copied().unwrap_or(0) < 2 {
            return None;
        }
        let count = seen.entry(counts.get_key_value(field.name.as_str())?.0).or_default();
        *count += 1;
        Some(*count)
    };
    frame.fields.iter().map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, labels: &[(&str, &str)]) -> Frame {
        let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Frame::new(vec![
            Field::time("Time", [1.0]),
            Field::number(name, [Some(1.0)]).with_labels(labels),
        ])
    }

    fn names(frames: &[Frame]) -> Vec<String> {
        let names = Names::new(frames);
        (0..frames.len()).map(|frame| names.of(frame, 1).to_owned()).collect()
    }

    #[test]
    fn a_value_is_named_by_its_labels() {
        let frames = [series("Value", &[("a", "1"), ("b", "2")])];
        assert_eq!(names(&frames), [r#"{a="1", b="2"}"#]);
        let frames = [series("up", &[("a", "1"), ("b", "2")])];
        assert_eq!(names(&frames), [r#"up {a="1", b="2"}"#]);
    }

    #[test]
    fn one_label_for_all_series_is_named_by_its_value() {
        let frames = [series("Value", &[("gpu", "0")]), series("Value", &[("gpu", "1")])];
        assert_eq!(names(&frames), ["0", "1"]);
        let frames = [series("Value", &[("gpu", "0")]), series("Value", &[("host", "1")])];
        assert_eq!(names(&frames), [r#"{gpu="0"}"#, r#"{host="1"}"#]);
    }

    #[test]
    fn what_the_query_named_goes_before_and_what_the_dashboard_named_goes_first() {
        let mut frame = series("Value", &[("gpu", "0")]);
        frame.fields[1].config.insert("displayNameFromDS".into(), "GPU 0".into());
        assert_eq!(names(std::slice::from_ref(&frame)), ["GPU 0"]);
        frame.fields[1].config.insert("displayName".into(), "card".into());
        assert_eq!(names(std::slice::from_ref(&frame)), ["card"]);
    }

    #[test]
    fn frames_that_differ_by_name_and_fields_of_equal_names_are_told_apart() {
        let frames = [series("v", &[]).with_name("A"), series("Value", &[]).with_name("B")];
        assert_eq!(names(&frames), ["A v", "B"]);
        let twice = Frame::new(vec![Field::number("v", []), Field::number("v", [])]);
        let twice = [twice];
        assert_eq!(Names::new(&twice).of_frame(0), ["v 1", "v 2"]);
    }
}
