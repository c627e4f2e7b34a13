//! Attributes from the JSON text that SQL has for them, as fields of OTLP.
//!
//! No tree is built: members are written as they are read. Arrays, objects and nulls are left out,
//! since no report looks at them.

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
    let Some(text) = text else { return };
    let mut reader = serde_json::Deserializer::from_str(text);
    // The store wrote it, so that it can be read.
    let _ = Attributes { w, write }.deserialize(&mut reader);
}

/// An object of JSON whose members are written as they are read.
struct Attributes<'w, F> {
    w: &'w mut Writer,
    write: F,
}

impl<'de, F: Fn(&mut Writer, &[u8], &AnyValueView<'_>)> DeserializeSeed<'de> for Attributes<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, F: Fn(&mut Writer, &[u8], &AnyValueView<'_>)> Visitor<'de> for Attributes<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some((key, value)) = members.next_entry::<Scalar<'_>, Scalar<'_>>()? {
            let Scalar::Text(key) = key else { continue };
            let value = match &value {
                Scalar::Text(text) => AnyValueView::String(text.as_bytes()),
                Scalar::Int(number) => AnyValueView::Int(*number),
                Scalar::Double(number) => AnyValueView::Double(*number),
                Scalar::Bool(flag) => AnyValueView::Bool(*flag),
                Scalar::Other => continue,
            };
            (self.write)(self.w, key.as_bytes(), &value);
        }
        Ok(())
    }
}

/// A value of JSON that a report can use.
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Int(i64),
    Double(f64),
    Bool(bool),
    Other,
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(number).map_or(Scalar::Double(number as f64), Scalar::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Double(number))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(flag))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Scalar<'de>, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar<'de>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_types_and_what_no_report_looks_at_is_left_out() {
        let text = r#"{"a\"":"b\n","i":-3,"d":0.5,"t":true,"x":[1,{"y":2}],"o":{"z":1},"n":null,"u":18446744073709551615}"#;
        let mut expected = Writer::new();
        for (key, value) in [
            ("a\"", AnyValueView::String(b"b\n")),
            ("i", AnyValueView::Int(-3)),
            ("d", AnyValueView::Double(0.5)),
            ("t", AnyValueView::Bool(true)),
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
