//! Prometheus' remote-write, 1.0 and 2.0: bytes to views, the admission check, and a writer.
//!
//! A request brings series: labels, and under them samples, native histograms and exemplars. In 1.0
//! each series spells its labels out; in 2.0 it refers to a table of texts that the request begins
//! with ([`Symbols`]). Samples and histograms are the same messages in both.
//!
//! ```text
//! 1.0 ──┐                                       ┌──> WriteRequestView, RequestView (views)
//!       ├──> inspect ──> admitted bytes ────────┤
//! 2.0 ──┘       │                               └──> whoever stores or forwards
//!  ▲            └──> counts, refusals, repairs
//!  └── RequestWriter (samples that are made here: scraping, rules, the host)
//! ```
//!
//! Requests are snappy-compressed on the wire. That is not the business of this module: all bytes
//! here are decompressed.
//!
//! | module | what it is for |
//! |---|---|
//! | [`views`] | requests, series, samples, exemplars and metadata as borrowed fields |
//! | [`histogram`] | native histograms: checked, and with absolute counts |
//! | [`inspect`](mod@inspect) | the admission check: refuse, repair, count |
//! | [`writer`] | a writer of 2.0 requests |

mod check;
pub mod histogram;
pub mod inspect;
mod rewrite;
#[cfg(test)]
mod tests;
pub mod views;
pub mod writer;

pub use histogram::{HistogramBuffers, HistogramFault, HistogramView, NativeHistogram};
pub use inspect::{Counts, Inspected, inspect};
pub use views::{
    ExemplarRefsView, ExemplarView, LabelView, MetadataRefsView, MetadataType, MetadataView,
    RequestView, SampleView, SeriesRefsView, SeriesView, SymbolTable, Symbols, WriteRequestView,
};
pub use writer::{Metadata, RequestWriter, SeriesWriter, write_label};

/// The label that holds the name of a series' metric.
pub const METRIC_NAME: &[u8] = b"__name__";

/// The version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// `prometheus.WriteRequest`.
    One,
    /// `io.prometheus.write.v2.Request`.
    Two,
}
