//! Attributes that a query names.
//!
//! An attribute is a column whose name has its scope before it: `"span.http.method"`. Without
//! quotes, `span.http.method` is read by SQL as columns of tables of schemas; here it is brought
//! to the quoted form, unless its first part is the name of a table of the query. Keys are
//! case-sensitive, so they stay as they are written.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, FunctionArguments, Ident, JoinConstraint, JoinOperator,
    Query, Select, Statement as SqlStatement, TableFactor, UnaryOperator, Visit, VisitMut, Visitor,
    VisitorMut,
};

use crate::tables::AttributeScope;

/// Brings attribute names to the quoted form and returns them all.
pub(super) fn resolve(statement: &mut Statement) -> BTreeSet<String> {
    let Some(statement) = inner(statement) else { return BTreeSet::new() };
    let mut relations = Relations::default();
    let _ = Visit::visit(statement, &mut relations);
    let mut resolver = Resolver { relations: relations.0, attributes: BTreeSet::new() };
    let _ = VisitMut::visit(statement, &mut resolver);
    resolver.attributes
}

/// The SQL statement within DataFusion's.
pub(super) fn inner(statement: &mut Statement) -> Option<&mut SqlStatement> {
    match statement {
        Statement::Statement(statement) => Some(statement),
        Statement::Explain(explain) => inner(&mut explain.statement),
        _ => None,
    }
}

/// Names that stand for relations, in lower case: tables, aliases, common table expressions.
#[derive(Default)]
struct Relations(BTreeSet<String>);

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.0.insert(table.alias.name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, .. } => (name.0.last(), alias),
            TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => (None, alias),
            _ => (None, &None),
        };
        let name = name.and_then(|part| part.as_ident());
        for name in alias.as_ref().map(|alias| &alias.name).into_iter().chain(name) {
            self.0.insert(name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }
}

struct Resolver {
    relations: BTreeSet<String>,
    attributes: BTreeSet<String>,
}

impl Resolver {
    fn is_relation(&self, ident: &Ident) -> bool {
        self.relations.contains(&ident.value.to_lowercase())
    }

    fn note(&mut self, ident: &Ident) {
        if AttributeScope::split(&ident.value).is_some() {
            self.attributes.insert(ident.value.clone());
        }
    }
}

