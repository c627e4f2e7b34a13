//! What batches show beyond plain columns, in cases that can be told in a sentence.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use kymo_wire::AnyValueView;
use kymo_wire::encode::Writer;

use super::model::{OfTrace, Row, Value, blocks, chunk};
use crate::block::source::Source;
use crate::block::write::{BlockInput, write};
use crate::chunk::ChunkBuilder;
use crate::limits::SCAN_BATCH_MAX_BYTES;
use crate::objects::Objects;
use crate::scan::{
    ColumnCache, ColumnRef, Op, Order, Predicate, Prepared, Scalar, Scan, ScanContext, ScanStats,
    Scope, collect, value_types,
};
use crate::schema::{Signal, ValueType};
use crate::tables::{logs, order, spans::field};

fn row(trace: u8, id: u64, parent: Option<u64>, service: &str) -> Row {
    Row {
        trace,
        id,
        parent,
        name: format!("op {id}"),
        start: id as i64 * 10,
        duration: 5,
        status: None,
        resource: vec![("service.name", Value::Text(service.to_owned()))],
        attributes: Vec::new(),
        events: Vec::new(),
        links: Vec::new(),
        of_trace: OfTrace::default(),
    }
}

fn context() -> ScanContext {
    ScanContext { cache: ColumnCache::default(), cancel: Arc::default(), threads: 1 }
}

fn objects() -> (tempfile::TempDir, Arc<dyn Objects>) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let objects = crate::objects::open(root, Arc::new(kymo_journal::OsDisk)).unwrap();
    (directory, objects)
}

fn run(sources: &[Source], signal: Signal, scan: &Scan) -> (Vec<RecordBatch>, ScanStats) {
    collect(sources, signal, scan, context()).unwrap()
}

fn texts(batches: &[RecordBatch], column: usize) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for batch in batches {
        let array = batch.column(column);
        found.extend((0..array.len()).map(|at| {
            array.is_valid(at).then(|| match array.as_dictionary_opt::<Int32Type>() {
                Some(array) => {
                    let texts = array.values().as_string::<i32>();
                    texts.value(array.keys().value(at) as usize).to_owned()
                }
                None => array.as_string::<i32>().value(at).to_owned(),
            })
        }));
    }
    found
}

fn count(sources: &[Source], predicate: Predicate) -> usize {
    let scan = Scan { predicate: Some(predicate), ..Scan::default() };
    run(sources, Signal::Spans, &scan).1.rows_matched
}

#[test]
fn a_trace_in_memory_and_in_two_blocks_shows_one_root_on_all_its_rows() {
    let (_directory, objects) = objects();
    let mut sources =
        blocks(&[row(1, 5, Some(1), "cart"), row(2, 6, None, "other")], &objects, "a");
    sources.extend(blocks(&[row(1, 3, Some(1), "cart")], &objects, "b"));
    sources.push(chunk(&[row(1, 8, Some(3), "pay")]));
    sources.push(chunk(&[row(1, 1, None, "front"), row(3, 9, Some(7), "lost")]));
    let fields = [field::ROOT_NAME, field::ROOT_SERVICE].map(ColumnRef::Field);
    let mut columns = fields.to_vec();
    columns.extend([field::TRACE_START_TIME, field::TRACE_DURATION].map(ColumnRef::Field));
    let scan = Scan { columns, order: Order::OldestFirst, ..Scan::default() };
    let (batches, _) = run(&sources, Signal::Spans, &scan);
    // Rows 1, 3, 5, 6, 8, 9 in this order.
    let one = Some("op 1".to_owned());
    let names = vec![one.clone(), one.clone(), one.clone(), Some("op 6".into()), one, None];
    assert_eq!(texts(&batches, 0), names);
    let front = Some("front".to_owned());
    let other = Some("other".to_owned());
    let services = vec![front.clone(), front.clone(), front.clone(), other, front, None];
    assert_eq!(texts(&batches, 1), services);
    let starts = batches[0].column(2).as_primitive::<TimestampNanosecondType>();
    assert_eq!(starts.values().to_vec(), [10, 10, 10, 60, 10, 90]);
    let durations = batches[0].column(3).as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(durations.values().to_vec(), [75, 75, 75, 5, 75, 5]);
    let by_root = |service: &str| {
        let service = Scalar::String(service.to_owned());
        Predicate::equal(ColumnRef::Field(field::ROOT_SERVICE), service)
    };
    assert_eq!(count(&sources, by_root("front")), 4);
    assert_eq!(count(&sources, by_root("cart")), 0);
    let long = Predicate::Compare {
        column: ColumnRef::Field(field::TRACE_DURATION),
        op: Op::Ge,
        value: Scalar::Int(75),
    };
    assert_eq!(
        count(&sources, long),
        4,
        "bounds of pages do not hold for traces in several places"
    );
}

