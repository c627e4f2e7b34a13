//! Fields of a JSON object, which may be missing, null, or not what they should be.

use serde_json::Value;

use crate::model::{Conclusion, Nanos};
use crate::times::{Moment, parse};
use crate::warnings::Warnings;

/// Characters of a wrong value that a warning shows.
const SHOWN_CHARS: usize = 60;

/// An object, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    object: &'a Value,
    file: &'a str,
    path: String,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: &'a Value, file: &'a str, path: &str) -> Self {
        Self { object, file, path: path.to_owned() }
    }

    /// File and place, for warnings.
    pub(super) fn place(&self) -> String {
        if self.path.is_empty() {
            self.file.to_owned()
        } else {
            format!("{}: {}", self.file, self.path)
        }
    }

    /// What a field holds; nothing if it is missing.
    pub(super) fn child(&self, name: &str) -> Self {
        let object = self.object.get(name).unwrap_or(&Value::Null);
        let path =
            if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { object, file: self.file, path }
    }

    /// An element of this list.
    pub(super) fn element(&self, nth: usize, element: &'a Value) -> Self {
        Self { object: element, file: self.file, path: format!("{}[{nth}]", self.path) }
    }

    /// The first element of this list.
    pub(super) fn first(&self) -> Self {
        let first = self.elements().first().unwrap_or(&Value::Null);
        self.element(0, first)
    }

    /// The elements, if this is a list.
    pub(super) fn elements(&self) -> &'a [Value] {
        self.object.as_array().map_or(&[], Vec::as_slice)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(|value| !value.is_null())
    }

    /// The first of these fields that is there.
    fn find(&self, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        names.iter().find_map(|name| {
            let value = self.object.get(*name).filter(|value| !value.is_null())?;
            Some((*name, value))
        })
    }

    pub(super) fn text(&self, names: &[&'static str], warnings: &mut Warnings) -> Option<String> {
        match self.find(names)? {
            (_, Value::String(text)) if text.is_empty() => None,
            (_, Value::String(text)) => Some(text.clone()),
            (name, other) => {
                self.warn(name, other, "a text", warnings);
                None
            }
        }
    }

    pub(super) fn number(&self, names: &[&'static str], warnings: &mut Warnings) -> Option<u64> {
        let (name, value) = self.find(names)?;
        // `gh` writes some numbers as texts.
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        if number.is_none() {
            self.warn(name, value, "a whole number", warnings);
        }
        number
    }

    pub(super) fn texts(&self, name: &'static str, warnings: &mut Warnings) -> Vec<String> {
        let Some((_, value)) = self.find(&[name]) else { return Vec::new() };
        match value.as_array() {
            Some(list) => list.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect(),
            None => {
                self.warn(name, value, "a list of texts", warnings);
                Vec::new()
            }
        }
    }

    pub(super) fn time(&self, names: &[&'static str], warnings: &mut Warnings) -> Option<Nanos> {
        let (name, value) = self.find(names)?;
        match value.as_str().map_or(Moment::Unknown, parse) {
            Moment::At(nanos) => Some(nanos),
            Moment::Never => None,
            Moment::Unknown => {
                self.warn(name, value, "a time such as 2026-01-02T03:04:05Z", warnings);
                None
            }
        }
    }

    pub(super) fn conclusion(&self, warnings: &mut Warnings) -> Option<Conclusion> {
        let conclusion = Conclusion::of(&self.text(&["conclusion"], warnings)?);
        if let Conclusion::Other(word) = &conclusion {
            let known = "success, failure, cancelled, skipped, timed_out and so on";
            warnings.add(format!(
                "{}: conclusion is {word:?}, which is none of {known}: kept as it is",
                self.place()
            ));
        }
        Some(conclusion)
    }

    fn warn(&self, name: &str, value: &Value, expected: &str, warnings: &mut Warnings) {
        let shown: String = value.to_string().chars().take(SHOWN_CHARS).collect();
        let place = self.child(name).place();
        warnings.add(format!("{place} is {shown}, expected {expected}: left out"));
    }
}
