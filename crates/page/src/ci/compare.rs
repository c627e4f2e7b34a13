//! Two runs beside each other: jobs, steps, caches, and what they were told.

use std::collections::BTreeMap;

use futures::try_join;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;
use serde_json::Value;

use super::earlier::Usual;
use super::figures::{Cached, change, cut};
use super::limits::MAX_LISTED;
use super::run::{self, Document, Job, Run};
use super::spans::{Attributes, Span, Spans};
use crate::answer::Failed;
use crate::times::now_nanos;

/// Two runs.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    a: Run,
    b: Run,
    /// How much longer the second took.
    delta_seconds: f64,
    change: Option<f64>,
    /// What differs most first.
    jobs: Vec<JobPair>,
    caches: Vec<CachePair>,
    /// By name; how many differ, of which these are the first.
    attributes: Vec<AttributePair>,
    attributes_total: usize,
    /// Whether jobs, steps or attributes are left out.
    is_truncated: bool,
}

/// A job of both runs, or of one.
#[derive(Debug, Serialize)]
struct JobPair {
    job: String,
    a: Option<Side>,
    b: Option<Side>,
    /// How much longer it ran in the second, if it ran to its end in both.
    delta_seconds: Option<f64>,
    /// Its steps that differ, that which does most first; how many do.
    steps: Vec<StepPair>,
    steps_total: usize,
}

/// A job in one run.
#[derive(Debug, Clone, Serialize)]
struct Side {
    queue_seconds: f64,
    run_seconds: f64,
    conclusion: Option<String>,
    /// An earlier attempt ran it: it took no time in this one.
    is_carried_over: bool,
}

/// A step of both runs, or of one.
#[derive(Debug, Serialize)]
struct StepPair {
    step: String,
    a_seconds: Option<f64>,
    b_seconds: Option<f64>,
    delta_seconds: Option<f64>,
}

/// What caches did for a job.
#[derive(Debug, Serialize)]
struct CachePair {
    job: String,
    name: String,
    a: Option<Cached>,
    b: Option<Cached>,
    a_hit_rate: Option<f64>,
    b_hit_rate: Option<f64>,
}

/// Something that was said differently.
#[derive(Debug, PartialEq, Serialize)]
struct AttributePair {
    name: String,
    a: Option<Value>,
    b: Option<Value>,
}

/// Two runs beside each other.
pub(super) async fn of(
    engine: &Engine,
    tenants: &Tenants,
    a: &str,
    b: &str,
) -> Result<Comparison, Failed> {
    let (of_a, of_b) = try_join!(Spans::ask(engine, tenants, a), Spans::ask(engine, tenants, b))?;
    let (a, b) = (a.to_owned(), b.to_owned());
    Ok(engine.blocking(move || beside(&of_a, &a, &of_b, &b)).await?)
}

fn beside(of_a: &Spans, a: &str, of_b: &Spans, b: &str) -> Comparison {
    let (attributes, attributes_total) = attributes(of_a.run(), of_b.run());
    let now = now_nanos();
    let whole = |spans: &Spans, trace_id: &str| {
        run::document(spans, run::run(spans, trace_id, now), &Usual::default())
    };
    let (a, b) = (whole(of_a, a), whole(of_b, b));
    let jobs = jobs(&a.jobs, &b.jobs);
    let is_truncated = a.lacks_jobs()
        || b.lacks_jobs()
        || attributes_total > attributes.len()
        || jobs.iter().any(|pair| pair.steps_total > pair.steps.len());
    Comparison {
        delta_seconds: b.run.seconds - a.run.seconds,
        change: change(Some(b.run.seconds), Some(a.run.seconds)),
        jobs,
        caches: caches(&a, &b),
        attributes,
        attributes_total,
        is_truncated,
        a: a.run,
        b: b.run,
    }
}

