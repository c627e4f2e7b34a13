//! What is asked about CI: a time, and which runs of it.

use std::ops::Range;

use serde::Deserialize;

use crate::answer::Failed;
use crate::sql::{list, moment, quoted};
use crate::times;

/// Time before now that is looked at if nobody says when.
const USUAL_NANOS: i64 = 7 * DAY_NANOS;
/// The least time before that, which figures are compared with: a week has all its days.
const LEAST_BEFORE_NANOS: i64 = 7 * DAY_NANOS;
const DAY_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// Attributes by which a span tells itself which run it is of: workflow, repository, branch.
const OWN: [&str; 3] = ["span.ci.workflow", "span.ci.repository", "span.ci.branch"];

/// Parameters of a request.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Parameters {
    start: Option<String>,
    end: Option<String>,
    repository: Option<String>,
    branch: Option<String>,
}

/// Which runs are meant.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// When they began, in nanoseconds since 1970.
    pub(super) range: Range<i64>,
    pub(super) repository: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) workflow: Option<String>,
}

impl Parameters {
    pub(super) fn filter(self, workflow: Option<String>) -> Result<Filter, Failed> {
        let range = times::range(self.start.as_deref(), self.end.as_deref(), USUAL_NANOS)?;
        let chosen = |value: Option<String>| value.filter(|value| !value.is_empty());
        Ok(Filter {
            range,
            repository: chosen(self.repository),
            branch: chosen(self.branch),
            workflow,
        })
    }
}

impl Filter {
    /// The time before, which figures are compared with: as long, and no less than a week.
    pub(super) fn before(&self) -> Range<i64> {
        let length = (self.range.end - self.range.start).max(LEAST_BEFORE_NANOS);
        self.range.start.saturating_sub(length).max(0)..self.range.start
    }

    /// The same of another time.
    pub(super) fn within(&self, range: Range<i64>) -> Self {
        Self { range, ..self.clone() }
    }

    /// Conditions on spans of a kind that tell themselves which run they are of: runs, jobs, queues.
    pub(super) fn of_kind(&self, kind: &str) -> String {
        format!("\"span.ci.kind\" = {} AND {}", quoted(kind), self.conditions(OWN))
    }

    /// The same of several kinds.
    pub(super) fn of_kinds(&self, kinds: &[&str]) -> String {
        format!("\"span.ci.kind\" IN ({}) AND {}", list(kinds), self.conditions(OWN))
    }

    /// Conditions on other spans, whose resource tells it.
    pub(super) fn by_resource(&self) -> String {
        let columns = [
            "resource.cicd.pipeline.name",
            "resource.git.repository",
            "resource.vcs.ref.head.name",
        ];
        self.conditions(columns)
    }

    fn conditions(&self, [workflow, repository, branch]: [&str; 3]) -> String {
        let mut conditions = times_within(&self.range);
        for (column, value) in
            [(workflow, &self.workflow), (repository, &self.repository), (branch, &self.branch)]
        {
            if let Some(value) = value {
                conditions += &format!(" AND \"{column}\" = {}", quoted(value));
            }
        }
        conditions
    }
}

/// Conditions on when a span began.
pub(super) fn times_within(range: &Range<i64>) -> String {
    format!("start_time >= '{}' AND start_time < '{}'", moment(range.start), moment(range.end))
}

/// The id of a trace, in lower case.
pub(super) fn trace_id(text: &str) -> Result<String, Failed> {
    let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(Failed::Invalid("expected the id of a trace: 32 hexadecimal digits".into()));
    }
    Ok(text.to_ascii_lowercase())
}

/// The id of a span, in lower case.
pub(super) fn span_id(text: &str) -> Result<String, Failed> {
    let is_id = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(Failed::Invalid("expected the id of a span: 16 hexadecimal digits".into()));
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_what_was_chosen_and_texts_stay_texts() {
        let parameters = Parameters {
            start: Some("10".into()),
            end: Some("20".into()),
            repository: Some("o/it's".into()),
            branch: Some(String::new()),
        };
        let filter = parameters.filter(Some("ci".into())).unwrap();
        let jobs = filter.of_kind("job");
        assert!(jobs.contains("\"span.ci.repository\" = 'o/it''s'"), "{jobs}");
        assert!(jobs.contains("\"span.ci.workflow\" = 'ci'") && !jobs.contains("branch"), "{jobs}");
        assert!(filter.by_resource().contains("\"resource.git.repository\" = 'o/it''s'"));
        // A week before, but not before 1970.
        assert_eq!(filter.before(), 0..10_000_000_000);
    }

    #[test]
    fn a_workflow_may_be_called_as_a_kind_is() {
        let filter = Parameters::default().filter(Some("job".into())).unwrap();
        let conditions = filter.of_kinds(&["job", "queue"]);
        assert!(conditions.starts_with("\"span.ci.kind\" IN ('job', 'queue') AND"), "{conditions}");
        assert!(conditions.ends_with("\"span.ci.workflow\" = 'job'"), "{conditions}");
    }

    #[test]
    fn ids_are_hexadecimal() {
        assert_eq!(trace_id(&"AB".repeat(16)).unwrap(), "ab".repeat(16));
        assert!(trace_id("' OR 1=1").is_err() && span_id("12").is_err());
    }
}
