//! Groups of the spans that match, with what is computed of each: one query for each aggregate,
//! joined by their groups.

use std::collections::HashMap;

use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_traceql::ast::{Attribute, Body, Metrics, MetricsFunction, Query};
use kymo_traceql::metrics::Series;
use kymo_traceql::parse_attribute;
use kymo_traceql::value::OwnedValue;

use super::aggregate::Aggregate;
use super::ask::Asker;
use crate::failure::Failure;
use crate::frame::{Frame, Reader};
use crate::sql::answer::Answer;
use crate::times::TimeArgs;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    by: Vec<Attribute>,
    aggregates: Vec<Aggregate>,
    /// One for each aggregate.
    queries: Vec<Query>,
    /// Groups to show.
    limit: Option<usize>,
}

impl Asked {
    pub(super) fn new(
        query: Query,
        by: &[String],
        aggregates: &[Aggregate],
        limit: Option<usize>,
    ) -> Result<Self, Failure> {
        let Body::Spans(pipeline) = query.body else {
            let hint = "take it away, or --group-by and --agg";
            return Err(Failure::Usage(format!("the query has a function of its own: {hint}")));
        };
        let mut attributes: Vec<Attribute> = Vec::new();
        for text in by {
            let attribute = parse_attribute(text.trim()).map_err(|error| {
                let example = "resource.service.name or name";
                let why = error.message();
                Failure::Usage(format!(
                    "--group-by {text:?} is no attribute ({why}): as in {example}"
                ))
            })?;
            if !attributes.contains(&attribute) {
                attributes.push(attribute);
            }
        }
        let aggregates = match aggregates {
            [] => vec![Aggregate::count()],
            some => some.to_vec(),
        };
        let queries: Result<Vec<Query>, Failure> = aggregates
            .iter()
            .map(|aggregate| {
                let metrics = Metrics::Query {
                    pipeline: pipeline.clone(),
                    function: aggregate.function.clone(),
                    by: attributes.clone(),
                    stages: Vec::new(),
                };
                let query = Query { body: Body::Metrics(metrics), hints: query.hints.clone() };
                // What was put together has to be a query as well.
                kymo_traceql::parse(&query.to_string()).map_err(|error| {
                    let name = &aggregate.name;
                    Failure::Usage(format!("{name} cannot be computed of this query: {error}"))
                })
            })
            .collect();
        Ok(Self { by: attributes, aggregates, queries: queries?, limit })
    }
}

/// Asks for groups.
pub(super) fn find(
    asker: &Asker<'_>,
    asked: &Asked,
    times: &TimeArgs,
    reader: Reader,
) -> Result<Answer<'static>, Failure> {
    let range = times.series_range()?;
    let mut found = Vec::new();
    for query in &asked.queries {
        found.push(asker.series(MetricsQuery {
            query: query.clone(),
            start_nanos: range.start,
            end_nanos: range.end,
            points: Points::One,
            exemplars: 0,
        })?);
    }
    let names: Vec<String> = asked.by.iter().map(ToString::to_string).collect();
    let mut groups = joined(&names, &found);
    // The largest first.
    groups.sort_by(|one, other| {
        let first = |group: &Group| group.values.first().copied().flatten();
        let order = first(other).partial_cmp(&first(one));
        order.unwrap_or(std::cmp::Ordering::Equal).then_with(|| one.key.cmp(&other.key))
    });
    groups.truncate(asked.limit.unwrap_or(usize::MAX));
    frame(asked, &names, &groups, reader)
}

/// A group.
#[derive(Debug)]
struct Group {
    /// What tells it from others, as text.
    key: Vec<String>,
    labels: Vec<Option<OwnedValue>>,
    /// One for each aggregate, if it has one.
    values: Vec<Option<f64>>,
}

