//! Subqueries for one value.
//!
//! DataFusion plans a subquery that names columns of the query around it only if it is an aggregate,
//! and finds such names in itself but not in a subquery of its own. PostgreSQL's clients ask the
//! catalogue in both ways that it does not plan: `ARRAY(SELECT attname … WHERE attrelid = c.oid)`,
//! `(SELECT c.relkind = 'c' FROM pg_class c WHERE c.oid = t.typrelid)`.

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, FunctionArgumentClause, FunctionArguments, OrderByExpr, OrderByKind, Query,
    SelectItem, SetExpr, Statement as SqlStatement, TableFactor,
};

use super::super::parameters::call;
use super::empty;

/// `ARRAY(SELECT a … ORDER BY b)` as `(SELECT array_agg(a ORDER BY b) …)`.
pub(super) fn array(query: &Query) -> Option<Expr> {
    let mut query = query.clone();
    // What it would compute of no rows need not be understood.
    empty::prune(&mut query);
    match aggregate(&mut query, "array_agg") {
        true => Some(Expr::Subquery(Box::new(query))),
        false => array_of_rows(query),
    }
}

/// `(SELECT a FROM pg_class …)` as `(SELECT first_value(a) FROM pg_class …)`; `None` if it stays.
/// Clients ask so for what the catalogue has once.
pub(super) fn scalar(query: &Query) -> Option<Expr> {
    let mut query = query.clone();
    empty::prune(&mut query);
    let is_rewritten = reads_the_catalogue(&query) && aggregate(&mut query, "first_value");
    is_rewritten.then(|| Expr::Subquery(Box::new(query)))
}

/// Marks `x = ANY (SELECT a …)`: it compares with each row, so it must not become one. Which rows are
/// alike makes no difference to that.
pub(super) fn keep_all(query: &mut Query) {
    if reads_the_catalogue(query)
        && let SetExpr::Select(select) = &mut *query.body
    {
        select.distinct.get_or_insert(Distinct::Distinct);
    }
}

/// Whether all rows that a select reads are of the catalogue.
fn reads_the_catalogue(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else { return false };
    let relations = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    let mut relations = relations.peekable();
    relations.peek().is_some() && relations.all(|factor| empty::relation(factor).is_some())
}

/// Puts an aggregate around the one column of a select that is nothing but that; says whether it is.
fn aggregate(query: &mut Query, name: &str) -> bool {
    if query.with.is_some() || query.limit_clause.is_some() || query.fetch.is_some() {
        return false;
    }
    let SetExpr::Select(select) = &mut *query.body else { return false };
    if select.distinct.is_some() || !empty::is_plain(select) {
        return false;
    }
    let [SelectItem::UnnamedExpr(column) | SelectItem::ExprWithAlias { expr: column, .. }] =
        &mut select.projection[..]
    else {
        return false;
    };
    let order = match query.order_by.take().map(|order| order.kind) {
        Some(OrderByKind::Expressions(order)) => order,
        _ => Vec::new(),
    };
    *column = ordered(name, column.clone(), order);
    true
}

/// A call of an aggregate of a column, in an order in which a number stands for that column.
fn ordered(name: &str, column: Expr, mut order: Vec<OrderByExpr>) -> Expr {
    for by in order.iter_mut().filter(|by| matches!(by.expr, Expr::Value(_))) {
        by.expr = column.clone();
    }
    let mut called = call(name, vec![column]);
    if let Expr::Function(function) = &mut called
        && let FunctionArguments::List(list) = &mut function.args
        && !order.is_empty()
    {
        list.clauses.push(FunctionArgumentClause::OrderBy(order));
    }
    called
}

/// The rows of any other query as an array.
fn array_of_rows(query: Query) -> Option<Expr> {
    let template = "SELECT array_agg(item) FROM (SELECT 1) AS items (item)";
    let Statement::Statement(statement) = DFParser::parse_sql(template).ok()?.pop_front()? else {
        return None;
    };
    let SqlStatement::Query(mut outer) = *statement else { return None };
    let SetExpr::Select(select) = &mut *outer.body else { return None };
    let TableFactor::Derived { subquery, .. } = &mut select.from.first_mut()?.relation else {
        return None;
    };
    **subquery = query;
    Some(Expr::Subquery(outer))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn an_array_of_a_query_is_an_aggregate() {
        for (query, expected) in [
            (
                "SELECT ARRAY(SELECT rolname FROM pg_roles r WHERE r.oid = c.relowner ORDER BY 1) \
                 AS a FROM pg_class c",
                "SELECT (SELECT array_agg(rolname ORDER BY rolname) AS \"array_agg\" \
                 FROM pg_roles r WHERE r.oid = c.relowner) AS a FROM pg_class c",
            ),
            (
                "SELECT ARRAY(SELECT oid FROM pg_class LIMIT 2) AS a",
                "SELECT (SELECT array_agg(item) AS \"array_agg\" FROM \
                 (SELECT oid FROM pg_class LIMIT 2) AS items (item)) AS a",
            ),
            // What there are no rows of need not be understood: not in a table, and not in a list
            // that is never there.
            (
                "SELECT ARRAY(SELECT a.b.c FROM pg_policy WHERE polrelid = c.oid) AS a",
                "SELECT (SELECT array_agg(CAST(NULL AS TEXT)) AS \"c\" WHERE false) AS a",
            ),
            (
                "SELECT array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x) AS a",
                "SELECT (SELECT array_agg(CAST(NULL AS TEXT)) AS \"?column?\" WHERE false) AS a",
            ),
        ] {
            assert_eq!(rewritten(query).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_subquery_of_the_catalogue_gives_one_value() {
        let text = rewritten(
            "SELECT 1 AS one FROM pg_type t WHERE (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c \
             WHERE c.oid = t.typrelid)",
        );
        assert!(text.unwrap().contains("(SELECT first_value(c.relkind = 'c') AS "));
        for query in [
            "SELECT (SELECT name FROM spans) AS a",
            "SELECT (SELECT count(*) AS n FROM pg_class) AS a",
            "SELECT (SELECT oid FROM pg_class LIMIT 1) AS a",
        ] {
            assert_eq!(rewritten(query).as_deref(), Ok(query));
        }
        let set = rewritten("SELECT 1 AS a WHERE 2 = ANY (SELECT oid FROM pg_class)").unwrap();
        assert!(set.contains("DISTINCT oid") && !set.contains("first_value"), "{set}");
    }
}
