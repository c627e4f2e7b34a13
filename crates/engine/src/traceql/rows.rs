//! Rows of a scan as the evaluation looks at them: each is a trace of one span, of which only what
//! lies in its own row is known.

use kymo_traceql::eval::{List, Trace};
use kymo_traceql::value::Value;

use super::layout::Layout;
use super::table::Table;

/// Rows of a batch.
pub(super) struct Rows<'r> {
    pub(super) layout: &'r Layout,
    pub(super) table: &'r Table,
}

impl Trace for Rows<'_> {
    fn spans(&self) -> usize {
        self.table.rows()
    }

    fn value(&self, span: usize, slot: usize) -> Value<'_> {
        self.layout.slots.get(slot).map_or(Value::Nil, |from| self.table.get(span, from))
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
