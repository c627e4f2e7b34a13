//! What a query says beside its result: warnings and infos.
//!
//! The texts are those of Prometheus, as people and tools look for them. Equal
//! texts are said once, with the place where they arose last.

use std::collections::BTreeMap;

use crate::ast::Span;
use crate::number::format_g;
use crate::position::line_and_column;

/// How much weight an annotation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The result may be wrong.
    Warning,
    /// The result may surprise.
    Info,
}

/// What was done to histograms when something was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Addition,
    Subtraction,
    Aggregation,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Addition => "addition",
            Self::Subtraction => "subtraction",
            Self::Aggregation => "aggregation",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Detail {
    None,
    /// Buckets that did not grow: bounds, greatest difference, times, how many.
    Monotonicity {
        min_bucket: f64,
        max_bucket: f64,
        max_diff: f64,
        min_time: i64,
        max_time: i64,
        count: usize,
    },
    /// How often a start time lay before the sample before.
    Overlaps(usize),
}

#[derive(Debug, Clone, PartialEq)]
struct Annotation {
    span: Span,
    detail: Detail,
}

/// Warnings and infos of a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations(BTreeMap<(Severity, String), Annotation>);

/// Buckets of a classic histogram that did not grow with their bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forced {
    pub(crate) time: i64,
    pub(crate) min_bucket: f64,
    pub(crate) max_bucket: f64,
    pub(crate) max_diff: f64,
}