/// Joins answers by the values that they are grouped by.
fn joined(names: &[String], answers: &[Vec<Series>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    for (nth, answer) in answers.iter().enumerate() {
        for series in answer {
            let labels: Vec<Option<OwnedValue>> =
                names.iter().map(|name| label(series, name)).collect();
            let key: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
            let place = *places.entry(key.clone()).or_insert_with(|| {
                groups.push(Group { key, labels, values: vec![None; answers.len()] });
                groups.len() - 1
            });
            let value = series.points.first().map(|(_, value)| *value);
            if let Some(slot) = groups.get_mut(place).and_then(|group| group.values.get_mut(nth)) {
                *slot = value.filter(|value| !value.is_nan());
            }
        }
    }
    groups
}

/// What a series is grouped by; none if its spans have no such attribute, which is said as `nil`.
fn label(series: &Series, name: &str) -> Option<OwnedValue> {
    let (_, value) = series.labels.iter().find(|(found, _)| found == name)?;
    match value {
        OwnedValue::Nil => None,
        OwnedValue::Text(text) if text == "nil" => None,
        value => Some(value.clone()),
    }
}

fn frame(
    asked: &Asked,
    names: &[String],
    groups: &[Group],
    reader: Reader,
) -> Result<Answer<'static>, Failure> {
    let mut frame = Frame::new(reader);
    for (nth, name) in names.iter().enumerate() {
        let labels = groups.iter().map(|group| group.labels.get(nth).and_then(Option::as_ref));
        frame.values(name, labels.collect());
    }
    for (nth, aggregate) in asked.aggregates.iter().enumerate() {
        let values: Vec<Option<f64>> =
            groups.iter().map(|group| group.values.get(nth).copied().flatten()).collect();
        match aggregate.function {
            MetricsFunction::CountOverTime if !reader.is_person() => {
                let counts = values.iter().map(|value| value.map(|value| value as i64));
                frame.integers(&aggregate.name, counts.collect());
            }
            _ => frame.numbers(&aggregate.name, aggregate.unit(), values),
        }
    }
    if reader.is_terminal() {
        let values: Vec<_> =
            groups.iter().map(|group| group.values.first().copied().flatten()).collect();
        frame.bars(&values);
    }
    frame.answer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::json::Objects;
    use crate::sql::table::Table;

    fn asked(query: &str, by: &[&str], aggregates: &[&str]) -> Result<Asked, Failure> {
        let by: Vec<String> = by.iter().map(|text| (*text).to_owned()).collect();
        let aggregates: Vec<Aggregate> =
            aggregates.iter().map(|text| text.parse().unwrap()).collect();
        Asked::new(kymo_traceql::parse(query).unwrap(), &by, &aggregates, None)
    }

    fn series(label: Option<&str>, value: f64) -> Series {
        let label = label.map_or(OwnedValue::Nil, |text| OwnedValue::Text(text.to_owned()));
        Series {
            labels: vec![("resource.team".to_owned(), label)],
            points: vec![(0, value)],
            exemplars: Vec::new(),
        }
    }

    #[test]
    fn each_aggregate_is_a_query() {
        let asked = asked(
            "{ resource.team != nil }",
            &["resource.team", "name", "name"],
            &["sum(duration)", "p50(span.size)"],
        );
        let texts: Vec<String> = asked.unwrap().queries.iter().map(Query::to_string).collect();
        assert_eq!(
            texts,
            [
                "{ resource.team != nil } | sum_over_time(duration) by (resource.team, name)",
                "{ resource.team != nil } | quantile_over_time(span.size, 0.5) by (resource.team, name)",
            ]
        );
        assert!(asked_error("{ } | rate()", &[]).contains("function of its own"));
        assert!(asked_error("{ }", &["no such thing"]).contains("is no attribute"));
    }

    fn asked_error(query: &str, by: &[&str]) -> String {
        asked(query, by, &["count()"]).unwrap_err().to_string()
    }

    #[test]
    fn groups_are_joined_and_shown() {
        let asked = asked("{ }", &["resource.team"], &["sum(duration)", "count()"]).unwrap();
        let names = vec!["resource.team".to_owned()];
        let answers = [
            vec![series(Some("ml"), 7260.0), series(None, 0.5)],
            vec![series(Some("ml"), 3.0), series(Some("web"), 1.0), series(Some("nil"), 2.0)],
        ];
        let groups = joined(&names, &answers);
        let answer = frame(&asked, &names, &groups, Reader::Person { columns: None }).unwrap();
        assert_eq!(
            written(answer, &mut Table::new(None)),
            "\
resource.team  sum(duration)  count()
ml                    2.02 h        3
NULL                  500 ms        2
web            NULL                 1
(3 rows)
"
        );
        let answer = frame(&asked, &names, &groups, Reader::Program).unwrap();
        let rows: serde_json::Value =
            serde_json::from_str(&written(answer, &mut Objects::array())).unwrap();
        let first =
            serde_json::json!({"resource.team": "ml", "sum(duration)": 7260.0, "count()": 3});
        assert_eq!(rows[0], first);
    }
}
