//! Pipelines over a trace.

use super::family::Family;
use super::sets::Spans;
use super::steps::{self, Step};
use super::{Slots, Structure, Trace};
use crate::ast::Pipeline;
use crate::error::QueryError;
use crate::value::OwnedValue;

/// Lists of spans that are kept for reuse: more are in use at once only in strange queries.
const MAX_KEPT: usize = 16;

/// A pipeline that is ready to be run over traces.
#[derive(Debug, Clone)]
pub struct Evaluator {
    steps: Vec<Step>,
    needs_structure: bool,
    needs_family: bool,
    scratch: Scratch,
}

/// Spans of one trace that belong together in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanset {
    /// The numbers of the spans, in ascending order.
    pub spans: Vec<u32>,
    /// What was found out about them: `count()`, `avg(duration)`, `by(name)`.
    pub attributes: Vec<(String, OwnedValue)>,
}

/// Memory that is used again for the next trace.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    pub(super) structure: Structure,
    pub(super) family: Family,
    lists: Vec<Vec<u32>>,
}

impl Scratch {
    /// An empty list.
    pub(super) fn take(&mut self) -> Vec<u32> {
        self.lists.pop().unwrap_or_default()
    }

    /// Keeps a list for later.
    pub(super) fn give(&mut self, mut list: Vec<u32>) {
        if self.lists.len() < MAX_KEPT {
            list.clear();
            self.lists.push(list);
        }
    }
}

impl Evaluator {
    /// Compiles a pipeline. The names it reads get their numbers in `slots`.
    pub fn new(pipeline: &Pipeline, slots: &mut Slots) -> Result<Evaluator, QueryError> {
        let steps = steps::compile(pipeline, slots)?;
        Ok(Evaluator {
            needs_structure: steps.iter().any(Step::needs_structure),
            needs_family: steps.iter().any(Step::needs_family),
            steps,
            scratch: Scratch::default(),
        })
    }

    /// The spansets of a trace that pass all stages; none if it does not match.
    ///
    /// A pipeline that does not begin with spansets begins with all spans of the trace. Structural
    /// operators see spans of all spansets, so they give one. [`Stage::Select`] changes nothing:
    /// it is about what answers show.
    ///
    /// [`Stage::Select`]: crate::ast::Stage::Select
    pub fn evaluate(&mut self, trace: &impl Trace) -> Vec<Spanset> {
        if self.needs_structure {
            self.scratch.structure.read(trace);
        }
        if self.needs_family {
            self.scratch.family.read(trace);
        }
        steps::run(&self.steps, trace, Spans::All(trace.spans()), &mut self.scratch)
    }
}
