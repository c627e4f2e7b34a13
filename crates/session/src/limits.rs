//! Bounds, each with its reason.

use std::time::Duration;

/// Messages that wait for the worker. At a million a second, 65 ms of work: enough for any pause of
/// a scheduler, and at most some 10 MB.
pub const QUEUE_EVENTS: usize = 65_536;
/// Bytes of long texts and of others' OTLP that wait for the worker. Messages are small but for these,
/// and 65,536 of them could be anything.
pub const QUEUE_BYTES: usize = 64 << 20;
/// Everything is in the file, and synced, within this time.
pub const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// A shorter bound would only sync more often than disks can.
pub const MIN_FLUSH_EVERY: Duration = Duration::from_millis(10);
/// How often node and GPUs are looked at.
pub const POLL_EVERY: Duration = Duration::from_secs(5);
/// Percentages over less than this mean nothing: the kernel counts in hundredths of a second.
pub const MIN_POLL_EVERY: Duration = Duration::from_millis(100);
/// How often instruments are written to the file. What happens between is in the events.
pub const METRICS_EVERY: Duration = Duration::from_secs(10);
/// Finished spans that are kept for [`crate::Session::spans`]: some 40 MB of ordinary tasks.
pub const KEEP_SPANS: usize = 100_000;
/// Bytes of one line of the checkpoint after which another is begun: readers hold one in memory.
pub const LINE_BYTES: usize = 256 << 10;
/// Buffers that may wait for the disk: a second and more of what a disk takes of such lines is not
/// worth holding in memory.
pub const FILE_BUFFERS: usize = 64;
/// How long the worker sleeps at most while nothing comes. Calls do not wake it, since that would
/// cost them microseconds; so this is also how late a subscriber may be.
pub const LONGEST_NAP: Duration = Duration::from_millis(20);
/// And at least, so that a stream of events is taken in batches.
pub const SHORTEST_NAP: Duration = Duration::from_millis(1);
/// Attributes of one event, span or task; more are left out and counted, as OpenTelemetry's SDKs do.
pub const MAX_ATTRIBUTES: usize = 128;
/// Annotations of one span, likewise.
pub const MAX_ANNOTATIONS: usize = 128;
/// Ids of sessions and tasks, and names. They are part of file names and labels.
pub const MAX_NAME_BYTES: usize = 1024;
/// Combinations of backend, executable and task type that have instruments of their own; the rest
/// is counted as `other`. Ids in names would otherwise grow without end.
pub const MAX_LABEL_SETS: usize = 1000;
/// Ids of ended tasks that are remembered, to tell a second end from a task that was never announced.
pub const ENDED_IDS: usize = 100_000;
/// Nodes and GPUs whose last update is kept.
pub const MAX_NODES: usize = 10_000;
/// Kinds of events that a process may name. Exporters keep names for ever.
pub const MAX_EVENT_NAMES: usize = 1000;
/// Subscribers of a session: each sees every event.
pub const MAX_SUBSCRIBERS: usize = 64;
/// How long the end of a session waits for its work, unless told otherwise.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer waits and intervals are as good as this one: clocks cannot count to the end of a `Duration`.
pub const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Upper bounds of `task_duration_seconds` and `task_queue_seconds`: 5 ms to 6 h.
pub const SECONDS_BUCKETS: [f64; 18] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3600.0, 10_800.0, 21_600.0,
];
