//! Pieces of time to windows: the points of a series.

use super::counter::Counter;
use super::leaf::LeafPlan;
use super::quantile::Ranked;
use super::state::{State, Timed};
use crate::ast::RangeOp;

/// The points of a series: step and value, by step.
pub(super) type Points = Vec<(u32, f64)>;

/// The points of a series whose states are given by piece, in order.
pub(super) fn points(leaf: &LeafPlan, states: &[(i64, State)]) -> Points {
    match leaf.op {
        RangeOp::QuantileOverTime | RangeOp::RateCounter => sampled(leaf, states),
        _ => folded(leaf, states),
    }
}

/// Windows of states that go together. They slide: a state that comes in and one that goes out
/// cost a merge or two, however long a window is.
fn folded(leaf: &LeafPlan, states: &[(i64, State)]) -> Points {
    let mut points = Points::new();
    let mut window = Sliding::default();
    let mut next = 0;
    for nth in 0..leaf.windows.count() {
        let (first, last) = leaf.windows.pieces(nth);
        while let Some((_, state)) = states.get(next).filter(|(piece, _)| *piece <= last) {
            window.push(states[next].0, state);
            next += 1;
        }
        window.drop_before(first);
        if let Some(state) = window.total() {
            points.push((step(nth), value(leaf, &state)));
        }
        if next == states.len() && window.is_empty() {
            break;
        }
    }
    points
}

/// States that come in at one end and go out at the other, and all of them together: two stacks,
/// of which the front one holds at each place all that is behind it.
#[derive(Default)]
pub(super) struct Sliding {
    /// The last is the oldest.
    front: Vec<(i64, State)>,
    back: Vec<(i64, State)>,
    back_total: Option<State>,
}

impl Sliding {
    pub(super) fn push(&mut self, piece: i64, state: &State) {
        match &mut self.back_total {
            Some(total) => total.merge(state),
            None => self.back_total = Some(state.clone()),
        }
        self.back.push((piece, state.clone()));
    }

    pub(super) fn drop_before(&mut self, first: i64) {
        loop {
            if self.front.is_empty() {
                if self.back.first().is_none_or(|(piece, _)| *piece >= first) {
                    return;
                }
                self.turn();
            }
            match self.front.last() {
                Some((piece, _)) if *piece < first => drop(self.front.pop()),
                _ => return,
            }
        }
    }

    fn turn(&mut self) {
        self.back_total = None;
        while let Some((piece, mut state)) = self.back.pop() {
            if let Some((_, behind)) = self.front.last() {
                state.merge(behind);
            }
            self.front.push((piece, state));
        }
    }

    pub(super) fn total(&self) -> Option<State> {
        match (self.front.last(), &self.back_total) {
            (Some((_, front)), Some(back)) => {
                let mut total = front.clone();
                total.merge(back);
                Some(total)
            }
            (Some((_, front)), None) => Some(front.clone()),
            (None, back) => back.clone(),
        }
    }

    fn is_empty(&self) -> bool {
        self.front.is_empty() && self.back.is_empty()
    }
}

fn value(leaf: &LeafPlan, state: &State) -> f64 {
    let seconds = leaf.windows.range_secs();
    let is_rate = matches!(leaf.op, RangeOp::Rate | RangeOp::BytesRate);
    match state {
        State::Count(count) if is_rate => *count as f64 / seconds,
        State::Count(count) => *count as f64,
        State::Sum(sum) if is_rate => sum.total() / seconds,
        State::Sum(sum) => sum.total(),
        State::Min(value) | State::Max(value) => *value,
        State::Mean(sum, count) => sum.total() / *count as f64,
        State::Moments(count, _, squares) if leaf.op == RangeOp::StddevOverTime => {
            (squares / count).sqrt()
        }
        State::Moments(count, _, squares) => squares / count,
        State::First(sample) | State::Last(sample) => sample.value,
        // Quantiles and counters are computed from all samples.
        State::Samples(_) => f64::NAN,
    }
}

/// Functions that need every sample, and what they keep while windows slide.
enum Sampled<'a> {
    Quantile(Ranked<'a>),
    Counter(Counter<'a>),
}

/// Windows of functions that need every sample.
fn sampled(leaf: &LeafPlan, states: &[(i64, State)]) -> Points {
    let mut samples: Vec<Timed> = Vec::new();
    // Where the samples of each piece end.
    let mut ends: Vec<(i64, usize)> = Vec::with_capacity(states.len());
    for (piece, state) in states {
        if let State::Samples(found) = state {
            samples.extend_from_slice(found);
        }
        ends.push((*piece, samples.len()));
    }
    // Pieces are in order of time, so this puts each in order.
    samples.sort_by_key(|sample| (sample.time, sample.sequence));
    let mut over = match leaf.op {
        RangeOp::QuantileOverTime => Sampled::Quantile(Ranked::new(&samples)),
        _ => Sampled::Counter(Counter::new(&samples)),
    };
    let mut points = Points::new();
    for nth in 0..leaf.windows.count() {
        let (first, last) = leaf.windows.pieces(nth);
        let begin = ends.partition_point(|(piece, _)| *piece < first);
        let begin = begin.checked_sub(1).map_or(0, |at| ends[at].1);
        let end = ends.partition_point(|(piece, _)| *piece <= last);
        let end = end.checked_sub(1).map_or(0, |at| ends[at].1);
        if begin >= end {
            continue;
        }
        let value = match &mut over {
            Sampled::Quantile(ranked) => {
                ranked.slide(begin, end);
                ranked.quantile(leaf.parameter)
            }
            Sampled::Counter(counter) => {
                counter.slide(begin, end);
                counter.rate(leaf.windows.time(nth), leaf.windows.range_secs())
            }
        };
        points.push((step(nth), value));
    }
    points
}

fn step(nth: usize) -> u32 {
    // There are at most as many steps as a series has points.
    u32::try_from(nth).unwrap_or(u32::MAX)
}
