//! What compiler caches did, over many runs.
//!
//! Steps carry `sccache.<file>.hits` and so on; which files there are is told by the names of
//! attributes. Languages and compilers, which have further dots, are told in the trace.

use std::collections::BTreeMap;

use kymo_engine::table::Table;
use kymo_engine::traceql::TagQuery;
use kymo_engine::{Engine, Tenants};
use kymo_traceql::ast::Scope;
use serde::Serialize;

use super::asked::Filter;
use super::figures::Cached;
use super::limits::{MAX_CACHE_ROWS, MAX_CACHES};
use crate::answer::Failed;
use crate::sql::{column, moment};

/// Runs of a job whose rate is that of now, and those before, which it is held against.
const RECENT_RUNS: usize = 5;
const RUNS_BEFORE: usize = 20;
/// A cache that serves so much less, as a part of all, is worth a look.
const REGRESSION: f64 = 0.1;

/// What caches did for a job of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfJob {
    pub(super) trace_id: String,
    pub(super) job: String,
    pub(super) start_nanos: i64,
    pub(super) cached: Cached,
}

/// What caches did for a job, over its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Trend {
    pub(super) job: String,
    #[serde(flatten)]
    pub(super) cached: Cached,
    pub(super) hit_rate: Option<f64>,
    /// That of the last runs, and of those before.
    pub(super) recent_hit_rate: Option<f64>,
    pub(super) earlier_hit_rate: Option<f64>,
    /// Whether it serves much less than it did.
    pub(super) is_regression: bool,
    /// By run, the oldest first.
    pub(super) points: Vec<Point>,
}

/// What caches did for a job in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Point {
    pub(super) trace_id: String,
    pub(super) start_ms: f64,
    pub(super) hit_rate: Option<f64>,
}

