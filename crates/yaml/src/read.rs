//! Types out of a tree: serde on [`Node`], with the place of what does not fit.
//!
//! A word is read as what the type wants of it: `007` is a text where a text is wanted and a number
//! where a number is. What serde has to look at first (`untagged`, `flatten`) gets what YAML takes
//! it for.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

use crate::amounts;
use crate::problem::Problem;
use crate::tree::{Entry, Item, Node, Place, Scalar, parse};

/// Reads a whole text.
///
/// # Errors
/// It is not YAML, or not what `T` wants.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    from_node(&Node::Map(parse(text)?), Place { line: 1, column: 1 })
}

/// Reads a value of a tree that stands at a place.
///
/// # Errors
/// It is not what `T` wants.
pub fn from_node<T: DeserializeOwned>(node: &Node, at: Place) -> Result<T, Problem> {
    T::deserialize(Value { node, at })
}

/// A value and its place.
#[derive(Clone, Copy)]
struct Value<'a> {
    node: &'a Node,
    at: Place,
}

impl Value<'_> {
    fn wrong(self, expected: &str) -> Problem {
        let message = match self.node {
            Node::Null => format!("has no value: expected {expected}"),
            Node::Scalar(scalar) => {
                format!("{:?} is not it: expected {expected}", crate::printable(&scalar.text))
            }
            Node::List(_) => format!("is a list: expected {expected}"),
            Node::Map(_) => format!("has keys below it: expected {expected}"),
        };
        Problem::at(self.at, message)
    }

    /// The same where more than a word is wanted. What stands there instead may be a secret that is
    /// in the wrong place, so it is not shown.
    fn without_parts(self, expected: &str) -> Problem {
        match self.node {
            Node::Scalar(_) => Problem::at(self.at, format!("is one value: expected {expected}")),
            _ => self.wrong(expected),
        }
    }

    fn number<T>(self, read: impl Fn(&str) -> Option<T>, expected: &str) -> Result<T, Problem> {
        self.node.as_text().and_then(read).ok_or_else(|| self.wrong(expected))
    }
}

/// `true`, `yes`, `on` and their opposites.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A whole number, perhaps with a sign and grouped digits.
fn whole(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    amounts::count(digits).map(|count| sign * i128::from(count))
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty, $expected:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            let read = |text: &str| whole(text).and_then(|number| <$type>::try_from(number).ok());
            visitor.$visit(self.number(read, $expected)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Scalar(Scalar { text, is_typed: true }) => {
                if let Some(truth) = truth(text) {
                    visitor.visit_bool(truth)
                } else if let Some(number) = whole(text).and_then(|n| i64::try_from(n).ok()) {
                    visitor.visit_i64(number)
                } else if let Ok(number) = text.parse() {
                    visitor.visit_f64(number)
                } else {
                    visitor.visit_str(text)
                }
            }
            Node::Scalar(scalar) => visitor.visit_str(&scalar.text),
            Node::List(items) => visitor.visit_seq(Items { items: items.iter(), nth: 0 }),
            Node::Map(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), value: None })
            }
        }
        .map_err(|problem| self.placed(problem))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_bool(self.number(truth, "true or false")?)
    }

    whole_numbers! {
        deserialize_i8 visit_i8 i8, "a whole number from -128 to 127";
        deserialize_i16 visit_i16 i16, "a whole number from -32768 to 32767";
        deserialize_i32 visit_i32 i32, "a whole number of at most 32 bits";
        deserialize_i64 visit_i64 i64, "a whole number";
        deserialize_u8 visit_u8 u8, "a whole number from 0 to 255";
        deserialize_u16 visit_u16 u16, "a whole number from 0 to 65535";
        deserialize_u32 visit_u32 u32, "a whole number from 0 to 4294967295";
        deserialize_u64 visit_u64 u64, "a whole number from 0";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_f64(self.number(|text| text.parse().ok(), "a number")?)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Some(text) = self.node.as_text() else { return Err(self.wrong("a text")) };
        visitor.visit_str(text).map_err(|problem| self.placed(problem))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            _ => Err(self.wrong("nothing")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Node::List(items) = self.node else { return Err(self.without_parts("a list")) };
        let items = Items { items: items.iter(), nth: 0 };
        visitor.visit_seq(items).map_err(|problem| self.placed(problem))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let entries = match self.node {
            Node::Map(entries) => entries.as_slice(),
            // A group of which everything is commented out.
            Node::Null => &[],
            _ => return Err(self.without_parts("keys and values")),
        };
        let entries = Entries { entries: entries.iter(), value: None };
        visitor.visit_map(entries).map_err(|problem| self.placed(problem))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let access = match self.node {
            Node::Scalar(scalar) => Chosen { name: &scalar.text, value: None },
            Node::Map(entries) if entries.len() == 1 => {
                let entry = &entries[0];
                let value = Value { node: &entry.node, at: entry.at };
                Chosen { name: &entry.key, value: Some(value) }
            }
            _ => return Err(self.wrong(&format!("one of {}", variants.join(", ")))),
        };
        visitor.visit_enum(access).map_err(|problem| self.placed(problem))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }
}

