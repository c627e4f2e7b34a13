//! A task while it is put together, from events and spans in any order.
//!
//! | what is told more than once | what counts |
//! |---|---|
//! | a state | its first time |
//! | an end | the first by time; the others came after the end |
//! | a text, as an executable | that of the earliest state in a task's life, else of the span |
//! | the span | that which events name, else one with `status`, else the one that began first |
//! | the span that events name | that of the earliest state in a task's life |

use std::sync::Arc;

use super::add::least;
use super::sessions::Room;
use super::values::moment;
use super::{Status, Task, UNNAMED};

/// What is known of a task.
#[derive(Debug, Default)]
pub(super) struct TaskDraft {
    pub(super) id: Arc<str>,
    pub(super) has_events: bool,
    /// It is said to lack states.
    is_incomplete: bool,
    /// The first time of each state that events tell of.
    created_nanos: Option<u64>,
    submitted_nanos: Option<u64>,
    queued_nanos: Option<u64>,
    started_nanos: Option<u64>,
    /// The first end that an event tells of.
    end: Option<(u64, Status)>,
    said_duration_secs: Option<f64>,
    /// The name that events give to the span, and the span that they name, by [`rank`].
    event_name: Option<Arc<str>>,
    event_span: Option<(u64, [u8; 8])>,
    /// All spans with its id: which is its own is known when all events are.
    pub(super) spans: Vec<TaskSpan>,
    backend: Ranked,
    node: Ranked,
    executable: Ranked,
    task_type: Ranked,
    error_type: Ranked,
    error_message: Ranked,
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

/// A text that several records may tell: that of the least rank counts, of equal ones the least.
#[derive(Debug, Default)]
struct Ranked {
    rank: u64,
    text: Option<Arc<str>>,
}

impl Ranked {
    fn offer(&mut self, rank: u64, text: Option<Arc<str>>) {
        let is_better = self.text.is_none() || (rank, &text) < (self.rank, &self.text);
        if text.is_some() && is_better {
            *self = Self { rank, text };
        }
    }
}

/// Where a task started is where it ran, whatever was planned: of nodes, that is the first class.
const STARTED_NODE: u64 = 0;
/// Spans are believed after all events.
const SPAN_WITH_STATUS: u64 = 6;
const OTHER_SPAN: u64 = 7;

/// What comes first in the life of a task; all ends are one.
fn class(status: Status) -> u64 {
    status.min(Status::Completed) as u64 + 1
}

/// The class counts, then what was told first: to 16 nanoseconds, so that both fit.
fn rank(class: u64, nanos: u64) -> u64 {
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
        Self { id, ..Self::default() }
    }

    /// Takes in a state that an event tells of.
    pub(super) fn add_step(&mut self, status: Status, step: Step, room: &mut Room) {
        self.has_events = true;
        self.is_incomplete |= step.is_incomplete;
        let rank_of = |class| rank(class, step.time_nanos);
        let rank = rank_of(class(status));
        self.event_span = least(self.event_span, step.span_id.map(|id| (rank, id)));
        self.event_name = least(self.event_name.take(), step.span_name);
        match status.is_end() {
            true => self.add_end(status, step.time_nanos, step.duration_secs),
            false => self.add_time(status, step.time_nanos, room),
        }
        let mut texts = step.texts;
        if !status.is_end() {
            (texts.error_type, texts.error_message) = (None, None);
        }
        let node_rank = if status == Status::Running { rank_of(STARTED_NODE) } else { rank };
        self.add_texts(texts, rank, node_rank);
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
            Status::Submitted => &mut self.submitted_nanos,
            Status::Queued => &mut self.queued_nanos,
            Status::Running => &mut self.started_nanos,
            _ => &mut self.created_nanos,
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
        let class = if span.has_status { SPAN_WITH_STATUS } else { OTHER_SPAN };
        let rank = rank(class, span.start_nanos);
        self.add_texts(texts, rank, rank);
        if self.spans.is_empty() {
            // Most tasks have one, and a vector that grows makes room for four.
            self.spans.reserve_exact(1);
        }
        self.spans.push(span);
    }

    fn add_texts(&mut self, texts: Texts, rank: u64, node_rank: u64) {
        self.backend.offer(rank, texts.backend);
        self.node.offer(node_rank, texts.node);
        self.executable.offer(rank, texts.executable);
        self.task_type.offer(rank, texts.task_type);
        self.error_type.offer(rank, texts.error_type);
        self.error_message.offer(rank, texts.error_message);
    }

    /// The span that events name.
    fn named_span(&self) -> Option<[u8; 8]> {
        self.event_span.map(|(_, id)| id)
    }

    /// The span that is most likely the task's own: those below it may have the task's id too.
    fn likely_span(&self) -> Option<&TaskSpan> {
        let named = self.named_span();
        self.spans.iter().min_by_key(|span| {
            (named != Some(span.id), !span.has_status, span.start_nanos, span.id)
        })
    }

