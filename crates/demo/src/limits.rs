//! Bounds and rates, each with its reason.

use crate::{MINUTE, SECOND};

/// What one call tells of: a minute of everything is about 2 MB, which servers of gRPC take (4 MB).
pub(crate) const STEP_NANOS: u64 = MINUTE;

/// A request is closed when it has so many bytes, for the same servers.
pub(crate) const REQUEST_BYTES: usize = 1 << 20;

/// Metrics are told this often, as most scrape.
pub(crate) const METRICS_EVERY: u64 = 15 * SECOND;

/// Requests of the shop in a second: with some 18 spans each, the living demo stays below 100 spans
/// a second, which any machine takes beside its work.
pub(crate) const SHOP_REQUESTS_PER_SECOND: f64 = 4.0;

/// Of hours that lie behind, one of so many requests of the shop is traced: two hours are then
/// 50,000 spans and not half a million.
pub(crate) const COARSE_FACTOR: u32 = 10;

/// What is told so late is told as hours that lie behind are: somebody's machine slept, and wakes up to
/// all of it at once.
pub(crate) const COARSE_AFTER_NANOS: u64 = 5 * MINUTE;

/// Runs of one workflow that are under way at once. Their times keep it lower.
pub(crate) const MAX_RUNS: usize = 8;
