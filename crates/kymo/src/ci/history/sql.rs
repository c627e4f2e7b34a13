//! Queries about runs that are stored.
//!
//! They lean on what summaries give to spans: `ci.kind` says what a span is; `ci.workflow`,
//! `ci.job`, `ci.labels` and so on are on the spans that are counted, since grouping by attributes
//! of spans is quicker than by those of resources.

use std::ops::Range;

/// What is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) workflow: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) repository: Option<String>,
    /// Nanoseconds since 1970.
    pub(crate) range: Range<i64>,
}

impl Filter {
    /// The conditions for spans of a kind.
    fn conditions(&self, kind: &str) -> String {
        let mut conditions = vec![format!("\"span.ci.kind\" = '{kind}'"), self.times()];
        for (column, value) in [
            ("workflow", &self.workflow),
            ("branch", &self.branch),
            ("repository", &self.repository),
        ] {
            if let Some(value) = value {
                conditions.push(format!("\"span.ci.{column}\" = {}", quoted(value)));
            }
        }
        conditions.join("\n  AND ")
    }

    fn times(&self) -> String {
        let Range { start, end } = self.range;
        let time = crate::units::time;
        format!("start_time >= '{}' AND start_time < '{}'", time(start), time(end))
    }
}

/// A text as SQL has it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Runs, the newest first.
pub(super) fn runs(filter: &Filter, limit: u64) -> String {
    format!(
        "SELECT start_time AS started, \"span.ci.repository\" AS repository,\n       \
         \"span.ci.workflow\" AS workflow, \"span.ci.branch\" AS branch, \"span.ci.event\" AS event,\n       \
         \"span.ci.run_id\" AS run, \"span.ci.attempt\" AS attempt,\n       \
         \"span.ci.conclusion\" AS conclusion, duration_nanos / 1e9 AS seconds,\n       \
         \"span.ci.jobs\" AS jobs, \"span.ci.failed_jobs\" AS failed, trace_id\n\
         FROM spans\nWHERE {}\nORDER BY start_time DESC LIMIT {limit}",
        filter.conditions("run")
    )
}

/// The jobs of a run, by its number or the id of its trace; none if it is neither.
pub(super) fn jobs_of(id: &str) -> Option<String> {
    let is_trace = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let condition = if is_trace {
        format!("trace_id = '{}'", id.to_lowercase())
    } else {
        format!("\"span.ci.run_id\" = {}", id.parse::<u64>().ok()?)
    };
    Some(format!(
        "SELECT \"span.ci.job\" AS job, \"span.ci.attempt\" AS attempt,\n       \
         \"span.ci.conclusion\" AS conclusion, start_time AS created,\n       \
         \"span.ci.queue_seconds\" AS queue_seconds, \"span.ci.run_seconds\" AS run_seconds,\n       \
         \"span.ci.labels\" AS labels, \"span.ci.runner\" AS runner, trace_id\n\
         FROM spans\nWHERE \"span.ci.kind\" = 'job' AND {condition}\nORDER BY start_time, job"
    ))
}

/// Minutes of runners, and waiting for them, by labels.
pub(super) fn labels(filter: &Filter) -> String {
    let p = |part: &str, name: &str| {
        format!(
            "approx_percentile_cont({part}) WITHIN GROUP (ORDER BY \"span.ci.queue_seconds\") AS {name}"
        )
    };
    format!(
        "SELECT \"span.ci.labels\" AS labels, count(*) AS jobs,\n       \
         sum(\"span.ci.run_seconds\") / 60 AS runner_minutes,\n       {},\n       {},\n       \
         max(\"span.ci.queue_seconds\") AS queue_max_seconds\n\
         FROM spans\nWHERE {}\n  AND \"span.ci.run_seconds\" IS NOT NULL\n\
         GROUP BY 1 ORDER BY runner_minutes DESC",
        p("0.5", "queue_p50_seconds"),
        p("0.95", "queue_p95_seconds"),
        filter.conditions("job")
    )
}