    /// The task's own span, if it is there.
    fn own_span(&self) -> Option<&TaskSpan> {
        // A span within a task that goes on has its id, and is not its span.
        let is_own = |span: &&TaskSpan| {
            span.has_status || !self.has_events || self.named_span().is_none_or(|id| id == span.id)
        };
        self.likely_span().filter(is_own)
    }

    /// Whether a span is that of the task, as far as is known.
    pub(super) fn has_span(&self, id: [u8; 8]) -> bool {
        self.named_span() == Some(id) || self.likely_span().is_some_and(|span| span.id == id)
    }

    /// The task, and how many events came after its end. Events first, the span where they are
    /// silent.
    pub(super) fn settle(mut self) -> (Task, u64) {
        let mut task = Task::new(self.id.clone(), UNNAMED.into());
        let after_end = self.settle_events(&mut task);
        if let Some(span) = self.own_span() {
            self.settle_span(span, &mut task);
        }
        self.settle_start(&mut task);
        if !task.status.is_end() {
            let reached = [
                (task.submitted_nanos, Status::Submitted),
                (task.queued_nanos, Status::Queued),
                (task.started_nanos, Status::Running),
            ];
            let reached = reached.into_iter().filter(|(at, _)| at.is_some());
            task.status = reached.map(|(_, status)| status).fold(task.status, Status::max);
        }
        task.backend = self.backend.text;
        task.node = self.node.text;
        task.executable = self.executable.text;
        task.task_type = self.task_type.text;
        // A canceled task's span has the status of an error, and no more to say.
        if task.status == Status::Failed {
            task.error_type = self.error_type.text;
            task.error_message = self.error_message.text;
        }
        (task, after_end)
    }

    /// What events alone say; how many came after the end.
    fn settle_events(&mut self, task: &mut Task) -> u64 {
        task.span_id = self.named_span();
        if let Some(name) = self.event_name.take() {
            task.name = name;
        }
        task.created_nanos = self.created_nanos;
        task.submitted_nanos = self.submitted_nanos;
        task.queued_nanos = self.queued_nanos;
        task.started_nanos = self.started_nanos;
        let Some((ended, status)) = self.end else { return 0 };
        (task.ended_nanos, task.status) = (Some(ended), status);
        let repeated = self.repeated_nanos.iter().filter(|nanos| **nanos > ended).count() as u64;
        // A first start behind the end is a clock that stepped back, unless the end says that there
        // was no start.
        let is_late = self.is_incomplete && task.started_nanos.is_some_and(|at| at > ended);
        if is_late {
            task.started_nanos = None;
        }
        self.later_ends + repeated + u64::from(is_late)
    }

    /// What its own span says beyond that.
    fn settle_span(&self, span: &TaskSpan, task: &mut Task) {
        task.span_id = Some(span.id);
        task.name = span.name.clone();
        task.span_nanos = moment(span.start_nanos)
            .map(|start| (start, span.end_nanos))
            .filter(|(start, end)| start <= end);
        task.submitted_nanos = task.submitted_nanos.or(span.submitted_nanos);
        task.queued_nanos = task.queued_nanos.or(span.queued_nanos);
        task.started_nanos = task.started_nanos.or(span.started_nanos);
        if !self.has_events {
            task.created_nanos = moment(span.start_nanos);
        }
        if let (None, Some(status)) = (task.ended_nanos, span.status)
            && (span.has_status || self.is_ended_by(span))
        {
            task.ended_nanos = moment(span.end_nanos);
            task.status = status;
        }
    }

    /// Whether the end of its span is that of the task, where nothing else tells of one. A span
    /// without an end is open, and a task that is told to go on after its span has not ended.
    fn is_ended_by(&self, span: &TaskSpan) -> bool {
        let told =
            [self.created_nanos, self.submitted_nanos, self.queued_nanos, self.started_nanos];
        let last = told.into_iter().flatten().chain(self.repeated_nanos.iter().copied()).max();
        let is_named = !self.has_events || self.named_span() == Some(span.id);
        is_named && span.end_nanos > 0 && last.is_none_or(|last| last <= span.end_nanos)
    }

    /// When it began, if neither events nor its span tell.
    fn settle_start(&self, task: &mut Task) {
        let (None, Some(ended), false) = (task.started_nanos, task.ended_nanos, self.is_incomplete)
        else {
            return;
        };
        match self.said_duration_secs.filter(|secs| *secs > 0.0) {
            Some(secs) => task.started_nanos = Some(ended.saturating_sub((secs * 1e9) as u64)),
            None if !self.has_events => {
                let before = [task.queued_nanos, task.submitted_nanos, task.created_nanos];
                task.started_nanos = before.into_iter().flatten().max().map(|at| at.min(ended));
                task.is_start_assumed = task.started_nanos.is_some();
            }
            None => {}
        }
    }
}
