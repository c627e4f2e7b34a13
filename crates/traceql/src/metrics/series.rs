//! Series: what a query for numbers gives.

use crate::value::OwnedValue;

/// A series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What tells it from others: `__name__`, or what it was grouped by.
    pub labels: Vec<(String, OwnedValue)>,
    /// Points by time: nanoseconds since 1970 and value. What is not known is left out.
    pub points: Vec<(i64, f64)>,
    /// Spans that are examples of what was measured.
    pub exemplars: Vec<Exemplar>,
}

/// A span that is an example of what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// What is known of the span: `trace:id`, and what the query names.
    pub labels: Vec<(String, OwnedValue)>,
    /// When it began: nanoseconds since 1970.
    pub time_nanos: i64,
    /// What was measured.
    pub value: f64,
}
