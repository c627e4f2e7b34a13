//! Requests that real clients sent, if the environment names a directory of them.
//!
//! `KYMO_TEST_DATA` holds `*.pb` files below `tuft/` and `rhapsody/otlp/`, named
//! `<number>.<protocol>.<signal>.pb`, each with the same request as `.json` beside it.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::reference::{assert_agreement, by_prost, by_views};
use crate::inspect::inspect;
use crate::{Limits, Signal, json};

#[test]
fn captured_requests_are_read_as_prost_reads_them_in_both_encodings() {
    let Some(root) = std::env::var_os("KYMO_TEST_DATA") else {
        // Not `eprintln!`, which is shown of failures only.
        let _ = writeln!(
            std::io::stderr(),
            "left out: captured requests (KYMO_TEST_DATA names no directory)"
        );
        return;
    };
    let mut files = 0;
    for directory in ["tuft", "rhapsody/otlp"] {
        for path in protobuf_files(&Path::new(&root).join(directory)) {
            check(&path);
            files += 1;
        }
    }
    assert!(files > 0, "there are captured requests");
}

fn protobuf_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("directory can be read");
    let paths = entries.map(|entry| entry.expect("directory can be read").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "pb")).collect()
}

fn check(path: &Path) {
    let name = path.display();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("has a name");
    let signal = Signal::ALL.into_iter().find(|signal| stem.ends_with(signal.name()));
    let signal = signal.expect("the name tells the signal");
    let body = std::fs::read(path).expect("file can be read");
    let expected = by_prost(signal, &body).expect("prost reads it");
    assert_eq!(by_views(signal, &body).as_ref(), Ok(&expected), "{name}");
    assert_agreement(signal, &body);
    let inspected = inspect(signal, &body, &Limits::default()).expect("is well-formed");
    assert!(inspected.items > 0 && inspected.refused.is_empty(), "{name}: {inspected:?}");

    let text = std::fs::read(path.with_extension("json")).expect("file can be read");
    let from_json = json::decode(signal, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(by_prost(signal, &from_json).as_ref(), Ok(&expected), "{name}");
}
