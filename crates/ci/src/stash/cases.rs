//! Tests that were run, whichever tool tells of them: counted, and the telling ones as spans.
//!
//! | attribute of the test step | what it is |
//! |---|---|
//! | `test.count` | tests that were run or skipped |
//! | `test.passed`, `test.failed`, `test.errors`, `test.skipped` | what became of them; an error is a failure outside of what the test checks |
//! | `test.seconds` | how long they took, one after another |
//! | `test.left_out` | tests without a span, if there were more than may have one |
//!
//! Where there are too many, those that failed become spans first, then the slowest: these are what
//! people look for. Spans have the attributes of OpenTelemetry's conventions, `test.case.name`,
//! `test.suite.name` and `test.case.result.status` (`pass`, `fail`, and `skip`, which is ours), and
//! ours of failures, `test.case.failure.type` and `test.case.failure.text`.

use std::cmp::Reverse;
use std::path::Path;

use super::limits::MAX_TEST_SPANS;
use super::text::{bounded_name, bounded_text, in_one_line};
use super::{Child, ChildStatus, Start};
use crate::attributes::Attributes;
use crate::warnings::Warnings;

/// One test.
#[derive(Debug, Default)]
pub(super) struct Case {
    /// The full name.
    pub(super) name: String,
    pub(super) suite: Option<String>,
    /// Where it is in the source.
    pub(super) file: Option<String>,
    pub(super) line: Option<i64>,
    pub(super) duration_nanos: u64,
    pub(super) result: CaseResult,
    /// How often it was tried again.
    pub(super) reruns: u64,
}

/// What became of a test.
#[derive(Debug, Default)]
pub(super) enum CaseResult {
    /// Nobody says.
    #[default]
    Unknown,
    Passed,
    Skipped,
    Failed(Failure),
    Errored(Failure),
}

/// Why a test failed.
#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) message: String,
    /// The kind of failure, often the name of an exception.
    pub(super) kind: Option<String>,
    /// All that was said of it.
    pub(super) text: String,
}

/// How many tests there were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) errors: u64,
    pub(super) skipped: u64,
    pub(super) nanos: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }

    fn all(self) -> u64 {
        let ended = self.passed.saturating_add(self.failed).saturating_add(self.errors);
        ended.saturating_add(self.skipped)
    }

    /// What a test adds.
    pub(super) fn of(case: &Case) -> Self {
        let mut counts = Self { nanos: case.duration_nanos, ..Self::default() };
        match case.result {
            CaseResult::Unknown => {}
            CaseResult::Passed => counts.passed = 1,
            CaseResult::Skipped => counts.skipped = 1,
            CaseResult::Failed(_) => counts.failed = 1,
            CaseResult::Errored(_) => counts.errors = 1,
        }
        counts
    }
}

/// All tests of a job.
#[derive(Debug, Default)]
pub(super) struct TestRun {
    counts: Counts,
    /// Spans with their places in the order in which they came.
    spans: Vec<(usize, Child)>,
    offered: usize,
    /// What the tests so far took, which is where the next one begins if nobody says when it did.
    elapsed_nanos: u64,
}

impl TestRun {
    /// Whether no test was told of.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.all() == 0 && self.spans.is_empty()
    }

    /// Counts tests, without spans.
    pub(super) fn count(&mut self, counts: Counts) {
        self.counts.add(counts);
    }

    /// Makes a span of a test, without counting it. It began at a moment since 1970, or else where
    /// the tests before it ended.
    pub(super) fn add_span(&mut self, case: Case, start_nanos: Option<u64>) {
        let start = start_nanos.map_or(Start::AfterParent(self.elapsed_nanos), Start::At);
        self.elapsed_nanos = self.elapsed_nanos.saturating_add(case.duration_nanos);
        self.spans.push((self.offered, span(case, start)));
        self.offered += 1;
        // Now and then, so that a report of millions takes the room of some thousands.
        if self.spans.len() >= 2 * MAX_TEST_SPANS {
            self.leave_out();
        }
    }

    fn leave_out(&mut self) {
        self.spans.sort_unstable_by_key(|(place, span)| match span.status {
            ChildStatus::Error(_) => (false, Reverse(0), *place),
            _ => (true, Reverse(span.duration_nanos), *place),
        });
        self.spans.truncate(MAX_TEST_SPANS);
    }

    /// The attributes of the test step, and its children in the order in which they came.
    pub(super) fn finish(
        mut self,
        folder: &Path,
        warnings: &mut Warnings,
    ) -> (Attributes, Vec<Child>) {
        let mut attributes = Attributes::new();
        if self.is_empty() {
            return (attributes, Vec::new());
        }
        attributes.set("test.count", self.counts.all());
        attributes.set("test.passed", self.counts.passed);
        attributes.set("test.failed", self.counts.failed);
        attributes.set("test.errors", self.counts.errors);
        attributes.set("test.skipped", self.counts.skipped);
        attributes.set("test.seconds", self.counts.nanos as f64 / 1e9);
        self.leave_out();
        if let Some(left_out @ 1..) = self.offered.checked_sub(self.spans.len()) {
            attributes.set("test.left_out", left_out as u64);
            let shown = in_one_line(&folder.to_string_lossy());
            warnings.add(format!(
                "{shown}: {left_out} tests get no span, the fastest of those that did not fail"
            ));
        }
        self.spans.sort_unstable_by_key(|(place, _)| *place);
        (attributes, self.spans.into_iter().map(|(_, span)| span).collect())
    }
}

