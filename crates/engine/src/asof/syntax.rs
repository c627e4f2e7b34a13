//! `FROM a ASOF JOIN b …` as `FROM (a ASOF JOIN b …)`.
//!
//! A join is planned by DataFusion itself, a relation may be planned by others: in brackets a join
//! is a relation. Names of tables inside are the same outside.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    JoinOperator, Select, Statement as SqlStatement, TableFactor, TableWithJoins, VisitMut,
    VisitorMut,
};

/// Puts as-of joins into brackets.
pub(crate) fn bracket(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => bracket_all(statement),
        Statement::Explain(explain) => bracket(&mut explain.statement),
        _ => {}
    }
}

fn bracket_all(statement: &mut SqlStatement) {
    let _ = statement.visit(&mut Brackets);
}

/// Whether one of the joins is an as-of join.
pub(super) fn has_as_of(from: &TableWithJoins) -> bool {
    from.joins.iter().any(|join| matches!(join.join_operator, JoinOperator::AsOf { .. }))
}

struct Brackets;

impl VisitorMut for Brackets {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for from in select.from.iter_mut().filter(|from| has_as_of(from)) {
            let joins = std::mem::take(&mut from.joins);
            let inside = TableWithJoins { relation: from.relation.clone(), joins };
            from.relation =
                TableFactor::NestedJoin { table_with_joins: Box::new(inside), alias: None };
        }
        ControlFlow::Continue(())
    }
}
