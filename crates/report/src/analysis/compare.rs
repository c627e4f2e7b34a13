//! Several sessions beside each other.

use serde::Serialize;

use super::{Analysis, NodeUse};
use crate::units::{self, Unit};

/// Figures of several sessions; differences are from the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The sessions, by id.
    pub sessions: Vec<String>,
    /// What is compared.
    pub figures: Vec<Figure>,
}

/// One figure of every session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// By session; null where there is none.
    pub values: Vec<Option<f64>>,
    /// Less or more than the first, as a part of it; null where that cannot be said.
    pub changes: Vec<Option<f64>>,
}

impl Figure {
    /// A value for people.
    #[must_use]
    pub fn shown(&self, nth: usize) -> String {
        let value = self.values.get(nth).copied().flatten();
        value.map_or_else(|| "–".into(), |value| units::with_unit(value, self.unit))
    }
}

/// Puts sessions beside each other; none if there are fewer than two.
#[must_use]
pub fn compare(analyses: &[Analysis]) -> Option<Comparison> {
    type Of = fn(&Analysis) -> Option<f64>;
    let figures: [(&'static str, Unit, Of); 16] = [
        ("duration", Unit::Seconds, |a| Some(a.session.duration_seconds)),
        ("tasks", Unit::Count, |a| Some(a.tasks.total as f64)),
        ("completed", Unit::Count, |a| Some(a.tasks.completed as f64)),
        ("failed", Unit::Count, |a| Some(a.tasks.failed as f64)),
        ("completed per second", Unit::PerSecond, |a| Some(a.throughput.mean_per_second)),
        ("task time, sum", Unit::Seconds, |a| known(&a.duration, a.duration.total)),
        ("task time, p50", Unit::Seconds, |a| known(&a.duration, a.duration.p50)),
        ("task time, p95", Unit::Seconds, |a| known(&a.duration, a.duration.p95)),
        ("task time, max", Unit::Seconds, |a| known(&a.duration, a.duration.max)),
        ("queue wait, p50", Unit::Seconds, |a| known(&a.waits.queue, a.waits.queue.p50)),
        ("queue wait, p95", Unit::Seconds, |a| known(&a.waits.queue, a.waits.queue.p95)),
        ("end to end, p95", Unit::Seconds, |a| known(&a.waits.end_to_end, a.waits.end_to_end.p95)),
        ("concurrency, max", Unit::Count, |a| Some(a.concurrency.max as f64)),
        ("concurrency, mean", Unit::Number, |a| Some(a.concurrency.mean)),
        ("CPU, mean", Unit::Percent, |a| {
            mean(&a.resources.nodes, |node| Some(node.cpu_percent.as_ref()?.mean))
        }),
        ("GPU idle", Unit::Share, |a| a.resources.gpu_idle_share),
    ];
    if analyses.len() < 2 {
        return None;
    }
    let figures = figures.into_iter().filter_map(|(name, unit, of)| {
        let values: Vec<Option<f64>> = analyses.iter().map(of).collect();
        let first = values.first().copied().flatten();
        let change = |value: &Option<f64>| {
            let (first, value) = (first?, (*value)?);
            (first != 0.0).then(|| value / first - 1.0)
        };
        let changes = values.iter().map(change).collect();
        let is_known = values.iter().any(Option::is_some);
        is_known.then_some(Figure { name, unit, values, changes })
    });
    Some(Comparison {
        figures: figures.collect(),
        sessions: analyses.iter().map(|analysis| analysis.session.id.clone()).collect(),
    })
}

fn known(distribution: &super::Distribution, value: f64) -> Option<f64> {
    (!distribution.is_empty()).then_some(value)
}

fn mean(nodes: &[NodeUse], of: fn(&NodeUse) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = nodes.iter().filter_map(of).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
