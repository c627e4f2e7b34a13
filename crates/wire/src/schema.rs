//! OTLP described as data: each message, its fields, their names and kinds.
//!
//! The admission check and both directions of OTLP/JSON are driven by these tables, so a field
//! is added to OTLP here, in [`tags`](crate::tags) and in its view, and nowhere else.

use crate::proto::{FIXED32, FIXED64, LEN, VARINT};
use crate::tags;

/// A message type.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) fields: &'static [Field],
    /// What the admission check has to do beyond the single fields.
    pub(crate) role: Role,
    /// Place in `fields` by field number; [`NO_FIELD`] if there is none.
    by_number: [u8; NUMBERS],
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    /// The lowerCamelCase name. The snake_case one follows from it.
    pub(crate) name: &'static str,
    pub(crate) number: u32,
    /// The tag of one element, that is not packed.
    pub(crate) tag: u32,
    pub(crate) kind: Kind,
    pub(crate) is_repeated: bool,
    /// Of the fields of a message that are choices, only the last one sent counts.
    pub(crate) is_choice: bool,
}

/// What a field holds, and how it is written on the wire and in JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Bytes,
    TraceId,
    SpanId,
    /// A span id that may be missing.
    ParentId,
    Bool,
    Uint32,
    Int32,
    Sint32,
    Int64,
    Uint64,
    Fixed32,
    Fixed64,
    /// A fixed64 that is a time in nanoseconds since 1970.
    Time,
    Sfixed64,
    Double,
    Enum(&'static EnumNames),
    Message(&'static Message),
    /// A message that is nested in values: one level deeper.
    AnyValue,
}

/// The names of an enum in OTLP/JSON.
#[derive(Debug)]
pub(crate) struct EnumNames {
    pub(crate) prefix: &'static str,
    /// What follows the prefix; the place is the number.
    pub(crate) names: &'static [&'static str],
}

/// How the admission check treats a message as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing beyond its fields.
    Plain,
    /// A record that must have ids, and is refused alone without.
    Span,
    /// A record or part of one whose ids may be missing.
    Log,
    /// A record without ids.
    Point,
    /// Its ids may be missing.
    Exemplar,
    /// Dropped if it does not have ids.
    Link,
    /// Its text and bytes may be of any length, and are cut.
    Value,
}

impl Role {
    /// Whether such a message is counted, and refused, on its own.
    pub(crate) const fn is_record(self) -> bool {
        matches!(self, Self::Span | Self::Log | Self::Point)
    }
}

/// One more than the highest field number of OTLP.
const NUMBERS: usize = 17;
const NO_FIELD: u8 = u8::MAX;

impl Message {
    const fn new(role: Role, fields: &'static [Field]) -> Self {
        let mut by_number = [NO_FIELD; NUMBERS];
        let mut index = 0;
        while index < fields.len() {
            by_number[fields[index].number as usize] = index as u8;
            index += 1;
        }
        Self { fields, role, by_number }
    }

    /// The place of a field in `fields`.
    #[inline]
    pub(crate) fn index_of(&self, number: u32) -> Option<usize> {
        let index = *self.by_number.get(number as usize)?;
        (index != NO_FIELD).then_some(index as usize)
    }

    /// The place of the field with a name in either spelling.
    pub(crate) fn index_named(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.is_named(name))
    }
}

impl Field {
    /// Whether `name` is this field, in lowerCamelCase or snake_case.
    fn is_named(&self, name: &str) -> bool {
        if name == self.name {
            return true;
        }
        let mut given = name.bytes();
        for letter in self.name.bytes() {
            if letter.is_ascii_uppercase() && given.next() != Some(b'_') {
                return false;
            }
            if given.next() != Some(letter.to_ascii_lowercase()) {
                return false;
            }
        }
        given.next().is_none()
    }
}

impl Kind {
    /// The wire type of one element.
    #[inline]
    pub(crate) const fn wire_type(self) -> u32 {
        match self {
            Self::Bool
            | Self::Uint32
            | Self::Int32
            | Self::Sint32
            | Self::Int64
            | Self::Uint64
            | Self::Enum(_) => VARINT,
            Self::Fixed64 | Self::Time | Self::Sfixed64 | Self::Double => FIXED64,
            Self::Fixed32 => FIXED32,
            Self::Text
            | Self::Bytes
            | Self::TraceId
            | Self::SpanId
            | Self::ParentId
            | Self::Message(_)
            | Self::AnyValue => LEN,
        }
    }

