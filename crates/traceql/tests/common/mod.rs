//! A trace in memory, by the names of its values.

// Not every test needs all of it.
#![allow(dead_code)]

use std::collections::HashMap;

use kymo_traceql::ast::{Body, Intrinsic, Name, Scope};
use kymo_traceql::eval::{Evaluator, Spanset};
use kymo_traceql::{List, OwnedValue, QueryError, Slots, Trace, Value, parse};

/// Values by name. Intrinsics are in their plain spelling.
pub(crate) type Values = HashMap<Name, OwnedValue>;

/// A trace.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) spans: Vec<Span>,
}

#[derive(Default)]
pub(crate) struct Span {
    pub(crate) label: String,
    pub(crate) values: Values,
    pub(crate) events: Vec<Values>,
    pub(crate) links: Vec<Values>,
    pub(crate) parent: Option<usize>,
    pub(crate) is_root: bool,
}

/// Spansets of one trace: its number, and what was found.
pub(crate) type Found = (usize, Vec<Spanset>);

/// The traces that a search finds.
pub(crate) fn search(query: &str, traces: &[Model]) -> Result<Vec<Found>, QueryError> {
    let pipeline = match parse(query)?.body {
        Body::Spans(pipeline) => pipeline,
        // As Tempo does when a search is asked for it.
        Body::Metrics(kymo_traceql::ast::Metrics::Query { pipeline, .. }) => pipeline,
        Body::Metrics(_) => panic!("{query} is no search"),
    };
    let mut slots = Slots::new();
    let mut evaluator = Evaluator::new(&pipeline, &mut slots)?;
    let found = traces.iter().map(|model| evaluator.evaluate(&Bound { model, slots: &slots }));
    Ok(found.enumerate().filter(|(_, spansets)| !spansets.is_empty()).collect())
}

/// A trace that knows the slots of a query.
struct Bound<'a> {
    model: &'a Model,
    slots: &'a Slots,
}

impl Trace for Bound<'_> {
    fn spans(&self) -> usize {
        self.model.spans.len()
    }

    fn value(&self, span: usize, slot: usize) -> Value<'_> {
        let span = &self.model.spans[span];
        let name = &self.slots.names()[slot];
        assert_eq!(name.list(), None, "values of elements are asked for elsewhere");
        if let Name::Keyed { scope: Scope::Any, key } = name {
            return unscoped(span, key);
        }
        get(&span.values, name)
    }

    fn elements(&self, span: usize, list: List) -> usize {
        let span = &self.model.spans[span];
        match list {
            List::Events => span.events.len(),
            List::Links => span.links.len(),
        }
    }

    fn element_value(&self, span: usize, slot: usize, nth: usize) -> Value<'_> {
        let span = &self.model.spans[span];
        let name = &self.slots.names()[slot];
        match name.list() {
            Some(List::Events) => get(&span.events[nth], name),
            Some(List::Links) => get(&span.links[nth], name),
            None => panic!("{name} is no value of an element"),
        }
    }

    fn parent(&self, span: usize) -> Option<usize> {
        self.model.spans[span].parent
    }

    fn is_root(&self, span: usize) -> bool {
        self.model.spans[span].is_root
    }
}

fn get<'a>(values: &'a Values, name: &Name) -> Value<'a> {
    values.get(name).map_or(Value::Nil, OwnedValue::as_value)
}

fn unscoped<'a>(span: &'a Span, key: &str) -> Value<'a> {
    let keyed = |scope| Name::Keyed { scope, key: key.to_owned() };
    let own = [Scope::Span, Scope::Resource, Scope::Instrumentation];
    let of_span = own.into_iter().map(|scope| get(&span.values, &keyed(scope)));
    let of_events = span.events.iter().map(|event| get(event, &keyed(Scope::Event)));
    let of_links = span.links.iter().map(|link| get(link, &keyed(Scope::Link)));
    let mut all = of_span.chain(of_events).chain(of_links);
    all.find(|value| *value != Value::Nil).unwrap_or(Value::Nil)
}

/// An intrinsic as a name.
pub(crate) fn intrinsic(intrinsic: Intrinsic) -> Name {
    Name::Intrinsic(intrinsic)
}