impl Annotations {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: Self) {
        for ((severity, text), annotation) in other.0 {
            self.add(severity, text, annotation);
        }
    }

    fn add(&mut self, severity: Severity, text: String, new: Annotation) {
        let entry = self.0.entry((severity, text));
        entry
            .and_modify(|known| {
                known.span = new.span;
                known.detail = known.detail.joined(&new.detail);
            })
            .or_insert(new);
    }

    fn warn(&mut self, span: Span, text: String) {
        self.add(Severity::Warning, text, Annotation { span, detail: Detail::None });
    }

    fn info(&mut self, span: Span, text: String) {
        self.add(Severity::Info, text, Annotation { span, detail: Detail::None });
    }

    /// The texts of one severity, with the place in the query as `(line:column)`;
    /// at most `limit`, then how many more there are.
    pub fn texts(&self, severity: Severity, query: &str, limit: usize) -> Vec<String> {
        let all: Vec<_> = self.0.iter().filter(|((s, _), _)| *s == severity).collect();
        let shown = if limit == 0 { all.len() } else { limit.min(all.len()) };
        let (prefix, word) = match severity {
            Severity::Warning => ("PromQL warning", "warning"),
            Severity::Info => ("PromQL info", "info"),
        };
        let text = |((_, text), annotation): &(&(Severity, String), &Annotation)| {
            let (line, column) = line_and_column(query, annotation.span.start);
            format!("{prefix}: {text}{} ({line}:{column})", annotation.detail.text())
        };
        let mut texts: Vec<String> = all[..shown].iter().map(text).collect();
        if all.len() > shown {
            texts.push(format!("{} more {word} annotations omitted", all.len() - shown));
        }
        texts
    }

    pub(crate) fn invalid_quantile(&mut self, quantile: f64, span: Span) {
        let got = format_g(quantile);
        self.warn(span, format!("quantile value should be between 0 and 1, got {got}"));
    }

    pub(crate) fn invalid_ratio(&mut self, ratio: f64, capped: f64, span: Span) {
        let (got, to) = (format_g(ratio), format_g(capped));
        self.warn(
            span,
            format!("ratio value should be between -1 and 1, got {got}, capping to {to}"),
        );
    }

    pub(crate) fn bad_bucket_label(&mut self, metric: &str, value: &str, span: Span) {
        let text = format!("bucket label \"le\" is missing or has a malformed value of {value:?}");
        self.warn(span, with_metric(text, metric));
    }

    pub(crate) fn mixed_floats_histograms(&mut self, metric: &str, span: Span) {
        let text = "encountered a mix of histograms and floats for";
        self.warn(span, format!("{text} metric name {metric:?}"));
    }

    pub(crate) fn mixed_in_aggregation(&mut self, span: Span) {
        self.warn(span, "encountered a mix of histograms and floats for aggregation".to_owned());
    }

    pub(crate) fn mixed_classic_native(&mut self, metric: &str, span: Span) {
        let text = "vector contains a mix of classic and native histograms".to_owned();
        self.warn(span, with_metric(text, metric));
    }

    pub(crate) fn not_counter_histogram(&mut self, metric: &str, span: Span) {
        self.warn(span, format!("this native histogram metric is not a counter: {metric:?}"));
    }

    pub(crate) fn not_gauge_histogram(&mut self, metric: &str, span: Span) {
        self.warn(span, format!("this native histogram metric is not a gauge: {metric:?}"));
    }

    pub(crate) fn mixed_exponential_custom(&mut self, metric: &str, span: Span) {
        let text = "vector contains a mix of histograms with exponential and custom buckets \
                    schemas for metric name";
        self.warn(span, format!("{text} {metric:?}"));
    }

    pub(crate) fn incompatible_layout(&mut self, operator: &str, span: Span) {
        let text = "incompatible bucket layout encountered for binary operator";
        self.warn(span, format!("{text} {operator}"));
    }

    pub(crate) fn sort_in_range(&mut self, span: Span) {
        let text = "sort is ineffective for range queries since results are always ordered by \
                    labels";
        self.warn(span, text.to_owned());
    }

    pub(crate) fn reset_collision(&mut self, operation: Operation, span: Span) {
        let text = "conflicting counter resets during histogram";
        self.warn(span, format!("{text} {}", operation.name()));
    }

    pub(crate) fn start_overlap(&mut self, metric: &str, span: Span) {
        let text = "sample has start time that overlaps with previous sample timestamp";
        let annotation = Annotation { span, detail: Detail::Overlaps(1) };
        self.add(Severity::Warning, format!("{text} for metric {metric:?}"), annotation);
    }

    pub(crate) fn possible_non_counter(&mut self, metric: &str, span: Span) {
        let text = "metric might not be a counter, name does not end in \
                    _total/_sum/_count/_bucket:";
        self.info(span, format!("{text} {metric:?}"));
    }

    pub(crate) fn possible_non_counter_type(&mut self, metric: &str, label: &str, span: Span) {
        let text = "metric might not be a counter, __type__ label is not set to \"counter\" or \
                    \"histogram\"";
        self.info(span, format!("{text}, got {label:?}: {metric:?}"));
    }

    pub(crate) fn forced_monotonicity(&mut self, metric: &str, forced: &Forced, span: Span) {
        let text = "input to histogram_quantile needed to be fixed for monotonicity (see \
                    https://prometheus.io/docs/prometheus/latest/querying/functions/\
                    #histogram_quantile)";
        let detail = Detail::Monotonicity {
            min_bucket: forced.min_bucket,
            max_bucket: forced.max_bucket,
            max_diff: forced.max_diff,
            min_time: forced.time,
            max_time: forced.time,
            count: 1,
        };
        let text = with_metric(text.to_owned(), metric);
        self.add(Severity::Info, text, Annotation { span, detail });
    }

    pub(crate) fn incompatible_types(&mut self, operator: &str, sides: [&str; 2], span: Span) {
        let [left, right] = sides;
        let text = "incompatible sample types encountered for binary operator";
        self.info(span, format!("{text} {operator:?}: {left} {operator} {right}"));
    }

    pub(crate) fn ignored_in_aggregation(&mut self, aggregation: &str, span: Span) {
        self.info(span, format!("ignored histogram in {aggregation} aggregation"));
    }

    pub(crate) fn ignored_in_mixed_range(&mut self, metric: &str, span: Span) {
        let text = "ignored histograms in a range containing both floats and histograms for \
                    metric name";
        self.info(span, format!("{text} {metric:?}"));
    }

    pub(crate) fn quantile_is_nan(&mut self, metric: &str, span: Span) {
        let text = "input to histogram_quantile has NaN observations, result is NaN".to_owned();
        self.info(span, with_metric(text, metric));
    }

    pub(crate) fn quantile_is_skewed(&mut self, metric: &str, span: Span) {
        let text = "input to histogram_quantile has NaN observations, result is skewed higher";
        self.info(span, with_metric(text.to_owned(), metric));
    }

    pub(crate) fn fraction_without_nan(&mut self, metric: &str, span: Span) {
        let text = "input to histogram_fraction has NaN observations, which are excluded from \
                    all fractions";
        self.info(span, with_metric(text.to_owned(), metric));
    }

    pub(crate) fn bounds_reconciled(&mut self, operation: Operation, span: Span) {
        let text = "mismatched custom buckets were reconciled during";
        self.info(span, format!("{text} {}", operation.name()));
    }
}

