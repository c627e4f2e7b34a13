//! Tasks over time, as a drawing needs them: bars in lanes or, of too many, sums in rows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use super::load::Window;
use crate::limits::{HEAT_BINS, MAX_BARS, MAX_HEAT_ROWS, MAX_LANES};
use crate::recording::{Session, Status, Task};

/// Tasks over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Timeline {
    /// Every task a bar; bars of a lane do not overlap.
    Bars {
        /// The bars.
        bars: Vec<Bar>,
        /// How many lanes.
        lanes: usize,
    },
    /// Tasks that ran, by node or by kind, in equal parts of the session.
    Heat {
        /// What the rows are: `node` or `kind`.
        by: &'static str,
        /// The rows.
        rows: Vec<HeatRow>,
    },
}

/// A task as a bar. Times are seconds from the begin of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// In which lane.
    pub lane: usize,
    /// When it was first known.
    pub known_at: f64,
    /// When it started.
    pub from: f64,
    /// When it ended, or the end of what is known.
    pub to: f64,
    /// Where it stands.
    pub status: Status,
    /// Its id.
    pub id: Arc<str>,
    /// What it is called.
    pub name: Arc<str>,
    /// Where it ran.
    pub node: Option<Arc<str>>,
}

/// Tasks that ran, in equal parts of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatRow {
    /// Whose tasks.
    pub label: Arc<str>,
    /// How many tasks.
    pub tasks: u64,
    /// How many of them failed.
    pub failed: u64,
    /// The mean number that ran, part by part.
    pub running: Vec<f64>,
}

pub(super) fn timeline(session: &Session, window: Window) -> Timeline {
    let drawn = || session.tasks.iter().filter(|task| task.started_nanos.is_some());
    if drawn().take(MAX_BARS + 1).count() <= MAX_BARS
        && let Some((bars, lanes)) = bars(drawn(), window)
    {
        return Timeline::Bars { bars, lanes };
    }
    heat(drawn(), window)
}

/// Each task goes to the lowest lane that is free; none if there are too many lanes.
fn bars<'a>(tasks: impl Iterator<Item = &'a Task>, window: Window) -> Option<(Vec<Bar>, usize)> {
    let mut tasks: Vec<(u64, u64, &Task)> = tasks
        .filter_map(|task| {
            let start = task.started_nanos?;
            Some((start, task.ended_nanos.unwrap_or(window.end_nanos).max(start), task))
        })
        .collect();
    tasks.sort_by_key(|(start, end, _)| (*start, *end));
    let mut busy: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut lanes = 0;
    let mut bars = Vec::with_capacity(tasks.len());
    for (start, end, task) in tasks {
        while let Some(Reverse((until, lane))) = busy.peek().copied()
            && until <= start
        {
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or(lanes, |Reverse(lane)| lane);
        lanes = lanes.max(lane + 1);
        if lanes > MAX_LANES {
            return None;
        }
        busy.push(Reverse((end, lane)));
        bars.push(Bar {
            lane,
            known_at: window.offset_secs(task.first_nanos().unwrap_or(start)),
            from: window.offset_secs(start),
            to: window.offset_secs(end),
            status: task.status,
            id: task.id.clone(),
            name: task.label().into(),
            node: task.node.clone(),
        });
    }
    Some((bars, lanes))
}

fn heat<'a>(tasks: impl Iterator<Item = &'a Task> + Clone, window: Window) -> Timeline {
    let mut nodes = tasks.clone().filter_map(|task| task.node.as_deref());
    let first = nodes.next();
    let by_node = first.is_some() && nodes.any(|node| Some(node) != first);
    let label = |task: &'a Task| match by_node {
        true => task.node.as_deref().unwrap_or("unknown"),
        false => task.label(),
    };
    let width = (window.secs() / HEAT_BINS as f64).max(1e-9);
    let mut rows: Vec<(HeatRow, f64)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for task in tasks {
        let Some(start) = task.started_nanos else { continue };
        let end = task.ended_nanos.unwrap_or(window.end_nanos).max(start);
        let label = label(task);
        // Beyond so many, labels are ids: they share the last row.
        let is_full = rows.len() >= MAX_HEAT_ROWS * 100;
        let place = match places.get(label) {
            Some(place) => *place,
            None if is_full => rows.len() - 1,
            None => {
                places.insert(label, rows.len());
                let running = vec![0.0; HEAT_BINS];
                let row = HeatRow { label: label.into(), tasks: 0, failed: 0, running };
                rows.push((row, 0.0));
                rows.len() - 1
            }
        };
        let (row, total) = &mut rows[place];
        row.tasks += 1;
        row.failed += u64::from(task.status == Status::Failed);
        let (from, to) = (window.offset_secs(start), window.offset_secs(end));
        *total += to - from;
        for bin in window.bin(start, HEAT_BINS)..=window.bin(end, HEAT_BINS) {
            let (begin, finish) = (bin as f64 * width, (bin + 1) as f64 * width);
            row.running[bin] += (to.min(finish) - from.max(begin)).max(0.0) / width;
        }
    }
    rows.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let others = rows.split_off(rows.len().min(MAX_HEAT_ROWS));
    let mut rows: Vec<HeatRow> = rows.into_iter().map(|(row, _)| row).collect();
    if by_node {
        rows.sort_by(|one, other| {
            (one.label.len(), &one.label).cmp(&(other.label.len(), &other.label))
        });
    }
    if !others.is_empty() {
        let label = format!("{} others", others.len()).into();
        let mut sum = HeatRow { label, tasks: 0, failed: 0, running: vec![0.0; HEAT_BINS] };
        for (row, _) in others {
            sum.tasks += row.tasks;
            sum.failed += row.failed;
            for (sum, more) in sum.running.iter_mut().zip(row.running) {
                *sum += more;
            }
        }
        rows.push(sum);
    }
    Timeline::Heat { by: if by_node { "node" } else { "kind" }, rows }
}
