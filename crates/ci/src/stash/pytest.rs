//! pytest's output on the terminal, where there is no report: how many tests there were, which
//! failed, and which were slow if pytest was asked (`--durations`).
//!
//! ```text
//! ============ slowest 10 durations ============
//! 0.50s call     tests/test_x.py::test_y
//! ========== short test summary info ===========
//! FAILED tests/test_x.py::test_y - AssertionError: no
//! ===== 1 failed, 10 passed in 12.34s (0:00:12) =====
//! ```
//!
//! Setup, call and teardown of a test are added up. Of a test that is known by its failure alone
//! nobody says how long it took: 0. Of one that is known by its duration alone nobody says how it
//! ended, unless all tests that did not pass are in the summary: pytest lists only failures there,
//! so one that was skipped, or was expected to fail, leaves it open. As in pytest's own report,
//! expected failures count as skipped.
//!
//! Output without the closing line was cut off, which is a warning. Several runs in one file are
//! added up.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cases::{Case, CaseResult, Counts, Failure, TestRun};
use super::folder::StashFile;
use super::text::numbered_lines;
use crate::warnings::Warnings;

/// Whether a file is pytest's output, by its name.
pub(super) fn is_file_name(name: &str) -> bool {
    name.contains("pytest") && (name.ends_with(".txt") || name.ends_with(".log"))
}

/// Adds the tests of all files.
pub(super) fn read(files: &[&StashFile], run: &mut TestRun, warnings: &mut Warnings) {
    for file in files {
        let Some(text) = file.text(warnings) else { continue };
        let output = Output::parse(&text);
        if !output.has_closing_line {
            let shown = file.shown();
            warnings.add(format!("{shown}: pytest's closing line is missing, it was cut off"));
        }
        output.add_to(run);
    }
}

/// What is known of one test.
#[derive(Debug, Default)]
struct Known {
    /// Its place in the order in which tests came.
    place: usize,
    duration_nanos: u64,
    /// What was said of its failure.
    failure: Option<String>,
    is_error: bool,
}

/// What an output tells.
#[derive(Debug, Default)]
struct Output {
    /// By pytest's node ids.
    tests: HashMap<String, Known>,
    counts: Counts,
    has_closing_line: bool,
    is_in_summary: bool,
}

impl Output {
    fn parse(text: &str) -> Self {
        let mut output = Self::default();
        for (_, line) in numbered_lines(text) {
            output.take_line(without_colours(line).trim_end());
        }
        output
    }

    fn take_line(&mut self, line: &str) {
        if let Some((node, nanos)) = duration_line(line) {
            let known = self.test(node);
            known.duration_nanos = known.duration_nanos.saturating_add(nanos);
        } else if let Some(counts) = closing_line(line) {
            self.counts.add(counts);
            self.has_closing_line = true;
            self.is_in_summary = false;
        } else if let Some(heading) = line.strip_prefix("==") {
            self.is_in_summary = heading.trim_matches(['=', ' ']) == "short test summary info";
        } else if self.is_in_summary {
            self.take_summary_line(line);
        }
    }

    /// Only within the summary: what a test logs may begin with the same words.
    fn take_summary_line(&mut self, line: &str) {
        let (is_error, rest) = match line.split_once(' ') {
            Some(("FAILED", rest)) => (false, rest),
            Some(("ERROR", rest)) => (true, rest),
            _ => return,
        };
        let (node, message) = node_and_message(rest);
        if node.is_empty() {
            return;
        }
        let known = self.test(node);
        // One that fails and then fails to clean up is there twice.
        if known.failure.is_none() {
            known.failure = Some(message.to_owned());
            known.is_error = is_error;
        }
    }

    fn test(&mut self, node: &str) -> &mut Known {
        let place = self.tests.len();
        self.tests.entry(node.to_owned()).or_insert_with(|| Known { place, ..Known::default() })
    }

