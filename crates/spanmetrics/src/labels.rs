//! Labels: their names, the words that values have, and a set of them as bytes.
//!
//! A set of labels is kept as the bytes of a `KeyValueList`, in the order in which it was written:
//! series are found by a key of their own, and written far more often than they are made.

use std::borrow::Cow;

use kymo_wire::encode::Writer;
use kymo_wire::{AnyValueView, array_values};

use crate::limits::MAX_VALUE_BYTES;
use crate::settings::Naming;

/// The label of what is counted without others since there are too many series.
pub(crate) const OVERFLOW: &[u8] = b"otel_metric_overflow";

/// Names of the label that tells servers apart, in both schemes of names.
pub(crate) const INSTANCE_LABELS: [&str; 2] = ["collector_instance_id", "collector.instance.id"];

/// Names of labels that a scheme of names has for spans' metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    pub(crate) service: &'static str,
    pub(crate) span_name: &'static str,
    pub(crate) span_kind: &'static str,
    pub(crate) status_code: &'static str,
}

impl Names {
    pub(crate) fn of(naming: Naming) -> Self {
        match naming {
            Naming::Tempo => Self {
                service: "service",
                span_name: "span_name",
                span_kind: "span_kind",
                status_code: "status_code",
            },
            Naming::Collector => Self {
                service: "service.name",
                span_name: "span.name",
                span_kind: "span.kind",
                status_code: "status.code",
            },
        }
    }

    /// Whether an attribute would be a label that is there already, as `le` is at buckets.
    pub(crate) fn contains(&self, label: &str) -> bool {
        let own = [self.service, self.span_name, self.span_kind, self.status_code];
        own.contains(&label)
            || ["job", "instance", "status_message", "le"].contains(&label)
            || INSTANCE_LABELS.contains(&label)
    }
}

/// `SPAN_KIND_SERVER`; the number for a kind that there is not.
pub(crate) fn kind_word(kind: i32) -> Cow<'static, str> {
    let word = match kind {
        0 => "SPAN_KIND_UNSPECIFIED",
        1 => "SPAN_KIND_INTERNAL",
        2 => "SPAN_KIND_SERVER",
        3 => "SPAN_KIND_CLIENT",
        4 => "SPAN_KIND_PRODUCER",
        5 => "SPAN_KIND_CONSUMER",
        other => return other.to_string().into(),
    };
    word.into()
}

/// `STATUS_CODE_ERROR`; the number for a code that there is not.
pub(crate) fn status_word(code: i32) -> Cow<'static, str> {
    let word = match code {
        0 => "STATUS_CODE_UNSET",
        1 => "STATUS_CODE_OK",
        2 => "STATUS_CODE_ERROR",
        other => return other.to_string().into(),
    };
    word.into()
}

/// An attribute's name as a label of Prometheus: `http.method` is `http_method`.
pub(crate) fn plain_name(key: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let plain: String =
        key.chars().map(|letter| if is_letter(letter) { letter } else { '_' }).collect();
    match plain.chars().next() {
        Some(digit) if digit.is_ascii_digit() => format!("_{plain}"),
        _ => plain,
    }
}

/// The text of an attribute's value: of an array, those of its elements, with commas. Lists of
/// attributes and bytes are nothing that is counted by.
pub(crate) fn value_text<'a>(value: &AnyValueView<'a>) -> Cow<'a, [u8]> {
    match value {
        AnyValueView::String(text) => Cow::Borrowed(text),
        AnyValueView::Array(raw) => {
            let mut joined = Vec::new();
            for element in array_values(raw).flatten() {
                if joined.len() > MAX_VALUE_BYTES {
                    break;
                }
                if !joined.is_empty() {
                    joined.push(b',');
                }
                joined.extend_from_slice(&scalar_text(&element));
            }
            Cow::Owned(joined)
        }
        other => scalar_text(other),
    }
}

fn scalar_text<'a>(value: &AnyValueView<'a>) -> Cow<'a, [u8]> {
    let text = match value {
        AnyValueView::String(text) => return Cow::Borrowed(text),
        AnyValueView::Bool(value) => value.to_string(),
        AnyValueView::Int(value) => value.to_string(),
        AnyValueView::Double(value) => value.to_string(),
        AnyValueView::Empty
        | AnyValueView::Array(_)
        | AnyValueView::KvList(_)
        | AnyValueView::Bytes(_)
        | AnyValueView::StringIndex(_) => return Cow::Borrowed(b""),
    };
    Cow::Owned(text.into_bytes())
}

/// As much of a value as is kept, not ending within a letter.
pub(crate) fn cut(value: &[u8]) -> &[u8] {
    if value.len() <= MAX_VALUE_BYTES {
        return value;
    }
    let is_inner = |byte: u8| byte & 0xc0 == 0x80;
    let mut end = MAX_VALUE_BYTES;
    while end > 0 && is_inner(value[end]) {
        end -= 1;
    }
    &value[..end]
}

/// Labels being put together; those without a value are left out.
#[derive(Debug, Default)]
pub(crate) struct LabelWriter {
    writer: Writer,
}

impl LabelWriter {
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8]) {
        if !value.is_empty() {
            // What admission lets in is UTF-8, unless a cut ended within it.
            let value = kymo_wire::text(value);
            self.writer.key_value(1, name, &AnyValueView::String(value.as_bytes()));
        }
    }

    pub(crate) fn finish(self) -> Box<[u8]> {
        self.writer.into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_otlp() {
        assert_eq!(kind_word(2), "SPAN_KIND_SERVER");
        assert_eq!(kind_word(0), "SPAN_KIND_UNSPECIFIED");
        assert_eq!(kind_word(9), "9");
        assert_eq!(status_word(0), "STATUS_CODE_UNSET");
        assert_eq!(status_word(2), "STATUS_CODE_ERROR");
        assert_eq!(plain_name("http.method"), "http_method");
        assert_eq!(plain_name("2x-y"), "_2x_y");
    }

    #[test]
    fn a_long_value_is_cut_between_letters() {
        let long = "ü".repeat(MAX_VALUE_BYTES);
        let odd = format!("x{long}");
        for value in [&long, &odd] {
            let cut = cut(value.as_bytes());
            assert!(cut.len() <= MAX_VALUE_BYTES && cut.len() > MAX_VALUE_BYTES - 4);
            assert!(std::str::from_utf8(cut).is_ok());
        }
        assert_eq!(cut(b"short"), b"short");
    }

    #[test]
    fn values_of_all_types_have_a_text() {
        let mut array = Writer::new();
        array.array_element(&AnyValueView::Int(1));
        array.array_element(&AnyValueView::String(b"a"));
        let array = array.into_bytes();
        let texts = [
            (AnyValueView::Int(-5), "-5"),
            (AnyValueView::Bool(true), "true"),
            (AnyValueView::Double(0.5), "0.5"),
            (AnyValueView::String(b"GET"), "GET"),
            (AnyValueView::Empty, ""),
            (AnyValueView::Bytes(b"x"), ""),
            (AnyValueView::Array(&array), "1,a"),
        ];
        for (value, expected) in texts {
            assert_eq!(&*value_text(&value), expected.as_bytes());
        }
    }
}
