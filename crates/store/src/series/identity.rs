//! What makes a series, and its identity.
//!
//! Points belong to one series if all of this is equal, byte by byte as sent:
//! origin (resource, scope and their schema URLs), name, unit and type of the
//! metric, temporality, whether it is monotonic, and the point's attributes in
//! their order. Attributes in another order are another series: what was sent
//! comes back.
//!
//! The identity is a hash in three steps, so that a request computes the first
//! once for each scope, the second once for each metric. With `xxh3` the 128-bit
//! XXH3 without a seed, numbers little-endian:
//!
//! 1. *origin* = xxh3(the encoded origin, see [`crate::origin`])
//! 2. *metric* = xxh3(*origin* (16 bytes), type (1 byte, below), temporality as
//!    sent (4 bytes; 0 if the type has none), monotonic (1 byte: 1 or 0), length
//!    of the name (4 bytes), name, unit)
//! 3. *identity* = xxh3(*metric* (16 bytes), the attributes as an encoded
//!    `KeyValueList`)
//!
//! A series that came by remote-write has an empty origin and no unit; its name
//! is the label `__name__`, its attributes are all other labels in order of name.
//! Samples and native histograms of equal labels are two series.
//!
//! In the file the identity is its 16 bytes, lowest first. Should two different
//! series of a head have one identity, the later is hashed again with seed 1, 2
//! and so on. Readers take equal identities for one series.

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// The type of a metric. The numbers are those of the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MetricType {
    /// Values that were current when they were taken.
    Gauge = 1,
    /// Sums over time.
    Sum = 2,
    /// Distributions over explicit bounds.
    Histogram = 3,
    /// Distributions over exponential bounds.
    ExponentialHistogram = 4,
    /// Quantiles that the sender computed.
    Summary = 5,
    /// Samples of a series that is named and labelled as in Prometheus.
    Sample = 6,
    /// Native histograms of such a series.
    NativeHistogram = 7,
}

impl MetricType {
    /// All types.
    pub const ALL: [Self; 7] = [
        Self::Gauge,
        Self::Sum,
        Self::Histogram,
        Self::ExponentialHistogram,
        Self::Summary,
        Self::Sample,
        Self::NativeHistogram,
    ];

    /// The word in the column `type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Sum => "sum",
            Self::Histogram => "histogram",
            Self::ExponentialHistogram => "exponential_histogram",
            Self::Summary => "summary",
            Self::Sample => "sample",
            Self::NativeHistogram => "native_histogram",
        }
    }

    /// Whether the series is named and labelled as in Prometheus: all its attributes are texts in
    /// order of their keys, it has no origin, and what it counts is not said by its type.
    pub fn is_prometheus(self) -> bool {
        matches!(self, Self::Sample | Self::NativeHistogram)
    }

    /// The type of that word.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name().as_bytes() == name)
    }
}

/// Temporality of delta sums and histograms.
pub const DELTA: i32 = 1;
/// Temporality of cumulative sums and histograms.
pub const CUMULATIVE: i32 = 2;

/// Words of the temporalities, by number.
pub(crate) const TEMPORALITIES: [&str; 3] = ["unspecified", "delta", "cumulative"];

/// Type of a metric with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricKind {
    /// The type.
    pub metric_type: MetricType,
    /// `AggregationTemporality` as sent: [`DELTA`], [`CUMULATIVE`], or another
    /// number that makes no sense; `None` if the type has none.
    pub temporality: Option<i32>,
    /// Whether a sum never falls; `None` if it is not a sum.
    pub monotonic: Option<bool>,
}

/// Step 1: the hash of an encoded origin.
pub fn origin_hash(encoded_origin: &[u8]) -> u128 {
    xxh3_128(encoded_origin)
}

/// Step 2: the hash of a metric of an origin. `scratch` is overwritten.
pub fn metric_hash(
    origin_hash: u128,
    kind: MetricKind,
    name: &[u8],
    unit: &[u8],
    scratch: &mut Vec<u8>,
) -> u128 {
    scratch.clear();
    scratch.extend_from_slice(&origin_hash.to_le_bytes());
    scratch.push(kind.metric_type as u8);
    scratch.extend_from_slice(&kind.temporality.unwrap_or(0).to_le_bytes());
    scratch.push(u8::from(kind.monotonic == Some(true)));
    scratch.extend_from_slice(&(name.len() as u32).to_le_bytes());
    scratch.extend_from_slice(name);
    scratch.extend_from_slice(unit);
    xxh3_128(scratch)
}

/// Step 3: the identity, given the metric's hash and the attributes one after
/// the other.
#[inline]
pub(crate) fn identity(hash_and_attributes: &[u8], seed: u64) -> u128 {
    xxh3_128_with_seed(hash_and_attributes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_metric_is_part_of_its_hash() {
        let kind = |temporality, monotonic| MetricKind {
            metric_type: MetricType::Sum,
            temporality: Some(temporality),
            monotonic: Some(monotonic),
        };
        let gauge =
            MetricKind { metric_type: MetricType::Gauge, temporality: None, monotonic: None };
        let mut scratch = Vec::new();
        let mut hash = |origin, kind, name: &[u8], unit: &[u8]| {
            metric_hash(origin, kind, name, unit, &mut scratch)
        };
        let mut hashes = vec![
            hash(1, kind(DELTA, true), b"ab", b"c"),
            hash(2, kind(DELTA, true), b"ab", b"c"),
            hash(1, kind(CUMULATIVE, true), b"ab", b"c"),
            hash(1, kind(DELTA, false), b"ab", b"c"),
            hash(1, gauge, b"ab", b"c"),
            hash(1, kind(DELTA, true), b"a", b"bc"),
            hash(1, kind(DELTA, true), b"ab", b""),
        ];
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 7);
    }

    #[test]
    fn the_identity_is_the_documented_one() {
        // Without a seed and with seed 0 are the same hash.
        assert_eq!(identity(b"x", 0), xxh3_128(b"x"));
        assert_ne!(identity(b"x", 1), xxh3_128(b"x"));
    }
}
