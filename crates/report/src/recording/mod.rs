//! What was recorded of sessions, put together from requests of OTLP.
//!
//! ```text
//!  logs    ── events ──────┐
//!  traces  ── spans ───────┼──> Recording ── finish ──> sessions: tasks, resource updates, counters
//!  metrics ── counters ────┘
//! ```
//!
//! Requests may come in any order and more than once: a record or a span that was seen before is
//! counted once, and what comes out is the same in every order. So it does not matter whether a
//! session was read from its file or from a store that has sorted it. Times of events are believed
//! before those of spans, since some libraries open a span when they get to it. Memory is bounded
//! (see [`limits`](crate::limits)); what was left out is counted in [`LeftOut`].

mod add;
mod finish;
mod logs;
mod metrics;
mod process;
mod sessions;
mod spans;
mod task;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::limits::Limits;
pub use add::Recording;
pub use metrics::METRICS;
pub use process::Process;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is known.
    Created,
    /// It was handed over.
    Submitted,
    /// It waits.
    Queued,
    /// It runs, as far as is known.
    Running,
    /// It ended well.
    Completed,
    /// It failed.
    Failed,
    /// It was called off.
    Canceled,
}

impl Status {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Submitted => "submitted",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// The status with a name; `unfinished` is none of its own.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "created" => Self::Created,
            "submitted" => Self::Submitted,
            "queued" => Self::Queued,
            "running" => Self::Running,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "canceled" => Self::Canceled,
            _ => return None,
        })
    }

    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// A task. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its id in the session.
    pub id: Arc<str>,
    /// The name of its span; `task` if none is known.
    pub name: Arc<str>,
    /// Its span.
    pub span_id: Option<[u8; 8]>,
    /// What runs it.
    pub backend: Option<Arc<str>>,
    /// Where it runs.
    pub node: Option<Arc<str>>,
    /// What is run.
    pub executable: Option<Arc<str>>,
    /// Which sort of task.
    pub task_type: Option<Arc<str>>,
    /// When it was known.
    pub created_nanos: Option<u64>,
    /// When it was handed over.
    pub submitted_nanos: Option<u64>,
    /// When it began to wait.
    pub queued_nanos: Option<u64>,
    /// When it began to run.
    pub started_nanos: Option<u64>,
    /// Whether the beginning was not recorded, and the last moment before it is taken instead.
    pub is_start_assumed: bool,
    /// When it ended.
    pub ended_nanos: Option<u64>,
    /// Start and end of its span.
    pub span_nanos: Option<(u64, u64)>,
    /// Where it stands.
    pub status: Status,
    /// Type of the error, if it failed.
    pub error_type: Option<Arc<str>>,
    /// What the error said.
    pub error_message: Option<Arc<str>>,
}

impl Task {
    /// A task of which nothing is known yet.
    pub(crate) fn new(id: Arc<str>, name: Arc<str>) -> Self {
        Self {
            id,
            name,
            span_id: None,
            backend: None,
            node: None,
            executable: None,
            task_type: None,
            created_nanos: None,
            submitted_nanos: None,
            queued_nanos: None,
            started_nanos: None,
            is_start_assumed: false,
            ended_nanos: None,
            span_nanos: None,
            status: Status::Created,
            error_type: None,
            error_message: None,
        }
    }

    /// The first moment that is known of it.
    #[must_use]
    pub fn first_nanos(&self) -> Option<u64> {
        let states = [
            self.created_nanos,
            self.submitted_nanos,
            self.queued_nanos,
            self.started_nanos,
            self.ended_nanos,
            self.span_nanos.map(|(start, _)| start),
        ];
        states.into_iter().flatten().min()
    }

    /// What it is called where tasks are listed.
    #[must_use]
    pub fn label(&self) -> &str {
        let is_telling = |text: &&str| !text.is_empty() && *text != UNNAMED && *text != "None";
        let names = [Some(&self.name), self.executable.as_ref(), self.task_type.as_ref()];
        names.into_iter().flatten().map(|name| &**name).find(is_telling).unwrap_or(UNNAMED)
    }
}

/// The name of a task without one, and of every task of RHAPSODY.
pub(crate) const UNNAMED: &str = "task";

/// What a node or a GPU did at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When, in nanoseconds since 1970.
    pub time_nanos: u64,
    /// The node.
    pub node: Arc<str>,
    /// What runs tasks there.
    pub backend: Option<Arc<str>>,
    /// The GPU; none if it is about the node.
    pub gpu: Option<Arc<str>>,
    /// The numbers, as they came.
    pub values: [Option<f64>; Measure::COUNT],
}

/// What is measured of nodes and GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Use of all processors, in percent.
    Cpu,
    /// Memory used, in percent.
    Memory,
    /// Use of the GPU, or of the busiest one of the node, in percent.
    Gpu,
    /// Memory used on the node.
    MemoryUsedBytes,
    /// Memory used on the GPU.
    GpuMemoryUsedBytes,
    /// Read from disks since the last update.
    DiskReadBytes,
    /// Written to disks since the last update.
    DiskWriteBytes,
    /// Sent since the last update.
    NetSentBytes,
    /// Received since the last update.
    NetRecvBytes,
}