impl Value<'_> {
    /// What has no place yet stands here.
    fn placed(self, mut problem: Problem) -> Problem {
        problem.at = problem.at.or(Some(self.at));
        problem
    }
}

/// The values of a list.
struct Items<'a> {
    items: std::slice::Iter<'a, Item>,
    nth: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let step = format!("[{}]", self.nth);
        self.nth += 1;
        let value = seed.deserialize(Value { node: &item.node, at: item.at });
        value.map(Some).map_err(|problem| problem.below(&step, item.at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The keys of a map.
struct Entries<'a> {
    entries: std::slice::Iter<'a, Entry>,
    value: Option<&'a Entry>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let key: StrDeserializer<'_, Problem> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|mut problem| {
            problem.at = problem.at.or(Some(entry.key_at));
            problem
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some(entry) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        // Where nothing is written there is no place for it but the key's.
        let at = if entry.node == Node::Null { entry.key_at } else { entry.at };
        let value = seed.deserialize(Value { node: &entry.node, at });
        value.map_err(|problem| problem.below(&entry.key, at))
    }
}

/// A variant of an enum, with what is below it.
struct Chosen<'a> {
    name: &'a str,
    value: Option<Value<'a>>,
}

impl<'a, 'de> EnumAccess<'de> for Chosen<'a> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Problem> {
        let name: StrDeserializer<'_, Problem> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Chosen<'_> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.value {
            None => Ok(()),
            Some(value) => Err(value.wrong("nothing below it")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        match self.value {
            Some(value) => seed.deserialize(value),
            None => Err(de::Error::custom(format!("{} needs something below it", self.name))),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Problem> {
        match self.value {
            Some(value) => value.deserialize_seq(visitor),
            None => Err(de::Error::custom(format!("{} needs a list below it", self.name))),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.value {
            Some(value) => value.deserialize_map(visitor),
            None => Err(de::Error::custom(format!("{} needs keys below it", self.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use std::time::Duration;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Protocol {
        Grpc,
        RemoteWrite,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(untagged)]
    enum Any {
        Truth(bool),
        Whole(i64),
        Float(f64),
        Text(String),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Destination {
        name: String,
        protocol: Protocol,
        #[serde(default, with = "crate::duration::option")]
        timeout: Option<Duration>,
        #[serde(default, with = "crate::size::option")]
        budget: Option<u64>,
        #[serde(default)]
        values: BTreeMap<String, Any>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        destinations: Vec<Destination>,
    }

    fn problem(text: &str) -> String {
        from_str::<File>(text).unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_as_what_is_wanted_of_them() {
        let file: File = from_str(
            "destinations:\n  - name: 007\n    protocol: remote-write\n    timeout: 1m30s\n    \
             budget: 10GiB\n    values: {a: 1, b: \"1\", c: true, d: 1.5, e: x}\n",
        )
        .unwrap();
        let found = &file.destinations[0];
        assert_eq!((found.name.as_str(), &found.protocol), ("007", &Protocol::RemoteWrite));
        assert_eq!(found.timeout, Some(Duration::from_secs(90)));
        assert_eq!(found.budget, Some(10 << 30));
        let values: Vec<&Any> = found.values.values().collect();
        let text = |text: &str| Any::Text(text.to_owned());
        let expected =
            [&Any::Whole(1), &text("1"), &Any::Truth(true), &Any::Float(1.5), &text("x")];
        assert_eq!(values, expected);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_was_meant() {
        assert_eq!(
            problem("destinations:\n  - name: a\n    protcol: grpc\n"),
            "line 3, column 5: destinations[0]: protcol is not a key here; did you mean protocol?"
        );
        assert_eq!(
            problem("destinations:\n  - name: a\n    protocol: gprc\n"),
            "line 3, column 15: destinations[0].protocol: gprc is not a value here; did you mean grpc?"
        );
        assert_eq!(
            problem("destinations:\n  - name: a\n"),
            "line 2, column 5: destinations[0]: protocol is missing"
        );
        assert_eq!(
            problem("destinations: [{name: a, protocol: grpc, timeout: 10}]\n"),
            "line 1, column 51: destinations[0].timeout: \"10\" is not it: expected a duration with \
             its unit, such as 500ms, 10m or 1h30m"
        );
        assert_eq!(
            problem("destinations: 5\n"),
            "line 1, column 15: destinations: is one value: expected a list"
        );
        let misplaced = problem("destinations: [{name: a, protocol: grpc, values: hush}]\n");
        assert!(misplaced.ends_with("values: is one value: expected keys and values"));
        assert_eq!(problem(""), "line 1, column 1: destinations is missing");
    }
}