/// Sums over the files there are, as SQL has them, with the spans that they are of, and whether there
/// are more files; none if there is no cache. What is no number, though a sender said so, is as good
/// as nothing.
async fn sums(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<Option<(String, bool)>, Failed> {
    let query = TagQuery { time: Some(filter.range.clone()), filter: None, limit: None };
    let scopes = engine.tag_names(tenants, query).await?;
    let names = scopes.iter().filter(|tags| tags.scope == Scope::Span).flat_map(|tags| &tags.names);
    let mut files: Vec<&str> = names
        .filter_map(|name| name.strip_prefix("sccache.")?.strip_suffix(".hits"))
        .filter(|file| !file.contains('.'))
        .collect();
    let has_more = files.len() > MAX_CACHES;
    files.truncate(MAX_CACHES);
    if files.is_empty() {
        return Ok(None);
    }
    let sum = |what: &str| {
        let columns = files.iter().map(|file| {
            let column = column(&format!("span.sccache.{file}.{what}"));
            format!("coalesce(sum(TRY_CAST({column} AS DOUBLE)), 0)")
        });
        format!("{} AS {what}", columns.collect::<Vec<_>>().join(" + "))
    };
    let known = files
        .iter()
        .map(|file| format!("{} IS NOT NULL", column(&format!("span.sccache.{file}.hits"))));
    let known = known.collect::<Vec<_>>().join(" OR ");
    let sums = format!(
        "{}, {}, {} FROM spans WHERE ({known}) AND {}",
        sum("hits"),
        sum("misses"),
        sum("errors"),
        filter.by_resource()
    );
    Ok(Some((sums, has_more)))
}

fn read(table: &Table) -> Result<Vec<Cached>, Failed> {
    let columns = (table.numbers("hits")?, table.numbers("misses")?, table.numbers("errors")?);
    let (hits, misses, errors) = columns;
    let number = |of: &[Option<f64>], nth: usize| of[nth].unwrap_or(0.0);
    let all = (0..table.len()).map(|nth| Cached {
        hits: number(&hits, nth),
        misses: number(&misses, nth),
        errors: number(&errors, nth),
    });
    Ok(all.collect())
}

/// What caches did, by repository and workflow.
pub(super) type OfWorkflows = BTreeMap<(Option<String>, String), Cached>;

/// What caches did in the time that is asked about, and in the time before: one look at both.
pub(super) async fn by_workflow(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<(OfWorkflows, OfWorkflows), Failed> {
    let (mut now, mut before) = (OfWorkflows::new(), OfWorkflows::new());
    let both = filter.within(filter.before().start..filter.range.end);
    let Some((sums, _)) = sums(engine, tenants, &both).await? else { return Ok((now, before)) };
    let query = format!(
        "SELECT \"resource.git.repository\" AS repository, \
         \"resource.cicd.pipeline.name\" AS workflow, \
         CAST(start_time >= '{}' AS BIGINT) AS is_now, {sums} \
         GROUP BY 1, 2, 3 LIMIT {MAX_CACHE_ROWS}",
        moment(filter.range.start)
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let names = table.texts("repository")?.into_iter().zip(table.texts("workflow")?);
    let times = table.integers("is_now")?;
    for (((repository, workflow), is_now), cached) in names.zip(times).zip(read(&table)?) {
        let of_time = if is_now == Some(1) { &mut now } else { &mut before };
        of_time.insert((repository, workflow.unwrap_or_default()), cached);
    }
    Ok((now, before))
}

/// By run and job, the newest first, and whether there are more, or more files.
pub(super) async fn by_job(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<(Vec<OfJob>, bool), Failed> {
    let Some((sums, has_more_files)) = sums(engine, tenants, filter).await? else {
        return Ok((Vec::new(), false));
    };
    let query = format!(
        "SELECT trace_id, \"span.ci.job\" AS job, min(start_time) AS start_time, {sums} \
         GROUP BY 1, 2 ORDER BY 3 DESC LIMIT {}",
        MAX_CACHE_ROWS + 1
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let (traces, jobs) = (table.texts("trace_id")?, table.texts("job")?);
    let (starts, cached) = (table.integers("start_time")?, read(&table)?);
    let has_more = has_more_files || table.len() > MAX_CACHE_ROWS;
    let rows = (0..table.len().min(MAX_CACHE_ROWS)).map(|nth| OfJob {
        trace_id: traces[nth].clone().unwrap_or_default(),
        job: jobs[nth].clone().unwrap_or_default(),
        start_nanos: starts[nth].unwrap_or(0),
        cached: cached[nth],
    });
    Ok((rows.collect(), has_more))
}

/// Job by job: those that serve much less first, then those that were asked most.
pub(super) fn trends(rows: &[OfJob]) -> Vec<Trend> {
    let mut by_job: BTreeMap<&str, Vec<&OfJob>> = BTreeMap::new();
    for row in rows {
        by_job.entry(&row.job).or_default().push(row);
    }
    let mut trends: Vec<Trend> =
        by_job.into_iter().map(|(job, newest_first)| trend(job, newest_first)).collect();
    trends.sort_by(|one, other| {
        let asked = |of: &Trend| of.cached.hits + of.cached.misses;
        other.is_regression.cmp(&one.is_regression).then(asked(other).total_cmp(&asked(one)))
    });
    trends
}

fn trend(job: &str, mut rows: Vec<&OfJob>) -> Trend {
    rows.sort_by_key(|row| std::cmp::Reverse(row.start_nanos));
    let sum = |rows: &[&OfJob]| rows.iter().map(|row| row.cached).sum::<Cached>();
    let (recent, before) = rows.split_at(rows.len().min(RECENT_RUNS));
    let recent_hit_rate = sum(recent).rate();
    let earlier_hit_rate = sum(&before[..before.len().min(RUNS_BEFORE)]).rate();
    let lost = recent_hit_rate.zip(earlier_hit_rate).map(|(recent, before)| before - recent);
    let cached = sum(&rows);
    let point = |row: &&OfJob| Point {
        trace_id: row.trace_id.clone(),
        start_ms: crate::times::millis(row.start_nanos),
        hit_rate: row.cached.rate(),
    };
    Trend {
        job: job.to_owned(),
        cached,
        hit_rate: cached.rate(),
        recent_hit_rate,
        earlier_hit_rate,
        is_regression: lost.is_some_and(|lost| lost >= REGRESSION),
        points: rows.iter().take(RECENT_RUNS + RUNS_BEFORE).rev().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(nth: i64, hits: f64) -> OfJob {
        let cached = Cached { hits, misses: 100.0 - hits, errors: 1.0 };
        OfJob { trace_id: nth.to_string(), job: "build".into(), start_nanos: nth, cached }
    }

    #[test]
    fn a_cache_that_serves_much_less_than_before_is_flagged() {
        let rows: Vec<OfJob> =
            (0..15).map(|nth| row(nth, if nth < 10 { 90.0 } else { 60.0 })).collect();
        let trends = trends(&rows);
        assert_eq!(trends.len(), 1);
        let trend = &trends[0];
        assert_eq!((trend.recent_hit_rate, trend.earlier_hit_rate), (Some(0.6), Some(0.9)));
        assert!(trend.is_regression);
        assert_eq!((trend.points.len(), trend.points[0].hit_rate), (15, Some(0.9)));
        assert_eq!(trend.cached.errors, 15.0);
    }

    #[test]
    fn a_cache_without_earlier_runs_is_not() {
        assert!(!trends(&[row(0, 10.0)])[0].is_regression);
        assert!(trends(&[]).is_empty());
    }
}
