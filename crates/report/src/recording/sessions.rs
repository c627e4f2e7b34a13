//! A session while it is put together.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::add::hash;
use super::task::TaskDraft;
use super::values::cut;
use super::{CustomEvent, LeftOut, Process, Sample};
use crate::limits::{Limits, MAX_EVENT_NAMES};

/// What is known of a session, or of a trace that may be one.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Its session id; none if it is a trace without one.
    pub(super) session_id: Option<Arc<str>>,
    /// The least of the traces that it has something in, and that in which it said that it starts.
    pub(super) least_trace_id: Option<[u8; 16]>,
    pub(super) said_trace_id: Option<[u8; 16]>,
    pub(super) name: Option<Arc<str>>,
    /// The name that its span gives it.
    pub(super) called: Option<Arc<str>>,
    pub(super) service: Option<Arc<str>>,
    pub(super) host: Option<Arc<str>>,
    pub(super) backend: Option<Arc<str>>,
    /// What `SessionStarted` and `SessionEnded` say: the first start and the last, the last end.
    /// The same id may be run again.
    pub(super) started_nanos: Option<u64>,
    pub(super) restarted_nanos: Option<u64>,
    pub(super) ended_nanos: Option<u64>,
    pub(super) said_duration_secs: Option<f64>,
    /// The span that they name, at the first start and at the last end.
    pub(super) session_span: Option<[u8; 8]>,
    pub(super) ended_span: Option<[u8; 8]>,
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
    /// The first and the last moment of any event, line of a log or point.
    pub(super) seen_nanos: Option<(u64, u64)>,
    pub(super) left_out: LeftOut,
    /// Hashes of the ids of tasks without room: each is counted once.
    pub(super) tasks_without_room: HashSet<u64>,
}

/// How much of a recording's room is taken.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) limits: Limits,
    pub(super) tasks: usize,
    pub(super) spans: usize,
    pub(super) samples: usize,
    pub(super) events: usize,
    pub(super) series: usize,
    pub(super) emits: usize,
    pub(super) repeats: usize,
    /// Ids of tasks that are remembered though there is no room for the task.
    pub(super) task_hashes: usize,
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
    pub(super) process: Option<Box<Process>>,
}

/// A counter's value at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterPoint {
    pub(super) time_nanos: u64,
    pub(super) value: f64,
}

impl Draft {
    /// The trace that it is.
    pub(super) fn trace_id(&self) -> Option<[u8; 16]> {
        self.said_trace_id.or(self.least_trace_id)
    }

    /// The task with an id, made if need be and if there is room.
    pub(super) fn task(&mut self, id: &str, room: &mut Room) -> Option<&mut TaskDraft> {
        let id = cut(id);
        let at = match self.by_task.get(id) {
            Some(at) => *at,
            None if room.tasks >= room.limits.tasks => {
                if room.task_hashes < room.limits.records
                    && self.tasks_without_room.insert(hash(&id))
                {
                    room.task_hashes += 1;
                }
                return None;
            }
            None => {
                room.tasks += 1;
                let id: Arc<str> = id.into();
                self.by_task.insert(id.clone(), self.tasks.len());
                self.tasks.push(TaskDraft::new(id));
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
        if room.spans >= room.limits.spans {
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
