//! Functions whose answer is known before the query runs: who asks, where, with which settings.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Value as SqlValue,
};

use super::super::parameters::call;
use super::casts::text;
use super::subqueries;
use crate::asked::PgSession;
use crate::error::{Fault, FaultKind};

/// The schema that tables are in.
const SCHEMA: &str = "public";
/// Schemas that are looked into where none is named.
const SEARCHED: [&str; 2] = ["pg_catalog", SCHEMA];

/// What a call becomes; `None` if it stays.
pub(super) fn rewrite(function: &Function, session: &PgSession) -> Result<Option<Expr>, Fault> {
    let [name] = &function.name.0[..] else { return Ok(None) };
    let Some(name) = name.as_ident() else { return Ok(None) };
    let args = args_of(function);
    let said = |text: &str| Expr::value(SqlValue::SingleQuotedString(text.to_owned()));
    Ok(Some(match name.value.to_lowercase().as_str() {
        "array" => match &function.args {
            FunctionArguments::Subquery(query) => return Ok(subqueries::array(query)),
            _ => return Ok(None),
        },
        "current_database" | "current_catalog" => said(&session.database),
        "current_schema" => said(SCHEMA),
        "current_schemas" => call("make_array", SEARCHED.map(said).to_vec()),
        "current_user" | "session_user" | "user" | "current_role" => said(&session.user),
        "version" => said(&session.version),
        "pg_backend_pid" => Expr::value(SqlValue::Number(session.pid.to_string(), false)),
        "current_setting" => {
            let Some(name) = args.first().and_then(|name| text(name)) else { return Ok(None) };
            match session.settings.get(&name.to_lowercase()) {
                Some(value) => said(value),
                None if args.len() > 1 => Expr::value(SqlValue::Null),
                None => {
                    let message = format!("there is no setting `{name}`");
                    return Err(Fault::new(FaultKind::Setting, message));
                }
            }
        }
        // Settings belong to the connection; what is asked for here holds for this query only.
        "set_config" => args.get(1).cloned().unwrap_or_else(|| said("")),
        "to_regclass" => {
            let Some(name) = args.first().and_then(|name| text(name)) else { return Ok(None) };
            match crate::catalog::relation_oid(name) {
                Some(oid) => Expr::value(SqlValue::Number(oid.to_string(), false)),
                None => Expr::value(SqlValue::Null),
            }
        }
        "parse_ident" => {
            let Some(name) = args.first().and_then(|name| text(name)) else { return Ok(None) };
            let parts = name.split('.').map(|part| said(part.trim_matches('"')));
            call("make_array", parts.collect())
        }
        "array_upper" => call("array_length", args),
        "array_lower" => Expr::value(SqlValue::Number("1".to_owned(), false)),
        _ => return Ok(None),
    }))
}

fn args_of(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let args = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    args.collect()
}

/// `schema IN (SELECT … current_setting('search_path') …)`, as Grafana asks whether tables of a
/// schema need its name: a list, since that is what the subquery makes of the setting.
pub(super) fn search_path(expr: &Expr, subquery: &Query, negated: bool) -> Option<Expr> {
    let text = subquery.to_string();
    let takes_it_apart = text.contains("string_to_array(current_setting('search_path')");
    takes_it_apart.then(|| {
        let list = vec![Expr::value(SqlValue::SingleQuotedString(SCHEMA.to_owned()))];
        Expr::InList { expr: Box::new(expr.clone()), list, negated }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn settings_are_known_or_told_not_to_be() {
        let text = rewritten("SELECT current_setting('search_path') AS path").unwrap();
        assert_eq!(text, "SELECT 'public' AS path");
        assert!(rewritten("SELECT current_setting('nothing')").unwrap_err().contains("nothing"));
        let text = rewritten("SELECT current_setting('nothing', true) AS a").unwrap();
        assert_eq!(text, "SELECT NULL AS a");
    }

    #[test]
    fn the_search_path_is_taken_apart_as_grafana_does() {
        let text = rewritten(
            "SELECT table_name FROM information_schema.tables WHERE quote_ident(table_schema) IN \
             (SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM \
             generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), \
             array_upper(string_to_array(current_setting('search_path'),','),1)) as i, \
             string_to_array(current_setting('search_path'),',') s)",
        );
        assert!(text.unwrap().ends_with("quote_ident(table_schema) IN ('public')"));
    }
}
