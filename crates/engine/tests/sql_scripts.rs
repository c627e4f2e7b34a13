//! The scripts in `tests/sql`: what SQL answers, over every layout of the same data.
//!
//! A script names its data and then asks. Answers have a line with the names of the columns, then
//! one for each row; `query sorted` compares them in sorted order. Where an answer ends with
//! `...`, more may follow. With `KYMO_TEST_BLESS=1` in the environment, answers are written instead of
//! compared.
//!
//! ```text
//! data shop_traces.jsonl shop_logs.jsonl
//!
//! query
//! SELECT count(*) AS n FROM spans
//! ----
//! n
//! 7
//!
//! error invalid
//! SELECT nonsense FROM spans
//! ----
//! there is no column `nonsense`
//! ```
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::path::{Path, PathBuf};

use support::{Layout, Place, block_on};

#[derive(Debug, Clone)]
struct Case {
    line: usize,
    head: String,
    query: String,
    expected: Vec<String>,
}

#[derive(Debug)]
struct Script {
    path: PathBuf,
    data: Vec<PathBuf>,
    cases: Vec<Case>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql")
}

fn read(path: &Path) -> Script {
    let text = std::fs::read_to_string(path).unwrap();
    let mut script = Script { path: path.to_owned(), data: Vec::new(), cases: Vec::new() };
    let mut lines = text.lines().enumerate().peekable();
    while let Some((nth, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(files) = line.strip_prefix("data ") {
            script.data = files.split(' ').map(|file| folder().join(file)).collect();
            continue;
        }
        let is_known = ["query", "query sorted"].contains(&line) || line.starts_with("error ");
        assert!(is_known, "{}:{}: {line}", path.display(), nth + 1);
        let mut query = Vec::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != "----") {
            query.push(line);
        }
        let mut expected = Vec::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
            expected.push(line.to_owned());
        }
        let (head, query) = (line.to_owned(), query.join("\n"));
        script.cases.push(Case { line: nth + 1, head, query, expected });
    }
    script
}

/// What a case gives now.
fn answer(place: &Place, case: &Case) -> Vec<String> {
    let found = block_on(place.lines(&case.query));
    match (case.head.strip_prefix("error "), found) {
        (None, Ok(mut lines)) => {
            if case.head == "query sorted" {
                lines[1..].sort();
            }
            lines
        }
        (Some(kind), Err(error)) if error.kind() == kind => {
            error.to_string().lines().map(str::to_owned).collect()
        }
        (_, Ok(lines)) => lines,
        (_, Err(error)) => vec![format!("error {}: {error}", error.kind())],
    }
}

fn differs(case: &Case, found: &[String]) -> bool {
    match case.expected.split_last() {
        Some((last, before)) if last == "..." => !found.starts_with(before),
        _ => found != case.expected,
    }
}

fn run(script: &Script) -> Vec<String> {
    let files: Vec<&Path> = script.data.iter().map(PathBuf::as_path).collect();
    let mut wrong = Vec::new();
    for layout in Layout::ALL {
        let place = Place::with_files(&files, layout);
        for case in &script.cases {
            let found = answer(&place, case);
            if differs(case, &found) {
                let path = script.path.file_name().unwrap().to_string_lossy();
                wrong.push(format!(
                    "{path}:{} ({layout:?})\n{}\nexpected\n  {}\nfound\n  {}\n",
                    case.line,
                    case.query,
                    case.expected.join("\n  "),
                    found.join("\n  ")
                ));
            }
        }
    }
    wrong
}

/// Writes the answers of one layout into the script.
fn bless(script: &Script) {
    let files: Vec<&Path> = script.data.iter().map(PathBuf::as_path).collect();
    let place = Place::with_files(&files, Layout::Head);
    let text = std::fs::read_to_string(&script.path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for case in script.cases.iter().rev() {
        let found = answer(&place, case);
        let dashes = (case.line..).find(|nth| lines[*nth] == "----").unwrap() + 1;
        let end = dashes + case.expected.len();
        if case.expected.last().is_none_or(|last| last != "...") {
            lines.splice(dashes..end, found);
        }
    }
    std::fs::write(&script.path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn every_script_gives_its_answers_wherever_the_rows_are() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = Vec::new();
    for path in &paths {
        let script = read(path);
        if std::env::var_os("KYMO_TEST_BLESS").is_some() {
            bless(&script);
        } else {
            wrong.extend(run(&script));
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers\n\n{}", wrong.len(), wrong.join("\n"));
}
