//! `*` gives the fixed columns, also where the query names attributes elsewhere.
//!
//! The tables of a query have just the attribute columns that it names. `SELECT * FROM spans
//! WHERE "span.a" = 1` asks for `span.a` in one place only, so it is taken out of `*` again: a
//! wildcard over our tables becomes one that excepts them. Columns of subqueries stay: whoever
//! wrote one named them on purpose.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, Ident, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    VisitMut, VisitorMut, WildcardAdditionalOptions, With,
};

use super::names::{constraint, inner};
use crate::tables::{AttributeScope, TableName, columns_of};

/// Takes the attributes that a query names out of its wildcards.
pub(super) fn hide(statement: &mut Statement, attributes: &BTreeSet<String>) {
    if attributes.is_empty() {
        return;
    }
    let mut hider = Hider { attributes, common: BTreeSet::new(), around: Vec::new() };
    if let Some(statement) = inner(statement) {
        let _ = statement.visit(&mut hider);
    }
}

struct Hider<'a> {
    attributes: &'a BTreeSet<String>,
    /// Names of common table expressions that can be seen, which stand before those of our tables.
    common: BTreeSet<String>,
    /// For each query that is being visited, its expressions, which were visited, and the names
    /// that could be seen around it.
    around: Vec<(Option<With>, BTreeSet<String>)>,
}

/// A relation of a FROM.
struct Relation {
    /// By which its columns are qualified.
    qualifier: ObjectName,
    /// Its columns; `None` if it is no table of ours.
    columns: Option<BTreeSet<String>>,
    /// Columns that `*` does not show: attributes that it has because the query names them
    /// somewhere, and what a join shows of another relation.
    hidden: Vec<Ident>,
}

impl Relation {
    /// Whether it has a column; `None` if that cannot be told.
    fn has(&self, column: &Ident) -> Option<bool> {
        self.columns.as_ref().map(|columns| columns.contains(&name_of(column)))
    }
}

/// Whose columns a join shows.
enum Sides {
    Left,
    Right,
    /// Those of both; if the join has columns in common, the left one's.
    Both,
    /// Those of both; if the join has columns in common, the right one's, which are never missing.
    BothRightWhole,
}

fn sides(operator: &JoinOperator) -> Sides {
    match operator {
        JoinOperator::Semi(_)
        | JoinOperator::LeftSemi(_)
        | JoinOperator::Anti(_)
        | JoinOperator::LeftAnti(_) => Sides::Left,
        JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => Sides::Right,
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Sides::BothRightWhole,
        _ => Sides::Both,
    }
}

/// Of several relations, the one that has a column; `None` if that cannot be told.
fn only_with<'r>(relations: &'r mut [Relation], column: &Ident) -> Option<&'r mut Relation> {
    if let [_] = relations {
        return relations.first_mut();
    }
    if relations.iter().any(|relation| relation.columns.is_none()) {
        return None;
    }
    relations.iter_mut().find(|relation| relation.has(column) == Some(true))
}

/// A wildcard for each relation, each with those exceptions that are for it; `None` if that cannot
/// be told.
fn divided(
    relations: Vec<Relation>,
    options: &WildcardAdditionalOptions,
) -> Option<Vec<SelectItem>> {
    if options.opt_replace.is_some() || options.opt_rename.is_some() {
        return None;
    }
    let excepted = excepted(options);
    let mut plain = options.clone();
    (plain.opt_except, plain.opt_exclude) = (None, None);
    let is_known = |name: &Ident| relations.iter().any(|r| r.has(name) == Some(true));
    let unknown: Vec<Ident> = excepted.iter().filter(|name| !is_known(name)).cloned().collect();
    let others = relations.iter().filter(|relation| relation.columns.is_none()).count();
    if !unknown.is_empty() && others != 1 {
        return None;
    }
    let item = |relation: Relation| {
        let of_this: Vec<Ident> = match relation.columns {
            Some(_) => {
                let has = |name: &&Ident| relation.has(name) == Some(true);
                excepted.iter().filter(has).cloned().collect()
            }
            None => unknown.clone(),
        };
        let mut options = plain.clone();
        except(&mut options, relation.hidden);
        except(&mut options, of_this);
        let kind = SelectItemQualifiedWildcardKind::ObjectName(relation.qualifier);
        SelectItem::QualifiedWildcard(kind, options)
    };
    Some(relations.into_iter().map(item).collect())
}

/// The columns that a wildcard leaves out.
fn excepted(options: &WildcardAdditionalOptions) -> Vec<Ident> {
    let excluded = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![last(name)],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last).collect(),
        None => Vec::new(),
    };
    let except = options.opt_except.iter();
    let except = except.flat_map(|except| {
        std::iter::once(&except.first_element).chain(&except.additional_elements)
    });
    excluded.into_iter().flatten().chain(except).cloned().collect()
}

