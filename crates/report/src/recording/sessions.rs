//! A session while it is put together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::{CustomEvent, LeftOut, Sample, Status, Task, UNNAMED};
use crate::limits::{MAX_EVENT_NAMES, MAX_SPANS, MAX_TASKS};

/// What is known of a session, or of a trace that may be one.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Its session id; none if it is a trace without one.
    pub(super) session_id: Option<Arc<str>>,
    pub(super) trace_id: Option<[u8; 16]>,
    pub(super) name: Option<Arc<str>>,
    pub(super) service: Option<Arc<str>>,
    pub(super) host: Option<Arc<str>>,
    pub(super) backend: Option<Arc<str>>,
    /// What `SessionStarted` and `SessionEnded` say.
    pub(super) started_nanos: Option<u64>,
    pub(super) ended_nanos: Option<u64>,
    pub(super) said_duration_secs: Option<f64>,
    pub(super) session_span: Option<[u8; 8]>,
    pub(super) tasks: Vec<TaskDraft>,
    pub(super) by_task: HashMap<Arc<str>, usize>,
    pub(super) spans: Vec<SpanDraft>,
    pub(super) span_ids: HashSet<[u8; 8]>,
    pub(super) samples: Vec<Sample>,
    pub(super) events: Vec<CustomEvent>,
    pub(super) event_counts: BTreeMap<Arc<str>, u64>,
    pub(super) emit_nanos: Vec<i64>,
    /// The last point of each series of a counter.
    pub(super) series: HashMap<(&'static str, u64), CounterPoint>,
    pub(super) repeated: u64,
    pub(super) events_after_end: u64,
    /// The first and the last moment of any event.
    pub(super) seen_nanos: Option<(u64, u64)>,
    pub(super) left_out: LeftOut,
}

/// How much of a recording's room is taken.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) tasks: usize,
    pub(super) spans: usize,
    pub(super) samples: usize,
    pub(super) events: usize,
    pub(super) series: usize,
    pub(super) emits: usize,
}

/// A task, and what its span says of it.
#[derive(Debug)]
pub(super) struct TaskDraft {
    pub(super) task: Task,
    /// The name is that of a span or was given by an event.
    pub(super) is_named: bool,
    pub(super) has_events: bool,
    /// It is said to lack states.
    pub(super) is_incomplete: bool,
    pub(super) said_duration_secs: Option<f64>,
    pub(super) span: Option<TaskSpan>,
}

/// What the span of a task says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TaskSpan {
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    /// The attribute `status`, if it is there, else by the span's status.
    pub(super) status: Option<Status>,
    /// Whether it has that attribute: spans below a task may have its id, but not that.
    pub(super) has_status: bool,
    pub(super) submitted_nanos: Option<u64>,
    pub(super) queued_nanos: Option<u64>,
    pub(super) started_nanos: Option<u64>,
}

/// A span of any kind.
#[derive(Debug)]
pub(super) struct SpanDraft {
    pub(super) id: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: Arc<str>,
    pub(super) service: Option<Arc<str>>,
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    pub(super) is_error: bool,
    pub(super) error_type: Option<Arc<str>>,
    pub(super) error_message: Option<Arc<str>>,
}

/// A counter's value at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterPoint {
    pub(super) time_nanos: u64,
    pub(super) value: f64,
}

impl Draft {
    /// The task with an id, made if need be and if there is room.
    pub(super) fn task(&mut self, id: &str, room: &mut Room) -> Option<&mut TaskDraft> {
        let at = match self.by_task.get(id) {
            Some(at) => *at,
            None if room.tasks >= MAX_TASKS => {
                self.left_out.tasks += 1;
                return None;
            }
            None => {
                room.tasks += 1;
                let id: Arc<str> = id.into();
                self.by_task.insert(id.clone(), self.tasks.len());
                self.tasks.push(TaskDraft {
                    task: Task::new(id, UNNAMED.into()),
                    is_named: false,
                    has_events: false,
                    is_incomplete: false,
                    said_duration_secs: None,
                    span: None,
                });
                self.tasks.len() - 1
            }
        };
        self.tasks.get_mut(at)
    }

    /// Whether a span is new; counted if it is not.
    pub(super) fn is_new_span(&mut self, id: [u8; 8], room: &mut Room) -> bool {
        if self.span_ids.contains(&id) {
            self.repeated += 1;
            return false;
        }
        if room.spans >= MAX_SPANS {
            self.left_out.spans += 1;
            return false;
        }
        room.spans += 1;
        self.span_ids.insert(id)
    }

    /// Counts an event.
    pub(super) fn count(&mut self, name: &Arc<str>) {
        if let Some(count) = self.event_counts.get_mut(name) {
            *count += 1;
        } else if self.event_counts.len() < MAX_EVENT_NAMES {
            self.event_counts.insert(name.clone(), 1);
        } else {
            self.left_out.events += 1;
        }
    }

    /// Notes that something happened then.
    pub(super) fn saw(&mut self, nanos: u64) {
        let (first, last) = self.seen_nanos.unwrap_or((nanos, nanos));
        self.seen_nanos = Some((first.min(nanos), last.max(nanos)));
    }
}
