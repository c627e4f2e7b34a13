//! Every limit of scraping, with its reason.

use std::time::Duration;

/// The largest answer of a target, unpacked, where `body_size_limit` does not say otherwise: some
/// half a million samples, and what a machine can hold for a few targets at once.
pub const MAX_BODY_BYTES: u64 = 64 << 20;

/// The largest answer of an HTTP discovery, and the largest file of a file discovery.
pub const MAX_DISCOVERY_BYTES: u64 = 16 << 20;

/// Samples whose time is further ahead than this are left out: a clock is wrong.
pub const MAX_AHEAD: Duration = Duration::from_secs(600);

/// Two scrapes that differ by less than this from their rhythm are given the times of the rhythm,
/// which take less room.
pub const TIME_TOLERANCE: Duration = Duration::from_millis(2);

/// A shorter interval than this is refused: a target would do nothing but answer.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// How often files of a file discovery are looked at for changes.
pub const FILE_POLL: Duration = Duration::from_secs(1);

/// Metadata is kept for so many scrapes after the metric is gone.
pub const METADATA_SCRAPES: u64 = 10;

/// Families of one target whose metadata is kept: the largest exporters have some thousands. What
/// is said of more is taken with the samples, and not remembered.
pub const MAX_FAMILIES: usize = 10_000;

/// Samples of one answer, before relabeling, where `sample_limit` does not allow more: a sample takes
/// several times the bytes of its line while it is read and in what is remembered of it, so the size
/// of the body alone bounds no memory. A million takes some hundreds of megabytes.
pub const MAX_SAMPLES: usize = 1_000_000;

/// Answers above this size are read beside the threads that wait for others.
pub const INLINE_PARSE_BYTES: usize = 256 << 10;

/// So many answers of more than that are read and handed on at once: each may take what
/// [`MAX_SAMPLES`] take. The others wait with their bodies alone.
pub const PARSED_AT_ONCE: usize = 3;

/// So many redirects are followed.
pub const MAX_REDIRECTS: usize = 10;

/// What a target that answers an error is quoted with at most.
pub const MAX_ERROR_CHARS: usize = 400;

/// Series that a failing target brings, beyond twice of what it had, before they are forgotten.
pub const MAX_EXTRA_CACHED: usize = 1_000;
