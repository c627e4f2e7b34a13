//! What is known of a session, put together from all that was sent of it.

use std::collections::BTreeMap;

use kymo_report::limits::LOST_AFTER;
use serde::Serialize;

use super::heard::Announced;
use super::sql::bit;
use crate::times::rfc3339_text;

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It has not said that it ended, and was heard of lately.
    Running,
    /// It has ended.
    Ended,
    /// It was not heard of for long: killed, or cut off.
    Lost,
}

impl State {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "running" => Some(Self::Running),
            "ended" => Some(Self::Ended),
            "lost" => Some(Self::Lost),
            _ => None,
        }
    }
}

/// What one kind of records says of a session; times in nanoseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) name: Option<String>,
    pub(super) service: Option<String>,
    pub(super) host: Option<String>,
    /// The trace that the session is, where that is said.
    pub(super) trace_id: Option<String>,
    /// A trace that it has something in.
    pub(super) any_trace_id: Option<String>,
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) started: Option<i64>,
    /// The last time that an event said that it starts: the same name may be run again.
    pub(super) restarted: Option<i64>,
    /// The span that such an event opened.
    pub(super) opened: Option<String>,
    /// When it said that it ends.
    pub(super) ended: Option<i64>,
    /// The end of a span that looks like a session, and that no event has opened.
    pub(super) seems_ended: Option<i64>,
}

impl Seen {
    /// Adds what others say. Those that come first are believed more.
    pub(super) fn join(&mut self, other: Self) {
        self.name = self.name.take().or(other.name);
        self.service = self.service.take().or(other.service);
        self.host = self.host.take().or(other.host);
        self.trace_id = self.trace_id.take().or(other.trace_id);
        self.any_trace_id = self.any_trace_id.take().or(other.any_trace_id);
        self.first = least(self.first, other.first);
        self.last = self.last.max(other.last);
        self.started = least(self.started, other.started);
        self.restarted = self.restarted.max(other.restarted);
        self.opened = self.opened.take().or(other.opened);
        self.ended = self.ended.max(other.ended);
        self.seems_ended = self.seems_ended.max(other.seems_ended);
    }

    /// When it ended. A session that events tell of ends with one of them or with the span that they
    /// opened, and not before it was started again.
    pub(super) fn ended(&self) -> Option<i64> {
        match self.restarted {
            Some(restarted) => self.ended.filter(|ended| *ended >= restarted),
            None => self.ended.max(self.seems_ended),
        }
    }

    /// Whether it goes on, at a moment.
    pub(super) fn state(&self, now: i64) -> State {
        let silence = now.saturating_sub(self.last.unwrap_or(now));
        match self.ended() {
            Some(_) => State::Ended,
            None if u128::try_from(silence).unwrap_or(0) > LOST_AFTER.as_nanos() => State::Lost,
            None => State::Running,
        }
    }

    /// When it began, as far as is known.
    pub(super) fn began(&self) -> Option<i64> {
        least(self.started, self.first)
    }
}

fn least(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Tasks by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct TaskCounts {
    /// All that are known.
    pub(super) created: i64,
    /// Those that were handed over, whatever became of them.
    pub(super) submitted: i64,
    pub(super) running: i64,
    pub(super) completed: i64,
    pub(super) failed: i64,
    pub(super) canceled: i64,
    /// Those that had not ended when their session did, or was lost.
    pub(super) unfinished: i64,
}

impl TaskCounts {
    /// What runs in a session that does not is unfinished.
    fn settle(mut self, state: State) -> Self {
        if state != State::Running {
            let ended = self.completed + self.failed + self.canceled;
            self.unfinished = self.created - ended;
            self.running = 0;
        }
        self
    }
}

/// What is counted of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) tasks: TaskCounts,
    pub(super) spans: i64,
    pub(super) errors: i64,
}

/// Records of a session by what they say, each as often as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) spans: i64,
    pub(super) errors: i64,
    /// Events of tasks, by what they say as bits.
    pub(super) events: BTreeMap<i64, i64>,
    /// Spans of tasks, likewise.
    pub(super) task_spans: BTreeMap<i64, i64>,
}

impl Records {
    /// How many there are.
    pub(super) fn number(&self) -> i64 {
        self.spans + self.events.values().chain(self.task_spans.values()).sum::<i64>()
    }

    /// What they come to if each came once. Where events tell of tasks, they count.
    pub(super) fn counts(&self) -> Counts {
        let of = |told: &BTreeMap<i64, i64>, bit: i64| told.get(&bit).copied().unwrap_or(0);
        let event = |bit| of(&self.events, bit);
        let span = |bit| of(&self.task_spans, bit);
        let tasks = if self.events.keys().any(|told| *told != 0) {
            let completed = event(bit::COMPLETED);
            let (failed, canceled) = (event(bit::FAILED), event(bit::CANCELED));
            let (queued, started) = (event(bit::QUEUED), event(bit::STARTED));
            let ended = completed + failed + canceled;
            let submitted = event(bit::SUBMITTED).max(queued).max(started).max(completed + failed);
            let created = event(bit::CREATED).max(submitted).max(ended);
            let running = (started - ended).max(0);
            TaskCounts { created, submitted, running, completed, failed, canceled, unfinished: 0 }
        } else {
            let created: i64 = self.task_spans.values().sum();
            let canceled = span(bit::CANCELED);
            TaskCounts {
                created,
                submitted: created - canceled - span(bit::UNFINISHED),
                running: 0,
                completed: span(bit::COMPLETED) + span(bit::SPAN_ENDED),
                failed: span(bit::FAILED) + span(bit::SPAN_FAILED),
                canceled,
                unfinished: 0,
            }
        };
        Counts { tasks, spans: self.spans, errors: self.errors }
    }
}

