//! Values of attributes: what they are, when they are the same, and as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{AnyValueView, WireError, WireErrorKind, array_values, kvlist_entries, text};
use serde::ser::{Serialize, Serializer};

/// Numbers that differ by no more than this are called the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    /// A part of the larger.
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    /// Of durations, in nanoseconds. No two runs take the same time: a fifth, and a millisecond for
    /// those that are short, are noise.
    pub(super) const DURATION: Self = Self { relative: 0.2, absolute: 1_000_000.0 };
    /// Of sizes and the like.
    pub(super) const MAGNITUDE: Self = Self { relative: 0.05, absolute: 0.0 };

    pub(super) fn covers(self, one: f64, other: f64) -> bool {
        if !one.is_finite() || !other.is_finite() {
            return same_number(one, other);
        }
        (one - other).abs() <= self.absolute + self.relative * one.abs().max(other.abs())
    }
}

/// Unlike IEEE 754 has it, NaN is NaN: nothing changed.
fn same_number(one: f64, other: f64) -> bool {
    one == other || one.is_nan() && other.is_nan()
}

/// Attributes of OpenTelemetry's conventions that say how much of something there was, of bytes or
/// of time. Other numbers are codes, ports and counts, where each step means something.
const MAGNITUDES: [&str; 17] = [
    "app.jank.period",
    "file.size",
    "gen_ai.response.time_to_first_chunk",
    "http.request.body.size",
    "http.request.size",
    "http.request_content_length",
    "http.request_content_length_uncompressed",
    "http.response.body.size",
    "http.response.size",
    "http.response_content_length",
    "http.response_content_length_uncompressed",
    "message.compressed_size",
    "message.uncompressed_size",
    "messaging.message.body.size",
    "messaging.message.envelope.size",
    "rpc.message.compressed_size",
    "rpc.message.uncompressed_size",
];

fn is_magnitude(key: &str) -> bool {
    // Kinds of tokens are still being named.
    let is_tokens = key.starts_with("gen_ai.usage.") && key.ends_with("_tokens");
    is_tokens || MAGNITUDES.binary_search(&key).is_ok()
}

/// A value, read to the bottom.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    List(Vec<Self>),
    /// Of a key that comes twice, the last value.
    Map(BTreeMap<Cow<'a, str>, Self>),
}

impl<'a> Value<'a> {
    pub(super) fn read(view: AnyValueView<'a>) -> Result<Self, WireError> {
        Self::nested(view, 1)
    }

    fn nested(view: AnyValueView<'a>, depth: u32) -> Result<Self, WireError> {
        if depth > MAX_NESTING {
            return Err(WireError { offset: 0, kind: WireErrorKind::TooDeep(MAX_NESTING) });
        }
        Ok(match view {
            AnyValueView::Empty | AnyValueView::StringIndex(_) => Self::Null,
            AnyValueView::Bool(flag) => Self::Bool(flag),
            AnyValueView::Int(number) => Self::Int(number),
            AnyValueView::Double(number) => Self::Double(number),
            AnyValueView::String(bytes) => Self::Text(text(bytes)),
            AnyValueView::Bytes(bytes) => Self::Bytes(bytes),
            AnyValueView::Array(raw) => {
                let values = array_values(raw).map(|value| Self::nested(value?, depth + 1));
                Self::List(values.collect::<Result<_, _>>()?)
            }
            AnyValueView::KvList(raw) => {
                let entries = kvlist_entries(raw).map(|entry| {
                    let entry = entry?;
                    Ok((text(entry.key), Self::nested(entry.value, depth + 1)?))
                });
                Self::Map(entries.collect::<Result<_, WireError>>()?)
            }
        })
    }

    /// Whether an attribute has kept its value.
    pub(super) fn is_kept(&self, key: &str, other: &Self) -> bool {
        match (self.number(), other.number()) {
            (Some(one), Some(other)) if is_magnitude(key) => {
                Tolerance::MAGNITUDE.covers(one, other)
            }
            _ => self.is_same(other),
        }
    }

    /// Whole numbers and those with a fraction are one kind: languages without the difference send
    /// either.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(_), Self::Double(_)) | (Self::Double(_), Self::Int(_) | Self::Double(_)) => {
                self.number().zip(other.number()).is_some_and(|(a, b)| same_number(a, b))
            }
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same(b))
            }
            (Self::Map(one), Self::Map(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(a, b)| a.0 == b.0 && a.1.is_same(b.1))
            }
            _ => self == other,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Double(number) => double(number, serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(entries) => serializer.collect_map(entries),
        }
    }
}