    fn add_to(self, run: &mut TestRun) {
        let failures = self.tests.values().filter(|known| known.failure.is_some());
        let listed = failures.count() as u64;
        let counts = self.counts;
        let others_passed = self.has_closing_line
            && counts.skipped == 0
            && listed >= counts.failed.saturating_add(counts.errors);
        run.count(counts);
        let mut tests: Vec<(String, Known)> = self.tests.into_iter().collect();
        tests.sort_unstable_by_key(|(_, known)| known.place);
        for (node, known) in tests {
            let case = case(node, known, others_passed);
            if !self.has_closing_line {
                run.count(Counts::of(&case));
            }
            run.add_span(case, None);
        }
    }
}

fn case(node: String, known: Known, others_passed: bool) -> Case {
    let result = match known.failure {
        Some(message) => {
            let failure = Failure { message, ..Failure::default() };
            if known.is_error { CaseResult::Errored(failure) } else { CaseResult::Failed(failure) }
        }
        None if others_passed => CaseResult::Passed,
        None => CaseResult::Unknown,
    };
    let file = node.split("::").next().unwrap_or_default().to_owned();
    Case {
        name: node,
        file: Some(file),
        duration_nanos: known.duration_nanos,
        result,
        ..Case::default()
    }
}

/// `0.50s call     tests/test_x.py::test_y`.
fn duration_line(line: &str) -> Option<(&str, u64)> {
    let (number, rest) = line.trim_start().split_once("s ")?;
    let (phase, node) = rest.split_once(' ')?;
    let is_phase = ["setup", "call", "teardown"].contains(&phase);
    let node = node.trim();
    (is_phase && !node.is_empty()).then_some((node, seconds_to_nanos(number)?))
}

/// `=== 3 failed, 10 passed, 1 error in 12.34s (0:00:12) ===`, without the frame if pytest is quiet.
/// Before pytest 5 it was `in 12.34 seconds`.
fn closing_line(line: &str) -> Option<Counts> {
    let (parts, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let time = time.split(" (").next()?;
    let number = time.strip_suffix(" seconds").or_else(|| time.strip_suffix('s'))?;
    let mut counts = Counts { nanos: seconds_to_nanos(number)?, ..Counts::default() };
    let mut is_closing = parts == "no tests ran";
    for part in parts.split(", ").filter(|_| parts != "no tests ran") {
        let (count, word) = part.split_once(' ')?;
        let count = count.parse::<u64>().ok()?;
        let sum = match word {
            "passed" | "xpassed" => Some(&mut counts.passed),
            "failed" => Some(&mut counts.failed),
            "error" | "errors" => Some(&mut counts.errors),
            "skipped" | "xfailed" => Some(&mut counts.skipped),
            "deselected" | "warning" | "warnings" | "rerun" | "reruns" => None,
            // `9 tests collected`, and what plugins add.
            _ => continue,
        };
        is_closing = true;
        if let Some(sum) = sum {
            *sum = sum.saturating_add(count);
        }
    }
    is_closing.then_some(counts)
}

/// A number of seconds with digits and a full stop, nothing else.
fn seconds_to_nanos(number: &str) -> Option<u64> {
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| is_plain)?;
    Some((seconds * 1e9).round() as u64)
}

/// The test and what is said of it, with ` - ` between them: not the one within the parameters of a
/// test, `test_x[a - b]`.
fn node_and_message(text: &str) -> (&str, &str) {
    const SEPARATOR: &str = " - ";
    let is_outside = |index: &usize| {
        let before = text.get(..*index).unwrap_or_default();
        before.matches('[').count() == before.matches(']').count()
    };
    let places = || text.match_indices(SEPARATOR).map(|(index, _)| index);
    // Parameters may have brackets of their own, without the other half.
    let place = places().take(100).find(is_outside).or_else(|| places().next());
    match place.and_then(|place| text.split_at_checked(place)) {
        Some((node, rest)) => (node.trim(), rest.strip_prefix(SEPARATOR).unwrap_or(rest)),
        None => (text.trim(), ""),
    }
}

/// A line without the sequences that colour it on a terminal.
fn without_colours(line: &str) -> Cow<'_, str> {
    const ESCAPE: &str = "\u{1b}[";
    if !line.contains(ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split(ESCAPE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Digits and signs, and then the letter that ends it.
        let end = part.find(|character: char| ('@'..='~').contains(&character));
        plain.push_str(end.and_then(|end| part.get(end + 1..)).unwrap_or_default());
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests;
