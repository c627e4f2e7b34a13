//! What a scan does in cases that can be told in a sentence.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::DataType;

use super::model::{OfTrace, Row, Value, blocks, chunk};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::error::StoreError;
use crate::objects::Objects;
use crate::scan::{
    ColumnCache, ColumnRef, Op, Order, Predicate, Prepared, Scalar, Scan, ScanContext, ScanStats,
    Scope, collect,
};
use crate::schema::Signal;
use crate::tables::spans::field;

fn row(id: u64, attributes: &[(&str, Value)]) -> Row {
    Row {
        trace: id as u8,
        id,
        parent: None,
        name: "op".into(),
        start: id as i64,
        duration: 1,
        status: None,
        resource: vec![("service.name", Value::Text("shop".into()))],
        attributes: attributes.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        events: Vec::new(),
        links: Vec::new(),
        of_trace: OfTrace::default(),
    }
}

fn all() -> Scan {
    Scan {
        columns: vec![ColumnRef::Field(field::SPAN_ID)],
        predicate: None,
        time: None,
        order: Order::OldestFirst,
        ..Scan::default()
    }
}

fn context(threads: usize) -> ScanContext {
    ScanContext { cache: ColumnCache::default(), cancel: Arc::default(), threads }
}

fn run(sources: &[Source], scan: &Scan) -> Result<(usize, ScanStats), StoreError> {
    let (batches, stats) = collect(sources, Signal::Spans, scan, context(2))?;
    Ok((batches.iter().map(|batch| batch.num_rows()).sum(), stats))
}

fn count(sources: &[Source], predicate: Predicate) -> usize {
    run(sources, &Scan { predicate: Some(predicate), ..all() }).unwrap().0
}

fn x() -> ColumnRef {
    ColumnRef::attribute(Scope::Own, "x")
}

fn directory() -> (tempfile::TempDir, Arc<dyn Objects>) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let objects = crate::objects::open(root, Arc::new(kymo_journal::OsDisk)).unwrap();
    (directory, objects)
}

#[test]
fn not_holds_for_rows_that_lack_the_value_and_unequal_does_not() {
    let rows = [row(1, &[("x", Value::Int(1))]), row(2, &[("x", Value::Int(2))]), row(3, &[])];
    let sources = [chunk(&rows)];
    let one = Predicate::equal(x(), Scalar::Int(1));
    let unequal = Predicate::Compare { column: x(), op: Op::Ne, value: Scalar::Int(1) };
    assert_eq!(count(&sources, one.clone()), 1);
    assert_eq!(count(&sources, unequal.clone()), 1);
    assert_eq!(count(&sources, Predicate::Not(Box::new(one))), 2);
    assert_eq!(count(&sources, Predicate::Not(Box::new(unequal))), 2);
    assert_eq!(count(&sources, Predicate::And(vec![])), 3);
    assert_eq!(count(&sources, Predicate::Or(vec![])), 0);
}

#[test]
fn numbers_compare_across_types_without_loss() {
    let big = (1i64 << 53) + 1;
    let rows = [
        row(1, &[("x", Value::Int(1))]),
        row(2, &[("x", Value::Double(1.0))]),
        row(3, &[("x", Value::Int(big))]),
        row(4, &[("x", Value::Text("1".into()))]),
    ];
    let sources = [chunk(&rows)];
    assert_eq!(count(&sources, Predicate::equal(x(), Scalar::Int(1))), 2);
    assert_eq!(count(&sources, Predicate::equal(x(), Scalar::Double(1.0))), 2);
    assert_eq!(count(&sources, Predicate::equal(x(), Scalar::Double(big as f64))), 0);
    assert_eq!(count(&sources, Predicate::equal(x(), Scalar::Int(big))), 1);
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    let sources = [chunk(&[row(1, &[])])];
    let wrong = [
        Predicate::Match { column: x(), regex: "(".into(), negated: false },
        Predicate::Exists(ColumnRef::Field(999)),
        Predicate::Exists(ColumnRef::attribute(Scope::Event, "x")),
        (0..100).fold(Predicate::Exists(x()), |p, _| Predicate::Not(Box::new(p))),
    ];
    for predicate in wrong {
        let error = run(&sources, &Scan { predicate: Some(predicate), ..all() }).unwrap_err();
        assert!(matches!(error, StoreError::Query(_)), "{error}");
    }
}

