//! Reports as the tools write them, in small.

use std::path::Path;

use super::*;
use crate::attributes::{Attributes, Value};
use crate::stash::{Child, ChildStatus, Start};

const PYTEST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1"
 tests="4" time="9.9" timestamp="2026-01-02T03:04:05.500000+00:00" hostname="vm">
<testcase classname="tests.test_x" name="test_ok" time="0.250" />
<testcase classname="tests.test_x.TestC" name="test_bad[a &lt; b]" time="1.5" file="tests/test_x.py" line="7">
<failure message="AssertionError: one&#10;two">&gt;   assert 1 == 2
E   AssertionError &#x26; more</failure></testcase>
<testcase classname="tests.test_x" name="test_skip" time="0"><skipped type="pytest.skip" message="later">x</skipped></testcase>
<testcase classname="tests.test_x" name="test_err" time="0.001"><error message="failed on setup" type="E"><![CDATA[a <b>]]></error></testcase>
</testsuite></testsuites>"#;

const GOOGLE_TEST: &str = r#"<testsuites tests="2" failures="1" time="0.3" timestamp="2026-01-02T03:04:05.500" name="AllTests">
  <testsuite name="Math" tests="2" time="0.3">
    <testcase name="Adds" file="m.cc" line="12" status="run" result="completed" time="0.1" classname="Math">
      <failure message="m.cc:13&#x0A;first" type=""><![CDATA[m.cc:13
first]]></failure>
      <failure message="second" type=""><![CDATA[second]]></failure>
    </testcase>
    <testcase name="Later" status="notrun" result="suppressed" time="0" timestamp="2026-01-02T03:04:09.500" classname="Math" />
  </testsuite>
  <testsuite name="More"><testcase name="T" classname="More" time="0.2"/></testsuite>
</testsuites>"#;

const SUREFIRE: &str = r#"<testsuite xmlns:xsi="x" name="com.x.FooTest" time="1,001.5" tests="2">
  <properties><property name="failure" value="1"/></properties>
  <testcase name="flaky" classname="com.x.FooTest" time="1,000.5">
    <flakyFailure message="once" type="java.lang.E"><stackTrace><![CDATA[at x]]></stackTrace></flakyFailure>
    <flakyFailure message="twice" type="java.lang.E"/>
  </testcase>
  <testcase name="broken" classname="com.x.FooTest" time="1">
    <failure type="java.lang.AssertionError">
expected</failure>
    <rerunFailure message="again" type="java.lang.AssertionError"><stackTrace>at y</stackTrace></rerunFailure>
    <system-out>lots of text</system-out>
  </testcase>
</testsuite>"#;

const CTEST: &str = r#"<?xml version="1.0"?>
<testsuite name="(empty)" tests="2" failures="1" disabled="1" skipped="0" time="3" timestamp="2026-01-02T03:04:05">
	<testcase name="unit" classname="unit" time="2.5" status="fail"><failure message="Failed"/><system-out>x</system-out></testcase>
	<testcase name="off" classname="off" time="0" status="disabled"><system-out></system-out></testcase>
</testsuite>"#;

const NESTED: &str = r#"<testsuites><testsuite name="outer" timestamp="2026-01-02T03:04:05.500Z">
<testcase name="a" time="1"/><testsuite name="inner"><testcase name="b" time="2"/></testsuite>
<testcase name="c" time="4"/></testsuite><testsuite name="untimed"><testcase name="d"/></testsuite></testsuites>"#;

/// The moment of all these reports.
const START_NANOS: u64 = 1_767_323_045_500_000_000;
const SECOND: u64 = 1_000_000_000;

fn parsed(text: &str) -> (Attributes, Vec<Child>, Result<(), String>) {
    let mut run = TestRun::default();
    let result = parse(text, &mut run);
    let (attributes, spans) = run.finish(Path::new("s"), &mut Warnings::new());
    (attributes, spans, result)
}

fn read_whole(text: &str) -> (Attributes, Vec<Child>) {
    let (attributes, spans, result) = parsed(text);
    assert_eq!(result, Ok(()));
    (attributes, spans)
}

