//! Attributes from the JSON text that SQL has for them, as fields of OTLP.
//!
//! No tree is built: members are written as they are read. Of arrays (the words of a command), what
//! is nested in them is left out; so are objects and nulls, since no report looks at them.

use std::borrow::Cow;
use std::fmt;

use kymo_wire::AnyValueView;
use kymo_wire::encode::Writer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// Writes attributes from the JSON text that the store makes of them. What stands behind something
/// that cannot be read is left out.
pub(super) fn write_attributes(
    w: &mut Writer,
    text: Option<&str>,
    write: impl Fn(&mut Writer, &[u8], &AnyValueView<'_>),
) {
    each_attribute(text, |key, value| write(w, key, &value));
}

/// Hands out the attributes in such a text, one after the other.
pub(super) fn each_attribute(text: Option<&str>, each: impl FnMut(&[u8], AnyValueView<'_>)) {
    let Some(text) = text else { return };
    let mut reader = serde_json::Deserializer::from_str(text);
    // The store wrote it, so that it can be read.
    let _ = Attributes(each).deserialize(&mut reader);
}

/// An object of JSON whose members are handed out as they are read.
struct Attributes<F>(F);

impl<'de, F: FnMut(&[u8], AnyValueView<'_>)> DeserializeSeed<'de> for Attributes<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, F: FnMut(&[u8], AnyValueView<'_>)> Visitor<'de> for Attributes<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("attributes")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some((key, value)) = members.next_entry::<Plain<'_>, Plain<'_>>()? {
            let Plain::Text(key) = key else { continue };
            if let Some(value) = value.view() {
                (self.0)(key.as_bytes(), value);
            }
        }
        Ok(())
    }
}

/// A value of JSON that a report can use.
enum Plain<'a> {
    Text(Cow<'a, str>),
    Int(i64),
    Double(f64),
    Bool(bool),
    /// The values of an array, as OTLP has them.
    Array(Vec<u8>),
    Other,
}

impl Plain<'_> {
    fn view(&self) -> Option<AnyValueView<'_>> {
        Some(match self {
            Plain::Text(text) => AnyValueView::String(text.as_bytes()),
            Plain::Int(number) => AnyValueView::Int(*number),
            Plain::Double(number) => AnyValueView::Double(*number),
            Plain::Bool(flag) => AnyValueView::Bool(*flag),
            Plain::Array(values) => AnyValueView::Array(values),
            Plain::Other => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Plain<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(PlainVisitor)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Plain<'de>, E> {
        Ok(Plain::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Plain<'de>, E> {
        Ok(Plain::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Plain<'de>, E> {
        Ok(Plain::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Plain<'de>, E> {
        Ok(i64::try_from(number).map_or(Plain::Double(number as f64), Plain::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Plain<'de>, E> {
        Ok(Plain::Double(number))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Plain<'de>, E> {
        Ok(Plain::Bool(flag))
    }

    fn visit_unit<E>(self) -> Result<Plain<'de>, E> {
        Ok(Plain::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Plain<'de>, A::Error> {
        let mut array = Writer::new();
        while let Some(value) = values.next_element::<Plain<'_>>()? {
            match value.view() {
                None | Some(AnyValueView::Array(_)) => {}
                Some(value) => array.array_element(&value),
            }
        }
        Ok(Plain::Array(array.into_bytes()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Plain<'de>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Plain::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_types_and_what_no_report_looks_at_is_left_out() {
        let text = r#"{"a\"":"b\n","i":-3,"d":0.5,"t":true,"x":[1,{"y":2},[3],"w",null],"o":{"z":1},"n":null,"u":18446744073709551615}"#;
        let mut array = Writer::new();
        array.array_element(&AnyValueView::Int(1));
        array.array_element(&AnyValueView::String(b"w"));
        let mut expected = Writer::new();
        for (key, value) in [
            ("a\"", AnyValueView::String(b"b\n")),
            ("i", AnyValueView::Int(-3)),
            ("d", AnyValueView::Double(0.5)),
            ("t", AnyValueView::Bool(true)),
            ("x", AnyValueView::Array(array.as_slice())),
            ("u", AnyValueView::Double(18_446_744_073_709_551_615.0)),
        ] {
            expected.log_attribute(key.as_bytes(), &value);
        }
        let mut written = Writer::new();
        write_attributes(&mut written, Some(text), Writer::log_attribute);
        assert_eq!(written.as_slice(), expected.as_slice());
        for nothing in [None, Some(""), Some("[]"), Some("{")] {
            let mut written = Writer::new();
            write_attributes(&mut written, nothing, Writer::log_attribute);
            assert!(written.as_slice().is_empty(), "{nothing:?}");
        }
    }
}
