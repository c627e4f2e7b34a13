//! How operators and aggregations are written, and how tightly operators bind.

use crate::ast::{AggregateOp, BinaryOp};

static AGGREGATIONS: [(&str, AggregateOp); 14] = [
    ("avg", AggregateOp::Avg),
    ("bottomk", AggregateOp::Bottomk),
    ("count", AggregateOp::Count),
    ("count_values", AggregateOp::CountValues),
    ("group", AggregateOp::Group),
    ("limit_ratio", AggregateOp::LimitRatio),
    ("limitk", AggregateOp::Limitk),
    ("max", AggregateOp::Max),
    ("min", AggregateOp::Min),
    ("quantile", AggregateOp::Quantile),
    ("stddev", AggregateOp::Stddev),
    ("stdvar", AggregateOp::Stdvar),
    ("sum", AggregateOp::Sum),
    ("topk", AggregateOp::Topk),
];

impl AggregateOp {
    /// The aggregation of that name, which is in lower case.
    pub fn find(name: &str) -> Option<Self> {
        AGGREGATIONS.iter().find(|(known, _)| *known == name).map(|(_, op)| *op)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        // Every aggregation is in the table: a test sees to it.
        AGGREGATIONS.iter().find(|(_, op)| *op == self).map_or("", |(name, _)| name)
    }

    /// Whether Prometheus has it behind a flag.
    pub fn is_experimental(self) -> bool {
        matches!(self, Self::LimitRatio | Self::Limitk)
    }
}

/// How tightly operators bind: those with the higher number first.
pub(crate) mod precedence {
    /// Of `or`, the loosest.
    pub(crate) const LOWEST: u8 = 1;
    pub(super) const INTERSECTION: u8 = 2;
    pub(super) const COMPARISON: u8 = 3;
    pub(super) const SUM: u8 = 4;
    pub(super) const PRODUCT: u8 = 5;
    /// Of `^`, the tightest. A sign binds less tightly.
    pub(crate) const POWER: u8 = 6;
}

impl BinaryOp {
    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Pow => "^",
            Self::Atan2 => "atan2",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::GreaterOrEqual => ">=",
            Self::LessOrEqual => "<=",
            Self::TrimUpper => "</",
            Self::TrimLower => ">/",
            Self::And => "and",
            Self::Or => "or",
            Self::Unless => "unless",
        }
    }

    pub(crate) fn precedence(self) -> u8 {
        match self {
            Self::Or => precedence::LOWEST,
            Self::And | Self::Unless => precedence::INTERSECTION,
            Self::Equal | Self::NotEqual | Self::Greater | Self::Less => precedence::COMPARISON,
            Self::GreaterOrEqual | Self::LessOrEqual => precedence::COMPARISON,
            Self::TrimUpper | Self::TrimLower => precedence::COMPARISON,
            Self::Add | Self::Sub => precedence::SUM,
            Self::Mul | Self::Div | Self::Mod | Self::Atan2 => precedence::PRODUCT,
            Self::Pow => precedence::POWER,
        }
    }

    /// How tightly an operator of its right side must bind to belong to that side: `^` takes
    /// what follows first, all others what came before.
    pub(crate) fn right_precedence(self) -> u8 {
        if self == Self::Pow { precedence::POWER } else { self.precedence() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_aggregation_has_a_name() {
        for (name, op) in AGGREGATIONS {
            assert_eq!((op.name(), AggregateOp::find(name)), (name, Some(op)));
        }
        let names: Vec<_> = AGGREGATIONS.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted());
    }
}
