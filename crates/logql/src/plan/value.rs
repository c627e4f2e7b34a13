//! The answers of metric queries.

use crate::labels::Labels;

/// The answer of a metric query.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number at one time.
    Scalar {
        /// When.
        time_nanos: i64,
        /// The number.
        value: f64,
    },
    /// Series at one time. By labels, unless the query orders them.
    Vector {
        /// When.
        time_nanos: i64,
        /// One for each series.
        samples: Vec<Sample>,
    },
    /// Series over time, by labels.
    Matrix(Vec<Series>),
}

/// A series at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Which.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
}

/// A series over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Which.
    pub labels: Labels,
    /// Times in nanoseconds and values, by time.
    pub points: Vec<(i64, f64)>,
}
