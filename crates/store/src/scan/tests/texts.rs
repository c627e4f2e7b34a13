//! Random texts and what is looked for in them: whatever text filters spare, a
//! scan of log records finds what looking at each text finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use kymo_wire::{AnyValueView, KeyValueView, View};
use regex::Regex;

use super::differential::Random;
use super::model::Value;
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::write::{BlockInput, write};
use crate::chunk::ChunkBuilder;
use crate::objects::Objects;
use crate::pages::GRANULE_ROWS;
use crate::scan::{
    ColumnCache, ColumnRef, Order, Predicate, Scalar, Scan, ScanContext, ScanStats, Scope, collect,
};
use crate::schema::Signal;
use crate::tables::{logs, order};

const ROWS: usize = 3 * GRANULE_ROWS + 700;
/// Some with letters whose other case is another number of bytes, or outside of ASCII.
const WORDS: [&str; 12] = [
    "request",
    "Retrying",
    "cache_miss",
    "id",
    "ms",
    "größer",
    "öl",
    "connection",
    "x",
    "UPSTREAM",
    "\u{212a}elvin",
    "mi\u{17f}takes",
];

struct Record {
    /// As it is shown.
    body: Option<String>,
    sent: Option<Value>,
    note: Option<String>,
    trace_id: Option<[u8; 16]>,
}

/// Words and numbers; some are of their granule alone.
fn text(random: &mut Random, row: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.below(9) {
        match random.below(6) {
            0 => text += &format!("{:08x}", random.next() as u32),
            1 => text += &random.below(1000).to_string(),
            2 => text += &format!("topic{}part", row / 2000),
            _ => text += random.pick(&WORDS),
        }
        text += random.pick(&[" ", " ", "=", "/", "", ", ", "\n", "_"]);
    }
    text
}

fn record(random: &mut Random, row: usize) -> Record {
    let sent = match random.below(20) {
        0 => None,
        1 => Some(Value::Int(random.next() as i64 >> 20)),
        2 => Some(Value::Array(random.below(100) as u8)),
        3 => Some(Value::Bytes((0..random.below(30)).map(|_| random.next() as u8).collect())),
        // Bodies rarely repeat: what does is in a dictionary, which needs no filter.
        _ => Some(Value::Text(format!("{} r{row}", text(random, row)))),
    };
    let note = (!random.chance(4)).then(|| text(random, row) + &text(random, row) + "a long note");
    let trace_id = random.chance(2).then(|| {
        let mut id = [7; 16];
        id[..8].copy_from_slice(&random.below(50_000).to_le_bytes());
        id
    });
    Record { body: sent.as_ref().map(Value::shown), sent, note, trace_id }
}

fn chunk(records: &[Record], first: usize) -> Source {
    let mut builder = ChunkBuilder::new(&logs::TABLE);
    let origin = builder.origin(&[]);
    for (nth, record) in records.iter().enumerate() {
        builder.begin_row(origin);
        builder.int(logs::field::TIME, (first + nth) as i64);
        match &record.sent {
            Some(Value::Text(text)) => builder.bytes(logs::field::BODY, text.as_bytes()),
            Some(other) => {
                let attribute = other.attribute("");
                let attribute = KeyValueView::parse(&attribute).unwrap();
                assert!(!matches!(attribute.value, AnyValueView::String(_)));
                builder.bytes(logs::field::BODY_ANY, attribute.value_raw);
            }
            None => {}
        }
        if let Some(id) = &record.trace_id {
            builder.id(logs::field::TRACE_ID, id);
        }
        if let Some(note) = &record.note {
            let attribute = Value::Text(note.clone()).attribute("note");
            builder.attribute(&KeyValueView::parse(&attribute).unwrap());
        }
        builder.end_attributes();
    }
    Source::Chunk(Arc::new(builder.finish()))
}

fn block(chunks: &[Source], objects: &Arc<dyn Objects>) -> Source {
    let days = order::order(Signal::Logs, chunks, |_| true).unwrap();
    let input = BlockInput {
        table: &logs::TABLE,
        sources: chunks,
        order: &days[0].rows,
        journal: 0..0,
        zstd_level: 1,
    };
    objects.put("a.parquet", write(&input).unwrap().bytes).unwrap();
    Source::Block(Arc::new(Block::open(objects.clone(), "a.parquet", None).unwrap()))
}

fn body() -> ColumnRef {
    ColumnRef::Field(logs::field::BODY)
}

fn note() -> ColumnRef {
    ColumnRef::attribute(Scope::Own, "note")
}

/// A part of the text of some record, mostly as it is.
fn part(random: &mut Random, records: &[Record]) -> String {
    let record = &records[random.below(records.len() as u64) as usize];
    let text = record.body.as_ref().or(record.note.as_ref()).map_or("nothing", String::as_str);
    let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let (a, b) = (random.pick(&places), random.pick(&places));
    let part = &text[a.min(b)..a.max(b)];
    match random.below(8) {
        0 => part.to_uppercase(),
        1 => part.replace('e', "3"),
        2 => format!("{:08x}", random.next() as u32),
        _ => part.to_owned(),
    }
}