fn with_metric(text: String, metric: &str) -> String {
    if metric.is_empty() { text } else { format!("{text} for metric name {metric:?}") }
}

/// A number with two significant digits.
fn two_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    format_g(rounded)
}

impl Detail {
    fn joined(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Overlaps(a), Self::Overlaps(b)) => Self::Overlaps(a + b),
            (
                Self::Monotonicity { min_bucket, max_bucket, max_diff, min_time, max_time, count },
                Self::Monotonicity {
                    min_bucket: other_min,
                    max_bucket: other_max,
                    max_diff: other_diff,
                    min_time: other_min_time,
                    max_time: other_max_time,
                    count: other_count,
                },
            ) => Self::Monotonicity {
                min_bucket: min_bucket.min(*other_min),
                max_bucket: max_bucket.max(*other_max),
                max_diff: max_diff.max(*other_diff),
                min_time: *min_time.min(other_min_time),
                max_time: *max_time.max(other_max_time),
                count: count + other_count,
            },
            _ => other.clone(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::None | Self::Overlaps(0 | 1) => String::new(),
            Self::Overlaps(count) => format!(" ({count} occurrences)"),
            Self::Monotonicity { min_bucket, max_bucket, max_diff, min_time, max_time, count } => {
                format!(
                    ", from buckets {} to {}, with a max diff of {}, over {count} samples from {} \
                     to {}",
                    format_g(*min_bucket),
                    format_g(*max_bucket),
                    two_digits(*max_diff),
                    crate::dates::rfc3339(min_time.div_euclid(1000)),
                    crate::dates::rfc3339(max_time.div_euclid(1000)),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_said_once_and_say_where() {
        let mut annotations = Annotations::default();
        annotations.invalid_quantile(2.0, Span { start: 9, end: 10 });
        annotations.invalid_quantile(2.0, Span { start: 10, end: 11 });
        annotations.sort_in_range(Span { start: 0, end: 4 });
        let query = "sort(a)\n+ b";
        let warnings = annotations.texts(Severity::Warning, query, 0);
        assert_eq!(warnings.len(), 2);
        assert_eq!(
            warnings[0],
            "PromQL warning: quantile value should be between 0 and 1, got 2 (2:3)"
        );
        assert!(annotations.texts(Severity::Info, query, 0).is_empty());
        let few = annotations.texts(Severity::Warning, query, 1);
        assert_eq!(few[1], "1 more warning annotations omitted");
    }

    #[test]
    fn occurrences_are_counted() {
        let mut annotations = Annotations::default();
        for _ in 0..2 {
            annotations.start_overlap("a_total", Span { start: 5, end: 6 });
        }
        let warnings = annotations.texts(Severity::Warning, "rate(a_total[5m])", 0);
        assert_eq!(
            warnings,
            ["PromQL warning: sample has start time that overlaps with previous sample timestamp \
              for metric \"a_total\" (2 occurrences) (1:6)"]
        );
    }
}