/// Each with its counterpart, by name.
fn paired<'a, T>(
    a: impl Iterator<Item = (String, &'a T)>,
    b: impl Iterator<Item = (String, &'a T)>,
) -> BTreeMap<String, (Option<&'a T>, Option<&'a T>)> {
    let mut pairs: BTreeMap<String, (Option<&T>, Option<&T>)> = BTreeMap::new();
    for (name, one) in a {
        pairs.entry(name).or_default().0 = Some(one);
    }
    for (name, other) in b {
        pairs.entry(name).or_default().1 = Some(other);
    }
    pairs
}

fn jobs(a: &[Job], b: &[Job]) -> Vec<JobPair> {
    let named = |jobs: &'_ [Job]| jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>();
    let (names_a, names_b) = (named(a), named(b));
    let pairs = paired(names_a.into_iter().zip(a), names_b.into_iter().zip(b));
    let side = |job: &Job| Side {
        queue_seconds: job.queue_seconds,
        run_seconds: job.run_seconds,
        conclusion: job.conclusion.clone(),
        is_carried_over: job.is_carried_over,
    };
    let mut pairs: Vec<(f64, JobPair)> = pairs
        .into_iter()
        .map(|(job, (a, b))| {
            let is_comparable = a.into_iter().chain(b).all(Job::is_comparable);
            let both = a.zip(b).filter(|_| is_comparable);
            let (steps, steps_total) = both.map(|(a, b)| steps(a, b)).unwrap_or_default();
            let ran = |side: Option<&Job>| side.map_or(0.0, |job| job.run_seconds);
            let weight = if is_comparable { (ran(b) - ran(a)).abs() } else { 0.0 };
            let pair = JobPair {
                job,
                delta_seconds: both.map(|(a, b)| b.run_seconds - a.run_seconds),
                steps,
                steps_total,
                a: a.map(side),
                b: b.map(side),
            };
            (weight, pair)
        })
        .collect();
    pairs.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

fn steps(a: &Job, b: &Job) -> (Vec<StepPair>, usize) {
    let named = |job: &Job| job.steps.iter().map(|step| step.name.clone()).collect::<Vec<_>>();
    let pairs = paired(named(a).into_iter().zip(&a.steps), named(b).into_iter().zip(&b.steps));
    let mut pairs: Vec<StepPair> = pairs
        .into_iter()
        .map(|(step, (a, b))| {
            let (a_seconds, b_seconds) = (a.map(|a| a.seconds), b.map(|b| b.seconds));
            StepPair {
                step,
                a_seconds,
                b_seconds,
                delta_seconds: a_seconds.zip(b_seconds).map(|(a, b)| b - a),
            }
        })
        .filter(|pair| pair.delta_seconds != Some(0.0))
        .collect();
    let weight =
        |pair: &StepPair| (pair.b_seconds.unwrap_or(0.0) - pair.a_seconds.unwrap_or(0.0)).abs();
    pairs.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    cut(pairs, MAX_LISTED)
}

/// What a cache did in the one run and in the other.
type Both = (Option<Cached>, Option<Cached>);

fn caches(a: &Document, b: &Document) -> Vec<CachePair> {
    let mut pairs: BTreeMap<(&str, &str), Both> = BTreeMap::new();
    for cache in &a.caches {
        pairs.entry((&cache.job, &cache.name)).or_default().0 = Some(cache.cached);
    }
    for cache in &b.caches {
        pairs.entry((&cache.job, &cache.name)).or_default().1 = Some(cache.cached);
    }
    let pair = |((job, name), (a, b)): ((&str, &str), Both)| CachePair {
        job: job.to_owned(),
        name: name.to_owned(),
        a,
        b,
        a_hit_rate: a.and_then(Cached::rate),
        b_hit_rate: b.and_then(Cached::rate),
    };
    pairs.into_iter().map(pair).collect()
}

/// What the two runs and their resources say differently.
fn attributes(a: Option<&Span>, b: Option<&Span>) -> (Vec<AttributePair>, usize) {
    let all = |span: Option<&Span>| -> Attributes {
        let resource = span.map(|span| span.resource.clone()).unwrap_or_default();
        let own = span.map(|span| span.attributes.clone()).unwrap_or_default();
        resource.into_iter().chain(own).collect()
    };
    let (a, b) = (all(a), all(b));
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let pairs: Vec<AttributePair> = names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| AttributePair {
            name: name.clone(),
            a: a.get(name).cloned(),
            b: b.get(name).cloned(),
        })
        .collect();
    cut(pairs, MAX_LISTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_was_carried_over_is_not_faster() {
        let a = [Job::of("build", 720.0, false), Job::of("test", 60.0, false)];
        let b = [Job::of("build", 0.0, true), Job::of("test", 50.0, false)];
        let pairs = jobs(&a, &b);
        let told: Vec<(&str, Option<f64>)> =
            pairs.iter().map(|pair| (pair.job.as_str(), pair.delta_seconds)).collect();
        assert_eq!(told, [("test", Some(-10.0)), ("build", None)]);
        assert!(pairs[1].b.as_ref().is_some_and(|side| side.is_carried_over));
    }
}
