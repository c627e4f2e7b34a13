//! Rows of a scan as the evaluation looks at them: each is a trace of one span, of which only what
//! lies in its own row is known.

use kymo_traceql::eval::{List, Trace};
use kymo_traceql::value::Value;

use super::layout::{From, Layout};
use super::table::Table;

/// Rows of a batch.
pub(super) struct Rows<'r> {
    pub(super) layout: &'r Layout,
    pub(super) table: &'r Table,
}

impl Rows<'_> {
    /// The value of a slot.
    pub(super) fn get(&self, row: usize, slot: usize) -> Value<'_> {
        match self.layout.slots.get(slot) {
            Some(From::Span(places)) => self.table.first(row, places, 0),
            Some(From::SpanOr(places, other)) => match self.table.first(row, places, 0) {
                Value::Nil => Value::Text(other),
                value => value,
            },
            _ => Value::Nil,
        }
    }
}

impl Trace for Rows<'_> {
    fn spans(&self) -> usize {
        self.table.rows()
    }

    fn value(&self, span: usize, slot: usize) -> Value<'_> {
        self.get(span, slot)
    }

    fn elements(&self, _: usize, _: List) -> usize {
        0
    }

    fn element_value(&self, _: usize, _: usize, _: usize) -> Value<'_> {
        Value::Nil
    }

    fn parent(&self, _: usize) -> Option<usize> {
        None
    }

    fn is_root(&self, _: usize) -> bool {
        false
    }
}
