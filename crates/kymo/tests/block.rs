//! `kymo block`.

mod common;

use common::{Place, trace_frames};

fn with_block() -> (Place, String) {
    let place = Place::new();
    place.write("t.bin", trace_frames(10, 40));
    place.import(&["t.bin"], &[]).expect(0);
    let block = place.blocks().remove(0);
    (place, block)
}

#[test]
fn a_block_is_shown_with_its_columns_by_size() {
    let (place, block) = with_block();
    let ran = place.kymo(&["block", &block]).expect(0);
    assert_eq!(ran.fact("signal"), "spans");
    assert_eq!(ran.fact("level"), "0, flushed");
    assert_eq!(ran.fact("rows"), "400");
    assert_eq!(ran.fact("traces"), "100 (4.0 spans each)");
    assert_eq!(
        ran.fact("time"),
        "2026-01-02T03:04:05.000000000Z to 2026-01-02T03:04:05.000399000Z (0.4 ms)"
    );
    assert_eq!(ran.fact("attributes in rest"), "0 rows (0.0 %)");
    assert!(ran.fact("journal").starts_with("0 to "), "{}", ran.stdout);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(ran.fact("written by"), format!("kymo {version}, node local, format 1"));
    for (index, entries) in [("origins", "1"), ("shapes", "1"), ("trace index", "100")] {
        assert!(ran.fact(index).starts_with(entries), "{index}\n{}", ran.stdout);
    }
    let words: Vec<&str> = ran.fact("span.http.route").split_whitespace().collect();
    assert_eq!(words[..4], ["attribute", "text", "dictionary", "400"]);
    let words: Vec<&str> = ran.fact("span_id").split_whitespace().collect();
    assert_eq!(words[..4], ["8", "bytes", "plain", "400"]);
    let words: Vec<&str> = ran.fact("parent_row").split_whitespace().collect();
    assert_eq!(words[2], "300", "the first of four spans is a root");
}

#[test]
fn json_holds_the_same_and_adds_up() {
    let (place, block) = with_block();
    let ran = place.kymo(&["block", "--format", "json", "--sort", "name", &block]).expect(0);
    let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["rows"], 400);
    let columns = shown["columns"].as_array().unwrap();
    let names: Vec<&str> = columns.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted());
    let sum = |parts: &serde_json::Value| -> u64 {
        parts.as_array().unwrap().iter().map(|p| p["size_bytes"].as_u64().unwrap()).sum()
    };
    let total =
        sum(&shown["columns"]) + sum(&shown["index"]) + shown["footer_bytes"].as_u64().unwrap();
    let size = std::fs::metadata(place.path(&block)).unwrap().len();
    assert_eq!((total, shown["size_bytes"].as_u64()), (size, Some(size)));
}

#[test]
fn what_is_no_block_is_named_and_the_others_are_shown() {
    let (place, block) = with_block();
    let bytes = std::fs::read(place.path(&block)).unwrap();
    place.write("cut.parquet", &bytes[..bytes.len() / 2]);
    place.write("noise.parquet", [7u8; 5000]);
    place.write("empty.parquet", []);
    let mut changed = bytes.clone();
    changed[100..400].fill(0xff);
    place.write("changed.parquet", changed);
    place.write("with space.parquet", &bytes);
    let files = [
        "cut.parquet",
        "noise.parquet",
        "empty.parquet",
        "changed.parquet",
        "absent.parquet",
        "data",
        "with space.parquet",
    ];
    let args = [&["block"], &files[..]].concat();
    let ran = place.kymo(&args).expect(1);
    assert_eq!(ran.stderr.lines().count(), 6, "{}", ran.stderr);
    for (line, file) in ran.stderr.lines().zip(files) {
        assert!(line.starts_with(&format!("error: {file}")), "{line}");
    }
    assert!(ran.stderr.contains("error: absent.parquet does not exist\n"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("with space.parquet\n"), "{}", ran.stdout);
    assert_eq!(ran.fact("rows"), "400");
    assert!(ran.fact("level").starts_with("unknown"));
}
