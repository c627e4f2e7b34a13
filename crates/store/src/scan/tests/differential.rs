//! Random rows, predicates, times, orders and limits: a scan over chunks and
//! blocks must agree with the model, row by row and value by value.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use super::model::{Row, Value, blocks, chunk};
use crate::block::source::Source;
use crate::column::Values;
use crate::limits::SCAN_BATCH_ROWS;
use crate::scan::{
    ColumnCache, ColumnRef, Op, Order, Predicate, Scalar, Scan, ScanContext, Scope, collect,
};
use crate::schema::{Signal, ValueType};
use crate::tables::order::DAY_NANOS;
use crate::tables::spans::field;

/// A small generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

const BIG: i64 = (1 << 53) + 1;
const SERVICES: [&str; 3] = ["front", "cart", "päy"];

fn mixed(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Int(random.below(5) as i64),
        1 => Value::Double(random.pick(&[0.0, 1.0, 1.5, BIG as f64, f64::NAN])),
        2 => Value::Bool(random.chance(2)),
        3 => Value::Array(random.below(3) as u8),
        4 => Value::Bytes(vec![random.below(3) as u8]),
        5 => Value::Empty,
        6 => Value::Int(random.pick(&[BIG, BIG - 1, i64::MAX, i64::MIN])),
        _ => Value::Text(format!("v{}", random.below(4))),
    }
}

fn row(random: &mut Random, id: u64) -> Row {
    let trace = random.below(100) as u8;
    let mut attributes = Vec::new();
    let mut add = |key: &str, value: Value| attributes.push((key.to_owned(), value));
    if random.chance(2) {
        add("mixed", mixed(random));
    }
    if random.chance(2) {
        add("code", Value::Int(random.pick(&[200, 200, 200, 404, 500])));
    }
    if random.chance(20) {
        add("code", Value::Double(random.pick(&[200.0, 499.5])));
    }
    // Often enough and of so many values that blocks do without a dictionary.
    if !random.chance(3) {
        add("user", Value::Text(format!("user-{}", random.below(100_000))));
    }
    if random.chance(150) {
        add("rare", mixed(random));
    }
    if random.chance(300) {
        add("mixed", mixed(random));
    }
    if random.chance(500) {
        add(&format!("odd.{}", random.below(4)), Value::Text("x".into()));
    }
    let mut resource = Vec::new();
    if !random.chance(10) {
        resource.push(("service.name", Value::Text(random.pick(&SERVICES).to_owned())));
    }
    if random.chance(2) {
        resource.push(("pid", Value::Int(random.below(3) as i64)));
    }
    Row {
        trace,
        id,
        parent: random.chance(2).then(|| random.below(id.max(1) * 2)),
        name: format!("op{}", random.below(6)),
        start: i64::from(trace) * 1_000_000_000 + random.below(50) as i64,
        duration: random.below(2_000_000_000) as i64 - 10,
        status: random.pick(&[None, Some("ok"), Some("error")]),
        resource,
        attributes,
    }
}

fn own(key: &str) -> ColumnRef {
    ColumnRef::attribute(Scope::Own, key)
}

fn column(random: &mut Random) -> ColumnRef {
    let typed = |random: &mut Random, key: &str| ColumnRef::Attribute {
        scope: Scope::Own,
        key: key.to_owned(),
        value_type: Some(random.pick(&ValueType::ALL)),
    };
    match random.below(12) {
        0 => ColumnRef::Field(field::NAME),
        1 => ColumnRef::Field(field::DURATION),
        2 => ColumnRef::Field(field::STATUS),
        3 => ColumnRef::Field(field::PARENT_SPAN_ID),
        4 => ColumnRef::attribute(Scope::Resource, "service.name"),
        5 => ColumnRef::attribute(Scope::Resource, "pid"),
        6 => ColumnRef::Field(field::SERVICE),
        7 => own(random.pick(&["rare", "rare", "odd.1", "nobody"])),
        8 => typed(random, "mixed"),
        9 => own("user"),
        10 => own("code"),
        _ => own("mixed"),
    }
}