    /// The message type of the field, if it holds one.
    #[inline]
    pub(crate) const fn message(self) -> Option<&'static Message> {
        match self {
            Self::Message(message) => Some(message),
            Self::AnyValue => Some(&ANY_VALUE),
            _ => None,
        }
    }
}

const fn one(tag: u32, name: &'static str, kind: Kind) -> Field {
    Field { name, number: tag >> 3, tag, kind, is_repeated: false, is_choice: false }
}

const fn choice(tag: u32, name: &'static str, kind: Kind) -> Field {
    Field { name, number: tag >> 3, tag, kind, is_repeated: false, is_choice: true }
}

const fn many(tag: u32, name: &'static str, kind: Kind) -> Field {
    Field { name, number: tag >> 3, tag, kind, is_repeated: true, is_choice: false }
}

use Kind::Message as Sub;
use Kind::{
    AnyValue, Bool, Bytes, Double, Enum, Fixed32, Fixed64, Int32, Int64, ParentId, Sfixed64,
    Sint32, SpanId, Text, Time, TraceId, Uint32, Uint64,
};

pub(crate) const DROPPED_ATTRIBUTES: &str = "droppedAttributesCount";

static SPAN_KIND: EnumNames = EnumNames {
    prefix: "SPAN_KIND_",
    names: &["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"],
};
static STATUS_CODE: EnumNames =
    EnumNames { prefix: "STATUS_CODE_", names: &["UNSET", "OK", "ERROR"] };
static TEMPORALITY: EnumNames = EnumNames {
    prefix: "AGGREGATION_TEMPORALITY_",
    names: &["UNSPECIFIED", "DELTA", "CUMULATIVE"],
};
#[rustfmt::skip]
static SEVERITY: EnumNames = EnumNames {
    prefix: "SEVERITY_NUMBER_",
    names: &[
        "UNSPECIFIED", "TRACE", "TRACE2", "TRACE3", "TRACE4", "DEBUG", "DEBUG2", "DEBUG3",
        "DEBUG4", "INFO", "INFO2", "INFO3", "INFO4", "WARN", "WARN2", "WARN3", "WARN4", "ERROR",
        "ERROR2", "ERROR3", "ERROR4", "FATAL", "FATAL2", "FATAL3", "FATAL4",
    ],
};

pub(crate) static ANY_VALUE: Message = Message::new(
    Role::Value,
    &[
        choice(tags::any_value::STRING, "stringValue", Text),
        choice(tags::any_value::BOOL, "boolValue", Bool),
        choice(tags::any_value::INT, "intValue", Int64),
        choice(tags::any_value::DOUBLE, "doubleValue", Double),
        choice(tags::any_value::ARRAY, "arrayValue", Sub(&ARRAY)),
        choice(tags::any_value::KVLIST, "kvlistValue", Sub(&KVLIST)),
        choice(tags::any_value::BYTES, "bytesValue", Bytes),
        choice(tags::any_value::STRING_STRINDEX, "stringValueStrindex", Int32),
    ],
);
pub(crate) static ARRAY: Message =
    Message::new(Role::Plain, &[many(tags::list::VALUES, "values", AnyValue)]);
pub(crate) static KVLIST: Message =
    Message::new(Role::Plain, &[many(tags::list::VALUES, "values", Sub(&KEY_VALUE))]);
