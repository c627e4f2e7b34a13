//! A trace as Chrome's trace events, which Perfetto and speedscope open.
//!
//! Each service is a process, and spans lie on lanes of it: on one lane they follow each other or lie
//! within each other, as the viewers demand. A span is on the lane of its parent where it fits there.
//! Times are microseconds since the trace's start, with nanoseconds behind the point.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, text};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use crate::columns::cut;
use crate::details::{kind_name, status_name};
use crate::error::TraceError;
use crate::limits::{PERFETTO_ARG_MAX_BYTES, PERFETTO_MAX_ARGS, TEXT_MAX_BYTES};
use crate::tree::TraceTree;
use crate::value::{hex, json_of, text_of};

/// Writes a trace as Chrome's trace events.
pub fn perfetto(tree: &TraceTree) -> Result<Vec<u8>, TraceError> {
    let document = Document { events: Events { tree, lanes: Lanes::of(tree) } };
    serde_json::to_vec(&document).map_err(|error| TraceError::Query(error.to_string()))
}

struct Document<'t> {
    events: Events<'t>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("displayTimeUnit", "ns")?;
        let other = std::collections::BTreeMap::from([
            ("traceId", hex(&self.events.tree.trace_id)),
            ("startUnixNanos", self.events.tree.start_nanos.to_string()),
        ]);
        map.serialize_entry("otherData", &other)?;
        map.serialize_entry("traceEvents", &self.events)?;
        map.end()
    }
}

struct Events<'t> {
    tree: &'t TraceTree,
    lanes: Lanes<'t>,
}

/// An event that names a process, or a span.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'static str,
    name: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: serde_json::Map<String, serde_json::Value>,
}

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (pid, service) in self.lanes.services.iter().enumerate() {
            let shown = if service.is_empty() { "unknown service".into() } else { text(service) };
            let args = serde_json::Map::from_iter([("name".to_owned(), shown.into())]);
            list.serialize_element(&Event {
                ph: "M",
                name: "process_name".into(),
                cat: None,
                pid: pid as u32 + 1,
                tid: 0,
                ts: None,
                dur: None,
                s: None,
                args,
            })?;
        }
        for row in 0..self.tree.len() {
            list.serialize_element(&self.span(row))?;
            for instant in self.instants(row) {
                list.serialize_element(&instant)?;
            }
        }
        list.end()
    }
}

impl Events<'_> {
    fn span(&self, row: usize) -> Event<'_> {
        let (tree, span) = (self.tree, &self.tree.spans[row]);
        let (pid, tid) = self.lanes.of_row[row];
        Event {
            ph: "X",
            name: cut(tree.name(row), TEXT_MAX_BYTES),
            cat: Some(kind_name(span.kind)),
            pid,
            tid,
            ts: Some(micros(span.place.start_nanos - tree.start_nanos)),
            dur: Some(micros(span.place.end_nanos - span.place.start_nanos)),
            s: None,
            args: self.args(row),
        }
    }

    fn args(&self, row: usize) -> serde_json::Map<String, serde_json::Value> {
        let span = &self.tree.spans[row];
        let mut args = serde_json::Map::new();
        args.insert("spanId".into(), hex(&span.place.span_id).into());
        args.insert("status".into(), status_name(span.status).into());
        // What cannot be read is left out; the whole is checked when it is laid out.
        let attributes = self.tree.view(row).ok().map(|view| view.attributes);
        let attributes = attributes.iter().flatten().map_while(Result::ok);
        for attribute in attributes.take(PERFETTO_MAX_ARGS) {
            let value = match attribute.value {
                AnyValueView::Int(_) | AnyValueView::Double(_) | AnyValueView::Bool(_) => {
                    json_of(&attribute.value)
                }
                other => cut(text_of(&other).as_bytes(), PERFETTO_ARG_MAX_BYTES).into(),
            };
            args.insert(text(attribute.key).into_owned(), value);
        }
        args
    }

    fn instants(&self, row: usize) -> impl Iterator<Item = Event<'_>> {
        let (pid, tid) = self.lanes.of_row[row];
        let view = self.tree.view(row).ok();
        let events = view.map(|view| view.events).into_iter().flatten().map_while(Result::ok);
        events.map(move |event| {
            let time = i64::try_from(event.time_unix_nano).unwrap_or(i64::MAX);
            Event {
                ph: "i",
                name: cut(event.name, TEXT_MAX_BYTES),
                cat: Some("event"),
                pid,
                tid,
                ts: Some(micros(time.saturating_sub(self.tree.start_nanos))),
                dur: None,
                s: Some("t"),
                args: serde_json::Map::new(),
            }
        })
    }
}

fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1_000.0
}

/// The process and lane of each row.
struct Lanes<'t> {
    services: Vec<&'t [u8]>,
    of_row: Vec<(u32, u32)>,
}

/// Lanes of one process. On each lie spans that are open, the innermost last.
#[derive(Default)]
struct Process {
    open: Vec<Vec<i64>>,
    /// Lanes by when all on them has ended.
    free: BinaryHeap<Reverse<(i64, usize)>>,
}

