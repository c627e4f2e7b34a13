//! A report while it is read: the elements that are open, and the test that they tell of.

use quick_xml::events::BytesStart;

use super::super::cases::{Case, CaseResult, Counts, Failure, TestRun};
use super::super::limits::MAX_TEXT_BYTES;
use super::values::{moment_nanos, nanos_of_seconds};

/// An element, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// A suite, and the root around suites, which has the same attributes.
    Suite,
    Case,
    Failure,
    Error,
    Skipped,
    /// A failure that was followed by another try.
    Rerun,
    Other,
}

impl Element {
    pub(super) fn of(element: &BytesStart<'_>) -> Self {
        match element.local_name().as_ref() {
            b"testsuites" | b"testsuite" => Self::Suite,
            b"testcase" => Self::Case,
            b"failure" => Self::Failure,
            b"error" => Self::Error,
            b"skipped" => Self::Skipped,
            b"rerunFailure" | b"rerunError" | b"flakyFailure" | b"flakyError" => Self::Rerun,
            _ => Self::Other,
        }
    }
}

/// The text of an attribute, if it has one.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    // Without checks: a name that is there twice is no reason to know nothing.
    let mut attributes = element.attributes();
    let mut found = attributes.with_checks(false).filter_map(Result::ok);
    let found = found.find(|attribute| attribute.key.local_name().as_ref() == name.as_bytes())?;
    let text = match found.unescape_value() {
        Ok(text) => text.into_owned(),
        // With an entity that nobody knows.
        Err(_) => String::from_utf8_lossy(&found.value).into_owned(),
    };
    Some(text).filter(|text| !text.is_empty())
}

#[derive(Debug, Default)]
struct Suite {
    name: Option<String>,
    /// When it began, since 1970.
    start_nanos: Option<u64>,
    /// What its tests so far took.
    elapsed_nanos: u64,
}

impl Suite {
    fn now_nanos(&self) -> Option<u64> {
        self.start_nanos.map(|start| start.saturating_add(self.elapsed_nanos))
    }
}

#[derive(Debug, Default)]
struct OpenCase {
    case: Case,
    start_nanos: Option<u64>,
    is_skipped: bool,
    failure: Option<Failure>,
    is_error: bool,
}

/// A report while it is read.
pub(super) struct Report<'a> {
    run: &'a mut TestRun,
    open: Vec<Element>,
    suites: Vec<Suite>,
    case: Option<OpenCase>,
}

impl<'a> Report<'a> {
    pub(super) fn new(run: &'a mut TestRun) -> Self {
        Self { run, open: Vec::new(), suites: Vec::new(), case: None }
    }

    /// Elements that are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// An element begins.
    pub(super) fn open(&mut self, kind: Element, element: &BytesStart<'_>) {
        self.open.push(kind);
        match kind {
            Element::Suite => self.open_suite(element),
            // A test that is still open was never closed, so nobody knows how it ended.
            Element::Case => self.case = Some(self.open_case(element)),
            _ => {}
        }
        let Some(case) = &mut self.case else { return };
        match kind {
            Element::Failure | Element::Error => {
                case.is_error |= kind == Element::Error;
                // GoogleTest has one for each check that failed; the first is what went wrong, the
                // others may follow from it.
                match &mut case.failure {
                    Some(failure) => failure.text.push('\n'),
                    None => {
                        case.failure = Some(Failure {
                            message: attribute(element, "message").unwrap_or_default(),
                            kind: attribute(element, "type"),
                            text: String::new(),
                        });
                    }
                }
            }
            Element::Skipped => case.is_skipped = true,
            Element::Rerun => case.case.reruns += 1,
            Element::Suite | Element::Case | Element::Other => {}
        }
    }

