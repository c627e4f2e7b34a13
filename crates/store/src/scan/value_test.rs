//! A test of one value, whatever its type.

use hashbrown::HashSet;
use kymo_wire::AnyValueView;
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::int_test::{IntTest, compare};
use super::need::{Need, Required};
use super::predicate::{Op, Scalar};
use crate::error::StoreError;
use crate::limits::{CONTAINED_MAX_BYTES, REGEX_MAX_BYTES};
use crate::schema::ValueType;

/// A test of one value.
#[derive(Debug)]
pub(super) enum ValueTest {
    /// Any value passes.
    Exists,
    /// Values that compare so.
    Compare(Op, Scalar),
    /// Values that equal one of these.
    In(Choices),
    /// Texts that match, or those that do not.
    Match { regex: Regex, negated: bool, required: Required },
    /// Texts that have this somewhere in them, or those that have not.
    Contains { finder: Finder<'static>, negated: bool },
}

/// Values to look for, by type.
#[derive(Debug, Default)]
pub(super) struct Choices {
    texts: HashSet<Vec<u8>>,
    bytes: HashSet<Vec<u8>>,
    bools: Vec<bool>,
    ints: Vec<i64>,
    doubles: Vec<f64>,
}

impl Choices {
    pub(super) fn new(values: &[Scalar]) -> Self {
        let mut choices = Self::default();
        for value in values {
            match value {
                Scalar::String(value) => {
                    choices.texts.insert(value.clone().into_bytes());
                }
                Scalar::Bytes(value) => {
                    choices.bytes.insert(value.clone());
                }
                Scalar::Bool(value) => choices.bools.push(*value),
                Scalar::Int(value) => choices.ints.push(*value),
                Scalar::Double(value) => choices.doubles.push(*value),
            }
        }
        choices.ints.sort_unstable();
        choices.ints.dedup();
        choices
    }
}

impl ValueTest {
    /// The test of a regular expression, which must compile within bounds.
    pub(super) fn regex(pattern: &str, negated: bool) -> Result<Self, StoreError> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(REGEX_MAX_BYTES)
            .dfa_size_limit(REGEX_MAX_BYTES)
            .build()
            .map_err(|error| {
                StoreError::Query(format!("invalid regular expression `{pattern}`: {error}"))
            })?;
        Ok(Self::Match { regex, negated, required: Required::of_regex(pattern) })
    }

    /// The same test for one thread alone, where several get in one another's way:
    /// a regular expression lends its states to one of them at a time.
    pub(super) fn of_own(&self) -> Option<Self> {
        match self {
            Self::Match { regex, negated, required } => Some(Self::Match {
                regex: regex.clone(),
                negated: *negated,
                required: required.clone(),
            }),
            _ => None,
        }
    }

    /// The test of a text within a text, which must be of bounded length.
    pub(super) fn contains(text: &str, negated: bool) -> Result<Self, StoreError> {
        if text.len() > CONTAINED_MAX_BYTES {
            return Err(StoreError::Query(format!(
                "a text of {} bytes is too long to look for: at most {CONTAINED_MAX_BYTES}",
                text.len()
            )));
        }
        Ok(Self::Contains { finder: Finder::new(text.as_bytes()).into_owned(), negated })
    }

    /// The text that alone passes, if there is such.
    pub(super) fn only_text(&self) -> Option<&[u8]> {
        match self {
            Self::Compare(Op::Eq, Scalar::String(text)) => Some(text.as_bytes()),
            _ => None,
        }
    }

    pub(super) fn text(&self, value: &[u8]) -> bool {
        match self {
            Self::Exists => true,
            Self::Compare(op, Scalar::String(other)) => op.holds(value.cmp(other.as_bytes())),
            Self::In(choices) => choices.texts.contains(value),
            Self::Match { regex, negated, .. } => regex.is_match(value) != *negated,
            Self::Contains { finder, negated } => finder.find(value).is_some() != *negated,
            Self::Compare(..) => false,
        }
    }

