//! Where tasks ran, over time: lanes of every node, beside what its GPUs did.
//!
//! A session does not tell which GPU a task had, so that a node has lanes for its tasks, as many as
//! ran at once, and a row for each GPU.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use kymo_report::analysis::{Gauge, Resources, Window};
use kymo_report::limits::IDLE_GPU_PERCENT;
use kymo_report::recording::{Measure, Status, Task};
use serde::Serialize;

use super::document::Then;
use super::limits::{IDLE_AFTER, MAX_BARS, MAX_LANES, MAX_LISTED, MAX_NODES};
use crate::times::millis;

/// A task with its start and its end.
type Drawn<'a> = (u64, u64, &'a Task);

/// Lanes of all nodes.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Lanes {
    /// The time that series of use are of, in equal parts.
    series_start_ms: f64,
    series_end_ms: f64,
    pub(super) nodes: Vec<Node>,
    /// Names of tasks, which bars name by their place.
    names: Vec<String>,
    /// Whether there are tasks or nodes that are not drawn.
    pub(super) is_truncated: bool,
}

/// A node. Bars are columns of the same length.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Node {
    pub(super) node: String,
    /// Rows of bars that do not overlap.
    pub(super) lanes: usize,
    /// Tasks that run.
    pub(super) running: usize,
    pub(super) lane: Vec<usize>,
    pub(super) start_ms: Vec<f64>,
    pub(super) end_ms: Vec<f64>,
    pub(super) status: Vec<&'static str>,
    pub(super) name: Vec<usize>,
    pub(super) task: Vec<String>,
    /// Use of its processors, in percent.
    cpu_percent: Option<Vec<Option<f64>>>,
    pub(super) gpus: Vec<Gpu>,
}

/// A GPU.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Gpu {
    pub(super) gpu: String,
    /// Its use in percent, now and over time.
    pub(super) last_percent: f64,
    mean_percent: f64,
    series: Vec<Option<f64>>,
    idle_share: Option<f64>,
}

/// A GPU that has done nothing for a while, in a session that goes on.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Idle {
    pub(super) node: String,
    /// None if only the busiest of the node is known.
    pub(super) gpu: Option<String>,
    since_ms: f64,
    pub(super) seconds: f64,
}

/// What nodes and GPUs did, with the time that series of it are of.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    pub(super) resources: &'a Resources,
    pub(super) window: Window,
}

/// The lanes of a session at a moment, until which what runs is drawn, with bars that overlap a part
/// of its time.
pub(super) fn lanes(
    then: &Then<'_>,
    Use { resources, window }: Use<'_>,
    (from_nanos, to_nanos): (u64, u64),
) -> Lanes {
    let session = &then.session;
    let last_nanos = window.end_nanos.max(then.at_nanos);
    let mut drawn: Vec<(u64, u64, &Task)> = session
        .tasks
        .iter()
        .filter_map(|task| {
            let start = task.started_nanos?;
            let end = task.ended_nanos.unwrap_or(last_nanos).max(start);
            (end >= from_nanos && start <= to_nanos).then_some((start, end, task))
        })
        .collect();
    drawn.sort_by_key(|(start, end, _)| (*start, *end));
    let mut is_truncated = drawn.len() > MAX_BARS;
    // What began last is what is looked at.
    drawn.drain(..drawn.len().saturating_sub(MAX_BARS));
    let mut by_node: BTreeMap<(usize, &str), Vec<Drawn<'_>>> = BTreeMap::new();
    for bar in drawn {
        let node = bar.2.node.as_deref().or(session.host.as_deref()).unwrap_or("");
        by_node.entry((node.len(), node)).or_default().push(bar);
    }
    for node in &resources.nodes {
        by_node.entry((node.node.len(), &node.node)).or_default();
    }
    is_truncated |= by_node.len() > MAX_NODES;
    let mut names = Names::default();
    let mut nodes = Vec::new();
    for ((_, node), bars) in by_node.into_iter().take(MAX_NODES) {
        let (mut drawn, has_more) = packed(then, node, &bars, &mut names);
        is_truncated |= has_more;
        let of_node = resources.nodes.iter().find(|known| known.node == node);
        drawn.cpu_percent = of_node.and_then(|known| known.cpu_percent.as_ref()).map(Gauge::held);
        let gpus = resources.gpus.iter().filter(|gpu| gpu.node == node);
        drawn.gpus = gpus.filter_map(gpu).collect();
        nodes.push(drawn);
    }
    Lanes {
        series_start_ms: millis(window.start_nanos),
        series_end_ms: millis(window.end_nanos),
        nodes,
        names: names.all,
        is_truncated,
    }
}

