//! Every limit of reading a stash, with its reason. A stash is an artifact that any job may have
//! filled with anything, a pull request of a stranger too.

/// The largest file that is read. The logs and reports of the largest builds are some megabytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;

/// Files of one stash that are looked at. Maven leaves a report for each class.
pub(super) const MAX_FILES: usize = 5_000;

/// Directories below the stash that are gone down into.
pub(super) const MAX_DEPTH: usize = 4;

/// Lines of a file that are said to be wrong one by one; the others are a number.
pub(super) const MAX_BAD_LINES: usize = 5;

/// Names in `attrs` or `telemetry-env-vars`. RAPIDS has about fifteen.
pub(super) const MAX_KEY_VALUES: usize = 1_000;

/// Attributes that the `*.attrs` files of a job may add to its span.
pub(super) const MAX_ATTRIBUTES: usize = 200;

/// Statistics of sccache in one stash: one for each process that was measured.
pub(super) const MAX_SCCACHE_FILES: usize = 20;

/// Languages with their compilers in one file of sccache, which knows about forty pairs.
pub(super) const MAX_SCCACHE_LABELS: usize = 64;

/// Logs of ninja in one stash: one for each directory that was built in.
pub(super) const MAX_NINJA_LOGS: usize = 10;

/// Targets of one build that become spans. Whoever wants to make a build faster begins with these,
/// and a span for each of ten thousand targets would hide everything else of the trace.
pub(super) const MAX_TARGET_SPANS: usize = 10;

/// Tests of a job that become spans: a trace with more is no longer looked at by people.
pub(super) const MAX_TEST_SPANS: usize = 2_000;

/// Elements of a test report within each other. Real ones have seven at most.
pub(super) const MAX_XML_DEPTH: usize = 64;

/// Packages that get an attribute of their own. All are in the total.
pub(super) const MAX_PACKAGES: usize = 200;

/// Bytes of a text that a job wrote: why a test failed, the value of an attribute.
pub(super) const MAX_TEXT_BYTES: usize = 4_096;

/// Bytes of a name: a test with its parameters, the path of a target.
pub(super) const MAX_NAME_BYTES: usize = 1_024;
