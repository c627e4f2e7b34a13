//! Chrome's trace events, which browsers, profilers and compilers write, and our own export, to OTLP.
//!
//! They tell of threads and not of parents: what lies in what is told by time. So on each line (a
//! thread, or what shares an asynchronous id) a span is the child of the innermost one that runs as
//! long as it does. Processes become services, instants become events, and arguments attributes.
//! Counters and flows are left out: a trace has no place for them.
//!
//! Times are microseconds of any clock. Files of ours say when theirs began
//! (`otherData.startUnixNanos`); others are shown as if it had been in 1970.

use std::borrow::Cow;
use std::cmp::Reverse;

use hashbrown::HashMap;
use kymo_wire::AnyValueView;
use kymo_wire::encode::{EventFields, SpanFields, Writer};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::jaeger::{id, kind_of, with_value};
use super::parts;
use crate::error::TraceError;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(rename = "otherData", default)]
    other: Value,
}

#[derive(Deserialize)]
struct Event<'a> {
    /// What it is, in a letter.
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    /// Microseconds.
    ts: Option<Number>,
    /// Microseconds.
    dur: Option<Number>,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    id2: Value,
    #[serde(default)]
    args: Value,
}

/// Whether the first element of a list is an event.
pub(super) fn is_list_of_events(file: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        ph: Option<IgnoredAny>,
    }
    let elements = file.trim_ascii_start().strip_prefix(b"[").unwrap_or_default();
    let first = serde_json::Deserializer::from_slice(elements).into_iter::<Head>().next();
    first.is_some_and(|first| first.is_ok_and(|head| head.ph.is_some()))
}

pub(super) fn read(file: &[u8]) -> Result<Vec<u8>, TraceError> {
    parts::check(file)?;
    let file = closed(file);
    let document = parse(&file)?;
    let mut lines = lines_of(&document.events);
    lines.iter_mut().for_each(Line::settle);
    let spans = lines.iter().flat_map(|line| &line.spans);
    let first_nanos = spans.clone().map(|span| span.from_nanos).min().unwrap_or(0);
    let started: Option<i64> =
        document.other["startUnixNanos"].as_str().and_then(|nanos| nanos.parse().ok());
    let shared = Shared {
        trace_id: trace_id(&document.other, first_nanos, spans.count()),
        // A start of 0 would mean that there is none.
        begin_nanos: started.unwrap_or(0).max(1i64.saturating_sub(first_nanos)),
        names: Names::of(&document.events),
    };
    let mut writer = Writer::new();
    let mut next_id = 1;
    for line in &lines {
        line.write(&mut writer, &shared, next_id);
        next_id += line.spans.len() as u64;
    }
    Ok(writer.into_bytes())
}

/// A list may lack its end, since who writes one may be stopped at any time.
fn closed(file: &[u8]) -> Cow<'_, [u8]> {
    let text = file.trim_ascii();
    if !text.starts_with(b"[") || text.ends_with(b"]") {
        return Cow::Borrowed(file);
    }
    let events = text.strip_suffix(b",").unwrap_or(text);
    Cow::Owned([events, &b"]"[..]].concat())
}

fn parse(file: &[u8]) -> Result<Document<'_>, TraceError> {
    let refused = |error: serde_json::Error| {
        TraceError::Format(format!("it looks like Chrome's trace events, but {error}"))
    };
    if file.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(file).map_err(refused);
    }
    let events = serde_json::from_slice(file).map_err(refused)?;
    Ok(Document { events, other: Value::Null })
}

/// The id that a file of ours has, else one that is the same whenever the file is read.
fn trace_id(other: &Value, first_nanos: i64, spans: usize) -> [u8; 16] {
    let known = other["traceId"].as_str().filter(|text| text.len() == 32).map(id::<16>);
    known.filter(|known| *known != [0; 16]).unwrap_or_else(|| {
        let mut made = [0; 16];
        made[..8].copy_from_slice(&first_nanos.to_be_bytes());
        made[8..].copy_from_slice(&(spans as u64).to_be_bytes());
        made
    })
}

fn nanos(micros: &Number) -> i64 {
    match micros.as_i64() {
        Some(whole) => whole.saturating_mul(1_000),
        None => (micros.as_f64().unwrap_or(0.0) * 1_000.0).round() as i64,
    }
}

