//! The queries about sessions.
//!
//! Every one has a bound of time and of rows. Tasks and spans are counted by their ids: a
//! checkpoint that was replayed beside what was sent live has everything twice.

use std::ops::Range;

use crate::limits::{MAX_SESSIONS_FOUND, TASK_NAMES, TASK_NAMES_BYTES};
use crate::times::rfc3339_text;

/// What is known of a task, as bits.
pub(super) mod bit {
    pub(in super::super) const CREATED: i64 = 1;
    pub(in super::super) const SUBMITTED: i64 = 2;
    pub(in super::super) const QUEUED: i64 = 4;
    pub(in super::super) const STARTED: i64 = 8;
    pub(in super::super) const COMPLETED: i64 = 16;
    pub(in super::super) const FAILED: i64 = 32;
    pub(in super::super) const CANCELED: i64 = 64;
    pub(in super::super) const UNFINISHED: i64 = 128;
    /// A span of it has ended and says nothing of tasks: it counts if no event of the task is known,
    /// since spans within a task may name it as well.
    pub(in super::super) const SPAN_ENDED: i64 = 256;
    pub(in super::super) const SPAN_FAILED: i64 = 512;
    /// What is known from events alone.
    pub(in super::super) const STEPS: i64 = CREATED | SUBMITTED | QUEUED | STARTED;
    /// Ends that are said, by an event or by the status of a span.
    pub(in super::super) const SAID: i64 = COMPLETED | FAILED | CANCELED | UNFINISHED;
}

/// Kinds of events of tasks, and what they say.
pub(super) const TASK_EVENTS: [(&str, i64); 7] = [
    ("TaskCreated", bit::CREATED),
    ("TaskSubmitted", bit::SUBMITTED),
    ("TaskQueued", bit::QUEUED),
    ("TaskStarted", bit::STARTED),
    ("TaskCompleted", bit::COMPLETED),
    ("TaskFailed", bit::FAILED),
    ("TaskCanceled", bit::CANCELED),
];

/// Values of the attribute `status` of a task's span, and what they say.
pub(super) const TASK_STATUSES: [(&str, i64); 4] = [
    ("completed", bit::COMPLETED),
    ("failed", bit::FAILED),
    ("canceled", bit::CANCELED),
    ("unfinished", bit::UNFINISHED),
];

/// Whose spans named `session` are sessions, wherever they are in a trace.
pub(super) const SESSION_SCOPES: [&str; 2] = ["kymograph", "rhapsody"];

/// Other kinds of events of ours: whatever else has a name is the program's own.
const OTHER_EVENTS: [&str; 4] = ["SessionStarted", "SessionEnded", "SpanStarted", "ResourceUpdate"];

/// Which records are meant.
#[derive(Debug, Clone)]
pub(super) struct Which {
    /// Nanoseconds since 1970.
    pub(super) range: Range<i64>,
    /// Of these sessions; of all if there are none.
    pub(super) ids: Vec<String>,
}

impl Which {
    /// Conditions on rows whose time is a column.
    fn conditions(&self, time: &str) -> String {
        let Range { start, end } = &self.range;
        let mut conditions = match self.ids.as_slice() {
            [] => "\"resource.session_id\" IS NOT NULL".to_owned(),
            [id] => format!("{SESSION} = {}", quoted(id)),
            ids => format!("{SESSION} IN ({})", list(ids)),
        };
        if *start > 0 {
            conditions += &format!(" AND {time} >= '{}'", rfc3339_text(*start));
        }
        if *end < i64::MAX {
            conditions += &format!(" AND {time} < '{}'", rfc3339_text(*end));
        }
        conditions
    }

    fn of_logs(&self) -> String {
        self.conditions("time")
    }

    fn of_spans(&self) -> String {
        self.conditions("start_time")
    }

    /// Sessions by their log records.
    pub(super) fn in_logs(&self) -> String {
        let is = |event: &str| format!("FILTER (WHERE event_name = '{event}')");
        let (started, ended) = (is("SessionStarted"), is("SessionEnded"));
        format!(
            "SELECT \"resource.session_id\" AS id, min(time) AS first, max(time) AS last, \
             min(time) {started} AS started, max(time) {started} AS restarted, \
             max(time) {ended} AS ended, max(span_id) {started} AS opened, \
             min(trace_id) {started} AS trace_id, min(trace_id) AS any_trace_id, {NAMES} \
             FROM logs WHERE {} GROUP BY 1 ORDER BY last DESC LIMIT {MAX_SESSIONS_FOUND}",
            self.of_logs()
        )
    }

