//! One range aggregation: what it wants, and who works at it.
//!
//! An aggregation around it that can be computed on the way is part of the leaf: the states of
//! `sum by (a) (count_over_time(…))` are kept for each `a`, never for each set of labels that a
//! line may have.

use std::sync::Arc;

use hashbrown::HashMap;

use super::series::{Group, SeriesTable};
use super::state::{State, StateKind, Timed};
use super::windows::Windows;
use crate::ast::{Conversion, RangeAggregation, RangeOp, Unwrap, VectorAggregation, VectorOp};
use crate::entry::Entry;
use crate::error::{EvalError, PlanError};
use crate::labels::{ERROR, Labels};
use crate::pipeline::Pipeline;
use crate::pipeline::filter::LabelTest;
use crate::pipeline::needs::{Behind, Needed, add_unwrap};
use crate::pipeline::pushdown::Pushdown;
use crate::pipeline::row::Row;
use crate::request::{Bounds, Request};
use crate::selection::{Names, Selection, Tested};
use crate::{number, units};

const SAMPLE_ERROR: &str = "SampleExtractionErr";

/// A range aggregation of a query.
#[derive(Debug, Clone)]
pub struct Leaf(pub(super) Arc<LeafPlan>);

/// A leaf that only counts entries, or their bytes, by labels that they are stored with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counting {
    /// Labels of the stream or of structured metadata.
    pub by: Vec<String>,
    /// Whether bytes of lines are counted, not lines.
    pub counts_bytes: bool,
}

#[derive(Debug)]
pub(super) struct LeafPlan {
    selection: Selection,
    pipeline: Pipeline,
    /// Without what conditions say that are exact.
    pipeline_if_tested: Pipeline,
    value: ValueOf,
    pub(super) op: RangeOp,
    pub(super) parameter: f64,
    kind: StateKind,
    group: Group,
    /// Whether lines that a parser could not read count: the query names `__error__`.
    counts_unread: bool,
    pub(super) windows: Windows,
    counting: Option<Counting>,
    /// The labels of `absent_over_time`.
    pub(super) absent: Labels,
    bounds: Bounds,
}

/// What is taken of a row.
#[derive(Debug)]
enum ValueOf {
    One,
    LineBytes,
    Label { name: String, conversion: Conversion, filters: Vec<LabelTest> },
}

impl LeafPlan {
    /// Plans a range aggregation, and the aggregation around it if it can be computed with it.
    pub(super) fn new(
        range: &RangeAggregation,
        around: Option<&VectorAggregation>,
        request: &Request,
    ) -> Result<Self, PlanError> {
        let stages = &range.range.log.stages;
        let unwrap = range.range.unwrap.as_ref();
        let group = group_of(range, around);
        let value = ValueOf::new(range.op, unwrap).map_err(PlanError::BadStage)?;
        let result = needed_by(&group, unwrap, matches!(value, ValueOf::LineBytes));
        let pushdown = Pushdown::new(stages);
        let is_exact = |nth: usize| pushdown.is_exact.get(nth).copied().unwrap_or_default();
        let needed = Needed::new(stages, result.clone(), |_| false);
        let needed_if_tested = Needed::new(stages, result, is_exact);
        let counts_unread = counts_unread(needed.asked(), around);
        let windows =
            Windows::new(request.times, range.range.range_nanos, range.range.offset_nanos);
        let (start_nanos, end_nanos) = windows.bounds();
        let counting = match (&group, unwrap) {
            (Group::By(names), None) if pushdown.leaves_only(stages, names) => Some(Counting {
                by: names.clone(),
                counts_bytes: matches!(value, ValueOf::LineBytes),
            }),
            _ => None,
        };
        let selection = Selection {
            matchers: range.range.log.matchers.clone(),
            start_nanos,
            end_nanos,
            conditions: pushdown.conditions.clone(),
            needs: needed.of_entry(),
            needs_if_tested: needed_if_tested.of_entry(),
        };
        let pipeline = Pipeline::new(stages, &needed, |_| false).map_err(PlanError::BadStage)?;
        let pipeline_if_tested =
            Pipeline::new(stages, &needed_if_tested, is_exact).map_err(PlanError::BadStage)?;
        Ok(Self {
            selection,
            pipeline,
            pipeline_if_tested,
            value,
            op: range.op,
            parameter: range.parameter.unwrap_or_default(),
            kind: StateKind::of(range.op, unwrap.is_some()),
            group,
            counts_unread,
            windows,
            counting,
            absent: super::absent::labels(&range.range.log.matchers),
            bounds: request.bounds,
        })
    }
}

