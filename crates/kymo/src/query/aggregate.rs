//! `--agg`: what is computed of a group, and the function of TraceQL that computes it.

use std::str::FromStr;

use kymo_traceql::ast::MetricsFunction;
use kymo_traceql::parse_attribute;

use crate::frame::Unit;

/// What is computed, as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Aggregate {
    pub(super) name: String,
    pub(super) function: MetricsFunction,
}

impl Aggregate {
    /// How many spans there are.
    pub(super) fn count() -> Self {
        Self { name: "count()".to_owned(), function: MetricsFunction::CountOverTime }
    }

    pub(super) fn unit(&self) -> Unit {
        unit_of(&self.function)
    }
}

/// The unit of what a function gives: durations come in seconds.
pub(super) fn unit_of(function: &MetricsFunction) -> Unit {
    use MetricsFunction as F;
    match function {
        F::MinOverTime(of)
        | F::MaxOverTime(of)
        | F::SumOverTime(of)
        | F::AvgOverTime(of)
        | F::QuantileOverTime(of, _)
            if of.is_duration() =>
        {
            Unit::Seconds
        }
        _ => Unit::None,
    }
}

impl FromStr for Aggregate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected count(), sum(x), avg(x), min(x), max(x), or p50(x), p99.9(x) and \
                        the like, where x is duration or an attribute such as span.size";
        let (word, rest) = text.trim().split_once('(').ok_or(expected)?;
        let of = rest.strip_suffix(')').ok_or(expected)?.trim();
        let attribute = || {
            let of = parse_attribute(of);
            of.map_err(|error| format!("{} is not an attribute: {}", rest, error.message()))
        };
        let function = match word.trim() {
            "count" if of.is_empty() => return Ok(Self::count()),
            "sum" => MetricsFunction::SumOverTime(attribute()?),
            "avg" => MetricsFunction::AvgOverTime(attribute()?),
            "min" => MetricsFunction::MinOverTime(attribute()?),
            "max" => MetricsFunction::MaxOverTime(attribute()?),
            word => {
                let quantile = quantile(word).ok_or(expected)?;
                MetricsFunction::QuantileOverTime(attribute()?, vec![quantile])
            }
        };
        Ok(Self { name: format!("{}({of})", word.trim()), function })
    }
}

/// `p99` is 0.99.
fn quantile(word: &str) -> Option<f64> {
    let percent = word.strip_prefix('p')?;
    let is_number = percent.starts_with(|c: char| c.is_ascii_digit())
        && percent.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    // By its digits: 99.9 / 100 would be 0.9990000000000001.
    let percent = percent.parse::<f64>().ok().filter(|number| is_number && *number <= 100.0)?;
    format!("{:.10}", percent / 100.0).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_are_functions_over_time() {
        for (text, printed, unit) in [
            ("count()", "count_over_time()", Unit::None),
            ("sum(duration)", "sum_over_time(duration)", Unit::Seconds),
            (" avg( span.size ) ", "avg_over_time(span.size)", Unit::None),
            ("max(trace:duration)", "max_over_time(traceDuration)", Unit::Seconds),
            ("min(.x)", "min_over_time(.x)", Unit::None),
            ("p99(duration)", "quantile_over_time(duration, 0.99)", Unit::Seconds),
            ("p99.9(duration)", "quantile_over_time(duration, 0.999)", Unit::Seconds),
        ] {
            let aggregate: Aggregate = text.parse().unwrap();
            assert_eq!(aggregate.function.to_string(), printed, "{text}");
            assert_eq!(aggregate.unit(), unit, "{text}");
        }
        assert_eq!("sum( duration )".parse::<Aggregate>().unwrap().name, "sum(duration)");
    }

    #[test]
    fn what_is_no_aggregate_is_told_what_is() {
        for bad in ["", "sum", "sum(", "count(x)", "median(duration)", "p(x)", "p101(x)", "pnan(x)"]
        {
            let message = bad.parse::<Aggregate>().unwrap_err();
            assert!(message.contains("expected count()"), "{bad}: {message}");
        }
        for bad in ["sum()", "sum(})"] {
            assert!(bad.parse::<Aggregate>().is_err(), "{bad}");
        }
    }
}
