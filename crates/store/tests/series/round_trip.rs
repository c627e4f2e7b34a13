//! What was sent comes back, through every step and whatever the order.

use kymo_store::block::source::Source;
use kymo_store::series::codec::{Number, PointValues, STALE_NAN};
use kymo_store::series::data::SeriesData;
use kymo_store::series::head::SeriesHead;
use kymo_store::series::identity::{CUMULATIVE, DELTA};
use kymo_store::series::otlp;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, Sum};
use prost::Message;

use super::generate::World;
use super::model::{Point, latest, multiset, points};
use super::support::{Blocks, Request, all, append, drain, exported, for_seeds};

/// Requests of a seed: some worlds have few points, some more than a row takes.
fn requests(seed: u64) -> Vec<Request> {
    let mut world = World::new(seed);
    let points = [3, 30, 400][seed as usize % 3];
    (0..8).map(|_| world.request(points)).collect()
}

#[test]
fn points_of_all_types_come_back_from_head_and_block_as_they_were_sent() {
    for_seeds(24, |seed| {
        let requests = requests(seed);
        let mut head = SeriesHead::new();
        for (sequence, request) in requests.iter().enumerate() {
            append(&mut head, request, sequence as u64);
        }
        let sent = multiset(&requests);
        assert_eq!(head.points(), sent.len());
        let chunks = drain(&mut head);
        assert!(multiset([&exported(&chunks)]) == sent, "from the head, seed {seed}");
        let store = Blocks::new();
        let blocks = multiset([&exported(&store.write(&chunks))]);
        assert!(blocks == sent, "from blocks, seed {seed}");
    });
}

#[test]
fn joining_rows_keeps_every_point_and_what_queries_see() {
    for_seeds(24, |seed| {
        let requests = requests(seed);
        let store = Blocks::new();
        let mut head = SeriesHead::new();
        let mut sources = Vec::new();
        for (sequence, request) in requests.iter().enumerate() {
            append(&mut head, request, sequence as u64);
            sources.extend(store.write(&drain(&mut head)));
        }
        let mut sent = multiset(&requests);
        sent.dedup();
        let mut stored = multiset([&exported(&sources)]);
        stored.dedup();
        assert!(stored == sent, "before joining, seed {seed}");
        check_latest(&sources, &requests);
        // Some joined first, then those with the others, as compactions do.
        let half = sources.len() / 2;
        let mut joined = store.compact(&sources[half / 2..half]);
        joined.extend_from_slice(&sources[..half / 2]);
        joined.extend_from_slice(&sources[half..]);
        check_latest(&joined, &requests);
        let joined = store.compact(&joined);
        let rows = |sources: &[Source]| sources.iter().map(Source::rows).sum::<usize>();
        assert!(rows(&joined) <= rows(&sources));
        let mut stored = multiset([&exported(&joined)]);
        stored.dedup();
        assert!(stored == sent, "after joining, seed {seed}");
        check_latest(&joined, &requests);
    });
}

/// A series' points as queries see them are those that came last.
fn check_latest(sources: &[Source], requests: &[Request]) {
    let mut expected = latest(requests);
    for series in all(sources) {
        let points = series.points().unwrap();
        let expected = expected.remove(&series_key(&series)).expect("was sent");
        let times: Vec<i64> = expected.keys().copied().collect();
        assert_eq!(points.times_nanos, times);
        let sent: Vec<String> = expected.values().map(summary_of_sent).collect();
        assert_eq!(summary_of_stored(&points), sent);
        if let PointValues::Numbers(_) = points.values {
            let doubles: Vec<u64> = expected.values().map(|p| as_double(p).to_bits()).collect();
            let (read_times, read) = series.numbers_f64().unwrap();
            assert_eq!(read_times, times);
            assert_eq!(read.iter().map(|d| d.to_bits()).collect::<Vec<_>>(), doubles);
        }
    }
    assert!(expected.is_empty(), "series are missing");
}

/// The series in the form of [`Point::series`].
pub(crate) fn series_key(series: &SeriesData) -> Vec<u8> {
    let request = otlp::encode(std::slice::from_ref(series)).unwrap();
    points(&Request::decode(&request[..]).unwrap()).remove(0).series
}

/// What tells one value of a series from another, of whatever type.
fn summary_of_stored(points: &kymo_store::series::codec::Points) -> Vec<String> {
    let bits = |sum: Option<f64>| sum.map(f64::to_bits);
    match &points.values {
        PointValues::Numbers(v) => v
            .iter()
            .map(|number| match number {
                Number::Absent => "none".to_owned(),
                Number::Int(int) => format!("int {int}"),
                Number::Double(double) => format!("double {:x}", double.to_bits()),
            })
            .collect(),
        PointValues::Histograms(v) => v
            .iter()
            .map(|h| format!("{} {:?} {:?}", h.count, bits(h.sum), h.bucket_counts))
            .collect(),
        PointValues::ExponentialHistograms(v) => v
            .iter()
            .map(|h| {
                let counts = h.positive.map(|b| b.counts.to_vec());
                format!("{} {:?} {} {counts:?}", h.count, bits(h.sum), h.scale)
            })
            .collect(),
        PointValues::Summaries(v) => v
            .iter()
            .map(|s| format!("{} {:x} {}", s.count, s.sum.to_bits(), s.values.len()))
            .collect(),
        PointValues::NativeHistograms(_) => panic!("OTLP has none"),
    }
}