impl Measure {
    /// How many there are.
    pub const COUNT: usize = 9;
    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Cpu,
        Self::Memory,
        Self::Gpu,
        Self::MemoryUsedBytes,
        Self::GpuMemoryUsedBytes,
        Self::DiskReadBytes,
        Self::DiskWriteBytes,
        Self::NetSentBytes,
        Self::NetRecvBytes,
    ];

    /// The field of a resource update.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_percent",
            Self::Memory => "memory_percent",
            Self::Gpu => "gpu_percent",
            Self::MemoryUsedBytes => "memory_used_bytes",
            Self::GpuMemoryUsedBytes => "gpu_memory_used_bytes",
            Self::DiskReadBytes => "disk_read_bytes",
            Self::DiskWriteBytes => "disk_write_bytes",
            Self::NetSentBytes => "net_sent_bytes",
            Self::NetRecvBytes => "net_recv_bytes",
        }
    }
}

impl Sample {
    /// One of its numbers.
    #[must_use]
    pub fn value(&self, measure: Measure) -> Option<f64> {
        self.values[measure as usize]
    }
}

/// An event of the program's own, with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomEvent {
    /// When, in nanoseconds since 1970.
    pub time_nanos: u64,
    /// Its name.
    pub name: Arc<str>,
    /// Its fields that are numbers.
    pub numbers: Vec<(Arc<str>, f64)>,
}

/// What makes a session of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Its records have the resource attribute `session_id`.
    SessionId,
    /// It is a trace whose spans have `task_id`.
    TasksOfTrace,
    /// It is a trace with one root; spans below that are taken for tasks.
    Trace,
}

/// What was recorded of one session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its id; that of the trace if it has none.
    pub id: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// What makes it a session.
    pub origin: Origin,
    /// `service.name`.
    pub service: Option<Arc<str>>,
    /// `host.name`.
    pub host: Option<Arc<str>>,
    /// The backend of the session.
    pub backend: Option<Arc<str>>,
    /// The trace, in hexadecimal digits.
    pub trace_id: Option<String>,
    /// When it began.
    pub start_nanos: Option<u64>,
    /// When it ended, or what is last known of it.
    pub end_nanos: Option<u64>,
    /// How long it took, as it says itself.
    pub said_duration_secs: Option<f64>,
    /// Whether it is known to have ended.
    pub has_ended: bool,
    /// Why the session itself failed, if it did.
    pub error: Option<Arc<str>>,
    /// The command that it is, if it is one.
    pub process: Option<Process>,
    /// Its tasks, by the first moment that is known of them.
    pub tasks: Vec<Task>,
    /// Whether no record has a `task_id`, and spans are taken for tasks.
    pub are_tasks_spans: bool,
    /// Resource updates, by time.
    pub samples: Vec<Sample>,
    /// Events of the program's own, by time.
    pub events: Vec<CustomEvent>,
    /// How many events there were of each name.
    pub event_counts: BTreeMap<Arc<str>, u64>,
    /// How long after they happened events were emitted, in nanoseconds.
    pub emit_nanos: Vec<i64>,
    /// Counters as they stood at the end, by name, added up over labels.
    pub counters: BTreeMap<Arc<str>, f64>,
    /// Spans, repeated ones once.
    pub spans: u64,
    /// Spans with the status of an error.
    pub span_errors: u64,
    /// Records that were not counted again.
    pub repeated: u64,
    /// Events of a task that came after its end.
    pub events_after_end: u64,
    /// What was left out.
    pub left_out: LeftOut,
    /// The room there was, for this session and others of its recording.
    pub limits: Limits,
}

/// What a recording had no room for. See [`limits`](crate::limits).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Records of sessions or traces beyond their number.
    pub sessions: u64,
    /// Tasks.
    pub tasks: u64,
    /// Spans.
    pub spans: u64,
    /// Resource updates.
    pub samples: u64,
    /// Events.
    pub events: u64,
    /// Points of counters.
    pub points: u64,
}

impl LeftOut {
    /// Adds what was left out elsewhere.
    fn add(&mut self, other: Self) {
        let Self { sessions, tasks, spans, samples, events, points } = other;
        self.sessions += sessions;
        self.tasks += tasks;
        self.spans += spans;
        self.samples += samples;
        self.events += events;
        self.points += points;
    }

    /// Whether something was left out.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

/// What a recording holds, session or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Spans.
    pub spans: u64,
    /// Log records and events.
    pub records: u64,
    /// Points of metrics.
    pub points: u64,
    /// Traces that belong to no session.
    pub traces: u64,
    /// Some of the services that sent it.
    pub services: Vec<String>,
}