fn scalar(random: &mut Random) -> Scalar {
    match random.below(12) {
        0 => Scalar::Bool(random.chance(2)),
        1 => Scalar::Double(random.pick(&[1.0, 1.5, 200.0, 499.5, BIG as f64, f64::NAN])),
        2 => Scalar::Int(random.pick(&[0, 1, 200, 500, BIG, i64::MAX, i64::MIN, 1_000_000_000])),
        3 => Scalar::Bytes(vec![random.below(3) as u8]),
        4 => Scalar::Bytes(random.below(20_000).to_be_bytes().into()),
        5 => Scalar::String(random.pick(&SERVICES).to_owned()),
        6 => Scalar::String(format!("user-{}", random.below(100_000))),
        7 => Scalar::String(random.pick(&["ok", "error", "x"]).to_owned()),
        8 => Scalar::String(format!("op{}", random.below(7))),
        9 => Scalar::Int(random.below(600) as i64),
        _ => Scalar::String(format!("v{}", random.below(5))),
    }
}

fn predicate(random: &mut Random, depth: u32) -> Predicate {
    let parts =
        |random: &mut Random| (0..random.below(4)).map(|_| predicate(random, depth - 1)).collect();
    match random.below(if depth == 0 { 7 } else { 11 }) {
        0 => Predicate::Exists(column(random)),
        1 => Predicate::Match {
            column: column(random),
            regex: random.pick(&["^v[12]$", "1", "user-1.*7", "ä"]).to_owned(),
            negated: random.chance(2),
        },
        2 => Predicate::In {
            column: column(random),
            values: (0..random.below(4)).map(|_| scalar(random)).collect(),
        },
        3..7 => Predicate::Compare {
            column: column(random),
            op: random.pick(&[Op::Eq, Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]),
            value: scalar(random),
        },
        7 | 8 => Predicate::And(parts(random)),
        9 => Predicate::Or(parts(random)),
        _ => Predicate::Not(Box::new(predicate(random, depth - 1))),
    }
}

/// A row that passes, to make tests that find something.
fn finding(random: &mut Random, rows: &[Row]) -> Predicate {
    let row = &rows[random.below(rows.len() as u64) as usize];
    let column = column(random);
    let value = match row.shown(&column) {
        Some(Value::Text(value)) => Scalar::String(value),
        Some(Value::Int(value)) => Scalar::Int(value),
        Some(Value::Double(value)) => Scalar::Double(value),
        Some(Value::Bool(value)) => Scalar::Bool(value),
        Some(Value::Bytes(value)) => Scalar::Bytes(value),
        _ => return Predicate::Exists(column),
    };
    Predicate::equal(column, value)
}

fn scan(random: &mut Random, rows: &[Row]) -> Scan {
    let mut columns: Vec<ColumnRef> = vec![ColumnRef::Field(field::SPAN_ID)];
    columns.extend((0..random.below(5)).map(|_| column(random)));
    let predicate = match random.below(4) {
        0 => None,
        1 => Some(finding(random, rows)),
        2 => Some(Predicate::And(vec![finding(random, rows), predicate(random, 2)])),
        _ => Some(predicate(random, 3)),
    };
    let time = random.chance(2).then(|| {
        let start = random.below(110) as i64 * 1_000_000_000 + random.below(50) as i64;
        start..start + random.pick(&[1, 20, 3_000_000_000, 40_000_000_000])
    });
    let order = random.pick(&[Order::Any, Order::NewestFirst, Order::OldestFirst]);
    let limit = random.pick(&[None, Some(0), Some(1), Some(20), Some(10_000)]);
    Scan { columns, predicate, time, order, limit }
}

/// A value of a batch as text.
fn shown(array: &dyn Array, at: usize) -> Option<String> {
    if array.is_null(at) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).to_string(),
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
        DataType::FixedSizeBinary(_) => format!("{:?}", array.as_fixed_size_binary().value(at)),
        other => panic!("unexpected type {other}"),
    })
}

fn expected(row: &Row, column: &ColumnRef, data_type: &DataType) -> Option<String> {
    let value = row.shown(column)?;
    Some(match (&value, data_type) {
        (Value::Int(value), DataType::Float64) => (*value as f64).to_string(),
        (Value::Bytes(id), DataType::FixedSizeBinary(_)) => format!("{id:?}"),
        _ => value.shown(),
    })
}

fn ids(batches: &[RecordBatch]) -> Vec<u64> {
    let id = |id: &[u8]| u64::from_be_bytes(id.try_into().unwrap());
    let columns = batches.iter().map(|batch| batch.column(0).as_fixed_size_binary());
    columns.flat_map(|ids| (0..ids.len()).map(|at| id(ids.value(at))).collect::<Vec<_>>()).collect()
}

