//! `kymo store check`: healthy stores, and one test for each way in which one can be broken.

mod common;

use std::sync::Arc;

use common::{Place, logs, trace_frames};
use prost::Message;

fn with_store() -> Place {
    let place = Place::new();
    place.write("t.bin", trace_frames(10, 40));
    place.write("l.pb", logs(30).encode_to_vec());
    place.import(&["t.bin", "l.pb"], &[]).expect(0);
    place
}

fn check(place: &Place) -> common::Ran {
    place.kymo(&["store", "check", "data"])
}

fn block_of(place: &Place, signal: &str) -> String {
    let signal = format!("/{signal}/");
    place.blocks().into_iter().find(|path| path.contains(&signal)).expect("a block")
}

#[test]
fn a_healthy_store_is_good_and_is_left_alone() {
    let place = with_store();
    place.write("data/blocks/default/.half.1-0.tmp", "a server may be writing this");
    let before = place.files("data");
    let ran = check(&place).expect(0);
    assert_eq!(ran.fact("tenants"), "1");
    assert_eq!(ran.fact("blocks"), "2");
    assert_eq!(ran.fact("rows"), "430");
    assert_eq!(ran.fact("result"), "good");
    assert!(ran.fact("journal").contains("records"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    place.kymo(&["store", "check", "data/blocks"]).expect(0);
    assert_eq!(place.files("data"), before);
}

#[test]
fn a_cut_block_is_damaged_and_the_rest_is_read() {
    let place = with_store();
    let block = block_of(&place, "spans");
    let bytes = std::fs::read(place.path(&block)).unwrap();
    place.write(&block, &bytes[..bytes.len() - 1]);
    let ran = check(&place).expect(1);
    assert_eq!((ran.fact("damaged"), ran.fact("rows")), ("1", "30"));
    assert!(ran.stdout.contains(block.trim_start_matches("data/blocks/")), "{}", ran.stdout);
}

#[test]
fn noise_anywhere_in_a_block_is_found() {
    let place = with_store();
    let block = block_of(&place, "spans");
    let bytes = std::fs::read(place.path(&block)).unwrap();
    for at in [10, bytes.len() / 2, bytes.len() - 20] {
        let mut noisy = bytes.clone();
        noisy[at..at + 8].iter_mut().for_each(|byte| *byte ^= 0x55);
        place.write(&block, &noisy);
        let ran = check(&place).expect(1);
        assert_eq!(ran.fact("damaged"), "1", "noise at {at}");
    }
    place.write(&block, vec![7; bytes.len()]);
    assert_eq!(check(&place).expect(1).fact("damaged"), "1");
    place.write(&block, &bytes);
    check(&place).expect(0);
}

#[test]
fn a_missing_block_is_missed() {
    let place = with_store();
    std::fs::remove_file(place.path(&block_of(&place, "logs"))).unwrap();
    let ran = check(&place).expect(1);
    assert_eq!((ran.fact("missing"), ran.fact("blocks")), ("1", "1"));
}

#[test]
fn an_orphan_is_listed_and_harmless() {
    let place = with_store();
    let block = block_of(&place, "spans");
    let orphan = block.replace("-local-", "-other-");
    std::fs::copy(place.path(&block), place.path(&orphan)).unwrap();
    let ran = check(&place).expect(0);
    assert_eq!((ran.fact("orphans"), ran.fact("rows")), ("1", "430"));
    assert!(ran.stdout.contains(orphan.trim_start_matches("data/blocks/")), "{}", ran.stdout);
}

#[test]
fn an_unreadable_log_and_an_unreadable_node_are_named() {
    let place = with_store();
    let log = "data/blocks/default/spans/log/00000000000000000001";
    let bytes = std::fs::read(place.path(log)).unwrap();
    place.write(log, &bytes[..bytes.len() - 3]);
    let ran = check(&place).expect(1);
    assert_eq!((ran.fact("unreadable"), ran.fact("rows")), ("1", "30"));
    assert!(ran.stdout.contains("commit log of default/spans"), "{}", ran.stdout);
    place.write(log, bytes);
    place.write("data/blocks/nodes/local", "noise");
    let ran = check(&place).expect(1);
    assert_eq!(ran.fact("unreadable"), "1");
}

#[test]
fn a_damaged_journal_is_found() {
    let place = Place::new();
    let dir = place.path("data/journal");
    let options = kymo_journal::Options::default();
    let (journal, _) =
        kymo_journal::Journal::open(Arc::new(kymo_journal::OsDisk), &dir, options).unwrap();
    for nth in 0..5u8 {
        journal
            .append(kymo_journal::Record {
                signal: kymo_journal::Signal::Logs,
                format: kymo_journal::Format::OtlpProtobuf,
                compression: kymo_journal::Compression::None,
                tenant: "default",
                body: vec![nth; 1000].into(),
                received_nanos: 1,
            })
            .unwrap();
    }
    journal.close();
    let ran = check(&place).expect(0);
    assert!(ran.fact("journal").starts_with("5 records"), "{}", ran.stdout);

    let segments = place.files("data/journal");
    let segment = segments.iter().find(|name| name.ends_with(".kj")).unwrap();
    let mut bytes = std::fs::read(place.path(segment)).unwrap();
    bytes[1500..1510].fill(0xff);
    place.write(segment, bytes);
    let before = place.files("data");
    let ran = place.kymo(&["store", "check", "data", "--format", "json"]).expect(1);
    let checked: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&checked["good"], &checked["journal"]["records"]), (&false.into(), &4.into()));
    let ran = check(&place).expect(1);
    assert!(ran.stdout.contains("damaged"), "{}", ran.stdout);
    assert_eq!(place.files("data"), before, "nothing is repaired or set aside");
}

#[test]
fn what_is_no_store_is_refused() {
    let place = Place::new();
    place.write("file", "x");
    std::fs::create_dir(place.path("empty")).unwrap();
    for (name, message) in [
        ("absent", "error: cannot open absent: No such file"),
        ("file", "error: file is a file: "),
        ("empty", "error: there is no store in empty: "),
        ("gs://bucket", "error: cannot use `gs://bucket` as a store"),
    ] {
        let ran = place.kymo(&["store", "check", name]).expect(1);
        assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1);
    }
    assert!(!place.path("absent").exists());
}
