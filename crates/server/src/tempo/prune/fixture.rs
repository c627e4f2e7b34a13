//! Small traces for tests, and what is left of them.

use std::collections::BTreeMap;

use kymo_wire::encode::{SpanFields, Writer};
use kymo_wire::{AnyValueView, SpanView, TracesView, View, array_values, text};

use super::{Pruned, Pruning};
use crate::parameters::Parameters;

pub(super) const MILLIS: u64 = 1_000_000;

/// A span as a test needs it.
#[derive(Clone, Default)]
pub(super) struct Sent {
    pub(super) id: u64,
    pub(super) parent: u64,
    pub(super) name: String,
    pub(super) kind: i32,
    pub(super) status: i32,
    pub(super) trace_state: &'static str,
    pub(super) start_millis: u64,
    pub(super) took_millis: u64,
    pub(super) attributes: Vec<(&'static str, String)>,
}

pub(super) fn sent(id: u64, parent: u64, name: &str) -> Sent {
    let name = name.to_owned();
    Sent { id, parent, name, start_millis: 1000 + id, took_millis: 10, ..Sent::default() }
}

impl Sent {
    pub(super) fn with(mut self, key: &'static str, value: &str) -> Self {
        self.attributes.push((key, value.to_owned()));
        self
    }
}

pub(super) fn write(out: &mut Writer, span: &Sent) {
    let parent = span.parent.to_be_bytes();
    let fields = SpanFields {
        trace_id: &[7; 16],
        span_id: &span.id.to_be_bytes(),
        parent_span_id: if span.parent == 0 { &[] } else { &parent },
        name: span.name.as_bytes(),
        kind: span.kind,
        trace_state: span.trace_state.as_bytes(),
        start_time_unix_nano: span.start_millis * MILLIS,
        end_time_unix_nano: (span.start_millis + span.took_millis) * MILLIS,
        ..SpanFields::default()
    };
    out.span(&fields, |out| {
        for (key, value) in &span.attributes {
            out.span_attribute(key.as_bytes(), &AnyValueView::String(value.as_bytes()));
        }
        out.event(&Default::default(), |_| ());
        out.status(span.status, b"");
    });
}

/// All spans in one scope.
pub(super) fn encoded(spans: &[Sent]) -> Vec<u8> {
    let mut out = Writer::new();
    out.resource_group(|out| {
        out.resource(|_| ());
        out.scope_group(|out| {
            out.scope(b"lib", b"", |_| ());
            spans.iter().for_each(|span| write(out, span));
        });
    });
    out.into_bytes()
}

pub(super) fn pruned(parameters: &str, trace: &[u8]) -> Pruned {
    let parameters = Parameters::parse(&format!("span_pruning=true&{parameters}")).unwrap();
    Pruning::of(&parameters).unwrap().unwrap().prune(trace).unwrap()
}

/// What is left of a trace, or all of it if nothing is pruned.
pub(super) fn left(parameters: &str, spans: &[Sent]) -> Vec<Seen> {
    let trace = encoded(spans);
    match pruned(parameters, &trace) {
        Pruned::Now(smaller) => seen(&smaller),
        Pruned::Nothing => seen(&trace),
        Pruned::Before => panic!("these have no summary"),
    }
}

/// A span of an answer.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) id: u64,
    pub(super) parent: u64,
    pub(super) name: String,
    pub(super) start_nanos: u64,
    pub(super) end_nanos: u64,
    pub(super) events: usize,
    pub(super) attributes: BTreeMap<String, String>,
}

impl Seen {
    /// How many spans it stands for, if it is a summary.
    pub(super) fn count(&self) -> Option<usize> {
        self.attributes.get("aggregation.span_count").map(|count| count.parse().unwrap())
    }
}

pub(super) fn shown(value: AnyValueView<'_>) -> String {
    match value {
        AnyValueView::String(bytes) => text(bytes).into_owned(),
        AnyValueView::Bool(flag) => flag.to_string(),
        AnyValueView::Int(number) => number.to_string(),
        AnyValueView::Double(number) => number.to_string(),
        AnyValueView::Array(raw) => {
            let values: Vec<String> =
                array_values(raw).map(|value| shown(value.unwrap())).collect();
            values.join(" ")
        }
        other => panic!("{other:?}"),
    }
}

pub(super) fn seen(trace: &[u8]) -> Vec<Seen> {
    let id = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_be_bytes);
    let read = |span: SpanView<'_>| Seen {
        id: id(span.span_id),
        parent: id(span.parent_span_id),
        name: text(span.name).into_owned(),
        start_nanos: span.start_time_unix_nano,
        end_nanos: span.end_time_unix_nano,
        events: span.events.count(),
        attributes: span
            .attributes
            .iter()
            .map(Result::unwrap)
            .map(|attribute| (text(attribute.key).into_owned(), shown(attribute.value)))
            .collect(),
    };
    let resources = TracesView::parse(trace).unwrap().resources.into_iter().map(Result::unwrap);
    let scopes = resources.flat_map(|resource| resource.scopes).map(Result::unwrap);
    scopes.flat_map(|scope| scope.items).map(|span| read(span.unwrap())).collect()
}

/// Names with counts of summaries, in order.
pub(super) fn outline(spans: &[Seen]) -> Vec<String> {
    let mut outline: Vec<String> = spans
        .iter()
        .map(|span| match span.count() {
            Some(count) => format!("{count}x {}", span.name),
            None => span.name.clone(),
        })
        .collect();
    outline.sort();
    outline
}

/// A root with this many leaves.
pub(super) fn fan(leaves: u64) -> Vec<Sent> {
    let mut spans = vec![sent(1, 0, "root")];
    spans.extend((0..leaves).map(|nth| sent(10 + nth, 1, "SELECT")));
    spans
}

/// A root with `handlers` of which each has a query below it.
pub(super) fn handlers(handlers: u64) -> Vec<Sent> {
    let mut spans = vec![sent(1, 0, "root")];
    for nth in 0..handlers {
        spans.push(sent(100 + nth, 1, "handler"));
        spans.push(sent(200 + nth, 100 + nth, "SELECT"));
    }
    spans
}
