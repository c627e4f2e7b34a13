//! JSON events to protobuf fields, driven by the tables of [`schema`](crate::schema).

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{JsonError, scalar};
use crate::encode::Writer;
use crate::limits::MAX_NESTING;
use crate::proto::LEN;
use crate::schema::{self, Field, Kind, Message};
use crate::{Signal, schema::request};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a request of one of `signals`, and says which it was if it has any content.
pub(super) fn decode(
    signals: &[Signal],
    text: &[u8],
) -> Result<(Option<Signal>, Vec<u8>), JsonError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // To check all of it at once takes a tenth of the time that it takes string by string. Where it
    // is wrong, the other way finds the place, if it is a place that matters.
    match std::str::from_utf8(text) {
        Ok(valid) => read(signals, text.len(), serde_json::Deserializer::from_str(valid)),
        Err(_) => read(signals, text.len(), serde_json::Deserializer::from_slice(text)),
    }
}

fn read<'de, R: serde_json::de::Read<'de>>(
    signals: &[Signal],
    text_bytes: usize,
    mut json: serde_json::Deserializer<R>,
) -> Result<(Option<Signal>, Vec<u8>), JsonError> {
    let mut state =
        State { writer: Writer::with_capacity(text_bytes / 2), path: Vec::new(), depth: 0 };
    let result = json
        .deserialize_map(RequestVisitor { state: &mut state, signals })
        .and_then(|signal| json.end().map(|()| signal));
    match result {
        Ok(signal) => Ok((signal, state.writer.into_bytes())),
        Err(error) => Err(state.error(&error)),
    }
}

/// What is carried through the whole document.
struct State {
    writer: Writer,
    /// The way to the value being read. It is left as it is on an error, to name the place.
    path: Vec<Step>,
    /// How many values the current one is nested in.
    depth: u32,
}

enum Step {
    Member(&'static str),
    Element(usize),
}

impl State {
    fn error(&self, error: &serde_json::Error) -> JsonError {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) if path.is_empty() => path.push_str(name),
                Step::Member(name) => path.extend([".", name]),
                Step::Element(index) => path.push_str(&format!("[{index}]")),
            }
        }
        JsonError { path, ..JsonError::without_path(error) }
    }
}

/// Reads the outermost object, whose member tells the signal.
struct RequestVisitor<'s> {
    state: &'s mut State,
    signals: &'s [Signal],
}

impl<'de> Visitor<'de> for RequestVisitor<'_> {
    type Value = Option<Signal>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with resourceSpans, resourceMetrics or resourceLogs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: Option<Signal> = None;
        loop {
            let mut seen = 0;
            let mut signal_here = None;
            let key = KeySeed(|name: &str| {
                self.signals.iter().find_map(|signal| {
                    let index = request(*signal).index_named(name)?;
                    signal_here = Some(*signal);
                    Some(&request(*signal).fields[index])
                })
            });
            let Some(field) = map.next_key_seed(key)? else { return Ok(found) };
            if let (Some(field), Some(_)) = (field, found) {
                let message = format!("only one member may hold data, {} is another", field.name);
                return Err(A::Error::custom(message));
            }
            found = found.or(signal_here);
            member(self.state, &mut map, field, 0, &mut seen)?;
        }
    }
}

/// Reads the members of an object that is a message.
struct MessageVisitor<'s> {
    state: &'s mut State,
    message: &'static Message,
}

impl<'de> MessageVisitor<'_> {
    fn read<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = 0;
        loop {
            let key = KeySeed(|name: &str| self.message.index_named(name));
            let Some(index) = map.next_key_seed(key)? else { return Ok(()) };
            let field = index.map(|index| &self.message.fields[index]);
            member(self.state, &mut map, field, index.unwrap_or(0), &mut seen)?;
        }
    }
}

