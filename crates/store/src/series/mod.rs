//! Series of metric points: from requests to rows and back.
//!
//! A row of the table `series` is one series over one chunk of time. What one
//! series is, is said in [`identity`]; how points become bytes, in [`codec`].
//!
//! ```text
//! request ── ingest ──> head (points by series) ── row ──> chunk ──> block
//!                                                            │         │
//!                 merge (small rows to larger ones) <── columns (rows of any source)
//!                                                            │
//!     select (matcher) ──> data: points, numbers ──> otlp ──> request
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`identity`] | what makes a series, and its 128-bit identity |
//! | [`head`] | the points since the last flush, by series |
//! | `registry` | origins, metrics and series of the head, found by identity |
//! | `remote_write`, `remote_labels` | the same for requests of remote-write, and their labels |
//! | `families` | what remote-write 1.0 says about metrics, apart from their series |
//! | `ingest` | a data point of a request to columns of points |
//! | [`exemplars`] | the field `exemplars` |
//! | `row` | points and what describes them to a row of a chunk |
//! | `columns` | a row of a chunk or block to its parts |
//! | `labels` | the attributes of a row |
//! | [`open`] | series of a head as they are, for queries |
//! | [`index`], [`read`] | which series a source has, and reading some of them |
//! | [`matcher`], `label_filter`, [`select`] | which series a query asks for, and finding them |
//! | [`data`] | a found series: its points |
//! | `buckets` | exponential buckets with explicit bounds |
//! | `join` | points of several rows as one |
//! | [`merge`] | rows of one series joined, for compaction |
//! | [`otlp`] | series back to a request |
//!
//! # Promises
//!
//! 1. Every data point with its time, start time, flags, value and exemplars
//!    comes back as it was sent, also out of order and also twice. Only exact
//!    duplicates are dropped, when rows are joined.
//! 2. Of two points of one series with equal time, queries see the one that
//!    arrived later, wherever the two lie. For that each row has a `sequence`
//!    that grows with arrival, and a joined row one for each point.
//! 3. Description and metadata of a metric are not part of the identity; the
//!    last that came within a row is kept, and of several rows the last that has any.

pub(crate) mod buckets;
pub mod codec;
pub(crate) mod columns;
pub mod data;
pub mod exemplars;
pub(crate) mod families;
pub mod head;
pub mod identity;
pub mod index;
pub(crate) mod ingest;
pub(crate) mod join;
pub(crate) mod label_filter;
pub(crate) mod labels;
pub mod matcher;
pub mod merge;
pub mod open;
pub mod otlp;
pub mod read;
pub(crate) mod registry;
pub(crate) mod remote_labels;
pub(crate) mod remote_write;
pub(crate) mod row;
pub mod select;

pub use families::{TYPE_KEY, UNIT_KEY};
pub use row::Description;

use crate::error::StoreError;

impl From<codec::CodecError> for StoreError {
    fn from(error: codec::CodecError) -> Self {
        Self::Corrupt(error.to_string())
    }
}
