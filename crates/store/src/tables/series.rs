//! The table of series: a row is one series over one chunk of time.
//!
//! What makes a series is told in [`crate::series::identity`], the blobs `times`
//! and `values` in [`crate::series::codec`], `exemplars` in
//! [`crate::series::exemplars`]. `sequence` grows with arrival: of two points of
//! one series with equal time, that with the greater sequence counts. A row that
//! was joined from rows of different sequences has `sequences`, one for each
//! point, encoded as times are; `sequence` is then the greatest.

use crate::pages::encode::Hint;
use crate::schema::{CommonFields, Field, Kind, Signal, Table};

/// Places of the fields in [`TABLE`].
#[allow(missing_docs)]
pub mod field {
    pub const IDENTITY: usize = 0;
    pub const NAME: usize = 1;
    pub const UNIT: usize = 2;
    pub const DESCRIPTION: usize = 3;
    pub const TYPE: usize = 4;
    pub const TEMPORALITY: usize = 5;
    pub const MONOTONIC: usize = 6;
    pub const METADATA: usize = 7;
    pub const MIN_TIME: usize = 8;
    pub const MAX_TIME: usize = 9;
    pub const COUNT: usize = 10;
    pub const TIMES: usize = 11;
    pub const VALUES: usize = 12;
    pub const EXEMPLARS: usize = 13;
    pub const ORIGIN: usize = 14;
    pub const SHAPE: usize = 15;
    pub const REST: usize = 16;
    pub const SERVICE: usize = 17;
    pub const RESOURCE: usize = 18;
    pub const SCOPE_NAME: usize = 19;
    pub const SCOPE_VERSION: usize = 20;
    pub const SEQUENCE: usize = 21;
    pub const SEQUENCES: usize = 22;
}

/// Members of a point, for scans of points.
///
/// A point whose flags say that it has no value has NULL in all but times and
/// flags. A sum, gauge or sample has a `value` (integers as doubles), all others have
/// `count` and `sum`.
///
/// Buckets are those of a histogram with explicit bounds: `bucket_counts` has one
/// item more than `bucket_bounds`, an item is the number of observations above
/// the bound before it and up to its own, not cumulated. An *exponential
/// histogram* is shown in that form: its bounds are those of its buckets, computed
/// from scale and offset, those below zero first; what it counts as zero lies
/// between the bounds next to zero; the first bucket (if there are any below zero)
/// and the last (if there are any above) are empty, since nothing lies beyond. A
/// *native histogram* is shown likewise, with an empty bucket where it has none
/// between others, or with its custom bounds; its counts are rounded. A
/// *summary* has in `bucket_bounds` the values at its quantiles, in `quantiles`
/// which quantiles these are, and no counts.
#[allow(missing_docs)]
pub mod point {
    pub const TIME: usize = 0;
    pub const START_TIME: usize = 1;
    pub const VALUE: usize = 2;
    pub const COUNT: usize = 3;
    pub const SUM: usize = 4;
    pub const MIN: usize = 5;
    pub const MAX: usize = 6;
    pub const BUCKET_BOUNDS: usize = 7;
    pub const BUCKET_COUNTS: usize = 8;
    pub const QUANTILES: usize = 9;
    pub const FLAGS: usize = 10;
}

/// Names of the members of a [`point`], by place.
pub static POINT_MEMBERS: [&str; 11] = [
    "time",
    "start_time",
    "value",
    "count",
    "sum",
    "min",
    "max",
    "bucket_bounds",
    "bucket_counts",
    "quantiles",
    "flags",
];

/// The table.
pub static TABLE: Table = Table {
    signal: Signal::Series,
    scope: "label",
    fields: &[
        Field::required("identity", Kind::Id16, Hint::Plain),
        Field::required("name", Kind::Text, Hint::Auto),
        Field::optional("unit", Kind::Text, Hint::Auto),
        Field::optional("description", Kind::Text, Hint::Auto),
        Field::required("type", Kind::Text, Hint::Dictionary),
        Field::optional("temporality", Kind::Text, Hint::Dictionary),
        Field::optional("monotonic", Kind::Bool, Hint::Auto),
        Field::optional("metadata", Kind::Binary, Hint::Auto),
        Field::required("min_time", Kind::Time, Hint::Auto),
        Field::required("max_time", Kind::Time, Hint::Auto),
        Field::required("count", Kind::Int, Hint::Auto),
        Field::required("times", Kind::Binary, Hint::Auto),
        Field::required("values", Kind::Binary, Hint::Plain),
        Field::optional("exemplars", Kind::Binary, Hint::Plain),
        Field::required("origin", Kind::Int, Hint::Auto),
        Field::required("shape", Kind::Int, Hint::Auto),
        Field::optional("rest", Kind::Binary, Hint::Auto),
        Field::optional("resource.service.name", Kind::Text, Hint::Auto),
        Field::optional("resource", Kind::Text, Hint::Dictionary),
        Field::optional("scope_name", Kind::Text, Hint::Auto),
        Field::optional("scope_version", Kind::Text, Hint::Auto),
        Field::required("sequence", Kind::Int, Hint::Auto),
        Field::optional("sequences", Kind::Binary, Hint::Auto),
    ],
    lists: &[],
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
