//! Results as a table: for people a line for each series, for programs a row for each point.

use std::collections::BTreeSet;

use kymo_report::spark;

use super::answer::{Found, Histogram, Series};
use super::ask::Moments;
use crate::failure::Failure;
use crate::frame::{Frame, Reader, Unit, readable};
use crate::sql::answer::Answer;

/// The label that is a metric's name.
const NAME: &str = "__name__";
/// Columns of a drawing of a histogram.
const HISTOGRAM_COLUMNS: usize = 20;
/// Points of samples as they are stored that are told apart in a drawing.
const DRAWN_SAMPLES: i64 = 1000;

/// A table of what was found.
pub(super) fn table(
    found: &Found,
    moments: &Moments,
    reader: Reader,
) -> Result<Answer<'static>, Failure> {
    let mut frame = Frame::new(reader);
    match found {
        Found::Number(time, number) => {
            frame.times("time", vec![*time]);
            frame.numbers("value", Unit::None, vec![Some(*number)]);
        }
        Found::Text(time, text) => {
            frame.times("time", vec![*time]);
            frame.texts("value", vec![Some(text.clone())]);
        }
        Found::Series(series) if reader.is_person() => lines(series, moments, &mut frame),
        Found::Series(series) => points(series, &mut frame),
    }
    frame.answer()
}

/// A line for each series.
fn lines(series: &[Series], moments: &Moments, frame: &mut Frame) {
    let names = label_names(series);
    let have_same_labels = series.iter().all(|series| series.labels.len() == names.len());
    if have_same_labels {
        for name in &names {
            let values = series.iter().map(|series| Some(series.label(name).to_owned()));
            frame.texts(if *name == NAME { "metric" } else { name }, values.collect());
        }
    } else {
        frame.texts("series", series.iter().map(|series| Some(text_of(series))).collect());
    }
    let is_one_each = moments.is_one() && series.iter().all(|series| series.points.len() <= 1);
    if series.iter().all(|series| series.points.is_empty()) && !series.is_empty() {
        // Nothing but histograms.
    } else if is_one_each {
        frame.measures("value", Unit::None, series.iter().map(Series::last).collect());
    } else {
        let all: Vec<&[(i64, f64)]> = series.iter().map(|series| &*series.points).collect();
        let step = if moments.is_one() { sample_step(&all) } else { moments.step_nanos() };
        frame.runs(&all, Unit::None, step);
    }
    if series.iter().any(|series| !series.histograms.is_empty()) {
        let last =
            |series: &Series| series.histograms.last().map(|(_, histogram)| described(histogram));
        frame.texts("histogram", series.iter().map(last).collect());
    }
}

/// Time between samples as they are stored, roughly.
fn sample_step(series: &[&[(i64, f64)]]) -> i64 {
    let gaps = series.iter().flat_map(|points| points.windows(2)).map(|two| two[1].0 - two[0].0);
    let times = || series.iter().flat_map(|points| points.iter()).map(|(time, _)| *time);
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0);
    gaps.min().unwrap_or(1).max(span / DRAWN_SAMPLES).max(1)
}

