//! Attributes: names with values, in the order in which they were set.

use std::fmt;

use kymo_wire::AnyValueView;

/// What an attribute holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Yes or no.
    Bool(bool),
}

impl Value {
    /// The value as OTLP has it.
    #[must_use]
    pub fn view(&self) -> AnyValueView<'_> {
        match self {
            Self::Text(text) => AnyValueView::String(text.as_bytes()),
            Self::Int(number) => AnyValueView::Int(*number),
            Self::Double(number) => AnyValueView::Double(*number),
            Self::Bool(flag) => AnyValueView::Bool(*flag),
        }
    }

    /// The number, whichever kind it is of.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            Self::Text(_) | Self::Bool(_) => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::Bool(flag) => flag.fmt(f),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// Attributes of a span or a resource. A name is there once: who sets it again replaces the value,
/// and its place stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(Vec<(String, Value)>);

impl Attributes {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    /// Sets a value if there is one.
    pub fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Sets all of these.
    pub fn extend(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            self.set(name.as_str(), value.clone());
        }
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of a name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_text)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Keeps those with such a name.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| is_kept(name));
    }

    /// Leaves out the first so many.
    pub fn drop_first(&mut self, count: usize) {
        self.0.drain(..count.min(self.0.len()));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut attributes = Self::new();
        for (name, value) in pairs {
            attributes.set(name, value);
        }
        attributes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_name_counts_and_its_first_place() {
        let mut attributes: Attributes = [("a", 1_i64), ("b", 2), ("a", 3)].into_iter().collect();
        assert_eq!(
            attributes.iter().collect::<Vec<_>>(),
            [("a", &3_i64.into()), ("b", &2_i64.into())]
        );
        attributes.retain(|name| name != "a");
        assert_eq!(attributes.len(), 1);
    }
}
