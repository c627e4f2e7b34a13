//! Tasks that take much longer than others of their kind: those that still run first, since
//! something can be done about them.

use std::collections::HashMap;

use kymo_report::analysis::{Stragglers, duration_secs, quantile};
use kymo_report::limits::{MIN_TASKS_OF_A_KIND, STRAGGLER_MEDIANS};
use kymo_report::recording::{Status, Task};
use serde::Serialize;

use super::document::Then;
use super::limits::MAX_LISTED;
use super::tasks::hex_id;

/// A task that takes long.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Straggler {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) node: Option<String>,
    pub(super) span_id: Option<String>,
    pub(super) is_running: bool,
    /// For how long it runs or ran, and others of its kind did in the middle.
    pub(super) seconds: f64,
    pub(super) median_seconds: f64,
    pub(super) times_median: f64,
}

/// Name, executable, type: what makes a kind, as in a report.
type Kind<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn kind(task: &Task) -> Kind<'_> {
    (&task.name, task.executable.as_deref(), task.task_type.as_deref())
}

/// Those without an end, the longest over their kind first, then those that a report tells of; and
/// how many there are, of which these are the first.
pub(super) fn stragglers(then: &Then<'_>, ended: &Stragglers) -> (Vec<Straggler>, u64) {
    let mut found = without_end(then);
    let total = ended.count.saturating_add(found.len() as u64);
    let by_id: HashMap<&str, &Task> =
        then.session.tasks.iter().map(|task| (&*task.id, task)).collect();
    found.extend(ended.tasks.iter().map(|straggler| Straggler {
        id: straggler.id.clone(),
        name: straggler.name.clone(),
        node: straggler.node.clone(),
        span_id: by_id.get(straggler.id.as_str()).and_then(|task| hex_id(task)),
        is_running: false,
        seconds: straggler.seconds,
        median_seconds: straggler.median_seconds,
        times_median: straggler.times_median,
    }));
    found.truncate(MAX_LISTED);
    (found, total)
}

/// Those that run, or ran when the session was lost.
fn without_end(then: &Then<'_>) -> Vec<Straggler> {
    let session = &then.session;
    if session.has_ended {
        return Vec::new();
    }
    let mut by_kind: HashMap<Kind<'_>, Vec<f64>> = HashMap::new();
    for task in &session.tasks {
        if let Some(secs) = duration_secs(task) {
            by_kind.entry(kind(task)).or_default().push(secs);
        }
    }
    let medians: HashMap<Kind<'_>, f64> = by_kind
        .into_iter()
        .filter(|(_, durations)| durations.len() >= MIN_TASKS_OF_A_KIND)
        .map(|(kind, mut durations)| {
            durations.sort_unstable_by(f64::total_cmp);
            (kind, quantile(&durations, 0.5))
        })
        .collect();
    let straggler = |task: &Task| {
        let (start, median) = (task.started_nanos?, *medians.get(&kind(task))?);
        let seconds = then.at_nanos.saturating_sub(start) as f64 / 1e9;
        (median > 0.0 && seconds > STRAGGLER_MEDIANS * median).then(|| Straggler {
            id: task.id.to_string(),
            name: task.label().to_owned(),
            node: task.node.as_deref().map(str::to_owned),
            span_id: hex_id(task),
            is_running: then.goes_on(),
            seconds,
            median_seconds: median,
            times_median: seconds / median,
        })
    };
    let runs = session.tasks.iter().filter(|task| task.status == Status::Running);
    let mut found: Vec<Straggler> = runs.filter_map(straggler).collect();
    found.sort_by(|one, other| other.times_median.total_cmp(&one.times_median));
    found
}