impl VisitorMut for Resolver {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(_) | Expr::CompoundFieldAccess { .. } = expr
            && let Some(parts) = compound(expr).filter(|parts| parts.len() > 1)
        {
            *expr = Expr::CompoundIdentifier(parts);
        }
        if let Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) = expr {
            compared(expr);
        }
        match expr {
            Expr::CompoundIdentifier(parts) => {
                let table = parts.first().filter(|first| self.is_relation(first)).cloned();
                let name = if table.is_some() { &parts[1..] } else { &parts[..] };
                if let Some(joined) = attribute(name) {
                    *expr = match table {
                        Some(table) => Expr::CompoundIdentifier(vec![table, joined.clone()]),
                        None => Expr::Identifier(joined.clone()),
                    };
                    self.note(&joined);
                } else if let Some(last) = parts.last() {
                    let last = last.clone();
                    self.note(&last);
                }
            }
            Expr::Identifier(ident) => {
                let ident = ident.clone();
                self.note(&ident);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for join in select.from.iter().flat_map(|from| &from.joins) {
            if let Some(JoinConstraint::Using(names)) = constraint(&join.join_operator) {
                for name in names.iter().flat_map(|name| &name.0) {
                    if let Some(ident) = name.as_ident() {
                        self.note(ident);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The parts of a name that the parser did not take for one because it has a word of SQL in it:
/// `span.user` is a function without brackets to it, `span.user.id` a member of what that gives.
fn compound(expr: &Expr) -> Option<Vec<Ident>> {
    match expr {
        Expr::Identifier(part) => Some(vec![part.clone()]),
        Expr::CompoundIdentifier(parts) => Some(parts.clone()),
        Expr::Function(function) if function.args == FunctionArguments::None => {
            function.name.0.iter().map(|part| part.as_ident().cloned()).collect()
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut parts = compound(root)?;
            for access in access_chain {
                let AccessExpr::Dot(part) = access else { return None };
                parts.extend(compound(part)?);
            }
            Some(parts)
        }
        _ => None,
    }
}

/// `a IS NOT DISTINCT FROM 'text'` as the operator that means the same. An id is then compared
/// with text as it is by other operators.
fn compared(expr: &mut Expr) {
    let (Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right)) = expr else {
        return;
    };
    if !matches!((&**left, &**right), (Expr::Value(_), _) | (_, Expr::Value(_))) {
        return;
    }
    let same =
        Expr::BinaryOp { left: left.clone(), op: BinaryOperator::Spaceship, right: right.clone() };
    let same = Expr::Nested(Box::new(same));
    *expr = match expr {
        Expr::IsDistinctFrom(..) => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(same) },
        _ => same,
    };
}

/// What a join is constrained by.
pub(super) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::StraightJoin(constraint)
        | JoinOperator::AsOf { constraint, .. } => Some(constraint),
        _ => None,
    }
}

/// The attribute that the parts of a compound name write without quotes around the whole.
fn attribute(parts: &[Ident]) -> Option<Ident> {
    let [first, _, ..] = parts else { return None };
    let scope = first.quote_style.is_none().then(|| first.value.to_lowercase())?;
    AttributeScope::from_name(&scope)?;
    let mut name = scope;
    for part in &parts[1..] {
        name.push('.');
        name.push_str(&part.value);
    }
    Some(Ident { value: name, quote_style: Some('"'), span: first.span })
}

#[cfg(test)]
mod tests {
    use super::super::statement;
    use super::*;

    fn resolved(query: &str) -> (String, Vec<String>) {
        let mut statement = statement(query).unwrap();
        let attributes = resolve(&mut statement);
        (statement.to_string(), attributes.into_iter().collect())
    }

    #[test]
    fn both_ways_of_writing_an_attribute_are_the_same() {
        let quoted = resolved(r#"SELECT s."span.db.System", "resource.a" FROM spans s"#);
        let plain = resolved("SELECT s.span.db.System, RESOURCE.a FROM spans s");
        assert_eq!(quoted, plain);
        assert_eq!(plain.1, ["resource.a", "span.db.System"]);
    }

    #[test]
    fn a_table_that_is_named_like_a_scope_keeps_its_columns() {
        let (text, attributes) = resolved("SELECT span.name FROM spans AS span");
        assert_eq!(text, "SELECT span.name FROM spans AS span");
        assert!(attributes.is_empty());
        let (_, attributes) = resolved("SELECT span.span.name FROM spans AS span");
        assert_eq!(attributes, ["span.name"]);
    }

    #[test]
    fn a_key_may_have_words_of_sql_in_it() {
        let (_, attributes) = resolved(
            "SELECT span.user, s.span.user, span.db.user, span.user.id, log.current_user, \
             resource.select.from, label.end, span.date FROM spans s",
        );
        let expected = [
            "label.end",
            "log.current_user",
            "resource.select.from",
            "span.date",
            "span.db.user",
            "span.user",
            "span.user.id",
        ];
        assert_eq!(attributes, expected);
    }

    #[test]
    fn attributes_are_found_wherever_they_stand() {
        let (_, attributes) = resolved(
            "EXPLAIN SELECT count(*) FILTER (WHERE span.a = 1) FROM spans JOIN logs USING (\"resource.b\") \
             WHERE EXISTS (SELECT 1 FROM logs WHERE log.c IS NULL) GROUP BY span.d \
             HAVING max(span.e) > 1 ORDER BY scope.f",
        );
        assert_eq!(attributes, ["log.c", "resource.b", "scope.f", "span.a", "span.d", "span.e"]);
    }
}
