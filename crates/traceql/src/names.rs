//! What things are called in a query.

use crate::ast::{Aggregate, BinaryOp, Intrinsic, Kind, Mode, Relation, Scope, Status};

impl Intrinsic {
    /// All of them, in the order in which they are declared.
    pub const ALL: [Intrinsic; 22] = [
        Intrinsic::Duration,
        Intrinsic::Name,
        Intrinsic::Status,
        Intrinsic::StatusMessage,
        Intrinsic::Kind,
        Intrinsic::Parent,
        Intrinsic::TraceDuration,
        Intrinsic::RootName,
        Intrinsic::RootServiceName,
        Intrinsic::NestedSetLeft,
        Intrinsic::NestedSetRight,
        Intrinsic::NestedSetParent,
        Intrinsic::SpanId,
        Intrinsic::SpanParentId,
        Intrinsic::SpanChildCount,
        Intrinsic::TraceId,
        Intrinsic::EventName,
        Intrinsic::EventTimeSinceStart,
        Intrinsic::LinkTraceId,
        Intrinsic::LinkSpanId,
        Intrinsic::InstrumentationName,
        Intrinsic::InstrumentationVersion,
    ];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Intrinsic::Duration => "duration",
            Intrinsic::Name => "name",
            Intrinsic::Status => "status",
            Intrinsic::StatusMessage => "statusMessage",
            Intrinsic::Kind => "kind",
            Intrinsic::Parent => "parent",
            Intrinsic::TraceDuration => "traceDuration",
            Intrinsic::RootName => "rootName",
            Intrinsic::RootServiceName => "rootServiceName",
            Intrinsic::NestedSetLeft => "nestedSetLeft",
            Intrinsic::NestedSetRight => "nestedSetRight",
            Intrinsic::NestedSetParent => "nestedSetParent",
            Intrinsic::SpanId => "span:id",
            Intrinsic::SpanParentId => "span:parentID",
            Intrinsic::SpanChildCount => "span:childCount",
            Intrinsic::TraceId => "trace:id",
            Intrinsic::EventName => "event:name",
            Intrinsic::EventTimeSinceStart => "event:timeSinceStart",
            Intrinsic::LinkTraceId => "link:traceID",
            Intrinsic::LinkSpanId => "link:spanID",
            Intrinsic::InstrumentationName => "instrumentation:name",
            Intrinsic::InstrumentationVersion => "instrumentation:version",
        }
    }

    /// The one that is written so, in either spelling.
    pub fn from_name(name: &str) -> Option<Intrinsic> {
        let other = Intrinsic::SCOPED.into_iter().find(|(scoped, _)| *scoped == name);
        let named = Intrinsic::ALL.into_iter().find(|intrinsic| intrinsic.name() == name);
        named.or(other.map(|(_, intrinsic)| intrinsic))
    }

    /// Scoped spellings of what is shown by an old one.
    pub(crate) const SCOPED: [(&str, Intrinsic); 8] = [
        ("span:duration", Intrinsic::Duration),
        ("span:name", Intrinsic::Name),
        ("span:status", Intrinsic::Status),
        ("span:statusMessage", Intrinsic::StatusMessage),
        ("span:kind", Intrinsic::Kind),
        ("trace:duration", Intrinsic::TraceDuration),
        ("trace:rootName", Intrinsic::RootName),
        ("trace:rootService", Intrinsic::RootServiceName),
    ];
}

impl Status {
    const ALL: [Status; 3] = [Status::Unset, Status::Ok, Status::Error];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Status::Unset => "unset",
            Status::Ok => "ok",
            Status::Error => "error",
        }
    }

    /// The one that is written so.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Unspecified,
        Kind::Internal,
        Kind::Server,
        Kind::Client,
        Kind::Producer,
        Kind::Consumer,
    ];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unspecified => "unspecified",
            Kind::Internal => "internal",
            Kind::Server => "server",
            Kind::Client => "client",
            Kind::Producer => "producer",
            Kind::Consumer => "consumer",
        }
    }

    /// The one that is written so.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Scope {
    const NAMED: [Scope; 5] =
        [Scope::Span, Scope::Resource, Scope::Instrumentation, Scope::Event, Scope::Link];

    /// What is written before the dot; nothing for [`Scope::Any`].
    pub fn name(self) -> &'static str {
        match self {
            Scope::Any => "",
            Scope::Span => "span",
            Scope::Resource => "resource",
            Scope::Instrumentation => "instrumentation",
            Scope::Event => "event",
            Scope::Link => "link",
        }
    }

    /// The one that is written so, before a dot.
    pub fn from_name(name: &str) -> Option<Scope> {
        Scope::NAMED.into_iter().find(|scope| scope.name() == name)
    }
}

