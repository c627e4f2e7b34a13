//! Long queries on several lines.

use std::fmt::{self, Write};

use kymo_pattern::names::quoted;

use super::{Operator, Selector, UnwrapHead};
use crate::ast::{Expr, Grouping, LogExpr, LogRange, MetricExpr};
use crate::limits::MAX_LINE_BYTES;
use crate::text::number;
use crate::units::format_prometheus_duration;

const INDENT: &str = "  ";

/// A query as the API formats it: what is longer than a line is split at its stages, operators
/// and arguments, and these are indented.
pub fn pretty(expr: &Expr) -> String {
    let mut text = String::new();
    match expr {
        Expr::Log(log) => write_log(&mut text, log, 0),
        Expr::Metric(metric) => write_metric(&mut text, metric, 0),
    }
    text
}

fn write_log(text: &mut String, log: &LogExpr, level: usize) {
    if log.stages.is_empty() || fits_line(log) {
        return write_line(text, level, log);
    }
    write_line(text, level, Selector(log));
    for stage in &log.stages {
        text.push('\n');
        write_line(text, level + 1, stage);
    }
}

fn write_metric(text: &mut String, expr: &MetricExpr, level: usize) {
    if fits_line(expr) {
        return write_line(text, level, expr);
    }
    match expr {
        MetricExpr::Literal(_) | MetricExpr::VectorOf(_) => write_line(text, level, expr),
        MetricExpr::Range(aggregation) => {
            write_line(text, level, aggregation.op);
            text.push_str("(\n");
            if let Some(parameter) = aggregation.parameter {
                write_line(text, level + 1, number(parameter));
                text.push_str(",\n");
            }
            write_range(text, &aggregation.range, level + 1);
            text.push('\n');
            write_line(text, level, ")");
            write_grouping(text, aggregation.grouping.as_ref());
        }
        MetricExpr::Vector(aggregation) => {
            write_line(text, level, aggregation.op);
            write_grouping(text, aggregation.grouping.as_ref());
            text.push_str("(\n");
            if let Some(parameter) = aggregation.parameter {
                write_line(text, level + 1, parameter);
                text.push_str(",\n");
            }
            write_metric(text, &aggregation.inner, level + 1);
            text.push('\n');
            write_line(text, level, ")");
        }
        MetricExpr::Binary(binary) => {
            write_metric(text, &binary.left, level + 1);
            text.push('\n');
            write_line(text, level, Operator(binary, ", "));
            text.push('\n');
            write_metric(text, &binary.right, level + 1);
        }
        MetricExpr::LabelReplace(replace) => {
            write_line(text, level, "label_replace(\n");
            write_metric(text, &replace.inner, level + 1);
            for argument in [&replace.to, &replace.replacement, &replace.from, &replace.pattern] {
                text.push_str(",\n");
                write_line(text, level + 1, quoted(argument));
            }
            text.push('\n');
            write_line(text, level, ")");
        }
    }
}

fn write_range(text: &mut String, range: &LogRange, level: usize) {
    write_log(text, &range.log, level);
    if let Some(unwrap) = &range.unwrap {
        text.push('\n');
        write_line(text, level + 1, UnwrapHead(unwrap));
        for filter in &unwrap.filters {
            text.push('\n');
            write_line(text, level + 1, format_args!("| {filter}"));
        }
    }
    write_line(text, 0, format_args!(" [{}]", format_prometheus_duration(range.range_nanos)));
    if range.offset_nanos != 0 {
        write_line(
            text,
            0,
            format_args!(" offset {}", format_prometheus_duration(range.offset_nanos)),
        );
    }
}

fn write_grouping(text: &mut String, grouping: Option<&Grouping>) {
    let Some(grouping) = grouping else { return };
    if grouping.is_without {
        text.push_str(" without");
    } else if !grouping.names.is_empty() {
        text.push_str(" by");
    }
    if grouping.is_without || !grouping.names.is_empty() {
        write_line(text, 0, format_args!(" ({})", grouping.names.join(", ")));
    }
}

fn write_line(text: &mut String, level: usize, what: impl fmt::Display) {
    text.push_str(&INDENT.repeat(level));
    // Writing to a string cannot fail.
    let _ = write!(text, "{what}");
}

/// Whether an expression fits on a line. Stops printing where the line ends, because each part of
/// a long expression is asked again.
fn fits_line(expr: &impl fmt::Display) -> bool {
    struct Room(usize);
    impl Write for Room {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    write!(Room(MAX_LINE_BYTES), "{expr}").is_ok()
}