    /// Sessions by their spans.
    pub(super) fn in_spans(&self) -> String {
        format!(
            "SELECT \"resource.session_id\" AS id, min(start_time) AS first, max(end_time) AS last, \
             min(trace_id) AS any_trace_id, {NAMES} \
             FROM spans WHERE {} GROUP BY 1 ORDER BY last DESC LIMIT {MAX_SESSIONS_FOUND}",
            self.of_spans()
        )
    }

    /// Sessions by the spans that are sessions: those that an event has opened, and those that look
    /// like one. A program may call any of its spans `session`.
    pub(super) fn in_session_spans(&self) -> String {
        let (opened, looks) =
            ("FILTER (WHERE opened IS NOT NULL)", "FILTER (WHERE opened IS NULL)");
        format!(
            "SELECT id, min(start_time) AS started, max(end_time) {opened} AS ended, \
             max(end_time) {looks} AS seems_ended, max(end_time) AS last, \
             min(trace_id) AS trace_id FROM \
             (SELECT spanned.*, begun.span_id AS opened FROM \
             (SELECT {SESSION} AS id, span_id, parent_span_id, scope_name, trace_id, \
             start_time, end_time FROM spans \
             WHERE {} AND name = 'session' AND \"span.task_id\" IS NULL) AS spanned \
             LEFT JOIN (SELECT DISTINCT {SESSION} AS id, span_id FROM logs \
             WHERE {} AND event_name = 'SessionStarted' AND span_id IS NOT NULL) AS begun \
             ON spanned.id = begun.id AND spanned.span_id = begun.span_id) \
             WHERE opened IS NOT NULL OR parent_span_id IS NULL OR scope_name IN ({}) \
             GROUP BY id ORDER BY last DESC LIMIT {MAX_SESSIONS_FOUND}",
            self.of_spans(),
            self.of_logs(),
            list(&SESSION_SCOPES),
        )
    }

    /// Sessions by their metrics.
    pub(super) fn in_points(&self) -> String {
        format!(
            "SELECT \"resource.session_id\" AS id, min(time) AS first, max(time) AS last, {NAMES} \
             FROM points WHERE {} GROUP BY 1 ORDER BY last DESC LIMIT {MAX_SESSIONS_FOUND}",
            self.of_logs()
        )
    }

    /// How many spans there are, and how many of them failed.
    pub(super) fn span_counts(&self) -> String {
        format!(
            "SELECT id, count(*) AS spans, count(*) FILTER (WHERE failed) AS errors FROM \
             (SELECT \"resource.session_id\" AS id, span_id, bool_or(status = 'error') AS failed \
             FROM spans WHERE {} GROUP BY 1, 2) GROUP BY id",
            self.of_spans()
        )
    }

    /// The same as records: one that came twice is two.
    pub(super) fn span_records(&self) -> String {
        format!(
            "SELECT \"resource.session_id\" AS id, count(*) AS spans, \
             count(*) FILTER (WHERE status = 'error') AS errors \
             FROM spans WHERE {} GROUP BY 1",
            self.of_spans()
        )
    }

    /// Events and spans of tasks: session, task, when, what they say of it, and whether they are
    /// spans.
    fn of_tasks(&self) -> String {
        let cases = |of: &[(&str, i64)]| {
            let case = |(name, bit): &(&str, i64)| format!("WHEN '{name}' THEN {bit} ");
            of.iter().map(case).collect::<String>()
        };
        format!(
            "SELECT {SESSION} AS id, CAST(\"log.task_id\" AS VARCHAR) AS task, \
             time AS at, CASE event_name {}ELSE 0 END AS told, 0 AS of_span \
             FROM logs WHERE {} AND \"log.task_id\" IS NOT NULL AND event_name IS NOT NULL \
             UNION ALL \
             SELECT {SESSION} AS id, CAST(\"span.task_id\" AS VARCHAR) AS task, \
             start_time AS at, CASE CAST(\"span.status\" AS VARCHAR) {}\
             ELSE CASE WHEN status = 'error' THEN {} ELSE {} END END AS told, 1 AS of_span \
             FROM spans WHERE {} AND \"span.task_id\" IS NOT NULL",
            cases(&TASK_EVENTS),
            self.of_logs(),
            cases(&TASK_STATUSES),
            bit::SPAN_FAILED,
            bit::SPAN_ENDED,
            self.of_spans(),
        )
    }

