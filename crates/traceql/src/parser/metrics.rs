//! Functions over time, and stages of series.

use super::pipeline::constant;
use super::{Parser, Result};
use crate::ast::{Attribute, Literal, Metrics, MetricsFunction, Pipeline, SeriesStage};
use crate::lexer::TokenKind;
use crate::limits::{DEFAULT_COMPARE_TOP, MAX_COMPARE_TOP, MAX_GROUP_BY, MAX_QUANTILES};
use crate::names::level;

/// Whether a word is a function over time.
pub(super) fn is_function_word(word: &str) -> bool {
    matches!(
        word,
        "rate"
            | "compare"
            | "count_over_time"
            | "min_over_time"
            | "max_over_time"
            | "sum_over_time"
            | "avg_over_time"
            | "quantile_over_time"
            | "histogram_over_time"
    )
}

/// Whether it is `… | compare(…)`, which gives something else than series of numbers.
pub(super) fn is_compare(metrics: &Metrics) -> bool {
    matches!(metrics, Metrics::Query { function: MetricsFunction::Compare { .. }, .. })
}

impl Parser<'_> {
    /// A function over time, if that is next.
    pub(super) fn metrics_function(&mut self) -> Result<Option<MetricsFunction>> {
        let TokenKind::Word(word) = *self.peek() else { return Ok(None) };
        if !is_function_word(word) {
            return Ok(None);
        }
        self.advance();
        self.open_paren()?;
        let function = match word {
            "rate" => MetricsFunction::Rate,
            "count_over_time" => MetricsFunction::CountOverTime,
            "compare" => self.compare()?,
            "quantile_over_time" => {
                let of = self.attribute()?;
                MetricsFunction::QuantileOverTime(of, self.quantiles()?)
            }
            "min_over_time" => MetricsFunction::MinOverTime(self.attribute()?),
            "max_over_time" => MetricsFunction::MaxOverTime(self.attribute()?),
            "sum_over_time" => MetricsFunction::SumOverTime(self.attribute()?),
            "avg_over_time" => MetricsFunction::AvgOverTime(self.attribute()?),
            _ => MetricsFunction::HistogramOverTime(self.attribute()?),
        };
        self.close_paren()?;
        Ok(Some(function))
    }

    /// After the function: `by (…)` and stages.
    pub(super) fn metrics_query(
        &mut self,
        pipeline: Pipeline,
        function: MetricsFunction,
    ) -> Result<Metrics> {
        let start = self.token().start;
        let is_compare = matches!(function, MetricsFunction::Compare { .. });
        let mut by = Vec::new();
        if !is_compare && self.accept_word("by") {
            self.open_paren()?;
            by = self.attributes()?;
            self.check_by(&by, &function, start)?;
        }
        let mut metrics = Metrics::Query { pipeline, function, by, stages: Vec::new() };
        self.series_stages(&mut metrics)?;
        Ok(metrics)
    }

    fn check_by(&self, by: &[Attribute], function: &MetricsFunction, start: usize) -> Result<()> {
        let adds_label = matches!(
            function,
            MetricsFunction::QuantileOverTime(..) | MetricsFunction::HistogramOverTime(_)
        );
        let most = MAX_GROUP_BY - usize::from(adds_label);
        if by.len() <= most {
            return Ok(());
        }
        let message = format!("grouped by {} attributes, at most {most} are possible", by.len());
        Err(self.mistyped(start, message))
    }

    /// `| topk(n)`, `| bottomk(n)` and comparisons, in any order.
    pub(super) fn series_stages(&mut self, metrics: &mut Metrics) -> Result<()> {
        loop {
            let start = self.token().start;
            let stage = match *self.peek() {
                TokenKind::Operator(op) if op.compares() => {
                    self.advance();
                    let part = self.part(level::SUM)?;
                    let Some(threshold) = constant(&part) else {
                        let message = "series are compared with a number";
                        return Err(self.syntax(part.start, message));
                    };
                    SeriesStage::Filter(op, threshold.clone())
                }
                TokenKind::Pipe => {
                    self.advance();
                    self.top()?
                }
                TokenKind::Operator(_) => {
                    return Err(self.unexpected(
                        "a comparison or \"|\"; to compute with series, put each query in \
                         parentheses",
                    ));
                }
                _ => return Ok(()),
            };
            self.push_stage(metrics, stage, start)?;
        }
    }

    pub(super) fn push_stage(
        &self,
        metrics: &mut Metrics,
        stage: SeriesStage,
        start: usize,
    ) -> Result<()> {
        if is_compare(metrics) {
            let message = "what compare() gives cannot be filtered".to_owned();
            return Err(self.mistyped(start, message));
        }
        match metrics {
            Metrics::Query { stages, .. } | Metrics::Binary { stages, .. } => stages.push(stage),
            Metrics::Literal(_) => return Err(self.syntax(start, "a number has no stages")),
        }
        Ok(())
    }

    /// `topk(n)` or `bottomk(n)`.
    fn top(&mut self) -> Result<SeriesStage> {
        let make = match *self.peek() {
            TokenKind::Word("topk") => SeriesStage::TopK,
            TokenKind::Word("bottomk") => SeriesStage::BottomK,
            _ => return Err(self.unexpected("topk() or bottomk()")),
        };
        let start = self.token().start;
        self.advance();
        self.open_paren()?;
        let count = self.whole_number("how many series to keep")?;
        self.close_paren()?;
        if count == 0 {
            return Err(self.mistyped(start, "at least one series has to be kept".to_owned()));
        }
        Ok(make(count))
    }

    /// After `compare(`: the selection, how many values to tell, a time range.
    fn compare(&mut self) -> Result<MetricsFunction> {
        let selection = self.filter()?.expr;
        let mut top = DEFAULT_COMPARE_TOP;
        let mut range = None;
        if self.accept(&TokenKind::Comma) {
            let start = self.token().start;
            top = self.whole_number("how many values to tell")?;
            if !(1..=MAX_COMPARE_TOP).contains(&top) {
                let message = format!("compare() tells 1 to {MAX_COMPARE_TOP} values, not {top}");
                return Err(self.mistyped(start, message));
            }
            if self.accept(&TokenKind::Comma) {
                let from = self.time()?;
                self.expect(&TokenKind::Comma, "\",\" and the end of the time range")?;
                let to = self.time()?;
                // Zeros stand for no range.
                range = (from != 0 || to != 0).then_some((from, to));
                if range.is_some() && from >= to {
                    let message = "the time range has to end after it starts".to_owned();
                    return Err(self.mistyped(start, message));
                }
            }
        }
        Ok(MetricsFunction::Compare { selection, top, range })
    }

    fn whole_number(&mut self, expected: &str) -> Result<usize> {
        let TokenKind::Int(value) = *self.peek() else { return Err(self.unexpected(expected)) };
        let value = usize::try_from(value).map_err(|_| self.unexpected(expected))?;
        self.advance();
        Ok(value)
    }

    fn time(&mut self) -> Result<i64> {
        let TokenKind::Int(nanos) = *self.peek() else {
            return Err(self.unexpected("a time in nanoseconds since 1970"));
        };
        self.advance();
        Ok(nanos)
    }

    /// After the attribute: quantiles, each after a comma.
    fn quantiles(&mut self) -> Result<Vec<f64>> {
        let mut quantiles = Vec::new();
        while quantiles.is_empty() || *self.peek() == TokenKind::Comma {
            self.expect(&TokenKind::Comma, "\",\" and a quantile")?;
            let start = self.token().start;
            let quantile = match self.literal()? {
                Literal::Int(value) => value as f64,
                Literal::Float(value) => value,
                other => {
                    let message = format!("a quantile is a number from 0 to 1, not {other}");
                    return Err(self.syntax(start, &message));
                }
            };
            if !(0.0..=1.0).contains(&quantile) {
                let message = format!("a quantile is a number from 0 to 1, not {quantile}");
                return Err(self.mistyped(start, message));
            }
            if quantiles.len() == MAX_QUANTILES {
                let message = format!("at most {MAX_QUANTILES} quantiles are possible at once");
                return Err(self.mistyped(start, message));
            }
            quantiles.push(quantile);
        }
        Ok(quantiles)
    }
}
