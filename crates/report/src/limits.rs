//! Every bound of the crate, with its reason.
//!
//! What a recording has no room for (sessions, tasks, spans, resource updates, events, points of
//! counters) is counted and said in the report. Without a word, texts are cut to
//! [`MAX_TEXT_BYTES`], an event keeps [`MAX_NUMBERS_PER_EVENT`] numbers, and beyond
//! [`MAX_REMEMBERED_RECORDS`] neither repeated records are known nor delays measured.

use std::time::Duration;

/// A session of which nothing was heard for so long, and which has not said that it ends, is lost.
/// Sessions poll every few seconds, and export metrics every minute at the latest.
pub const LOST_AFTER: Duration = Duration::from_secs(600);

/// Room of a recording. What is beyond is left out, counted, and said in a note with these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tasks.
    pub tasks: usize,
    /// Spans.
    pub spans: usize,
    /// Resource updates.
    pub samples: usize,
    /// Events of which numbers are kept.
    pub events: usize,
    /// Records that are remembered, see [`MAX_REMEMBERED_RECORDS`].
    pub records: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tasks: MAX_TASKS,
            spans: MAX_SPANS,
            samples: MAX_SAMPLES,
            events: MAX_CUSTOM_EVENTS,
            records: MAX_REMEMBERED_RECORDS,
        }
    }
}

impl Limits {
    /// Room for so many tasks, and for as much of everything else as they usually bring along.
    #[must_use]
    pub const fn for_tasks(tasks: usize) -> Self {
        Self { tasks, spans: 4 * tasks, samples: 10 * tasks, events: tasks, records: 16 * tasks }
    }
}

/// Sessions of one recording: more would be a fleet, which is asked of a server.
pub const MAX_SESSIONS: usize = 1_000;
/// Traces without a session of one recording. They are kept until it is known whether a session
/// owns them.
pub const MAX_TRACES: usize = 10_000;
/// Tasks of one recording: about 450 bytes each, and 500 for the spans and records that they have.
pub const MAX_TASKS: usize = 1_000_000;
/// Spans of one recording: about 130 bytes each, and 100 more if they have the id of a task.
pub const MAX_SPANS: usize = 4_000_000;
/// Resource updates of one recording: a hundred nodes with eight GPUs, every 5 s for 15 hours.
pub const MAX_SAMPLES: usize = 10_000_000;
/// Events of which numbers are kept, of one recording. Beyond, they are only counted.
pub const MAX_CUSTOM_EVENTS: usize = 1_000_000;
/// Numbers kept of one custom event: the first by name.
pub const MAX_NUMBERS_PER_EVENT: usize = 16;
/// Kinds of events that are told apart: names are few unless something is wrong.
pub const MAX_EVENT_NAMES: usize = 1_000;
/// Records that are remembered to know a repeated one, and how late they were emitted: 16 bytes
/// each. As many ids of tasks without room, to count each once.
pub const MAX_REMEMBERED_RECORDS: usize = 16_000_000;
/// Series of counters: RHAPSODY has one for each task and instrument. A point that says what came
/// since the one before it is one of its own.
pub const MAX_COUNTER_SERIES: usize = 2_000_000;
/// Texts that are kept once for all that have them.
pub const MAX_INTERNED: usize = 1_000_000;
/// Bytes of a text: an error message with its stack is cut.
pub const MAX_TEXT_BYTES: usize = 2_048;
/// Services that are named when no session was found.
pub const MAX_SERVICES_NAMED: usize = 5;

/// Bins of a histogram: what an eye tells apart.
pub const HISTOGRAM_BINS: usize = 24;
/// Bins of what is shown over time.
pub const TIME_BINS: usize = 120;
/// Bins of throughput: wider, since a rate needs something to count.
pub const THROUGHPUT_BINS: usize = 60;
/// Points of a curve of quantiles.
pub const QUANTILE_POINTS: usize = 200;
/// Groups that are shown of one field; the others are joined.
pub const MAX_GROUPS: usize = 20;
/// Stragglers, failures and unfinished tasks that are listed.
pub const MAX_LISTED: usize = 20;
/// Nodes and GPUs that are listed, each.
pub const MAX_DEVICES: usize = 256;
/// Custom events' fields that are listed.
pub const MAX_FIELDS: usize = 64;

/// Tasks of a kind from which on one of them can be called slow: with fewer, the slowest is just
/// the slowest.
pub const MIN_TASKS_OF_A_KIND: usize = 5;
/// A straggler takes more than this many times the median of its kind.
pub const STRAGGLER_MEDIANS: f64 = 3.0;
/// A GPU below this use, in percent, is idle: drivers report a few percent for a desktop.
pub const IDLE_GPU_PERCENT: f64 = 5.0;

/// Tasks that are drawn as bars; of more, sums are drawn. A bar takes 150 bytes of the page.
pub const MAX_BARS: usize = 3_000;
/// Lanes of bars: a page of 1,200 pixels.
pub const MAX_LANES: usize = 128;
/// Rows of a timeline of sums.
pub const MAX_HEAT_ROWS: usize = 40;
/// Bins of a row of a timeline of sums.
pub const HEAT_BINS: usize = 200;