/// Whether an aggregation can be computed while lines are read: it takes states together that go
/// together anyway.
pub(super) fn folds(around: &VectorAggregation, range: &RangeAggregation) -> bool {
    let is_summed = matches!(
        range.op,
        RangeOp::Rate
            | RangeOp::CountOverTime
            | RangeOp::BytesRate
            | RangeOp::BytesOverTime
            | RangeOp::SumOverTime
    );
    range.grouping.is_none()
        && match around.op {
            VectorOp::Sum => is_summed,
            VectorOp::Min => range.op == RangeOp::MinOverTime,
            VectorOp::Max => range.op == RangeOp::MaxOverTime,
            _ => false,
        }
}

/// The labels that make a series. The label that is unwrapped is none of them, unless a sum names
/// it.
fn group_of(range: &RangeAggregation, around: Option<&VectorAggregation>) -> Group {
    if range.op == RangeOp::AbsentOverTime {
        return Group::By(Vec::new());
    }
    let group = match (around, &range.grouping) {
        (Some(around), _) => Group::around(around),
        (None, Some(grouping)) => Group::new(grouping, true),
        (None, None) => Group::all(),
    };
    let unwrapped = range.range.unwrap.as_ref().map(|unwrap| unwrap.name.as_str());
    let Some(name) = unwrapped else { return group };
    let is_sum = around.is_some_and(|around| around.op == VectorOp::Sum);
    match group {
        // What is left out before the aggregation around it looks is not there to group by.
        Group::By(mut names) if around.is_some() && !is_sum => {
            names.retain(|wanted| wanted != name);
            Group::By(names)
        }
        group => group.without(name),
    }
}

/// Whether lines that a parser could not read are an answer and no failure. As in Loki that is so
/// where `__error__` is named and labels are told beforehand: `sum by (__error__) (…)`, or
/// `sum(count_over_time({…} | json | __error__!="" [5m]))`.
fn counts_unread(asked: &Names, around: Option<&VectorAggregation>) -> bool {
    let is_sum = around.is_none_or(|around| around.op == VectorOp::Sum);
    is_sum && matches!(asked, Names::Only(names) if names.contains(ERROR))
}

fn needed_by(group: &Group, unwrap: Option<&Unwrap>, reads_line: bool) -> Behind {
    let mut labels = match group {
        Group::By(names) => Names::Only(names.iter().cloned().collect()),
        Group::Without { .. } => Names::All,
    };
    if let Some(unwrap) = unwrap {
        add_unwrap(unwrap, &mut labels);
    }
    Behind { labels, line: reads_line }
}

impl ValueOf {
    fn new(op: RangeOp, unwrap: Option<&Unwrap>) -> Result<Self, String> {
        let Some(unwrap) = unwrap else {
            return Ok(match op {
                RangeOp::BytesRate | RangeOp::BytesOverTime => Self::LineBytes,
                _ => Self::One,
            });
        };
        let filters = unwrap.filters.iter().map(LabelTest::new).collect::<Result<_, _>>()?;
        Ok(Self::Label { name: unwrap.name.clone(), conversion: unwrap.conversion, filters })
    }

    /// The value of a row; none if it has none. A text that is no number is an error of the row.
    #[inline]
    fn of(&self, entry: &Entry<'_>, row: &mut Row) -> Option<f64> {
        match self {
            Self::One => Some(1.0),
            Self::LineBytes => Some(row.line(entry).len() as f64),
            Self::Label { name, conversion, filters } => {
                let text = row.labels.get(entry, name).filter(|text| !text.is_empty())?;
                let value = match conversion {
                    Conversion::Number => number::parse(text),
                    Conversion::Bytes => units::parse_bytes(text).map(|bytes| bytes as f64),
                    Conversion::Duration | Conversion::DurationSeconds => {
                        units::parse_go_duration_secs(text)
                    }
                };
                if value.is_none() {
                    let details = format!("label {name}: {text:?} cannot be unwrapped");
                    row.labels.set_error(SAMPLE_ERROR, details);
                }
                let passes = filters.iter().all(|filter| filter.passes(entry, &mut row.labels));
                passes.then_some(value.unwrap_or_default())
            }
        }
    }
}

impl Leaf {
    /// Which entries are wanted.
    pub fn selection(&self) -> &Selection {
        &self.0.selection
    }

    /// Someone who takes entries.
    pub fn worker(&self, tested: Tested) -> LeafWorker {
        LeafWorker {
            leaf: Arc::clone(&self.0),
            tested,
            row: Row::default(),
            series: SeriesTable::default(),
            states: HashMap::new(),
            held: 0,
        }
    }

