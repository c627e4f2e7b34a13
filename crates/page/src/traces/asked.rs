//! Parameters, and queries with what is added to them.

use std::ops::Range;

use kymo_engine::traceql::{Cursor, Search, Sort};
use kymo_traceql::ast::{Attribute, Body, Intrinsic, Name, Pipeline, Stage};
use kymo_traceql::{Query, QueryError};
use serde::Deserialize;

use super::limits::{SEARCH_MAX_SPANS, SEARCH_MAX_TRACES, SEARCH_SPANS, SEARCH_TRACES, SELECT_MAX};
use crate::answer::{Failed, Position};
use crate::times;

/// Parameters of all paths.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    pub(super) q: Option<String>,
    pub(super) qb: Option<String>,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
    pub(super) startb: Option<String>,
    pub(super) endb: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) spss: Option<usize>,
    pub(super) sort: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) select: Option<String>,
    pub(super) keys: Option<String>,
}

impl Parameters {
    /// The search that is asked for.
    pub(super) fn search(&self) -> Result<Search, Failed> {
        let mut query = parse(self.q.as_deref())?;
        let selected = self.selected()?.into_iter().map(|(_, attribute)| attribute);
        let mut selected: Vec<Attribute> = selected.collect();
        if !selected.is_empty() || matches!(query.body, Body::Spans(_)) {
            // People know spans by their names.
            selected.push(Attribute { of_parent: false, name: Name::Intrinsic(Intrinsic::Name) });
            spans_of(&mut query)?.stages.push(Stage::Select(selected));
        }
        let limit = self.limit.unwrap_or(SEARCH_TRACES);
        if !(1..=SEARCH_MAX_TRACES).contains(&limit) {
            let message = format!("limit is {limit}: expected 1 to {SEARCH_MAX_TRACES}");
            return Err(Failed::Invalid(message));
        }
        let after = self.cursor.as_deref().filter(|cursor| !cursor.is_empty());
        let after = after.map(|text| {
            let invalid = || Failed::Invalid("cursor is not what another search gave".into());
            Cursor::parse(text).ok_or_else(invalid)
        });
        Ok(Search {
            query,
            time: time(self.start.as_deref(), self.end.as_deref())?,
            limit,
            spans_per_set: self.spss.unwrap_or(SEARCH_SPANS).min(SEARCH_MAX_SPANS),
            sort: self.sort()?,
            after: after.transpose()?,
        })
    }

    /// The attributes that spans are to be answered with, each as it was asked for.
    pub(super) fn selected(&self) -> Result<Vec<(&str, Attribute)>, Failed> {
        attributes("select", self.select.as_deref(), SELECT_MAX)
    }

    fn sort(&self) -> Result<Sort, Failed> {
        match self.sort.as_deref() {
            None | Some("" | "newest") => Ok(Sort::Newest),
            Some("start") => Ok(Sort::Start),
            Some("duration") => Ok(Sort::Duration),
            Some("spans") => Ok(Sort::Spans),
            Some(other) => Err(Failed::Invalid(format!(
                "sort is {other:?}: expected newest, start, duration or spans"
            ))),
        }
    }
}

/// The time between two moments; `None` for all.
pub(super) fn time(start: Option<&str>, end: Option<&str>) -> Result<Option<Range<i64>>, Failed> {
    let given = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    if !given(start) && !given(end) {
        return Ok(None);
    }
    let start = start.filter(|text| !text.is_empty());
    let end = end.filter(|text| !text.is_empty());
    times::range(start, end, i64::MAX).map(Some)
}

/// Reads a query. What is wrong with it is told with its place.
pub(super) fn parse(text: Option<&str>) -> Result<Query, Failed> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{ }");
    kymo_traceql::parse(text).map_err(|error| failed(text, &error))
}

fn failed(text: &str, error: &QueryError) -> Failed {
    match error.position() {
        Some(at) => Failed::Query {
            message: error.message().to_owned(),
            position: Position::of(text, at.line, at.column),
        },
        None => Failed::Invalid(error.to_string()),
    }
}

/// What of a query says which spans.
pub(super) fn spans_of(query: &mut Query) -> Result<&mut Pipeline, Failed> {
    match &mut query.body {
        Body::Spans(pipeline) => Ok(pipeline),
        Body::Metrics(_) => Err(Failed::Invalid(
            "the query asks for series: expected one for spans, as { status = error }".into(),
        )),
    }
}

/// Attributes with commas between them, each as it was written and as it was read.
pub(super) fn attributes<'t>(
    name: &str,
    text: Option<&'t str>,
    max: usize,
) -> Result<Vec<(&'t str, Attribute)>, Failed> {
    let keys = split(text.unwrap_or_default());
    if keys.len() > max {
        return Err(Failed::Invalid(format!(
            "{name} has {} attributes: expected at most {max}",
            keys.len()
        )));
    }
    let parse = |key: &'t str| match kymo_traceql::parse_attribute(key) {
        Ok(attribute) => Ok((key, attribute)),
        Err(error) => {
            Err(Failed::Invalid(format!("{name} has {key:?}, which is no attribute: {error}")))
        }
    };
    keys.into_iter().map(parse).collect()
}

/// The parts of a text between commas, without those that are empty. A comma in a quoted name is none.
fn split(text: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_between = |letter: char| {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        letter == ',' && !is_quoted
    };
    text.split(is_between).map(str::trim).filter(|key| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quoted_names_divide_nothing() {
        let text = r#" name, span."a,b" ,,span."say \",\"",.c"#;
        assert_eq!(split(text), ["name", r#"span."a,b""#, r#"span."say \",\"""#, ".c"]);
        assert_eq!(split(r#"span."a,b"#), [r#"span."a,b"#]);
        assert_eq!(split(" , "), [""; 0]);
    }
}
