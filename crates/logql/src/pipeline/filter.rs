//! Conditions on lines and labels, compiled.

use memchr::memmem::Finder;
use regex::Regex;

use super::row::RowLabels;
use crate::ast::{CompareOp, LabelFilter, LineFilter, LineMatch, LineOp};
use crate::entry::Entry;
use crate::extract::PatternFilter;
use crate::ip::IpMatcher;
use crate::labels::{ERROR, ERROR_DETAILS};
use crate::limits::MAX_PATTERN_BYTES;
use crate::matcher::LabelMatcher;
use crate::{number, units};

/// What a condition on labels sets if a value is no number.
const LABEL_FILTER_ERROR: &str = "LabelFilterErr";

/// A condition on the line.
#[derive(Debug)]
pub(crate) struct LineTest {
    is_negated: bool,
    alternatives: Vec<LineProbe>,
}

#[derive(Debug)]
enum LineProbe {
    Text(Box<Finder<'static>>),
    Regex(Regex),
    Pattern(PatternFilter),
    Ip(IpMatcher),
}

impl LineTest {
    pub(crate) fn new(filter: &LineFilter) -> Result<Self, String> {
        let alternatives = filter.alternatives.iter().map(|found| LineProbe::new(filter.op, found));
        let alternatives = alternatives.collect::<Result<_, _>>()?;
        Ok(Self { is_negated: filter.op.is_negated(), alternatives })
    }

    #[inline]
    pub(crate) fn passes(&self, line: &str) -> bool {
        self.alternatives.iter().any(|probe| probe.finds(line)) != self.is_negated
    }
}

impl LineProbe {
    fn new(op: LineOp, found: &LineMatch) -> Result<Self, String> {
        Ok(match found {
            LineMatch::Ip(addresses) => {
                Self::Ip(IpMatcher::new(addresses).map_err(|error| error.to_string())?)
            }
            LineMatch::Text(text) => match op {
                LineOp::Contains | LineOp::Lacks => {
                    Self::Text(Box::new(Finder::new(text.as_bytes()).into_owned()))
                }
                LineOp::Matches | LineOp::NotMatches => {
                    Self::Regex(kymo_pattern::search(text, MAX_PATTERN_BYTES)?)
                }
                LineOp::Pattern | LineOp::NotPattern => {
                    Self::Pattern(PatternFilter::new(text).map_err(|error| error.to_string())?)
                }
            },
        })
    }

    #[inline]
    fn finds(&self, line: &str) -> bool {
        match self {
            Self::Text(finder) => finder.find(line.as_bytes()).is_some(),
            Self::Regex(regex) => regex.is_match(line),
            Self::Pattern(pattern) => pattern.matches(line),
            Self::Ip(ip) => ip.matches_line(line),
        }
    }
}

/// A condition on labels.
#[derive(Debug)]
pub(crate) enum LabelTest {
    Text(LabelMatcher),
    Number(String, CompareOp, f64),
    Duration(String, CompareOp, i64),
    Bytes(String, CompareOp, u64),
    Ip { name: String, is_negated: bool, addresses: IpMatcher },
    And(Box<LabelTest>, Box<LabelTest>),
    Or(Box<LabelTest>, Box<LabelTest>),
}

impl LabelTest {
    pub(crate) fn new(filter: &LabelFilter) -> Result<Self, String> {
        Ok(match filter {
            LabelFilter::Text(matcher) => Self::Text(matcher.clone()),
            LabelFilter::Number(number) => {
                Self::Number(number.name.clone(), number.op, number.value)
            }
            LabelFilter::Duration(duration) => {
                Self::Duration(duration.name.clone(), duration.op, duration.value)
            }
            LabelFilter::Bytes(bytes) => Self::Bytes(bytes.name.clone(), bytes.op, bytes.value),
            LabelFilter::Ip(ip) => Self::Ip {
                name: ip.name.clone(),
                is_negated: ip.is_negated,
                addresses: IpMatcher::new(&ip.addresses).map_err(|error| error.to_string())?,
            },
            LabelFilter::And(left, right) => {
                Self::And(Box::new(Self::new(left)?), Box::new(Self::new(right)?))
            }
            LabelFilter::Or(left, right) => {
                Self::Or(Box::new(Self::new(left)?), Box::new(Self::new(right)?))
            }
        })
    }

    /// Whether a row passes. A value that is no number passes, and is an error.
    pub(crate) fn passes(&self, entry: &Entry<'_>, labels: &mut RowLabels) -> bool {
        match self {
            Self::Text(matcher) => matcher.matches(text_of(entry, labels, &matcher.name)),
            Self::Number(name, op, value) => {
                compare(entry, labels, name, *op, value, number::parse)
            }
            Self::Duration(name, op, value) => {
                compare(entry, labels, name, *op, value, units::parse_go_duration)
            }
            Self::Bytes(name, op, value) => {
                compare(entry, labels, name, *op, value, units::parse_bytes)
            }
            // Only texts are compared in a row that has an error.
            Self::Ip { .. } if !labels.error().is_empty() => true,
            Self::Ip { name, is_negated, addresses } => labels
                .get(entry, name)
                .is_some_and(|value| addresses.matches_value(value) != *is_negated),
            Self::And(left, right) => {
                let passes_left = left.passes(entry, labels);
                // The right side too may find an error.
                right.passes(entry, labels) && passes_left
            }
            Self::Or(left, right) => left.passes(entry, labels) || right.passes(entry, labels),
        }
    }
}

/// What a matcher looks at.
fn text_of<'a>(entry: &Entry<'a>, labels: &'a RowLabels, name: &str) -> &'a str {
    match name {
        ERROR => labels.error(),
        ERROR_DETAILS => labels.error_details(),
        _ => labels.get(entry, name).unwrap_or_default(),
    }
}

fn compare<T: PartialOrd>(
    entry: &Entry<'_>,
    labels: &mut RowLabels,
    name: &str,
    op: CompareOp,
    value: &T,
    parse: fn(&str) -> Option<T>,
) -> bool {
    let Some(text) = labels.get(entry, name) else { return false };
    if let Some(found) = parse(text) {
        return op.holds(&found, value);
    }
    if labels.error().is_empty() {
        let details = format!("label {name}: {text:?} cannot be compared");
        labels.set_error(LABEL_FILTER_ERROR, details);
    }
    true
}