pub(crate) static KEY_VALUE: Message = Message::new(
    Role::Plain,
    &[
        one(tags::key_value::KEY, "key", Text),
        one(tags::key_value::VALUE, "value", AnyValue),
        one(tags::key_value::KEY_STRINDEX, "keyStrindex", Int32),
    ],
);
static RESOURCE: Message = Message::new(
    Role::Plain,
    &[
        many(tags::resource::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::resource::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
        many(tags::resource::ENTITY_REFS, "entityRefs", Sub(&ENTITY_REF)),
    ],
);
static ENTITY_REF: Message = Message::new(
    Role::Plain,
    &[
        one(tags::entity_ref::SCHEMA_URL, "schemaUrl", Text),
        one(tags::entity_ref::TYPE, "type", Text),
        many(tags::entity_ref::ID_KEYS, "idKeys", Text),
        many(tags::entity_ref::DESCRIPTION_KEYS, "descriptionKeys", Text),
    ],
);
static SCOPE: Message = Message::new(
    Role::Plain,
    &[
        one(tags::scope::NAME, "name", Text),
        one(tags::scope::VERSION, "version", Text),
        many(tags::scope::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::scope::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
    ],
);

/// The three levels down to the records, which differ only in names and in the records.
macro_rules! request {
    ($request:ident, $resources:literal, $scopes:literal, $items:literal, $item:ident) => {
        pub(crate) static $request: Message = Message::new(
            Role::Plain,
            &[many(
                tags::request::RESOURCE_GROUPS,
                $resources,
                Sub({
                    static RESOURCE_GROUP: Message = Message::new(
                        Role::Plain,
                        &[
                            one(tags::resource_group::RESOURCE, "resource", Sub(&RESOURCE)),
                            many(tags::resource_group::SCOPE_GROUPS, $scopes, Sub(&SCOPE_GROUP)),
                            one(tags::resource_group::SCHEMA_URL, "schemaUrl", Text),
                        ],
                    );
                    static SCOPE_GROUP: Message = Message::new(
                        Role::Plain,
                        &[
                            one(tags::scope_group::SCOPE, "scope", Sub(&SCOPE)),
                            many(tags::scope_group::ITEMS, $items, Sub(&$item)),
                            one(tags::scope_group::SCHEMA_URL, "schemaUrl", Text),
                        ],
                    );
                    &RESOURCE_GROUP
                }),
            )],
        );
    };
}

request!(TRACES, "resourceSpans", "scopeSpans", "spans", SPAN);
request!(LOGS, "resourceLogs", "scopeLogs", "logRecords", LOG_RECORD);
request!(METRICS, "resourceMetrics", "scopeMetrics", "metrics", METRIC);

static SPAN: Message = Message::new(
    Role::Span,
    &[
        one(tags::span::TRACE_ID, "traceId", TraceId),
        one(tags::span::SPAN_ID, "spanId", SpanId),
        one(tags::span::TRACE_STATE, "traceState", Text),
        one(tags::span::PARENT_SPAN_ID, "parentSpanId", ParentId),
        one(tags::span::NAME, "name", Text),
        one(tags::span::KIND, "kind", Enum(&SPAN_KIND)),
        one(tags::span::START_TIME, "startTimeUnixNano", Time),
        one(tags::span::END_TIME, "endTimeUnixNano", Time),
        many(tags::span::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::span::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
        many(tags::span::EVENTS, "events", Sub(&EVENT)),
        one(tags::span::DROPPED_EVENTS_COUNT, "droppedEventsCount", Uint32),
        many(tags::span::LINKS, "links", Sub(&LINK)),
        one(tags::span::DROPPED_LINKS_COUNT, "droppedLinksCount", Uint32),
        one(tags::span::STATUS, "status", Sub(&STATUS)),
        one(tags::span::FLAGS, "flags", Fixed32),
    ],
);
pub(crate) static EVENT: Message = Message::new(
    Role::Plain,
    &[
        one(tags::event::TIME, "timeUnixNano", Time),
        one(tags::event::NAME, "name", Text),
        many(tags::event::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::event::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
    ],
);
pub(crate) static LINK: Message = Message::new(
    Role::Link,
    &[
        one(tags::link::TRACE_ID, "traceId", TraceId),
        one(tags::link::SPAN_ID, "spanId", SpanId),
        one(tags::link::TRACE_STATE, "traceState", Text),
        many(tags::link::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::link::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
        one(tags::link::FLAGS, "flags", Fixed32),
    ],
);
pub(crate) static STATUS: Message = Message::new(
    Role::Value,
    &[
        one(tags::status::MESSAGE, "message", Text),
        one(tags::status::CODE, "code", Enum(&STATUS_CODE)),
    ],
);

static LOG_RECORD: Message = Message::new(
    Role::Log,
    &[
        one(tags::log_record::TIME, "timeUnixNano", Time),
        one(tags::log_record::OBSERVED_TIME, "observedTimeUnixNano", Time),
        one(tags::log_record::SEVERITY_NUMBER, "severityNumber", Enum(&SEVERITY)),
        one(tags::log_record::SEVERITY_TEXT, "severityText", Text),
        one(tags::log_record::BODY, "body", AnyValue),
        many(tags::log_record::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::log_record::DROPPED_ATTRIBUTES_COUNT, DROPPED_ATTRIBUTES, Uint32),
        one(tags::log_record::FLAGS, "flags", Fixed32),
        one(tags::log_record::TRACE_ID, "traceId", TraceId),
        one(tags::log_record::SPAN_ID, "spanId", SpanId),
        one(tags::log_record::EVENT_NAME, "eventName", Text),
    ],
);

static METRIC: Message = Message::new(
    Role::Plain,
    &[
        one(tags::metric::NAME, "name", Text),
        one(tags::metric::DESCRIPTION, "description", Text),
        one(tags::metric::UNIT, "unit", Text),
        choice(tags::metric::GAUGE, "gauge", Sub(&GAUGE)),
        choice(tags::metric::SUM, "sum", Sub(&SUM)),
        choice(tags::metric::HISTOGRAM, "histogram", Sub(&HISTOGRAM)),
        choice(
            tags::metric::EXPONENTIAL_HISTOGRAM,
            "exponentialHistogram",
            Sub(&EXPONENTIAL_HISTOGRAM),
        ),
        choice(tags::metric::SUMMARY, "summary", Sub(&SUMMARY)),
        many(tags::metric::METADATA, "metadata", Sub(&KEY_VALUE)),
    ],
);
static GAUGE: Message =
    Message::new(Role::Plain, &[many(tags::gauge::DATA_POINTS, "dataPoints", Sub(&NUMBER_POINT))]);
static SUM: Message = Message::new(
    Role::Plain,
    &[
        many(tags::sum::DATA_POINTS, "dataPoints", Sub(&NUMBER_POINT)),
        one(tags::sum::TEMPORALITY, "aggregationTemporality", Enum(&TEMPORALITY)),
        one(tags::sum::IS_MONOTONIC, "isMonotonic", Bool),
    ],
);
static HISTOGRAM: Message = Message::new(
    Role::Plain,
    &[
        many(tags::histogram::DATA_POINTS, "dataPoints", Sub(&HISTOGRAM_POINT)),
        one(tags::histogram::TEMPORALITY, "aggregationTemporality", Enum(&TEMPORALITY)),
    ],
);
static EXPONENTIAL_HISTOGRAM: Message = Message::new(
    Role::Plain,
    &[
        many(tags::histogram::DATA_POINTS, "dataPoints", Sub(&EXPONENTIAL_POINT)),
        one(tags::histogram::TEMPORALITY, "aggregationTemporality", Enum(&TEMPORALITY)),
    ],
);
static SUMMARY: Message = Message::new(
    Role::Plain,
    &[many(tags::summary::DATA_POINTS, "dataPoints", Sub(&SUMMARY_POINT))],
);
static NUMBER_POINT: Message = Message::new(
    Role::Point,
    &[
        one(tags::number_point::START_TIME, "startTimeUnixNano", Time),
        one(tags::number_point::TIME, "timeUnixNano", Time),
        choice(tags::number_point::AS_DOUBLE, "asDouble", Double),
        many(tags::number_point::EXEMPLARS, "exemplars", Sub(&EXEMPLAR)),
        choice(tags::number_point::AS_INT, "asInt", Sfixed64),
        many(tags::number_point::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::number_point::FLAGS, "flags", Uint32),
    ],
);
static HISTOGRAM_POINT: Message = Message::new(
    Role::Point,
    &[
        one(tags::histogram_point::START_TIME, "startTimeUnixNano", Time),
        one(tags::histogram_point::TIME, "timeUnixNano", Time),
        one(tags::histogram_point::COUNT, "count", Fixed64),
        one(tags::histogram_point::SUM, "sum", Double),
        many(tags::histogram_point::BUCKET_COUNTS, "bucketCounts", Fixed64),
        many(tags::histogram_point::EXPLICIT_BOUNDS, "explicitBounds", Double),
        many(tags::histogram_point::EXEMPLARS, "exemplars", Sub(&EXEMPLAR)),
        many(tags::histogram_point::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::histogram_point::FLAGS, "flags", Uint32),
        one(tags::histogram_point::MIN, "min", Double),
        one(tags::histogram_point::MAX, "max", Double),
    ],
);
static EXPONENTIAL_POINT: Message = Message::new(
    Role::Point,
    &[
        many(tags::exponential_point::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::exponential_point::START_TIME, "startTimeUnixNano", Time),
        one(tags::exponential_point::TIME, "timeUnixNano", Time),
        one(tags::exponential_point::COUNT, "count", Fixed64),
        one(tags::exponential_point::SUM, "sum", Double),
        one(tags::exponential_point::SCALE, "scale", Sint32),
        one(tags::exponential_point::ZERO_COUNT, "zeroCount", Fixed64),
        one(tags::exponential_point::POSITIVE, "positive", Sub(&BUCKETS)),
        one(tags::exponential_point::NEGATIVE, "negative", Sub(&BUCKETS)),
        one(tags::exponential_point::FLAGS, "flags", Uint32),
        many(tags::exponential_point::EXEMPLARS, "exemplars", Sub(&EXEMPLAR)),
        one(tags::exponential_point::MIN, "min", Double),
        one(tags::exponential_point::MAX, "max", Double),
        one(tags::exponential_point::ZERO_THRESHOLD, "zeroThreshold", Double),
    ],
);
static BUCKETS: Message = Message::new(
    Role::Plain,
    &[
        one(tags::buckets::OFFSET, "offset", Sint32),
        many(tags::buckets::BUCKET_COUNTS, "bucketCounts", Uint64),
    ],
);
static SUMMARY_POINT: Message = Message::new(
    Role::Point,
    &[
        one(tags::summary_point::START_TIME, "startTimeUnixNano", Time),
        one(tags::summary_point::TIME, "timeUnixNano", Time),
        one(tags::summary_point::COUNT, "count", Fixed64),
        one(tags::summary_point::SUM, "sum", Double),
        many(tags::summary_point::QUANTILE_VALUES, "quantileValues", Sub(&QUANTILE)),
        many(tags::summary_point::ATTRIBUTES, "attributes", Sub(&KEY_VALUE)),
        one(tags::summary_point::FLAGS, "flags", Uint32),
    ],
);
static QUANTILE: Message = Message::new(
    Role::Plain,
    &[
        one(tags::quantile::QUANTILE, "quantile", Double),
        one(tags::quantile::VALUE, "value", Double),
    ],
);
static EXEMPLAR: Message = Message::new(
    Role::Exemplar,
    &[
        one(tags::exemplar::TIME, "timeUnixNano", Time),
        choice(tags::exemplar::AS_DOUBLE, "asDouble", Double),
        one(tags::exemplar::SPAN_ID, "spanId", SpanId),
        one(tags::exemplar::TRACE_ID, "traceId", TraceId),
        choice(tags::exemplar::AS_INT, "asInt", Sfixed64),
        many(tags::exemplar::FILTERED_ATTRIBUTES, "filteredAttributes", Sub(&KEY_VALUE)),
    ],
);

/// The request of a signal.
pub(crate) fn request(signal: crate::Signal) -> &'static Message {
    match signal {
        crate::Signal::Traces => &TRACES,
        crate::Signal::Logs => &LOGS,
        crate::Signal::Metrics => &METRICS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_both_spellings_and_no_other() {
        let span = |name| SPAN.index_named(name).map(|index| SPAN.fields[index].name);
        assert_eq!(span("traceId"), Some("traceId"));
        assert_eq!(span("trace_id"), Some("traceId"));
        assert_eq!(span("start_time_unix_nano"), Some("startTimeUnixNano"));
        for other in ["traceid", "TraceId", "trace_id_", "trace__id", "trace", "_trace_id", ""] {
            assert_eq!(span(other), None, "{other}");
        }
    }

    #[test]
    fn a_field_is_found_by_its_number() {
        for field in SPAN.fields {
            let index = SPAN.index_of(field.number).expect("is in the table");
            assert_eq!(SPAN.fields[index].name, field.name);
        }
        assert_eq!(METRIC.index_of(4), None);
        assert_eq!(SPAN.index_of(0), None);
        assert_eq!(SPAN.index_of(1_000), None);
    }
}
