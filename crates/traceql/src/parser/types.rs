//! Which expressions have a meaning.
//!
//! An attribute may have any type, and what it has at last is seen when it is read. Constants and
//! intrinsics have one, and it has to fit: integers, floats and durations are numbers and mix
//! freely; everything else only meets its own kind.

use super::shortened;
use crate::ast::{Attribute, BinaryOp, Expr, Intrinsic, Literal, Name, Scope};

/// An expression with what is known of it.
#[derive(Debug)]
pub(super) struct Typed {
    pub(super) expr: Expr,
    pub(super) of: Type,
    /// Whether its value depends on the span.
    pub(super) reads_span: bool,
    pub(super) height: usize,
    /// Where it begins.
    pub(super) start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// It is known only when it is read.
    Any,
    Nil,
    Bool,
    Int,
    Float,
    Duration,
    Text,
    Status,
    Kind,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Any => "an attribute",
            Type::Nil => "nil",
            Type::Bool => "a boolean",
            Type::Int => "an integer",
            Type::Float => "a float",
            Type::Duration => "a duration",
            Type::Text => "text",
            Type::Status => "a status",
            Type::Kind => "a kind",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Type::Int | Type::Float | Type::Duration)
    }

    fn may_be_number(self) -> bool {
        self == Type::Any || self.is_number()
    }

    fn may_be_bool(self) -> bool {
        matches!(self, Type::Any | Type::Bool)
    }

    fn has_order(self) -> bool {
        self.may_be_number() || self == Type::Text
    }

    fn meets(self, other: Type) -> bool {
        let mix = self.is_number() && other.is_number();
        self == other || self == Type::Any || other == Type::Any || mix
    }
}

impl Typed {
    pub(super) fn literal(literal: Literal, start: usize) -> Typed {
        let of = match &literal {
            Literal::Nil => Type::Nil,
            Literal::Bool(_) => Type::Bool,
            Literal::Int(_) => Type::Int,
            Literal::Float(_) => Type::Float,
            Literal::Duration(_) => Type::Duration,
            Literal::Text(_) => Type::Text,
            Literal::Status(_) => Type::Status,
            Literal::Kind(_) => Type::Kind,
        };
        Typed { expr: Expr::Literal(literal), of, reads_span: false, height: 1, start }
    }

    pub(super) fn attribute(attribute: Attribute, start: usize) -> Typed {
        let of = match &attribute.name {
            Name::Intrinsic(intrinsic) => type_of(*intrinsic),
            Name::Keyed { .. } => Type::Any,
        };
        Typed { expr: Expr::Attribute(attribute), of, reads_span: true, height: 1, start }
    }
}

fn type_of(intrinsic: Intrinsic) -> Type {
    match intrinsic {
        Intrinsic::Duration | Intrinsic::TraceDuration | Intrinsic::EventTimeSinceStart => {
            Type::Duration
        }
        Intrinsic::Status => Type::Status,
        Intrinsic::Kind => Type::Kind,
        Intrinsic::NestedSetLeft
        | Intrinsic::NestedSetRight
        | Intrinsic::NestedSetParent
        | Intrinsic::SpanChildCount => Type::Int,
        Intrinsic::Parent => Type::Nil,
        _ => Type::Text,
    }
}

/// Some attributes can be written, but are nothing.
pub(super) fn check_attribute(attribute: &Attribute) -> Result<(), String> {
    let is_element = matches!(
        &attribute.name,
        Name::Keyed { scope: Scope::Event | Scope::Link, .. }
            | Name::Intrinsic(
                Intrinsic::EventName
                    | Intrinsic::EventTimeSinceStart
                    | Intrinsic::LinkTraceId
                    | Intrinsic::LinkSpanId
            )
    );
    if attribute.name == Name::Intrinsic(Intrinsic::Parent) {
        return Err("parent alone is no value: name one, as in parent.duration".to_owned());
    }
    if attribute.of_parent && is_element {
        return Err(format!("{attribute}: events and links of the parent are out of reach"));
    }
    Ok(())
}

/// A filter has to be true or false.
pub(super) fn check_condition(condition: &Typed) -> Result<(), String> {
    if condition.of.may_be_bool() {
        return Ok(());
    }
    Err(format!("{} is {}, but a filter is true or false", shown(condition), condition.of.name()))
}

/// What spans are grouped by has to depend on them.
pub(super) fn check_group(group: &Typed) -> Result<(), String> {
    if group.reads_span {
        return Ok(());
    }
    Err(format!("by({}) does not depend on the span", shown(group)))
}

/// What is summed up has to be a number of each span.
pub(super) fn check_aggregate(function: &str, of: &Typed) -> Result<(), String> {
    if !of.reads_span {
        return Err(format!("{function}({}) does not depend on the span", shown(of)));
    }
    if of.of.may_be_number() {
        return Ok(());
    }
    Err(format!("{function}() needs a number, but {} is {}", shown(of), of.of.name()))
}

/// Operands of `&&` and `||` are true or false.
pub(super) fn check_logical(op: BinaryOp, side: &Typed) -> Result<(), String> {
    if side.of.may_be_bool() {
        return Ok(());
    }
    let sign = op.sign();
    Err(format!("{sign} needs true or false, but {} is {}", shown(side), side.of.name()))
}

