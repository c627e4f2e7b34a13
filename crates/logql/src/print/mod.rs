//! Trees to text.
//!
//! The text of a query that was read is a query that reads the same and prints the same. It is
//! that of Loki, but for sizes, which keep what was written: Loki rounds them. Comments are gone,
//! and parentheses stand around every operator.

mod pretty;

pub use pretty::pretty;

use std::fmt::{Display, Formatter, Result};

use kymo_pattern::names::quoted;

use crate::ast::{
    Binary, Chosen, Comparison, Conversion, Expr, Extraction, GroupSide, Grouping, LabelFilter,
    LabelFormat, LabelReplace, LineFilter, LineMatch, LogExpr, LogRange, LogfmtStage, Matching,
    MetricExpr, RangeAggregation, Stage, Unwrap, VectorAggregation,
};
use crate::text::number;
use crate::units;

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Log(log) => log.fmt(f),
            Self::Metric(metric) => metric.fmt(f),
        }
    }
}

impl Display for LogExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Selector(self).fmt(f)?;
        self.stages.iter().try_for_each(|stage| write!(f, " {stage}"))
    }
}

/// The matchers of a log query.
struct Selector<'a>(&'a LogExpr);

impl Display for Selector<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("{")?;
        separated(f, ", ", &self.0.matchers)?;
        f.write_str("}")
    }
}

/// Writes things with a separator between them.
fn separated<T: Display>(
    f: &mut Formatter<'_>,
    separator: &str,
    things: impl IntoIterator<Item = T>,
) -> Result {
    for (nth, thing) in things.into_iter().enumerate() {
        f.write_str(if nth == 0 { "" } else { separator })?;
        thing.fmt(f)?;
    }
    Ok(())
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Line(filter) => filter.fmt(f),
            Self::Json => f.write_str("| json"),
            Self::JsonPaths(paths) => {
                f.write_str("| json ")?;
                separated(f, ",", paths)
            }
            Self::Logfmt(logfmt) => logfmt.fmt(f),
            Self::Regexp(pattern) => write!(f, "| regexp {}", quoted(pattern)),
            Self::Pattern(pattern) => write!(f, "| pattern {}", quoted(pattern)),
            Self::Unpack => f.write_str("| unpack"),
            Self::Labels(filter) => write!(f, "| {filter}"),
            Self::LineFormat(template) => write!(f, "| line_format {}", quoted(template)),
            Self::LabelFormat(formats) => {
                f.write_str("| label_format ")?;
                separated(f, ",", formats)
            }
            Self::Decolorize => f.write_str("| decolorize"),
            Self::Drop(chosen) => {
                f.write_str("| drop ")?;
                separated(f, ",", chosen)
            }
            Self::Keep(chosen) => {
                f.write_str("| keep ")?;
                separated(f, ",", chosen)
            }
        }
    }
}

impl Display for LineFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ", self.op.symbol())?;
        separated(f, " or ", &self.alternatives)
    }
}

impl Display for LineMatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Ip(addresses) => write!(f, "ip({})", quoted(addresses)),
        }
    }
}

impl Display for Extraction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}={}", self.name, quoted(&self.path))
    }
}

impl Display for LogfmtStage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("| logfmt")?;
        f.write_str(if self.is_strict { " --strict" } else { "" })?;
        f.write_str(if self.keeps_empty { " --keep-empty" } else { "" })?;
        if !self.extractions.is_empty() {
            f.write_str(" ")?;
            separated(f, ",", &self.extractions)?;
        }
        Ok(())
    }
}

impl Display for LabelFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(matcher) => matcher.fmt(f),
            Self::Number(Comparison { name, op, value, .. }) => {
                write!(f, "{name}{}{}", op.symbol(), number(*value))
            }
            Self::Duration(Comparison { name, op, value, .. }) => {
                write!(f, "{name}{}{}", op.symbol(), units::format_go_duration(*value))
            }
            Self::Bytes(Comparison { name, op, written, .. }) => {
                write!(f, "{name}{}{written}", op.symbol())
            }
            Self::Ip(ip) => {
                let op = if ip.is_negated { "!=" } else { "=" };
                write!(f, "{}{op}ip({})", ip.name, quoted(&ip.addresses))
            }
            Self::And(left, right) => write!(f, "( {left} , {right} )"),
            Self::Or(left, right) => write!(f, "( {left} or {right} )"),
        }
    }
}