fn pattern(random: &mut Random, records: &[Record]) -> String {
    let one = |random: &mut Random| regex::escape(&part(random, records));
    let (a, b) = (one(random), one(random));
    match random.below(14) {
        0 => a,
        1 => format!("{a}.*{b}"),
        2 => format!("(?s){a}.+{b}"),
        3 => format!("(?i){a}"),
        4 => format!("(?i:{a})|{b}"),
        5 => format!("({a}|{b})"),
        6 => format!("^{a}"),
        7 => format!("{a}$"),
        8 => format!("(?m)^{a}$"),
        9 => format!(r"\b{a}\b"),
        10 => format!("(?:{a})?{b}"),
        11 => format!("({a}){{1,2}}"),
        12 => format!("[Rr]{a}[ =/]"),
        _ => random
            .pick(&[
                "[0-9a-f]{8}",
                "(?i)upstream=",
                "ö.+x",
                "",
                "a^",
                "topic1part",
                "(?i)kelvin",
                "(?i)mistakes",
                "(?i)GRÖSSER|GRÖßER",
                r"(?m)\w+=$",
                "[+/][A-Za-z0-9]{5}",
            ])
            .into(),
    }
}

fn predicate(random: &mut Random, records: &[Record], depth: u32) -> Predicate {
    let column = if random.chance(3) { note() } else { body() };
    let negated = random.chance(4);
    let parts = |random: &mut Random| {
        (0..1 + random.below(2)).map(|_| predicate(random, records, depth - 1)).collect()
    };
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0..3 => Predicate::Contains { column, text: part(random, records), negated },
        3 | 4 => Predicate::Match { column, regex: pattern(random, records), negated },
        5 => {
            let body = records[random.below(records.len() as u64) as usize].body.clone();
            Predicate::equal(column, Scalar::String(body.unwrap_or_default()))
        }
        6 => {
            let mut id = [7; 16];
            id[..8].copy_from_slice(&random.below(60_000).to_le_bytes());
            Predicate::equal(ColumnRef::Field(logs::field::TRACE_ID), Scalar::Bytes(id.into()))
        }
        7 => Predicate::And(parts(random)),
        8 => Predicate::Or(parts(random)),
        _ => Predicate::Not(Box::new(predicate(random, records, depth - 1))),
    }
}

/// A predicate that is ready to be asked about each record.
enum Model {
    All(Vec<Model>),
    Any(Vec<Model>),
    Not(Box<Model>),
    Contains(ColumnRef, String, bool),
    Match(ColumnRef, Regex, bool),
    Text(ColumnRef, String),
    Trace(Vec<u8>),
}

impl Model {
    fn new(predicate: &Predicate) -> Self {
        match predicate {
            Predicate::And(parts) => Self::All(parts.iter().map(Self::new).collect()),
            Predicate::Or(parts) => Self::Any(parts.iter().map(Self::new).collect()),
            Predicate::Not(part) => Self::Not(Box::new(Self::new(part))),
            Predicate::Contains { column, text, negated } => {
                Self::Contains(column.clone(), text.clone(), *negated)
            }
            Predicate::Match { column, regex, negated } => {
                Self::Match(column.clone(), Regex::new(regex).unwrap(), *negated)
            }
            Predicate::Compare { column, value: Scalar::String(text), .. } => {
                Self::Text(column.clone(), text.clone())
            }
            Predicate::Compare { value: Scalar::Bytes(id), .. } => Self::Trace(id.clone()),
            other => panic!("not made here: {other:?}"),
        }
    }

    fn passes(&self, record: &Record) -> bool {
        let text = |column: &ColumnRef| match *column == body() {
            true => record.body.as_deref(),
            false => record.note.as_deref(),
        };
        match self {
            Self::All(parts) => parts.iter().all(|part| part.passes(record)),
            Self::Any(parts) => parts.iter().any(|part| part.passes(record)),
            Self::Not(part) => !part.passes(record),
            Self::Contains(column, part, negated) => {
                text(column).is_some_and(|text| text.contains(part) != *negated)
            }
            Self::Match(column, regex, negated) => {
                text(column).is_some_and(|text| regex.is_match(text) != *negated)
            }
            Self::Text(column, other) => text(column) == Some(other.as_str()),
            Self::Trace(id) => record.trace_id.as_ref().map(|id| &id[..]) == Some(&id[..]),
        }
    }
}

fn found(sources: &[Source], scan: &Scan) -> (BTreeSet<i64>, ScanStats) {
    let context = ScanContext { cache: ColumnCache::default(), cancel: Arc::default(), threads: 2 };
    let (batches, stats) = collect(sources, Signal::Logs, scan, context).unwrap();
    let times = batches.iter().flat_map(|batch| {
        batch.column(0).as_primitive::<TimestampNanosecondType>().values().iter().copied()
    });
    (times.collect(), stats)
}

fn place() -> (tempfile::TempDir, Arc<dyn Objects>) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let objects = crate::objects::open(root, Arc::new(kymo_journal::OsDisk)).unwrap();
    (directory, objects)
}

