//! Test reports in JUnit's XML, which nearly every tool can write: pytest, GoogleTest, CTest, Maven,
//! Jest, nextest.
//!
//! There is no standard, only habits. What they have in common is read: `testsuites` and `testsuite`
//! within each other, `testcase` in them, and in these `failure`, `error` or `skipped`. A test that
//! failed and then passed (`flakyFailure`, `rerunFailure` of Maven and nextest) has its result, and
//! how often it was tried again.
//!
//! XML with another root is of somebody else, and is let be. A report that is cut off or broken is a
//! warning, and what stands before that is taken. Entities other than XML's own are not resolved, so
//! none can grow; elements may be in each other to a depth.
//!
//! A test began when it says itself; or with its suite, after the tests before it; or, if no suite
//! tells the time, after all tests before it.

mod report;
#[cfg(test)]
mod tests;
mod values;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

use self::report::{Element, Report};
use super::cases::TestRun;
use super::folder::StashFile;
use super::limits::MAX_XML_DEPTH;
use super::text::in_one_line;
use crate::warnings::Warnings;

/// Adds the tests of all reports.
pub(super) fn read(files: &[&StashFile], run: &mut TestRun, warnings: &mut Warnings) {
    for file in files {
        let Some(text) = file.text(warnings) else { continue };
        if let Err(what) = parse(&text, run) {
            warnings.add(format!("{}: {}", file.shown(), in_one_line(&what)));
        }
    }
}

/// Adds the tests of one report, and says what is wrong with it. XML of somebody else adds nothing,
/// and nothing is wrong with it.
fn parse(text: &str, run: &mut TestRun) -> Result<(), String> {
    let mut reader = Reader::from_str(text);
    // So that every element is opened and closed.
    reader.config_mut().expand_empty_elements = true;
    let mut report = Report::new(run);
    let mut has_root = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                let kind = Element::of(&element);
                if !has_root && kind != Element::Suite {
                    return Ok(());
                }
                has_root = true;
                if report.depth() == MAX_XML_DEPTH {
                    return Err("the elements of the report are too deep in each other".to_owned());
                }
                report.open(kind, &element);
            }
            Ok(Event::End(_)) => report.close(),
            Ok(Event::Text(text)) => report.text(&String::from_utf8_lossy(&text)),
            Ok(Event::CData(text)) => report.text(&String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(entity)) => report.text(&resolved(&entity)),
            Ok(Event::Eof) if has_root && report.depth() == 0 => return Ok(()),
            Ok(Event::Eof) => return Err("the report is cut off".to_owned()),
            Ok(_) => {}
            Err(error) => {
                let position = reader.error_position();
                return Err(format!("the report is broken at byte {position}: {error}"));
            }
        }
    }
}

/// What an entity stands for: a character by its number, or one of XML's own five. Others stay as
/// they are.
fn resolved(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return character.to_string();
    }
    let name = String::from_utf8_lossy(entity);
    resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}
