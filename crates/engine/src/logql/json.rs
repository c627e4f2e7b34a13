//! Attributes of a row, which the store hands out as one JSON object, as labels.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::names::label_name;

/// Hands over each attribute as a label and its text; entries of maps by themselves. What is no
/// object has none.
pub(super) fn each_attribute(text: &str, each: &mut dyn FnMut(String, String)) {
    let mut reader = serde_json::Deserializer::from_str(text);
    // The store wrote it: what cannot be read is not there.
    let _ = reader.deserialize_map(Entries { prefix: "", each });
}

/// Entries of an object, whose names begin with a prefix.
struct Entries<'e> {
    prefix: &'e str,
    each: &'e mut dyn FnMut(String, String),
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let name = match self.prefix {
                "" => key,
                prefix => format!("{prefix}_{key}"),
            };
            map.next_value_seed(Member { name, each: self.each })?;
        }
        Ok(())
    }
}

/// A value of a name.
struct Member<'e> {
    name: String,
    each: &'e mut dyn FnMut(String, String),
}

impl Member<'_> {
    fn give(self, value: String) {
        (self.each)(label_name(&self.name).into_owned(), value);
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.give(value.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.give(value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.give(value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.give(value.to_string());
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.give(value.to_owned());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element::<serde_json::Value>()? {
            values.push(value);
        }
        self.give(serde_json::Value::Array(values).to_string());
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Entries { prefix: &self.name, each: self.each }.visit_map(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_become_labels() {
        let text = r#"{"a.b":"x","n":1,"d":1.0,"t":true,"l":[1,"y"],"m":{"c":{"d":2},"e":"z"},"u":null,"1st":"k"}"#;
        let mut found = Vec::new();
        each_attribute(text, &mut |name, value| found.push(format!("{name}={value}")));
        let expected =
            ["a_b=x", "n=1", "d=1", "t=true", r#"l=[1,"y"]"#, "m_c_d=2", "m_e=z", "key_1st=k"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_object_has_no_attributes() {
        for text in ["", "[1]", "{\"a\":", "null"] {
            each_attribute(text, &mut |name, value| panic!("{text}: {name}={value}"));
        }
    }
}
