//! Numbers over time as Jaeger writes them: OpenMetrics' messages in protobuf's JSON.

use chrono::{DateTime, SecondsFormat};
use serde::{Serialize, Serializer};

/// Metrics of one name.
#[derive(Debug, Serialize)]
pub(super) struct Family {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    help: String,
    metrics: Vec<Metric>,
}

impl Family {
    pub(super) fn new(name: String, help: String, metrics: Vec<Metric>) -> Self {
        Self { name, kind: "GAUGE", help, metrics }
    }
}

/// A series: labels, and nanoseconds since 1970 with what was measured then.
#[derive(Debug)]
pub(super) struct Metric {
    labels: Vec<(&'static str, String)>,
    points: Vec<(i64, f64)>,
}

impl Metric {
    pub(super) fn new(labels: Vec<(&'static str, String)>, points: Vec<(i64, f64)>) -> Self {
        Self { labels, points }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            labels: Vec<Label<'a>>,
            metric_points: Vec<Point>,
        }
        #[derive(Serialize)]
        struct Label<'a> {
            name: &'a str,
            value: &'a str,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Point {
            gauge_value: Gauge,
            timestamp: String,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Gauge {
            double_value: Double,
        }
        let labels = self.labels.iter().map(|(name, value)| Label { name, value });
        let points = self.points.iter().map(|(time_nanos, value)| Point {
            gauge_value: Gauge { double_value: Double(*value) },
            timestamp: DateTime::from_timestamp_nanos(*time_nanos)
                .to_rfc3339_opts(SecondsFormat::AutoSi, true),
        });
        Written { labels: labels.collect(), metric_points: points.collect() }.serialize(serializer)
    }
}

/// What is no number is a text in protobuf's JSON, and Jaeger UI leaves a gap for it.
struct Double(f64);

impl Serialize for Double {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_finite() {
            true => serializer.serialize_f64(self.0),
            false if self.0.is_nan() => serializer.serialize_str("NaN"),
            false => serializer.serialize_str(if self.0 > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_members_that_jaeger_ui_reads() {
        let points = vec![(1_631_271_823_806_000_000, 0.5), (1_631_271_883_000_000_000, f64::NAN)];
        let metric = Metric::new(vec![("service_name", "shop".to_owned())], points);
        let family = Family::new("service_call_rate".to_owned(), "h".to_owned(), vec![metric]);
        assert_eq!(
            serde_json::to_string(&family).unwrap(),
            "{\"name\":\"service_call_rate\",\"type\":\"GAUGE\",\"help\":\"h\",\"metrics\":[{\
             \"labels\":[{\"name\":\"service_name\",\"value\":\"shop\"}],\"metricPoints\":[{\
             \"gaugeValue\":{\"doubleValue\":0.5},\"timestamp\":\"2021-09-10T11:03:43.806Z\"},{\
             \"gaugeValue\":{\"doubleValue\":\"NaN\"},\"timestamp\":\"2021-09-10T11:04:43Z\"}]}]}"
        );
    }
}
