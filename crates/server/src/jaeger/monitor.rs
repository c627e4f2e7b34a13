//! `/jaeger/api/metrics/{latencies,calls,errors}`: what Jaeger UI's Monitor tab draws. Jaeger needs
//! span metrics in a Prometheus for it; here the spans themselves are counted.
//!
//! Points lie at the end and whole steps before it, and each tells of the time `ratePer` before it,
//! as `rate(…[10m])` does in PromQL.

use std::collections::BTreeMap;
use std::time::Duration;

use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_traceql::ast::{
    Attribute, BinaryOp, Body, Expr, Intrinsic, Kind, Literal, Metrics, MetricsFunction, Name,
    Pipeline, Query, Spansets, Stage, Status,
};
use kymo_traceql::metrics::Series;
use kymo_traceql::value::OwnedValue;

use super::failed::Failed;
use super::family::{Family, Metric};
use super::legacy::kind_of;
use super::reader::Reader;
use super::tags::{compare, intrinsic};
use super::{service, units};
use crate::limits::{
    JAEGER_MAX_SERVICES, JAEGER_MONITOR_LOOKBACK, JAEGER_MONITOR_RATE, JAEGER_MONITOR_STEP,
};
use crate::parameters::Parameters;
use crate::times;

const MILLIS_PER_SECOND: f64 = 1e3;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    /// A quantile of durations, in milliseconds.
    Latencies(f64),
    /// Spans per second.
    Calls,
    /// The part of spans whose status is an error.
    Errors,
}

/// A question of the Monitor tab.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Monitored {
    what: What,
    services: Vec<String>,
    kinds: Vec<Kind>,
    by_operation: bool,
    start_nanos: i64,
    end_nanos: i64,
    step_nanos: i64,
    /// Steps that a point tells of.
    window: usize,
}

impl Monitored {
    /// Of the last part of the path, and parameters; times are milliseconds.
    pub(super) fn of(which: &str, parameters: &Parameters) -> Result<Self, Failed> {
        let what = match which {
            "latencies" => What::Latencies(quantile(parameters).map_err(Failed::Invalid)?),
            "calls" => What::Calls,
            "errors" => What::Errors,
            _ => {
                let known = "there are metrics/latencies, metrics/calls and metrics/errors";
                return Err(Failed::Unknown(known));
            }
        };
        Self::read(what, parameters).map_err(Failed::Invalid)
    }

    fn read(what: What, parameters: &Parameters) -> Result<Self, String> {
        let services: Vec<String> = parameters.all("service").map(str::to_owned).collect();
        if services.is_empty() || services.len() > JAEGER_MAX_SERVICES {
            return Err(format!(
                "the parameter service is required, and may come {JAEGER_MAX_SERVICES} times"
            ));
        }
        let kinds: Result<Vec<_>, String> = parameters.all("spanKind").map(kind_of).collect();
        let mut kinds: Vec<Kind> = kinds?.into_iter().flatten().collect();
        if kinds.is_empty() {
            kinds.push(Kind::Server);
        }
        let end_nanos = units::millis(parameters, "endTs")?.unwrap_or_else(times::now_nanos);
        let lookback = length(parameters, "lookback", JAEGER_MONITOR_LOOKBACK)?;
        let step_nanos = length(parameters, "step", JAEGER_MONITOR_STEP)?;
        let rate_nanos = length(parameters, "ratePer", JAEGER_MONITOR_RATE)?;
        Ok(Self {
            what,
            services,
            kinds,
            by_operation: parameters.switch("groupByOperation")?,
            start_nanos: end_nanos.saturating_sub(lookback),
            end_nanos,
            step_nanos,
            // Whole steps, and no more than can be answered: the grid says so.
            window: usize::try_from((rate_nanos - 1) / step_nanos + 1).unwrap_or(usize::MAX),
        })
    }

    /// The answer.
    pub(super) async fn family(&self, reader: &Reader) -> Result<Family, Failed> {
        let series = reader.metrics(self.query()).await?;
        let metrics = match self.what {
            What::Errors => shares(&series),
            What::Calls => series.iter().map(|calls| metric(calls, |rate| rate)).collect(),
            What::Latencies(_) => series.iter().map(|latency| metric(latency, millis)).collect(),
        };
        let (name, help) = self.described();
        Ok(Family::new(name, help, metrics))
    }

