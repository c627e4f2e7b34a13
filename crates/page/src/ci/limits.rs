//! Bounds on what is read and told of CI, each with its reason.

/// Runs that figures are made of, the newest: a busy organisation has a few thousand a day. 200 bytes
/// each.
pub(super) const MAX_RUNS: usize = 50_000;
/// Runs that go on and are told, those that began last: their names stand in a query.
pub(super) const MAX_RUNNING: usize = 1_000;
/// Runs that go on and of which nothing was heard for so long have ended, as far as is known: GitHub
/// ends every run within some days.
pub(super) const SILENCE_NANOS: i64 = 24 * 3_600 * 1_000_000_000;
/// Runs that are listed of a workflow: more than anybody scrolls through.
pub(super) const MAX_LISTED_RUNS: usize = 500;
/// Runs that are drawn beside a workflow.
pub(super) const LAST_RUNS: usize = 30;
/// Jobs that figures of a workflow are made of, the newest: 1,000 runs of 100 jobs. 200 bytes each.
pub(super) const MAX_JOBS: usize = 100_000;
/// Jobs that are listed of a workflow, and caches of jobs: big matrices have several hundred. 250 bytes
/// each.
pub(super) const MAX_LISTED_JOBS: usize = 1_000;
/// Of everything else that is listed: labels of runners, failures with what they said, what differs.
pub(super) const MAX_LISTED: usize = 100;
/// Failed spans that are looked through for those, the newest.
pub(super) const MAX_FAILED_SPANS: usize = 5_000;
/// Jobs and steps of one run: GitHub allows 256 jobs of a matrix and some such matrices.
pub(super) const MAX_RUN_SPANS: usize = 50_000;
/// Jobs of one run that are drawn: slack takes time in the square of them.
pub(super) const MAX_RUN_JOBS: usize = 2_000;
/// Spans below one step that are told at once: tests may be tens of thousands.
pub(super) const MAX_BELOW: usize = 2_000;
/// Bytes of a message of a failure: a test may print megabytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 4_000;
/// Files of cache statistics that are added up: a query names six columns for each.
pub(super) const MAX_CACHES: usize = 8;
/// Rows of cache statistics, one for each job of a run that had some.
pub(super) const MAX_CACHE_ROWS: usize = 20_000;
/// Repositories and branches to choose from.
pub(super) const MAX_CHOICES: usize = 1_000;
/// Parts of a trend over time: what an eye tells apart.
pub(super) const TREND_BINS: usize = 40;
/// Earlier runs that one is compared with.
pub(super) const EARLIER_RUNS: usize = 20;
/// Runs of a branch that it is compared by.
pub(super) const BRANCH_RUNS: usize = 20;