#[test]
fn of_two_roots_the_one_that_began_first_is_shown() {
    let (_directory, objects) = objects();
    let late = [row(1, 7, Some(4), "x"), row(1, 9, None, "late")];
    let early = [row(1, 2, Some(1), "x"), row(1, 4, None, "early")];
    for sources in [
        [blocks(&late, &objects, "a"), blocks(&early, &objects, "b")].concat(),
        [blocks(&late, &objects, "c"), vec![chunk(&early)]].concat(),
        [blocks(&early, &objects, "d"), vec![chunk(&late)]].concat(),
    ] {
        let columns = vec![ColumnRef::Field(field::ROOT_SERVICE)];
        let (batches, _) = run(&sources, Signal::Spans, &Scan { columns, ..Scan::default() });
        assert_eq!(texts(&batches, 0), vec![Some("early".to_owned()); 4]);
    }
}

#[test]
fn a_trace_by_its_id_is_looked_up_and_not_searched_for() {
    let (_directory, objects) = objects();
    // Each trace has some 800 rows; blocks of 8,192.
    let rows: Vec<Row> = (0..80_000).map(|id| row((id / 800) as u8, id, None, "shop")).collect();
    let sources = blocks(&rows, &objects, "a");
    let equal = |trace: u8| {
        Predicate::equal(ColumnRef::Field(field::TRACE_ID), Scalar::Bytes(vec![trace; 16]))
    };
    let scan = |predicate| Scan {
        columns: vec![ColumnRef::Field(field::SPAN_ID)],
        predicate: Some(predicate),
        ..Scan::default()
    };
    let (_, stats) = run(&sources, Signal::Spans, &scan(equal(3)));
    assert_eq!((stats.rows_matched, stats.granules_read, stats.pages_read), (800, 1, 2));
    // Rows 8,000 to 8,800 lie in two granules.
    let (_, stats) = run(&sources, Signal::Spans, &scan(equal(10)));
    assert_eq!((stats.rows_matched, stats.granules_read), (800, 2));
    let (_, stats) = run(&sources, Signal::Spans, &scan(equal(200)));
    assert_eq!((stats.rows_matched, stats.granules_read, stats.pages_read), (0, 0, 0));
    let values = [3, 50, 200].map(|trace| Scalar::Bytes(vec![trace; 16]));
    let several =
        Predicate::In { column: ColumnRef::Field(field::TRACE_ID), values: values.into() };
    let (_, stats) = run(&sources, Signal::Spans, &scan(several.clone()));
    assert_eq!((stats.rows_matched, stats.granules_read), (1600, 2));
    let others = Predicate::Not(Box::new(several));
    assert_eq!(run(&sources, Signal::Spans, &scan(others)).1.rows_matched, 80_000 - 1600);
    // Without the index all ids would be read.
    let less = Predicate::Compare {
        column: ColumnRef::Field(field::TRACE_ID),
        op: Op::Lt,
        value: Scalar::Bytes(vec![1; 16]),
    };
    assert_eq!(run(&sources, Signal::Spans, &scan(less)).1.granules_read, 10);
}

#[test]
fn batches_of_a_block_share_their_dictionaries_and_a_count_reads_nothing() {
    let (_directory, objects) = objects();
    let rows: Vec<Row> = (0..60_000).map(|id| row(1, id, None, "shop")).collect();
    let sources = blocks(&rows, &objects, "a");
    let columns = vec![
        ColumnRef::attribute(Scope::Resource, "service.name"),
        ColumnRef::Field(field::STATUS),
    ];
    let scan = Scan { columns, ..Scan::default() };
    let prepared = Prepared::new(&sources, Signal::Spans, &scan, context()).unwrap();
    let mut batches = Vec::new();
    // Once to fill the cache.
    for _ in 0..2 {
        batches.clear();
        let mut partition = prepared.start().partition();
        while let Some(batch) = partition.next_batch().unwrap() {
            batches.push(batch);
        }
    }
    for column in 0..2 {
        let dictionary = |batch: &RecordBatch| {
            batch.column(column).as_dictionary::<Int32Type>().values().to_data().buffers()[1]
                .as_ptr()
        };
        assert!(batches.iter().all(|batch| dictionary(batch) == dictionary(&batches[0])));
    }
    let (batches, stats) = run(&sources, Signal::Spans, &Scan::default());
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 60_000);
    assert_eq!((stats.rows_matched, stats.pages_read, stats.cache_misses), (60_000, 0, 0));
}

