//! Matchers against a simple model, on chunks, blocks and both.

use std::collections::BTreeSet;

use kymo_store::block::source::Source;
use kymo_store::series::head::SeriesHead;
use kymo_store::series::matcher::{Comparison, Matcher, Target};
use kymo_store::series::select::select;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::model::{Point, latest};
use super::random::Random;
use super::round_trip::series_key;
use super::support::{Blocks, Request, append, drain, for_seeds};

const VALUES: &[&str] = &["", "a", "b", "ab", "b\na", "5", "true"];
const PATTERNS: &[&str] = &["", "a", "a|b", ".*", ".+", "a.*", "[0-9]+", "true|false", "b.a"];
const KEYS: &[&str] = &["k", "zone", "rare", "none"];

fn attribute(r: &mut Random, key: &str) -> KeyValue {
    let value = match r.below(12) {
        0 => Some(Value::IntValue(r.below(7) as i64)),
        1 => Some(Value::BoolValue(r.one_in(2))),
        2 => Some(Value::DoubleValue(0.5)),
        3 => None,
        _ => Some(Value::StringValue((*r.pick(VALUES)).to_owned())),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value }), key_strindex: 0 }
}

/// Attributes with keys that are missing, of several types, twice, and rare.
fn attributes(r: &mut Random) -> Vec<KeyValue> {
    let mut list = Vec::new();
    for key in ["k", "zone", "k"] {
        if r.one_in(2) {
            list.push(attribute(r, key));
        }
    }
    if r.one_in(150) {
        list.push(attribute(r, "rare"));
    }
    list
}

fn request(r: &mut Random, time: u64) -> Request {
    let resource_metrics = (0..4).map(|_| {
        let resource = Some(Resource { attributes: attributes(r), ..Resource::default() });
        let metrics = (0..3).map(|_| {
            let data_points = (0..30).map(|_| NumberDataPoint {
                attributes: attributes(r),
                time_unix_nano: time + r.below(10),
                ..NumberDataPoint::default()
            });
            let data = Some(Data::Gauge(Gauge { data_points: data_points.collect() }));
            Metric { name: (*r.pick(VALUES)).to_owned(), data, ..Metric::default() }
        });
        let metrics = metrics.collect();
        let scope_metrics = vec![ScopeMetrics { metrics, ..ScopeMetrics::default() }];
        ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }
    });
    Request { resource_metrics: resource_metrics.collect() }
}

/// A comparison, made again without the store.
struct Condition {
    target: Target,
    comparison: Comparison,
    value: &'static str,
}

impl Condition {
    fn random(r: &mut Random) -> Self {
        let key = r.pick(KEYS).as_bytes().to_vec();
        let target = match r.below(4) {
            0 => Target::Name,
            1 => Target::Resource(key),
            _ => Target::Label(key),
        };
        let (comparison, value) = match r.below(4) {
            0 => (Comparison::Equal, *r.pick(VALUES)),
            1 => (Comparison::NotEqual, *r.pick(VALUES)),
            2 => (Comparison::Matches, *r.pick(PATTERNS)),
            _ => (Comparison::NotMatches, *r.pick(PATTERNS)),
        };
        Self { target, comparison, value }
    }

    fn matcher(&self) -> Matcher {
        Matcher::new(self.target.clone(), self.comparison, self.value).unwrap()
    }

    fn holds(&self, point: &Point) -> bool {
        let (group, metric) = point.metric();
        let Some(Data::Gauge(gauge)) = &metric.data else { panic!("not a gauge") };
        let value = match &self.target {
            Target::Name => metric.name.clone(),
            Target::Label(key) => first(&gauge.data_points[0].attributes, key),
            Target::Resource(key) => first(&group.resource.as_ref().unwrap().attributes, key),
        };
        let regex = || regex::Regex::new(&format!("(?s)^(?:{})$", self.value)).unwrap();
        match self.comparison {
            Comparison::Equal => value == self.value,
            Comparison::NotEqual => value != self.value,
            Comparison::Matches => regex().is_match(&value),
            Comparison::NotMatches => !regex().is_match(&value),
        }
    }
}

fn first(attributes: &[KeyValue], key: &[u8]) -> String {
    let found = attributes.iter().find(|a| a.key.as_bytes() == key);
    match found.and_then(|a| a.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(int)) => int.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        Some(Value::DoubleValue(double)) => double.to_string(),
        _ => String::new(),
    }
}

#[test]
fn matchers_find_the_series_that_a_simple_model_finds() {
    for_seeds(12, |seed| {
        let mut random = Random::new(seed);
        let r = &mut random;
        let requests: Vec<Request> = (0..4).map(|n| request(r, 100 * n)).collect();
        let store = Blocks::new();
        let mut head = SeriesHead::new();
        let mut sources: Vec<Source> = Vec::new();
        for (sequence, request) in requests.iter().enumerate() {
            append(&mut head, request, sequence as u64);
            let chunks = drain(&mut head);
            sources.extend(if sequence < 2 { store.write(&chunks) } else { chunks });
        }
        let series = latest(&requests);
        for _ in 0..60 {
            let conditions: Vec<Condition> =
                (0..r.below(4)).map(|_| Condition::random(r)).collect();
            let range = 100 * r.below(4) as i64..=100 * r.below(5) as i64 + 5;
            let expected: BTreeSet<&Vec<u8>> = series
                .iter()
                .filter(|(_, points)| points.keys().any(|time| range.contains(time)))
                .filter(|(_, points)| {
                    conditions.iter().all(|c| c.holds(points.values().next().unwrap()))
                })
                .map(|(key, _)| key)
                .collect();
            let matchers: Vec<Matcher> = conditions.iter().map(Condition::matcher).collect();
            let selection = select(&sources, &matchers, range.clone()).unwrap();
            let mut found = BTreeSet::new();
            for one in &selection.series {
                // A row may reach over the range and yet have no point in it.
                let (times, _) = one.numbers_f64().unwrap();
                let key = series_key(one);
                let all = series[&key].keys().copied().filter(|time| range.contains(time));
                assert_eq!(times, all.collect::<Vec<_>>());
                if !times.is_empty() {
                    found.insert(key);
                }
            }
            assert!(found.iter().eq(expected), "{matchers:?} in {range:?}");
        }
    });
}