    /// How many tasks are in which state.
    pub(super) fn task_counts(&self) -> String {
        let any = |bits: i64| format!("(told & {bits}) <> 0");
        let none = |bits: i64| format!("(told & {bits}) = 0");
        let told = bit::SAID | bit::STEPS;
        let handed_over = bit::SUBMITTED
            | bit::QUEUED
            | bit::STARTED
            | bit::COMPLETED
            | bit::FAILED
            | bit::SPAN_ENDED
            | bit::SPAN_FAILED;
        // What is said comes first; of several ends the best.
        let failed = format!(
            "{} AND {} OR {} AND {}",
            any(bit::FAILED),
            none(bit::COMPLETED),
            any(bit::SPAN_FAILED),
            none(told),
        );
        let completed = format!(
            "{} OR {} AND {}",
            any(bit::COMPLETED),
            any(bit::SPAN_ENDED),
            none(told | bit::SPAN_FAILED),
        );
        let canceled = format!("{} AND {}", any(bit::CANCELED), none(bit::COMPLETED | bit::FAILED));
        let running = format!("{} AND {}", any(bit::STARTED), none(bit::SAID));
        format!(
            "SELECT id, count(*) AS created, count(*) FILTER (WHERE {}) AS submitted, \
             count(*) FILTER (WHERE {running}) AS running, \
             count(*) FILTER (WHERE {completed}) AS completed, \
             count(*) FILTER (WHERE {failed}) AS failed, \
             count(*) FILTER (WHERE {canceled}) AS canceled FROM \
             (SELECT id, task, bit_or(told) AS told FROM ({}) GROUP BY id, task) GROUP BY id",
            any(handed_over),
            self.of_tasks()
        )
    }

    /// How many records say what of tasks: one that came twice is two.
    pub(super) fn task_records(&self) -> String {
        format!(
            "SELECT id, of_span, told, count(*) AS records FROM ({}) GROUP BY id, of_span, told",
            self.of_tasks()
        )
    }

    /// The tasks that began last.
    pub(super) fn tasks(&self, limit: usize) -> String {
        format!(
            "SELECT task, bit_or(told) AS told, min(at) AS first FROM ({}) \
             GROUP BY task ORDER BY first DESC, task DESC LIMIT {limit}",
            self.of_tasks()
        )
    }

    /// Events of some tasks.
    pub(super) fn task_events(&self, tasks: &[String], limit: usize) -> String {
        format!(
            "SELECT CAST(\"log.task_id\" AS VARCHAR) AS task, time, event_name, span_id, attributes \
             FROM logs WHERE {} AND CAST(\"log.task_id\" AS VARCHAR) IN ({}) AND event_name IN ({}) \
             ORDER BY time LIMIT {limit}",
            self.of_logs(),
            list(tasks),
            list(&TASK_EVENTS.map(|(name, _)| name)),
        )
    }

    /// Spans of some tasks, the longest first: that of the task itself comes before others of it.
    pub(super) fn task_spans(&self, tasks: &[String], limit: usize) -> String {
        format!(
            "SELECT CAST(\"span.task_id\" AS VARCHAR) AS task, span_id, parent_span_id, name, \
             start_time, end_time, status, status_message, attributes \
             FROM spans WHERE {} AND CAST(\"span.task_id\" AS VARCHAR) IN ({}) \
             ORDER BY duration_nanos DESC LIMIT {limit}",
            self.of_spans(),
            list(tasks),
        )
    }

    /// Steps of some tasks as their spans have them.
    pub(super) fn task_steps(&self, tasks: &[String], limit: usize) -> String {
        // Events have the attributes of their spans and not their times.
        let of_session = Self { range: 0..i64::MAX, ids: self.ids.clone() };
        format!(
            "SELECT CAST(\"span.task_id\" AS VARCHAR) AS task, time, name FROM events \
             WHERE {} AND CAST(\"span.task_id\" AS VARCHAR) IN ({}) AND name IN ({}) LIMIT {limit}",
            of_session.conditions("time"),
            list(tasks),
            list(&TASK_EVENTS.map(|(name, _)| name)),
        )
    }

    /// The last resource updates.
    pub(super) fn resources(&self, limit: usize) -> String {
        format!(
            "SELECT time, attributes FROM logs WHERE {} AND event_name = 'ResourceUpdate' \
             ORDER BY time DESC LIMIT {limit}",
            self.of_logs()
        )
    }

    /// The last events of the program's own.
    pub(super) fn events(&self, limit: usize) -> String {
        let ours = TASK_EVENTS.iter().map(|(name, _)| *name).chain(OTHER_EVENTS);
        format!(
            "SELECT time, event_name, span_id, attributes FROM logs \
             WHERE {} AND event_name IS NOT NULL AND event_name NOT IN ({}) \
             ORDER BY time DESC LIMIT {limit}",
            self.of_logs(),
            list(&ours.collect::<Vec<_>>()),
        )
    }