fn counts(attributes: &Attributes) -> [i64; 5] {
    ["count", "passed", "failed", "errors", "skipped"].map(|name| {
        match attributes.get(&format!("test.{name}")) {
            Some(Value::Int(count)) => *count,
            other => panic!("{name}: {other:?}"),
        }
    })
}

fn names_and_statuses(spans: &[Child]) -> Vec<(&str, ChildStatus)> {
    spans.iter().map(|span| (span.name.as_str(), span.status.clone())).collect()
}

fn error(message: &str) -> ChildStatus {
    ChildStatus::Error(message.to_owned())
}

#[test]
fn tests_of_pytest_have_names_results_and_times() {
    let (attributes, spans) = read_whole(PYTEST);
    assert_eq!(counts(&attributes), [4, 1, 1, 1, 1]);
    assert_eq!(attributes.get("test.seconds"), Some(&Value::Double(1.751)));
    let expected = [
        ("tests.test_x.test_ok", ChildStatus::Ok),
        ("tests.test_x.TestC.test_bad[a < b]", error("AssertionError: one\ntwo")),
        ("tests.test_x.test_skip", ChildStatus::Unset),
        ("tests.test_x.test_err", error("failed on setup")),
    ];
    assert_eq!(names_and_statuses(&spans), expected);
    let bad = &spans[1];
    assert_eq!(bad.start, Start::At(START_NANOS + 250_000_000));
    assert_eq!(bad.duration_nanos, 1_500_000_000);
    let text = |name| bad.attributes.text(name);
    assert_eq!(text("test.case.name"), Some("tests.test_x.TestC.test_bad[a < b]"));
    assert_eq!(text("test.suite.name"), Some("pytest"));
    assert_eq!(text("test.case.result.status"), Some("fail"));
    let failure = ">   assert 1 == 2\nE   AssertionError & more";
    assert_eq!(text("test.case.failure.text"), Some(failure));
    assert_eq!(text("test.case.failure.type"), None);
    assert_eq!(text("code.file.path"), Some("tests/test_x.py"));
    assert_eq!(bad.attributes.get("code.line.number"), Some(&Value::Int(7)));
    assert_eq!(spans[2].attributes.text("test.case.result.status"), Some("skip"));
    assert_eq!(spans[3].attributes.text("test.case.failure.text"), Some("a <b>"));
    assert_eq!(spans[3].attributes.text("test.case.failure.type"), Some("E"));
}

#[test]
fn tests_of_googletest_take_the_time_of_the_whole_or_their_own() {
    let (attributes, spans) = read_whole(GOOGLE_TEST);
    assert_eq!(counts(&attributes), [3, 1, 1, 0, 1]);
    let first = "m.cc:13\nfirst";
    let expected = [
        ("Math.Adds", error(first)),
        ("Math.Later", ChildStatus::Unset),
        ("More.T", ChildStatus::Ok),
    ];
    assert_eq!(names_and_statuses(&spans), expected);
    let starts: Vec<_> = spans.iter().map(|span| span.start).collect();
    let at = |nanos| Start::At(START_NANOS + nanos);
    assert_eq!(starts, [at(0), at(4 * SECOND), at(SECOND / 10)]);
    let text = spans[0].attributes.text("test.case.failure.text");
    assert_eq!(text, Some("m.cc:13\nfirst\nsecond"));
}

#[test]
fn tests_of_maven_count_once_however_often_they_were_tried() {
    let (attributes, spans) = read_whole(SUREFIRE);
    assert_eq!(counts(&attributes), [2, 1, 1, 0, 0]);
    let expected =
        [("com.x.FooTest.flaky", ChildStatus::Ok), ("com.x.FooTest.broken", error("expected"))];
    assert_eq!(names_and_statuses(&spans), expected);
    assert_eq!(spans[0].attributes.get("test.case.reruns"), Some(&Value::Int(2)));
    assert_eq!(spans[1].attributes.get("test.case.reruns"), Some(&Value::Int(1)));
    let kind = spans[1].attributes.text("test.case.failure.type");
    assert_eq!(kind, Some("java.lang.AssertionError"));
    assert_eq!(spans[0].start, Start::AfterParent(0));
    assert_eq!(spans[1].start, Start::AfterParent(1_000_500_000_000));
}

