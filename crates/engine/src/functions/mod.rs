//! Functions as they are offered here: those that make much of little have a bound.
//!
//! DataFusion accounts for what its operators keep, not for what a function makes of one batch,
//! and constants are computed while a query is planned. So what could make gigabytes of a short
//! query is left out or [`bounded`].
//!
//! | module | what it holds |
//! |---|---|
//! | `bounded`, `pipes` | functions that look at the size of what they would make |
//! | `json` | looks into JSON text, `->` and `->>` |
//! | `time_bucket`, [`interval`] | buckets of time, and lengths of time as people write them |
//! | `counters` | `rate` and `increase` |
//! | `histogram` | quantiles of histograms |
//! | `lists` | lists of numbers |

mod bounded;
mod counters;
mod histogram;
pub(crate) mod interval;
mod json;
mod lists;
mod pipes;
mod time_bucket;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{AggregateUDF, BinaryExpr, Expr, LogicalPlan, Operator, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;

use crate::error::Refusal;
use bounded::Bounded;
use counters::{Asked, Counter};
use histogram::{HistogramQuantile, HistogramQuantileOf, Of};
pub(crate) use json::JsonArrows;
use pipes::Pipes;
use time_bucket::TimeBucket;

/// Functions that are left out, and what to use instead. Table functions of the same name stay.
const LEFT_OUT: [(&str, &str); 7] = [
    ("range", "in FROM it is a table: FROM range(1, 10)"),
    ("generate_series", "in FROM it is a table: FROM generate_series(1, 10)"),
    ("array_repeat", "use make_array"),
    ("list_repeat", "use make_array"),
    ("array_resize", "use array_slice"),
    ("list_resize", "use array_slice"),
    ("levenshtein", "use LIKE or a regular expression"),
];

/// Why a function is not there, if it is one that was left out.
pub(crate) fn left_out(name: &str) -> Option<String> {
    let (name, instead) = LEFT_OUT.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?;
    Some(format!("the function {name} is not offered here: {instead}"))
}

/// The functions of a session.
pub(crate) fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    SessionStateDefaults::default_scalar_functions()
        .into_iter()
        .filter(|function| left_out(function.name()).is_none())
        .map(|function| Bounded::of(&function).unwrap_or(function))
        .chain(json::functions())
        .chain([
            Arc::new(ScalarUDF::from(TimeBucket::default())),
            Arc::new(ScalarUDF::from(HistogramQuantile::default())),
        ])
        .collect()
}

/// The aggregates of a session.
pub(crate) fn aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    let ours = [
        AggregateUDF::from(Counter::new(Asked::Increase)),
        AggregateUDF::from(Counter::new(Asked::Rate)),
        AggregateUDF::from(HistogramQuantileOf::new(Of::Columns)),
        AggregateUDF::from(HistogramQuantileOf::new(Of::Rows)),
    ];
    let defaults = SessionStateDefaults::default_aggregate_functions();
    defaults.into_iter().chain(ours.map(Arc::new)).collect()
}

/// Bounds functions that came into a plan by an operator: `||` and `[…]`.
#[derive(Debug)]
pub(crate) struct BoundFunctions {
    pipes: Arc<ScalarUDF>,
}

impl BoundFunctions {
    pub(crate) fn new() -> Self {
        let pipes = Arc::new(ScalarUDF::from(Pipes::default()));
        Self { pipes: Bounded::of(&pipes).unwrap_or(pipes) }
    }

    fn rewrite(&self, expr: Expr) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
                let call = ScalarFunction::new_udf(self.pipes.clone(), vec![*left, *right]);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            Expr::ScalarFunction(call) => {
                check_cast(&call)?;
                match Bounded::of(&call.func) {
                    Some(bounded) => {
                        let call = ScalarFunction::new_udf(bounded, call.args);
                        Transformed::yes(Expr::ScalarFunction(call))
                    }
                    None => Transformed::no(Expr::ScalarFunction(call)),
                }
            }
            other => Transformed::no(other),
        })
    }
}

/// Refuses types that take a number of bytes for each row, whatever is in it.
fn check_cast(call: &ScalarFunction) -> Result<()> {
    let is_cast = matches!(call.func.name(), "arrow_cast" | "arrow_try_cast");
    match call.args.get(1) {
        Some(Expr::Literal(ScalarValue::Utf8(Some(name)), _))
            if is_cast && name.contains("FixedSize") =>
        {
            Err(Refusal::error(format!("a cast to {name} is not offered here")))
        }
        _ => Ok(()),
    }
}

impl AnalyzerRule for BoundFunctions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| self.rewrite(expr))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "bound_functions"
    }
}
