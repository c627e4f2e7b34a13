//! Trees to text.
//!
//! The text of a query that was read is a query that reads the same and prints the same. It is
//! that of Prometheus: matchers in order of their text, labels before arguments, durations in the
//! largest units. Comments and superfluous modifiers (`by ()`, `offset 0s`) are gone;
//! parentheses stay.

mod pretty;

pub use pretty::pretty;

use std::fmt::{Display, Formatter, Result};

use crate::ast::{
    Aggregate, At, Binary, Call, Cardinality, Duration, DurationNode, Edges, Expr, Matching, Node,
    Number, RangeSelector, Selector, Subquery, TimeShift,
};
use crate::labels::NAME;
use crate::lexer::duration_text;
use crate::matcher::MatchOp;
use crate::names::{is_legacy_label, quoted};
use crate::number::{format_float, format_g, format_json_float};

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.node {
            Node::Number(number) => number.fmt(f),
            Node::Text(text) => f.write_str(&quoted(text)),
            Node::Selector(selector) => selector.fmt(f),
            Node::Range(range) => range.fmt(f),
            Node::Subquery(subquery) => write!(f, "{}{}", subquery.expr, Window(subquery)),
            Node::Aggregate(aggregate) => aggregate.fmt(f),
            Node::Call(call) => call.fmt(f),
            Node::Binary(binary) => {
                write!(f, "{} {} {}", binary.left, Operator(binary), binary.right)
            }
            Node::Unary(unary) => {
                write!(f, "{}{}", if unary.is_negative { "-" } else { "+" }, unary.expr)
            }
            Node::Paren(inner) => write!(f, "({inner})"),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.is_duration {
            let sign = if self.value < 0.0 { "-" } else { "" };
            return write!(f, "{sign}{}", duration_text(self.value));
        }
        f.write_str(&format_float(self.value))
    }
}

impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{}{}{}", Series(self), Time(&self.shift), self.edges, Offset(&self.shift))
    }
}

impl Display for RangeSelector {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Selector { shift, edges, .. } = &self.selector;
        let (series, range) = (Series(&self.selector), Top(&self.range));
        write!(f, "{series}[{range}]{edges}{}{}", Time(shift), Offset(shift))
    }
}

impl Display for Edges {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Edges::Plain => "",
            Edges::Anchored => " anchored",
            Edges::Smoothed => " smoothed",
        })
    }
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", Head(self))?;
        if let Some(param) = &self.param {
            write!(f, "{param}, ")?;
        }
        write!(f, "{})", self.expr)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.function.name)?;
        for (nth, arg) in self.args.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { ", " })?;
            arg.fmt(f)?;
        }
        f.write_str(")")
    }
}

/// Name and matchers of a selector.
struct Series<'a>(&'a Selector);

impl Display for Series<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name = self.0.name.as_deref().unwrap_or_default();
        f.write_str(name)?;
        let mut matchers: Vec<String> = self
            .0
            .matchers
            .iter()
            .filter(|matcher| {
                let is_name = matcher.name == NAME && matcher.op == MatchOp::Equal;
                !is_name || matcher.value != name || name.is_empty()
            })
            .map(ToString::to_string)
            .collect();
        if matchers.is_empty() {
            return Ok(());
        }
        matchers.sort_unstable();
        write!(f, "{{{}}}", matchers.join(","))
    }
}

/// `@` and its time.
struct Time<'a>(&'a TimeShift);

impl Display for Time<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0.at {
            None => Ok(()),
            Some(At::Start) => f.write_str(" @ start()"),
            Some(At::End) => f.write_str(" @ end()"),
            Some(At::Time(millis)) => write!(f, " @ {:.3}", millis as f64 / 1000.0),
        }
    }
}

/// `offset` and its duration.
struct Offset<'a>(&'a TimeShift);