/// A number or a text, without the quotes of a text.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Event<'_> {
    fn at_nanos(&self) -> i64 {
        self.ts.as_ref().map_or(0, nanos)
    }

    /// Its process and, within that, its line.
    fn line(&self) -> (String, String) {
        let line = match &*self.ph {
            "b" | "e" | "n" => format!("async {} {} {}", self.cat, self.id, self.id2),
            _ => format!("thread {}", self.tid),
        };
        (shown(&self.pid), line)
    }
}

/// What the spans of a file have in common.
struct Shared<'e> {
    trace_id: [u8; 16],
    /// When the file's clock began, in nanoseconds since 1970.
    begin_nanos: i64,
    names: Names<'e>,
}

impl Shared<'_> {
    fn unix_nanos(&self, nanos: i64) -> u64 {
        // No span begins before the first.
        u64::try_from(self.begin_nanos.saturating_add(nanos)).unwrap_or(0)
    }
}

/// What processes and threads are called, by their ids.
struct Names<'e> {
    processes: HashMap<String, &'e str>,
    threads: HashMap<(String, String), &'e str>,
}

impl<'e> Names<'e> {
    fn of(events: &'e [Event<'e>]) -> Self {
        let mut names = Self { processes: HashMap::new(), threads: HashMap::new() };
        for event in events.iter().filter(|event| event.ph == "M") {
            let Some(name) = event.args["name"].as_str() else { continue };
            let process = shown(&event.pid);
            if event.name == "process_name" {
                names.processes.insert(process, name);
            } else if event.name == "thread_name" {
                names.threads.insert((process, shown(&event.tid)), name);
            }
        }
        names
    }
}

/// A span on its line.
struct Timed<'e> {
    event: &'e Event<'e>,
    /// What ended it, where that is an event of its own.
    end: Option<&'e Event<'e>>,
    from_nanos: i64,
    /// `None` if it was not ended.
    to_nanos: Option<i64>,
    /// Its place in the file: of two that ran at once the outer one was begun first.
    nth: usize,
    /// The place of its parent on the line.
    parent: Option<usize>,
    instants: Vec<&'e Event<'e>>,
}

impl<'e> Timed<'e> {
    fn new(nth: usize, event: &'e Event<'e>, from_nanos: i64, to_nanos: Option<i64>) -> Self {
        let (end, parent, instants) = (None, None, Vec::new());
        Self { event, end, from_nanos, to_nanos, nth, parent, instants }
    }

    fn until_nanos(&self) -> i64 {
        self.to_nanos.unwrap_or(i64::MAX)
    }

    /// Whether one that began no earlier lies in it. What takes no time holds nothing.
    fn holds(&self, other: &Self) -> bool {
        let (until, other_until) = (self.until_nanos(), other.until_nanos());
        let is_instant = self.from_nanos == until;
        let is_behind = until <= other.from_nanos && other.from_nanos < other_until;
        !is_instant && !is_behind && other_until <= until
    }
}

/// What happened on one thread, or under one asynchronous id.
struct Line<'e> {
    /// Says whose line it is.
    first: &'e Event<'e>,
    spans: Vec<Timed<'e>>,
    /// Begins and ends: when, and their places in the file.
    turns: Vec<(i64, usize, &'e Event<'e>)>,
    instants: Vec<(i64, &'e Event<'e>)>,
}

fn lines_of<'e>(events: &'e [Event<'e>]) -> Vec<Line<'e>> {
    let mut lines: Vec<Line<'e>> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for (nth, event) in events.iter().enumerate() {
        if !matches!(&*event.ph, "X" | "B" | "E" | "b" | "e" | "n" | "i" | "I" | "R") {
            continue;
        }
        let line = *known.entry(event.line()).or_insert_with(|| {
            let (spans, turns, instants) = (Vec::new(), Vec::new(), Vec::new());
            lines.push(Line { first: event, spans, turns, instants });
            lines.len() - 1
        });
        lines[line].add(nth, event);
    }
    lines
}

impl<'e> Line<'e> {
    fn add(&mut self, nth: usize, event: &'e Event<'e>) {
        let at = event.at_nanos();
        match &*event.ph {
            "X" => {
                let long = event.dur.as_ref().map_or(0, nanos).max(0);
                self.spans.push(Timed::new(nth, event, at, Some(at.saturating_add(long))));
            }
            "B" | "E" | "b" | "e" => self.turns.push((at, nth, event)),
            _ => self.instants.push((at, event)),
        }
    }