    /// What has to be counted, if that is all. Whoever counts tests all conditions.
    pub fn counting(&self) -> Option<&Counting> {
        self.0.counting.as_ref()
    }

    /// The last time until which entries go into the same state as one at that time: they may be
    /// counted together. None if the time is in no window.
    pub fn bucket_end_nanos(&self, time_nanos: i64) -> Option<i64> {
        self.0.windows.piece_end(time_nanos)
    }
}

/// Takes entries of a leaf, in any order.
#[derive(Debug)]
pub struct LeafWorker {
    leaf: Arc<LeafPlan>,
    tested: Tested,
    row: Row,
    pub(super) series: SeriesTable,
    /// By series and piece of time.
    pub(super) states: HashMap<(u32, i64), State>,
    /// How many numbers the states hold.
    held: usize,
}

impl LeafWorker {
    /// Takes an entry.
    pub fn push(&mut self, entry: &Entry<'_>) -> Result<(), EvalError> {
        let leaf = &*self.leaf;
        let Some(piece) = leaf.windows.piece(entry.time_nanos) else { return Ok(()) };
        let pipeline = match self.tested {
            Tested::No => &leaf.pipeline,
            Tested::Exact => &leaf.pipeline_if_tested,
        };
        if !pipeline.run(entry, &mut self.row) {
            return Ok(());
        }
        let Some(value) = leaf.value.of(entry, &mut self.row) else { return Ok(()) };
        let labels = &self.row.labels;
        let is_counted = labels.error().is_empty() || (leaf.counts_unread && labels.is_unread());
        if !is_counted {
            return Err(pipeline_error(entry, &self.row));
        }
        let max = leaf.bounds.max_series;
        let series = self.series.number_of_row(&leaf.group, entry, &self.row.labels, max)?;
        let time = leaf.windows.shifted(entry.time_nanos);
        self.add(series, piece, Timed { time, sequence: entry.sequence, value })
    }

    /// Takes entries that were counted: what [`Leaf::counting`] asks for. The labels are those
    /// that it names and the entries have.
    pub fn add_counted(
        &mut self,
        labels: &Labels,
        time_nanos: i64,
        count: u64,
        bytes: u64,
    ) -> Result<(), EvalError> {
        let leaf = &*self.leaf;
        let Some(piece) = leaf.windows.piece(time_nanos) else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        let series = self.series.number_of_labels(&leaf.group, labels, leaf.bounds.max_series)?;
        let value = match leaf.value {
            ValueOf::LineBytes => bytes as f64,
            _ => count as f64,
        };
        let time = leaf.windows.shifted(time_nanos);
        self.add(series, piece, Timed { time, sequence: 0, value })
    }

    #[inline]
    fn add(&mut self, series: u32, piece: i64, sample: Timed) -> Result<(), EvalError> {
        let kind = self.leaf.kind;
        let mut is_larger = kind == StateKind::Samples;
        self.states.entry((series, piece)).and_modify(|state| state.add(sample)).or_insert_with(
            || {
                is_larger = true;
                State::new(kind, sample)
            },
        );
        self.held += usize::from(is_larger);
        self.check_held()
    }

    fn check_held(&self) -> Result<(), EvalError> {
        let max = self.leaf.bounds.max_samples;
        if self.held > max { Err(EvalError::TooManySamples { max }) } else { Ok(()) }
    }

    /// Takes what another worker of the same leaf holds.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), EvalError> {
        let max = self.leaf.bounds.max_series;
        let group = &self.leaf.group;
        let mut numbers = Vec::with_capacity(other.series.labels().len());
        for labels in other.series.labels() {
            numbers.push(self.series.number_of_labels(group, labels, max)?);
        }
        for ((series, piece), state) in other.states {
            let Some(number) = numbers.get(series as usize) else { continue };
            let size = state.size();
            match self.states.entry((*number, piece)) {
                hashbrown::hash_map::Entry::Occupied(mut held) => {
                    let before = held.get().size();
                    held.get_mut().merge(&state);
                    self.held += held.get().size() - before;
                }
                hashbrown::hash_map::Entry::Vacant(place) => {
                    place.insert(state);
                    self.held += size;
                }
            }
        }
        self.check_held()
    }
}

fn pipeline_error(entry: &Entry<'_>, row: &Row) -> EvalError {
    let details = row.labels.error_details();
    EvalError::Pipeline {
        error: row.labels.error().to_owned(),
        labels: Labels::of(row.labels.all(entry)).to_string(),
        details: if details.is_empty() { String::new() } else { format!(" ({details})") },
    }
}
