//! What only PostgreSQL understands, as we say it.
//!
//! Clients of PostgreSQL find their way by asking for its catalogue, in its own words:
//! `c.relname OPERATOR(pg_catalog.~) '^(spans)$' COLLATE pg_catalog.default`, `'spans'::regclass`,
//! `current_setting('search_path')`. Before such a question is planned it is brought to words that
//! DataFusion has. Names of columns become those that PostgreSQL gives.
//!
//! | module | what it holds |
//! |---|---|
//! | `empty` | selects that cannot have rows, whatever they compute |
//! | `columns` | names of columns |
//! | `casts` | types that only PostgreSQL has |
//! | `calls` | functions whose answer is known before the query runs |
//! | `subqueries` | subqueries for one value |

mod calls;
mod casts;
mod columns;
mod empty;
mod subqueries;

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, Select, TableFactor, VisitMut, VisitorMut,
};

use super::names;
use crate::asked::PgSession;
use crate::error::{EngineError, Fault};

pub(crate) use columns::shown;

/// Brings a statement to words that DataFusion has.
pub(super) fn rewrite(statement: &mut Statement, session: &PgSession) -> Result<(), EngineError> {
    let Some(statement) = names::inner(statement) else { return Ok(()) };
    match statement.visit(&mut Rewriter { session }) {
        ControlFlow::Break(fault) => Err(EngineError::Invalid(fault)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Rewriter<'a> {
    session: &'a PgSession,
}

impl VisitorMut for Rewriter<'_> {
    type Break = Fault;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Fault> {
        empty::prune(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Fault> {
        columns::name(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Fault> {
        if let TableFactor::Table { name, args: Some(_), .. } = factor {
            without_schema(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Fault> {
        if let Expr::Function(call) = expr {
            without_schema(&mut call.name);
        }
        if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
            && let Expr::Subquery(query) = &mut **right
        {
            subqueries::keep_all(query);
        }
        let rewritten = match expr {
            Expr::Collate { expr, .. } => Ok(Some((**expr).clone())),
            Expr::BinaryOp { left, op: BinaryOperator::PGCustomBinaryOperator(words), right } => {
                operator(left, words, right).map(Some).map_err(Fault::from)
            }
            Expr::Cast { expr, data_type, .. } => casts::rewrite(expr, data_type),
            Expr::Function(call) => calls::rewrite(call, self.session),
            Expr::Subquery(query) => Ok(subqueries::scalar(query)),
            Expr::InSubquery { expr, subquery, negated } => {
                Ok(calls::search_path(expr, subquery, *negated))
            }
            _ => Ok(None),
        };
        match rewritten {
            Ok(Some(rewritten)) => {
                *expr = rewritten;
                // What it became may be one of these again.
                match expr {
                    Expr::Collate { .. } | Expr::Cast { .. } | Expr::Function(_) => {
                        self.again(expr)
                    }
                    _ => ControlFlow::Continue(()),
                }
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(fault) => ControlFlow::Break(fault),
        }
    }
}

impl Rewriter<'_> {
    /// Each step takes something away that no later step adds, so this ends.
    fn again(&mut self, expr: &mut Expr) -> ControlFlow<Fault> {
        self.pre_visit_expr(expr)
    }
}

/// Takes `pg_catalog.` from before a name.
fn without_schema(name: &mut ObjectName) {
    let is_catalog = |name: &ObjectName| {
        let first = name.0.first().and_then(|part| part.as_ident());
        first.is_some_and(|first| first.value.eq_ignore_ascii_case("pg_catalog"))
    };
    if name.0.len() == 2 && is_catalog(name) {
        name.0.remove(0);
    }
}

/// `a OPERATOR(pg_catalog.~) b` as `a ~ b`.
fn operator(left: &Expr, words: &[String], right: &Expr) -> Result<Expr, String> {
    let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
    let name = words.last().map_or("", String::as_str);
    let op = match name {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "||" => BinaryOperator::StringConcat,
        other => return Err(format!("the operator {other} is not offered here")),
    };
    Ok(Expr::BinaryOp { left, op, right })
}

#[cfg(test)]
mod tests {
    use super::super::statement;
    use super::*;

    pub(super) fn rewritten(query: &str) -> Result<String, String> {
        let session = PgSession {
            database: "default".to_owned(),
            user: "ada".to_owned(),
            version: "PostgreSQL 15.0".to_owned(),
            settings: [("search_path".to_owned(), "public".to_owned())].into(),
            ..PgSession::default()
        };
        let mut statement = statement(query).unwrap();
        rewrite(&mut statement, &session).map_err(|error| error.to_string())?;
        Ok(statement.to_string())
    }

    #[test]
    fn words_of_postgresql_become_ours() {
        for (query, expected) in [
            (
                "SELECT a FROM t WHERE a OPERATOR(pg_catalog.~) '^x$' COLLATE pg_catalog.default",
                "SELECT a FROM t WHERE a ~ '^x$'",
            ),
            ("SELECT a FROM t WHERE pg_catalog.f(a)", "SELECT a FROM t WHERE f(a)"),
            (
                "SELECT oid FROM t WHERE oid = 'spans'::regclass",
                "SELECT oid FROM t WHERE oid = 16384",
            ),
            ("SELECT x::pg_catalog.text AS y FROM t", "SELECT x::TEXT AS y FROM t"),
            ("SELECT current_database()", "SELECT 'default' AS \"current_database\""),
            ("SELECT user", "SELECT 'ada' AS \"user\""),
            (
                "SELECT * FROM pg_catalog.generate_series(1, 2)",
                "SELECT * FROM generate_series(1, 2)",
            ),
        ] {
            assert_eq!(rewritten(query).as_deref(), Ok(expected), "{query}");
        }
        assert!(rewritten("SELECT 'nothing'::regclass").unwrap_err().contains("nothing"));
    }
}