#[test]
fn tests_of_ctest_have_their_name_once() {
    let (attributes, spans) = read_whole(CTEST);
    assert_eq!(counts(&attributes), [2, 0, 1, 0, 1]);
    assert_eq!(
        names_and_statuses(&spans),
        [("unit", error("Failed")), ("off", ChildStatus::Unset)]
    );
}

#[test]
fn suites_within_suites_follow_each_other() {
    let (_, spans) = read_whole(NESTED);
    let starts: Vec<_> = spans.iter().map(|span| (span.name.as_str(), span.start)).collect();
    let at = |seconds| Start::At(START_NANOS + seconds * SECOND);
    let after = Start::AfterParent(7 * SECOND);
    assert_eq!(starts, [("a", at(0)), ("b", at(1)), ("c", at(3)), ("d", after)]);
    assert_eq!(spans[1].attributes.text("test.suite.name"), Some("inner"));
    assert_eq!(spans[2].attributes.text("test.suite.name"), Some("outer"));
}

#[test]
fn xml_of_others_is_let_be_and_broken_xml_is_said() {
    for text in ["<coverage><package/>", "<?xml version=\"1.0\"?><!-- c --><html/>"] {
        assert_eq!(parsed(text), (Attributes::new(), Vec::new(), Ok(())), "{text}");
    }
    for text in ["", "plain", "<testsuite", "<testsuite>", "<?xml"] {
        assert!(parsed(text).2.is_err(), "{text}");
    }
}

#[test]
fn what_stands_before_the_cut_is_kept_but_no_test_is_taken_for_passed() {
    let cut = |end: &str| {
        let (_, spans, result) = parsed(&PYTEST[..PYTEST.find(end).unwrap()]);
        assert!(result.is_err());
        spans.into_iter().map(|span| span.status).collect::<Vec<_>>()
    };
    assert_eq!(cut("<testcase classname=\"tests.test_x.TestC\""), [ChildStatus::Ok]);
    assert_eq!(cut("<failure message"), [ChildStatus::Ok]);
    let message = "AssertionError: one\ntwo";
    assert_eq!(cut("E   AssertionError"), [ChildStatus::Ok, error(message)]);
    let mismatched = PYTEST.replace("</failure>", "</fail>");
    let (_, spans, result) = parsed(&mismatched);
    assert!(result.unwrap_err().contains("broken at byte"));
    assert_eq!(spans.len(), 2);
}

#[test]
fn neither_depth_nor_entities_grow() {
    let deep = "<testsuite>".repeat(100_000);
    assert!(parsed(&deep).2.unwrap_err().contains("too deep"));
    let bomb = r#"<!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>
        <testsuite><testcase name="&b;"><failure>&b;</failure></testcase></testsuite>"#;
    let (_, spans) = read_whole(bomb);
    assert_eq!(names_and_statuses(&spans), [("&b;", error("&b;"))]);
}

#[test]
fn long_texts_are_cut() {
    let long = "x".repeat(100_000);
    let report = format!(
        "<testsuite><testcase name='{long}'><failure message='{long}'>{long}</failure></testcase></testsuite>"
    );
    let (_, spans) = read_whole(&report);
    assert!(spans[0].name.len() <= 1024);
    let ChildStatus::Error(message) = &spans[0].status else { panic!("{:?}", spans[0].status) };
    assert!(message.len() <= 4096);
    assert!(spans[0].attributes.text("test.case.failure.text").unwrap().len() <= 4096);
}

#[test]
fn nothing_that_a_file_holds_makes_the_parser_panic() {
    for fixture in [PYTEST, GOOGLE_TEST, SUREFIRE, CTEST, NESTED] {
        crate::stash::tests::mutations(fixture, |bytes| {
            let _ = parsed(&crate::text::decode(&bytes)).2;
        });
    }
}
