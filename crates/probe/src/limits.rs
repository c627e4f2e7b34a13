//! How much a probe may read, wait for and emit; each with its reason.

use std::time::Duration;

/// The most that is read of one file. `/proc/stat` of 1,024 processors with 10,000 interrupts is
/// below 1 MiB; a socket table of 100,000 connections is 15 MiB, more than a second's worth of
/// work for a probe, so that collector gives up instead.
pub(crate) const MAX_FILE_BYTES: usize = 8 << 20;

/// The most series of `node_interrupts_total`: rows times processors. 128 processors with 1,000
/// interrupts each would be more series than all the rest of the machine; above this, processors
/// are added up.
pub(crate) const MAX_INTERRUPT_SERIES: usize = 4096;

/// How long a round waits for network file systems, all together; a live one answers in
/// milliseconds. What comes later is of the next round.
pub(crate) const SLOW_MOUNTS_WAIT: Duration = Duration::from_millis(100);

/// When a network file system that has not answered counts as failed, as in node-exporter. A dead
/// NFS server blocks for minutes.
pub(crate) const SLOW_MOUNT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the last answer of a network file system counts while it is not asked or thinks. A few
/// rounds of the slowest pace, so that some hundred mounts have their turn.
pub(crate) const SLOW_ANSWER_AGE: Duration = Duration::from_secs(300);

/// The most network mounts asked at once, as each may hold a thread; more take turns.
pub(crate) const MAX_SLOW_MOUNTS: usize = 64;

/// How often it is read again what a disk is: its firmware changes seldom, and another disk may
/// take its name.
pub(crate) const DISK_INFO_AGE: Duration = Duration::from_secs(60);

/// The most processes watched by their names, those with the lowest ids: each costs four files
/// and some twenty series.
pub(crate) const MAX_NAMED_PROCESSES: usize = 128;

/// Processes of one tree that are looked at, so that a look stays well below a second.
pub(crate) const MAX_TREE_PROCESSES: usize = 20_000;

/// A collector that may be slow runs again only when this many times the processor time of its
/// last run has passed: a two-thousandth of one core for each.
pub(crate) const PACE_CPU_FACTOR: u32 = 2000;

/// And when this many times the duration of its last run has passed, so that one that waits (for
/// sensors on a slow bus) does not keep the others from being asked in time.
pub(crate) const PACE_WALL_FACTOR: u32 = 20;

/// The longest pause of a slow collector. With half an interval more still below a minute, so that
/// queries over a few minutes find several samples.
pub(crate) const PACE_AT_MOST: Duration = Duration::from_secs(40);

/// How often a GPU is asked while polls are further apart than this. The driver itself measures over
/// a sixth of a second to a second, and an answer takes it about a millisecond.
pub(crate) const GPU_REFRESH: Duration = Duration::from_secs(1);

/// How old the last answer of GPUs may be: a driver that works answers in milliseconds, one that is
/// busy (a reset, a first context) in seconds.
pub(crate) const GPU_ANSWER_AGE: Duration = Duration::from_secs(5);

/// When a GPU that nobody asked for is asked no more, until somebody does: three of the longest
/// pauses between polls that are usual.
pub(crate) const GPU_UNASKED: Duration = Duration::from_secs(180);

/// How often NVIDIA's library is looked for while there is none.
pub(crate) const NVML_RETRY: Duration = Duration::from_secs(60);

/// XID events taken from one GPU in one collection; a storm is cut, the last one counts.
pub(crate) const MAX_XID_EVENTS: usize = 64;

/// MIG instances of one GPU; hardware has at most 7 or 8.
pub(crate) const MAX_MIG_INSTANCES: u32 = 16;
