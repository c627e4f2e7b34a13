//! Rules of ours for physical plans, and what is refused of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `top` | `ORDER BY time LIMIT n` as a search for the first rows |
//! | `code_groups` | grouping by the codes of texts instead of by the texts |
//! | `check` | what is refused once a plan is known |
//! | `yielding` | joins that give way, so that they can be cancelled |

mod check;
mod code_groups;
mod top;
mod yielding;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

pub(crate) use check::check;
pub(crate) use yielding::watched;

/// DataFusion's rules and ours; the last one of all checks the plan.
pub(crate) fn rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let ours: [Arc<dyn PhysicalOptimizerRule + Send + Sync>; 3] = [
        Arc::new(top::FirstRows),
        Arc::new(code_groups::GroupByCode),
        Arc::new(yielding::JoinsYield),
    ];
    let before_check = rules.len().saturating_sub(1);
    rules.splice(before_check..before_check, ours);
    rules
}

/// Shows expressions of an operator to who visits it, until that wants no more.
pub(crate) fn visit_each<'e>(
    exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>,
    visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
) -> Result<TreeNodeRecursion> {
    for expr in exprs {
        if visit(expr)? == TreeNodeRecursion::Stop {
            return Ok(TreeNodeRecursion::Stop);
        }
    }
    Ok(TreeNodeRecursion::Continue)
}