impl Display for Offset<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.0.offset {
            Some(offset) if self.0.has_offset() => write!(f, " offset {}", Top(offset)),
            _ => Ok(()),
        }
    }
}

/// What stands behind the expression of a subquery.
struct Window<'a>(&'a Subquery);

impl Display for Window<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Subquery { range, step, shift, .. } = self.0;
        write!(f, "[{}:", Top(range))?;
        if let Some(step) = step {
            Top(step).fmt(f)?;
        }
        write!(f, "]{}{}", Time(shift), Offset(shift))
    }
}

/// A duration that is not part of another: numbers are written as durations too.
struct Top<'a>(&'a Duration);

impl Display for Top<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.0.node {
            DurationNode::Number(number) => Number { is_duration: true, ..*number }.fmt(f),
            _ => self.0.fmt(f),
        }
    }
}

impl Display for Duration {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.node {
            DurationNode::Number(number) => number.fmt(f),
            DurationNode::Step => f.write_str("step()"),
            DurationNode::Range => f.write_str("range()"),
            DurationNode::MinOf(left, right) => write!(f, "min_of({left}, {right})"),
            DurationNode::MaxOf(left, right) => write!(f, "max_of({left}, {right})"),
            DurationNode::Negative(inner) => write!(f, "-{inner}"),
            // A plus changes nothing, and Prometheus does not write it.
            DurationNode::Positive(inner) => inner.fmt(f),
            DurationNode::Binary(op, left, right) => write!(f, "{left} {} {right}", op.symbol()),
            DurationNode::Paren(inner) => write!(f, "({inner})"),
        }
    }
}

/// The name of an aggregation and its labels.
struct Head<'a>(&'a Aggregate);

impl Display for Head<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Aggregate { op, grouping, .. } = self.0;
        f.write_str(op.name())?;
        match grouping.is_without {
            true => write!(f, " without ({}) ", Names(&grouping.labels)),
            false if grouping.labels.is_empty() => Ok(()),
            false => write!(f, " by ({}) ", Names(&grouping.labels)),
        }
    }
}

/// An operator and its modifiers.
struct Operator<'a>(&'a Binary);

impl Display for Operator<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Binary { op, returns_bool, matching, .. } = self.0;
        f.write_str(op.symbol())?;
        f.write_str(if *returns_bool { " bool" } else { "" })?;
        match matching {
            None => Ok(()),
            Some(matching) => matching.fmt(f),
        }
    }
}

impl Display for Matching {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let group = match self.cardinality {
            Cardinality::ManyToOne => Some("left"),
            Cardinality::OneToMany => Some("right"),
            Cardinality::OneToOne | Cardinality::ManyToMany => None,
        };
        if !self.labels.is_empty() || self.is_on || group.is_some() {
            let word = if self.is_on { "on" } else { "ignoring" };
            write!(f, " {word} ({})", Names(&self.labels))?;
        }
        if let Some(side) = group {
            write!(f, " group_{side} ({})", Names(&self.include))?;
        }
        if let (Some(left), Some(right)) = (self.fill_left, self.fill_right)
            && left == right
        {
            return write!(f, " fill ({})", Short(left));
        }
        if let Some(left) = self.fill_left {
            write!(f, " fill_left ({})", Short(left))?;
        }
        if let Some(right) = self.fill_right {
            write!(f, " fill_right ({})", Short(right))?;
        }
        Ok(())
    }
}

/// Names of labels, with commas.
struct Names<'a>(&'a [String]);

impl Display for Names<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (nth, name) in self.0.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { ", " })?;
            match is_legacy_label(name) {
                true => f.write_str(name)?,
                false => f.write_str(&quoted(name))?,
            }
        }
        Ok(())
    }
}

/// A number with an exponent below 1e-4 and from 1e21.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let is_small = self.0.abs() < 1.0;
        f.write_str(&if is_small { format_g(self.0) } else { format_json_float(self.0) })
    }
}

#[cfg(test)]
mod tests;
