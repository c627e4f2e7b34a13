//! Evaluation.
//!
//! A query is compiled once and run over many traces. Compiling turns the names of values into
//! numbers of [`Slots`]; whoever has the spans looks the names up once, and answers by number
//! ([`Trace`]). For a span that does not match nothing is allocated.
//!
//! What values mean:
//! - A value that is missing makes every comparison false, `!=` and `!~` too; `!(…)` of that is
//!   true. `x = nil` holds where it is missing.
//! - Integers, floats and durations (nanoseconds) compare as numbers, exactly. Values of different
//!   types do not compare: it is as if one were missing. Text compares by bytes.
//! - Of an array, `=`, `<`, `=~` and the like hold if they hold for one member; `!=` and `!~` if
//!   they hold for all that have a type to compare, and there is one.
//! - Integers give integers: `/` truncates, `^` binds to the right. What overflows becomes a
//!   float, and so does `^` with a negative exponent. Division by the integer zero has no value.
//!   Arithmetic with durations and floats is that of floats.
//! - All conditions of a filter on events have to hold on one event, and all on links on one link.
//!   Without an event no comparison with one holds, and none with nil either.
//!
//! | module | what it is for |
//! |---|---|
//! | [`Expression`] | expressions over one span |
//! | `compile`, [`constant`](constant()) | … from trees, and those that are the same everywhere |
//! | `reads` | what of a span they need |
//! | `conditions` | filters on spans with several events and links |
//! | [`SpanValue`] | the one value of a span, also if it has several events |
//! | `compare`, `arithmetic` | operators on values |
//! | [`Structure`] | how the spans of a trace are nested, in numbers |
//! | `family` | children, ancestors, siblings |
//! | [`Evaluator`] | pipelines over a trace |
//! | `steps`, `sets`, `scalar`, `groups` | … and their stages |

mod arithmetic;
mod compare;
mod compile;
mod conditions;
mod constant;
mod evaluator;
mod expression;
mod family;
mod groups;
mod reads;
mod scalar;
mod sets;
mod slots;
mod span_value;
mod steps;
mod structure;

pub use constant::constant;
pub use evaluator::{Evaluator, Spanset};
pub use expression::Expression;
pub use slots::Slots;
pub use span_value::{SpanValue, element_comparisons};
pub use structure::Structure;

use crate::value::Value;

/// The spans of one trace, as evaluation sees them. Spans have numbers from 0.
pub trait Trace {
    /// How many there are.
    fn spans(&self) -> usize;

    /// A value of a span, by the number of its name in [`Slots`]: [`Value::Nil`] if it has none.
    /// It is not asked for values of events and links.
    ///
    /// Ids are lower-case hexadecimal text; ids of traces are without leading zeros.
    fn value(&self, span: usize, slot: usize) -> Value<'_>;

    /// How many events or links a span has.
    fn elements(&self, span: usize, list: List) -> usize;

    /// A value of an event or a link of a span.
    fn element_value(&self, span: usize, slot: usize, nth: usize) -> Value<'_>;

    /// The parent of a span, if it is in this trace.
    fn parent(&self, span: usize) -> Option<usize>;

    /// Whether a span was sent without the id of a parent. A span whose parent is missing is no
    /// root.
    fn is_root(&self, span: usize) -> bool;
}

/// What a span has several of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum List {
    Events,
    Links,
}

#[cfg(test)]
mod tests;
