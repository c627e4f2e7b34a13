//! The admission check: one validating walk over a whole request.
//!
//! It promises that what it lets pass is well-formed down to the last nested value: framing and
//! wire types, UTF-8 in every text, ids of the right length, no time after
//! [`Limits::max_time_unix_nanos`], no value nested deeper than [`Limits::max_nesting`] or longer
//! than [`Limits::max_value_bytes`], no more than [`Limits::max_attributes`] in a list. If nothing
//! is wrong, the body is handed on as it came and nothing is allocated.
//!
//! | what is wrong | what happens |
//! |---|---|
//! | framing, wire type, nesting, a sub-message twice that may occur once | the request is refused |
//! | span without a valid trace id or span id | the span is refused, the rest is kept |
//! | time too late in a span, log record or data point, or in an event or exemplar of it | the record is refused |
//! | data point with too many attributes, buckets, quantiles or exemplars | the point is refused: without some of its attributes it would belong to another series |
//! | parent span id of the wrong length or all zero | the span becomes a root |
//! | trace id or span id of a log record or exemplar invalid | that id is emptied |
//! | link without valid ids | the link is dropped and counted in `dropped_links_count` |
//! | text that is not UTF-8 | U+FFFD takes the place of what is wrong |
//! | too many attributes elsewhere | the surplus is dropped and counted in `dropped_attributes_count`, where there is one |
//! | value, body or status message too long | it is cut, text between two characters |
//!
//! A time of zero, an end before the start and an enum out of range are none of its business.

mod check;
mod rewrite;

use std::borrow::Cow;

use crate::limits::Limits;
use crate::proto::WireError;
use crate::{Signal, schema};
use check::Checker;

/// A request that may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected<'a> {
    /// The bytes to keep: those that came, or, if something was refused or repaired, new ones.
    pub body: Cow<'a, [u8]>,
    /// How many spans, log records or data points `body` holds.
    pub items: u64,
    /// What was left out of `body`.
    pub refused: Vec<Refused>,
    /// What was changed in `body`.
    pub repaired: Vec<Repaired>,
}

impl Inspected<'_> {
    /// How many spans, log records or data points were left out, for whatever reason.
    #[must_use]
    pub fn refused_items(&self) -> u64 {
        self.refused.iter().map(|refused| refused.count).sum()
    }
}

/// How many records were refused for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub reason: RefusalReason,
    /// How many spans, log records or data points.
    pub count: u64,
}

/// Why a single record is refused. If several reasons apply, the first found is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The trace id of a span is not 16 bytes, or all zero.
    TraceId,
    /// The span id of a span is not 8 bytes, or all zero.
    SpanId,
    /// A time lies after [`Limits::max_time_unix_nanos`].
    Time,
    /// The time of a data point lies before [`Limits::min_point_time_unix_nanos`].
    TooOld,
    /// A data point has more than [`MAX_POINT_ITEMS`](crate::limits::MAX_POINT_ITEMS) buckets,
    /// quantiles or exemplars.
    PointItems,
    /// A data point has more than [`Limits::max_attributes`] attributes.
    PointAttributes,
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: [Self; 6] = [
        Self::TraceId,
        Self::SpanId,
        Self::Time,
        Self::TooOld,
        Self::PointItems,
        Self::PointAttributes,
    ];

    /// What was wrong, for the answer to the sender.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::TraceId => "trace id is not 16 bytes or is all zero",
            Self::SpanId => "span id is not 8 bytes or is all zero",
            Self::Time => "time is later than allowed, by default after the year 2199",
            Self::TooOld => "data point is older than limits.metrics_window allows",
            Self::PointItems => "data point has more than 524288 buckets, quantiles or exemplars",
            Self::PointAttributes => "data point has more attributes than allowed",
        }
    }

    /// A word for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TraceId => "invalid_trace_id",
            Self::SpanId => "invalid_span_id",
            Self::Time => "time_too_late",
            Self::TooOld => "too_old",
            Self::PointItems => "too_many_point_items",
            Self::PointAttributes => "too_many_point_attributes",
        }
    }
}

/// How often one kind of repair was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// What was repaired.
    pub reason: RepairReason,
    /// How often.
    pub count: u64,
}

/// What can be put right without refusing a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairReason {
    /// A parent span id that is not 8 bytes or is all zero was emptied.
    ParentSpanId,
    /// A trace id or span id of a log record or an exemplar was emptied.
    ContextId,
    /// A link without valid ids was dropped.
    Link,
    /// Text that is not UTF-8 got replacement characters.
    Text,
    /// An attribute beyond [`Limits::max_attributes`] was dropped.
    Attribute,
    /// A value longer than [`Limits::max_value_bytes`] was cut.
    Value,
}

impl RepairReason {
    /// All reasons.
    pub const ALL: [Self; 6] =
        [Self::ParentSpanId, Self::ContextId, Self::Link, Self::Text, Self::Attribute, Self::Value];

    /// What was done, for the answer to the sender.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ParentSpanId => "parent span id is not 8 bytes or is all zero, now empty",
            Self::ContextId => "trace id or span id of a record is invalid, now empty",
            Self::Link => "link without valid ids was dropped",
            Self::Text => "text is not UTF-8, now with replacement characters",
            Self::Attribute => "attribute beyond the allowed number was dropped",
            Self::Value => "value longer than allowed was cut",
        }
    }

    /// A word for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ParentSpanId => "invalid_parent_span_id",
            Self::ContextId => "invalid_context_id",
            Self::Link => "invalid_link",
            Self::Text => "invalid_utf8",
            Self::Attribute => "too_many_attributes",
            Self::Value => "value_too_long",
        }
    }
}

/// Checks an `ExportTraceServiceRequest`.
pub fn inspect_traces<'a>(body: &'a [u8], limits: &Limits) -> Result<Inspected<'a>, WireError> {
    inspect(Signal::Traces, body, limits)
}

/// Checks an `ExportLogsServiceRequest`.
pub fn inspect_logs<'a>(body: &'a [u8], limits: &Limits) -> Result<Inspected<'a>, WireError> {
    inspect(Signal::Logs, body, limits)
}

/// Checks an `ExportMetricsServiceRequest`.
pub fn inspect_metrics<'a>(body: &'a [u8], limits: &Limits) -> Result<Inspected<'a>, WireError> {
    inspect(Signal::Metrics, body, limits)
}

/// Checks the request of any signal. An error means that nothing of it can be kept.
pub fn inspect<'a>(
    signal: Signal,
    body: &'a [u8],
    limits: &Limits,
) -> Result<Inspected<'a>, WireError> {
    let request = schema::request(signal);
    let mut checker = Checker::new(limits);
    checker.request(body, request)?;
    let body = if checker.is_clean() {
        Cow::Borrowed(body)
    } else {
        Cow::Owned(rewrite::rewrite(body, request, limits)?)
    };
    Ok(Inspected {
        body,
        items: checker.items,
        refused: RefusalReason::ALL
            .into_iter()
            .map(|reason| Refused { reason, count: checker.refused[reason as usize] })
            .filter(|refused| refused.count > 0)
            .collect(),
        repaired: RepairReason::ALL
            .into_iter()
            .map(|reason| Repaired { reason, count: checker.repaired[reason as usize] })
            .filter(|repaired| repaired.count > 0)
            .collect(),
    })
}

#[cfg(test)]
mod tests;