    /// Makes spans of begins and ends, and finds what lies in what.
    fn settle(&mut self) {
        self.turns.sort_by_key(|(at, ..)| *at);
        let mut open: Vec<(i64, usize, &'e Event<'e>)> = Vec::new();
        for (at, nth, event) in std::mem::take(&mut self.turns) {
            if matches!(&*event.ph, "B" | "b") {
                open.push((at, nth, event));
            } else if let Some((from, nth, begin)) = open.pop() {
                let span = Timed::new(nth, begin, from, Some(at));
                self.spans.push(Timed { end: Some(event), ..span });
            }
        }
        for (from, nth, event) in open {
            self.spans.push(Timed::new(nth, event, from, None));
        }
        self.spans.sort_by_key(|span| (span.from_nanos, Reverse(span.until_nanos()), span.nth));
        self.instants.sort_by_key(|(at, _)| *at);
        self.nest();
    }

    /// Gives spans their parents and instants. What is open at a time is kept, each in the one before;
    /// a span that outlasts another closes it, so that each is looked at once.
    fn nest(&mut self) {
        let mut instants = std::mem::take(&mut self.instants).into_iter().peekable();
        let mut alone = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for nth in 0..=self.spans.len() {
            let begins = self.spans.get(nth).map(|span| span.from_nanos);
            let is_before = |at: i64| begins.is_none_or(|begins| at < begins);
            while let Some((at, event)) = instants.next_if(|(at, _)| is_before(*at)) {
                while open.last().is_some_and(|last| self.spans[*last].until_nanos() < at) {
                    open.pop();
                }
                match open.last() {
                    Some(last) => self.spans[*last].instants.push(event),
                    None => alone.push(Timed::new(usize::MAX, event, at, Some(at))),
                }
            }
            if begins.is_some() {
                while open.last().is_some_and(|last| !self.spans[*last].holds(&self.spans[nth])) {
                    open.pop();
                }
                self.spans[nth].parent = open.last().copied();
                open.push(nth);
            }
        }
        self.spans.append(&mut alone);
    }

    fn write(&self, writer: &mut Writer, shared: &Shared<'_>, first_id: u64) {
        let process = shown(&self.first.pid);
        let unnamed = format!("process {process}");
        let service = shared.names.processes.get(&process).copied().unwrap_or(&unnamed);
        let thread_key = (process, shown(&self.first.tid));
        let thread = shared.names.threads.get(&thread_key).copied();
        writer.resource_group(|w| {
            w.resource(|w| {
                w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
                if !self.first.pid.is_null() {
                    with_value(&self.first.pid, |pid| w.resource_attribute(b"process.pid", pid));
                }
            });
            w.scope_group(|w| {
                for nth in 0..self.spans.len() {
                    self.write_span(w, shared, thread, first_id, nth);
                }
            });
        });
    }

    fn write_span(
        &self,
        writer: &mut Writer,
        shared: &Shared<'_>,
        thread: Option<&str>,
        first_id: u64,
        nth: usize,
    ) {
        let span = &self.spans[nth];
        let event = span.event;
        let parent_id = span.parent.map(|parent| (first_id + parent as u64).to_be_bytes());
        let kind = kind_of(&event.cat);
        let fields = SpanFields {
            trace_id: &shared.trace_id,
            span_id: &(first_id + nth as u64).to_be_bytes(),
            parent_span_id: parent_id.as_ref().map_or(&[], |id| &id[..]),
            name: event.name.as_bytes(),
            kind,
            start_time_unix_nano: shared.unix_nanos(span.from_nanos),
            end_time_unix_nano: span.to_nanos.map_or(0, |to| shared.unix_nanos(to)),
            ..SpanFields::default()
        };
        writer.span(&fields, |w| {
            if !event.tid.is_null() {
                with_value(&event.tid, |tid| w.span_attribute(b"thread.id", tid));
            }
            if let Some(thread) = thread {
                w.span_attribute(b"thread.name", &AnyValueView::String(thread.as_bytes()));
            }
            if !event.cat.is_empty() && kind == 0 {
                w.span_attribute(b"category", &AnyValueView::String(event.cat.as_bytes()));
            }
            arguments(&event.args, |key, value| w.span_attribute(key.as_bytes(), value));
            if let Some(end) = span.end {
                arguments(&end.args, |key, value| {
                    if event.args.get(key).is_none() {
                        w.span_attribute(key.as_bytes(), value);
                    }
                });
            }
            for instant in &span.instants {
                write_instant(w, shared, instant);
            }
            if event.args["status"] == "error" {
                w.status(STATUS_ERROR, b"");
            }
        });
    }
}

