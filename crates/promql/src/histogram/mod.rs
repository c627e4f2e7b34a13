//! Native histograms as values of PromQL.
//!
//! A [`Histogram`] counts observations in buckets. With an exponential schema
//! (-4 to 8) each bucket's bounds are powers of `2^(2^-schema)`, mirrored for
//! negative observations, with a zero bucket between; only populated stretches
//! of buckets are stored ([`BucketSpan`]). With [`CUSTOM_SCHEMA`] the bounds are
//! listed, as in classic histograms. Counts are floats because PromQL divides
//! and subtracts: what comes out may be fractional, negative or NaN.
//!
//! ```text
//!  negative: … 2   1      zero      positive: 1     2        3 …
//!     [-4,-2) [-2,-1)  [-0.1,0.1]         (0.1,1] (1,2]   (2,4]     schema 0
//! ```
//!
//! Histograms come from the network, so nothing here panics on one whose spans
//! and counts disagree: buckets without a count, or counts without a bucket, do
//! not exist. [`Histogram::validate`] tells such histograms from sound ones.
//!
//! | file | what |
//! |---|---|
//! | `spans`, `bounds`, `buckets` | where buckets are: indices, bounds, iteration |
//! | `arithmetic`, `compensated`, `zero` | addition and subtraction, plain and without loss |
//! | `resolution`, `compact`, `custom` | other layouts of the same observations |
//! | `resets` | whether a counter started anew |
//! | `quantile`, `spread`, `trim` | quantiles, fractions, deviation, cutting at a value |
//! | `validate`, `text` | errors, text, JSON |

mod arithmetic;
mod bounds;
mod buckets;
mod compact;
mod compensated;
mod custom;
#[cfg(test)]
mod properties;
mod quantile;
mod resets;
mod resolution;
mod spans;
mod spread;
mod text;
mod trim;
mod validate;
mod zero;

use std::sync::Arc;

pub use arithmetic::Combined;
pub use buckets::Bucket;
pub use quantile::{FractionOutcome, QuantileNote, QuantileOutcome};
pub use spans::BucketSpan;
pub use validate::HistogramError;

use spans::Side;

/// The schema of histograms with listed bounds.
pub const CUSTOM_SCHEMA: i32 = -53;
/// The coarsest exponential schema.
pub const COARSEST_SCHEMA: i32 = -4;
/// The finest exponential schema.
pub const FINEST_SCHEMA: i32 = 8;

/// The sum that marks the end of a series of histograms.
const STALE_SUM_BITS: u64 = 0x7ff0_0000_0000_0002;

/// What is known of a counter's restart between the histogram before and this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResetHint {
    /// Nothing; the counts have to be compared.
    #[default]
    Unknown,
    /// The counter was reset.
    Reset,
    /// The counter was not reset.
    NotReset,
    /// It is no counter.
    Gauge,
}

/// A native histogram.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// The resolution: -4 to 8, or [`CUSTOM_SCHEMA`].
    pub schema: i32,
    /// What is known of a counter's restart.
    pub hint: ResetHint,
    /// The zero bucket reaches from minus this to this, both included.
    pub zero_threshold: f64,
    /// Observations in the zero bucket.
    pub zero_count: f64,
    /// All observations, with those that are NaN and in no bucket.
    pub count: f64,
    /// The sum of all observations.
    pub sum: f64,
    /// Where the buckets of positive observations are.
    pub positive_spans: Vec<BucketSpan>,
    /// Where the buckets of negative observations are, by distance from zero.
    pub negative_spans: Vec<BucketSpan>,
    /// Observations in each positive bucket.
    pub positive: Vec<f64>,
    /// Observations in each negative bucket.
    pub negative: Vec<f64>,
    /// The upper bounds of custom buckets but the last, which is `+Inf`. Empty
    /// unless the schema is [`CUSTOM_SCHEMA`].
    pub custom_bounds: Arc<[f64]>,
}

impl Histogram {
    /// Whether the bounds are listed.
    pub fn uses_custom_buckets(&self) -> bool {
        self.schema == CUSTOM_SCHEMA
    }

    /// Whether this is no histogram but the mark that the series ended.
    pub fn is_stale(&self) -> bool {
        self.sum.to_bits() == STALE_SUM_BITS
    }

    /// Whether the two are the same data: bit by bit, so that NaN equals itself,
    /// with the same buckets, empty ones too. Hints do not count. To compare what
    /// histograms say, compact both before.
    pub fn equals(&self, other: &Self) -> bool {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        self.schema == other.schema
            && same(self.count, other.count)
            && same(self.sum, other.sum)
            && self.zero_threshold == other.zero_threshold
            && same(self.zero_count, other.zero_count)
            && (!self.uses_custom_buckets() || self.has_bounds_of(other))
            && self.negative_side().equals(other.negative_side())
            && self.positive_side().equals(other.positive_side())
    }

