//! The as-of join as a node of the logical plan.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use super::Matching;

/// The node. Its columns are those of the left side, then those of the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AsOfJoin {
    pub(super) left: LogicalPlan,
    pub(super) right: LogicalPlan,
    /// What has to be equal, of one type.
    pub(super) on: Vec<(Expr, Expr)>,
    /// The times that are compared.
    pub(super) times: (Expr, Expr),
    pub(super) matching: Matching,
    schema: DFSchemaRef,
}

impl AsOfJoin {
    pub(super) fn new(
        left: LogicalPlan,
        right: LogicalPlan,
        on: Vec<(Expr, Expr)>,
        times: (Expr, Expr),
        matching: Matching,
    ) -> Result<Self> {
        let of_left = left.schema().iter().map(|(table, field)| (table.cloned(), field.clone()));
        let of_right = right.schema().iter().map(|(table, field)| {
            // Where there is no match, there is nothing.
            (table.cloned(), Arc::new(field.as_ref().clone().with_nullable(true)))
        });
        let fields = of_left.chain(of_right).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, Default::default())?);
        Ok(Self { left, right, on, times, matching, schema })
    }

    /// The same over other inputs.
    pub(super) fn over(&self, left: LogicalPlan, right: LogicalPlan) -> Result<Self> {
        Self::new(left, right, self.on.clone(), self.times.clone(), self.matching)
    }
}

impl PartialOrd for AsOfJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let parts = |node: &Self| (node.left.clone(), node.right.clone());
        let own = (&self.on, &self.times, &self.matching);
        match own.partial_cmp(&(&other.on, &other.times, &other.matching)) {
            Some(Ordering::Equal) => parts(self).partial_cmp(&parts(other)),
            order => order,
        }
    }
}

impl Hash for AsOfJoin {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.left.hash(hasher);
        self.right.hash(hasher);
        self.on.hash(hasher);
        self.times.hash(hasher);
        self.matching.hash(hasher);
    }
}

impl UserDefinedLogicalNodeCore for AsOfJoin {
    fn name(&self) -> &str {
        "AsOfJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let (left, right) = self.times.clone();
        let keys = self.on.iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
        [left, right].into_iter().chain(keys).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsOfJoin: {} {} {}", self.times.0, self.matching, self.times.1)?;
        self.on.iter().try_for_each(|(left, right)| write!(f, ", {left} = {right}"))
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut inputs = inputs.into_iter();
        let (Some(left), Some(right)) = (inputs.next(), inputs.next()) else {
            return internal_err!("an as-of join has two sides");
        };
        let mut exprs = exprs.into_iter();
        let mut pairs = Vec::new();
        while let (Some(left), Some(right)) = (exprs.next(), exprs.next()) {
            pairs.push((left, right));
        }
        if pairs.len() != self.on.len() + 1 {
            return internal_err!("an as-of join has times and {} keys", self.on.len());
        }
        let times = pairs.remove(0);
        Self::new(left, right, pairs, times, self.matching)
    }

    /// Columns that are asked for; those of its own expressions are added by whoever asks.
    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let of_left = self.left.schema().fields().len();
        let (left, right): (Vec<usize>, Vec<usize>) =
            output.iter().partition(|place| **place < of_left);
        Some(vec![left, right.into_iter().map(|place| place - of_left).collect()])
    }
}
