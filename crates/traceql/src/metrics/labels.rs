//! Order and identity of labels, and the numbers that groups get.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::Series;
use crate::value::{Element, OwnedValue};

/// The label that says what was measured, where nothing else tells a series from others.
pub(super) const NAME: &str = "__name__";

/// What an answer shows where there is no value.
pub(super) const NIL: &str = "nil";

/// Sorts series by their labels, so that the same answer always looks the same.
pub(super) fn sort(series: &mut [Series]) {
    series.sort_by(|a, b| compare_labels(&a.labels, &b.labels));
}

/// Labels in their order: by key, then by value.
pub(super) fn compare_labels(a: &[(String, OwnedValue)], b: &[(String, OwnedValue)]) -> Ordering {
    let pairs = a.iter().zip(b).map(|((a_key, a_value), (b_key, b_value))| {
        a_key.cmp(b_key).then_with(|| compare_values(a_value, b_value))
    });
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// By type, then by value.
pub(super) fn compare_values(a: &OwnedValue, b: &OwnedValue) -> Ordering {
    match (a, b) {
        (OwnedValue::Bool(a), OwnedValue::Bool(b)) => a.cmp(b),
        (OwnedValue::Int(a), OwnedValue::Int(b))
        | (OwnedValue::Duration(a), OwnedValue::Duration(b)) => a.cmp(b),
        (OwnedValue::Float(a), OwnedValue::Float(b)) => a.total_cmp(b),
        (OwnedValue::Text(a), OwnedValue::Text(b)) => a.cmp(b),
        (OwnedValue::Status(a), OwnedValue::Status(b)) => a.cmp(b),
        (OwnedValue::Kind(a), OwnedValue::Kind(b)) => a.cmp(b),
        (OwnedValue::Array(a), OwnedValue::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_elements(a, b));
            pairs.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => type_number(a).cmp(&type_number(b)),
    }
}

fn compare_elements(a: &Element, b: &Element) -> Ordering {
    match (a, b) {
        (Element::Bool(a), Element::Bool(b)) => a.cmp(b),
        (Element::Int(a), Element::Int(b)) => a.cmp(b),
        (Element::Float(a), Element::Float(b)) => a.total_cmp(b),
        (Element::Text(a), Element::Text(b)) => a.cmp(b),
        _ => element_type_number(a).cmp(&element_type_number(b)),
    }
}

fn type_number(value: &OwnedValue) -> u8 {
    match value {
        OwnedValue::Nil => 0,
        OwnedValue::Bool(_) => 1,
        OwnedValue::Int(_) => 2,
        OwnedValue::Float(_) => 3,
        OwnedValue::Duration(_) => 4,
        OwnedValue::Text(_) => 5,
        OwnedValue::Status(_) => 6,
        OwnedValue::Kind(_) => 7,
        OwnedValue::Array(_) => 8,
    }
}

fn element_type_number(element: &Element) -> u8 {
    match element {
        Element::Bool(_) => 1,
        Element::Int(_) => 2,
        Element::Float(_) => 3,
        Element::Text(_) => 5,
    }
}

/// Writes a value so that two are written alike if and only if they are the same, and none is the
/// beginning of another.
pub(super) fn write_key(value: &OwnedValue, key: &mut Vec<u8>) {
    key.push(type_number(value));
    match value {
        OwnedValue::Nil => {}
        OwnedValue::Bool(value) => key.push(u8::from(*value)),
        OwnedValue::Int(value) | OwnedValue::Duration(value) => {
            key.extend_from_slice(&value.to_le_bytes());
        }
        OwnedValue::Float(value) => key.extend_from_slice(&plain(*value).to_le_bytes()),
        OwnedValue::Text(text) => write_text(text, key),
        OwnedValue::Status(status) => key.push(*status as u8),
        OwnedValue::Kind(kind) => key.push(*kind as u8),
        OwnedValue::Array(elements) => {
            key.extend_from_slice(&elements.len().to_le_bytes());
            for element in elements {
                key.push(element_type_number(element));
                match element {
                    Element::Bool(value) => key.push(u8::from(*value)),
                    Element::Int(value) => key.extend_from_slice(&value.to_le_bytes()),
                    Element::Float(value) => {
                        key.extend_from_slice(&plain(*value).to_le_bytes());
                    }
                    Element::Text(text) => write_text(text, key),
                }
            }
        }
    }
}

fn write_text(text: &str, key: &mut Vec<u8>) {
    key.extend_from_slice(&text.len().to_le_bytes());
    key.extend_from_slice(text.as_bytes());
}

/// One bit pattern for each number: zero has no sign, and there is one NaN.
pub(super) fn plain(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn plain_value(value: &OwnedValue) -> OwnedValue {
    match value {
        OwnedValue::Float(value) => OwnedValue::Float(plain(*value)),
        other => other.clone(),
    }
}

/// Numbers for lists of values: the same list has the same number.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    by_key: HashMap<Box<[u8]>, u32>,
    values: Vec<Box<[OwnedValue]>>,
    /// Kept from call to call, so that a list that is known costs no allocation.
    key: Vec<u8>,
    owned_bytes: usize,
}

impl Numbers {
    /// The number of a list. Numbers count from zero.
    #[inline]
    pub(super) fn number<'a>(
        &mut self,
        values: impl Iterator<Item = &'a OwnedValue> + Clone,
    ) -> u32 {
        self.key.clear();
        for value in values.clone() {
            write_key(value, &mut self.key);
        }
        match self.by_key.get(self.key.as_slice()) {
            Some(number) => *number,
            None => self.new_number(values.map(plain_value).collect()),
        }
    }

    #[cold]
    fn new_number(&mut self, values: Box<[OwnedValue]>) -> u32 {
        // Memory ends long before numbers do.
        let number = self.values.len() as u32;
        // What texts and arrays own is about as much as they take in the key.
        self.owned_bytes += 2 * self.key.len() + size_of_val(&*values);
        self.by_key.insert(self.key.as_slice().into(), number);
        self.values.push(values);
        number
    }

    /// How many lists there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The lists, by number.
    pub(super) fn values(&self) -> &[Box<[OwnedValue]>] {
        &self.values
    }

    /// An estimate of memory.
    pub(super) fn bytes(&self) -> usize {
        self.owned_bytes
            + self.by_key.capacity() * size_of::<(Box<[u8]>, u32)>()
            + self.values.capacity() * size_of::<Box<[OwnedValue]>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Kind, Status};
    use crate::metrics::testing::text;

    fn different_values() -> Vec<OwnedValue> {
        // In their order.
        vec![
            OwnedValue::Nil,
            OwnedValue::Bool(false),
            OwnedValue::Bool(true),
            OwnedValue::Int(-1),
            OwnedValue::Int(1),
            OwnedValue::Float(f64::NEG_INFINITY),
            OwnedValue::Float(-1.0),
            OwnedValue::Float(0.0),
            OwnedValue::Float(1.0),
            OwnedValue::Float(f64::NAN),
            OwnedValue::Duration(1),
            text(""),
            text("1"),
            text("nil"),
            OwnedValue::Status(Status::Ok),
            OwnedValue::Status(Status::Error),
            OwnedValue::Kind(Kind::Internal),
            OwnedValue::Array(vec![]),
            OwnedValue::Array(vec![Element::Int(1)]),
            OwnedValue::Array(vec![Element::Int(1), Element::Int(2)]),
            OwnedValue::Array(vec![Element::Text("1".into())]),
        ]
    }

    #[test]
    fn values_are_ordered_by_type_and_then_by_value() {
        let values = different_values();
        for (a_number, a) in values.iter().enumerate() {
            for (b_number, b) in values.iter().enumerate() {
                assert_eq!(compare_values(a, b), a_number.cmp(&b_number), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_same_values_have_the_same_number_and_others_do_not() {
        let values = different_values();
        let mut numbers = Numbers::default();
        let mut expected = 0;
        for a in &values {
            for b in &values {
                assert_eq!(numbers.number([a, b].into_iter()), expected);
                expected += 1;
            }
        }
        for (number, key) in numbers.values().to_vec().iter().enumerate() {
            assert_eq!(numbers.number(key.iter()), number as u32);
        }
        assert_eq!(numbers.len(), values.len() * values.len());
        assert!(numbers.bytes() > 441 * 80);
    }

    #[test]
    fn a_text_cannot_pretend_to_be_two() {
        let mut numbers = Numbers::default();
        let one = numbers.number([&text("a\u{5}b"), &text("c")].into_iter());
        let other = numbers.number([&text("a"), &text("b\u{5}c")].into_iter());
        assert_ne!(one, other);
    }

    #[test]
    fn zero_has_no_sign_and_there_is_one_nan() {
        let mut numbers = Numbers::default();
        let number =
            |numbers: &mut Numbers, value| numbers.number([&OwnedValue::Float(value)].into_iter());
        assert_eq!(number(&mut numbers, -0.0), number(&mut numbers, 0.0));
        assert_eq!(number(&mut numbers, f64::NAN), number(&mut numbers, -f64::NAN));
        let OwnedValue::Float(zero) = numbers.values()[0][0] else { panic!("not a float") };
        assert!(zero.is_sign_positive());
    }
}
