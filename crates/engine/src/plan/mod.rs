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