#[test]
fn a_span_without_a_status_is_unset() {
    let mut rows: Vec<Row> = (0..3).map(|id| row(1, id, None, "shop")).collect();
    rows[1].status = Some("error");
    rows[2].status = Some("unset");
    let (_directory, objects) = objects();
    let test = |op, word: &str| Predicate::Compare {
        column: ColumnRef::Field(field::STATUS),
        op,
        value: Scalar::String(word.to_owned()),
    };
    for sources in [vec![chunk(&rows)], blocks(&rows, &objects, "a")] {
        let columns = vec![ColumnRef::Field(field::STATUS)];
        let scan = Scan { columns, order: Order::OldestFirst, ..Scan::default() };
        let words = texts(&run(&sources, Signal::Spans, &scan).0, 0);
        let words: Vec<&str> = words.iter().map(|word| word.as_deref().unwrap()).collect();
        assert_eq!(words, ["unset", "error", "unset"]);
        assert_eq!(count(&sources, test(Op::Eq, "unset")), 2);
        assert_eq!(count(&sources, test(Op::Ne, "unset")), 1);
        assert_eq!(count(&sources, test(Op::Ne, "error")), 2);
        assert_eq!(count(&sources, Predicate::Not(Box::new(test(Op::Eq, "unset")))), 1);
        assert_eq!(count(&sources, Predicate::Exists(ColumnRef::Field(field::STATUS))), 3);
    }
}

#[test]
fn ends_of_spans_spare_granules_also_where_durations_are_negative() {
    let mut rows: Vec<Row> = (0..40_000).map(|id| row(1, id, None, "shop")).collect();
    rows[20_000].duration = -150_000;
    let (_directory, objects) = objects();
    let sources = blocks(&rows, &objects, "a");
    let before = |end: i64| Scan {
        columns: vec![ColumnRef::EndTime],
        predicate: Some(Predicate::Compare {
            column: ColumnRef::EndTime,
            op: Op::Lt,
            value: Scalar::Int(end),
        }),
        ..Scan::default()
    };
    let (_, stats) = run(&sources, Signal::Spans, &before(50_005));
    // The first 5,000, and the one that ended before it began.
    assert_eq!((stats.rows_matched, stats.granules_read), (5001, 2));
    let (batches, _) = run(&sources, Signal::Spans, &before(6));
    let ends = batches[0].column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(ends.values().to_vec(), [5]);
}

#[test]
fn texts_that_are_too_much_for_one_batch_come_in_several() {
    let text = "x".repeat(SCAN_BATCH_MAX_BYTES / 10);
    let mut rows: Vec<Row> = (0..24).map(|id| row(1, id, None, "shop")).collect();
    for row in &mut rows {
        row.attributes.push(("k".to_owned(), Value::Text(format!("{}{text}", row.id))));
    }
    let sources = [chunk(&rows)];
    let own = ColumnRef::attribute(Scope::Own, "k");
    for column in [ColumnRef::Attributes(Scope::Own), own] {
        for order in [Order::Any, Order::OldestFirst] {
            let scan = Scan { columns: vec![column.clone()], order, ..Scan::default() };
            let (batches, stats) = run(&sources, Signal::Spans, &scan);
            assert_eq!(stats.rows_matched, 24);
            assert!(batches.len() >= 3, "{column:?} {order:?}");
            let found = texts(&batches, 0);
            for (id, found) in found.iter().enumerate() {
                assert!(found.as_ref().unwrap().contains(&format!("{id}xxx")));
            }
        }
    }
}

#[test]
fn a_granule_of_texts_that_all_differ_is_cut_by_their_bytes() {
    let text = "x".repeat(SCAN_BATCH_MAX_BYTES / 100);
    let mut rows: Vec<Row> = (0..1500).map(|id| row(1, id, None, "shop")).collect();
    for row in rows.iter_mut().take(250) {
        row.attributes.push(("k".to_owned(), Value::Text(format!("{}{text}", row.id))));
    }
    let scan = Scan { columns: vec![ColumnRef::attribute(Scope::Own, "k")], ..Scan::default() };
    let (batches, stats) = run(&[chunk(&rows)], Signal::Spans, &scan);
    assert_eq!(stats.rows_matched, rows.len());
    for batch in &batches {
        let bytes = batch.get_array_memory_size();
        assert!(bytes < 3 * SCAN_BATCH_MAX_BYTES / 2, "{bytes}");
    }
}

