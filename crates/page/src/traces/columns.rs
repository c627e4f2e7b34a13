//! Values of spans under their full names: what is asked for, as it was asked for, whichever fields of
//! spans and traces it is in; then what else the query names.

use std::sync::Arc;

use kymo_engine::traceql::{FoundSpan, FoundTrace};
use kymo_traceql::OwnedValue;
use kymo_traceql::ast::{Attribute, Intrinsic, Name};
use kymo_traceview::hex;

use super::value::Typed;

/// An attribute that is asked for.
#[derive(Debug)]
struct Column {
    /// As it was written: `span:kind` and `kind` are the same, and each is answered as itself.
    asked: String,
    attribute: Attribute,
    /// What the engine calls it.
    name: String,
}

/// The attributes that are asked for, for all spans of an answer.
#[derive(Debug, Clone)]
pub(super) struct Columns(Arc<[Column]>);

impl Columns {
    pub(super) fn of(asked: Vec<(&str, Attribute)>) -> Self {
        let column = |(asked, attribute): (&str, Attribute)| Column {
            asked: asked.to_owned(),
            name: attribute.to_string(),
            attribute,
        };
        Self(asked.into_iter().map(column).collect())
    }

    /// The values of a span of a trace. What it has not is left out.
    pub(super) fn values(&self, trace: &FoundTrace, span: &FoundSpan) -> Vec<Typed> {
        let mut values = Vec::with_capacity(self.0.len());
        for column in self.0.iter() {
            if let Some(value) = column.value(trace, span) {
                values.push(Typed::of(column.asked.clone(), &value));
            }
        }
        for (name, (_, value)) in span.names.iter().zip(&span.attributes) {
            if !self.0.iter().any(|column| *column.name == **name) {
                values.push(Typed::of(name.to_string(), value));
            }
        }
        values
    }
}

impl Column {
    fn value(&self, trace: &FoundTrace, span: &FoundSpan) -> Option<OwnedValue> {
        let text = |text: &Option<String>| text.clone().map(OwnedValue::Text);
        let Attribute { of_parent: false, name } = &self.attribute else { return None };
        match name {
            Name::Intrinsic(Intrinsic::Name) => text(&span.name),
            Name::Intrinsic(Intrinsic::Duration) => Some(OwnedValue::Duration(span.duration_nanos)),
            Name::Intrinsic(Intrinsic::SpanId) => Some(OwnedValue::Text(hex(&span.span_id))),
            Name::Intrinsic(Intrinsic::TraceId) => Some(OwnedValue::Text(hex(&trace.trace_id))),
            Name::Intrinsic(Intrinsic::TraceDuration) => {
                Some(OwnedValue::Duration(trace.duration_nanos))
            }
            Name::Intrinsic(Intrinsic::RootName) => text(&trace.root_name),
            Name::Intrinsic(Intrinsic::RootServiceName) => text(&trace.root_service),
            _ => {
                let mut told = span.names.iter().zip(&span.attributes);
                let found = told.find(|(name, _)| ***name == *self.name);
                let value = found.map(|(_, (_, value))| value.clone());
                match (name, value) {
                    // Queries compare ids of traces without the zeros before them.
                    (Name::Intrinsic(Intrinsic::LinkTraceId), Some(OwnedValue::Text(id))) => {
                        Some(OwnedValue::Text(format!("{id:0>32}")))
                    }
                    (_, value) => value,
                }
            }
        }
    }
}