    /// The element that was opened last ends.
    pub(super) fn close(&mut self) {
        match self.open.pop() {
            Some(Element::Suite) => {
                let ended = self.suites.pop().unwrap_or_default();
                if let Some(around) = self.suites.last_mut() {
                    around.elapsed_nanos = around.elapsed_nanos.saturating_add(ended.elapsed_nanos);
                }
            }
            Some(Element::Case) => {
                if let Some(case) = self.case.take() {
                    self.finish(case);
                }
            }
            _ => {}
        }
    }

    /// Text within the element that was opened last.
    pub(super) fn text(&mut self, text: &str) {
        let is_failure = matches!(self.open.last(), Some(Element::Failure | Element::Error));
        let failure = self.case.as_mut().and_then(|case| case.failure.as_mut());
        if let Some(failure) =
            failure.filter(|failure| is_failure && failure.text.len() < MAX_TEXT_BYTES)
        {
            failure.text.push_str(text);
        }
    }

    fn open_suite(&mut self, element: &BytesStart<'_>) {
        let around = self.suites.last();
        self.suites.push(Suite {
            name: attribute(element, "name")
                .or_else(|| around.and_then(|around| around.name.clone())),
            start_nanos: attribute(element, "timestamp")
                .and_then(|text| moment_nanos(&text))
                .or_else(|| around.and_then(Suite::now_nanos)),
            elapsed_nanos: 0,
        });
    }

    fn open_case(&self, element: &BytesStart<'_>) -> OpenCase {
        let suite = self.suites.last();
        let class = attribute(element, "classname").unwrap_or_default();
        let name = attribute(element, "name").unwrap_or_default();
        // Disabled tests of GoogleTest and CTest are there without an element that says so.
        let is = |attribute_name: &str, values: &[&str]| {
            attribute(element, attribute_name).is_some_and(|text| values.contains(&text.as_str()))
        };
        let time = attribute(element, "time").unwrap_or_default();
        OpenCase {
            case: Case {
                name: full_name(&class, &name),
                suite: suite.and_then(|suite| suite.name.clone()),
                file: attribute(element, "file"),
                line: attribute(element, "line").and_then(|line| line.trim().parse().ok()),
                duration_nanos: nanos_of_seconds(&time),
                ..Case::default()
            },
            start_nanos: attribute(element, "timestamp")
                .and_then(|text| moment_nanos(&text))
                .or_else(|| suite.and_then(Suite::now_nanos)),
            is_skipped: is("status", &["notrun", "disabled", "skipped"])
                || is("result", &["suppressed", "skipped"]),
            ..OpenCase::default()
        }
    }

    fn finish(&mut self, open: OpenCase) {
        let mut case = open.case;
        case.result = match open.failure {
            Some(mut failure) => {
                failure.text.truncate(failure.text.trim_end().len());
                if failure.message.is_empty() {
                    failure.message = failure.text.trim_start().to_owned();
                }
                if open.is_error {
                    CaseResult::Errored(failure)
                } else {
                    CaseResult::Failed(failure)
                }
            }
            None if open.is_skipped => CaseResult::Skipped,
            None => CaseResult::Passed,
        };
        if let Some(suite) = self.suites.last_mut() {
            suite.elapsed_nanos = suite.elapsed_nanos.saturating_add(case.duration_nanos);
        }
        self.run.count(Counts::of(&case));
        self.run.add_span(case, open.start_nanos);
    }
}

impl Drop for Report<'_> {
    /// Of a report that is cut off in the middle of a test, it is known that the test failed or
    /// nothing is.
    fn drop(&mut self) {
        if let Some(case) = self.case.take().filter(|case| case.failure.is_some()) {
            self.finish(case);
        }
    }
}

/// Many tools begin the name with the class already, and CTest has the same for both.
fn full_name(class: &str, name: &str) -> String {
    match (class, name) {
        ("", "") => "unnamed".to_owned(),
        (_, "") => class.to_owned(),
        _ if name.starts_with(class) => name.to_owned(),
        _ => format!("{class}.{name}"),
    }
}
