//! A task while it is put together, from events and spans in any order.
//!
//! | what is told more than once | what counts |
//! |---|---|
//! | a state | its first time |
//! | an end | the first by time; the others came after the end |
//! | a text, as that of an executable | that of the earliest state in a task's life, else that of the span |
//! | the span | the one with `status`, else the one that began first |

use std::sync::Arc;

use super::add::least;
use super::sessions::Room;
use super::values::moment;
use super::{Status, Task, UNNAMED};

/// A task, and what its span says of it.
#[derive(Debug)]
pub(super) struct TaskDraft {
    pub(super) task: Task,
    pub(super) has_events: bool,
    /// It is said to lack states.
    is_incomplete: bool,
    /// The first end that an event tells of.
    end: Option<(u64, Status)>,
    said_duration_secs: Option<f64>,
    /// The name that events give to the span, and the span that they name.
    event_name: Option<Arc<str>>,
    event_span: Option<[u8; 8]>,
    pub(super) span: Option<TaskSpan>,
    /// From where each of the texts is, by place: the least [`rank`] counts.
    ranks: [u64; TEXTS],
    /// Ends beyond the first, and times of states that were told before.
    later_ends: u64,
    repeated_nanos: Vec<u64>,
}

/// What a record says of a task in words.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) backend: Option<Arc<str>>,
    pub(super) node: Option<Arc<str>>,
    pub(super) executable: Option<Arc<str>>,
    pub(super) task_type: Option<Arc<str>>,
    pub(super) error_type: Option<Arc<str>>,
    pub(super) error_message: Option<Arc<str>>,
}

const TEXTS: usize = 6;
const NODE: usize = 1;

/// What comes first in the life of a task counts, then what was told first. Where it started is
/// where it ran, whatever was planned. Spans are believed after all events.
fn rank(place: usize, status: Option<Status>, has_status: bool, nanos: u64) -> u64 {
    let class = match status {
        Some(Status::Running) if place == NODE => 0,
        Some(Status::Created) => 1,
        Some(Status::Submitted) => 2,
        Some(Status::Queued) => 3,
        Some(Status::Running) => 4,
        Some(_) => 5,
        None if has_status => 6,
        None => 7,
    };
    // To 16 nanoseconds, so that both fit.
    class << 60 | nanos >> 4
}

/// A state of a task, as an event tells of it.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) time_nanos: u64,
    pub(super) span_id: Option<[u8; 8]>,
    pub(super) span_name: Option<Arc<str>>,
    pub(super) duration_secs: Option<f64>,
    pub(super) is_incomplete: bool,
    pub(super) texts: Texts,
}

/// What the span of a task says.
#[derive(Debug)]
pub(super) struct TaskSpan {
    pub(super) id: [u8; 8],
    pub(super) name: Arc<str>,
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    /// The attribute `status`, if it is there, else by the span's status.
    pub(super) status: Option<Status>,
    /// Whether it has that attribute: spans below a task may have its id, but not that.
    pub(super) has_status: bool,
    pub(super) is_incomplete: bool,
    pub(super) submitted_nanos: Option<u64>,
    pub(super) queued_nanos: Option<u64>,
    pub(super) started_nanos: Option<u64>,
}

impl TaskDraft {
    /// A task of which nothing is known yet.
    pub(super) fn new(id: Arc<str>) -> Self {
        Self {
            task: Task::new(id, UNNAMED.into()),
            has_events: false,
            is_incomplete: false,
            end: None,
            said_duration_secs: None,
            event_name: None,
            event_span: None,
            span: None,
            ranks: [u64::MAX; TEXTS],
            later_ends: 0,
            repeated_nanos: Vec::new(),
        }
    }

    /// Takes in a state that an event tells of.
    pub(super) fn add_step(&mut self, status: Status, step: Step, room: &mut Room) {
        self.has_events = true;
        self.is_incomplete |= step.is_incomplete;
        self.event_span = self.event_span.or(step.span_id);
        self.event_name = least(self.event_name.take(), step.span_name);
        match status.is_end() {
            true => self.add_end(status, step.time_nanos, step.duration_secs),
            false => self.add_time(status, step.time_nanos, room),
        }
        let mut texts = step.texts;
        if !status.is_end() {
            (texts.error_type, texts.error_message) = (None, None);
        }
        self.add_texts(texts, |place| rank(place, Some(status), false, step.time_nanos));
    }

    fn add_end(&mut self, status: Status, nanos: u64, duration_secs: Option<f64>) {
        self.later_ends += u64::from(self.end.is_some());
        if self.end.is_none_or(|known| (nanos, status) < known) {
            self.end = Some((nanos, status));
            self.said_duration_secs = duration_secs;
        }
    }

    fn add_time(&mut self, status: Status, nanos: u64, room: &mut Room) {
        let slot = match status {
            Status::Submitted => &mut self.task.submitted_nanos,
            Status::Queued => &mut self.task.queued_nanos,
            Status::Running => &mut self.task.started_nanos,
            _ => &mut self.task.created_nanos,
        };
        let Some(known) = *slot else {
            *slot = Some(nanos);
            return;
        };
        *slot = Some(known.min(nanos));
        if room.repeats < room.limits.records {
            room.repeats += 1;
            self.repeated_nanos.push(known.max(nanos));
        }
    }

