//! Selects that cannot have rows: those that need one of a relation which never has any, or an item of
//! a list that is never there.
//!
//! `psql` asks for policies, publications and inheritance of every table that it describes, in ways
//! that DataFusion cannot plan. There are none here, so the answer is known: no rows, with columns of
//! those names.

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, GroupByExpr, JoinOperator, Query, Select, SelectItem,
    SetExpr, Statement as SqlStatement, TableFactor, TableWithJoins, Visit, Visitor,
};
use std::ops::ControlFlow;

use super::columns;
use crate::catalog::Relation;

/// Functions that give a row where there are none.
const AGGREGATES: [&str; 12] = [
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "every",
    "json_agg",
    "max",
    "min",
    "stddev",
    "string_agg",
    "sum",
];

/// Puts selects without rows in the place of those that cannot have any.
pub(super) fn prune(query: &mut Query) {
    let is_select = matches!(&*query.body, SetExpr::Select(_));
    if prune_set(&mut query.body) && is_select {
        // They may be of columns that are gone, and order nothing.
        query.order_by = None;
    }
}

fn prune_set(set: &mut SetExpr) -> bool {
    match set {
        SetExpr::Select(select) => match nothing_of(select) {
            Some(nothing) => {
                **select = nothing;
                true
            }
            None => false,
        },
        SetExpr::SetOperation { left, right, .. } => {
            let left = prune_set(left);
            prune_set(right) || left
        }
        _ => false,
    }
}

/// What gives as many columns and no rows, if the select cannot have any.
fn nothing_of(select: &Select) -> Option<Select> {
    if !is_plain(select) || !select.from.iter().any(is_empty) {
        return None;
    }
    let mut names = Vec::new();
    for item in &select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            return None;
        };
        let name = match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            _ => columns::name_of(expr),
        };
        names.push(name);
    }
    let columns: Vec<String> = columns::unique(names)
        .iter()
        .map(|name| format!("CAST(NULL AS TEXT) AS \"{}\"", name.replace('"', "\"\"")))
        .collect();
    let query = format!("SELECT {} WHERE false", columns.join(", "));
    match DFParser::parse_sql(&query).ok()?.pop_front()? {
        Statement::Statement(statement) => match *statement {
            SqlStatement::Query(query) => match *query.body {
                SetExpr::Select(select) => Some(*select),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether each row of a select is made of one that it reads.
pub(super) fn is_plain(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        && select.having.is_none()
        && !select.projection.iter().any(is_aggregate)
}

/// Whether rows of a FROM need one of a relation that has none.
fn is_empty(from: &TableWithJoins) -> bool {
    let mut needs_nothing = is_never_filled(&from.relation);
    for join in &from.joins {
        match &join.join_operator {
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {
                needs_nothing |= is_never_filled(&join.relation);
            }
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => {}
            // Others may have rows of the one side or the other.
            _ => return false,
        }
    }
    needs_nothing
}

fn is_never_filled(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: Some(called), .. } => {
            let function = name.0.last().and_then(|part| part.as_ident());
            function.is_some_and(|function| function.value.eq_ignore_ascii_case("unnest"))
                && called.args.iter().all(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(list)) => is_never_there(list),
                    _ => false,
                })
        }
        factor => relation(factor).is_some_and(Relation::is_always_empty),
    }
}

/// Whether it is a list of the catalogue that no row has: `c.reloptions`.
fn is_never_there(list: &Expr) -> bool {
    match list {
        Expr::CompoundIdentifier(parts) => {
            parts.last().is_some_and(|column| Relation::is_null_list(&column.value))
        }
        _ => false,
    }
}

/// The relation of the catalogue that stands in a FROM.
pub(super) fn relation(factor: &TableFactor) -> Option<&'static Relation> {
    let TableFactor::Table { name, args: None, .. } = factor else { return None };
    let parts: Option<Vec<&str>> =
        name.0.iter().map(|part| part.as_ident().map(|ident| ident.value.as_str())).collect();
    match parts.as_deref() {
        Some([name]) => Relation::find(None, name),
        Some([schema, name]) => Relation::find(Some(schema), name),
        _ => None,
    }
}

fn is_aggregate(item: &SelectItem) -> bool {
    /// How deep in subqueries it looks: their aggregates are their own.
    struct Found(usize);
    impl Visitor for Found {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if self.0 == 0
                && let Expr::Function(call) = expr
                && let Some(name) = call.name.0.last().and_then(|part| part.as_ident())
                && AGGREGATES.contains(&name.value.to_lowercase().as_str())
            {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }
    item.visit(&mut Found(0)).is_break()
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn what_needs_rows_of_an_empty_relation_is_not_planned() {
        for query in [
            "SELECT p.polname, ARRAY(SELECT 1) FROM pg_catalog.pg_policy p ORDER BY p.polname",
            "SELECT a, b FROM pg_class c JOIN pg_index i ON c.oid = i.indrelid ORDER BY c.oid",
            "SELECT a, b FROM pg_class c, pg_inherits i",
            "SELECT (SELECT string_agg(a, ', ') FROM pg_attribute), b FROM pg_publication_rel p",
        ] {
            let text = rewritten(query).unwrap();
            assert!(text.contains("WHERE false") && !text.contains("FROM"), "{text}");
        }
    }

    #[test]
    fn what_has_rows_all_the_same_stays() {
        for query in [
            "SELECT count(*) FROM pg_policy",
            "SELECT a FROM pg_class c LEFT JOIN pg_index i ON c.oid = i.indrelid",
            "SELECT a FROM pg_index i RIGHT JOIN pg_class c ON c.oid = i.indrelid",
            "SELECT * FROM pg_policy",
            "SELECT name FROM spans",
        ] {
            let text = rewritten(query).unwrap();
            assert!(text.contains("FROM"), "{text}");
        }
    }
}
