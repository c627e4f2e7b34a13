//! Whole configurations against what they should become: `tests/fixtures/NAME.yml` becomes
//! `NAME.expected.yaml`, with the notes in `NAME.notes` and further files as `NAME.FILE`.
//!
//! `KYMO_BLESS=1 cargo test -p kymo-collector --test golden` writes what they become now; read the
//! difference before keeping it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::path::PathBuf;

use common::{check_output, fixtures};

fn compare(path: &PathBuf, found: &str, wrong: &mut Vec<String>) {
    if std::env::var_os("KYMO_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        wrong.push(format!("{}:\nexpected\n{expected}\nfound\n{found}", path.display()));
    }
}

#[test]
fn every_fixture_becomes_what_is_expected_of_it() {
    let mut wrong = Vec::new();
    for path in fixtures() {
        let text = std::fs::read_to_string(&path).unwrap();
        let translation = kymo_collector::translate(&text).unwrap();
        check_output(&translation);
        compare(&path.with_extension("expected.yaml"), &translation.yaml, &mut wrong);
        let notes: String = translation.notes.iter().map(|note| format!("{note}\n")).collect();
        compare(&path.with_extension("notes"), &notes, &mut wrong);
        for file in &translation.files {
            compare(&path.with_extension(&file.name), &file.text, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