/// Where each row lies, by its id: the source and the row there.
type Places = HashMap<u64, (usize, usize)>;

fn places(sources: &[Source]) -> Places {
    let mut places = Places::new();
    for (nth, source) in sources.iter().enumerate() {
        let column = source.field(field::SPAN_ID).unwrap().unwrap();
        let Values::Id8(ids) = &column.values else { panic!("ids expected") };
        places
            .extend(ids.iter().enumerate().map(|(row, id)| (u64::from_be_bytes(*id), (nth, row))));
    }
    places
}

fn check(
    sources: &[Source],
    rows: &[Row],
    places: &Places,
    scan: &Scan,
    context: ScanContext<'_>,
    what: &str,
) {
    let (batches, _) = collect(sources, Signal::Spans, scan, context).unwrap();
    let found = ids(&batches);
    let passing: HashMap<u64, &Row> = rows
        .iter()
        .filter(|row| scan.time.as_ref().is_none_or(|time| time.contains(&row.start)))
        .filter(|row| scan.predicate.as_ref().is_none_or(|p| row.passes(p)))
        .map(|row| (row.id, row))
        .collect();
    let wanted = passing.len().min(scan.limit.unwrap_or(usize::MAX));
    assert_eq!(found.len(), wanted, "number of rows of {what}");
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), found.len(), "a row twice in {what}");
    for id in &found {
        assert!(passing.contains_key(id), "row {id} in {what}");
    }
    if scan.order != Order::Any {
        let mut best: Vec<u64> = passing.keys().copied().collect();
        best.sort_unstable_by_key(|id| {
            let start = passing[id].start;
            (if scan.order == Order::NewestFirst { -start } else { start }, places[id])
        });
        best.truncate(wanted);
        assert_eq!(found, best, "order of {what}");
    }
    for batch in &batches {
        assert!(batch.num_rows() <= SCAN_BATCH_ROWS && batch.num_rows() > 0);
        assert_eq!(batch.schema(), batches[0].schema());
        let rows = ids(std::slice::from_ref(batch));
        for (column, array) in scan.columns.iter().zip(batch.columns()) {
            for (at, id) in rows.iter().enumerate() {
                let expected = expected(passing[id], column, array.data_type());
                assert_eq!(shown(array, at), expected, "{column:?} of row {id} in {what}");
            }
        }
    }
}

fn round(seed: u64, scans: u64) {
    let mut random = Random(seed);
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let objects = crate::objects::open(root, Arc::new(kymo_journal::OsDisk)).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    let mut sources = Vec::new();
    for part in 0..4 {
        let count = random.pick(&[10, 3000, 9000, 17_000]);
        let first = rows.len();
        let offset = if part == 3 { DAY_NANOS - 30_000_000_000 } else { 0 };
        for _ in 0..count {
            let mut new = row(&mut random, rows.len() as u64);
            new.start += offset;
            rows.push(new);
        }
        if random.chance(3) {
            sources.extend(rows[first..].chunks(10_000).map(chunk));
        } else {
            sources.extend(blocks(&rows[first..], &objects, &part.to_string()));
        }
    }
    let places = places(&sources);
    let cancel = AtomicBool::new(false);
    let cache = ColumnCache::new(random.pick(&[0, 200_000, 64 << 20]));
    for nth in 0..scans {
        let scan = scan(&mut random, &rows);
        let threads = random.pick(&[1, 2, 3]);
        let context = ScanContext { cache: &cache, cancel: &cancel, threads };
        let what = format!("seed {seed}, scan {nth}: {scan:?}");
        check(&sources, &rows, &places, &scan, context, &what);
    }
}

#[test]
fn scans_agree_with_the_model() {
    for seed in 0..8 {
        round(seed, 40);
    }
}

/// For a longer search: `KYMO_SEEDS=1000..2000 cargo test … -- --ignored`.
#[test]
#[ignore = "takes long"]
fn scans_agree_with_the_model_for_long() {
    let seeds = std::env::var("KYMO_SEEDS").unwrap_or_else(|_| "100..200".to_owned());
    let (first, end) = seeds.split_once("..").unwrap();
    for seed in first.parse().unwrap()..end.parse().unwrap() {
        round(seed, 100);
    }
}
