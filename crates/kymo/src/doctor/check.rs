//! What was found.

use std::fmt::Write;

use console::style;
use serde::Serialize;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::output;
use crate::units::printable;

/// How a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Warning,
    Failed,
}

/// One step: what was found, and what to do.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) check: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

/// All steps so far.
#[derive(Debug, Default)]
pub(super) struct Checks(Vec<Check>);

#[derive(Serialize)]
struct Document<'a> {
    checks: &'a [Check],
    warnings: usize,
    failed: usize,
}

impl Checks {
    /// A step is well.
    pub(super) fn ok(&mut self, check: &'static str, found: impl ToString) {
        self.add(check, State::Ok, found.to_string(), None);
    }

    /// A step is odd: it may be why, and it may be meant.
    pub(super) fn warning(
        &mut self,
        check: &'static str,
        found: impl ToString,
        advice: impl ToString,
    ) {
        self.add(check, State::Warning, found.to_string(), Some(advice.to_string()));
    }

    /// A step does not work.
    pub(super) fn failed(
        &mut self,
        check: &'static str,
        found: impl ToString,
        advice: impl ToString,
    ) {
        self.add(check, State::Failed, found.to_string(), Some(advice.to_string()));
    }

    fn add(&mut self, check: &'static str, state: State, found: String, advice: Option<String>) {
        // Three signals to one server find the same thing three times.
        let is_known = self
            .0
            .iter()
            .any(|known| known.check == check && known.found == found && known.advice == advice);
        if !is_known {
            self.0.push(Check { check, state, found, advice });
        }
    }

    fn count(&self, state: State) -> usize {
        self.0.iter().filter(|check| check.state == state).count()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.count(State::Failed) > 0
    }

    pub(super) fn write(&self, format: OutputFormat) -> Result<(), Failure> {
        let (warnings, failed) = (self.count(State::Warning), self.count(State::Failed));
        if format == OutputFormat::Json {
            return output::json(&Document { checks: &self.0, warnings, failed });
        }
        let mut text = String::new();
        for check in &self.0 {
            let state = match check.state {
                State::Ok => style("ok     ").green(),
                State::Warning => style("warning").yellow(),
                State::Failed => style("failed ").red(),
            };
            let found = printable(&check.found);
            // To write into a text cannot fail.
            let _ = write!(text, "{state}  {:<11} {found}", check.check);
            if let Some(advice) = &check.advice {
                let _ = write!(text, ": {}", printable(advice));
            }
            text.push('\n');
        }
        let _ = match (failed, warnings) {
            (0, 0) => writeln!(text, "everything works"),
            (0, warnings) => writeln!(text, "nothing failed, {warnings} to look at"),
            (failed, _) => writeln!(text, "{failed} failed"),
        };
        output::text(&text)
    }

    #[cfg(test)]
    pub(super) fn states(&self) -> Vec<(&'static str, State)> {
        self.0.iter().map(|check| (check.check, check.state)).collect()
    }

    #[cfg(test)]
    pub(super) fn text_of(&self, check: &str) -> String {
        let of = self.0.iter().filter(|found| found.check == check);
        of.map(|found| format!("{}: {}\n", found.found, found.advice.clone().unwrap_or_default()))
            .collect()
    }
}