#[test]
fn a_line_of_ten_megabytes_is_found_as_others_are() {
    let text = |row: usize| match row {
        5 => format!("{} needle-at-the-end", "x".repeat(10 << 20)),
        _ => format!("line {row} of a quiet day"),
    };
    let record = |row: usize| Record {
        body: Some(text(row)),
        sent: Some(Value::Text(text(row))),
        note: None,
        trace_id: None,
    };
    let records: Vec<Record> = (0..GRANULE_ROWS + 10).map(record).collect();
    let (_directory, objects) = place();
    let block = block(&[chunk(&records, 0)], &objects);
    let contains = |text: &str, negated| {
        let text = text.to_owned();
        Predicate::Contains { column: body(), text, negated }
    };
    let matches = |regex: &str, negated| {
        let regex = regex.to_owned();
        Predicate::Match { column: body(), regex, negated }
    };
    for (predicate, spares) in [
        (contains("needle-at-the-end", false), true),
        (contains("needle-at-the-end", true), false),
        (contains("xxxxxxxxxxxx needle", false), true),
        (contains("line 8195 of", false), false),
        (contains("nowhere at all", false), true),
        (matches("x{20} needle-at.+end$", false), true),
        (matches("(?i)^LINE 5|needle-AT", false), false),
        (matches("(?i)^LINE 5|needle-AT", true), false),
    ] {
        let model = Model::new(&predicate);
        let passing = (0..records.len()).filter(|row| model.passes(&records[*row]));
        let expected: BTreeSet<i64> = passing.map(|row| row as i64).collect();
        let columns = vec![ColumnRef::Field(logs::field::TIME)];
        let scan = Scan { columns, predicate: Some(predicate.clone()), ..Scan::default() };
        let (rows, stats) = found(std::slice::from_ref(&block), &scan);
        assert_eq!(rows, expected, "{predicate:?}");
        assert!(stats.granules_pruned > 0 || !spares, "{predicate:?}");
    }
}

#[test]
fn a_check_finds_damaged_text_filters() {
    let mut random = Random(31);
    let records: Vec<Record> = (0..200).map(|row| record(&mut random, row)).collect();
    let (_directory, objects) = place();
    let block = block(&[chunk(&records, 0)], &objects);
    let Source::Block(opened) = &block else { panic!("a block") };
    crate::check::read_all(opened).unwrap();
    let filters = &opened.footer().text_filters;
    assert!(!filters.is_empty());
    for region in filters.iter().filter_map(|described| described.region) {
        let mut bytes = objects.get("a.parquet").unwrap().to_vec();
        bytes[region.offset as usize + 1] ^= 1;
        let path = format!("{}.parquet", region.offset);
        objects.put(&path, bytes.into()).unwrap();
        let damaged = Block::open(objects.clone(), &path, None).unwrap();
        assert!(crate::check::read_all(&damaged).is_err(), "{region:?}");
    }
}

#[test]
fn what_text_filters_spare_has_nothing_that_passes() {
    let mut random = Random(29);
    let records: Vec<Record> = (0..ROWS).map(|row| record(&mut random, row)).collect();
    let sizes = [0, 5000, 20_000, ROWS];
    let chunks: Vec<Source> = sizes.windows(2).map(|w| chunk(&records[w[0]..w[1]], w[0])).collect();
    let (_directory, objects) = place();
    let block = block(&chunks, &objects);
    let Source::Block(opened) = &block else { panic!("a block") };
    assert_eq!(opened.footer().text_filters.len(), 3, "bodies of both kinds and notes");
    let (mut spared, mut spared_by_trace) = (0, 0);
    for round in 0..400 {
        let predicate = predicate(&mut random, &records, 2);
        let model = Model::new(&predicate);
        let expected: BTreeSet<i64> =
            (0..ROWS).filter(|row| model.passes(&records[*row])).map(|row| row as i64).collect();
        let scan = Scan {
            columns: vec![ColumnRef::Field(logs::field::TIME)],
            predicate: Some(predicate.clone()),
            ..Scan::default()
        };
        let (rows, stats) = found(std::slice::from_ref(&block), &scan);
        assert_eq!(rows, expected, "round {round}: {predicate:?}");
        match predicate {
            Predicate::Compare { value: Scalar::Bytes(_), .. } => {
                spared_by_trace += stats.granules_pruned;
            }
            _ => spared += stats.granules_pruned,
        }
        if round % 4 == 0 {
            assert_eq!(found(&chunks, &scan).0, expected, "in memory, {round}: {predicate:?}");
            let limit = 1 + random.below(20) as usize;
            let newest = Scan { order: Order::NewestFirst, limit: Some(limit), ..scan };
            let last: BTreeSet<i64> = expected.iter().rev().take(limit).copied().collect();
            let (rows, _) = found(std::slice::from_ref(&block), &newest);
            assert_eq!(rows, last, "newest {limit}, {round}: {predicate:?}");
        }
    }
    assert!(spared > 100, "only {spared} granules were passed over");
    assert!(spared_by_trace > 0);
}