#[test]
fn types_of_an_attribute_are_those_of_all_sources() {
    let mut rows: Vec<Row> = (0..3).map(|id| row(1, id, None, "shop")).collect();
    rows[0].attributes.push(("k".to_owned(), Value::Int(1)));
    rows[1].attributes.push(("k".to_owned(), Value::Double(1.5)));
    rows[2].attributes.push(("k".to_owned(), Value::Text("x".into())));
    let sources: Vec<Source> = rows.chunks(1).map(chunk).collect();
    let cache = ColumnCache::default();
    let types = |sources: &[Source], column: ColumnRef| {
        value_types(sources, Signal::Spans, &column, None, &cache).unwrap()
    };
    let k = ColumnRef::attribute(Scope::Own, "k");
    assert_eq!(types(&sources[..2], k.clone()), [ValueType::Int, ValueType::Double]);
    assert_eq!(types(&sources, k), [ValueType::String, ValueType::Int, ValueType::Double]);
    assert_eq!(types(&sources, ColumnRef::attribute(Scope::Own, "none")), []);
    let service = ColumnRef::attribute(Scope::Resource, "service.name");
    assert_eq!(types(&sources, service), [ValueType::String]);
}

/// A request with one log record for each body.
fn log_request(bodies: &[AnyValueView<'_>]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.resource(|_| {});
        w.scope_group(|w| {
            w.scope(b"s", b"", |w| w.scope_attribute(b"a", &AnyValueView::Int(1)));
            for (nth, body) in bodies.iter().enumerate() {
                w.message(2, |w| {
                    w.fixed64_field(1, nth as u64 + 1);
                    w.log_body(body);
                });
            }
        });
    });
    writer.into_bytes()
}

#[test]
fn bodies_of_all_types_are_shown_and_tested_as_text() {
    let bodies = [
        AnyValueView::String(b"plain"),
        AnyValueView::Int(5),
        AnyValueView::Array(&[0x0a, 2, 0x18, 7]),
        AnyValueView::String(b"5"),
    ];
    let mut builder = ChunkBuilder::new(&logs::TABLE);
    logs::append(&log_request(&bodies), &mut builder).unwrap();
    let chunks = vec![Source::Chunk(Arc::new(builder.finish()))];
    let (_directory, objects) = objects();
    let days = order::order(Signal::Logs, &chunks, |_| true).unwrap();
    let input = BlockInput {
        table: &logs::TABLE,
        sources: &chunks,
        order: &days[0].rows,
        journal: 0..0,
        zstd_level: 1,
    };
    objects.put("a.parquet", write(&input).unwrap().bytes).unwrap();
    let block = crate::block::read::Block::open(objects, "a.parquet", None).unwrap();
    for sources in [chunks, vec![Source::Block(Arc::new(block))]] {
        let body = ColumnRef::Field(logs::field::BODY);
        let columns = vec![
            body.clone(),
            ColumnRef::Attributes(Scope::Own),
            ColumnRef::Attributes(Scope::Resource),
            ColumnRef::Attributes(Scope::Scope),
        ];
        for order in [Order::Any, Order::OldestFirst] {
            let scan = Scan { columns: columns.clone(), order, ..Scan::default() };
            let (batches, _) = run(&sources, Signal::Logs, &scan);
            let shown: Vec<String> = texts(&batches, 0).into_iter().flatten().collect();
            assert_eq!(shown, ["plain", "5", "[7]", "5"]);
            assert_eq!(texts(&batches, 1), vec![Some("{}".to_owned()); 4]);
            assert_eq!(texts(&batches, 2), vec![Some("{}".to_owned()); 4]);
            assert_eq!(texts(&batches, 3), vec![Some("{\"a\":1}".to_owned()); 4]);
        }
        let found = |predicate| {
            let scan = Scan { predicate: Some(predicate), ..Scan::default() };
            run(&sources, Signal::Logs, &scan).1.rows_matched
        };
        assert_eq!(found(Predicate::equal(body.clone(), Scalar::String("5".into()))), 2);
        assert_eq!(found(Predicate::Exists(body.clone())), 4);
        let regex = Predicate::Match { column: body, regex: "^\\[".into(), negated: false };
        assert_eq!(found(regex), 1);
    }
}

#[test]
fn only_one_partition_does_what_is_in_order() {
    let rows: Vec<Row> = (0..100).map(|id| row(1, id, None, "shop")).collect();
    let columns = vec![ColumnRef::Field(field::NAME)];
    let scan = Scan { columns, order: Order::NewestFirst, limit: Some(3), ..Scan::default() };
    let prepared = Prepared::new(&[chunk(&rows)], Signal::Spans, &scan, context()).unwrap();
    let work = prepared.start();
    let (mut first, mut second) = (work.partition(), work.partition());
    let batch = first.next_batch().unwrap().unwrap();
    assert_eq!(
        texts(&[batch], 0).into_iter().flatten().collect::<Vec<_>>(),
        ["op 99", "op 98", "op 97"]
    );
    assert!(second.next_batch().unwrap().is_none());
    assert!(first.next_batch().unwrap().is_none());
    assert_eq!(work.stats().rows_matched, 3);
}