impl<'t> Lanes<'t> {
    fn of(tree: &'t TraceTree) -> Self {
        let mut known: HashMap<&[u8], usize> = HashMap::new();
        let mut services = Vec::new();
        let mut processes: Vec<Process> = Vec::new();
        let mut of_row = vec![(0, 0); tree.len()];
        let mut by_start: Vec<usize> = (0..tree.len()).collect();
        by_start.sort_by_key(|row| {
            let place = &tree.spans[*row].place;
            (place.start_nanos, Reverse(place.end_nanos), *row)
        });
        for row in by_start {
            let service = tree.service(row);
            let process = *known.entry(service).or_insert_with(|| {
                services.push(service);
                processes.push(Process::default());
                services.len() - 1
            });
            let above = tree.laid[row].parent.map(|parent| of_row[parent as usize]);
            let above = above.filter(|(pid, _)| *pid == process as u32 + 1);
            let place = &tree.spans[row].place;
            let lane = processes[process].lane(
                above.map(|(_, tid)| tid as usize - 1),
                place.start_nanos,
                place.end_nanos,
            );
            of_row[row] = (process as u32 + 1, lane as u32 + 1);
        }
        Self { services, of_row }
    }
}

impl Process {
    /// The lane for a span, which begins no earlier than those before.
    fn lane(&mut self, above: Option<usize>, start: i64, end: i64) -> usize {
        if let Some(lane) = above.filter(|lane| self.fits(*lane, start, end)) {
            self.open[lane].push(end);
            return lane;
        }
        let mut lane = None;
        while let Some(Reverse((until, free))) = self.free.peek().copied() {
            if until > start {
                break;
            }
            self.free.pop();
            // A child may have been put on it since, which lies within what was there.
            self.open[free].retain(|until| *until > start);
            if self.open[free].is_empty() {
                lane = Some(free);
                break;
            }
        }
        let lane = lane.unwrap_or_else(|| {
            self.open.push(Vec::new());
            self.open.len() - 1
        });
        self.open[lane].push(end);
        self.free.push(Reverse((end, lane)));
        lane
    }

    /// Whether a span lies within the innermost on a lane, once those that ended are off it.
    fn fits(&mut self, lane: usize, start: i64, end: i64) -> bool {
        let open = &mut self.open[lane];
        while open.last().is_some_and(|until| *until <= start) {
            open.pop();
        }
        // A lane that is empty may have been given to another who looked for a free one.
        open.last().is_some_and(|until| end <= *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Sent, sent, tree};
    use crate::random::Random;
    use serde_json::Value;

    fn written(spans: &[Sent]) -> Vec<Value> {
        let bytes = perfetto(&tree(spans)).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        document["traceEvents"].as_array().unwrap().clone()
    }

    #[test]
    fn services_are_processes_and_children_lie_on_the_lane_of_their_parent() {
        let events = written(&[
            sent(1, 0, "shop", "GET", 1_000, 2_500),
            sent(2, 1, "shop", "auth", 1_100, 1_200),
            sent(3, 1, "shop", "beside", 1_150, 1_300),
            sent(4, 1, "db", "q", 1_400, 1_401),
        ]);
        assert_eq!(events[0]["args"]["name"], "shop");
        let spans: Vec<_> = events[2..]
            .iter()
            .map(|event| {
                let number = |name: &str| event[name].as_f64().unwrap();
                (
                    event["name"].as_str().unwrap(),
                    number("pid"),
                    number("tid"),
                    number("ts"),
                    number("dur"),
                )
            })
            .collect();
        let expected = [
            ("GET", 1.0, 1.0, 0.0, 1.5),
            ("auth", 1.0, 1.0, 0.1, 0.1),
            ("beside", 1.0, 2.0, 0.15, 0.15),
            ("q", 2.0, 1.0, 0.4, 0.001),
        ];
        assert_eq!(spans, expected);
    }

    #[test]
    fn spans_of_one_lane_follow_or_lie_within_each_other() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let count = 1 + random.below(60);
            let spans: Vec<Sent> = (1..=count)
                .map(|id| {
                    let from = 1_000 + random.below(200);
                    sent(id, random.below(id), "s", "n", from, from + random.below(80))
                })
                .collect();
            let tree = tree(&spans);
            let lanes = Lanes::of(&tree);
            for (row, lane) in lanes.of_row.iter().enumerate() {
                for (other, _) in
                    lanes.of_row.iter().enumerate().filter(|(_, other)| *other == lane)
                {
                    let (a, b) = (&tree.spans[row].place, &tree.spans[other].place);
                    let is_behind = a.end_nanos <= b.start_nanos || b.end_nanos <= a.start_nanos;
                    let within = |a: &crate::forest::Place, b: &crate::forest::Place| {
                        a.start_nanos >= b.start_nanos && a.end_nanos <= b.end_nanos
                    };
                    assert!(is_behind || within(a, b) || within(b, a), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn fifty_thousand_at_once_are_done_in_no_time() {
        let begun = std::time::Instant::now();
        let spans: Vec<Sent> =
            (1..=50_000).map(|id| sent(id, u64::from(id > 1), "s", "n", id, 90_000 + id)).collect();
        assert_eq!(written(&spans).len(), 50_001);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
