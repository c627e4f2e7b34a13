//! The table of spans.

use kymo_wire::{SpanView, TracesView, View, WireError};

use crate::chunk::ChunkBuilder;
use crate::origin::Origin;
use crate::pages::encode::Hint;
use crate::schema::{CommonFields, Field, Kind, ListField, Signal, Table};

/// Places of the fields in [`TABLE`].
#[allow(missing_docs)]
pub mod field {
    pub const TRACE_ID: usize = 0;
    pub const SPAN_ID: usize = 1;
    pub const PARENT_SPAN_ID: usize = 2;
    pub const PARENT_ROW: usize = 3;
    pub const NAME: usize = 4;
    pub const KIND: usize = 5;
    pub const START_TIME: usize = 6;
    pub const DURATION: usize = 7;
    pub const STATUS: usize = 8;
    pub const STATUS_MESSAGE: usize = 9;
    pub const TRACE_STATE: usize = 10;
    pub const FLAGS: usize = 11;
    pub const DROPPED_ATTRIBUTES: usize = 12;
    pub const DROPPED_EVENTS: usize = 13;
    pub const DROPPED_LINKS: usize = 14;
    pub const ROOT_NAME: usize = 15;
    pub const ROOT_SERVICE: usize = 16;
    pub const TRACE_START_TIME: usize = 17;
    pub const TRACE_DURATION: usize = 18;
    pub const ORIGIN: usize = 19;
    pub const SHAPE: usize = 20;
    pub const REST: usize = 21;
    pub const SERVICE: usize = 22;
    pub const RESOURCE: usize = 23;
    pub const SCOPE_NAME: usize = 24;
    pub const SCOPE_VERSION: usize = 25;
}

/// Places of the lists in [`TABLE`] and of their members.
#[allow(missing_docs)]
pub mod list {
    pub const EVENTS: usize = 0;
    pub const LINKS: usize = 1;

    pub const EVENT_TIME: usize = 0;
    pub const EVENT_NAME: usize = 1;
    pub const EVENT_ATTRIBUTES: usize = 2;
    pub const EVENT_DROPPED: usize = 3;

    pub const LINK_TRACE_ID: usize = 0;
    pub const LINK_SPAN_ID: usize = 1;
    pub const LINK_TRACE_STATE: usize = 2;
    pub const LINK_ATTRIBUTES: usize = 3;
    pub const LINK_DROPPED: usize = 4;
    pub const LINK_FLAGS: usize = 5;
}

/// The table.
pub static TABLE: Table = Table {
    signal: Signal::Spans,
    scope: "span",
    fields: &[
        Field::required("trace_id", Kind::Id16, Hint::Plain),
        Field::required("span_id", Kind::Id8, Hint::Plain),
        Field::optional("parent_span_id", Kind::Id8, Hint::Plain),
        Field::optional("parent_row", Kind::Int, Hint::Auto),
        Field::required("name", Kind::Text, Hint::Auto),
        Field::required("kind", Kind::Text, Hint::Dictionary),
        Field::required("start_time", Kind::Time, Hint::Delta),
        Field::required("duration_nanos", Kind::Int, Hint::Delta),
        Field::optional("status", Kind::Text, Hint::Dictionary),
        Field::optional("status_message", Kind::Text, Hint::Auto),
        Field::optional("trace_state", Kind::Text, Hint::Auto),
        Field::optional("flags", Kind::Int, Hint::Auto),
        Field::optional("dropped_attributes_count", Kind::Int, Hint::Auto),
        Field::optional("dropped_events_count", Kind::Int, Hint::Auto),
        Field::optional("dropped_links_count", Kind::Int, Hint::Auto),
        Field::optional("root_name", Kind::Text, Hint::Auto),
        Field::optional("root_service", Kind::Text, Hint::Auto),
        Field::required("trace_start_time", Kind::Time, Hint::Plain),
        Field::required("trace_duration_nanos", Kind::Int, Hint::Plain),
        Field::required("origin", Kind::Int, Hint::Auto),
        Field::required("shape", Kind::Int, Hint::Auto),
        Field::optional("rest", Kind::Binary, Hint::Auto),
        Field::optional("resource.service.name", Kind::Text, Hint::Auto),
        Field::optional("resource", Kind::Text, Hint::Dictionary),
        Field::optional("scope_name", Kind::Text, Hint::Auto),
        Field::optional("scope_version", Kind::Text, Hint::Auto),
    ],
    lists: &[
        ListField {
            name: "events",
            members: &[
                Field::required("time", Kind::Time, Hint::Delta),
                Field::required("name", Kind::Text, Hint::Auto),
                Field::optional("attributes", Kind::Binary, Hint::Auto),
                Field::optional("dropped_attributes_count", Kind::Int, Hint::Auto),
            ],
        },
        ListField {
            name: "links",
            members: &[
                Field::required("trace_id", Kind::Id16, Hint::Plain),
                Field::required("span_id", Kind::Id8, Hint::Plain),
                Field::optional("trace_state", Kind::Text, Hint::Auto),
                Field::optional("attributes", Kind::Binary, Hint::Auto),
                Field::optional("dropped_attributes_count", Kind::Int, Hint::Auto),
                Field::optional("flags", Kind::Int, Hint::Auto),
            ],
        },
    ],
    common: CommonFields {
        origin: field::ORIGIN,
        shape: field::SHAPE,
        rest: field::REST,
        service: field::SERVICE,
        resource: field::RESOURCE,
        scope_name: field::SCOPE_NAME,
        scope_version: field::SCOPE_VERSION,
    },
};

const KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const STATUSES: [&str; 3] = ["unset", "ok", "error"];

/// The word of an enumeration's number; the number itself where it has none.
pub(crate) fn push_word(builder: &mut ChunkBuilder, field: usize, words: &[&str], number: i32) {
    match usize::try_from(number).ok().and_then(|n| words.get(n)) {
        Some(word) => builder.bytes(field, word.as_bytes()),
        None => builder.bytes(field, number.to_string().as_bytes()),
    }
}

/// The number of an enumeration's word, or that the word is.
pub(crate) fn number_of(word: &[u8], words: &[&str]) -> i32 {
    match words.iter().position(|w| w.as_bytes() == word) {
        Some(number) => number as i32,
        None => std::str::from_utf8(word).ok().and_then(|w| w.parse().ok()).unwrap_or(0),
    }
}

/// The number of a span kind's word.
pub fn kind_number(word: &[u8]) -> i32 {
    number_of(word, &KINDS)
}

/// The number of a status code's word.
pub fn status_number(word: &[u8]) -> i32 {
    number_of(word, &STATUSES)
}

/// Appends the spans of an encoded request; returns how many.
pub fn append(body: &[u8], builder: &mut ChunkBuilder) -> Result<usize, WireError> {
    let mut appended = 0;
    let mut encoded = Vec::new();
    for group in TracesView::parse(body)?.resources {
        let group = group?;
        for scope in group.scopes {
            let scope = scope?;
            encoded.clear();
            Origin::of(&group, &scope).encode(&mut encoded);
            let origin = builder.origin(&encoded);
            for span in scope.items {
                append_span(&span?, origin, builder)?;
                appended += 1;
            }
        }
    }
    Ok(appended)
}

fn append_span(
    span: &SpanView<'_>,
    origin: u32,
    builder: &mut ChunkBuilder,
) -> Result<(), WireError> {
    builder.begin_row(origin);
    builder.id(field::TRACE_ID, span.trace_id);
    builder.id(field::SPAN_ID, span.span_id);
    if !span.parent_span_id.is_empty() {
        builder.id(field::PARENT_SPAN_ID, span.parent_span_id);
    }
    builder.bytes(field::NAME, span.name);
    push_word(builder, field::KIND, &KINDS, span.kind);
    let start = span.start_time_unix_nano as i64;
    builder.int(field::START_TIME, start);
    builder.int(field::DURATION, (span.end_time_unix_nano as i64).wrapping_sub(start));
    if let Some(status) = &span.status {
        push_word(builder, field::STATUS, &STATUSES, status.code);
        builder.bytes_if_any(field::STATUS_MESSAGE, status.message);
    }
    builder.bytes_if_any(field::TRACE_STATE, span.trace_state);
    builder.int_if_any(field::FLAGS, i64::from(span.flags));
    builder.int_if_any(field::DROPPED_ATTRIBUTES, i64::from(span.dropped_attributes_count));
    builder.int_if_any(field::DROPPED_EVENTS, i64::from(span.dropped_events_count));
    builder.int_if_any(field::DROPPED_LINKS, i64::from(span.dropped_links_count));
    for attribute in span.attributes {
        builder.attribute(&attribute?);
    }
    builder.end_attributes();
    for event in span.events {
        let event = event?;
        builder.begin_element(list::EVENTS);
        builder.element_int(list::EVENTS, list::EVENT_TIME, event.time_unix_nano as i64);
        builder.element_bytes(list::EVENTS, list::EVENT_NAME, event.name);
        let attributes = attribute_list(event.attributes.raws())?;
        if !attributes.is_empty() {
            builder.element_bytes(list::EVENTS, list::EVENT_ATTRIBUTES, &attributes);
        }
        let dropped = i64::from(event.dropped_attributes_count);
        if dropped != 0 {
            builder.element_int(list::EVENTS, list::EVENT_DROPPED, dropped);
        }
    }
    for link in span.links {
        let link = link?;
        builder.begin_element(list::LINKS);
        builder.element_id(list::LINKS, list::LINK_TRACE_ID, link.trace_id);
        builder.element_id(list::LINKS, list::LINK_SPAN_ID, link.span_id);
        if !link.trace_state.is_empty() {
            builder.element_bytes(list::LINKS, list::LINK_TRACE_STATE, link.trace_state);
        }
        let attributes = attribute_list(link.attributes.raws())?;
        if !attributes.is_empty() {
            builder.element_bytes(list::LINKS, list::LINK_ATTRIBUTES, &attributes);
        }
        if link.dropped_attributes_count != 0 {
            let dropped = i64::from(link.dropped_attributes_count);
            builder.element_int(list::LINKS, list::LINK_DROPPED, dropped);
        }
        if link.flags != 0 {
            builder.element_int(list::LINKS, list::LINK_FLAGS, i64::from(link.flags));
        }
    }
    Ok(())
}

/// Encoded attributes as one encoded `KeyValueList`.
fn attribute_list<'a>(
    raws: impl Iterator<Item = Result<&'a [u8], WireError>>,
) -> Result<Vec<u8>, WireError> {
    let mut list = Vec::new();
    for raw in raws {
        crate::chunk::push_rest(raw?, &mut list);
    }
    Ok(list)
}