#[test]
fn a_damaged_block_is_left_out_and_counted() {
    let (_directory, objects) = directory();
    let rows: Vec<Row> = (0..100).map(|id| row(id, &[("x", Value::Int(5))])).collect();
    let Source::Block(block) = &blocks(&rows, &objects, "a")[0] else { panic!("a block") };
    let whole = objects.get(block.path()).unwrap();
    let columns = [field::SPAN_ID, field::START_TIME, field::ORIGIN].map(ColumnRef::Field);
    let mut skipped = 0;
    for order in [Order::Any, Order::NewestFirst] {
        for at in (4..whole.len()).step_by(whole.len() / 40) {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 0x55;
            objects.put("damaged.parquet", bytes.into()).unwrap();
            let Ok(damaged) = Block::open(objects.clone(), "damaged.parquet", None) else {
                continue;
            };
            let sources = [Source::Block(Arc::new(damaged)), chunk(&rows)];
            let predicate = Some(Predicate::equal(x(), Scalar::Int(5)));
            let scan =
                Scan { predicate, columns: columns.to_vec(), order, limit: Some(150), ..all() };
            let (found, stats) = run(&sources, &scan).unwrap();
            let expected = if stats.blocks_skipped_damaged == 0 { 150 } else { 100 };
            assert_eq!(found, expected, "byte {at}");
            skipped += stats.blocks_skipped_damaged;
        }
    }
    assert!(skipped > 4, "only {skipped} of the damages were met");
}

#[test]
fn a_cancelled_scan_ends_with_that_error() {
    let sources = [chunk(&[row(1, &[])])];
    let context = context(1);
    context.cancel.store(true, Ordering::Relaxed);
    for order in [Order::Any, Order::NewestFirst] {
        let ended = collect(&sources, Signal::Spans, &Scan { order, ..all() }, context.clone());
        assert!(matches!(ended, Err(StoreError::Cancelled)));
    }
    context.cancel.store(false, Ordering::Relaxed);
    assert!(collect(&sources, Signal::Spans, &all(), context).is_ok());
}

#[test]
fn a_sink_that_wants_no_more_gets_no_more() {
    let (_directory, objects) = directory();
    let rows: Vec<Row> = (0..200_000).map(|id| row(id, &[])).collect();
    let sources = blocks(&rows, &objects, "a");
    for (order, threads) in [(Order::Any, 1), (Order::Any, 2), (Order::NewestFirst, 2)] {
        let scan = Scan { order, ..all() };
        let prepared = Prepared::new(&sources, Signal::Spans, &scan, context(threads)).unwrap();
        let mut batches = 0;
        prepared
            .run(&mut |_| {
                batches += 1;
                Ok(ControlFlow::Break(()))
            })
            .unwrap();
        assert_eq!(batches, 1);
    }
}

#[test]
fn time_bounds_and_filters_spare_most_granules() {
    let (_directory, objects) = directory();
    let user = |id: u64| [("user", Value::Text(format!("user-{id}")))];
    let rows: Vec<Row> = (0..80_000).map(|id| Row { trace: 1, ..row(id, &user(id)) }).collect();
    let sources = blocks(&rows, &objects, "a");
    let scan = Scan { time: Some(100..200), ..all() };
    let (found, stats) = run(&sources, &scan).unwrap();
    assert_eq!((found, stats.granules_read, stats.granules_pruned), (100, 1, 9));
    let (found, stats) = run(&sources, &Scan { time: Some(80_000..90_000), ..all() }).unwrap();
    assert_eq!((found, stats.blocks_pruned, stats.granules_read), (0, 1, 0));
    let column = ColumnRef::attribute(Scope::Own, "user");
    let predicate = Some(Predicate::equal(column, Scalar::String("user-777".into())));
    let (found, stats) = run(&sources, &Scan { predicate, ..all() }).unwrap();
    assert_eq!(found, 1);
    assert!(stats.granules_read < 4, "{stats:?}");
    let newest = Scan { order: Order::NewestFirst, limit: Some(10), ..all() };
    let (found, stats) = run(&sources, &newest).unwrap();
    assert_eq!((found, stats.granules_read), (10, 1));
}

#[test]
fn a_key_that_nobody_has_is_an_empty_column_of_text() {
    let sources = [chunk(&[row(1, &[])])];
    let scan = Scan { columns: vec![x()], ..all() };
    let (batches, _) = collect(&sources, Signal::Spans, &scan, context(1)).unwrap();
    assert_eq!(batches[0].schema().field(0).data_type(), &DataType::Utf8);
    assert_eq!(batches[0].schema().field(0).name(), "span.x");
    assert_eq!(batches[0].column(0).null_count(), 1);
}