    /// As TraceQL: `{ service && kind } | function() by (service, …)`.
    fn query(&self) -> MetricsQuery {
        let mut by = vec![service::attribute()];
        if self.by_operation {
            by.push(of_span(Intrinsic::Name));
        }
        let function = match self.what {
            What::Calls => MetricsFunction::Rate,
            What::Latencies(quantile) => {
                MetricsFunction::QuantileOverTime(of_span(Intrinsic::Duration), vec![quantile])
            }
            What::Errors => {
                by.push(of_span(Intrinsic::Status));
                MetricsFunction::CountOverTime
            }
        };
        let filter = Stage::Spansets(Spansets::Filter(self.filter()));
        let pipeline = Pipeline { stages: vec![filter] };
        let body = Body::Metrics(Metrics::Query { pipeline, function, by, stages: Vec::new() });
        MetricsQuery {
            query: Query { body, hints: Vec::new() },
            start_nanos: self.start_nanos,
            end_nanos: self.end_nanos,
            points: Points::Sliding { step_nanos: self.step_nanos, window: self.window },
            exemplars: 0,
        }
    }

    fn filter(&self) -> Expr {
        let is_kind = |kind: &Kind| {
            compare(intrinsic(Intrinsic::Kind), BinaryOp::Equal, Literal::Kind(*kind))
        };
        let services = self.services.iter().map(|name| service::filter(name));
        Expr::all([Expr::any(services), Expr::any(self.kinds.iter().map(is_kind))])
    }

    /// The name by which Jaeger UI tells answers apart, and words about it.
    fn described(&self) -> (String, String) {
        let (of, by) = match self.by_operation {
            true => ("service_operation", "service and operation"),
            false => ("service", "service"),
        };
        let (what, help) = match self.what {
            What::Latencies(quantile) => {
                ("latencies", format!("duration in milliseconds, quantile {quantile}"))
            }
            What::Calls => ("call_rate", "spans per second".to_owned()),
            What::Errors => ("error_rate", "part of spans whose status is an error".to_owned()),
        };
        (format!("{of}_{what}"), format!("{help}, by {by}"))
    }
}

fn of_span(intrinsic: Intrinsic) -> Attribute {
    Attribute { of_parent: false, name: Name::Intrinsic(intrinsic) }
}

fn quantile(parameters: &Parameters) -> Result<f64, String> {
    let is_part = |quantile: &f64| (0.0..=1.0).contains(quantile);
    let expected = "a number from 0 to 1";
    let read = parameters.read("quantile", expected, |text| text.parse().ok().filter(is_part))?;
    read.ok_or_else(|| format!("the parameter quantile is required: {expected}"))
}

/// A length of time that is more than nothing, in nanoseconds.
fn length(parameters: &Parameters, name: &str, default: Duration) -> Result<i64, String> {
    match units::millis(parameters, name)? {
        None => Ok(default.as_nanos() as i64),
        Some(nanos) if nanos > 0 => Ok(nanos),
        Some(_) => Err(format!("{name} must be more than 0 ms")),
    }
}

/// Names and values.
type Labels = Vec<(&'static str, String)>;
/// Errors and calls by time.
type Calls = BTreeMap<i64, (f64, f64)>;

/// The service and operation of a series.
fn labels(series: &Series) -> Labels {
    let text = |name: &str| {
        let value = series.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value);
        value.and_then(|value| match value {
            OwnedValue::Text(text) => Some(text.clone()),
            _ => None,
        })
    };
    let of_service = text(&service::attribute().to_string()).unwrap_or_default();
    let mut labels = vec![("service_name", service::shown(of_service))];
    let operation = text(&of_span(Intrinsic::Name).to_string());
    labels.extend(operation.map(|operation| ("operation", operation)));
    labels
}

/// A quantile of seconds. One of nothing is no number, which is drawn as a gap.
fn millis(seconds: f64) -> f64 {
    if seconds == 0.0 { f64::NAN } else { seconds * MILLIS_PER_SECOND }
}

fn metric(series: &Series, value: impl Fn(f64) -> f64) -> Metric {
    let points = series.points.iter().map(|(time, told)| (*time, value(*told)));
    Metric::new(labels(series), points.collect())
}