    /// Spans that have begun, have not arrived, and of whose end no event tells: sessions end by
    /// their own, all else by that of a task.
    pub(super) fn open_spans(&self, limit: usize) -> String {
        let of_tasks = TASK_EVENTS.iter().filter(|(_, told)| told & bit::SAID != 0);
        let ends = of_tasks.map(|(name, _)| *name).chain(["SessionEnded"]);
        format!(
            "SELECT opened.span_id AS span_id, min(opened.name) AS name, \
             min(opened.parent) AS parent, min(opened.time) AS time FROM \
             (SELECT span_id, CAST(\"log.span_name\" AS VARCHAR) AS name, \
             CAST(\"log.parent_span_id\" AS VARCHAR) AS parent, time, \
             event_name = 'SessionStarted' AS of_session FROM logs \
             WHERE {} AND event_name IS NOT NULL AND \"log.span_name\" IS NOT NULL) AS opened \
             LEFT ANTI JOIN (SELECT span_id, NULL AS of_session FROM spans WHERE {} \
             UNION ALL SELECT span_id, event_name = 'SessionEnded' AS of_session FROM logs \
             WHERE {} AND event_name IN ({})) AS arrived \
             ON opened.span_id = arrived.span_id \
             AND (arrived.of_session IS NULL OR arrived.of_session = opened.of_session) \
             GROUP BY opened.span_id ORDER BY time LIMIT {limit}",
            self.of_logs(),
            self.of_spans(),
            self.of_logs(),
            list(&ends.collect::<Vec<_>>()),
        )
    }

    /// The resource of a session, from the table of that name.
    pub(super) fn resource(&self, table: &str) -> String {
        let time = if table == "spans" { "start_time" } else { "time" };
        let conditions = self.conditions(time);
        format!("SELECT resource FROM {table} WHERE {conditions} ORDER BY {time} LIMIT 1")
    }
}

/// The id of a session as text: a column has the type of what was sent, and one of numbers cannot be
/// compared with other texts. Where sessions are only listed, it is left as it is, which is quicker
/// to group by.
pub(super) const SESSION: &str = "CAST(\"resource.session_id\" AS VARCHAR)";

/// Attributes of resources that name a session.
const NAMES: &str = "min(\"resource.session.name\") AS name, \
                     min(\"resource.service.name\") AS service, \
                     min(\"resource.host.name\") AS host";

/// Names in portions that fit into a query.
pub(super) fn portions(names: &[String]) -> impl Iterator<Item = &[String]> {
    let mut rest = names;
    std::iter::from_fn(move || {
        let mut size_bytes = 0;
        let fits = |name: &&String| {
            size_bytes += name.len();
            size_bytes <= TASK_NAMES_BYTES
        };
        let count = rest.iter().take(TASK_NAMES).take_while(fits).count();
        let (portion, others) = rest.split_at_checked(count.max(1))?;
        rest = others;
        Some(portion)
    })
}

/// A text as SQL has it: nothing but a quote means something in it, and it is doubled.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn list(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        let ids = vec!["'; DROP TABLE spans; --".to_owned()];
        let which = Which { range: 0..i64::MAX, ids };
        let query = which.in_spans();
        assert!(query.contains("= '''; DROP TABLE spans; --' GROUP"), "{query}");
        let which = Which { ids: vec!["a".to_owned(), "it's".to_owned()], ..which };
        assert!(which.in_logs().contains("IN ('a', 'it''s')"));
    }

    #[test]
    fn names_are_asked_for_in_portions() {
        assert_eq!(portions(&[]).count(), 0);
        let many: Vec<String> = (0..TASK_NAMES + 1).map(|number| number.to_string()).collect();
        let sizes: Vec<usize> = portions(&many).map(<[String]>::len).collect();
        assert_eq!(sizes, [TASK_NAMES, 1]);
        // One that is too long is asked for alone.
        let long = vec!["a".to_owned(), "x".repeat(TASK_NAMES_BYTES + 1), "b".to_owned()];
        assert_eq!(portions(&long).map(<[String]>::len).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn times_are_bounded_by_the_column_that_a_table_has_for_them() {
        let which = Which { range: 1..2, ids: Vec::new() };
        let from = "1970-01-01T00:00:00.000000001Z";
        assert!(which.in_logs().contains(&format!("AND time >= '{from}'")));
        assert!(which.in_spans().contains(&format!("AND start_time >= '{from}'")));
        assert!(which.in_points().contains("session_id\" IS NOT NULL AND time >="));
    }
}