/// A row for each point.
fn points(series: &[Series], frame: &mut Frame) {
    type Value<'a> = Result<f64, &'a Histogram>;
    let mut rows: Vec<(&Series, i64, Value<'_>)> = Vec::new();
    for one in series {
        let first = rows.len();
        rows.extend(one.points.iter().map(|(time, number)| (one, *time, Ok(*number))));
        let histograms = one.histograms.iter();
        rows.extend(histograms.map(|(time, histogram)| (one, *time, Err(histogram))));
        rows[first..].sort_by_key(|(_, time, _)| *time);
    }
    for name in label_names(series) {
        let value = |series: &Series| series.labels.get(name).cloned();
        frame.texts(name, rows.iter().map(|(series, ..)| value(series)).collect());
    }
    frame.times("time", rows.iter().map(|(_, time, _)| *time).collect());
    frame.numbers("value", Unit::None, rows.iter().map(|(.., value)| value.ok()).collect());
    if rows.iter().any(|(.., value)| value.is_err()) {
        let text = |value: &Value<'_>| serde_json::to_string(value.err()?).ok();
        frame.texts("histogram", rows.iter().map(|(.., value)| text(value)).collect());
    }
}

/// Names of all labels, the metric's first.
fn label_names(series: &[Series]) -> Vec<&str> {
    let names: BTreeSet<&str> =
        series.iter().flat_map(|series| series.labels.keys().map(String::as_str)).collect();
    let metric = names.get(NAME).copied();
    metric.into_iter().chain(names.iter().copied().filter(|name| *name != NAME)).collect()
}

/// A series as it is written in PromQL.
pub(super) fn text_of(series: &Series) -> String {
    let others = series.labels.iter().filter(|(name, _)| *name != NAME);
    let others: Vec<String> = others.map(|(name, value)| format!("{name}={value:?}")).collect();
    match (series.label(NAME), others.is_empty()) {
        ("", _) | (_, false) => format!("{}{{{}}}", series.label(NAME), others.join(", ")),
        (name, true) => name.to_owned(),
    }
}

/// A native histogram in a few words, with a drawing of its buckets.
fn described(histogram: &Histogram) -> String {
    let number = |text: &str| text.parse().unwrap_or(f64::NAN);
    let shown = |text: &str| readable(number(text), Unit::None);
    let mut text = format!("count {}, sum {}", shown(&histogram.count), shown(&histogram.sum));
    if let [(_, low, ..), ..] = &*histogram.buckets
        && let [.., (_, _, high, _)] = &*histogram.buckets
    {
        let counts: Vec<_> = histogram.buckets.iter().map(|b| Some(number(&b.3))).collect();
        let drawn = spark::line(&counts, HISTOGRAM_COLUMNS);
        text.push_str(&format!(", {} {drawn} {}", shown(low), shown(high)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::json::Objects;
    use crate::sql::table::Table;
    use kymo_server::format::Csv;

    const SECOND: i64 = 1_000_000_000;
    const TERMINAL: Reader = Reader::Person { columns: Some(120) };

    fn series(labels: &[(&str, &str)], points: &[(i64, f64)]) -> Series {
        Series {
            labels: labels.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            points: points.iter().map(|(secs, number)| (secs * SECOND, *number)).collect(),
            histograms: Vec::new(),
        }
    }

    fn shown(found: Vec<Series>, moments: &Moments, reader: Reader) -> String {
        let table = table(&Found::Series(found), moments, reader).unwrap();
        written(table, &mut Table::new(None))
    }

    #[test]
    fn series_with_the_same_labels_have_columns_of_them() {
        let found = vec![
            series(&[(NAME, "up"), ("job", "a")], &[(5, 1.0)]),
            series(&[(NAME, "up"), ("job", "b")], &[(5, 0.5)]),
        ];
        let expected = "\
metric  job  value
up      a        1  ████████████████████
up      b      0.5  ██████████
(2 rows)
";
        assert_eq!(shown(found, &Moments::at(5000), TERMINAL), expected);
    }

    #[test]
    fn series_with_other_labels_are_written_as_in_promql() {
        let found = vec![
            series(&[(NAME, "up"), ("job", "a\"b")], &[(5, 1.0)]),
            series(&[("le", "0.5")], &[(5, 2.0)]),
            series(&[(NAME, "x")], &[(5, 2.0)]),
        ];
        let text = shown(found, &Moments::at(5000), Reader::Person { columns: None });
        for expected in ["up{job=\"a\\\"b\"}", "{le=\"0.5\"}", "\nx "] {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn samples_over_time_are_summed_up_and_drawn() {
        let found = vec![series(&[("job", "a")], &[(0, 1.0), (1, 2.0), (3, 4.0)])];
        let text = shown(found, &Moments::at(5000), TERMINAL);
        assert!(text.contains("min") && text.contains("2.333"), "{text}");
        assert!(text.contains("▃▅ █"), "{text}");
    }

    #[test]
    fn programs_get_a_row_for_each_point_and_histograms_as_json() {
        let mut one = series(&[("b", "1"), (NAME, "m")], &[(2, 1.5)]);
        let histogram = r#"{"count":"3","sum":"4","buckets":[[0,"1","2","1"],[0,"2","4","2"]]}"#;
        one.histograms = vec![(SECOND, serde_json::from_str(histogram).unwrap())];
        let two = series(&[("a", "x")], &[(2, f64::NAN)]);
        let found = Found::Series(vec![one, two]);
        let table = |reader| super::table(&found, &Moments::at(2000), reader).unwrap();
        let csv = written(table(Reader::Program), &mut Csv);
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows[0], "__name__,a,b,time,value,histogram");
        assert!(rows[1].starts_with("m,,1,1970-01-01T00:00:01.000000000Z,,\"{"), "{csv}");
        assert!(rows[2].starts_with("m,,1,1970-01-01T00:00:02.000000000Z,1.5,"), "{csv}");
        let json = written(table(Reader::Program), &mut Objects::array());
        let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(rows[1]["value"], 1.5);
        let text = written(table(TERMINAL), &mut Table::new(None));
        assert!(text.contains("count 3, sum 4, 1 ▅█ 4"), "{text}");
    }

    #[test]
    fn nothing_found_is_an_empty_table() {
        let text = shown(Vec::new(), &Moments::at(0), TERMINAL);
        assert!(text.ends_with("(0 rows)\n"), "{text}");
    }
}