fn summary_of_sent(point: &Point) -> String {
    let bits = |sum: Option<f64>| sum.map(f64::to_bits);
    let number = |point: &NumberDataPoint| match point.value {
        None => "none".to_owned(),
        Some(Value::AsInt(int)) => format!("int {int}"),
        Some(Value::AsDouble(double)) => format!("double {:x}", double.to_bits()),
    };
    match point.metric().1.data.as_ref().unwrap() {
        Data::Gauge(data) => number(&data.data_points[0]),
        Data::Sum(data) => number(&data.data_points[0]),
        Data::Histogram(data) => {
            let h = &data.data_points[0];
            format!("{} {:?} {:?}", h.count, bits(h.sum), h.bucket_counts)
        }
        Data::ExponentialHistogram(data) => {
            let h = &data.data_points[0];
            let counts = h.positive.as_ref().map(|b| b.bucket_counts.clone());
            format!("{} {:?} {} {counts:?}", h.count, bits(h.sum), h.scale)
        }
        Data::Summary(data) => {
            let s = &data.data_points[0];
            format!("{} {:x} {}", s.count, s.sum.to_bits(), s.quantile_values.len())
        }
    }
}

fn as_double(point: &Point) -> f64 {
    let number = match point.metric().1.data.as_ref().unwrap() {
        Data::Gauge(data) => &data.data_points[0],
        Data::Sum(data) => &data.data_points[0],
        _ => panic!("not a number"),
    };
    match number.value {
        _ if number.flags & 1 != 0 => STALE_NAN,
        None => STALE_NAN,
        Some(Value::AsInt(int)) => int as f64,
        Some(Value::AsDouble(double)) => double,
    }
}

#[test]
fn a_snapshot_holds_what_draining_gives_and_changes_nothing() {
    for_seeds(20, |seed| {
        let mut head = SeriesHead::new();
        for (sequence, request) in requests(seed).iter().enumerate() {
            append(&mut head, request, sequence as u64);
            let snapshot = head.snapshot().unwrap();
            let again = head.snapshot().unwrap();
            let is_same = snapshot.iter().zip(&again).all(|(a, b)| std::sync::Arc::ptr_eq(a, b));
            assert!(is_same && snapshot.len() == again.len(), "made once");
        }
        let snapshot = head.snapshot().unwrap();
        let snapshot: Vec<Source> = snapshot.into_iter().map(Source::Chunk).collect();
        assert_eq!(
            exported(&snapshot).encode_to_vec(),
            exported(&drain(&mut head)).encode_to_vec()
        );
    });
}

fn sum(temporality: i32, time: u64, value: i64) -> Request {
    let point = NumberDataPoint {
        time_unix_nano: time,
        value: Some(Value::AsInt(value)),
        ..NumberDataPoint::default()
    };
    let sum =
        Sum { data_points: vec![point], aggregation_temporality: temporality, is_monotonic: true };
    let metric = Metric { name: "s".into(), data: Some(Data::Sum(sum)), ..Metric::default() };
    let mut request = World::new(0).request(0);
    request.resource_metrics.truncate(1);
    request.resource_metrics[0].scope_metrics[0].metrics = vec![metric];
    request
}

#[test]
fn delta_and_cumulative_sums_of_one_name_are_kept_apart() {
    let mut head = SeriesHead::new();
    append(&mut head, &sum(DELTA, 1, 5), 0);
    append(&mut head, &sum(CUMULATIVE, 1, 6), 1);
    let series = all(&drain(&mut head));
    let mut found: Vec<_> =
        series.iter().map(|s| (s.kind.temporality, s.numbers_f64().unwrap().1)).collect();
    found.sort_by_key(|(temporality, _)| *temporality);
    assert_eq!(found, [(Some(DELTA), vec![5.0]), (Some(CUMULATIVE), vec![6.0])]);
}

#[test]
fn of_equal_times_the_later_write_wins_also_after_joining() {
    let store = Blocks::new();
    let mut flushes = Vec::new();
    let mut head = SeriesHead::new();
    // The second flush corrects time 1, the third leaves it alone, and first and
    // third are joined before the second is there.
    for (sequence, (time, value)) in [(1, 10), (1, 20), (2, 30)].into_iter().enumerate() {
        append(&mut head, &sum(CUMULATIVE, time, value), sequence as u64);
        flushes.push(drain(&mut head));
    }
    let early_and_late = [flushes[0].clone(), flushes[2].clone()].concat();
    let mut sources = store.compact(&early_and_late);
    assert_eq!(sources[0].rows(), 1);
    sources.extend(flushes[1].clone());
    for sources in [sources.clone(), store.compact(&sources)] {
        let series = all(&sources);
        assert_eq!(series[0].numbers_f64().unwrap(), (vec![1, 2], vec![20.0, 30.0]));
        assert_eq!(series[0].points().unwrap().times_nanos, [1, 2]);
    }
}
