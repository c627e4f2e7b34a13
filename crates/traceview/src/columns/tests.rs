//! Columns, read back as the format says.

use serde_json::Value;

use super::*;
use crate::fixture::{Sent, sent, tree};

/// Columns as a reader would have them.
struct Read {
    header: Value,
    base: Vec<u8>,
}

impl Read {
    fn of(bytes: &[u8]) -> Self {
        assert_eq!(&bytes[..4], MAGIC);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((word(4), word(12)), (1, 0));
        let end = PREFIX_BYTES + word(8);
        let header = serde_json::from_slice(&bytes[PREFIX_BYTES..end]).unwrap();
        Self { header, base: bytes[end.next_multiple_of(8)..].to_vec() }
    }

    fn column(&self, name: &str) -> Vec<f64> {
        let columns = self.header["columns"].as_array().unwrap();
        let column = columns.iter().find(|column| column["name"] == name).expect(name);
        let length = column["length"].as_u64().unwrap() as usize;
        if let Some(fill) = column["fill"].as_f64() {
            assert!(column.get("offset").is_none());
            return vec![fill; length];
        }
        let offset = column["offset"].as_u64().unwrap() as usize;
        assert_eq!(offset % 8, 0);
        let bytes = &self.base[offset..];
        let each = |size: usize| bytes.chunks(size).take(length);
        match column["type"].as_str().unwrap() {
            "f64" => each(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
            "i32" => {
                each(4).map(|b| f64::from(i32::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            "u32" => {
                each(4).map(|b| f64::from(u32::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            "u16" => {
                each(2).map(|b| f64::from(u16::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            "u8" => each(1).map(|b| f64::from(b[0])).collect(),
            "bytes8" => each(8).map(|b| u64::from_be_bytes(b.try_into().unwrap()) as f64).collect(),
            other => panic!("{other}"),
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.header["names"].as_array().unwrap();
        let name = |code: &f64| names[*code as usize].as_str().unwrap().to_owned();
        self.column("name").iter().map(name).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = self.header["warnings"].as_array().unwrap();
        let code = |warning: &Value| warning["code"].as_str().unwrap().to_owned();
        warnings.iter().map(code).collect()
    }
}

fn read(spans: &[Sent]) -> Read {
    Read::of(&columns(&tree(spans), "abc", 0).unwrap())
}

fn flagged(read: &Read, bit: u32) -> Vec<usize> {
    let flags = read.column("flags").into_iter().enumerate();
    flags.filter(|(_, flags)| *flags as u32 & bit != 0).map(|(row, _)| row).collect()
}

#[test]
fn rows_are_in_tree_order_with_all_that_is_computed() {
    let mut spans = vec![
        sent(3, 1, "db", "SELECT", 1_030, 1_060),
        sent(1, 0, "shop", "GET /", 1_000, 1_100),
        sent(2, 1, "shop", "auth", 1_010, 1_020),
        sent(4, 2, "db", "SELECT", 1_012, 1_015),
    ];
    spans[3].is_error = true;
    spans[3].events = vec![(1_013, "exception")];
    let read = read(&spans);
    assert_eq!(read.names(), ["GET /", "auth", "SELECT", "SELECT"]);
    assert_eq!(read.column("id"), [1.0, 2.0, 4.0, 3.0]);
    assert_eq!(read.column("start"), [0.0, 10.0, 12.0, 30.0]);
    assert_eq!(read.column("duration"), [100.0, 10.0, 3.0, 30.0]);
    assert_eq!(read.column("self"), [60.0, 7.0, 3.0, 30.0]);
    assert_eq!(read.column("critical"), [60.0, 7.0, 3.0, 30.0]);
    assert_eq!(read.column("saving"), [100.0, 10.0, 3.0, 30.0]);
    assert_eq!(read.column("slack"), [0.0; 4]);
    assert_eq!(read.column("parent"), [-1.0, 0.0, 1.0, 0.0]);
    assert_eq!(read.column("subtree"), [4.0, 2.0, 1.0, 1.0]);
    assert_eq!(read.column("depth"), [0.0, 1.0, 2.0, 1.0]);
    assert_eq!(read.column("message"), [-1.0, -1.0, 0.0, -1.0]);
    assert_eq!(read.column("events"), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(flagged(&read, flags::ERROR), [2]);
    assert_eq!(flagged(&read, flags::ERROR_BELOW), [0, 1, 2]);
    assert_eq!(flagged(&read, flags::EXCEPTION), [2]);
    assert_eq!(flagged(&read, flags::ROOT), [0]);
    let path: Vec<f64> = read.column("pathDuration");
    assert_eq!(path.iter().sum::<f64>(), 100.0);
    assert_eq!(read.column("pathRow"), [0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 0.0]);
    let header = &read.header;
    assert_eq!((&header["t0"], &header["durationNanos"]), (&"1000".into(), &100.into()));
    assert_eq!(header["main"]["name"], "GET /");
    assert_eq!(header["services"][1]["errors"], 1);
    assert_eq!(header["services"][1]["selfNanos"], 33);
    assert_eq!(header["hosts"], serde_json::json!(["node1"]));
    assert_eq!(header["totals"]["maxDepth"], 2);
    assert_eq!(header["warnings"], serde_json::json!([]));
}

#[test]
fn the_order_of_arrival_changes_nothing() {
    let spans: Vec<Sent> =
        (1..60).map(|id| sent(id, id / 3, "s", "same", 10 + id / 5, 90)).collect();
    let forwards = columns(&tree(&spans), "abc", 0).unwrap();
    let backwards: Vec<Sent> = spans.into_iter().rev().collect();
    assert_eq!(forwards, columns(&tree(&backwards), "abc", 0).unwrap());
}

#[test]
fn odd_spans_are_shown_and_told_of() {
    let read = read(&[
        sent(1, 0, "s", "root", 1_000, 2_000),
        sent(2, 99, "s", "orphan", 1_100, 1_200),
        sent(3, 4, "s", "circle", 1_300, 1_400),
        sent(4, 3, "s", "circle", 1_310, 1_390),
        sent(5, 5, "s", "own parent", 1_500, 1_510),
        sent(1, 0, "s", "twice", 1_600, 1_700),
        sent(6, 1, "s", "went back", 1_700, 1_600),
        sent(7, 1, "s", "too early", 900, 1_100),
        sent(8, 1, "s", "untimed", 0, 0),
        sent(9, 1, "s", "runs", 1_800, 0),
        sent(10, 1, "s", "outlasts", 1_900, 2_500),
    ]);
    let names = read.names();
    let named = |bit| -> Vec<String> {
        flagged(&read, bit).into_iter().map(|row| names[row].clone()).collect()
    };
    assert_eq!(named(flags::ORPHAN), ["orphan"]);
    assert_eq!(named(flags::CYCLE), ["circle", "own parent"]);
    assert_eq!(named(flags::DUPLICATE), ["twice"]);
    assert_eq!(named(flags::UNTIMED), ["untimed"]);
    assert_eq!(named(flags::RUNNING), ["runs"]);
    assert_eq!(named(flags::SKEWED), ["too early", "went back"]);
    assert_eq!(named(flags::OUTLASTS), ["runs", "outlasts"]);
    let row = |name: &str| names.iter().position(|found| found == name).unwrap();
    let (starts, durations) = (read.column("start"), read.column("duration"));
    assert_eq!(durations[row("went back")], -100.0);
    assert_eq!(starts[row("untimed")], starts[row("root")]);
    assert_eq!(durations[row("runs")], 700.0);
    let expected = ["clock-skew", "negative-duration", "cycle", "duplicate", "orphan", "untimed"];
    assert_eq!(read.warnings(), expected);
    assert_eq!(read.header["totals"]["roots"], 5);
}

#[test]
fn no_spans_are_no_rows() {
    let read = read(&[]);
    assert_eq!(read.column("start"), [0.0; 0]);
    assert_eq!(read.header["main"], Value::Null);
    assert_eq!(read.header["spans"], 0);
    let damaged = Read::of(&columns(&tree(&[]), "abc", 2).unwrap());
    assert_eq!(damaged.warnings(), ["damaged"]);
}

#[test]
fn ten_years_and_names_of_ten_kilobytes_fit() {
    let years = 10 * 365 * 86_400 * 1_000_000_000u64;
    let long = "n".repeat(10_000);
    let start = 1_700_000_000_000_000_000;
    let read = read(&[
        sent(1, 0, "s", &long, start, start + years),
        sent(2, 1, "s", "short", start + years - 1, start + years),
    ]);
    assert_eq!(read.column("duration"), [years as f64, 1.0]);
    assert_eq!(read.names()[0].len(), 1_024);
    assert_eq!(flagged(&read, flags::NAME_CUT), [0]);
}

#[test]
fn many_children_and_deep_chains_are_done_in_no_time() {
    let begun = std::time::Instant::now();
    let wide = (2..=50_001).map(|id| sent(id, 1, "s", "child", 1_000 + id, 1_001 + id));
    let wide: Vec<Sent> = wide.chain([sent(1, 0, "s", "root", 1_000, 90_000)]).collect();
    assert_eq!(read(&wide).column("subtree")[0], 50_001.0);
    let deep: Vec<Sent> =
        (1..=100_000).map(|id| sent(id, id - 1, "s", "link", id, 300_000 - id)).collect();
    let deep = read(&deep);
    assert_eq!(deep.column("depth")[99_999], 65_535.0);
    assert_eq!(deep.header["totals"]["maxDepth"], 99_999);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
