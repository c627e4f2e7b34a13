//! Series of numbers as a table: for people a line for each series, with a drawing if there is a
//! terminal; for programs a row for each point.

use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_traceql::ast::{Body, Metrics, Query};
use kymo_traceql::metrics::Series;
use kymo_traceql::value::OwnedValue;

use super::aggregate::unit_of;
use super::ask::Asker;
use crate::failure::Failure;
use crate::frame::{Frame, Reader, Unit};
use crate::sql::answer::Answer;
use crate::times::TimeArgs;

/// The label of a series that was not grouped by anything.
const FUNCTION: &str = "__name__";

/// Asks for series, of points or of one number each.
pub(super) fn find(
    asker: &Asker<'_>,
    query: Query,
    times: &TimeArgs,
    is_instant: bool,
    reader: Reader,
) -> Result<Answer<'static>, Failure> {
    let range = times.series_range()?;
    let unit = match &query.body {
        Body::Metrics(Metrics::Query { function, .. }) => unit_of(function),
        _ => Unit::None,
    };
    let step_nanos = (!is_instant).then(|| times.step(&range));
    let found = asker.series(MetricsQuery {
        query,
        start_nanos: range.start,
        end_nanos: range.end,
        points: step_nanos.map_or(Points::One, Points::Every),
        exemplars: 0,
    })?;
    match (reader.is_person(), step_nanos) {
        (true, Some(step)) => lines(&found, unit, step, reader),
        (true, None) => numbers(&found, unit, reader),
        (false, _) => points(&found, is_instant),
    }
}

/// Names of labels in the order in which they come.
fn label_names(series: &[Series]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in series.iter().flat_map(|series| &series.labels) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn label<'a>(series: &'a Series, name: &str) -> Option<&'a OwnedValue> {
    series.labels.iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn add_labels(frame: &mut Frame, rows: &[&Series], names: &[&str], reader: Reader) {
    for name in names {
        let values = rows.iter().map(|series| label(series, name)).collect();
        let shown = if *name == FUNCTION && reader.is_person() { "function" } else { name };
        frame.values(shown, values);
    }
}

/// A row for each point.
fn points(series: &[Series], is_instant: bool) -> Result<Answer<'static>, Failure> {
    let rows: Vec<(&Series, i64, f64)> = series
        .iter()
        .flat_map(|series| series.points.iter().map(move |(time, value)| (series, *time, *value)))
        .collect();
    let mut frame = Frame::new(Reader::Program);
    let of_rows: Vec<&Series> = rows.iter().map(|(series, ..)| *series).collect();
    add_labels(&mut frame, &of_rows, &label_names(series), Reader::Program);
    if !is_instant {
        frame.times("time", rows.iter().map(|(_, time, _)| *time).collect());
    }
    frame.numbers("value", Unit::None, rows.iter().map(|(.., value)| Some(*value)).collect());
    frame.answer()
}

/// A line for each series of one number, with a bar.
fn numbers(series: &[Series], unit: Unit, reader: Reader) -> Result<Answer<'static>, Failure> {
    let value = |series: &&Series| series.points.first().map(|(_, value)| *value);
    let rows: Vec<&Series> = series.iter().collect();
    let values: Vec<Option<f64>> = rows.iter().map(value).collect();
    let mut frame = Frame::new(reader);
    add_labels(&mut frame, &rows, &label_names(series), reader);
    frame.measures("value", unit, values);
    frame.answer()
}

/// A line for each series of points: what they are at least, at most and on average, and how they
/// run.
fn lines(
    series: &[Series],
    unit: Unit,
    step_nanos: i64,
    reader: Reader,
) -> Result<Answer<'static>, Failure> {
    let rows: Vec<&Series> = series.iter().collect();
    let mut frame = Frame::new(reader);
    add_labels(&mut frame, &rows, &label_names(series), reader);
    let points: Vec<&[(i64, f64)]> = series.iter().map(|series| &*series.points).collect();
    frame.runs(&points, unit, step_nanos);
    frame.answer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::json::Objects;
    use crate::sql::table::Table;
    use kymo_server::format::Csv;

    const STEP: i64 = 60_000_000_000;
    const TERMINAL: Reader = Reader::Person { columns: Some(120) };
    const PIPE: Reader = Reader::Person { columns: None };

    fn series() -> Vec<Series> {
        let series = |service: &str, points: &[(i64, f64)]| Series {
            labels: vec![(
                "resource.service.name".to_owned(),
                OwnedValue::Text(service.to_owned()),
            )],
            points: points.iter().map(|(nth, value)| (nth * STEP, *value)).collect(),
            exemplars: Vec::new(),
        };
        vec![
            series("shop", &[(0, 0.0), (1, 0.5), (2, 1.0), (3, 0.25)]),
            series("billing", &[(1, 0.002), (3, 0.004)]),
        ]
    }

    #[test]
    fn a_terminal_shows_how_series_run() {
        let answer = lines(&series(), Unit::Seconds, STEP, TERMINAL).unwrap();
        assert_eq!(
            written(answer, &mut Table::new(None)),
            "\
resource.service.name  min      avg      max      last
shop                      0 ns   438 ms   1.00 s   250 ms  ▁▅█▃
billing                2.00 ms  3.00 ms  4.00 ms  4.00 ms   ▅ █
(2 rows)
"
        );
        let answer = lines(&series(), Unit::None, STEP, PIPE).unwrap();
        let shown = written(answer, &mut Table::new(None));
        assert!(!shown.contains('█') && shown.contains("0.4375"), "{shown}");
    }

    #[test]
    fn one_number_has_a_bar_on_a_terminal_only() {
        let mut series = series();
        series.iter_mut().for_each(|series| series.points = vec![(0, series.points[1].1)]);
        let answer = numbers(&series, Unit::None, TERMINAL).unwrap();
        let shown = written(answer, &mut Table::new(None));
        assert!(shown.contains("████████████████████"), "{shown}");
        let answer = numbers(&series, Unit::None, PIPE).unwrap();
        assert!(!written(answer, &mut Table::new(None)).contains('█'));
    }

    #[test]
    fn programs_get_a_row_for_each_point() {
        let text = written(points(&series(), false).unwrap(), &mut Csv);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], "resource.service.name,time,value");
        assert_eq!(rows[2], "shop,1970-01-01T00:01:00.000000000Z,0.5");
        assert_eq!(rows.len(), 7);
        let text = written(points(&series(), true).unwrap(), &mut Objects::array());
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(rows[1], serde_json::json!({"resource.service.name": "shop", "value": 0.5}));
    }

    #[test]
    fn no_series_are_an_empty_table() {
        let answer = lines(&[], Unit::None, STEP, TERMINAL).unwrap();
        assert!(written(answer, &mut Table::new(None)).ends_with("(0 rows)\n"));
    }
}