impl Aggregate {
    const ALL: [Aggregate; 4] = [Aggregate::Min, Aggregate::Max, Aggregate::Sum, Aggregate::Avg];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Sum => "sum",
            Aggregate::Avg => "avg",
        }
    }

    /// The one that is written so.
    pub fn from_name(name: &str) -> Option<Aggregate> {
        Aggregate::ALL.into_iter().find(|aggregate| aggregate.name() == name)
    }
}

/// How tightly operators bind: more binds tighter. `&&` and `||` are on one level.
pub(crate) mod level {
    pub(crate) const ANY: u8 = 0;
    pub(crate) const LOGICAL: u8 = 2;
    pub(crate) const COMPARISON: u8 = 3;
    pub(crate) const SUM: u8 = 4;
    pub(crate) const NOT: u8 = 5;
    pub(crate) const PRODUCT: u8 = 6;
    pub(crate) const POWER: u8 = 7;
    pub(crate) const UNARY: u8 = 8;
}

impl BinaryOp {
    /// How it is written.
    pub fn sign(self) -> &'static str {
        match self {
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Equal => "=",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Match => "=~",
            BinaryOp::NotMatch => "!~",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::Power => "^",
        }
    }

    /// The operator that means the same when both sides are exchanged, for comparisons.
    pub fn mirrored(self) -> BinaryOp {
        match self {
            BinaryOp::Less => BinaryOp::Greater,
            BinaryOp::LessEqual => BinaryOp::GreaterEqual,
            BinaryOp::Greater => BinaryOp::Less,
            BinaryOp::GreaterEqual => BinaryOp::LessEqual,
            other => other,
        }
    }

    pub(crate) fn level(self) -> u8 {
        match self {
            BinaryOp::And | BinaryOp::Or => level::LOGICAL,
            BinaryOp::Add | BinaryOp::Subtract => level::SUM,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => level::PRODUCT,
            BinaryOp::Power => level::POWER,
            _ => level::COMPARISON,
        }
    }

    /// Whether it is one of `=`, `!=`, `<`, `<=`, `>`, `>=`.
    pub(crate) fn compares(self) -> bool {
        self.level() == level::COMPARISON && !matches!(self, BinaryOp::Match | BinaryOp::NotMatch)
    }
}

/// How a structural operator is written.
pub(crate) fn structural_sign(relation: Relation, mode: Mode) -> &'static str {
    match (mode, relation) {
        (Mode::Related, Relation::Child) => ">",
        (Mode::Related, Relation::Descendant) => ">>",
        (Mode::Related, Relation::Parent) => "<",
        (Mode::Related, Relation::Ancestor) => "<<",
        (Mode::Related, Relation::Sibling) => "~",
        (Mode::Unrelated, Relation::Child) => "!>",
        (Mode::Unrelated, Relation::Descendant) => "!>>",
        (Mode::Unrelated, Relation::Parent) => "!<",
        (Mode::Unrelated, Relation::Ancestor) => "!<<",
        (Mode::Unrelated, Relation::Sibling) => "!~",
        (Mode::Both, Relation::Child) => "&>",
        (Mode::Both, Relation::Descendant) => "&>>",
        (Mode::Both, Relation::Parent) => "&<",
        (Mode::Both, Relation::Ancestor) => "&<<",
        (Mode::Both, Relation::Sibling) => "&~",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_intrinsic_is_found_by_its_name() {
        for (position, intrinsic) in Intrinsic::ALL.into_iter().enumerate() {
            assert_eq!(intrinsic as usize, position);
            assert_eq!(Intrinsic::from_name(intrinsic.name()), Some(intrinsic));
        }
        assert_eq!(Intrinsic::from_name("trace:status"), None);
    }

    #[test]
    fn both_spellings_are_one_thing() {
        for (scoped, intrinsic) in Intrinsic::SCOPED {
            assert_eq!(Intrinsic::from_name(scoped), Some(intrinsic));
            assert_ne!(intrinsic.name(), scoped);
        }
    }
}
