//! `by(…)`: spans by a value of each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::value::{Element, OwnedValue, Value};

/// Spans by value, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<(OwnedValue, Vec<u32>)>,
    /// Groups whose values have one hash.
    by_hash: HashMap<u64, Vec<usize>>,
}

impl Groups {
    /// Adds a span to the group of its value. What has none is in the group of the text "nil".
    pub(super) fn add(&mut self, value: Value<'_>, span: u32) {
        let value = if value == Value::Nil { Value::Text("nil") } else { value };
        let same_hash = self.by_hash.entry(hash(value)).or_default();
        let found =
            same_hash.iter().find(|group| is_same(self.groups[**group].0.as_value(), value));
        match found {
            Some(group) => self.groups[*group].1.push(span),
            None => {
                same_hash.push(self.groups.len());
                self.groups.push((value.into(), vec![span]));
            }
        }
    }
}

fn hash(value: Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(&value).hash(&mut hasher);
    match value {
        Value::Nil => {}
        Value::Bool(value) => value.hash(&mut hasher),
        Value::Int(value) | Value::Duration(value) => value.hash(&mut hasher),
        Value::Float(value) => value.to_bits().hash(&mut hasher),
        Value::Text(value) => value.hash(&mut hasher),
        Value::Status(value) => value.hash(&mut hasher),
        Value::Kind(value) => value.hash(&mut hasher),
        Value::Array(elements) => {
            elements.iter().for_each(|element| hash(element.as_value()).hash(&mut hasher));
        }
    }
    hasher.finish()
}

/// Whether two values are one group. Unlike in comparisons, what is not a number is the same as
/// itself, and 1 is not 1.0.
fn is_same(left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
        (Value::Array(left), Value::Array(right)) => {
            let same =
                |(left, right): (&Element, &Element)| is_same(left.as_value(), right.as_value());
            left.len() == right.len() && left.iter().zip(right).all(same)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_in_order_of_first_appearance() {
        let mut groups = Groups::default();
        let array = [Element::Float(f64::NAN)];
        let values = [
            Value::Text("b"),
            Value::Nil,
            Value::Int(1),
            Value::Text("b"),
            Value::Float(f64::NAN),
            Value::Float(1.0),
            Value::Float(f64::NAN),
            Value::Array(&array),
            Value::Array(&array),
        ];
        for (span, value) in values.into_iter().enumerate() {
            groups.add(value, span as u32);
        }
        // It is text in answers.
        assert_eq!(groups.groups[1].0, OwnedValue::Text("nil".to_owned()));
        let shown: Vec<String> =
            groups.groups.iter().map(|(value, spans)| format!("{value} {spans:?}")).collect();
        assert_eq!(shown, ["b [0, 3]", "nil [1]", "1 [2]", "NaN [4, 6]", "1 [5]", "[NaN] [7, 8]"]);
    }
}
