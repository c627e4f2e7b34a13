//! Conditions that are answered by which values there are, without a look at what they are.
//!
//! Most records do not have the attributes that most conditions ask for: a rule about routes of HTTP
//! meets spans of databases. A comparison with what is missing is false, so that a few bits tell.

use kymo_traceql::ast::{Attribute, BinaryOp, Expr, Intrinsic, Literal, Name};
use kymo_traceql::{Expression, Slots};

/// What is known of a condition before values are looked at. Values are bits, by slot; those beyond
/// the 64th have none and shorten nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortcut {
    /// Values without which it does not hold.
    needs: u64,
    /// All values that it reads, if each has a bit.
    reads: Option<u64>,
    /// Whether it holds if none of them is there.
    holds_without: bool,
}

impl Shortcut {
    pub(crate) fn new(expr: &Expr, expression: &Expression, slots: &mut Slots) -> Self {
        let attributes = expr.attributes();
        let bits = attributes.into_iter().map(|attribute| bit(attribute, slots));
        let reads = bits.collect::<Option<Vec<u64>>>();
        Self {
            needs: needs(expr, slots),
            reads: reads.map(|bits| bits.into_iter().fold(0, |all, bit| all | bit)),
            holds_without: expression.matches_nothing(),
        }
    }

    /// The answer, if it follows from which values there are.
    #[inline]
    pub(crate) fn answer(&self, filled: u64) -> Option<bool> {
        if self.needs & !filled != 0 {
            return Some(false);
        }
        (self.reads? & filled == 0).then_some(self.holds_without)
    }
}

/// The bit of a value that is read by its slot alone.
fn bit(attribute: &Attribute, slots: &mut Slots) -> Option<u64> {
    let is_slot = match attribute.name {
        // Whether a span is a root is no value.
        Name::Intrinsic(Intrinsic::NestedSetParent) => false,
        _ => !attribute.of_parent && attribute.name.list().is_none(),
    };
    let slot = is_slot.then(|| slots.slot_of(&attribute.name))?;
    1u64.checked_shl(u32::try_from(slot).ok()?)
}

/// Values without which an expression is not true. Never too many.
fn needs(expr: &Expr, slots: &mut Slots) -> u64 {
    match expr {
        Expr::Attribute(attribute) => bit(attribute, slots).unwrap_or(0),
        Expr::Literal(_) | Expr::Not(_) | Expr::Negate(_) => 0,
        Expr::Binary { op, left, right } => match op {
            BinaryOp::And => needs(left, slots) | needs(right, slots),
            BinaryOp::Or => needs(left, slots) & needs(right, slots),
            BinaryOp::Equal if is_nil(left) || is_nil(right) => 0,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Match
            | BinaryOp::NotMatch => compared(left, slots) | compared(right, slots),
            _ => 0,
        },
    }
}

/// The value on one side of a comparison.
fn compared(expr: &Expr, slots: &mut Slots) -> u64 {
    match expr {
        Expr::Attribute(attribute) => bit(attribute, slots).unwrap_or(0),
        _ => 0,
    }
}

fn is_nil(expr: &Expr) -> bool {
    *expr == Expr::Literal(Literal::Nil)
}

#[cfg(test)]
mod tests {
    use crate::Conditions;

    /// Answers for records that have nothing, and that have all.
    fn answers(text: &str) -> [Option<bool>; 2] {
        let mut conditions = Conditions::new();
        let nth = conditions.add(text).unwrap();
        let shortcut = conditions.shortcut(nth).unwrap();
        [shortcut.answer(0), shortcut.answer(u64::MAX)]
    }

    #[test]
    fn what_is_missing_decides_where_it_can() {
        for text in [
            "span.a = 1",
            "span.a != 1 && .b = nil",
            "span.a =~ \"x\" || span.b > 2",
            "span.a != nil",
            "span.a && name = \"x\"",
            "span.a + 1 > 2",
        ] {
            assert_eq!(answers(text), [Some(false), None], "{text}");
        }
        for text in ["span.a = nil", "!(span.a = 1)", "span.a = nil || span.b = 1"] {
            assert_eq!(answers(text), [Some(true), None], "{text}");
        }
        assert_eq!(answers("true"), [Some(true), Some(true)]);
        for text in ["nestedSetParent < 0", "event.a = nil", "!(event:name = \"x\")"] {
            assert_eq!(answers(text), [None, None], "{text}");
        }
    }

    #[test]
    fn values_beyond_the_bits_shorten_nothing_wrongly() {
        let many: Vec<String> = (0..70).map(|n| format!("span.a{n} = nil")).collect();
        assert_eq!(answers(&many.join(" && ")), [None, None]);
    }
}
