//! Long queries on several lines.

use std::fmt::{self, Write};

use super::{Head, Operator, Window};
use crate::ast::{Expr, Node};
use crate::limits::MAX_LINE_BYTES;

const INDENT: &str = "  ";

/// A query as the API formats it: what is longer than a line is split at its operators and
/// arguments, and these are indented.
pub fn pretty(expr: &Expr) -> String {
    let mut text = String::new();
    write_expr(&mut text, expr, 0);
    text
}

fn write_expr(text: &mut String, expr: &Expr, level: usize) {
    if fits_line(expr) {
        // Prometheus does not indent a short subquery, wherever it stands.
        let level = if matches!(expr.node, Node::Subquery(_)) { 0 } else { level };
        return write_line(text, level, expr);
    }
    match &expr.node {
        Node::Number(_) | Node::Text(_) | Node::Selector(_) | Node::Range(_) => {
            write_line(text, level, expr);
        }
        Node::Subquery(subquery) => {
            write_expr(text, &subquery.expr, level);
            write_line(text, 0, Window(subquery));
        }
        Node::Aggregate(aggregate) => {
            write_line(text, level, Head(aggregate));
            text.push_str("(\n");
            if let Some(param) = &aggregate.param {
                write_expr(text, param, level + 1);
                text.push_str(",\n");
            }
            write_expr(text, &aggregate.expr, level + 1);
            text.push('\n');
            write_line(text, level, ")");
        }
        Node::Call(call) => {
            write_line(text, level, call.function.name);
            text.push_str("(\n");
            for (nth, arg) in call.args.iter().enumerate() {
                text.push_str(if nth == 0 { "" } else { ",\n" });
                write_expr(text, arg, level + 1);
            }
            text.push('\n');
            write_line(text, level, ")");
        }
        Node::Binary(binary) => {
            write_expr(text, &binary.left, level + 1);
            text.push('\n');
            write_line(text, level, Operator(binary));
            text.push('\n');
            write_expr(text, &binary.right, level + 1);
        }
        Node::Unary(unary) => {
            let mut inner = String::new();
            write_expr(&mut inner, &unary.expr, level);
            write_line(text, level, if unary.is_negative { "-" } else { "+" });
            text.push_str(inner.trim());
        }
        Node::Paren(inner) => {
            write_line(text, level, "(\n");
            write_expr(text, inner, level + 1);
            text.push('\n');
            write_line(text, level, ")");
        }
    }
}

fn write_line(text: &mut String, level: usize, what: impl fmt::Display) {
    text.push_str(&INDENT.repeat(level));
    // Writing to a string cannot fail.
    let _ = write!(text, "{what}");
}

/// Whether an expression fits on a line. Stops printing where the line ends, because each part of
/// a long expression is asked again.
fn fits_line(expr: &Expr) -> bool {
    struct Room(usize);
    impl Write for Room {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    write!(Room(MAX_LINE_BYTES), "{expr}").is_ok()
}
