//! Scripts that read like a specification: load series, evaluate, expect.
//!
//! Ours are in `tests/promql` at the root of the repository. Those of Prometheus
//! are run too where they are at hand (`KYMO_TEST_DATA`, `promql/testdata`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod script;

use std::path::{Path, PathBuf};

fn run_all(directory: &Path) -> usize {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    files.sort();
    let (mut cases, mut failures) = (0, Vec::new());
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy();
        let (run, failed) = script::run(&name, &text);
        println!("{name}: {} of {run} pass", run - failed.len());
        cases += run;
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} of {cases}:\n{}", failures.len(), failures.join("\n"));
    cases
}

#[test]
fn our_scripts_pass() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/promql");
    assert!(run_all(&directory) > 50);
}

#[test]
fn scripts_of_prometheus_pass() {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("left out: KYMO_TEST_DATA names no directory");
        return;
    };
    let directory = Path::new(&data).join("promql/testdata");
    if !directory.is_dir() {
        eprintln!("left out: {} is not there", directory.display());
        return;
    }
    assert!(run_all(&directory) > 1000);
}
