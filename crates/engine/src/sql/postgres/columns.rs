//! Names of columns, as PostgreSQL gives them: `count` for `count(*)`, `?column?` for what has none.
//!
//! PostgreSQL lets two columns have one name, DataFusion does not. So the second one gets a mark and a
//! number behind its name here, and [`shown`] takes them off again when the answer is described.

use datafusion::sql::sqlparser::ast::{
    DataType as SqlType, Expr, FunctionArguments, Ident, ObjectName, Select, SelectItem,
};
use std::collections::BTreeSet;

use crate::tables::AttributeScope;

/// What stands between a name and the number that tells it from others. No keyboard has it.
const MARK: char = '\u{1}';
/// The name of what has none.
const NAMELESS: &str = "?column?";

/// The name of a column for whoever asked.
pub(crate) fn shown(name: &str) -> &str {
    name.split_once(MARK).map_or(name, |(name, _)| name)
}

/// Gives columns of a select their names.
pub(super) fn name(select: &mut Select) {
    let has_wildcard = select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    let mut seen = BTreeSet::new();
    for item in &mut select.projection {
        let (name, is_column) = match item {
            SelectItem::UnnamedExpr(expr) => (name_of(expr), is_column(expr)),
            SelectItem::ExprWithAlias { alias, .. } => (value_of(alias), false),
            _ => continue,
        };
        let is_first = seen.insert(name.clone());
        // `*` may have a column of that name, and shows it without a mark.
        let is_marked = !is_first || (has_wildcard && is_column);
        if is_column && !is_marked {
            continue;
        }
        let named = if is_marked { format!("{name}{MARK}{}", seen.len()) } else { name };
        let named = Ident::with_quote('"', &named);
        match item {
            SelectItem::UnnamedExpr(expr) => {
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: named };
            }
            SelectItem::ExprWithAlias { alias, .. } if is_marked => *alias = named,
            _ => {}
        }
        if is_marked {
            // Numbers differ since there is one more name each time.
            seen.insert(format!("{MARK}{}", seen.len()));
        }
    }
}

/// Names that differ, each with a mark that has been there before.
pub(super) fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let marked = |(place, name): (usize, String)| match seen.insert(name.clone()) {
        true => name,
        false => format!("{name}{MARK}{place}"),
    };
    names.into_iter().enumerate().map(marked).collect()
}

fn value_of(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// The name of a column that may be an attribute, in several parts and without quotes around all.
fn compound(parts: &[Ident]) -> String {
    let is_scope = |part: &&Ident| AttributeScope::from_name(&part.value.to_lowercase()).is_some();
    let begin = parts.iter().take(2).position(|part| is_scope(&part));
    let begin = begin.filter(|begin| begin + 1 < parts.len()).unwrap_or(parts.len() - 1);
    if begin + 1 == parts.len() {
        return value_of(&parts[begin]);
    }
    let mut name = parts[begin].value.to_lowercase();
    for part in &parts[begin + 1..] {
        name.push('.');
        name.push_str(&part.value);
    }
    name
}

/// The name that PostgreSQL gives to what has no alias.
pub(super) fn name_of(expr: &Expr) -> String {
    let last = |name: &ObjectName| {
        let ident = name.0.last().and_then(|part| part.as_ident());
        ident.map_or_else(|| NAMELESS.to_owned(), value_of)
    };
    match expr {
        Expr::Identifier(ident) => value_of(ident),
        Expr::CompoundIdentifier(parts) if !parts.is_empty() => compound(parts),
        Expr::Function(call) if call.name.0.len() > 1 && call.args == FunctionArguments::None => {
            let parts: Vec<Ident> =
                call.name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
            if parts.is_empty() { NAMELESS.to_owned() } else { compound(&parts) }
        }
        Expr::Function(call) => last(&call.name),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Cast { expr, data_type, .. } => match name_of(expr) {
            name if name != NAMELESS => name,
            _ => match data_type {
                SqlType::Custom(name, _) => last(name),
                other => other.to_string().to_lowercase(),
            },
        },
        Expr::Case { else_result, .. } => match else_result.as_deref().map(name_of) {
            Some(name) if name != NAMELESS => name,
            _ => "case".to_owned(),
        },
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Position { .. } => "position".to_owned(),
        Expr::Trim { .. } => "btrim".to_owned(),
        Expr::Floor { .. } => "floor".to_owned(),
        Expr::Ceil { .. } => "ceil".to_owned(),
        Expr::AtTimeZone { .. } => "timezone".to_owned(),
        _ => NAMELESS.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;
    use super::*;

    #[test]
    fn columns_have_the_names_that_postgresql_gives() {
        for (query, expected) in [
            ("SELECT count(*) FROM a", "SELECT count(*) AS \"count\" FROM a"),
            ("SELECT 1", "SELECT 1 AS \"?column?\""),
            ("SELECT a.b, c FROM a", "SELECT a.b, c FROM a"),
            ("SELECT span.http.method FROM spans", "SELECT span.http.method FROM spans"),
            ("SELECT span.user FROM spans", "SELECT span.user AS \"span.user\" FROM spans"),
        ] {
            assert_eq!(rewritten(query).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn names_that_stand_twice_are_told_apart_and_shown_alike() {
        for query in ["SELECT 1, 1, 1", "SELECT d.oid, d.* FROM d", "SELECT a.x, b.x FROM a, b"] {
            let text = rewritten(query).unwrap();
            assert!(text.contains(MARK), "{text}");
        }
        assert_eq!(shown("oid\u{1}2"), "oid");
        assert_eq!(shown("oid"), "oid");
        let names = unique(vec!["a".into(), "b".into(), "a".into()]);
        assert_eq!(names.iter().map(|name| shown(name)).collect::<Vec<_>>(), ["a", "b", "a"]);
        assert_ne!(names[0], names[2]);
    }
}