impl Display for LabelFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Rename { to, from } => write!(f, "{to}={from}"),
            Self::Template { to, template } => write!(f, "{to}={}", quoted(template)),
        }
    }
}

impl Display for Chosen {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Matcher(matcher) => matcher.fmt(f),
        }
    }
}

impl Display for MetricExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Vector(vector) => vector.fmt(f),
            Self::Binary(binary) => {
                write!(f, "({} {} {})", binary.left, Operator(binary, ","), binary.right)
            }
            Self::Literal(value) => f.write_str(&number(*value)),
            Self::VectorOf(value) => write!(f, "vector({value:.6})"),
            Self::LabelReplace(replace) => {
                let LabelReplace { inner, to, replacement, from, pattern } = &**replace;
                write!(f, "label_replace({inner}")?;
                for text in [to, replacement, from, pattern] {
                    write!(f, ",{}", quoted(text))?;
                }
                f.write_str(")")
            }
        }
    }
}

impl Display for RangeAggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.op)?;
        if let Some(parameter) = self.parameter {
            write!(f, "{},", number(parameter))?;
        }
        write!(f, "{})", self.range)?;
        self.grouping.as_ref().map_or(Ok(()), |grouping| grouping.fmt(f))
    }
}

impl Display for LogRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.log.fmt(f)?;
        if let Some(unwrap) = &self.unwrap {
            write!(f, " {unwrap}")?;
        }
        write!(f, "[{}]", units::format_prometheus_duration(self.range_nanos))?;
        match self.offset_nanos {
            0 => Ok(()),
            offset => write!(f, " offset {}", units::format_go_duration(offset)),
        }
    }
}

/// The stage without the filters behind it.
struct UnwrapHead<'a>(&'a Unwrap);

impl Display for UnwrapHead<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name = &self.0.name;
        match self.0.conversion {
            Conversion::Number => write!(f, "| unwrap {name}"),
            Conversion::Bytes => write!(f, "| unwrap bytes({name})"),
            Conversion::Duration => write!(f, "| unwrap duration({name})"),
            Conversion::DurationSeconds => write!(f, "| unwrap duration_seconds({name})"),
        }
    }
}

impl Display for Unwrap {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        UnwrapHead(self).fmt(f)?;
        self.filters.iter().try_for_each(|filter| write!(f, " | {filter}"))
    }
}

impl Display for Grouping {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.is_without { " without (" } else { " by (" })?;
        separated(f, ",", &self.names)?;
        f.write_str(")")
    }
}

impl Display for VectorAggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.op.fmt(f)?;
        if let Some(grouping) = &self.grouping
            && (grouping.is_without || !grouping.names.is_empty())
        {
            grouping.fmt(f)?;
        }
        f.write_str("(")?;
        if let Some(parameter) = self.parameter {
            write!(f, "{parameter},")?;
        }
        write!(f, "{})", self.inner)
    }
}

/// An operator and its modifiers, names separated by a text. Where no group follows the labels,
/// Loki writes a second space.
struct Operator<'a>(&'a Binary, &'a str);

impl Display for Operator<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Binary { op, returns_bool, matching, .. } = self.0;
        f.write_str(op.symbol())?;
        f.write_str(if *returns_bool { " bool" } else { "" })?;
        let Matching { is_on, names, group, include } = matching;
        if !is_on && names.is_empty() && group.is_none() {
            return Ok(());
        }
        f.write_str(if *is_on { " on (" } else { " ignoring (" })?;
        separated(f, self.1, names)?;
        f.write_str(") ")?;
        match group {
            None => return Ok(()),
            Some(GroupSide::Left) => f.write_str("group_left")?,
            Some(GroupSide::Right) => f.write_str("group_right")?,
        }
        if !include.is_empty() {
            f.write_str(" (")?;
            separated(f, self.1, include)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
