//! Log queries: the best lines of all.
//!
//! A worker holds no more lines than are asked for: those that come first in the order of the
//! query. Lines of one time are in the order of arrival. The same line of a stream at the same
//! time counts once.
//!
//! With an interval it cannot be known which lines count before all are seen. Then a worker holds
//! more, up to a bound, and says so if the answer would depend on what it had to let go.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use crate::ast::LogExpr;
use crate::entry::Entry;
use crate::error::{EvalError, PlanError};
use crate::labels::Labels;
use crate::pipeline::Pipeline;
use crate::pipeline::needs::{Behind, Needed};
use crate::pipeline::pushdown::Pushdown;
use crate::pipeline::row::Row;
use crate::request::{Direction, Request, Times};
use crate::selection::{Names, Selection, Tested};

use super::streams::{Found, Streams};

/// A log query, ready to be answered.
#[derive(Debug, Clone)]
pub struct LogPlan(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    selection: Selection,
    pipeline: Pipeline,
    pipeline_if_tested: Pipeline,
    request: Request,
    /// The same for all workers, so that they find the same lines.
    hasher: DefaultHashBuilder,
}

impl LogPlan {
    pub(super) fn new(expr: &LogExpr, request: &Request) -> Result<Self, PlanError> {
        let Times::Range { start_nanos, end_nanos, .. } = request.times else {
            return Err(PlanError::InstantLogs);
        };
        if end_nanos < start_nanos {
            return Err(PlanError::EndBeforeStart);
        }
        let pushdown = Pushdown::new(&expr.stages);
        let is_exact = |nth: usize| pushdown.is_exact.get(nth).copied().unwrap_or_default();
        let result = Behind { labels: Names::All, line: true };
        let needed = Needed::new(&expr.stages, result.clone(), |_| false);
        let needed_if_tested = Needed::new(&expr.stages, result, is_exact);
        let selection = Selection {
            matchers: expr.matchers.clone(),
            start_nanos,
            end_nanos,
            conditions: pushdown.conditions.clone(),
            needs: needed.of_entry(),
            needs_if_tested: needed_if_tested.of_entry(),
        };
        Ok(Self(Arc::new(Inner {
            selection,
            pipeline: Pipeline::new(&expr.stages, &needed, |_| false)
                .map_err(PlanError::BadStage)?,
            pipeline_if_tested: Pipeline::new(&expr.stages, &needed_if_tested, is_exact)
                .map_err(PlanError::BadStage)?,
            request: *request,
            hasher: DefaultHashBuilder::default(),
        })))
    }

    /// Which entries are wanted.
    pub fn selection(&self) -> &Selection {
        &self.0.selection
    }

    /// Someone who takes entries.
    pub fn worker(&self, tested: Tested) -> LogWorker {
        let plan = Arc::clone(&self.0);
        let (held, hashes) = (BTreeMap::new(), BTreeSet::new());
        LogWorker { plan, tested, row: Row::default(), held, hashes, held_bytes: 0, cut: None }
    }

    /// The answer, from all workers.
    pub fn finish(&self, workers: Vec<LogWorker>) -> Result<Streams, EvalError> {
        let mut all = self.worker(Tested::No);
        for worker in workers {
            all.cut = all.cut.max(worker.cut);
            for (place, held) in worker.held {
                all.hold(place, held);
            }
        }
        all.chosen()
    }
}

/// Where a line stands in the order of the query: smaller comes first.
type Place = (i128, i128);

/// Takes entries of a log query, in any order.
#[derive(Debug)]
pub struct LogWorker {
    plan: Arc<Inner>,
    tested: Tested,
    row: Row,
    held: BTreeMap<Place, Held>,
    /// Time, hash and order of arrival of what is held: lines of one time may be many.
    hashes: BTreeSet<(i128, u64, i128)>,
    held_bytes: usize,
    /// The place of the first line that was let go although an interval may have wanted it.
    cut: Option<std::cmp::Reverse<Place>>,
}

#[derive(Debug)]
struct Held {
    found: Found,
    /// The stream that the line was stored in.
    origin: Labels,
    /// Tells the stream and the line as it was stored from others.
    hash: u64,
}

impl Held {
    /// The bytes that it takes, about.
    fn size_bytes(&self) -> usize {
        let Found { line, metadata, parsed, .. } = &self.found;
        size_of::<Self>() + line.len() + metadata.size_bytes() + parsed.size_bytes()
    }
}