/// A session as it is shown.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Session {
    pub(super) id: String,
    name: String,
    service: Option<String>,
    trace_id: Option<String>,
    host: Option<String>,
    started: Option<String>,
    pub(super) ended: Option<String>,
    pub(super) state: State,
    duration_seconds: Option<f64>,
    tasks: TaskCounts,
    spans: i64,
    errors: i64,
    last_seen: Option<String>,
    /// The event that said that it starts.
    #[serde(skip)]
    pub(super) announced: Option<Announced>,
}

impl Session {
    pub(super) fn new(id: String, seen: Seen, counts: Counts, now: i64) -> Self {
        let (state, began) = (seen.state(now), seen.began());
        let ended = seen.ended();
        let announced = seen.restarted.map(|_| Announced { span_id: seen.opened });
        let until = ended.or(seen.last);
        let duration = began.zip(until).map(|(began, until)| until.saturating_sub(began).max(0));
        let name = seen.name.or_else(|| seen.service.clone());
        Self {
            name: name.unwrap_or_else(|| id.clone()),
            id,
            service: seen.service,
            trace_id: seen.trace_id.or(seen.any_trace_id),
            host: seen.host,
            started: began.map(rfc3339_text),
            ended: ended.map(rfc3339_text),
            announced,
            state,
            duration_seconds: duration.map(|nanos| nanos as f64 / 1e9),
            tasks: counts.tasks.settle(state),
            spans: counts.spans,
            errors: counts.errors,
            last_seen: seen.last.map(rfc3339_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    #[test]
    fn a_session_is_lost_after_a_while_of_silence_and_ended_only_if_it_said_so() {
        let seen = |last, ended| Seen { last: Some(last), ended, ..Seen::default() };
        assert_eq!(seen(0, None).state(10 * MINUTE), State::Running);
        assert_eq!(seen(0, None).state(10 * MINUTE + 1), State::Lost);
        assert_eq!(seen(0, Some(0)).state(100 * MINUTE), State::Ended);
        // A clock that is ahead of ours.
        assert_eq!(seen(9 * MINUTE, None).state(0), State::Running);
    }

    #[test]
    fn kinds_of_records_complete_one_another() {
        let mut seen = Seen {
            name: Some("train".to_owned()),
            first: Some(5),
            last: Some(9),
            ..Seen::default()
        };
        seen.join(Seen {
            name: Some("other".to_owned()),
            trace_id: Some("ab".to_owned()),
            first: Some(3),
            last: Some(7),
            started: Some(3),
            ..Seen::default()
        });
        assert_eq!(seen.name.as_deref(), Some("train"));
        assert_eq!((seen.began(), seen.last, seen.ended), (Some(3), Some(9), None));
        assert_eq!(seen.trace_id.as_deref(), Some("ab"));
    }

    #[test]
    fn a_session_that_runs_again_has_not_ended_and_others_spans_do_not_end_it() {
        let again = Seen {
            restarted: Some(5 * MINUTE),
            ended: Some(4 * MINUTE),
            seems_ended: Some(6 * MINUTE),
            last: Some(6 * MINUTE),
            ..Seen::default()
        };
        assert_eq!((again.state(7 * MINUTE), again.ended()), (State::Running, None));
        let ended = Seen { ended: Some(5 * MINUTE), ..again.clone() };
        assert_eq!(ended.state(7 * MINUTE), State::Ended);
        // Without events a span that looks like a session is one.
        let spanned = Seen { restarted: None, ended: None, ..again };
        assert_eq!(spanned.ended(), Some(6 * MINUTE));
    }

    #[test]
    fn records_that_came_once_say_how_tasks_stand() {
        let told = |of: &[(i64, i64)]| of.iter().copied().collect::<BTreeMap<i64, i64>>();
        // Four tasks: one completed, one failed, one runs, one is only known. An event of the
        // program's own beside.
        let events = [
            (bit::CREATED, 4),
            (bit::SUBMITTED, 3),
            (bit::STARTED, 3),
            (bit::COMPLETED, 1),
            (bit::FAILED, 1),
            (0, 1),
        ];
        let task_spans = [(bit::SPAN_ENDED, 1), (bit::SPAN_FAILED, 1)];
        let records =
            Records { spans: 5, errors: 1, events: told(&events), task_spans: told(&task_spans) };
        assert_eq!(records.number(), 5 + 13 + 2);
        let counts = records.counts();
        let tasks = TaskCounts {
            created: 4,
            submitted: 3,
            running: 1,
            completed: 1,
            failed: 1,
            canceled: 0,
            unfinished: 0,
        };
        assert_eq!(counts, Counts { tasks, spans: 5, errors: 1 });
        // Without events their spans say it.
        let spans = [(bit::COMPLETED, 2), (bit::SPAN_FAILED, 1), (bit::CANCELED, 1)];
        let tasks = Records { task_spans: told(&spans), ..Records::default() }.counts().tasks;
        assert_eq!((tasks.created, tasks.submitted), (4, 3));
        assert_eq!((tasks.completed, tasks.failed, tasks.canceled), (2, 1, 1));
        assert_eq!(Records::default().counts(), Counts::default());
    }

    #[test]
    fn what_ran_when_a_session_ended_is_unfinished() {
        let tasks =
            TaskCounts { created: 10, running: 3, completed: 4, failed: 1, ..Default::default() };
        assert_eq!(tasks.settle(State::Running), tasks);
        let settled = tasks.settle(State::Lost);
        assert_eq!((settled.running, settled.unfinished), (0, 5));
    }
}
