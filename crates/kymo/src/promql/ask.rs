//! Asking a server over HTTP, or a directory by the engine.

use kymo_engine::prometheus::PromQuery;
use kymo_promql::eval::Times;
use kymo_server::limits::PROMETHEUS_MAX_POINTS;

use super::answer::Answer;
use crate::client;
use crate::failure::Failure;
use crate::source::{Directory, Source};
use crate::times::TimeArgs;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// When an expression is evaluated, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moments(Times);

impl Moments {
    /// At one time.
    pub(crate) fn at(millis: i64) -> Self {
        Self(Times::instant(millis))
    }

    /// From when until when, and how often.
    pub(crate) fn over(start: i64, end: i64, step: i64) -> Self {
        Self(Times { start, end, step })
    }

    /// As the command line says; over time in any case, if asked for.
    pub(crate) fn of(args: &TimeArgs, is_over_time: bool) -> Result<Self, Failure> {
        if !is_over_time && !args.has_start() && !args.has_step() {
            return Ok(Self::at(args.end() / NANOS_PER_MILLI));
        }
        let range = args.series_range()?;
        let millis = |nanos: i64| nanos.div_euclid(NANOS_PER_MILLI);
        let (start, end) = (millis(range.start), millis(range.end));
        let step = millis(args.step(&range)).max(1);
        if (end - start) / step > PROMETHEUS_MAX_POINTS {
            return Err(Failure::Usage(format!(
                "that is more than {PROMETHEUS_MAX_POINTS} points of each series: choose a longer \
                 --step or less time"
            )));
        }
        Ok(Self::over(start, end, step))
    }

    /// At multiples of the step around them, as Loki has it: the same question a moment later has the
    /// same steps.
    pub(crate) fn aligned(self) -> Self {
        let Times { start, end, step } = self.0;
        if self.is_one() {
            return self;
        }
        let last = end.saturating_add((step - end.rem_euclid(step)) % step);
        Self::over(start - start.rem_euclid(step), last, step)
    }

    /// Whether it is one time.
    pub(crate) fn is_one(&self) -> bool {
        self.0.start == self.0.end
    }

    /// From when until when, in nanoseconds.
    pub(crate) fn bounds_nanos(&self) -> (i64, i64) {
        let nanos = |millis: i64| millis.saturating_mul(NANOS_PER_MILLI);
        (nanos(self.0.start), nanos(self.0.end))
    }

    pub(crate) fn step_nanos(&self) -> i64 {
        self.0.step.saturating_mul(NANOS_PER_MILLI)
    }
}

/// Evaluates an expression.
pub(crate) fn ask(source: &Source, query: &str, moments: &Moments) -> Result<Answer, Failure> {
    let Moments(times) = *moments;
    match source {
        Source::Server(client) => {
            let mut parameters = vec![("query", query.to_owned())];
            let path = if moments.is_one() {
                parameters.push(("time", seconds(times.start)));
                "/prometheus/api/v1/query"
            } else {
                parameters.push(("start", seconds(times.start)));
                parameters.push(("end", seconds(times.end)));
                parameters.push(("step", seconds(times.step)));
                "/prometheus/api/v1/query_range"
            };
            client::json(client.ask(path, &parameters, "application/json")?)
        }
        Source::Directory(directory) => {
            let Directory { engine, runtime, tenants, .. } = &**directory;
            let expr = kymo_promql::parser::parse(query);
            let expr = expr.map_err(|error| Failure::Other(error.to_string()))?;
            let asked = PromQuery { expr, times, lookback: None, timeout: None };
            let evaluation = runtime.block_on(engine.promql(tenants, asked))?;
            let json = kymo_server::prometheus_json(&evaluation, query);
            serde_json::from_str(&json).map_err(|error| {
                Failure::Other(format!("the answer cannot be understood: {error}"))
            })
        }
    }
}

/// Milliseconds as seconds, to the last digit.
fn seconds(millis: i64) -> String {
    let sign = if millis < 0 { "-" } else { "" };
    let size = millis.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_loki_are_multiples_of_the_step() {
        assert_eq!(Moments::over(61, 299, 60).aligned(), Moments::over(60, 300, 60));
        assert_eq!(Moments::over(60, 300, 60).aligned(), Moments::over(60, 300, 60));
        assert_eq!(Moments::at(61).aligned(), Moments::at(61));
    }

    #[test]
    fn seconds_keep_every_digit() {
        assert_eq!(seconds(1_767_323_045_007), "1767323045.007");
        assert_eq!(seconds(-1500), "-1.500");
    }
}
