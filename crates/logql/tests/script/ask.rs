//! Asks queries, each in several ways that must give the same: in order by one worker that is
//! given everything; backwards by two that are given what the plan needs; by workers that need
//! not test what was tested here; and counted, where the plan wants no more than that.

use std::collections::BTreeMap;

use kymo_logql::ast::LabelFilter;
use kymo_logql::entry::Entry;
use kymo_logql::error::EvalError;
use kymo_logql::labels::Labels;
use kymo_logql::parser::parse;
use kymo_logql::plan::{Found, Leaf, LogPlan, MetricPlan, Plan, Value, plan};
use kymo_logql::request::{Request, Times};
use kymo_logql::selection::{Needs, Selection, Test, Tested};
use kymo_logql::units::format_go_duration;

use super::parse::{Case, Kind, Line, Script};

/// The answers of all cases.
pub(crate) fn run(script: &Script) -> Vec<Vec<String>> {
    script.cases.iter().map(answer).collect()
}

fn answer(case: &Case) -> Vec<String> {
    let expr = match parse(&case.query) {
        Ok(expr) => expr,
        Err(error) => return vec![format!("fails: {error}")],
    };
    let again = parse(&expr.to_string()).unwrap_or_else(|error| panic!("{expr}: {error}"));
    assert_eq!(again.to_string(), expr.to_string(), "a query prints as it reads");
    let Kind::Ask { request, is_categorized } = case.kind else {
        return kymo_logql::print::pretty(&expr).lines().map(str::to_owned).collect();
    };
    match plan(&expr, &request) {
        Err(error) => vec![format!("fails: {error}")],
        Ok(Plan::Log(plan)) => log_answer(case, &plan, is_categorized),
        Ok(Plan::Metric(plan)) => metric_answer(case, &plan, &request),
    }
}

/// How a query is asked.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Plain,
    Needed,
    Tested,
    Counted,
}

fn log_answer(case: &Case, plan: &LogPlan, is_categorized: bool) -> Vec<String> {
    let ask = |way: Way| {
        let tested = if way == Way::Tested { Tested::Exact } else { Tested::No };
        let mut workers = [plan.worker(tested), plan.worker(tested)];
        feed(plan.selection(), &case.lines, way, &mut |nth, entry| {
            workers[nth].push(entry).map(drop)
        })?;
        let found = plan.finish(workers.into())?;
        Ok(found.entries.iter().map(|found| shown_line(found, is_categorized)).collect())
    };
    same_in([Way::Plain, Way::Needed, Way::Tested], ask)
}

fn metric_answer(case: &Case, plan: &MetricPlan, request: &Request) -> Vec<String> {
    let ask = |way: Way| {
        let mut all = Vec::new();
        for leaf in plan.leaves() {
            let tested = if way == Way::Tested { Tested::Exact } else { Tested::No };
            let mut workers = vec![leaf.worker(tested), leaf.worker(tested)];
            if way == Way::Counted && leaf.counting().is_some() {
                count(leaf, &case.lines, &mut workers[0])?;
            } else {
                feed(leaf.selection(), &case.lines, way, &mut |nth, entry| {
                    workers[nth].push(entry)
                })?;
            }
            all.push(workers);
        }
        plan.finish(all).map(|value| shown_value(value, request))
    };
    same_in([Way::Plain, Way::Needed, Way::Tested, Way::Counted], ask)
}

fn same_in<const N: usize>(
    ways: [Way; N],
    ask: impl Fn(Way) -> Result<Vec<String>, EvalError>,
) -> Vec<String> {
    let answers = ways.map(|way| match ask(way) {
        Ok(lines) => lines,
        // Which of several lines fails first depends on the order.
        Err(error) => vec![format!("fails: {}", error.to_string().replace("\n", " "))],
    });
    for (way, answer) in ways.iter().zip(&answers) {
        let is_failure = |answer: &[String]| answer.iter().any(|line| line.starts_with("fails: "));
        if is_failure(answer) && is_failure(&answers[0]) {
            continue;
        }
        assert_eq!(answer, &answers[0], "{way:?}");
    }
    answers.into_iter().next().unwrap_or_default()
}

fn is_selected(selection: &Selection, line: &Line) -> bool {
    let matches = selection
        .matchers
        .iter()
        .all(|matcher| matcher.matches(line.stream.get(&matcher.name).unwrap_or_default()));
    matches && selection.start_nanos <= line.time_nanos && line.time_nanos < selection.end_nanos
}

/// Whether a stored line fulfils the conditions; only exact ones, or all of them.
fn fulfils(selection: &Selection, line: &Line, wants_all: bool) -> bool {
    selection
        .conditions
        .iter()
        .filter(|condition| wants_all || condition.is_exact)
        .all(|condition| fulfils_test(&condition.test, line))
}

fn fulfils_test(test: &Test, line: &Line) -> bool {
    let contains = |text: &String| line.line.contains(text.as_str());
    let matches = |regex: &String| regex::Regex::new(regex).unwrap().is_match(&line.line);
    match test {
        Test::ContainsAny(texts) => texts.iter().any(contains),
        Test::ContainsNone(texts) => !texts.iter().any(contains),
        Test::MatchesAny(regexes) => regexes.iter().any(matches),
        Test::MatchesNone(regexes) => !regexes.iter().any(matches),
        Test::Labels(filter) => fulfils_filter(filter, line),
    }
}

