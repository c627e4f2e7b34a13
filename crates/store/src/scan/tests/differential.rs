//! Random rows, predicates, times, orders and limits: a scan over chunks and
//! blocks must agree with the model, row by row and value by value.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use super::model::{Element, OfTrace, Row, Value, blocks, chunk, derive, json};
use super::traces;
use crate::block::source::Source;
use crate::column::Values;
use crate::limits::SCAN_BATCH_ROWS;
use crate::scan::{
    ColumnCache, ColumnRef, Elements, Op, Order, Predicate, Prepared, Scalar, Scan, ScanContext,
    Scope, collect,
};
use crate::schema::{Signal, ValueType};
use crate::tables::order::DAY_NANOS;
use crate::tables::spans::{field, list};

/// A small generator of numbers that look random.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
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
        _ if random.chance(9) => Value::Text("a \"q\"\\\n\u{1}ü".to_owned()),
        _ => Value::Text(format!("v{}", random.below(4))),
    }
}

fn elements(random: &mut Random) -> Vec<Element> {
    let count = if random.chance(4) { random.below(4) } else { 0 };
    let element = |random: &mut Random| {
        let mut attributes = Vec::new();
        if random.chance(2) {
            attributes.push(("k", mixed(random)));
        }
        if random.chance(6) {
            attributes.push(("k", mixed(random)));
        }
        if random.chance(5) {
            attributes.push(("n", Value::Int(random.below(9) as i64)));
        }
        let name = format!("event {}", random.below(3));
        Element { number: random.below(100) as u8, name, attributes }
    };
    (0..count).map(|_| element(random)).collect()
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
    // Too rare for a column of its own, beside one of another type.
    if random.chance(300) {
        add("user", Value::Int(random.below(9) as i64));
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
        events: elements(random),
        links: elements(random),
        of_trace: OfTrace::default(),
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
    match random.below(15) {
        12 => ColumnRef::EndTime,
        13 => ColumnRef::Field(field::TRACE_ID),
        14 => ColumnRef::Field(random.pick(&[
            field::ROOT_NAME,
            field::ROOT_SERVICE,
            field::TRACE_START_TIME,
            field::TRACE_DURATION,
        ])),
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

/// A column that is shown.
fn shown_column(random: &mut Random) -> ColumnRef {
    match random.below(6) {
        0 => ColumnRef::Attributes(Scope::Own),
        1 => ColumnRef::Attributes(random.pick(&[Scope::Resource, Scope::Scope])),
        _ => column(random),
    }
}

fn scalar(random: &mut Random) -> Scalar {
    match random.below(13) {
        12 => Scalar::Bytes(vec![random.below(100) as u8; 16]),
        0 => Scalar::Bool(random.chance(2)),
        1 => Scalar::Double(random.pick(&[1.0, 1.5, 200.0, 499.5, BIG as f64, f64::NAN])),
        2 => Scalar::Int(random.pick(&[0, 1, 200, 500, BIG, i64::MAX, i64::MIN, 1_000_000_000])),
        3 => Scalar::Bytes(vec![random.below(3) as u8]),
        4 => Scalar::Bytes(random.below(20_000).to_be_bytes().into()),
        5 => Scalar::String(random.pick(&SERVICES).to_owned()),
        6 => Scalar::String(format!("user-{}", random.below(100_000))),
        7 => Scalar::String(random.pick(&["ok", "error", "unset"]).to_owned()),
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
        1 if random.chance(2) => Predicate::Contains {
            column: column(random),
            text: random.pick(&["", "1", "user-1", "-12", "v", "ä", "op3"]).to_owned(),
            negated: random.chance(2),
        },
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
    columns.extend((0..random.below(5)).map(|_| shown_column(random)));
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
    let order = random.pick(&[
        Order::Any,
        Order::NewestFirst,
        Order::OldestFirst,
        Order::LongestFirst,
        Order::ShortestFirst,
    ]);
    let limit = random.pick(&[None, Some(0), Some(1), Some(20), Some(10_000)]);
    Scan { columns, predicate, time, order, limit, elements: None }
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

fn passing<'r>(rows: &'r [Row], scan: &Scan) -> HashMap<u64, &'r Row> {
    rows.iter()
        .filter(|row| scan.time.as_ref().is_none_or(|time| time.contains(&row.start)))
        .filter(|row| scan.predicate.as_ref().is_none_or(|p| row.passes(p)))
        .map(|row| (row.id, row))
        .collect()
}

/// Batches of a scan in no order, pulled by so many partitions at once.
fn pulled(prepared: &Arc<Prepared>, partitions: usize) -> Vec<RecordBatch> {
    let work = prepared.start();
    let pull = |_| {
        let mut partition = work.partition();
        let batches = std::iter::from_fn(move || partition.next_batch().unwrap());
        batches.collect::<Vec<_>>()
    };
    let pull = &pull;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..partitions).map(|nth| scope.spawn(move || pull(nth))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Elements of a list of the rows that pass: each once, with all it has.
fn check_elements(
    sources: &[Source],
    rows: &[Row],
    scan: &Scan,
    context: ScanContext,
    which: usize,
    what: &str,
) {
    let of = Elements::List(which);
    let member = |member| ColumnRef::Element { elements: of, member };
    let (members, scope) = match which {
        list::EVENTS => {
            ([list::EVENT_TIME, list::EVENT_NAME, list::EVENT_ATTRIBUTES], Scope::Event)
        }
        _ => ([list::LINK_TRACE_ID, list::LINK_SPAN_ID, list::LINK_ATTRIBUTES], Scope::Link),
    };
    let mut columns = vec![ColumnRef::Field(field::SPAN_ID), ColumnRef::Field(field::NAME)];
    columns.extend(members.map(member));
    columns.extend(["k", "n"].map(|key| ColumnRef::attribute(scope, key)));
    let scan = Scan { columns, order: Order::Any, limit: None, elements: Some(of), ..scan.clone() };
    let threads = context.threads;
    let prepared = Prepared::new(sources, Signal::Spans, &scan, context).unwrap();
    let mut found: HashMap<u64, Vec<Vec<Option<String>>>> = HashMap::new();
    for batch in pulled(&prepared, threads) {
        assert!(batch.num_rows() <= SCAN_BATCH_ROWS && batch.num_rows() > 0);
        for (at, id) in ids(std::slice::from_ref(&batch)).into_iter().enumerate() {
            let shown = batch.columns()[1..].iter().map(|array| shown(array, at)).collect();
            found.entry(id).or_default().push(shown);
        }
    }
    for (id, row) in passing(rows, &scan) {
        let elements = if which == list::EVENTS { &row.events } else { &row.links };
        let expected: Vec<Vec<Option<String>>> = elements
            .iter()
            .map(|element| {
                let value = |key: &str| {
                    let values = element.attributes.iter().filter(|(k, _)| *k == key);
                    let values = values.filter(|(_, v)| v.value_type().is_some());
                    values.min_by_key(|(_, v)| v.value_type()).map(|(_, v)| v.shown())
                };
                let bytes = |length: usize| Some(format!("{:?}", vec![element.number; length]));
                let (first, second) = match which {
                    list::EVENTS => (Some(element.number.to_string()), Some(element.name.clone())),
                    _ => (bytes(16), bytes(8)),
                };
                let attributes = Some(json(&element.attributes));
                vec![Some(row.name.clone()), first, second, attributes, value("k"), value("n")]
            })
            .collect();
        let found = found.remove(&id).unwrap_or_default();
        assert_eq!(found, expected, "elements of row {id} in {what}");
    }
    assert!(found.is_empty(), "elements of rows that do not pass in {what}");
}

fn check(
    sources: &[Source],
    rows: &[Row],
    places: &Places,
    scan: &Scan,
    context: ScanContext,
    what: &str,
) {
    let (batches, _) = collect(sources, Signal::Spans, scan, context).unwrap();
    let found = ids(&batches);
    let passing = passing(rows, scan);
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
            let row = &passing[id];
            let rank = match scan.order {
                Order::NewestFirst => -row.start,
                Order::LongestFirst => -row.duration,
                Order::ShortestFirst => row.duration,
                _ => row.start,
            };
            (rank, places[id])
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

/// Partitions give each row once, and without columns their number.
fn check_partitions(
    sources: &[Source],
    rows: &[Row],
    scan: &Scan,
    context: ScanContext,
    what: &str,
) {
    let scan = Scan { order: Order::Any, ..scan.clone() };
    let prepare =
        |scan: &Scan| Prepared::new(sources, Signal::Spans, scan, context.clone()).unwrap();
    let passing = passing(rows, &scan);
    let wanted = passing.len().min(scan.limit.unwrap_or(usize::MAX));
    let mut found = ids(&pulled(&prepare(&scan), context.threads));
    assert_eq!(found.len(), wanted, "rows of partitions of {what}");
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), wanted, "a row twice in partitions of {what}");
    assert!(found.iter().all(|id| passing.contains_key(id)), "a wrong row in {what}");
    let counted = pulled(&prepare(&Scan { columns: Vec::new(), ..scan }), context.threads);
    let counted: usize = counted.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(counted, wanted, "number of rows of {what}");
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
    derive(&mut rows);
    let places = places(&sources);
    let cache = ColumnCache::new(random.pick(&[0, 200_000, 64 << 20]));
    for nth in 0..scans {
        let scan = scan(&mut random, &rows);
        let threads = random.pick(&[1, 2, 3]);
        let context = ScanContext { cache: cache.clone(), cancel: Arc::default(), threads };
        let what = format!("seed {seed}, scan {nth}: {scan:?}");
        check(&sources, &rows, &places, &scan, context.clone(), &what);
        if nth % 4 == 0 {
            let list = random.pick(&[list::EVENTS, list::LINKS]);
            check_elements(&sources, &rows, &scan, context, list, &what);
        } else if nth % 4 == 1 {
            check_partitions(&sources, &rows, &scan, context, &what);
        } else {
            let passing: Vec<&Row> = passing(&rows, &scan).into_values().collect();
            let wanted = random.pick(&[1, 5, 1000]);
            traces::check_walk(&sources, &passing, &scan, context.clone(), wanted, &what);
            traces::check_keys(&sources, &passing, &scan, context, &what);
        }
    }
    let context = ScanContext { cache, cancel: Arc::default(), threads: 2 };
    traces::check_traces(&sources, &rows, context, &format!("seed {seed}"));
}

#[test]
fn scans_agree_with_the_model() {
    for seed in 0..8 {
        round(seed, 24);
    }
}

/// For a longer search: `KYMO_TEST_SEEDS=1000..2000 cargo test … -- --ignored`.
#[test]
#[ignore = "takes long"]
fn scans_agree_with_the_model_for_long() {
    let seeds = std::env::var("KYMO_TEST_SEEDS").unwrap_or_else(|_| "100..200".to_owned());
    let (first, end) = seeds.split_once("..").unwrap();
    for seed in first.parse().unwrap()..end.parse().unwrap() {
        round(seed, 100);
    }
}