/// A number as Tempo writes it: without a fraction of 0, and as text where JSON has no number.
pub(super) fn double<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Up to here each whole number is a double.
    const EXACT: f64 = (1_u64 << 53) as f64;
    match *number {
        number if number.is_nan() => serializer.serialize_str("NaN"),
        f64::INFINITY => serializer.serialize_str("+Inf"),
        f64::NEG_INFINITY => serializer.serialize_str("-Inf"),
        number if number.fract() == 0.0 && number.abs() <= EXACT => {
            serializer.serialize_i64(number as i64)
        }
        number => serializer.serialize_f64(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::View;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Sent;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
    use prost::Message;

    fn any(value: Sent) -> AnyValue {
        AnyValue { value: Some(value) }
    }

    fn list(values: Vec<Sent>) -> Sent {
        Sent::ArrayValue(ArrayValue { values: values.into_iter().map(any).collect() })
    }

    fn map(entries: Vec<(&str, Sent)>) -> Sent {
        let values = entries.into_iter().map(|(key, value)| KeyValue {
            key: key.to_owned(),
            value: Some(any(value)),
            ..KeyValue::default()
        });
        Sent::KvlistValue(KeyValueList { values: values.collect() })
    }

    fn string(text: &str) -> Sent {
        Sent::StringValue(text.to_owned())
    }

    fn is_kept(key: &str, before: Sent, after: Sent) -> bool {
        let (before, after) = (any(before).encode_to_vec(), any(after).encode_to_vec());
        let read = |bytes| Value::read(AnyValueView::parse(bytes).unwrap()).unwrap();
        read(&before).is_kept(key, &read(&after))
    }

    #[test]
    fn values_are_the_same_by_what_they_say() {
        use Sent::{BoolValue, BytesValue, DoubleValue, IntValue};
        let exact = 1_i64 << 53;
        for (before, after, expected) in [
            (string("x"), string("x"), true),
            (string("x"), string("y"), false),
            (BoolValue(true), BoolValue(true), true),
            (IntValue(5), IntValue(6), false),
            (IntValue(exact), IntValue(exact + 1), false),
            (IntValue(80), DoubleValue(80.0), true),
            (DoubleValue(80.0), IntValue(81), false),
            (IntValue(80), string("80"), false),
            (DoubleValue(f64::NAN), DoubleValue(f64::NAN), true),
            (DoubleValue(f64::NAN), DoubleValue(1.5), false),
            (BytesValue(vec![1, 2]), BytesValue(vec![1, 3]), false),
            (list(vec![IntValue(1), string("x")]), list(vec![DoubleValue(1.0), string("x")]), true),
            (list(vec![IntValue(1)]), list(vec![IntValue(1), IntValue(1)]), false),
            (
                map(vec![("a", IntValue(1)), ("b", string("x"))]),
                map(vec![("b", string("x")), ("a", DoubleValue(1.0))]),
                true,
            ),
            (map(vec![("a", IntValue(1))]), map(vec![("b", IntValue(1))]), false),
            (map(vec![("a", IntValue(1))]), map(vec![("a", IntValue(2))]), false),
        ] {
            let shown = format!("{before:?} {after:?}");
            assert_eq!(is_kept("k", before, after), expected, "{shown}");
        }
    }

    #[test]
    fn sizes_may_differ_a_little_and_codes_may_not() {
        use Sent::{DoubleValue, IntValue};
        for (key, before, after, expected) in [
            ("http.request.body.size", IntValue(1000), IntValue(1050), true),
            ("http.request.body.size", IntValue(1000), IntValue(2000), false),
            ("gen_ai.usage.input_tokens", IntValue(100), DoubleValue(101.0), true),
            ("file.size", IntValue(0), IntValue(1), false),
            ("file.size", DoubleValue(f64::INFINITY), DoubleValue(100.0), false),
            ("file.size", string("a"), string("b"), false),
            ("http.response.status_code", IntValue(200), IntValue(201), false),
            ("custom.count", IntValue(1000), IntValue(1001), false),
        ] {
            let shown = format!("{key} {before:?} {after:?}");
            assert_eq!(is_kept(key, before, after), expected, "{shown}");
        }
        assert!(MAGNITUDES.is_sorted());
    }

    #[test]
    fn durations_may_differ_by_a_fifth_and_a_millisecond() {
        for (before_ms, after_ms, expected) in [
            (100.0, 126.0, true),
            (100.0, 127.0, false),
            (0.0, 1.0, true),
            (0.0, 2.0, false),
            (100.0, 79.0, true),
            (100.0, 78.0, false),
        ] {
            let (before, after) = (before_ms * 1e6, after_ms * 1e6);
            assert_eq!(Tolerance::DURATION.covers(before, after), expected, "{before_ms}");
        }
    }

    #[test]
    fn every_kind_of_value_has_json() {
        use Sent::{BytesValue, DoubleValue};
        let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0, 0.5, -3.0, 1e300];
        let sent = map(vec![
            ("b", BytesValue(vec![0xff, 0])),
            ("a", list(numbers.map(DoubleValue).into())),
            ("b", BytesValue(vec![1])),
        ]);
        let bytes = any(sent).encode_to_vec();
        let value = Value::read(AnyValueView::parse(&bytes).unwrap()).unwrap();
        let expected = r#"{"a":["NaN","+Inf","-Inf",2,0.5,-3,1e+300],"b":"AQ=="}"#;
        assert_eq!(serde_json::to_string(&value).unwrap(), expected);
    }

    #[test]
    fn values_that_no_sender_gets_through_are_refused() {
        let nested = |levels| (1..levels).fold(string("x"), |inner, _| list(vec![inner]));
        for (levels, is_read) in [(MAX_NESTING, true), (MAX_NESTING + 1, false)] {
            let bytes = any(nested(levels)).encode_to_vec();
            let value = Value::read(AnyValueView::parse(&bytes).unwrap());
            assert_eq!(value.is_ok(), is_read, "{levels}");
        }
    }
}
