//! `kymo trace --with …`: what belongs to a trace beside its spans: log records, exceptions, exemplars,
//! what hosts and GPUs did meanwhile.

use std::collections::BTreeMap;
use std::fmt::Write;

use kymo_server::{Part, Question, Subject, correlate};
use serde::Deserialize;

use super::id;
use crate::client;
use crate::failure::Failure;
use crate::source::{Directory, Source};
use crate::terminal::{self, Paint};
use crate::units;

/// Bars of a small chart, from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Bars of one series.
const CHART_COLUMNS: usize = 40;

/// What can be shown: every part but the trace itself, which is drawn already.
const SHOWN: [&str; 5] = ["logs", "exceptions", "exemplars", "host", "gpu"];

/// Parts as the command line names them.
pub(super) fn part(name: &str) -> Result<String, String> {
    match SHOWN.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("expected some of {}", SHOWN.join(", "))),
    }
}

/// What was found, as the API writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Found {
    exceptions: Vec<Exception>,
    logs: Vec<Line>,
    exemplars: Vec<Exemplar>,
    machines: Vec<Measure>,
    /// Of what there may be more.
    truncated: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exception {
    #[serde(rename = "spanID")]
    span_id: String,
    time_unix_nano: String,
    attributes: serde_json::Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    time_unix_nano: String,
    line: String,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exemplar {
    metric: BTreeMap<String, String>,
    value: String,
    time_unix_nano: String,
}

#[derive(Debug, Deserialize)]
struct Measure {
    of: String,
    name: String,
    unit: String,
    series: Vec<Series>,
}

#[derive(Debug, Deserialize)]
struct Series {
    labels: BTreeMap<String, String>,
    points: Vec<(f64, f64)>,
}

/// Asks for what belongs to a trace; JSON as the API has it.
pub(super) fn ask(
    source: &Source,
    id: &[u8; 16],
    parts: &[String],
) -> Result<serde_json::Value, Failure> {
    match source {
        Source::Server(client) => {
            let parameters = [("trace", id::hex(id)), ("with", parts.join(","))];
            client::json(client.ask("/api/correlate", &parameters, "application/json")?)
        }
        Source::Directory(directory) => {
            let Directory { engine, runtime, tenants, .. } = &**directory;
            let mut question = Question::about(Subject::Trace { trace: id::hex(id) });
            question.parts = parts.iter().filter_map(|name| Part::from_name(name)).collect();
            let found = runtime.block_on(correlate(engine, tenants, &question))?;
            serde_json::to_value(&found).map_err(|error| unreadable(&error))
        }
    }
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::Other(format!("the answer cannot be understood: {error}"))
}

/// What was asked for, as text for people.
pub(super) fn draw(
    found: serde_json::Value,
    parts: &[String],
    columns: usize,
    paint: Paint,
) -> Result<String, Failure> {
    let found: Found = serde_json::from_value(found).map_err(|error| unreadable(&error))?;
    let mut out = String::new();
    for part in parts {
        out.push('\n');
        match part.as_str() {
            "logs" => logs(&found, columns, paint, &mut out),
            "exceptions" => exceptions(&found, columns, paint, &mut out),
            "exemplars" => exemplars(&found, columns, paint, &mut out),
            of => machines(&found, of, paint, &mut out),
        }
    }
    Ok(out)
}

impl Found {
    /// A title, and how many there are; `part` as the API calls it.
    fn heading(&self, title: &str, part: &str, count: usize, paint: Paint, out: &mut String) {
        let is_more = self.truncated.iter().any(|truncated| truncated == part);
        let more = if is_more { " and perhaps more" } else { "" };
        // Writing to a text cannot fail, here and below.
        let _ = writeln!(out, "{}", paint.bold(&format!("{title} ({count}{more})")));
    }
}

fn time(nanos: &str) -> String {
    units::time(nanos.parse().unwrap_or(0))
}

/// The first line of a text.
fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn logs(found: &Found, columns: usize, paint: Paint, out: &mut String) {
    found.heading("logs", "logs", found.logs.len(), paint, out);
    for line in &found.logs {
        let of = |name: &str| line.labels.get(name).map_or("", String::as_str);
        let (time, severity) = (time(&line.time_unix_nano), units::printable(of("severity_text")));
        let severity = terminal::pad(&severity, 5);
        let used = terminal::width(&time) + terminal::width(&severity) + 6;
        let said = format!("{}: {}", of("service_name"), first(&line.line));
        let said = terminal::fit(&said, columns.saturating_sub(used));
        let severity = match of("severity_number").parse::<u8>() {
            Ok(17..) => paint.red(&severity).into_owned(),
            _ => severity,
        };
        let _ = writeln!(out, "  {time}  {severity}  {said}");
    }
}

fn exceptions(found: &Found, columns: usize, paint: Paint, out: &mut String) {
    found.heading("exceptions", "exceptions", found.exceptions.len(), paint, out);
    for exception in &found.exceptions {
        let of = |name: &str| exception.attributes.get(name).and_then(|value| value.as_str());
        let kind = of("exception.type").unwrap_or("exception");
        let message = first(of("exception.message").unwrap_or_default());
        let (time, span) = (time(&exception.time_unix_nano), &exception.span_id);
        let text = format!("{time}  span {span}  {kind}: {message}");
        let text = terminal::fit(&text, columns.saturating_sub(2));
        let _ = writeln!(out, "  {}", paint.red(&text));
    }
}

fn exemplars(found: &Found, columns: usize, paint: Paint, out: &mut String) {
    found.heading("exemplars", "exemplars", found.exemplars.len(), paint, out);
    for exemplar in &found.exemplars {
        let name = exemplar.metric.get("__name__").map_or("", String::as_str);
        let text = format!("{}  {name} = {}", time(&exemplar.time_unix_nano), exemplar.value);
        let _ = writeln!(out, "  {}", terminal::fit(&text, columns.saturating_sub(2)));
    }
}

fn machines(found: &Found, of: &str, paint: Paint, out: &mut String) {
    let measures: Vec<&Measure> =
        found.machines.iter().filter(|measure| measure.of == of).collect();
    let title = if of == "gpu" { "GPUs" } else { "hosts" };
    // One machine has a series of each measure.
    let count = measures.iter().map(|measure| measure.series.len()).max().unwrap_or(0);
    found.heading(title, "hosts", count, paint, out);
    for measure in measures {
        for series in &measure.series {
            let shown = ["instance", "Hostname", "gpu", "device"];
            let labels: Vec<&str> = shown
                .iter()
                .filter_map(|name| series.labels.get(*name))
                .map(String::as_str)
                .collect();
            let values = || series.points.iter().map(|(_, value)| *value);
            let most = values().fold(f64::NEG_INFINITY, f64::max);
            let mean = values().sum::<f64>() / series.points.len().max(1) as f64;
            let what = units::printable(&format!("{} {}", measure.name, labels.join(" ")));
            let chart = chart(&values().collect::<Vec<_>>());
            let _ = writeln!(
                out,
                "  {}  {}  mean {mean:.3} most {most:.3} {}",
                terminal::pad(&what, 32),
                terminal::pad(&chart, CHART_COLUMNS),
                measure.unit
            );
        }
    }
}

/// Values as bars from the least to the greatest, at most so many as there is room for.
fn chart(values: &[f64]) -> String {
    let share = values.len().div_ceil(CHART_COLUMNS).max(1);
    let shown: Vec<f64> =
        values.chunks(share).map(|part| part.iter().copied().fold(f64::MIN, f64::max)).collect();
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: f64| match most > least {
        true => ((value - least) / (most - least) * (BARS.len() - 1) as f64).round() as usize,
        false => 0,
    };
    shown.iter().map(|value| BARS[height(*value).min(BARS.len() - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_goes_from_the_least_to_the_greatest_and_has_room() {
        assert_eq!(chart(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(chart(&[5.0, 5.0]), "▁▁");
        assert_eq!(chart(&[]), "");
        assert!(chart(&[1.0; 1000]).chars().count() <= CHART_COLUMNS);
        assert_eq!(chart(&[f64::NAN, 1.0]).chars().count(), 2);
    }

    #[test]
    fn what_was_found_is_shown_by_part() {
        let found = serde_json::json!({
            "logs": [{
                "timeUnixNano": "1700000000000000000",
                "line": "gateway timeout\nwith more",
                "labels": {"severity_text": "ERROR", "severity_number": "17", "service_name": "shop\u{1b}"}
            }],
            "truncated": ["logs"],
            "exceptions": [{
                "traceID": "00", "spanID": "00000000000000ff", "timeUnixNano": "1700000000000000001",
                "attributes": {"exception.type": "ValueError", "exception.message": "no"}
            }],
            "machines": [{
                "of": "gpu", "name": "utilisation", "unit": "percent", "query": "",
                "series": [{"labels": {"instance": "n1", "gpu": "0"}, "points": [[1.0, 10.0], [2.0, 90.0]]}]
            }]
        });
        let parts = ["logs", "exceptions", "gpu", "host"].map(str::to_owned);
        let text = draw(found, &parts, 100, Paint::none()).unwrap();
        for part in [
            "logs (1 and perhaps more)",
            "exceptions (1)",
            "ERROR  shop\\u{1b}: gateway timeout",
            "span 00000000000000ff  ValueError: no",
            "utilisation n1 0",
            "▁█",
            "mean 50.000 most 90.000 percent",
            "hosts (0)",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains("with more"));
    }
}