/// The name that an identifier stands for.
fn name_of(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

impl VisitorMut for Hider<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let seen_around = self.common.clone();
        // Taken out, so that each is visited once, and before its name can be seen: in
        // `WITH spans AS (SELECT * FROM spans)` the inner name is that of the table.
        let mut with = query.with.take();
        if let Some(With { recursive, cte_tables, .. }) = &mut with {
            for table in cte_tables {
                let name = table.alias.name.value.to_lowercase();
                if *recursive {
                    self.common.insert(name.clone());
                }
                let _ = table.visit(self);
                self.common.insert(name);
            }
        }
        self.around.push((with, seen_around));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some((with, seen_around)) = self.around.pop() {
            (query.with, self.common) = (with, seen_around);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let projection = std::mem::take(&mut select.projection);
        select.projection = projection
            .into_iter()
            .flat_map(|item| match item {
                SelectItem::Wildcard(options) => self.expand(select, options),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    mut options,
                ) => {
                    let relations = factors(select).filter_map(|factor| self.relation(factor));
                    for relation in relations.filter(|r| is_same(&r.qualifier, &name)) {
                        except(&mut options, relation.hidden);
                    }
                    let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                    vec![SelectItem::QualifiedWildcard(kind, options)]
                }
                other => vec![other],
            })
            .collect();
        ControlFlow::Continue(())
    }
}

impl Hider<'_> {
    /// The wildcard of a SELECT, as one for each relation if there are several.
    fn expand(&self, select: &Select, mut options: WildcardAdditionalOptions) -> Vec<SelectItem> {
        let hides = |factor| self.relation(factor).is_some_and(|found| !found.hidden.is_empty());
        if !factors(select).any(hides) {
            return vec![SelectItem::Wildcard(options)];
        }
        if let [from] = &select.from[..]
            && from.joins.is_empty()
        {
            let hidden = self.relation(&from.relation).map_or_else(Vec::new, |found| found.hidden);
            except(&mut options, hidden);
            return vec![SelectItem::Wildcard(options)];
        }
        match self.shown(select).and_then(|shown| divided(shown, &options)) {
            Some(items) => items,
            // Which columns there are cannot be told from here.
            None => vec![SelectItem::Wildcard(options)],
        }
    }

    /// The relations whose columns `*` shows, in order.
    fn shown(&self, select: &Select) -> Option<Vec<Relation>> {
        let mut shown = Vec::new();
        for from in &select.from {
            let mut joined = vec![self.relation(&from.relation)?];
            for join in &from.joins {
                let mut right = self.relation(&join.relation)?;
                let using: Vec<Ident> = match constraint(&join.join_operator) {
                    Some(JoinConstraint::Natural) => return None,
                    Some(JoinConstraint::Using(names)) => {
                        names.iter().filter_map(last).cloned().collect()
                    }
                    _ => Vec::new(),
                };
                match sides(&join.join_operator) {
                    Sides::Left => continue,
                    Sides::Right => joined.clear(),
                    Sides::Both => right.hidden.extend(using),
                    Sides::BothRightWhole => {
                        for name in using {
                            only_with(&mut joined, &name)?.hidden.push(name);
                        }
                    }
                }
                joined.push(right);
            }
            shown.append(&mut joined);
        }
        Some(shown)
    }

    fn relation(&self, factor: &TableFactor) -> Option<Relation> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => (Some(name), alias),
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => (None, alias),
            _ => return None,
        };
        let table = name
            .and_then(last)
            .map(|ident| ident.value.to_lowercase())
            .filter(|name| !self.common.contains(name))
            .and_then(|name| TableName::from_name(&name));
        let hidden = table.map_or_else(Vec::new, |table| self.hidden(table));
        let qualifier = match (alias, name) {
            (Some(alias), _) => ObjectName::from(vec![alias.name.clone()]),
            (None, Some(name)) => ObjectName::from(vec![last(name)?.clone()]),
            (None, None) => return None,
        };
        let columns = table.map(|table| {
            columns_of(table, self.attributes).into_iter().map(|(name, _)| name).collect()
        });
        Some(Relation { qualifier, columns, hidden })
    }

    fn hidden(&self, table: TableName) -> Vec<Ident> {
        let of_table =
            |name: &&String| AttributeScope::split(name).is_some_and(|(scope, _)| table.has(scope));
        self.attributes
            .iter()
            .filter(of_table)
            .map(|name| Ident::with_quote('"', name.clone()))
            .collect()
    }
}

/// The relations of a SELECT.
fn factors(select: &Select) -> impl Iterator<Item = &TableFactor> {
    select.from.iter().flat_map(|from| {
        let joined = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joined)
    })
}

fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(ObjectNamePart::as_ident)
}

fn is_same(a: &ObjectName, b: &ObjectName) -> bool {
    match (last(a), last(b)) {
        (Some(a), Some(b)) => a.value.eq_ignore_ascii_case(&b.value),
        _ => false,
    }
}

