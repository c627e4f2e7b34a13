//! The field tags of OTLP 1.x, of Prometheus' remote-write and of Loki's push, message by message.
//!
//! A tag is a field number and its wire type in one integer, exactly as it is on the wire, so
//! that a view can dispatch on it in one step.

use crate::proto::{FIXED32, FIXED64, LEN, VARINT};

/// Names the tags of one message and derives `KNOWN`, the set of its field numbers as bits.
macro_rules! tags {
    ($($message:ident { $($field:ident = $wire:ident($number:literal)),+ $(,)? })+) => {
        $(pub(crate) mod $message {
            use super::*;
            $(pub(crate) const $field: u32 = $number << 3 | $wire;)+
            #[allow(dead_code, reason = "lists inside values have no view that would need it")]
            /// Bit n is set when the message defines field n.
            pub(crate) const KNOWN: u64 = 0 $(| 1 << $number)+;
        })+
    };
}

tags! {
    // Requests and what they hold have the same numbers for all three signals.
    request { RESOURCE_GROUPS = LEN(1) }
    resource_group { RESOURCE = LEN(1), SCOPE_GROUPS = LEN(2), SCHEMA_URL = LEN(3) }
    scope_group { SCOPE = LEN(1), ITEMS = LEN(2), SCHEMA_URL = LEN(3) }

    resource { ATTRIBUTES = LEN(1), DROPPED_ATTRIBUTES_COUNT = VARINT(2), ENTITY_REFS = LEN(3) }
    entity_ref { SCHEMA_URL = LEN(1), TYPE = LEN(2), ID_KEYS = LEN(3), DESCRIPTION_KEYS = LEN(4) }
    scope {
        NAME = LEN(1), VERSION = LEN(2), ATTRIBUTES = LEN(3), DROPPED_ATTRIBUTES_COUNT = VARINT(4),
    }
    key_value { KEY = LEN(1), VALUE = LEN(2), KEY_STRINDEX = VARINT(3) }
    any_value {
        STRING = LEN(1), BOOL = VARINT(2), INT = VARINT(3), DOUBLE = FIXED64(4), ARRAY = LEN(5),
        KVLIST = LEN(6), BYTES = LEN(7), STRING_STRINDEX = VARINT(8),
    }
    list { VALUES = LEN(1) }

    span {
        TRACE_ID = LEN(1), SPAN_ID = LEN(2), TRACE_STATE = LEN(3), PARENT_SPAN_ID = LEN(4),
        NAME = LEN(5), KIND = VARINT(6), START_TIME = FIXED64(7), END_TIME = FIXED64(8),
        ATTRIBUTES = LEN(9), DROPPED_ATTRIBUTES_COUNT = VARINT(10), EVENTS = LEN(11),
        DROPPED_EVENTS_COUNT = VARINT(12), LINKS = LEN(13), DROPPED_LINKS_COUNT = VARINT(14),
        STATUS = LEN(15), FLAGS = FIXED32(16),
    }
    event {
        TIME = FIXED64(1), NAME = LEN(2), ATTRIBUTES = LEN(3), DROPPED_ATTRIBUTES_COUNT = VARINT(4),
    }
    link {
        TRACE_ID = LEN(1), SPAN_ID = LEN(2), TRACE_STATE = LEN(3), ATTRIBUTES = LEN(4),
        DROPPED_ATTRIBUTES_COUNT = VARINT(5), FLAGS = FIXED32(6),
    }
    status { MESSAGE = LEN(2), CODE = VARINT(3) }

    log_record {
        TIME = FIXED64(1), SEVERITY_NUMBER = VARINT(2), SEVERITY_TEXT = LEN(3), BODY = LEN(5),
        ATTRIBUTES = LEN(6), DROPPED_ATTRIBUTES_COUNT = VARINT(7), FLAGS = FIXED32(8),
        TRACE_ID = LEN(9), SPAN_ID = LEN(10), OBSERVED_TIME = FIXED64(11), EVENT_NAME = LEN(12),
    }

    metric {
        NAME = LEN(1), DESCRIPTION = LEN(2), UNIT = LEN(3), GAUGE = LEN(5), SUM = LEN(7),
        HISTOGRAM = LEN(9), EXPONENTIAL_HISTOGRAM = LEN(10), SUMMARY = LEN(11), METADATA = LEN(12),
    }
    gauge { DATA_POINTS = LEN(1) }
    sum { DATA_POINTS = LEN(1), TEMPORALITY = VARINT(2), IS_MONOTONIC = VARINT(3) }
    histogram { DATA_POINTS = LEN(1), TEMPORALITY = VARINT(2) }
    summary { DATA_POINTS = LEN(1) }
    number_point {
        START_TIME = FIXED64(2), TIME = FIXED64(3), AS_DOUBLE = FIXED64(4), EXEMPLARS = LEN(5),
        AS_INT = FIXED64(6), ATTRIBUTES = LEN(7), FLAGS = VARINT(8),
    }
    histogram_point {
        START_TIME = FIXED64(2), TIME = FIXED64(3), COUNT = FIXED64(4), SUM = FIXED64(5),
        BUCKET_COUNTS = FIXED64(6), BUCKET_COUNTS_PACKED = LEN(6), EXPLICIT_BOUNDS = FIXED64(7),
        EXPLICIT_BOUNDS_PACKED = LEN(7), EXEMPLARS = LEN(8), ATTRIBUTES = LEN(9),
        FLAGS = VARINT(10), MIN = FIXED64(11), MAX = FIXED64(12),
    }
    exponential_point {
        ATTRIBUTES = LEN(1), START_TIME = FIXED64(2), TIME = FIXED64(3), COUNT = FIXED64(4),
        SUM = FIXED64(5), SCALE = VARINT(6), ZERO_COUNT = FIXED64(7), POSITIVE = LEN(8),
        NEGATIVE = LEN(9), FLAGS = VARINT(10), EXEMPLARS = LEN(11), MIN = FIXED64(12),
        MAX = FIXED64(13), ZERO_THRESHOLD = FIXED64(14),
    }
    buckets { OFFSET = VARINT(1), BUCKET_COUNTS = VARINT(2), BUCKET_COUNTS_PACKED = LEN(2) }
    summary_point {
        START_TIME = FIXED64(2), TIME = FIXED64(3), COUNT = FIXED64(4), SUM = FIXED64(5),
        QUANTILE_VALUES = LEN(6), ATTRIBUTES = LEN(7), FLAGS = VARINT(8),
    }
    quantile { QUANTILE = FIXED64(1), VALUE = FIXED64(2) }
    exemplar {
        TIME = FIXED64(2), AS_DOUBLE = FIXED64(3), SPAN_ID = LEN(4), TRACE_ID = LEN(5),
        AS_INT = FIXED64(6), FILTERED_ATTRIBUTES = LEN(7),
    }

    // Remote-write 1.0 (`write1_…`) and 2.0 (`write2_…`). Samples and histograms are the same in
    // both, but that only 2.0 has start times.
    write1_request { SERIES = LEN(1), METADATA = LEN(3) }
    write1_series { LABELS = LEN(1), SAMPLES = LEN(2), EXEMPLARS = LEN(3), HISTOGRAMS = LEN(4) }
    write1_label { NAME = LEN(1), VALUE = LEN(2) }
    write1_exemplar { LABELS = LEN(1), VALUE = FIXED64(2), TIME = VARINT(3) }
    write1_metadata { TYPE = VARINT(1), FAMILY = LEN(2), HELP = LEN(4), UNIT = LEN(5) }
    write2_request { SYMBOLS = LEN(4), SERIES = LEN(5) }
    write2_series {
        LABELS = VARINT(1), LABELS_PACKED = LEN(1), SAMPLES = LEN(2), HISTOGRAMS = LEN(3),
        EXEMPLARS = LEN(4), METADATA = LEN(5),
    }
    write2_exemplar {
        LABELS = VARINT(1), LABELS_PACKED = LEN(1), VALUE = FIXED64(2), TIME = VARINT(3),
    }
    write2_metadata { TYPE = VARINT(1), HELP = VARINT(3), UNIT = VARINT(4) }
    sample { VALUE = FIXED64(1), TIME = VARINT(2), START_TIME = VARINT(3) }
    native_histogram {
        COUNT_INT = VARINT(1), COUNT_FLOAT = FIXED64(2), SUM = FIXED64(3), SCHEMA = VARINT(4),
        ZERO_THRESHOLD = FIXED64(5), ZERO_COUNT_INT = VARINT(6), ZERO_COUNT_FLOAT = FIXED64(7),
        NEGATIVE_SPANS = LEN(8), NEGATIVE_DELTAS = VARINT(9), NEGATIVE_DELTAS_PACKED = LEN(9),
        NEGATIVE_COUNTS = FIXED64(10), NEGATIVE_COUNTS_PACKED = LEN(10), POSITIVE_SPANS = LEN(11),
        POSITIVE_DELTAS = VARINT(12), POSITIVE_DELTAS_PACKED = LEN(12),
        POSITIVE_COUNTS = FIXED64(13), POSITIVE_COUNTS_PACKED = LEN(13), RESET_HINT = VARINT(14),
        TIME = VARINT(15), CUSTOM_VALUES = FIXED64(16), CUSTOM_VALUES_PACKED = LEN(16),
        START_TIME = VARINT(17),
    }
    bucket_span { OFFSET = VARINT(1), LENGTH = VARINT(2) }

    // What is pushed to Loki.
    push_request { STREAMS = LEN(1), FORMAT = LEN(2) }
    push_stream { LABELS = LEN(1), ENTRIES = LEN(2), HASH = VARINT(3) }
    push_entry { TIME = LEN(1), LINE = LEN(2), METADATA = LEN(3), PARSED = LEN(4) }
    push_time { SECS = VARINT(1), NANOS = VARINT(2) }
    push_label { NAME = LEN(1), VALUE = LEN(2) }

    // Remote-read. What it answers with are series of remote-write 1.0.
    read_request { QUERIES = LEN(1), RESPONSE_TYPES = VARINT(2), RESPONSE_TYPES_PACKED = LEN(2) }
    read_query { START_TIME = VARINT(1), END_TIME = VARINT(2), MATCHERS = LEN(3), HINTS = LEN(4) }
    read_matcher { TYPE = VARINT(1), NAME = LEN(2), VALUE = LEN(3) }
    read_response { RESULTS = LEN(1) }
    read_result { SERIES = LEN(1) }
}