/// Two operands of `&&` or `||`, after they were checked.
pub(super) fn joined(op: BinaryOp, left: Typed, right: Typed, height: usize) -> Typed {
    binary(op, left, right, Type::Bool, height)
}

pub(super) fn not(operand: Typed, start: usize, height: usize) -> Result<Typed, String> {
    if !operand.of.may_be_bool() {
        let name = operand.of.name();
        return Err(format!("! needs true or false, but {} is {name}", shown(&operand)));
    }
    Ok(Typed {
        expr: Expr::Not(Box::new(operand.expr)),
        of: Type::Bool,
        reads_span: operand.reads_span,
        height,
        start,
    })
}

pub(super) fn negate(operand: Typed, start: usize, height: usize) -> Result<Typed, String> {
    if !operand.of.may_be_number() {
        let name = operand.of.name();
        return Err(format!("- needs a number, but {} is {name}", shown(&operand)));
    }
    Ok(Typed { expr: Expr::Negate(Box::new(operand.expr)), start, height, ..operand })
}

/// Two operands of anything but `&&` and `||`.
pub(super) fn combined(
    op: BinaryOp,
    left: Typed,
    right: Typed,
    height: usize,
) -> Result<Typed, String> {
    let of = match op {
        BinaryOp::Match | BinaryOp::NotMatch => matched(op, &left, &right)?,
        _ if op.compares() => compared(op, &left, &right)?,
        _ => computed(op, &left, &right)?,
    };
    Ok(binary(op, left, right, of, height))
}

/// Whether a filter need not look: every resource has a service name in Tempo, even if it was sent
/// without.
pub(super) fn is_always_true(op: BinaryOp, left: &Typed, right: &Typed) -> bool {
    op == BinaryOp::NotEqual
        && (is_service_name(left) && right.of == Type::Nil
            || left.of == Type::Nil && is_service_name(right))
}

fn matched(op: BinaryOp, left: &Typed, right: &Typed) -> Result<Type, String> {
    let sign = op.sign();
    if !matches!(left.of, Type::Any | Type::Text) {
        return Err(format!("{sign} needs text, but {} is {}", shown(left), left.of.name()));
    }
    if !matches!(right.expr, Expr::Literal(Literal::Text(_))) {
        let shown = shown(right);
        return Err(format!("{sign} needs a regular expression in quotes, but found {shown}"));
    }
    Ok(Type::Bool)
}

fn compared(op: BinaryOp, left: &Typed, right: &Typed) -> Result<Type, String> {
    let sign = op.sign();
    for (side, other) in [(left, right), (right, left)] {
        if side.of == Type::Nil {
            check_nil(op, other)?;
            return Ok(Type::Bool);
        }
    }
    if !left.of.meets(right.of) {
        return Err(format!(
            "{} {sign} {} compares {} with {}",
            shown(left),
            shown(right),
            left.of.name(),
            right.of.name()
        ));
    }
    let is_equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    for side in [left, right] {
        if !is_equality && !side.of.has_order() {
            let name = side.of.name();
            return Err(format!("{sign} needs an order, but {} is {name}", shown(side)));
        }
    }
    Ok(Type::Bool)
}

/// `other op nil`.
fn check_nil(op: BinaryOp, other: &Typed) -> Result<(), String> {
    let shown = shown(other);
    let is_intrinsic = matches!(
        other.expr,
        Expr::Attribute(Attribute { of_parent: false, name: Name::Intrinsic(_) })
    );
    match op {
        BinaryOp::Equal if is_intrinsic || is_service_name(other) => {
            Err(format!("{shown} is never nil"))
        }
        BinaryOp::Equal | BinaryOp::NotEqual => {
            let may_be_nil = matches!(other.of, Type::Any | Type::Nil)
                || matches!(other.expr, Expr::Attribute(_));
            if may_be_nil {
                return Ok(());
            }
            Err(format!("{shown} is {}, and never nil", other.of.name()))
        }
        _ => Err(format!("nil has no order: only = and != compare {shown} with it")),
    }
}

fn computed(op: BinaryOp, left: &Typed, right: &Typed) -> Result<Type, String> {
    for side in [left, right] {
        if !side.of.may_be_number() {
            let (sign, name) = (op.sign(), side.of.name());
            return Err(format!("{sign} needs numbers, but {} is {name}", shown(side)));
        }
    }
    Ok(match (left.of, right.of) {
        (Type::Any, _) | (_, Type::Any) => Type::Any,
        (Type::Int, Type::Int) => Type::Int,
        _ => Type::Float,
    })
}

fn binary(op: BinaryOp, left: Typed, right: Typed, of: Type, height: usize) -> Typed {
    Typed {
        reads_span: left.reads_span || right.reads_span,
        start: left.start,
        of,
        height,
        expr: Expr::Binary { op, left: Box::new(left.expr), right: Box::new(right.expr) },
    }
}

fn is_service_name(side: &Typed) -> bool {
    let Expr::Attribute(Attribute { of_parent: false, name }) = &side.expr else { return false };
    matches!(name, Name::Keyed { scope: Scope::Resource, key } if key == "service.name")
}

fn shown(side: &Typed) -> String {
    shortened(&side.expr.to_string())
}