fn gpu(known: &kymo_report::analysis::GpuUse) -> Option<Gpu> {
    let percent = known.gpu_percent.as_ref()?;
    Some(Gpu {
        gpu: known.gpu.clone(),
        last_percent: percent.last,
        mean_percent: percent.mean,
        series: percent.held(),
        idle_share: known.idle_share,
    })
}

/// Each name once.
#[derive(Debug, Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.places.insert(name.to_owned(), self.all.len());
        self.all.push(name.to_owned());
        self.all.len() - 1
    }
}

/// Each task goes to the lowest lane that is free. Bars come by start; those beyond the last lane are
/// left out.
fn packed(then: &Then<'_>, node: &str, bars: &[Drawn<'_>], names: &mut Names) -> (Node, bool) {
    let mut drawn = Node { node: node.to_owned(), ..Node::default() };
    let mut busy: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut has_more = false;
    for (start, end, task) in bars {
        let standing = then.standing(task);
        drawn.running += usize::from(standing == Status::Running.name());
        while let Some(Reverse((until, lane))) = busy.peek().copied()
            && until <= *start
        {
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or(drawn.lanes, |Reverse(lane)| lane);
        if lane >= MAX_LANES {
            has_more = true;
            continue;
        }
        drawn.lanes = drawn.lanes.max(lane + 1);
        busy.push(Reverse((*end, lane)));
        drawn.lane.push(lane);
        drawn.start_ms.push(millis(*start));
        drawn.end_ms.push(millis(*end));
        drawn.status.push(standing);
        drawn.name.push(names.place(task.label()));
        drawn.task.push(task.id.to_string());
    }
    (drawn, has_more)
}

/// GPUs that have done nothing for a while, the longest first.
pub(super) fn idle(then: &Then<'_>) -> Vec<Idle> {
    if !then.goes_on() {
        return Vec::new();
    }
    let session = &then.session;
    // Nodes of which each GPU is known; of others the busiest is.
    let with_gpus = session.samples.iter().filter(|sample| sample.gpu.is_some());
    let with_gpus: HashSet<&str> = with_gpus.map(|sample| &*sample.node).collect();
    // Since when each is idle; none if it is busy.
    let mut since: BTreeMap<(&str, Option<&str>), Option<u64>> = BTreeMap::new();
    for sample in &session.samples {
        let Some(percent) = sample.value(Measure::Gpu) else { continue };
        if sample.gpu.is_none() && with_gpus.contains(&*sample.node) {
            continue;
        }
        let known = since.entry((&*sample.node, sample.gpu.as_deref())).or_default();
        *known = match percent < IDLE_GPU_PERCENT {
            true => known.or(Some(sample.time_nanos)),
            false => None,
        };
    }
    let mut idle: Vec<Idle> = since
        .into_iter()
        .filter_map(|((node, gpu), since)| {
            let since = since?;
            let nanos = then.at_nanos.saturating_sub(since);
            (u128::from(nanos) >= IDLE_AFTER.as_nanos()).then(|| Idle {
                node: node.to_owned(),
                gpu: gpu.map(str::to_owned),
                since_ms: millis(since),
                seconds: nanos as f64 / 1e9,
            })
        })
        .collect();
    idle.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    idle.truncate(MAX_LISTED);
    idle
}
