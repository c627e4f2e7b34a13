//! What a scan of points must show of a point that was sent, as text: the simple
//! way, from the structs of the reference decoder.

use base64::prelude::{BASE64_STANDARD, Engine};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point;

use super::model::Point;

/// Attributes as a JSON object.
pub(crate) fn json(attributes: &[KeyValue]) -> String {
    let entry = |attribute: &KeyValue| {
        let key = serde_json::to_string(&attribute.key).unwrap();
        format!("{key}:{}", value_json(attribute.value.as_ref()))
    };
    format!("{{{}}}", attributes.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn value_json(value: Option<&AnyValue>) -> String {
    let Some(value) = value.and_then(|value| value.value.as_ref()) else {
        return "null".to_owned();
    };
    match value {
        Value::StringValue(text) => serde_json::to_string(text).unwrap(),
        Value::BoolValue(value) => value.to_string(),
        Value::IntValue(value) => value.to_string(),
        Value::DoubleValue(value) if value.is_nan() => "\"NaN\"".to_owned(),
        Value::DoubleValue(f64::INFINITY) => "\"Infinity\"".to_owned(),
        Value::DoubleValue(f64::NEG_INFINITY) => "\"-Infinity\"".to_owned(),
        Value::DoubleValue(value) => format!("{value:?}"),
        Value::BytesValue(bytes) => format!("\"{}\"", BASE64_STANDARD.encode(bytes)),
        Value::ArrayValue(array) => {
            let values: Vec<String> = array.values.iter().map(|v| value_json(Some(v))).collect();
            format!("[{}]", values.join(","))
        }
        Value::KvlistValue(list) => json(&list.values),
        other => panic!("{other:?} is not sent here"),
    }
}

/// The value of a key where a column of texts has room for one: texts first, then
/// the other types.
pub(crate) fn shown(attributes: &[KeyValue], key: &str) -> Option<String> {
    let rank = |value: &Value| match value {
        Value::StringValue(_) => 0,
        Value::BoolValue(_) => 1,
        Value::IntValue(_) => 2,
        Value::DoubleValue(_) => 3,
        _ => 4,
    };
    let values = attributes.iter().filter(|a| a.key == key);
    let values = values.filter_map(|a| a.value.as_ref()?.value.as_ref());
    values.min_by_key(|value| rank(value)).map(|value| match value {
        Value::StringValue(text) => text.clone(),
        Value::DoubleValue(value) => value.to_string(),
        Value::BytesValue(bytes) => BASE64_STANDARD.encode(bytes),
        other => value_json(Some(&AnyValue { value: Some(other.clone()) })),
    })
}

fn optional(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{:016x}", value.to_bits()))
}

fn doubles(values: impl IntoIterator<Item = f64>) -> Option<String> {
    let items: Vec<String> = values.into_iter().map(|v| format!("{:016x}", v.to_bits())).collect();
    Some(format!("[{}]", items.join(",")))
}

fn counts(values: impl IntoIterator<Item = u64>) -> Option<String> {
    let items: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
    Some(format!("[{}]", items.join(",")))
}

/// The metric of a point: name, unit, type, temporality, monotonic; and its labels.
pub(crate) fn of_metric(point: &Point) -> (Vec<Option<String>>, &[KeyValue]) {
    let (_, metric) = point.metric();
    let temporality = |number: i32| {
        let words = ["unspecified", "delta", "cumulative"];
        let word = usize::try_from(number).ok().and_then(|n| words.get(n));
        Some(word.map_or_else(|| number.to_string(), |word| (*word).to_owned()))
    };
    let (kind, temporality, monotonic, labels) = match metric.data.as_ref().unwrap() {
        Data::Gauge(d) => ("gauge", None, None, &d.data_points[0].attributes),
        Data::Sum(d) => (
            "sum",
            temporality(d.aggregation_temporality),
            Some(d.is_monotonic.to_string()),
            &d.data_points[0].attributes,
        ),
        Data::Histogram(d) => (
            "histogram",
            temporality(d.aggregation_temporality),
            None,
            &d.data_points[0].attributes,
        ),
        Data::ExponentialHistogram(d) => (
            "exponential_histogram",
            temporality(d.aggregation_temporality),
            None,
            &d.data_points[0].attributes,
        ),
        Data::Summary(d) => ("summary", None, None, &d.data_points[0].attributes),
    };
    let unit = (!metric.unit.is_empty()).then(|| metric.unit.clone());
    (vec![Some(metric.name.clone()), unit, Some(kind.to_owned()), temporality, monotonic], labels)
}

/// The members of a point, in the order of `kymo_store::tables::series::point`.
pub(crate) fn members(point: &Point) -> Vec<Option<String>> {
    let (_, metric) = point.metric();
    let start_time = |start: u64| (start != 0).then(|| (start as i64).to_string());
    let mut row = vec![None; 11];
    let flags = match metric.data.as_ref().unwrap() {
        Data::Gauge(_) | Data::Sum(_) => {
            let point = match metric.data.as_ref().unwrap() {
                Data::Gauge(d) => &d.data_points[0],
                Data::Sum(d) => &d.data_points[0],
                _ => panic!("matched above"),
            };
            row[1] = start_time(point.start_time_unix_nano);
            row[2] = optional(point.value.map(|value| match value {
                number_data_point::Value::AsDouble(value) => value,
                number_data_point::Value::AsInt(value) => value as f64,
            }));
            point.flags
        }
        Data::Histogram(d) => {
            let point = &d.data_points[0];
            row[1] = start_time(point.start_time_unix_nano);
            row[3] = Some(point.count.to_string());
            (row[4], row[5], row[6]) =
                (optional(point.sum), optional(point.min), optional(point.max));
            row[7] = doubles(point.explicit_bounds.iter().copied());
            row[8] = counts(point.bucket_counts.iter().copied());
            point.flags
        }
        Data::ExponentialHistogram(d) => {
            let point = &d.data_points[0];
            row[1] = start_time(point.start_time_unix_nano);
            row[3] = Some(point.count.to_string());
            (row[4], row[5], row[6]) =
                (optional(point.sum), optional(point.min), optional(point.max));
            let bound = |offset: i32, nth: usize| {
                let index = (i64::from(offset) + nth as i64) as f64;
                (index * (-f64::from(point.scale)).exp2()).exp2()
            };
            let (mut bounds, mut buckets) = (Vec::new(), Vec::new());
            if let Some(negative) = point.negative.as_ref().filter(|b| !b.bucket_counts.is_empty())
            {
                buckets.push(0);
                for nth in (0..=negative.bucket_counts.len()).rev() {
                    bounds.push(-bound(negative.offset, nth));
                }
                buckets.extend(negative.bucket_counts.iter().rev());
            }
            buckets.push(point.zero_count);
            if let Some(positive) = point.positive.as_ref().filter(|b| !b.bucket_counts.is_empty())
            {
                for nth in 0..=positive.bucket_counts.len() {
                    bounds.push(bound(positive.offset, nth));
                }
                buckets.extend(&positive.bucket_counts);
                buckets.push(0);
            }
            (row[7], row[8]) = (doubles(bounds), counts(buckets));
            point.flags
        }
        Data::Summary(d) => {
            let point = &d.data_points[0];
            row[1] = start_time(point.start_time_unix_nano);
            row[3] = Some(point.count.to_string());
            row[4] = optional(Some(point.sum));
            row[7] = doubles(point.quantile_values.iter().map(|q| q.value));
            row[9] = doubles(point.quantile_values.iter().map(|q| q.quantile));
            point.flags
        }
    };
    if flags & 1 == 1 {
        row[2..10].fill(None);
    }
    row[0] = Some((point.time as i64).to_string());
    row[10] = Some(flags.to_string());
    row
}
