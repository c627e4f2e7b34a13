//! Scripts that read like a specification: load lines, evaluate, expect.
//!
//! They are in `tests/logql` at the root of the repository. How they are written is said in
//! `script/parse.rs`. With `KYMO_BLESS` set, what is expected is replaced by what was found; read
//! the difference before you keep it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod script;

use std::path::{Path, PathBuf};

#[test]
fn our_scripts_pass() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logql");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    files.sort();
    let (mut cases, mut failures) = (0, Vec::new());
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy();
        let script = script::parse(&name, &text);
        let found = script::run(&script);
        if std::env::var_os("KYMO_BLESS").is_some() {
            std::fs::write(file, script::blessed(&text, &script, &found)).unwrap();
        }
        let failed = script::compare(&name, &script, &found);
        println!("{name}: {} of {} pass", found.len() - failed.len(), found.len());
        cases += found.len();
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} of {cases}:\n{}", failures.len(), failures.join("\n"));
    assert!(cases >= 200, "{cases}");
}