impl LogWorker {
    /// The bytes of the lines that it holds, about.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Takes an entry; false if it is not among the best so far.
    pub fn push(&mut self, entry: &Entry<'_>) -> Result<bool, EvalError> {
        let selection = &self.plan.selection;
        if entry.time_nanos < selection.start_nanos || entry.time_nanos >= selection.end_nanos {
            return Ok(false);
        }
        let place = self.place(entry.time_nanos, entry.sequence);
        let is_beaten = self.held.len() >= self.capacity()
            && self.held.last_key_value().is_none_or(|(worst, _)| *worst < place);
        if is_beaten {
            if self.plan.request.interval_nanos > 0 && self.passes(entry) {
                self.let_go(place);
            }
            return Ok(false);
        }
        let Some(found) = self.apply(entry) else { return Ok(false) };
        let hash = self.plan.hasher.hash_one((entry.stream, entry.line));
        Ok(self.hold(place, Held { found, origin: entry.stream.clone(), hash }))
    }

    /// Once there are as many lines as are wanted, the time of the worst: entries beyond it (not
    /// those at it) cannot be among the best.
    pub fn worst_time_nanos(&self) -> Option<i64> {
        let is_full = self.held.len() >= self.capacity();
        let (_, worst) = self.held.last_key_value().filter(|_| is_full)?;
        Some(worst.found.time_nanos)
    }

    /// Takes an entry through the pipeline, and holds nothing.
    pub fn apply(&mut self, entry: &Entry<'_>) -> Option<Found> {
        if !self.passes(entry) {
            return None;
        }
        let labels = &self.row.labels;
        Some(Found {
            time_nanos: entry.time_nanos,
            sequence: entry.sequence,
            line: self.row.line(entry).to_owned(),
            stream: labels.stream(entry),
            metadata: labels.metadata(entry),
            parsed: labels.parsed(),
        })
    }

    fn passes(&mut self, entry: &Entry<'_>) -> bool {
        let pipeline = match self.tested {
            Tested::No => &self.plan.pipeline,
            Tested::Exact => &self.plan.pipeline_if_tested,
        };
        pipeline.run(entry, &mut self.row)
    }

    fn place(&self, time_nanos: i64, sequence: u64) -> Place {
        let sign = match self.plan.request.direction {
            Direction::Forward => 1,
            Direction::Backward => -1,
        };
        (sign * i128::from(time_nanos), sign * i128::from(sequence))
    }

    fn capacity(&self) -> usize {
        let request = &self.plan.request;
        if request.interval_nanos > 0 { request.bounds.max_entries } else { request.limit }
    }

    fn hold(&mut self, place: Place, held: Held) -> bool {
        let same_hash = (place.0, held.hash, i128::MIN)..=(place.0, held.hash, i128::MAX);
        let twin = self.hashes.range(same_hash).find_map(|(time, _, order)| {
            let known = self.held.get(&(*time, *order))?;
            let is_same = known.origin == held.origin && known.found.is_same(&held.found);
            is_same.then_some(((*time, *order), known.found.sequence))
        });
        if let Some((known, sequence)) = twin {
            // The one that came first stays.
            if sequence <= held.found.sequence {
                return false;
            }
            self.remove(known);
        }
        self.held_bytes += held.size_bytes();
        self.hashes.insert((place.0, held.hash, place.1));
        self.held.insert(place, held);
        if self.held.len() <= self.capacity() {
            return true;
        }
        let Some(worst) = self.held.last_key_value().map(|(worst, _)| *worst) else { return false };
        self.remove(worst);
        self.let_go(worst);
        worst != place
    }

    fn remove(&mut self, place: Place) {
        let Some(gone) = self.held.remove(&place) else { return };
        self.hashes.remove(&(place.0, gone.hash, place.1));
        self.held_bytes -= gone.size_bytes();
    }

    fn let_go(&mut self, place: Place) {
        self.cut = self.cut.max(Some(std::cmp::Reverse(place)));
    }

    /// The lines of the answer.
    fn chosen(self) -> Result<Streams, EvalError> {
        let Request { limit, interval_nanos, bounds, .. } = self.plan.request;
        let mut entries: Vec<Found> = Vec::new();
        for (place, held) in self.held {
            if entries.len() >= limit {
                return Ok(Streams { entries });
            }
            let is_cut = self.cut.is_some_and(|cut| cut.0 < place);
            if interval_nanos > 0 && is_cut {
                return Err(EvalError::TooManyEntries { max: bounds.max_entries });
            }
            let is_due = entries.last().is_none_or(|last| {
                last.time_nanos.abs_diff(held.found.time_nanos) >= interval_nanos.unsigned_abs()
            });
            if is_due {
                entries.push(held.found);
            }
        }
        if interval_nanos > 0 && self.cut.is_some() && entries.len() < limit {
            return Err(EvalError::TooManyEntries { max: bounds.max_entries });
        }
        Ok(Streams { entries })
    }
}