fn span(case: Case, start: Start) -> Child {
    let name = bounded_name(&case.name);
    let mut attributes = Attributes::new();
    attributes.set("test.case.name", name.as_str());
    attributes.set_some("test.suite.name", case.suite.as_deref().map(bounded_name));
    let (result, status) = match case.result {
        CaseResult::Unknown => (None, ChildStatus::Unset),
        CaseResult::Passed => (Some("pass"), ChildStatus::Ok),
        CaseResult::Skipped => (Some("skip"), ChildStatus::Unset),
        CaseResult::Failed(failure) | CaseResult::Errored(failure) => {
            attributes.set_some(
                "test.case.failure.type",
                failure.kind.filter(|kind| !kind.is_empty()).as_deref().map(bounded_name),
            );
            if !failure.text.is_empty() {
                attributes.set("test.case.failure.text", bounded_text(&failure.text));
            }
            (Some("fail"), ChildStatus::Error(bounded_text(&failure.message)))
        }
    };
    attributes.set_some("test.case.result.status", result);
    if case.reruns > 0 {
        attributes.set("test.case.reruns", case.reruns);
    }
    attributes.set_some("code.file.path", case.file.as_deref().map(bounded_name));
    attributes.set_some("code.line.number", case.line);
    Child { name, start, duration_nanos: case.duration_nanos, status, attributes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: String, duration_nanos: u64, result: CaseResult) -> Case {
        Case { name, duration_nanos, result, ..Case::default() }
    }

    #[test]
    fn of_too_many_tests_the_failed_and_the_slowest_become_spans_in_their_order() {
        let mut run = TestRun::default();
        let count = 3 * MAX_TEST_SPANS as u64;
        for number in 0..count {
            let result = match number {
                7 => CaseResult::Failed(Failure { message: "no".into(), ..Failure::default() }),
                _ => CaseResult::Passed,
            };
            let case = case(number.to_string(), if number == 7 { 0 } else { number }, result);
            run.count(Counts::of(&case));
            run.add_span(case, None);
        }
        let mut warnings = Warnings::new();
        let (attributes, spans) = run.finish(Path::new("stash"), &mut warnings);
        assert_eq!(spans.len(), MAX_TEST_SPANS);
        assert_eq!(spans[0].name, "7");
        assert_eq!(spans[0].status, ChildStatus::Error("no".into()));
        assert_eq!(spans[1].duration_nanos, count - MAX_TEST_SPANS as u64 + 1);
        assert!(spans[1..].is_sorted_by_key(|span| span.duration_nanos));
        assert_eq!(attributes.get("test.count"), Some(&count.into()));
        assert_eq!(attributes.get("test.failed"), Some(&1_i64.into()));
        let left_out = count - MAX_TEST_SPANS as u64;
        assert_eq!(attributes.get("test.left_out"), Some(&left_out.into()));
        assert!(warnings.all()[0].starts_with("stash: 4000 tests"), "{warnings:?}");
    }

    #[test]
    fn a_job_without_tests_has_no_counts() {
        let (attributes, spans) = TestRun::default().finish(Path::new("s"), &mut Warnings::new());
        assert!(attributes.is_empty() && spans.is_empty());
    }

    #[test]
    fn a_test_whose_time_is_not_known_begins_where_the_one_before_it_ended() {
        let mut run = TestRun::default();
        run.add_span(case("a".into(), 5, CaseResult::Unknown), None);
        run.add_span(case("b".into(), 6, CaseResult::Skipped), Some(100));
        run.add_span(case("c".into(), 7, CaseResult::Passed), None);
        let (_, spans) = run.finish(Path::new("s"), &mut Warnings::new());
        let starts: Vec<_> = spans.iter().map(|span| span.start).collect();
        assert_eq!(starts, [Start::AfterParent(0), Start::At(100), Start::AfterParent(11)]);
        let results: Vec<_> =
            spans.iter().map(|span| span.attributes.text("test.case.result.status")).collect();
        assert_eq!(results, [None, Some("skip"), Some("pass")]);
    }
}
