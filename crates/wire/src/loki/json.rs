//! `{"streams": [{"stream": {…}, "values": [["<ns>", "line", {…}]]}]}`, as a stream of events.
//!
//! Members that are not known are ignored. Times, labels and metadata are texts: a number instead
//! refuses the push, as Loki does. Bytes that are not UTF-8 do not: they become U+FFFD, since one
//! line of a batch must not cost the others.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::PushError;
use super::assemble::{Assembler, Metadata, Stream};
use super::labels::Pairs;
use crate::json::JsonError;

pub(super) fn read(bytes: &[u8], assembler: &mut Assembler) -> Result<(), PushError> {
    let text = String::from_utf8_lossy(bytes);
    let mut json = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    let mut state = State { assembler, metadata: Metadata::default(), stopped: None };
    let result = json.deserialize_map(Root(&mut state)).and_then(|()| json.end());
    match (state.stopped, result) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(PushError::Json(JsonError::without_path(&error))),
    }
}

struct State<'a> {
    assembler: &'a mut Assembler,
    metadata: Metadata,
    /// Why reading ended, if it was not for what is read.
    stopped: Option<PushError>,
}

impl State<'_> {
    /// Ends the reading with an error that is none of JSON.
    fn stop<E: Error>(&mut self, result: Result<(), PushError>) -> Result<(), E> {
        result.map_err(|error| {
            let message = error.to_string();
            self.stopped = Some(error);
            E::custom(message)
        })
    }
}

/// The outermost object.
struct Root<'s, 'a>(&'s mut State<'a>);

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with streams")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Text("a member's name"))? {
            match &*name {
                "streams" => map.next_value_seed(Streams(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of streams.
struct Streams<'s, 'a>(&'s mut State<'a>);

impl<'de> DeserializeSeed<'de> for Streams<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Streams<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of streams")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(OneStream(self.0))?.is_some() {}
        Ok(())
    }
}

/// `{"stream": {…}, "values": […]}`, in either order.
struct OneStream<'s, 'a>(&'s mut State<'a>);

impl<'de> DeserializeSeed<'de> for OneStream<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneStream<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with stream and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(state) = self;
        let (mut stream, mut labels) = (Stream::default(), Pairs::new());
        while let Some(name) = map.next_key_seed(Text("a member's name"))? {
            match &*name {
                "stream" => map.next_value_seed(TextPairs(|name, value| {
                    labels.push((into_bytes(name), into_bytes(value)));
                }))?,
                "values" => {
                    map.next_value_seed(Values { state: &mut *state, stream: &mut stream })?;
                }
                // To ignore them would be to lose them.
                "entries" => {
                    let message = "stream has entries, as before Loki's API had a version: send \
                                   stream and values";
                    return Err(A::Error::custom(message));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let added = state.assembler.add(stream, Ok(labels));
        state.stop(added)
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The entries of a stream.
struct Values<'s, 'a> {
    state: &'s mut State<'a>,
    stream: &'s mut Stream,
}

impl<'de> DeserializeSeed<'de> for Values<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { state, stream } = self;
        while list
            .next_element_seed(Entry(Values { state: &mut *state, stream: &mut *stream }))?
            .is_some()
        {
            let checked = state.assembler.check_size(stream.size_bytes());
            state.stop(checked)?;
        }
        Ok(())
    }
}

/// `["<ns>", "line"]` or `["<ns>", "line", {…}]`.
struct Entry<'s, 'a>(Values<'s, 'a>);

impl<'de> DeserializeSeed<'de> for Entry<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entry<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[\"<nanoseconds since 1970>\", \"line\", {\"metadata\": \"text\"}]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Some(time) = list.next_element_seed(Text("nanoseconds since 1970 as text"))? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let Ok(time_nanos) = time.parse::<i64>() else {
            let message = format!("time {time:?}: expected nanoseconds since 1970 as text");
            return Err(A::Error::custom(message));
        };
        let Some(line) = list.next_element_seed(Text("a line as text"))? else {
            return Err(A::Error::invalid_length(1, &self));
        };
        let Values { state, stream } = self.0;
        let State { assembler, metadata, .. } = state;
        metadata.clear();
        let bounds = assembler.bounds();
        let pairs = TextPairs(|name: Cow<'_, str>, value: Cow<'_, str>| {
            metadata.push(name.as_bytes(), value.as_bytes(), bounds);
        });
        if list.next_element_seed(pairs)?.is_some() && list.next_element::<IgnoredAny>()?.is_some()
        {
            return Err(A::Error::custom("entry has more than time, line and metadata"));
        }
        stream.push(time_nanos.into(), line.as_bytes(), metadata);
        Ok(())
    }
}

/// An object of texts, handed on pair by pair; null has none.
struct TextPairs<F>(F);

impl<'de, F: FnMut(Cow<'de, str>, Cow<'de, str>)> DeserializeSeed<'de> for TextPairs<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Cow<'de, str>, Cow<'de, str>)> Visitor<'de> for TextPairs<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Text("a name"))? {
            let value = map.next_value_seed(Text("a text"))?;
            (self.0)(name, value);
        }
        Ok(())
    }
}

/// A text, borrowed if it has no escapes; the field says what is expected.
struct Text(&'static str);

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Cow<'de, str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