/// How long jobs ran, by name and time.
pub(super) fn trend(filter: &Filter, job: Option<&str>, step_nanos: i64) -> String {
    let job =
        job.map(|job| format!("\n  AND \"span.ci.job\" = {}", quoted(job))).unwrap_or_default();
    let p = |part: &str, name: &str| {
        format!(
            "approx_percentile_cont({part}) WITHIN GROUP (ORDER BY \"span.ci.run_seconds\") AS {name}"
        )
    };
    format!(
        "SELECT \"span.ci.job\" AS job, {} AS time, count(*) AS runs,\n       {},\n       {}\n\
         FROM spans\nWHERE {}{job}\n  AND \"span.ci.run_seconds\" IS NOT NULL\nGROUP BY 1, 2 ORDER BY 1, 2",
        binned(filter, step_nanos),
        p("0.5", "p50_seconds"),
        p("0.95", "p95_seconds"),
        filter.conditions("job"),
    )
}

/// Hits and misses of a compiler cache over time.
pub(super) fn cache_trend(filter: &Filter, cache: &str, step_nanos: i64) -> String {
    let column = |what: &str| format!("\"span.sccache.{}.{what}\"", cache.replace('"', "\"\""));
    let of_resource = |name: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| format!("\n  AND \"resource.{name}\" = {}", quoted(value)))
            .unwrap_or_default()
    };
    format!(
        "SELECT {} AS time, count(*) AS builds, sum({hits}) AS hits, sum({misses}) AS misses,\n       \
         sum({hits}) / nullif(sum({hits}) + sum({misses}), 0.0) AS hit_rate\n\
         FROM spans\nWHERE {hits} IS NOT NULL AND {}{}{}{}\nGROUP BY 1 ORDER BY 1",
        binned(filter, step_nanos),
        filter.times(),
        of_resource("cicd.pipeline.name", &filter.workflow),
        of_resource("vcs.ref.head.name", &filter.branch),
        of_resource("git.repository", &filter.repository),
        hits = column("hits"),
        misses = column("misses"),
    )
}

fn binned(filter: &Filter, step_nanos: i64) -> String {
    let seconds = (step_nanos / 1_000_000_000).max(1);
    // Steps begin where the range does, at a round moment.
    let origin =
        crate::units::time(filter.range.start - filter.range.start.rem_euclid(step_nanos.max(1)));
    format!("date_bin(INTERVAL '{seconds} seconds', start_time, TIMESTAMP '{}')", &origin[..19])
}

/// How long earlier runs of a workflow took, the newest first.
pub(crate) fn earlier(filter: &Filter, limit: u64) -> String {
    format!(
        "SELECT trace_id, duration_nanos / 1e9 AS seconds FROM spans\nWHERE {}\n  \
         AND \"span.ci.conclusion\" IN ('success', 'failure')\nORDER BY start_time DESC LIMIT {limit}",
        filter.conditions("run")
    )
}

/// All that a report needs to know of the spans of a trace.
pub(crate) fn spans_of(trace: &str) -> String {
    format!(
        "SELECT name, start_time, end_time, status, status_message, \"span.ci.kind\" AS kind,\n       \
         \"span.ci.job\" AS job, \"span.ci.conclusion\" AS conclusion, \"span.ci.labels\" AS labels,\n       \
         \"span.ci.queue_seconds\" AS queue_seconds, \"span.ci.carried_over\" AS carried_over,\n       \
         \"span.ci.workflow\" AS workflow, \"span.ci.repository\" AS repository, \"span.ci.branch\" AS branch,\n       \
         \"span.ci.run_id\" AS run, attributes\n\
         FROM spans\nWHERE trace_id = {} AND \"span.ci.kind\" IS NOT NULL ORDER BY start_time",
        quoted(trace)
    )
}

/// Spans with statistics of caches, of these traces.
pub(crate) fn caches_of(traces: &[String], filter: &Filter) -> String {
    let ids: Vec<String> = traces.iter().map(|trace| quoted(trace)).collect();
    format!(
        "SELECT trace_id, attributes FROM spans\nWHERE trace_id IN ({})\n  AND {}\n  \
         AND attributes LIKE '%sccache.%'",
        ids.join(", "),
        filter.times()
    )
}
