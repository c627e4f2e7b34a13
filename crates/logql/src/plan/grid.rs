//! Series over the steps of a query, and the aggregations over them.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::rolling::Points;
use super::series::Group;
use super::state::{Sum, greater, lesser};
use crate::ast::{VectorAggregation, VectorOp};
use crate::labels::Labels;

/// A series over steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GridSeries {
    pub(super) labels: Labels,
    pub(super) points: Points,
}

/// `sum by (a) (…)`
pub(super) fn aggregate(
    aggregation: &VectorAggregation,
    series: Vec<GridSeries>,
) -> Vec<GridSeries> {
    let group = Group::around(aggregation);
    match aggregation.op {
        VectorOp::Sort | VectorOp::SortDesc => sort(aggregation.op, series),
        VectorOp::Topk | VectorOp::Bottomk => {
            let count = aggregation.parameter.unwrap_or(1);
            best(aggregation.op, count, &group, series)
        }
        op => by_group(&group, series)
            .into_iter()
            .map(|(labels, members)| GridSeries { labels, points: reduce(op, &members) })
            .collect(),
    }
}

/// Series that go together, in order of their labels.
fn by_group(group: &Group, series: Vec<GridSeries>) -> Vec<(Labels, Vec<GridSeries>)> {
    let mut groups: HashMap<Labels, Vec<GridSeries>> = HashMap::new();
    for series in series {
        groups.entry(group.of(&series.labels)).or_default().push(series);
    }
    let mut groups: Vec<(Labels, Vec<GridSeries>)> = groups.into_iter().collect();
    groups.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    groups
}

/// What several series give at each step.
fn reduce(op: VectorOp, members: &[GridSeries]) -> Points {
    let mut all: Points = members.iter().flat_map(|series| series.points.iter().copied()).collect();
    all.sort_by_key(|(step, _)| *step);
    all.chunk_by(|a, b| a.0 == b.0).map(|step| (step[0].0, reduce_step(op, step))).collect()
}

fn reduce_step(op: VectorOp, values: &[(u32, f64)]) -> f64 {
    let count = values.len() as f64;
    let values = values.iter().map(|(_, value)| *value);
    let total = |values: &mut dyn Iterator<Item = f64>| {
        let mut sum = Sum::default();
        values.for_each(|value| sum.add(value));
        sum.total()
    };
    match op {
        VectorOp::Sum => total(&mut values.into_iter()),
        VectorOp::Avg => total(&mut values.into_iter()) / count,
        VectorOp::Min => values.fold(f64::NAN, lesser),
        VectorOp::Max => values.fold(f64::NAN, greater),
        VectorOp::Stddev | VectorOp::Stdvar => {
            let mean = total(&mut values.clone()) / count;
            let variance = total(&mut values.map(|value| (value - mean) * (value - mean))) / count;
            if op == VectorOp::Stddev { variance.sqrt() } else { variance }
        }
        // The others keep series, and are computed elsewhere.
        VectorOp::Count
        | VectorOp::Topk
        | VectorOp::Bottomk
        | VectorOp::Sort
        | VectorOp::SortDesc => count,
    }
}

/// The order of values: from the largest, or from the smallest; NaN comes last.
fn order(is_descending: bool, a: f64, b: f64) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| {
        let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        if is_descending { order.reverse() } else { order }
    })
}

/// `topk` and `bottomk`: at each step the series with the best values of each group. Of series
/// with the same value the one whose labels come first is taken.
fn best(op: VectorOp, count: usize, group: &Group, series: Vec<GridSeries>) -> Vec<GridSeries> {
    let is_descending = op == VectorOp::Topk;
    let mut kept = Vec::new();
    for (_, mut members) in by_group(group, series) {
        members.sort_unstable_by(|a, b| a.labels.cmp(&b.labels));
        let mut all: Vec<(u32, f64, usize)> = members
            .iter()
            .enumerate()
            .flat_map(|(nth, series)| {
                series.points.iter().map(move |(step, value)| (*step, *value, nth))
            })
            .collect();
        all.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then(order(is_descending, a.1, b.1)).then(a.2.cmp(&b.2))
        });
        let mut points: Vec<Points> = vec![Points::new(); members.len()];
        for (step, value, nth) in
            all.chunk_by(|a, b| a.0 == b.0).flat_map(|step| step.iter().take(count))
        {
            points[*nth].push((*step, *value));
        }
        let members = members.into_iter().zip(points);
        let members = members.map(|(series, points)| GridSeries { labels: series.labels, points });
        kept.extend(members.filter(|series| !series.points.is_empty()));
    }
    let sorted = if is_descending { VectorOp::SortDesc } else { VectorOp::Sort };
    sort(sorted, kept)
}

/// `sort` and `sort_desc`: by the first value, which is the only one where order can be seen.
fn sort(op: VectorOp, mut series: Vec<GridSeries>) -> Vec<GridSeries> {
    let is_descending = op == VectorOp::SortDesc;
    let first = |series: &GridSeries| series.points.first().map_or(f64::NAN, |(_, value)| *value);
    series.sort_by(|a, b| {
        order(is_descending, first(a), first(b)).then_with(|| a.labels.cmp(&b.labels))
    });
    series
}