    pub(super) fn bytes(&self, value: &[u8]) -> bool {
        match self {
            Self::Exists => true,
            Self::Compare(op, Scalar::Bytes(other)) => op.holds(value.cmp(other)),
            Self::In(choices) => choices.bytes.contains(value),
            Self::Compare(..) | Self::Match { .. } | Self::Contains { .. } => false,
        }
    }

    pub(super) fn bool(&self, value: bool) -> bool {
        match self {
            Self::Exists => true,
            Self::Compare(op, Scalar::Bool(other)) => op.holds(value.cmp(other)),
            Self::In(choices) => choices.bools.contains(&value),
            Self::Compare(..) | Self::Match { .. } | Self::Contains { .. } => false,
        }
    }

    pub(super) fn double(&self, value: f64) -> bool {
        match self {
            Self::Exists => true,
            Self::Compare(op, Scalar::Double(other)) => match value.partial_cmp(other) {
                Some(order) => op.holds(order),
                None => *op == Op::Ne,
            },
            Self::Compare(op, Scalar::Int(other)) => match compare(value, *other) {
                Some(order) => op.holds(order),
                None => *op == Op::Ne,
            },
            Self::In(choices) => {
                choices.doubles.contains(&value)
                    || super::int_test::exact(value)
                        .is_some_and(|value| choices.ints.binary_search(&value).is_ok())
            }
            Self::Compare(..) | Self::Match { .. } | Self::Contains { .. } => false,
        }
    }

    /// The same test, for integers.
    pub(super) fn ints(&self) -> IntTest {
        match self {
            Self::Exists => IntTest::ALWAYS,
            Self::Compare(op, Scalar::Int(value)) => IntTest::compare_int(*op, *value),
            Self::Compare(op, Scalar::Double(value)) => IntTest::compare_double(*op, *value),
            Self::In(choices) => {
                let whole = choices.doubles.iter().filter_map(|d| super::int_test::exact(*d));
                let mut values: Vec<i64> = choices.ints.iter().copied().chain(whole).collect();
                values.sort_unstable();
                values.dedup();
                if values.is_empty() { IntTest::Never } else { IntTest::Set(values) }
            }
            Self::Compare(..) | Self::Match { .. } | Self::Contains { .. } => IntTest::Never,
        }
    }

    /// What every text that passes has; it tells nothing where others pass too.
    pub(super) fn need(&self) -> Need {
        match self {
            Self::Contains { finder, negated: false } => Need::of_part(finder.needle()),
            Self::Match { required, negated: false, .. } => required.need.clone(),
            _ => match self.equal_texts() {
                Some(texts) => Need::any(texts.into_iter().map(Need::of_whole).collect()),
                None => Need::NOTHING,
            },
        }
    }

    /// Tests an attribute's value as it was sent.
    pub(super) fn any(&self, value: &AnyValueView<'_>) -> bool {
        match value {
            AnyValueView::String(value) => self.text(value),
            AnyValueView::Bool(value) => self.bool(*value),
            AnyValueView::Int(value) => self.ints().holds(*value),
            AnyValueView::Double(value) => self.double(*value),
            AnyValueView::Bytes(value) => self.bytes(value),
            AnyValueView::Array(_) | AnyValueView::KvList(_) => matches!(self, Self::Exists),
            AnyValueView::Empty | AnyValueView::StringIndex(_) => false,
        }
    }

    /// Whether a value of that type can pass at all.
    pub(super) fn concerns(&self, value_type: ValueType) -> bool {
        match (self, value_type) {
            (Self::Exists, _) => true,
            (Self::Match { .. } | Self::Contains { .. }, value_type) => {
                value_type == ValueType::String
            }
            (Self::Compare(_, scalar), value_type) => concerns(scalar, value_type),
            (Self::In(choices), ValueType::String) => !choices.texts.is_empty(),
            (Self::In(choices), ValueType::Bool) => !choices.bools.is_empty(),
            (Self::In(choices), ValueType::Any) => !choices.bytes.is_empty(),
            (Self::In(choices), ValueType::Int | ValueType::Double) => {
                !choices.ints.is_empty() || !choices.doubles.is_empty()
            }
        }
    }