/// `STATUS_CODE_ERROR`, as our own export tells it.
const STATUS_ERROR: i32 = 2;

fn write_instant(writer: &mut Writer, shared: &Shared<'_>, instant: &Event<'_>) {
    let fields = EventFields {
        time_unix_nano: shared.unix_nanos(instant.at_nanos()),
        name: instant.name.as_bytes(),
        ..EventFields::default()
    };
    writer.event(&fields, |w| {
        arguments(&instant.args, |key, value| w.event_attribute(key.as_bytes(), value));
    });
}

/// Calls `then` with each argument. Some files have a text in place of them.
fn arguments(args: &Value, mut then: impl FnMut(&str, &AnyValueView<'_>)) {
    match args {
        Value::Null => {}
        Value::Object(members) => {
            for (key, value) in members {
                with_value(value, |value| then(key, value));
            }
        }
        other => with_value(other, |value| then("args", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Details;
    use crate::fixture::sent;
    use crate::perfetto::perfetto;
    use crate::tree::TraceTree;
    use serde_json::json;

    fn tree(file: &[u8]) -> TraceTree {
        TraceTree::read(read(file).unwrap()).unwrap()
    }

    /// Names with those of their parents, in the order of the tree.
    fn parents(tree: &TraceTree) -> Vec<(String, Option<String>)> {
        let name = |row: usize| String::from_utf8_lossy(tree.name(row)).into_owned();
        let parent = |row: usize| tree.laid[row].parent.map(|parent| name(parent as usize));
        (0..tree.len()).map(|row| (name(row), parent(row))).collect()
    }

    #[test]
    fn spans_lie_in_those_of_their_thread_that_run_as_long() {
        let file = json!({"traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "trainer"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "main"}},
            {"ph": "X", "name": "step", "pid": 1, "tid": 7, "ts": 100.5, "dur": 50,
             "args": {"loss": 0.5, "n": 3}},
            {"ph": "E", "pid": 1, "tid": 7, "ts": 120, "args": {"done": true}},
            {"ph": "B", "name": "forward", "cat": "nn", "pid": 1, "tid": 7, "ts": 110},
            {"ph": "i", "name": "sync", "pid": 1, "tid": 7, "ts": 115, "s": "t"},
            {"ph": "X", "name": "elsewhere", "pid": 1, "tid": 8, "ts": 111, "dur": 2},
            {"ph": "B", "name": "open", "pid": 2, "tid": 1, "ts": 130},
            {"ph": "C", "name": "memory", "pid": 1, "ts": 100, "args": {"bytes": 1}},
        ]});
        let tree = tree(file.to_string().as_bytes());
        let details = serde_json::to_value(Details::of(&tree, &[0, 1, 2, 3]).unwrap()).unwrap();
        let [step, forward, elsewhere, open] = [0, 1, 2, 3].map(|row| &details["spans"][row]);
        assert_eq!((&step["name"], &step["start"]), (&json!("step"), &json!("100500")));
        assert_eq!(step["durationNanos"], 50_000);
        let attributes = json!([
            {"key": "thread.id", "type": "int", "value": 7},
            {"key": "thread.name", "type": "string", "value": "main"},
            {"key": "loss", "type": "double", "value": 0.5},
            {"key": "n", "type": "int", "value": 3},
        ]);
        assert_eq!(step["attributes"], attributes);
        assert_eq!((&forward["name"], &forward["parentId"]), (&json!("forward"), &step["id"]));
        assert_eq!(forward["durationNanos"], 10_000);
        assert_eq!(forward["attributes"][2]["value"], "nn");
        assert_eq!(forward["attributes"][3]["key"], "done");
        let event = &forward["events"][0];
        assert_eq!((&event["name"], &event["time"]), (&json!("sync"), &json!("115000")));
        assert_eq!(
            (&elsewhere["name"], &elsewhere["parentId"]),
            (&json!("elsewhere"), &json!(null))
        );
        assert_eq!(open["name"], "open");
        assert!(tree.spans[3].is_running);
        assert_eq!((tree.service(0), tree.service(3)), (&b"trainer"[..], &b"process 2"[..]));
        assert_eq!(tree.len(), 4);
    }

    #[test]
    fn an_asynchronous_id_is_a_line_of_its_own() {
        let event = |ph: &str, id: &str, ts: u32| json!({"ph": ph, "cat": "net", "name": id, "id": id, "pid": 1, "tid": 1, "ts": ts});
        let file = json!([
            event("b", "0x1", 10),
            event("b", "0x2", 12),
            event("b", "0x1", 13),
            event("e", "0x2", 14),
            event("e", "0x1", 15),
            event("e", "0x1", 20),
        ]);
        let tree = tree(file.to_string().as_bytes());
        let name = |text: &str| text.to_owned();
        let expected = [(name("0x1"), None), (name("0x1"), Some(name("0x1"))), (name("0x2"), None)];
        assert_eq!(parents(&tree), expected);
    }

    #[test]
    fn a_list_may_lack_its_end_and_time_may_begin_at_nothing() {
        let event = r#"{"ph": "X", "name": "a", "ts": 0, "dur": 1, "pid": "p", "tid": "t"}"#;
        for file in [format!("[{event}]"), format!("[{event},\n"), format!(" [{event}\n")] {
            assert!(is_list_of_events(file.as_bytes()), "{file}");
            let tree = tree(file.as_bytes());
            assert_eq!((tree.len(), tree.start_nanos, tree.end_nanos), (1, 1, 1_001));
            assert!(!tree.spans[0].is_untimed);
            assert_eq!(tree.service(0), b"process p");
        }
        assert!(read(b"[{\"ph\": \"X\", ]").is_err());
        assert!(!is_list_of_events(b"[{\"traceId\": \"1\", \"id\": \"2\"}]"));
        assert!(!is_list_of_events(b"[]"));
    }

    #[test]
    fn what_touches_or_outlasts_a_span_does_not_lie_in_it() {
        let event =
            |name: &str, ts: u32, dur: u32| json!({"ph": "X", "name": name, "ts": ts, "dur": dur});
        let file = json!([
            event("a", 10, 10),
            event("in a", 10, 5),
            event("outlasts a", 15, 10),
            event("after both", 25, 5),
            event("moment", 40, 0),
            event("same moment", 40, 0),
        ]);
        let tree = tree(file.to_string().as_bytes());
        let with_parent: Vec<_> =
            parents(&tree).into_iter().filter(|(_, parent)| parent.is_some()).collect();
        assert_eq!(with_parent, [("in a".to_owned(), Some("a".to_owned()))]);
        assert_eq!(tree.len(), 6);
    }

    #[test]
    fn our_own_export_is_read_back() {
        let mut spans = [
            sent(1, 0, "shop", "GET", 1_700_000_000_000_001_003, 1_700_000_000_000_009_000),
            sent(2, 1, "shop", "auth", 1_700_000_000_000_002_007, 1_700_000_000_000_003_000),
        ];
        spans[1].is_error = true;
        spans[1].events = vec![(1_700_000_000_000_002_500, "retry")];
        let before = crate::fixture::tree(&spans);
        let after = tree(&perfetto(&before).unwrap());
        assert_eq!(after.trace_id, before.trace_id);
        assert_eq!(parents(&after), parents(&before));
        for row in 0..2 {
            let (one, other) = (&after.spans[row], &before.spans[row]);
            assert_eq!(one.place.start_nanos, other.place.start_nanos);
            assert_eq!(one.duration_nanos, other.duration_nanos);
            assert_eq!(
                (one.kind, one.status, one.events),
                (other.kind, other.status, other.events)
            );
        }
    }

    #[test]
    fn fifty_thousand_that_overlap_or_lie_in_each_other_are_done_in_no_time() {
        let begun = std::time::Instant::now();
        let file = |dur: &dyn Fn(u32) -> u32| {
            let event = |at: u32| json!({"ph": "X", "name": "n", "ts": at, "dur": dur(at)});
            Value::from((0..50_000).map(event).collect::<Vec<_>>()).to_string()
        };
        let stairs = tree(file(&|_| 60_000).as_bytes());
        assert!(stairs.laid.iter().all(|laid| laid.depth == 0));
        let deep = tree(file(&|at| 120_000 - 2 * at).as_bytes());
        assert_eq!(deep.laid[49_999].depth, 49_999);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