/// Errors by calls, of counts by status. No calls have no share of errors.
fn shares(counts: &[Series]) -> Vec<Metric> {
    let status = of_span(Intrinsic::Status).to_string();
    let mut totals: BTreeMap<Labels, Calls> = BTreeMap::new();
    for series in counts {
        let error = OwnedValue::Status(Status::Error);
        let is_error = series.labels.iter().any(|(name, value)| *name == status && *value == error);
        let total = totals.entry(labels(series)).or_default();
        for (time, count) in &series.points {
            let (errors, calls) = total.entry(*time).or_default();
            *calls += count;
            *errors += if is_error { *count } else { 0.0 };
        }
    }
    let metric = |(labels, points): (Labels, Calls)| {
        let share = |(time, (errors, calls))| (time, errors / calls);
        Metric::new(labels, points.into_iter().map(share).collect())
    };
    totals.into_iter().map(metric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(which: &str, query: &str) -> Result<Monitored, String> {
        Monitored::of(which, &Parameters::parse(query).unwrap()).map_err(|failed| match failed {
            Failed::Invalid(message) => message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn what_is_asked_becomes_a_query_for_windows_that_slide() {
        let parameters = "service=a&service=it's \"b\"&spanKind=client&spanKind=server&endTs=9000&\
                          lookback=5000&step=300&ratePer=1000&groupByOperation=true";
        let query = asked("errors", parameters).unwrap().query();
        assert_eq!(
            query.query.to_string(),
            "{ resource.service.name = \"a\" || resource.service.name = \"it's \\\"b\\\"\" && \
             (kind = client || kind = server) } | count_over_time() by (resource.service.name, \
             name, status)"
        );
        assert_eq!((query.start_nanos, query.end_nanos), (4_000_000_000, 9_000_000_000));
        assert_eq!(query.points, Points::Sliding { step_nanos: 300_000_000, window: 4 });
        let latencies = asked("latencies", "service=a&quantile=0.95").unwrap();
        assert!(latencies.query().query.to_string().contains("quantile_over_time(duration, 0.95)"));
        assert_eq!(latencies.described().0, "service_latencies");
        // Ten minutes of steps of five seconds.
        assert_eq!(latencies.window, 120);
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        for (which, parameters, word) in [
            ("calls", "", "service is required"),
            ("calls", "service=a&step=0", "step must be more than 0"),
            ("calls", "service=a&lookback=-5", "lookback"),
            ("calls", "service=a&ratePer=x", "ratePer"),
            ("calls", "service=a&spanKind=loud", "spanKind"),
            ("calls", "service=a&groupByOperation=maybe", "true or false"),
            ("latencies", "service=a", "quantile is required"),
            ("latencies", "service=a&quantile=95", "0 to 1"),
            ("latencies", "service=a&quantile=NaN", "0 to 1"),
            ("minstep", "service=a", "metrics/latencies"),
        ] {
            let refused = asked(which, parameters).unwrap_err();
            assert!(refused.contains(word), "{which}?{parameters}: {refused}");
        }
    }

    #[test]
    fn a_share_of_errors_is_of_all_calls_and_nothing_has_none() {
        let series = |service: &str, status: Status, counts: [f64; 3]| Series {
            labels: vec![
                ("resource.service.name".to_owned(), OwnedValue::Text(service.to_owned())),
                ("status".to_owned(), OwnedValue::Status(status)),
            ],
            points: counts.into_iter().enumerate().map(|(at, of)| (at as i64, of)).collect(),
            exemplars: Vec::new(),
        };
        let counts = [
            series("shop", Status::Error, [1.0, 0.0, 0.0]),
            series("shop", Status::Ok, [1.0, 2.0, 0.0]),
            series("shop", Status::Unset, [2.0, 0.0, 0.0]),
            series("calm", Status::Unset, [1.0, 1.0, 1.0]),
        ];
        let shares = shares(&counts);
        let told: Vec<String> = shares.iter().map(|metric| format!("{metric:?}")).collect();
        assert!(told[0].contains("calm") && told[0].contains("(0, 0.0), (1, 0.0)"), "{told:?}");
        assert!(told[1].contains("[(0, 0.25), (1, 0.0), (2, NaN)]"), "{told:?}");
    }
}