    /// The memory it takes as Prometheus counts it.
    pub fn size_bytes(&self) -> usize {
        const FIXED_BYTES: usize = 168;
        let variable = self.positive_spans.len()
            + self.negative_spans.len()
            + self.positive.len()
            + self.negative.len()
            + self.custom_bounds.len();
        FIXED_BYTES + 8 * variable
    }

    /// As how many float samples it counts against the limit of a query, with
    /// its timestamp.
    pub fn size(&self) -> usize {
        (self.size_bytes() + 8) / 16
    }

    /// Whether any count or the sum is infinite, as sums that outgrow a float are.
    pub fn has_overflow(&self) -> bool {
        let counts = self.positive.iter().chain(&self.negative).chain(&*self.custom_bounds);
        [self.zero_count, self.count, self.sum].iter().chain(counts).any(|v| v.is_infinite())
    }

    pub(crate) fn positive_side(&self) -> Side<'_> {
        Side { spans: &self.positive_spans, counts: &self.positive }
    }

    pub(crate) fn negative_side(&self) -> Side<'_> {
        Side { spans: &self.negative_spans, counts: &self.negative }
    }

    fn has_bounds_of(&self, other: &Self) -> bool {
        // Histograms of one series share their bounds.
        Arc::ptr_eq(&self.custom_bounds, &other.custom_bounds)
            || self.custom_bounds == other.custom_bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A histogram of one stretch of positive buckets, for tests.
    pub(super) fn exponential(schema: i32, offset: i32, positive: &[f64]) -> Histogram {
        let positive_spans = match positive.len() {
            0 => Vec::new(),
            n => vec![BucketSpan { offset, length: u32::try_from(n).unwrap() }],
        };
        let count = positive.iter().fold(0.0, |sum, count| sum + count);
        let positive = positive.to_vec();
        Histogram { schema, count, positive_spans, positive, ..Histogram::default() }
    }

    /// A histogram of custom buckets from the first on, for tests.
    pub(super) fn custom(bounds: &[f64], counts: &[f64]) -> Histogram {
        let custom_bounds = bounds.into();
        Histogram { custom_bounds, ..exponential(CUSTOM_SCHEMA, 0, counts) }
    }

    #[test]
    fn equal_data_is_equal_whatever_its_hint() {
        let plain = exponential(0, 1, &[1.0, 2.0]);
        let gauge = Histogram { hint: ResetHint::Gauge, ..plain.clone() };
        assert!(plain.equals(&gauge));
        let nan = Histogram { sum: f64::NAN, ..plain.clone() };
        assert!(nan.equals(&nan.clone()));
        assert!(!nan.equals(&plain));
    }

    #[test]
    fn spans_may_be_cut_differently_in_equal_histograms() {
        let whole = exponential(0, 1, &[1.0, 2.0]);
        let pieces = [(1, 1), (0, 0), (0, 1)];
        let positive_spans =
            pieces.iter().map(|&(offset, length)| BucketSpan { offset, length }).collect();
        assert!(whole.equals(&Histogram { positive_spans, ..whole.clone() }));
        assert!(!whole.equals(&exponential(0, 2, &[1.0, 2.0])));
        assert!(!whole.equals(&exponential(0, 1, &[1.0, 2.0, 0.0])));
        assert!(!whole.equals(&exponential(1, 1, &[1.0, 2.0])));
    }

    #[test]
    fn custom_bounds_make_a_difference() {
        assert!(custom(&[1.0, 2.0], &[1.0]).equals(&custom(&[1.0, 2.0], &[1.0])));
        assert!(!custom(&[1.0, 2.0], &[1.0]).equals(&custom(&[1.0, 3.0], &[1.0])));
    }

    #[test]
    fn the_stale_mark_is_one_nan_of_many() {
        let stale = Histogram { sum: f64::from_bits(STALE_SUM_BITS), ..Histogram::default() };
        assert!(stale.is_stale());
        assert!(!Histogram { sum: f64::NAN, ..Histogram::default() }.is_stale());
    }

    #[test]
    fn size_counts_samples_of_sixteen_bytes() {
        assert_eq!(Histogram::default().size(), 11);
        let three = exponential(0, 0, &[1.0, 1.0, 1.0]);
        assert_eq!(three.size_bytes(), 168 + 8 + 24);
        assert_eq!(three.size(), 13);
    }

    #[test]
    fn overflow_is_seen_in_any_count() {
        assert!(!exponential(0, 0, &[1.0, f64::MAX]).has_overflow());
        assert!(exponential(0, 0, &[1.0, f64::INFINITY]).has_overflow());
        assert!(Histogram { sum: f64::NEG_INFINITY, ..Histogram::default() }.has_overflow());
    }
}
