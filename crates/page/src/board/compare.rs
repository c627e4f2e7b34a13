//! Two sessions beside each other: figures, tasks by name, how fast they went, what nodes did.

use std::collections::BTreeMap;

use kymo_report::Session;
use kymo_report::analysis::{
    Analysis, Comparison, ConcurrencyPoint, Throughput, compare, duration_secs, quantile,
};
use kymo_report::recording::Status;
use serde::Serialize;

use super::limits::MAX_NAMES;

/// Two sessions.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    a: Side,
    b: Side,
    /// Differences are of the second from the first.
    figures: Option<Comparison>,
    /// Those that took the most time in either first.
    names: Vec<NamePair>,
    is_truncated: bool,
}

/// One of them.
#[derive(Debug, Serialize)]
struct Side {
    id: String,
    name: String,
    state: &'static str,
    started: Option<String>,
    seconds: f64,
    throughput: Throughput,
    concurrency: Vec<ConcurrencyPoint>,
    nodes: Vec<Node>,
}

/// What a node did, on the whole.
#[derive(Debug, Serialize)]
struct Node {
    node: String,
    cpu_percent: Option<f64>,
    memory_percent: Option<f64>,
    gpu_percent: Option<f64>,
    gpus: usize,
}

/// Tasks of one name in both.
#[derive(Debug, Serialize)]
struct NamePair {
    name: String,
    a: Option<Tasks>,
    b: Option<Tasks>,
    /// How much longer they take in the second, in the middle, as a part of the first.
    change: Option<f64>,
}

/// Tasks of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
struct Tasks {
    tasks: usize,
    failed: usize,
    total_seconds: f64,
    p50_seconds: f64,
    p95_seconds: f64,
}

/// Puts two sessions beside each other.
pub(super) fn compared(a: &Session, b: &Session) -> Compared {
    let (of_a, of_b) = (Analysis::of(a), Analysis::of(b));
    let analyses = [of_a, of_b];
    let figures = compare(&analyses);
    let [of_a, of_b] = analyses;
    let mut names = names(a, b);
    let is_truncated = names.len() > MAX_NAMES;
    names.truncate(MAX_NAMES);
    Compared { a: side(of_a), b: side(of_b), figures, names, is_truncated }
}

fn side(analysis: Analysis) -> Side {
    let resources = analysis.resources;
    let node = |node: &kymo_report::analysis::NodeUse| {
        let gpus: Vec<f64> = resources
            .gpus
            .iter()
            .filter(|gpu| gpu.node == node.node)
            .filter_map(|gpu| Some(gpu.gpu_percent.as_ref()?.mean))
            .collect();
        let of_gpus = (!gpus.is_empty()).then(|| gpus.iter().sum::<f64>() / gpus.len() as f64);
        Node {
            node: node.node.clone(),
            cpu_percent: node.cpu_percent.as_ref().map(|gauge| gauge.mean),
            memory_percent: node.memory_percent.as_ref().map(|gauge| gauge.mean),
            gpu_percent: of_gpus.or(node.gpu_percent.as_ref().map(|gauge| gauge.mean)),
            gpus: gpus.len(),
        }
    };
    Side {
        nodes: resources.nodes.iter().map(node).collect(),
        id: analysis.session.id,
        name: analysis.session.name,
        state: analysis.session.state,
        started: analysis.session.started,
        seconds: analysis.session.duration_seconds,
        throughput: analysis.throughput,
        concurrency: analysis.concurrency.series,
    }
}

fn names(a: &Session, b: &Session) -> Vec<NamePair> {
    let mut pairs: BTreeMap<String, (Option<Tasks>, Option<Tasks>)> = BTreeMap::new();
    for (name, tasks) in by_name(a) {
        pairs.entry(name).or_default().0 = Some(tasks);
    }
    for (name, tasks) in by_name(b) {
        pairs.entry(name).or_default().1 = Some(tasks);
    }
    let mut pairs: Vec<NamePair> = pairs
        .into_iter()
        .map(|(name, (a, b))| {
            let medians = a.zip(b).map(|(a, b)| (a.p50_seconds, b.p50_seconds));
            let change = medians.filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
            NamePair { name, a, b, change }
        })
        .collect();
    let total = |pair: &NamePair| {
        let seconds = |tasks: Option<Tasks>| tasks.map_or(0.0, |tasks| tasks.total_seconds);
        seconds(pair.a).max(seconds(pair.b))
    };
    pairs.sort_by(|one, other| total(other).total_cmp(&total(one)));
    pairs
}

fn by_name(session: &Session) -> BTreeMap<String, Tasks> {
    let mut found: BTreeMap<&str, (Tasks, Vec<f64>)> = BTreeMap::new();
    for task in &session.tasks {
        let (tasks, durations) = found.entry(task.label()).or_default();
        tasks.tasks += 1;
        tasks.failed += usize::from(task.status == Status::Failed);
        durations.extend(duration_secs(task));
    }
    let settled = |(name, (mut tasks, mut durations)): (&str, (Tasks, Vec<f64>))| {
        durations.sort_unstable_by(f64::total_cmp);
        tasks.total_seconds = durations.iter().sum();
        if !durations.is_empty() {
            tasks.p50_seconds = quantile(&durations, 0.5);
            tasks.p95_seconds = quantile(&durations, 0.95);
        }
        (name.to_owned(), tasks)
    };
    found.into_iter().map(settled).collect()
}
