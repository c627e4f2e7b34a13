//! Macros of Grafana's SQL data sources: `$__timeFilter(column)` and the like.

use kymo_dash::interpolate::TimeRange;
use kymo_dash::interpolate::interval::parse;

use crate::sql::moment;

/// A query with its macros put in.
pub(in crate::dashboards) fn expand(query: &str, time: TimeRange) -> Result<String, String> {
    let mut expanded = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(start) = rest.find("$__") {
        expanded.push_str(&rest[..start]);
        let name_length = rest[start + 3..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len() - start - 3);
        let name = &rest[start + 3..start + 3 + name_length];
        let after = &rest[start + 3 + name_length..];
        let (arguments, after) = arguments(after);
        match one(name, &arguments, time)? {
            Some(text) => expanded.push_str(&text),
            None => return Err(format!("the macro $__{name} is not known")),
        }
        rest = after;
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

fn one(name: &str, arguments: &[&str], time: TimeRange) -> Result<Option<String>, String> {
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
            format!("{}{alias}", group(column()?, arguments)?)
        }
        "unixEpochFilter" => format!("{0} >= {from_secs} AND {0} <= {to_secs}", column()?),
        "unixEpochGroup" | "unixEpochGroupAlias" => {
            let alias = if name == "unixEpochGroupAlias" { " AS \"time\"" } else { "" };
            let (column, step) = (column()?, step(arguments)?);
            let secs = (step / 1000).max(1);
            format!("floor(({column}) / {secs}) * {secs}{alias}")
        }
        "unixEpochFrom" => from_secs.to_string(),
        "unixEpochTo" => to_secs.to_string(),
        _ => return Ok(None),
    }))
}

/// The length of the steps that times are grouped in.
fn step(arguments: &[&str]) -> Result<i64, String> {
    let written = arguments.get(1).map(|argument| argument.trim_matches(['\'', '"']));
    let step = written.and_then(parse);
    step.ok_or_else(|| "a group needs a duration: $__timeGroup(start_time, '5m')".to_owned())
}

/// Times in steps.
fn group(column: &str, arguments: &[&str]) -> Result<String, String> {
    let millis = step(arguments)?;
    Ok(format!("time_bucket(INTERVAL '{millis} milliseconds', {column})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_put_in() {
        let time = TimeRange { from_millis: 1_000, to_millis: 2_500 };
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
            assert_eq!(expand(query, time).unwrap(), expected);
        }
        for bad in ["$__timeFilter()", "$__unheardOf(a)", "$__timeGroup(a)"] {
            assert!(expand(bad, time).is_err(), "{bad}");
        }
    }
}
