//! Bounds on what is read and told of sessions, each with its reason.

use std::time::Duration;

/// Tasks of a session that a board has room for: usual ones of that size take some 250 MiB while
/// they are read.
pub(super) const MAX_TASKS: usize = 100_000;
/// Tasks of all sessions that are held for the next question: a slider asks many times a second.
pub(super) const MAX_HELD_TASKS: usize = 200_000;
/// Sessions that are held.
pub(super) const MAX_HELD: usize = 8;
/// How long a session that goes on is told as it was: its page asks again when something happened.
pub(super) const HELD_RUNNING: Duration = Duration::from_secs(1);
/// How long one that has ended is: late spans still come.
pub(super) const HELD_ENDED: Duration = Duration::from_secs(60);
/// Sessions that are read at once: each may take what [`MAX_TASKS`] says. Of a tenant it is one, so
/// that a tenant of whom many are asked for leaves a turn for others.
pub(super) const READ_AT_ONCE: usize = 2;
/// How long one waits for others' sessions to be read.
pub(super) const READ_WAIT: Duration = Duration::from_secs(30);
/// Bytes of the id of a session: it stands in addresses.
pub(super) const MAX_ID_BYTES: usize = 256;
/// Bars of the lanes: 20 bytes each, and what a canvas draws in a frame.
pub(super) const MAX_BARS: usize = 20_000;
/// Nodes with lanes, and lanes of a node.
pub(super) const MAX_NODES: usize = 256;
pub(super) const MAX_LANES: usize = 64;
/// Values of a GPU that are asked for where metrics tell of it: as many as a strip shows.
pub(super) const GPU_POINTS: i64 = 240;
/// GPUs that are told of by metrics: as many as an analysis lists.
pub(super) const MAX_GPUS: usize = kymo_report::limits::MAX_DEVICES;
/// Bytes of the name of a host that is asked about: DNS has no longer ones.
pub(super) const MAX_HOST_BYTES: usize = 253;
/// Parts of the time of a session whose events are counted for the slider.
pub(super) const DENSITY_BINS: usize = 200;
/// Stragglers, idle GPUs and failures that are told.
pub(super) const MAX_LISTED: usize = 50;
/// Tasks of one portion of the table, and how many without a word.
pub(super) const MAX_TASK_ROWS: usize = 1_000;
pub(super) const USUAL_TASK_ROWS: usize = 100;
/// A GPU that did nothing for so long is worth a word.
pub(super) const IDLE_AFTER: Duration = Duration::from_secs(60);
/// The least time that the rate for an estimate is of.
pub(super) const RATE_WINDOW: Duration = Duration::from_secs(60);
/// Names of tasks that two sessions are compared by.
pub(super) const MAX_NAMES: usize = 200;
