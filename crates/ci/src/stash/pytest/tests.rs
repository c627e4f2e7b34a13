//! pytest's output in small, and what must come of it.

use std::path::Path;

use super::*;
use crate::attributes::{Attributes, Value};
use crate::stash::{Child, ChildStatus, Start};

const OUTPUT: &str = "\
============================= test session starts ==============================
collected 9 items
tests/test_x.py .FFEsx..                                                  [100%]
------------------------------ Captured log call -------------------------------
ERROR    root:test_x.py:5 tests/not.py::a_test - of the log
============================== slowest durations ===============================
1.50s call     tests/test_x.py::test_slow
0.25s setup    tests/test_x.py::test_slow
0.50s call     tests/test_x.py::test_bad[a - b]
0.01s teardown tests/test_x.py::test_slow

(3 durations < 0.005s hidden.  Use -vv to show these durations.)
\u{1b}[36m\u{1b}[1m=========================== short test summary info ============================\u{1b}[0m
\u{1b}[31mFAILED\u{1b}[0m tests/test_x.py::\u{1b}[1mtest_bad[a - b]\u{1b}[0m - AssertionError: x - y
  second line
FAILED tests/test_x.py::TestC::test_m
ERROR tests/test_x.py::TestC::test_m - RuntimeError: also
ERROR tests/test_y.py - ImportError: no
SKIPPED [1] tests/test_x.py:8: later
\u{1b}[31m===== \u{1b}[31m\u{1b}[1m2 failed\u{1b}[0m, \u{1b}[32m3 passed\u{1b}[0m, 1 skipped, 1 xfailed, 1 xpassed, 2 warnings, 2 errors\u{1b}[0m\u{1b}[31m in 62.50s (0:01:02)\u{1b}[0m =====
";

fn parsed(text: &str) -> (Attributes, Vec<Child>) {
    let mut run = TestRun::default();
    Output::parse(text).add_to(&mut run);
    run.finish(Path::new("s"), &mut Warnings::new())
}

#[test]
fn counts_come_from_the_closing_line() {
    let (attributes, _) = parsed(OUTPUT);
    let expected: Vec<(&str, Value)> = vec![
        ("test.count", 10_i64.into()),
        ("test.passed", 4_i64.into()),
        ("test.failed", 2_i64.into()),
        ("test.errors", 2_i64.into()),
        ("test.skipped", 2_i64.into()),
        ("test.seconds", 62.5.into()),
    ];
    assert_eq!(attributes, expected.into_iter().collect());
}

#[test]
fn slow_and_failed_tests_are_spans() {
    let (_, spans) = parsed(OUTPUT);
    let seen: Vec<_> = spans
        .iter()
        .map(|span| (span.name.as_str(), span.duration_nanos / 1_000_000, span.status.clone()))
        .collect();
    let error = |message: &str| ChildStatus::Error(message.to_owned());
    let expected = [
        ("tests/test_x.py::test_slow", 1760, ChildStatus::Unset),
        ("tests/test_x.py::test_bad[a - b]", 500, error("AssertionError: x - y")),
        ("tests/test_x.py::TestC::test_m", 0, error("")),
        ("tests/test_y.py", 0, error("ImportError: no")),
    ];
    assert_eq!(seen, expected);
    assert_eq!(spans[1].start, Start::AfterParent(1_760_000_000));
    assert_eq!(spans[1].attributes.text("code.file.path"), Some("tests/test_x.py"));
    assert_eq!(spans[1].attributes.text("test.case.result.status"), Some("fail"));
    assert_eq!(spans[0].attributes.text("test.case.result.status"), None);
}

#[test]
fn a_slow_test_passed_if_all_that_did_not_pass_are_listed() {
    let status = |closing: &str| {
        let text = format!("0.10s call  a.py::t\n=== {closing} in 0.12s ===\n");
        parsed(&text).1[0].status.clone()
    };
    assert_eq!(status("3 passed"), ChildStatus::Ok);
    assert_eq!(status("1 failed, 3 passed"), ChildStatus::Unset);
    assert_eq!(status("3 passed, 1 xfailed"), ChildStatus::Unset);
}

#[test]
fn closing_lines_of_every_version_are_known() {
    let seconds = |line: &str| closing_line(line).map(|counts| counts.nanos / 1_000_000_000);
    assert_eq!(seconds("==== 3 passed, 1 warning in 2.05 seconds ===="), Some(2));
    assert_eq!(seconds("1 failed, 2 passed in 3.07s"), Some(3));
    assert_eq!(seconds("=== no tests ran in 4.01s ==="), Some(4));
    assert_eq!(seconds("9 deselected in 5.01s"), Some(5));
    assert_eq!(seconds("=== 3 passed, 2 subtests passed in 6.0s ==="), Some(6));
    assert_eq!(seconds("9 tests collected in 0.01s"), None);
    assert_eq!(seconds("3 passed in time"), None);
    assert_eq!(seconds("all passed in 3s"), None);
    assert_eq!(seconds("3 passed in infs"), None);
}

#[test]
fn several_runs_in_one_file_are_added_up() {
    let (attributes, _) =
        parsed("=== 2 passed in 1.00s ===\r\n=== 3 passed, 1 failed in 2.00s ===\r\n");
    assert_eq!(attributes.get("test.count"), Some(&6_i64.into()));
    assert_eq!(attributes.get("test.seconds"), Some(&3.0.into()));
}

#[test]
fn what_follows_a_summary_without_a_closing_line_is_no_part_of_it() {
    let text = "=== short test summary info ===\nFAILED a.py::t\n\
        === test session starts ===\nERROR    root:b.py:5 of the log\n=== 3 passed in 1.00s ===\n";
    let (_, spans) = parsed(text);
    assert_eq!(spans.len(), 1, "{spans:?}");
}

#[test]
fn output_that_is_cut_off_is_a_warning_and_what_is_there_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let cut =
        OUTPUT.lines().filter(|line| !line.contains("2 failed")).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.path().join("pytest-unit.log"), cut).unwrap();
    let mut warnings = Warnings::new();
    let files = crate::stash::folder::files(folder.path(), &mut warnings);
    let mut run = TestRun::default();
    read(&files.iter().collect::<Vec<_>>(), &mut run, &mut warnings);
    let (attributes, spans) = run.finish(folder.path(), &mut warnings);
    assert_eq!(spans.len(), 4);
    assert_eq!(attributes.get("test.failed"), Some(&2_i64.into()));
    assert_eq!(attributes.get("test.errors"), Some(&1_i64.into()));
    assert_eq!(warnings.all().len(), 1);
    assert!(warnings.all()[0].contains("pytest-unit.log: pytest's closing line is missing"));
}

#[test]
fn names_with_brackets_and_dashes_are_told_from_messages() {
    assert_eq!(node_and_message("a::t[x - y] - no - way"), ("a::t[x - y]", "no - way"));
    assert_eq!(node_and_message("a::t[[x] - no"), ("a::t[[x]", "no"));
    assert_eq!(node_and_message("a::t"), ("a::t", ""));
}

#[test]
fn nothing_that_a_file_holds_makes_the_parser_panic() {
    crate::stash::tests::mutations(OUTPUT, |bytes| {
        parsed(&crate::text::decode(&bytes));
    });
}
