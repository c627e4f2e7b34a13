//! Macros of Grafana's SQL data sources: `$__timeFilter(column)` and the like.
//!
//! They are put in before variables are, and thus only where the author wrote them: what a variable
//! holds comes from data, and is a value whatever it looks like.

use kymo_dash::interpolate::interval::parse;
use kymo_dash::interpolate::{Context, Style};

use crate::sql::moment;

/// A query with its macros put in, and its variables after them.
pub(in crate::dashboards) fn filled(query: &str, context: &Context) -> Result<String, String> {
    Ok(context.fill(&expand(query, context)?, Style::Sql))
}

/// A query with its macros put in. Their arguments keep their variables.
fn expand(query: &str, context: &Context) -> Result<String, String> {
    let mut expanded = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(start) = rest.find("$__") {
        expanded.push_str(&rest[..start]);
        let name_length = rest[start + 3..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - start - 3);
        let written = &rest[start..start + 3 + name_length];
        let name = &written[3..];
        rest = &rest[start + 3 + name_length..];
        let (arguments, after) = arguments(rest);
        if let Some(text) = one(name, &arguments, context)? {
            expanded.push_str(&text);
            rest = after;
        } else if context.fill(written, Style::Sql) != written {
            // A variable such as $__interval, which is put in with the others.
            expanded.push_str(written);
        } else {
            return Err(format!("the macro $__{name} is not known"));
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// What stands in parentheses, split at its commas, and what follows.
fn arguments(text: &str) -> (Vec<&str>, &str) {
    let Some(inner) = text.strip_prefix('(') else { return (Vec::new(), text) };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                found.push(inner[start..at].trim());
                return (found, &inner[at + 1..]);
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    (Vec::new(), text)
}

fn one(name: &str, arguments: &[&str], context: &Context) -> Result<Option<String>, String> {
    let time = context.time;
    let at = |millis: i64| format!("TIMESTAMP '{}'", moment(millis.saturating_mul(1_000_000)));
    let (from, to) = (at(time.from_millis), at(time.to_millis));
    let column = || {
        let first = arguments.first().filter(|argument| !argument.is_empty());
        first.copied().ok_or_else(|| format!("$__{name} needs a column: $__{name}(start_time)"))
    };
    let (from_secs, to_secs) = (time.from_millis / 1000, time.to_millis / 1000);
    Ok(Some(match name {
        "timeFilter" => format!("{0} >= {from} AND {0} <= {to}", column()?),
        "timeFrom" => from,
        "timeTo" => to,
        "time" => format!("{} AS \"time\"", column()?),
        "timeEpoch" => format!("extract(epoch from {}) AS \"time\"", column()?),
        "timeGroup" | "timeGroupAlias" => {
            let alias = if name == "timeGroupAlias" { " AS \"time\"" } else { "" };
            format!("{}{alias}", group(column()?, arguments, context)?)
        }
        "unixEpochFilter" => format!("{0} >= {from_secs} AND {0} <= {to_secs}", column()?),
        "unixEpochGroup" | "unixEpochGroupAlias" => {
            let alias = if name == "unixEpochGroupAlias" { " AS \"time\"" } else { "" };
            let (column, step) = (column()?, step(arguments, context)?);
            let secs = (step / 1000).max(1);
            format!("floor(({column}) / {secs}) * {secs}{alias}")
        }
        "unixEpochFrom" => from_secs.to_string(),
        "unixEpochTo" => to_secs.to_string(),
        _ => return Ok(None),
    }))
}

/// The length of the steps that times are grouped in.
fn step(arguments: &[&str], context: &Context) -> Result<i64, String> {
    let written = arguments.get(1).map(|argument| context.fill(argument, Style::Sql));
    let step = written.and_then(|written| parse(written.trim_matches(['\'', '"'])));
    step.ok_or_else(|| "a group needs a duration: $__timeGroup(start_time, '5m')".to_owned())
}

/// Times in steps.
fn group(column: &str, arguments: &[&str], context: &Context) -> Result<String, String> {
    let millis = step(arguments, context)?;
    Ok(format!("time_bucket(INTERVAL '{millis} milliseconds', {column})"))
}

#[cfg(test)]
mod tests {
    use kymo_dash::interpolate::{Held, TimeRange};

    use super::*;

    fn context(variables: &[(&str, &str)]) -> Context {
        let held = |(name, value): &(&str, &str)| ((*name).to_owned(), Held::one(*value));
        Context {
            time: TimeRange { from_millis: 1_000, to_millis: 2_500 },
            interval_millis: 60_000,
            variables: variables.iter().map(held).collect(),
            ..Context::default()
        }
    }

    #[test]
    fn macros_are_put_in() {
        let from = "TIMESTAMP '1970-01-01T00:00:01.000000000Z'";
        let to = "TIMESTAMP '1970-01-01T00:00:02.500000000Z'";
        for (query, expected) in [
            ("SELECT 1", "SELECT 1".to_owned()),
            (
                "WHERE $__timeFilter(start_time) AND a",
                format!("WHERE start_time >= {from} AND start_time <= {to} AND a"),
            ),
            ("$__timeFrom() $__timeTo()", format!("{from} {to}")),
            (
                "$__timeGroupAlias(f(a, b), '5m')",
                "time_bucket(INTERVAL '300000 milliseconds', f(a, b)) AS \"time\"".to_owned(),
            ),
            ("$__unixEpochFilter(t)", "t >= 1 AND t <= 2".to_owned()),
            ("$__unixEpochGroup(t, '5m')", "floor((t) / 300) * 300".to_owned()),
        ] {
            assert_eq!(filled(query, &context(&[])).unwrap(), expected);
        }
        for bad in ["$__timeFilter()", "$__unheardOf(a)", "$__timeGroup(a)"] {
            assert!(filled(bad, &context(&[])).is_err(), "{bad}");
        }
    }

    #[test]
    fn macros_and_variables_may_stand_within_each_other_and_values_are_values() {
        let with = context(&[
            ("column", "start_time"),
            ("step", "5m"),
            ("service", "x$__y"),
            ("other", "$__timeFrom()"),
        ]);
        for (query, expected) in [
            (
                "$__timeGroup($column, '$step')",
                "time_bucket(INTERVAL '300000 milliseconds', start_time)",
            ),
            ("$__timeGroup(t, $__interval)", "time_bucket(INTERVAL '60000 milliseconds', t)"),
            ("$__unixEpochGroup(${column}, '${step}')", "floor((start_time) / 300) * 300"),
            ("a = '$service' AND b = '$other'", "a = 'x$__y' AND b = '$__timeFrom()'"),
            ("$__interval_ms ${__from} $__to", "60000 1000 2500"),
        ] {
            assert_eq!(filled(query, &with).unwrap(), expected);
        }
    }
}