fn fulfils_filter(filter: &LabelFilter, line: &Line) -> bool {
    match filter {
        LabelFilter::Text(matcher) => {
            let metadata = line.metadata.iter().find(|(name, _)| *name == matcher.name);
            let metadata = metadata.map(|(_, value)| value.as_str());
            let value = line.stream.get(&matcher.name).or(metadata);
            matcher.matches(value.unwrap_or_default())
        }
        LabelFilter::And(left, right) => fulfils_filter(left, line) && fulfils_filter(right, line),
        LabelFilter::Or(left, right) => fulfils_filter(left, line) || fulfils_filter(right, line),
        // Numbers are compared by the pipeline; they are never exact.
        _ => true,
    }
}

fn feed(
    selection: &Selection,
    lines: &[Line],
    way: Way,
    push: &mut dyn FnMut(usize, &Entry<'_>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let numbered: Vec<(usize, &Line)> = match way {
        Way::Plain => lines.iter().enumerate().collect(),
        _ => lines.iter().enumerate().rev().collect(),
    };
    for (nth, line) in numbered {
        if !is_selected(selection, line) {
            continue;
        }
        let needs = match way {
            Way::Plain | Way::Counted => None,
            Way::Needed if !fulfils(selection, line, true) => continue,
            Way::Tested if !fulfils(selection, line, false) => continue,
            Way::Needed => Some(&selection.needs),
            Way::Tested => Some(&selection.needs_if_tested),
        };
        let worker = if way == Way::Plain { 0 } else { nth % 2 };
        push_needed(nth, line, needs, &mut |entry| push(worker, entry))?;
    }
    Ok(())
}

fn push_needed(
    nth: usize,
    line: &Line,
    needs: Option<&Needs>,
    push: &mut dyn FnMut(&Entry<'_>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let metadata: Vec<(&str, &str)> = line
        .metadata
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| needs.is_none_or(|needs| needs.labels.has(name)))
        .collect();
    // Only the labels that are needed, in a set of its own.
    let stream = match needs {
        Some(needs) => line.stream.filtered(|name, _| needs.labels.has(name)),
        None => line.stream.clone(),
    };
    push(&Entry {
        time_nanos: line.time_nanos,
        sequence: nth as u64,
        line: if needs.is_none_or(|needs| needs.line) { &line.line } else { "" },
        stream: &stream,
        metadata: &metadata,
    })
}

/// Counts lines by what the leaf asks for, up to the end of each bucket.
fn count(
    leaf: &Leaf,
    lines: &[Line],
    worker: &mut kymo_logql::plan::LeafWorker,
) -> Result<(), EvalError> {
    let counting = leaf.counting().unwrap();
    let mut counts: BTreeMap<(Labels, i64), (u64, u64)> = BTreeMap::new();
    for line in lines {
        let selection = leaf.selection();
        if !is_selected(selection, line) || !fulfils(selection, line, true) {
            continue;
        }
        let Some(end) = leaf.bucket_end_nanos(line.time_nanos) else { continue };
        let metadata = |name: &String| line.metadata.iter().find(|(found, _)| found == name);
        let labels = Labels::of(counting.by.iter().filter_map(|name| {
            let of_stream = line.stream.get(name).filter(|value| !value.is_empty());
            let value = of_stream.or_else(|| metadata(name).map(|(_, value)| value.as_str()))?;
            Some((name.as_str(), value))
        }));
        let (count, bytes) = counts.entry((labels, end)).or_default();
        *count += 1;
        *bytes += line.line.len() as u64;
    }
    for ((labels, time), (count, bytes)) in counts {
        worker.add_counted(&labels, time, count, bytes)?;
    }
    Ok(())
}

fn shown_line(found: &Found, is_categorized: bool) -> String {
    let without_details =
        |labels: &Labels| labels.filtered(|name, _| name != kymo_logql::labels::ERROR_DETAILS);
    let labels = match is_categorized {
        true => format!(
            "{} meta{} parsed{}",
            found.stream,
            found.metadata,
            without_details(&found.parsed)
        ),
        false => without_details(&found.labels()).to_string(),
    };
    let is_plain =
        !found.line.chars().any(|letter| letter.is_control()) && found.line.trim() == found.line;
    let line = match is_plain {
        true => format!("| {}", found.line),
        false => format!("= {}", serde_json::to_string(&found.line).unwrap()),
    };
    format!("{labels} {} {line}", format_go_duration(found.time_nanos)).trim_end().to_owned()
}

fn shown_number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    // What rounding may change is not shown.
    let rounded = format!("{value:.9}");
    let rounded: f64 = rounded.parse().unwrap_or(value);
    if value.abs() < 1e9 { rounded.to_string() } else { format!("{value:.9e}") }
}

fn shown_value(value: Value, request: &Request) -> Vec<String> {
    match value {
        Value::Scalar { value, .. } => vec![shown_number(value)],
        Value::Vector { samples, .. } => samples
            .iter()
            .map(|sample| format!("{} {}", sample.labels, shown_number(sample.value)))
            .collect(),
        Value::Matrix(series) => {
            let Times::Range { start_nanos, end_nanos, step_nanos } = request.times else {
                panic!("a matrix at one time")
            };
            let steps = (end_nanos - start_nanos) / step_nanos;
            let times: Vec<i64> = (0..=steps).map(|nth| start_nanos + nth * step_nanos).collect();
            let row = |points: &[(i64, f64)]| -> String {
                let value = |time: &i64| {
                    let point = points.iter().find(|(found, _)| found == time);
                    point.map_or("_".to_owned(), |(_, value)| shown_number(*value))
                };
                times.iter().map(value).collect::<Vec<String>>().join(" ")
            };
            series
                .iter()
                .map(|series| format!("{} {}", series.labels, row(&series.points)))
                .collect()
        }
    }
}