/// Adds columns to those that a wildcard leaves out.
fn except(options: &mut WildcardAdditionalOptions, columns: Vec<Ident>) {
    for column in columns {
        if excepted(options).iter().any(|known| name_of(known) == name_of(&column)) {
            continue;
        }
        match &mut options.opt_except {
            Some(except) => except.additional_elements.push(column),
            none => {
                let additional_elements = Vec::new();
                *none = Some(ExceptSelectItem { first_element: column, additional_elements });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    fn parse(query: &str) -> Result<super::super::Parsed, crate::error::EngineError> {
        super::super::parse(&query.into())
    }

    fn hidden(query: &str) -> String {
        parse(query).unwrap().statement.to_string()
    }

    #[test]
    fn a_wildcard_leaves_out_what_is_named_elsewhere() {
        assert_eq!(
            hidden("SELECT *, span.a FROM spans WHERE resource.b = 'x'"),
            "SELECT * EXCEPT (\"resource.b\", \"span.a\"), \"span.a\" FROM spans WHERE \"resource.b\" = 'x'"
        );
        assert_eq!(hidden("SELECT * FROM spans"), "SELECT * FROM spans");
        assert_eq!(
            hidden("SELECT * FROM logs WHERE EXISTS (SELECT * FROM spans WHERE span.a = 1)"),
            "SELECT * FROM logs WHERE EXISTS (SELECT * EXCEPT (\"span.a\") FROM spans WHERE \"span.a\" = 1)"
        );
    }

    #[test]
    fn of_several_relations_each_leaves_out_its_own() {
        assert_eq!(
            hidden("SELECT * FROM spans s JOIN logs USING (trace_id) WHERE span.a = log.b"),
            "SELECT s.* EXCEPT (\"span.a\"), logs.* EXCEPT (\"log.b\", trace_id) FROM spans s JOIN logs USING(trace_id) WHERE \"span.a\" = \"log.b\""
        );
        assert_eq!(
            hidden("SELECT q.*, s.* FROM (SELECT span.a FROM spans) q, spans s"),
            "SELECT q.*, s.* EXCEPT (\"span.a\") FROM (SELECT \"span.a\" FROM spans) q, spans s"
        );
    }

    #[test]
    fn a_join_shows_what_it_would_show_without_attributes() {
        for (from, expected) in [
            ("spans s LEFT SEMI JOIN logs l USING (trace_id)", "s.* EXCEPT (\"span.a\")"),
            ("spans s LEFT ANTI JOIN logs l ON true", "s.* EXCEPT (\"span.a\")"),
            ("logs l RIGHT SEMI JOIN spans s ON true", "s.* EXCEPT (\"span.a\")"),
            (
                "spans s RIGHT JOIN logs l USING (trace_id)",
                "s.* EXCEPT (\"span.a\", trace_id), l.*",
            ),
            ("logs l, spans s NATURAL JOIN events", "*"),
        ] {
            assert_eq!(
                hidden(&format!("SELECT * FROM {from} WHERE s.span.a = 1")).split(" FROM ").next(),
                Some(&*format!("SELECT {expected}")),
            );
        }
        assert_eq!(
            hidden(
                "SELECT * EXCEPT (body, Kind, x) FROM spans s, logs, (SELECT 1 AS x) q WHERE span.a = 1"
            ),
            "SELECT s.* EXCEPT (\"span.a\", Kind), logs.* EXCEPT (body), q.* EXCEPT (x) \
             FROM spans s, logs, (SELECT 1 AS x) q WHERE \"span.a\" = 1"
        );
    }

    #[test]
    fn a_common_table_expression_keeps_the_columns_it_was_given() {
        assert_eq!(
            hidden("WITH spans2 AS (SELECT span.a FROM spans) SELECT * FROM spans2"),
            "WITH spans2 AS (SELECT \"span.a\" FROM spans) SELECT * FROM spans2"
        );
    }

    #[test]
    fn the_name_of_a_common_table_expression_counts_where_it_can_be_seen() {
        assert_eq!(
            hidden("WITH spans AS (SELECT * FROM spans WHERE span.a = 1) SELECT * FROM spans"),
            "WITH spans AS (SELECT * EXCEPT (\"span.a\") FROM spans WHERE \"span.a\" = 1) SELECT * FROM spans"
        );
        assert_eq!(
            hidden(
                "(WITH spans AS (SELECT 1 AS x) SELECT * FROM spans) UNION ALL \
                 (SELECT * FROM spans WHERE span.a = 1)"
            ),
            "(WITH spans AS (SELECT 1 AS x) SELECT * FROM spans) UNION ALL \
             (SELECT * EXCEPT (\"span.a\") FROM spans WHERE \"span.a\" = 1)"
        );
    }
}
