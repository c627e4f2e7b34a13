//! Lines for people, one below the other, and rows for programs.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kymo_logql::ast::LogExpr;
use kymo_logql::labels::LEVEL_LABELS;
use kymo_logql::matcher::MatchOp;
use serde_json::{Map, Value};

use super::answer::Line;
use crate::failure::Failure;
use crate::frame::{Frame, Reader};
use crate::sql::answer::Answer;
use crate::terminal::{Paint, fit, pad};
use crate::units::{printable, time};

/// Columns of a level: that of `error`.
const LEVEL_COLUMNS: usize = 5;
/// Columns of labels: what they are is not looked at first.
const LABELS_COLUMNS: usize = 40;
/// Bytes of `2026-01-02T03:04:05.123`: people do not read more than milliseconds.
const MILLIS_BYTES: usize = 23;
/// Columns of a row that are not labels.
const TIME: &str = "time";
const LINE: &str = "line";

/// How lines are written for people.
#[derive(Debug)]
pub(super) struct Style {
    /// Labels that all lines have the same, since the query asks for them.
    known: BTreeSet<String>,
    /// Whether all labels are written, and whole.
    has_all_labels: bool,
    paint: Paint,
}

impl Style {
    pub(super) fn new(log: &LogExpr, has_all_labels: bool, paint: Paint) -> Self {
        let equal = log.matchers.iter().filter(|matcher| matcher.op == MatchOp::Equal);
        let known = equal.map(|matcher| matcher.name.clone()).collect();
        Self { known, has_all_labels, paint }
    }

    /// A line with its end: when, how bad, where, what.
    pub(super) fn write(&self, line: &Line, out: &mut String) {
        let moment = time(line.time_nanos);
        let moment = format!("{}Z", moment.get(..MILLIS_BYTES).unwrap_or(&moment));
        out.push_str(&self.paint.dim(&moment));
        let level = LEVEL_LABELS.iter().find_map(|name| line.label(name));
        if let Some(level) = level.filter(|level| !level.is_empty()) {
            let shown = pad(&fit(&level.to_lowercase(), LEVEL_COLUMNS), LEVEL_COLUMNS);
            out.push_str("  ");
            out.push_str(&self.coloured(level, &shown));
        }
        let labels = self.labels(line);
        if !labels.is_empty() {
            out.push_str("  ");
            out.push_str(&self.paint.nth(0, &labels));
        }
        if !line.text.is_empty() {
            out.push_str("  ");
            out.push_str(&printable(&line.text));
        }
        out.push('\n');
    }

    fn coloured<'t>(&self, level: &str, shown: &'t str) -> Cow<'t, str> {
        match level.to_ascii_lowercase().as_str() {
            "error" | "err" | "critical" | "crit" | "fatal" | "panic" => self.paint.red(shown),
            "warn" | "warning" => self.paint.nth(1, shown),
            _ => shown.into(),
        }
    }

    fn labels(&self, line: &Line) -> String {
        if self.has_all_labels {
            let pairs: Vec<String> =
                line.labels().map(|(name, value)| format!("{name}={value:?}")).collect();
            return printable(&format!("{{{}}}", pairs.join(", ")));
        }
        let others = line.stream.iter().filter(|(name, _)| {
            !self.known.contains(*name) && !LEVEL_LABELS.contains(&name.as_str())
        });
        let pairs: Vec<String> = others.map(|(name, value)| format!("{name}={value}")).collect();
        fit(&pairs.join(" "), LABELS_COLUMNS)
    }
}

/// The column of a label. Two names are taken.
fn column(label: &str) -> String {
    match label {
        TIME | LINE => format!("label.{label}"),
        _ => label.to_owned(),
    }
}

/// A row for each line: when, its labels, what.
pub(super) fn table(lines: &[Line]) -> Result<Answer<'static>, Failure> {
    let mut frame = Frame::new(Reader::Program);
    frame.times(TIME, lines.iter().map(|line| line.time_nanos).collect());
    let names: BTreeSet<&str> =
        lines.iter().flat_map(|line| line.labels().map(|(name, _)| name)).collect();
    for name in names {
        let value = |line: &Line| line.label(name).map(str::to_owned);
        frame.texts(&column(name), lines.iter().map(value).collect());
    }
    frame.texts(LINE, lines.iter().map(|line| Some(line.text.clone())).collect());
    frame.answer()
}

/// The same row, of one line, as an object.
pub(super) fn object(line: &Line) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert(TIME.to_owned(), time(line.time_nanos).into());
    for (name, value) in line.labels() {
        object.entry(column(name)).or_insert_with(|| value.into());
    }
    object.insert(LINE.to_owned(), line.text.as_str().into());
    object
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::line;
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::json::Objects;
    use kymo_logql::ast::Expr;
    use kymo_server::format::Csv;

    const MOMENT: i64 = 1_767_323_045_123_456_789;

    fn shown(line: &Line, has_all_labels: bool, paint: Paint) -> String {
        let expr = kymo_logql::parser::parse(r#"{app="shop", env=~".+"}"#).unwrap();
        let Expr::Log(log) = expr else { panic!("no lines") };
        let mut out = String::new();
        Style::new(&log, has_all_labels, paint).write(line, &mut out);
        out
    }

    #[test]
    fn a_line_says_when_how_bad_where_and_what() {
        let stream = [("app", "shop"), ("env", "prod"), ("host", "n1")];
        let found = line(MOMENT, "out of\nstock", &stream, &[("level", "WARN"), ("trace_id", "1")]);
        let plain = "2026-01-02T03:04:05.123Z  warn   env=prod host=n1  out of\\nstock\n";
        assert_eq!(shown(&found, false, Paint::none()), plain);
        let all = shown(&found, true, Paint::none());
        assert!(all.contains(r#"{app="shop", env="prod", host="n1", level="WARN", "#), "{all}");
        let coloured = shown(&found, false, Paint::always());
        assert!(coloured.contains("\x1b[33mwarn \x1b[0m"), "{coloured:?}");
    }

    #[test]
    fn what_is_not_there_takes_no_place_and_what_is_long_is_cut() {
        let found = line(0, "", &[("app", "shop")], &[]);
        assert_eq!(shown(&found, false, Paint::none()), "1970-01-01T00:00:00.000Z\n");
        let long = "p".repeat(99);
        let stream = [("pod", long.as_str())];
        let found = line(0, "x", &stream, &[("severity_text", "information")]);
        let text = shown(&found, false, Paint::none());
        assert!(text.contains("  info…  pod=ppp"), "{text}");
        assert!(text.contains("p…  x\n") && text.chars().count() < 90, "{text}");
    }

    #[test]
    fn programs_get_a_row_for_each_line_with_columns_of_labels() {
        let lines = [
            line(MOMENT, "a", &[("app", "shop"), ("time", "noon")], &[]),
            line(MOMENT + 1, "b", &[("app", "shop")], &[("level", "info")]),
        ];
        let csv = written(table(&lines).unwrap(), &mut Csv);
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows[0], "time,app,level,label.time,line");
        assert_eq!(rows[1], "2026-01-02T03:04:05.123456789Z,shop,,noon,a");
        let json = written(table(&lines).unwrap(), &mut Objects::array());
        let rows: Value = serde_json::from_str(&json).unwrap();
        let object = Value::from(object(&lines[1]));
        for name in ["time", "app", "level", "line"] {
            assert_eq!(rows[1][name], object[name], "{name}");
        }
    }
}
