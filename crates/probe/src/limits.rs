//! How much a probe may read, wait for and emit; each with its reason.

use std::time::Duration;

/// The most that is read of one file. `/proc/stat` of 1,024 processors with 10,000 interrupts is
/// below 1 MiB; a socket table of 100,000 connections is 15 MiB, more than a second's worth of
/// work for a probe, so that collector gives up instead.
pub(crate) const MAX_FILE_BYTES: usize = 8 << 20;

/// The most series of `node_interrupts_total`: rows times processors. 128 processors with 1,000
/// interrupts each would be more series than all the rest of the machine.
pub(crate) const MAX_INTERRUPT_SERIES: usize = 4096;

/// How long network file systems together may take to answer. A dead NFS server blocks for
/// minutes; a live one answers in milliseconds.
pub(crate) const SLOW_MOUNTS_WAIT: Duration = Duration::from_millis(100);

/// The most network mounts asked, as each may hold a thread.
pub(crate) const MAX_SLOW_MOUNTS: usize = 64;

/// A collector that may be slow runs again only when this many times the processor time of its
/// last run has passed: a two-thousandth of one core for each.
pub(crate) const PACE_CPU_FACTOR: u32 = 2000;

/// And when this many times the duration of its last run has passed, so that one that waits (for
/// sensors on a slow bus) does not keep the others from being asked in time.
pub(crate) const PACE_WALL_FACTOR: u32 = 20;

/// The longest that a slow collector's numbers are repeated.
pub(crate) const PACE_AT_MOST: Duration = Duration::from_secs(60);

/// XID events taken from one GPU in one collection; a storm is cut, the last one counts.
pub(crate) const MAX_XID_EVENTS: usize = 64;

/// MIG instances of one GPU; hardware has at most 7 or 8.
pub(crate) const MAX_MIG_INSTANCES: u32 = 16;
