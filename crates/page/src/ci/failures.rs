//! What failed in a workflow: jobs, steps and tests, each with what it said last.

use std::collections::HashMap;

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::asked::Filter;
use super::figures::shortened;
use super::limits::{MAX_FAILED_SPANS, MAX_MESSAGE_BYTES};
use crate::answer::Failed;
use crate::times::millis;

/// Something that failed, over all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Failing {
    /// `job`, `step` or `test`.
    pub(super) kind: String,
    pub(super) job: String,
    pub(super) name: String,
    /// Times that it did.
    pub(super) count: usize,
    /// What it said the last time, where that was.
    pub(super) message: Option<String>,
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) last_ms: f64,
}

/// What failed, that which did most often first, and whether more did than is looked through.
pub(super) async fn of_workflow(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<(Vec<Failing>, bool), Failed> {
    let query = format!(
        "SELECT trace_id, span_id, name, start_time, status_message, \"span.ci.kind\" AS kind, \
         \"span.ci.job\" AS job FROM spans WHERE {} AND status = 'error' \
         AND \"span.ci.kind\" IN ('job', 'step', 'test') \
         AND CAST(\"span.ci.carried_over\" AS VARCHAR) IS DISTINCT FROM 'true' \
         ORDER BY start_time DESC LIMIT {}",
        filter.by_resource(),
        MAX_FAILED_SPANS + 1
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let has_more = table.len() > MAX_FAILED_SPANS;
    let (traces, spans) = (table.texts("trace_id")?, table.texts("span_id")?);
    let (names, starts) = (table.texts("name")?, table.integers("start_time")?);
    let (messages, kinds) = (table.texts("status_message")?, table.texts("kind")?);
    let jobs = table.texts("job")?;
    let found = (0..table.len().min(MAX_FAILED_SPANS)).map(|nth| Failing {
        kind: kinds[nth].clone().unwrap_or_default(),
        job: jobs[nth].clone().unwrap_or_default(),
        name: names[nth].clone().unwrap_or_default(),
        count: 1,
        message: messages[nth]
            .clone()
            .filter(|message| !message.is_empty())
            .map(|message| shortened(message, MAX_MESSAGE_BYTES)),
        trace_id: traces[nth].clone().unwrap_or_default(),
        span_id: spans[nth].clone().unwrap_or_default(),
        last_ms: millis(starts[nth].unwrap_or(0)),
    });
    Ok((grouped(found), has_more))
}

/// The same thing once. A job is left out if a step or a test of it tells why it failed.
fn grouped(newest_first: impl Iterator<Item = Failing>) -> Vec<Failing> {
    let mut groups: Vec<Failing> = Vec::new();
    let mut places: HashMap<(String, String, String), usize> = HashMap::new();
    for failing in newest_first {
        let key = (failing.kind.clone(), failing.job.clone(), failing.name.clone());
        match places.get(&key) {
            Some(place) => groups[*place].count += 1,
            None => {
                places.insert(key, groups.len());
                groups.push(failing);
            }
        }
    }
    let told: std::collections::HashSet<String> =
        groups.iter().filter(|group| group.kind != "job").map(|group| group.job.clone()).collect();
    groups.retain(|group| group.kind != "job" || !told.contains(&group.job));
    groups.sort_by(|one, other| {
        other.count.cmp(&one.count).then(other.last_ms.total_cmp(&one.last_ms))
    });
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_whose_step_failed_is_told_by_the_step() {
        let failing = |kind: &str, job: &str, name: &str, at: f64| Failing {
            kind: kind.into(),
            job: job.into(),
            name: name.into(),
            count: 1,
            message: None,
            trace_id: String::new(),
            span_id: String::new(),
            last_ms: at,
        };
        let groups = grouped(
            [
                failing("job", "build", "build", 5.0),
                failing("step", "build", "make", 5.0),
                failing("step", "build", "make", 3.0),
                failing("job", "lost", "lost", 2.0),
            ]
            .into_iter(),
        );
        let told: Vec<(&str, usize, f64)> =
            groups.iter().map(|group| (group.name.as_str(), group.count, group.last_ms)).collect();
        assert_eq!(told, [("make", 2, 5.0), ("lost", 1, 2.0)]);
    }
}