/// Reads the value of a member, or steps over it if it is unknown.
fn member<'de, A: MapAccess<'de>>(
    state: &mut State,
    map: &mut A,
    field: Option<&'static Field>,
    index: usize,
    seen: &mut u32,
) -> Result<(), A::Error> {
    let Some(field) = field else {
        return map.next_value::<IgnoredAny>().map(drop);
    };
    state.path.push(Step::Member(field.name));
    let bit = 1 << index;
    if *seen & bit != 0 {
        return Err(A::Error::custom("member occurs twice"));
    }
    *seen |= bit;
    map.next_value_seed(Value { state, field, form: Form::Member })?;
    state.path.pop();
    Ok(())
}

/// Finds out which member a key names, without keeping its text.
struct KeySeed<F>(F);

impl<'de, T, F: FnOnce(&str) -> Option<T>> DeserializeSeed<'de> for KeySeed<F> {
    type Value = Option<T>;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Option<T>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> Option<T>> Visitor<'_> for KeySeed<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<T>, E> {
        Ok((self.0)(name))
    }
}

/// Where a value stands, which decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value of a member: a list if the field is repeated.
    Member,
    /// An element of a list, written with its own tag.
    Element,
    /// An element of a packed list, written without a tag.
    Packed,
}

/// Reads one value and writes it as a field.
struct Value<'s> {
    state: &'s mut State,
    field: &'static Field,
    form: Form,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl Value<'_> {
    fn scalar<E: Error>(self, value: scalar::Json<'_>) -> Result<(), E> {
        if self.field.is_repeated && self.form == Form::Member {
            return Err(E::invalid_type(value.unexpected(), &self));
        }
        let is_packed = self.form == Form::Packed;
        match scalar::write(&mut self.state.writer, self.field, value, is_packed) {
            Ok(()) => Ok(()),
            Err(scalar::Problem::Type) => Err(E::invalid_type(value.unexpected(), &self)),
            Err(scalar::Problem::Value(message)) => Err(E::custom(message)),
        }
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_repeated && self.form == Form::Member {
            return f.write_str("a list");
        }
        f.write_str(scalar::description(self.field.kind))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self.form {
            Form::Member => Ok(()),
            // Some senders write an empty value in an array as null.
            Form::Element if matches!(self.field.kind, Kind::AnyValue) => {
                self.state.writer.bytes_field(self.field.number, &[]);
                Ok(())
            }
            _ => Err(E::custom("null is not allowed in this list")),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(scalar::Json::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(scalar::Json::Unsigned(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(scalar::Json::Signed(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(scalar::Json::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar(scalar::Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { state, field, form } = self;
        if !field.is_repeated || form != Form::Member {
            let unexpected = serde::de::Unexpected::Seq;
            return Err(A::Error::invalid_type(unexpected, &Value { state, field, form }));
        }
        let is_packed = field.kind.wire_type() != LEN;
        let form = if is_packed { Form::Packed } else { Form::Element };
        let length_at = is_packed.then(|| state.writer.begin_message(field.number));
        let mut index = 0;
        loop {
            state.path.push(Step::Element(index));
            let element = list.next_element_seed(Value { state: &mut *state, field, form })?;
            state.path.pop();
            if element.is_none() {
                break;
            }
            index += 1;
        }
        if let Some(length_at) = length_at {
            state.writer.end_message(length_at);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let is_list = self.field.is_repeated && self.form == Form::Member;
        let Some(message) = self.field.kind.message().filter(|_| !is_list) else {
            return Err(A::Error::invalid_type(serde::de::Unexpected::Map, &self));
        };
        let state = self.state;
        let is_deeper = std::ptr::eq(message, &raw const schema::ANY_VALUE);
        if is_deeper && state.depth == MAX_NESTING {
            let message = format!("values are nested more than {MAX_NESTING} levels deep");
            return Err(A::Error::custom(message));
        }
        state.depth += u32::from(is_deeper);
        let length_at = state.writer.begin_message(self.field.number);
        MessageVisitor { state: &mut *state, message }.read(map)?;
        state.writer.end_message(length_at);
        state.depth -= u32::from(is_deeper);
        Ok(())
    }
}