    /// Takes in a span that has the task's id.
    pub(super) fn add_span(&mut self, span: TaskSpan, texts: Texts) {
        self.is_incomplete |= span.is_incomplete;
        self.add_texts(texts, |place| rank(place, None, span.has_status, span.start_nanos));
        if self.span.as_ref().is_none_or(|known| span.is_better_than(known)) {
            self.span = Some(span);
        }
    }

    fn add_texts(&mut self, texts: Texts, rank: impl Fn(usize) -> u64) {
        let Texts { backend, node, executable, task_type, error_type, error_message } = texts;
        let texts = [backend, node, executable, task_type, error_type, error_message];
        for (place, text) in texts.into_iter().enumerate() {
            let (new, known) = (rank(place), self.ranks[place]);
            let slot = self.text(place);
            if text.is_some() && (new < known || new == known && text < *slot) {
                *slot = text;
                self.ranks[place] = new;
            }
        }
    }

    fn text(&mut self, place: usize) -> &mut Option<Arc<str>> {
        match place {
            0 => &mut self.task.backend,
            NODE => &mut self.task.node,
            2 => &mut self.task.executable,
            3 => &mut self.task.task_type,
            4 => &mut self.task.error_type,
            _ => &mut self.task.error_message,
        }
    }

    /// Whether a span is that of the task, as far as is known.
    pub(super) fn has_span(&self, id: [u8; 8]) -> bool {
        self.event_span == Some(id) || self.span.as_ref().is_some_and(|span| span.id == id)
    }

    /// The task, and how many events came after its end. Events first, the span where they are
    /// silent.
    pub(super) fn settle(mut self) -> (Task, u64) {
        let after_end = self.settle_events();
        let Self { mut task, has_events, is_incomplete, event_span, span, .. } = self;
        task.span_id = event_span;
        // A span within a task that goes on has its id, and is not its span.
        let is_own = |span: &TaskSpan| {
            span.has_status || !has_events || event_span.is_none_or(|id| id == span.id)
        };
        if let Some(name) = self.event_name {
            task.name = name;
        }
        if let Some(span) = span.filter(is_own) {
            task.span_id = Some(span.id);
            task.span_nanos = moment(span.start_nanos)
                .map(|start| (start, span.end_nanos))
                .filter(|(start, end)| start <= end);
            task.submitted_nanos = task.submitted_nanos.or(span.submitted_nanos);
            task.queued_nanos = task.queued_nanos.or(span.queued_nanos);
            task.started_nanos = task.started_nanos.or(span.started_nanos);
            if !has_events {
                task.created_nanos = moment(span.start_nanos);
            }
            if let (None, Some(status)) = (task.ended_nanos, span.status)
                && (span.has_status || !has_events)
            {
                task.ended_nanos = moment(span.end_nanos);
                task.status = status;
            }
            task.name = span.name;
        }
        if task.started_nanos.is_none()
            && !is_incomplete
            && let Some(ended) = task.ended_nanos
        {
            match self.said_duration_secs.filter(|secs| *secs > 0.0) {
                Some(secs) => task.started_nanos = Some(ended.saturating_sub((secs * 1e9) as u64)),
                None if !has_events => {
                    let before = [task.queued_nanos, task.submitted_nanos, task.created_nanos];
                    task.started_nanos = before.into_iter().flatten().max().map(|at| at.min(ended));
                    task.is_start_assumed = task.started_nanos.is_some();
                }
                None => {}
            }
        }
        if !task.status.is_end() {
            let reached = [
                (task.submitted_nanos, Status::Submitted),
                (task.queued_nanos, Status::Queued),
                (task.started_nanos, Status::Running),
            ];
            let reached = reached.into_iter().filter(|(at, _)| at.is_some());
            task.status = reached.map(|(_, status)| status).fold(task.status, Status::max);
        }
        if task.status != Status::Failed {
            // A canceled task's span has the status of an error, and no more to say.
            task.error_type = None;
            task.error_message = None;
        }
        (task, after_end)
    }

    /// What events alone say of the end; how many came after it.
    fn settle_events(&mut self) -> u64 {
        let Some((ended, status)) = self.end else { return 0 };
        (self.task.ended_nanos, self.task.status) = (Some(ended), status);
        let repeated = self.repeated_nanos.iter().filter(|nanos| **nanos > ended).count() as u64;
        // A first start behind the end is a clock that stepped back, unless the end says that there
        // was no start.
        let is_late = self.is_incomplete && self.task.started_nanos.is_some_and(|at| at > ended);
        if is_late {
            self.task.started_nanos = None;
        }
        self.later_ends + repeated + u64::from(is_late)
    }
}

impl TaskSpan {
    /// Whether it is more likely that of the task than another: those below it may have the task's
    /// id too.
    fn is_better_than(&self, known: &Self) -> bool {
        match (self.has_status, known.has_status) {
            (true, false) => true,
            (false, true) => false,
            _ => (self.start_nanos, self.id) < (known.start_nanos, known.id),
        }
    }
}
