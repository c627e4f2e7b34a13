//! Scans of points: whatever was sent is shown, from chunks, blocks, joined
//! blocks and all of these, in any range of times and on any number of threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use kymo_store::Signal;
use kymo_store::block::source::Source;
use kymo_store::limits::SCAN_BATCH_ROWS;
use kymo_store::scan::{
    ColumnCache, ColumnRef, Elements, Order, Predicate, Prepared, Scalar, Scan, ScanContext, Scope,
    collect,
};
use kymo_store::series::head::SeriesHead;
use kymo_store::tables::series::{field, point};

use super::generate::World;
use super::model::{Point, latest};
use super::points_model::{json, members, of_metric, shown};
use super::random::Random;
use super::support::{Blocks, Request, append, drain, for_seeds};

fn context(threads: usize) -> ScanContext {
    ScanContext { cache: ColumnCache::default(), cancel: Arc::default(), threads }
}

fn member(member: usize) -> ColumnRef {
    ColumnRef::Element { elements: Elements::Points, member }
}

/// All there is to show of a point.
fn columns() -> Vec<ColumnRef> {
    let fields = [field::NAME, field::UNIT, field::TYPE, field::TEMPORALITY, field::MONOTONIC];
    let mut columns: Vec<ColumnRef> = fields.map(ColumnRef::Field).into();
    columns.extend([Scope::Own, Scope::Resource, Scope::Scope].map(ColumnRef::Attributes));
    columns.push(ColumnRef::attribute(Scope::Own, "host"));
    columns.extend((0..11).map(member));
    columns
}

fn text(array: &dyn Array, at: usize) -> Option<String> {
    if array.is_null(at) {
        return None;
    }
    let joined = |items: &dyn Array| {
        let items: Vec<String> = (0..items.len()).map(|nth| text(items, nth).unwrap()).collect();
        format!("[{}]", items.join(","))
    };
    Some(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).to_string(),
        DataType::Float64 => {
            format!("{:016x}", array.as_primitive::<Float64Type>().value(at).to_bits())
        }
        DataType::Boolean => array.as_boolean().value(at).to_string(),
        DataType::Timestamp(..) => {
            array.as_primitive::<TimestampNanosecondType>().value(at).to_string()
        }
        DataType::Utf8 => array.as_string::<i32>().value(at).to_owned(),
        DataType::Dictionary(..) => {
            let array = array.as_dictionary::<Int32Type>();
            let code = array.keys().value(at) as usize;
            array.values().as_string::<i32>().value(code).to_owned()
        }
        DataType::List(_) => joined(&array.as_list::<i32>().value(at)),
        other => panic!("unexpected type {other}"),
    })
}

fn rows(batches: &[RecordBatch]) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        assert!(batch.num_rows() <= SCAN_BATCH_ROWS && batch.num_rows() > 0);
        rows.extend(
            (0..batch.num_rows())
                .map(|at| batch.columns().iter().map(|array| text(array, at)).collect::<Vec<_>>()),
        );
    }
    rows.sort();
    rows
}

/// The `host` of a point as the column shows it, which is of that type.
fn host(point: &Point, data_type: &DataType) -> Option<String> {
    let shown = shown(of_metric(point).1, "host")?;
    Some(match data_type {
        DataType::Float64 => format!("{:016x}", shown.parse::<f64>().unwrap().to_bits()),
        _ => shown,
    })
}

fn expected<'p>(
    points: impl Iterator<Item = &'p Point>,
    time: Option<&Range<i64>>,
    host_type: &DataType,
) -> Vec<Vec<Option<String>>> {
    let within = |point: &&Point| time.is_none_or(|time| time.contains(&(point.time as i64)));
    let mut rows: Vec<_> = points
        .filter(within)
        .map(|point| {
            let (mut row, labels) = of_metric(point);
            let (group, _) = point.metric();
            row.push(Some(json(labels)));
            row.push(group.resource.as_ref().map(|resource| json(&resource.attributes)));
            let scope = group.scope_metrics[0].scope.as_ref();
            row.push(scope.map(|scope| json(&scope.attributes)));
            row.push(host(point, host_type));
            row.extend(members(point));
            row
        })
        .collect();
    rows.sort();
    rows
}

fn pulled(sources: &[Source], scan: &Scan, partitions: usize) -> Vec<RecordBatch> {
    let prepared = Prepared::new(sources, Signal::Series, scan, context(1)).unwrap();
    let work = prepared.start();
    let mut batches = Vec::new();
    let mut open: Vec<_> = (0..partitions).map(|_| work.partition()).collect();
    while !open.is_empty() {
        open.retain_mut(|partition| match partition.next_batch().unwrap() {
            Some(batch) => {
                batches.push(batch);
                true
            }
            None => false,
        });
    }
    batches
}

type Sent = BTreeMap<Vec<u8>, BTreeMap<i64, Point>>;

