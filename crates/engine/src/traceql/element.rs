//! Which event or link of a span is shown, where only one can be: the one that meets most of what
//! the query asks of such, and of those the last.
//!
//! ```text
//! { event:name = "retry" && event.attempt > 1 } | select(event.attempt)
//!   exception attempt 1 ── meets none
//!   retry     attempt 2 ── meets both, is shown
//! ```

use kymo_traceql::ast::Pipeline;
use kymo_traceql::eval::{Expression, List, Slots, Trace, element_comparisons};
use kymo_traceql::value::Value;

use super::evaluate::invalid;
use crate::error::EngineError;

/// What a query asks of events and links, each comparison by itself.
pub(super) struct Wanted(Vec<(List, Expression)>);

impl Wanted {
    pub(super) fn of(pipeline: &Pipeline, slots: &mut Slots) -> Result<Self, EngineError> {
        let mut wanted = Vec::new();
        for (list, comparison) in element_comparisons(pipeline) {
            wanted.push((list, Expression::new(comparison, slots).map_err(invalid)?));
        }
        Ok(Self(wanted))
    }

    /// The value of the event or link of a span that is shown. One that has no value is passed
    /// over, unless it may be the one that was looked for.
    pub(super) fn value<'t>(
        &self,
        trace: &'t impl Trace,
        span: usize,
        list: List,
        slot: usize,
        even_nil: bool,
    ) -> Value<'t> {
        let elements = 0..trace.elements(span, list);
        let may_be_shown =
            elements.filter(|nth| even_nil || trace.element_value(span, slot, *nth) != Value::Nil);
        match may_be_shown.max_by_key(|nth| self.met(trace, span, list, *nth)) {
            Some(nth) => trace.element_value(span, slot, nth),
            None => Value::Nil,
        }
    }

    /// How many comparisons an event or link meets.
    fn met(&self, trace: &impl Trace, span: usize, list: List, nth: usize) -> usize {
        let of_list = self.0.iter().filter(|(of, _)| *of == list);
        of_list.filter(|(_, of)| of.matches_element(trace, span, list, nth)).count()
    }
}