    /// The ids of which a value must be one; `None` if others pass too.
    pub(super) fn equal_ids(&self) -> Option<Vec<[u8; 16]>> {
        let id = |bytes: &Vec<u8>| <[u8; 16]>::try_from(&bytes[..]).ok();
        match self {
            Self::Compare(Op::Eq, Scalar::Bytes(value)) => Some(id(value).into_iter().collect()),
            Self::Compare(Op::Eq, _) => Some(Vec::new()),
            Self::In(choices) => Some(choices.bytes.iter().filter_map(id).collect()),
            _ => None,
        }
    }

    /// The texts of which a value must be one; `None` if others pass too.
    pub(super) fn equal_texts(&self) -> Option<Vec<&[u8]>> {
        match self {
            Self::Compare(Op::Eq, Scalar::String(value)) => Some(vec![value.as_bytes()]),
            Self::In(choices) => Some(choices.texts.iter().map(Vec::as_slice).collect()),
            _ => None,
        }
    }
}

fn concerns(scalar: &Scalar, value_type: ValueType) -> bool {
    match scalar {
        Scalar::String(_) => value_type == ValueType::String,
        Scalar::Bool(_) => value_type == ValueType::Bool,
        Scalar::Int(_) | Scalar::Double(_) => {
            matches!(value_type, ValueType::Int | ValueType::Double)
        }
        Scalar::Bytes(_) => value_type == ValueType::Any,
    }
}

/// The type of a value as it was sent; `None` if it has no value.
pub(super) fn type_of(value: &AnyValueView<'_>) -> Option<ValueType> {
    Some(match value {
        AnyValueView::String(_) => ValueType::String,
        AnyValueView::Bool(_) => ValueType::Bool,
        AnyValueView::Int(_) => ValueType::Int,
        AnyValueView::Double(_) => ValueType::Double,
        AnyValueView::Array(_) | AnyValueView::KvList(_) | AnyValueView::Bytes(_) => ValueType::Any,
        AnyValueView::Empty | AnyValueView::StringIndex(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_types_never_compare() {
        let test = ValueTest::Compare(Op::Ne, Scalar::String("a".into()));
        assert!(test.text(b"b") && !test.text(b"a"));
        assert!(!test.double(1.0) && !test.bool(true) && !test.bytes(b"b"));
        assert_eq!(test.ints(), IntTest::Never);
    }

    #[test]
    fn numbers_are_found_across_types() {
        let test = ValueTest::In(Choices::new(&[Scalar::Int(1), Scalar::Double(2.0)]));
        assert!(test.double(1.0) && test.double(2.0) && !test.double(1.5));
        assert_eq!(test.ints(), IntTest::Set(vec![1, 2]));
        let test = ValueTest::Compare(Op::Gt, Scalar::Int((1 << 53) + 1));
        assert!(!test.double((1u64 << 53) as f64));
    }

    #[test]
    fn a_text_is_found_within_texts_only() {
        let test = ValueTest::contains("lo", false).unwrap();
        assert!(test.text(b"hello") && !test.text(b"help") && !test.bytes(b"hello"));
        assert!(ValueTest::contains("", false).unwrap().text(b""));
        assert!(!ValueTest::contains("", true).unwrap().text(b"x"));
        let error = ValueTest::contains(&"x".repeat(CONTAINED_MAX_BYTES + 1), false).unwrap_err();
        assert!(error.to_string().contains("too long to look for"), "{error}");
    }

    #[test]
    fn a_regular_expression_that_is_wrong_or_too_large_is_refused() {
        for pattern in ["(", r"(\pL{1000}){1000}"] {
            let error = ValueTest::regex(pattern, false).unwrap_err();
            assert!(error.to_string().starts_with("invalid regular expression"), "{error}");
        }
    }
}