fn check(sources: &[Source], sent: &Sent, time: Option<Range<i64>>, note: &str) {
    let points = || sent.values().flat_map(BTreeMap::values);
    let scan = Scan {
        columns: columns(),
        time: time.clone(),
        elements: Some(Elements::Points),
        ..Scan::default()
    };
    let prepared = Prepared::new(sources, Signal::Series, &scan, context(1)).unwrap();
    let host_type = prepared.schema().field(8).data_type().clone();
    let expected = expected(points(), time.as_ref(), &host_type);
    let (batches, stats) = collect(sources, Signal::Series, &scan, context(3)).unwrap();
    assert_eq!(stats.rows_matched, expected.len(), "{note}");
    let found = rows(&batches);
    assert_eq!(found.len(), expected.len(), "{note}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{note}");
    }
    assert_eq!(rows(&pulled(sources, &scan, 2)), expected, "partitions, {note}");
    // Times alone, and no column at all, are read in another way.
    let times = Scan { columns: vec![member(point::TIME)], ..scan.clone() };
    let mut times_expected: Vec<_> = expected.iter().map(|row| vec![row[9].clone()]).collect();
    times_expected.sort();
    assert_eq!(rows(&pulled(sources, &times, 1)), times_expected, "times, {note}");
    let none = Scan { columns: Vec::new(), ..scan.clone() };
    let counted: usize = pulled(sources, &none, 2).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(counted, expected.len(), "count, {note}");
    let few = Scan { limit: Some(7), ..scan };
    let counted: usize = pulled(sources, &few, 2).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(counted, expected.len().min(7), "limit, {note}");
}

#[test]
fn points_are_shown_as_they_were_sent_however_they_are_stored() {
    for_seeds(24, |seed| {
        let mut world = World::new(seed);
        let mut random = Random::new(seed ^ 0x5eed);
        let requests: Vec<Request> = (0..12).map(|_| world.request(30)).collect();
        let sent = latest(&requests);
        let blocks = Blocks::new();
        let (mut head, mut chunks, mut flushed) = (SeriesHead::new(), Vec::new(), Vec::new());
        for (sequence, request) in requests.iter().enumerate() {
            append(&mut head, request, sequence as u64);
            if random.one_in(3) {
                let drained = drain(&mut head);
                flushed.extend(blocks.write(&drained));
                chunks.extend(drained);
            }
        }
        let rest = drain(&mut head);
        flushed.extend(rest.iter().cloned());
        chunks.extend(rest);
        let compacted = blocks.compact(&chunks);
        let times: Vec<i64> = sent.values().flat_map(|points| points.keys().copied()).collect();
        for (way, sources) in [("chunks", chunks), ("blocks", flushed), ("joined", compacted)] {
            let note = format!("seed {seed}, {way}");
            check(&sources, &sent, None, &note);
            if times.is_empty() {
                continue;
            }
            let (from, to) = (*random.pick(&times), *random.pick(&times));
            let range = from.min(to)..from.max(to);
            check(&sources, &sent, Some(range.clone()), &format!("{note}, {range:?}"));
        }
    });
}

/// Requests of gauges with many points each.
fn gauges(names: &[&str], points: u64) -> Request {
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use opentelemetry_proto::tonic::metrics::v1::{
        Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, number_data_point,
    };
    let metrics = names.iter().map(|name| Metric {
        name: (*name).to_owned(),
        data: Some(Data::Gauge(Gauge {
            data_points: (0..points)
                .map(|time| NumberDataPoint {
                    time_unix_nano: time,
                    value: Some(number_data_point::Value::AsInt(time as i64)),
                    ..NumberDataPoint::default()
                })
                .collect(),
        })),
        ..Metric::default()
    });
    let scope = ScopeMetrics { metrics: metrics.collect(), ..ScopeMetrics::default() };
    Request {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![scope],
            ..ResourceMetrics::default()
        }],
    }
}

#[test]
fn a_series_of_many_points_comes_in_batches_of_bounded_size() {
    let mut head = SeriesHead::new();
    append(&mut head, &gauges(&["a", "b"], 40_000), 1);
    let blocks = Blocks::new();
    let sources = blocks.write(&drain(&mut head));
    let columns = [point::TIME, point::VALUE].map(member);
    let mut columns = columns.to_vec();
    columns.push(ColumnRef::Field(field::NAME));
    let scan = Scan {
        columns,
        predicate: Some(Predicate::equal(
            ColumnRef::Field(field::NAME),
            Scalar::String("b".to_owned()),
        )),
        time: Some(100..39_000),
        elements: Some(Elements::Points),
        ..Scan::default()
    };
    let (batches, stats) = collect(&sources, Signal::Series, &scan, context(1)).unwrap();
    assert_eq!(stats.rows_matched, 38_900);
    assert!(batches.len() >= 5);
    for row in rows(&batches) {
        let time: i64 = row[0].as_ref().unwrap().parse().unwrap();
        assert!((100..39_000).contains(&time));
        assert_eq!(row[1], Some(format!("{:016x}", (time as f64).to_bits())));
        assert_eq!(row[2].as_deref(), Some("b"));
    }
}

#[test]
fn what_points_cannot_be_chosen_by_is_refused() {
    let mut head = SeriesHead::new();
    append(&mut head, &gauges(&["a"], 3), 1);
    let sources = drain(&mut head);
    let points = Scan { elements: Some(Elements::Points), ..Scan::default() };
    let by_count = Predicate::Not(Box::new(Predicate::Exists(ColumnRef::Field(field::COUNT))));
    let refused = [
        Scan { predicate: Some(by_count), ..points.clone() },
        Scan { order: Order::NewestFirst, ..points.clone() },
        Scan { columns: vec![member(99)], ..points.clone() },
        Scan { columns: vec![member(point::TIME)], ..Scan::default() },
    ];
    for scan in refused {
        let refused = Prepared::new(&sources, Signal::Series, &scan, context(1));
        assert!(matches!(refused, Err(kymo_store::StoreError::Query(_))), "{scan:?}");
    }
    assert!(Prepared::new(&sources, Signal::Spans, &points, context(1)).is_err());
    let context = context(1);
    context.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let cancelled = collect(&sources, Signal::Series, &points, context);
    assert!(matches!(cancelled, Err(kymo_store::StoreError::Cancelled)));
}
