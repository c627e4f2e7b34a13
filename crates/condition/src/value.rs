//! Values of OTLP as conditions compare them, and keys read at a glance.

use kymo_traceql::{Element, Value};
use kymo_wire::{AnyValueView, array_values};

/// A value that was read. Text is borrowed; what has to be made is kept here.
#[derive(Debug, Clone, Default)]
pub(crate) enum Slot<'a> {
    #[default]
    Nothing,
    Plain(Value<'a>),
    Made(String),
    Several(Vec<Element>),
}

impl<'a> Slot<'a> {
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Nothing => Value::Nil,
            Self::Plain(value) => *value,
            Self::Made(text) => Value::Text(text),
            Self::Several(elements) => Value::Array(elements),
        }
    }

    /// Text. What is not UTF-8 is there, but equals nothing.
    pub(crate) fn text(bytes: &'a [u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) => Self::Plain(Value::Text(text)),
            Err(_) => Self::Several(Vec::new()),
        }
    }

    /// An id as conditions compare it: hexadecimal, in lower case. Nothing if there is none, or one
    /// of zeros, which stands for none.
    pub(crate) fn id(bytes: &[u8]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Nothing;
        }
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        Self::Made(digits.collect())
    }

    /// The id of a trace, which is compared without leading zeros.
    pub(crate) fn trace_id(bytes: &[u8]) -> Self {
        match Self::id(bytes) {
            Self::Made(text) => Self::Made(text.trim_start_matches('0').to_owned()),
            other => other,
        }
    }

    /// The value of an attribute. Bytes and maps are there, but equal nothing, and so are members of
    /// a list that are no single value.
    pub(crate) fn attribute(value: AnyValueView<'a>) -> Self {
        Self::Plain(match value {
            AnyValueView::Empty | AnyValueView::StringIndex(_) => return Self::Nothing,
            AnyValueView::String(bytes) => return Self::text(bytes),
            AnyValueView::Bool(value) => Value::Bool(value),
            AnyValueView::Int(value) => Value::Int(value),
            AnyValueView::Double(value) => Value::Float(value),
            AnyValueView::Array(raw) => {
                let members = array_values(raw).map_while(Result::ok);
                return Self::Several(members.filter_map(element).collect());
            }
            AnyValueView::KvList(_) | AnyValueView::Bytes(_) => return Self::Several(Vec::new()),
        })
    }

    /// It as members of a list.
    pub(crate) fn into_elements(self) -> Vec<Element> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Made(text) => vec![Element::Text(text.into())],
            Self::Several(elements) => elements,
            Self::Plain(value) => match value {
                Value::Bool(value) => vec![Element::Bool(value)],
                Value::Int(value) => vec![Element::Int(value)],
                Value::Float(value) => vec![Element::Float(value)],
                Value::Text(text) => vec![Element::Text(text.into())],
                _ => Vec::new(),
            },
        }
    }
}

fn element(value: AnyValueView<'_>) -> Option<Element> {
    Some(match value {
        AnyValueView::String(bytes) => Element::Text(str::from_utf8(bytes).ok()?.into()),
        AnyValueView::Bool(value) => Element::Bool(value),
        AnyValueView::Int(value) => Element::Int(value),
        AnyValueView::Double(value) => Element::Float(value),
        _ => return None,
    })
}

/// The key of an attribute in the form that nearly all senders write: key, then value, each shorter
/// than 128 bytes, and nothing else. Most attributes are not asked for, and this is all that is read
/// of them.
#[inline]
pub(crate) fn usual_key(raw: &[u8]) -> Option<&[u8]> {
    let [0x0a, key_length @ ..0x80, rest @ ..] = raw else { return None };
    let (key, rest) = rest.split_at_checked(usize::from(*key_length))?;
    let [0x12, value_length @ ..0x80, value @ ..] = rest else { return None };
    (value.len() == usize::from(*value_length)).then_some(key)
}
