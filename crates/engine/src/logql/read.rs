//! Reading entries: rows that a selection may want, shown to workers on several threads at once.

use std::ops::Range;
use std::sync::Arc;

use kymo_logql::entry::Entry;
use kymo_logql::selection::{Condition, Needs, Selection, Tested};
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::scan::{BatchRows, ColumnRef, Predicate, Prepared, Scalar, Scan, ScanStats, Work};
use kymo_store::schema::Signal;
use kymo_store::tables::logs::field;

use super::columns::{Layout, Rows};
use super::pushdown::{Bound, Tests};
use super::streams::{Belonging, Streams, is_selected};
use super::view::View;
use crate::error::EngineError;
use crate::limits::LOG_ROWS_PER_THREAD;
use crate::threads::on_each;

/// A source that may have entries, and what is tested of its rows.
struct Candidate {
    source: Source,
    belongings: Vec<Belonging>,
    tests: Tests,
    /// Entries of sources that came later have a greater one.
    rank: u64,
}

/// Sources that may have entries of a selection.
pub(super) struct Candidates {
    all: Vec<Candidate>,
    time: Range<i64>,
}

impl Candidates {
    /// Whether the store tests every condition that is exact.
    pub(super) fn tested(&self) -> Tested {
        match self.all.iter().all(|candidate| candidate.tests.are_exact) {
            true => Tested::Exact,
            false => Tested::No,
        }
    }
}

/// A source that is read.
pub(super) struct Piece {
    work: Arc<Work>,
    pub(super) layout: Layout,
    pub(super) belongings: Vec<Belonging>,
    rank: u64,
}

/// What is read, by source.
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    rows: usize,
}

impl View {
    /// The sources that may have entries of a selection within `time`.
    pub(super) fn candidates(
        &self,
        streams: &mut Streams<'_>,
        selection: &Selection,
        time: Range<i64>,
    ) -> Result<Candidates, EngineError> {
        let mut all = Vec::new();
        for (rank, source) in self.sources(&time)?.into_iter().enumerate() {
            self.check()?;
            match self.candidate(streams, selection, source, rank as u64) {
                Ok(found) => all.extend(found),
                Err(error) => self.tolerate(error)?,
            }
        }
        Ok(Candidates { all, time })
    }

    fn candidate(
        &self,
        streams: &mut Streams<'_>,
        selection: &Selection,
        source: Source,
        rank: u64,
    ) -> Result<Option<Candidate>, StoreError> {
        let belongings = streams.of_source(&source)?;
        let selected: Vec<(usize, &Belonging)> = belongings
            .iter()
            .enumerate()
            .filter(|(_, belonging)| is_selected(&belonging.stream, &selection.matchers))
            .collect();
        if selected.is_empty() {
            return Ok(None);
        }
        let tests = self.tests(&source, &selected, belongings.len(), &selection.conditions)?;
        Ok(Some(Candidate { source, belongings, tests, rank }))
    }

    fn tests(
        &self,
        source: &Source,
        selected: &[(usize, &Belonging)],
        origins: usize,
        conditions: &[Condition],
    ) -> Result<Tests, StoreError> {
        let context = self.context();
        let mut tests = Bound::new(source, &context.cache, selected).tests(conditions)?;
        if selected.len() < origins {
            let values = selected.iter().map(|(number, _)| Scalar::Int(*number as i64)).collect();
            let column = ColumnRef::Field(field::ORIGIN);
            tests.predicates.insert(0, Predicate::In { column, values });
        }
        Ok(tests)
    }

    /// Makes ready to read what is needed of some candidates.
    pub(super) fn pieces(
        &self,
        candidates: Candidates,
        needs: &Needs,
    ) -> Result<Pieces, EngineError> {
        let mut pieces = Pieces { all: Vec::new(), rows: 0 };
        let time = candidates.time;
        for candidate in candidates.all {
            self.check()?;
            let rows = candidate.source.rows();
            match self.piece(candidate, needs, &time) {
                Ok(piece) => {
                    pieces.rows += rows;
                    pieces.all.push(piece);
                }
                Err(error) => self.tolerate(error)?,
            }
        }
        Ok(pieces)
    }

    fn piece(
        &self,
        candidate: Candidate,
        needs: &Needs,
        time: &Range<i64>,
    ) -> Result<Piece, StoreError> {
        let Candidate { source, belongings, tests, rank } = candidate;
        let layout = Layout::new(&source, needs)?;
        let scan = Scan {
            columns: layout.columns.clone(),
            predicate: (!tests.predicates.is_empty()).then_some(Predicate::And(tests.predicates)),
            time: Some(time.clone()),
            ..Scan::default()
        };
        let prepared = Prepared::new(&[source], Signal::Logs, &scan, self.context())?;
        Ok(Piece { work: prepared.start(), layout, belongings, rank })
    }

    /// A damaged block is left out of the answer; other errors are those of the question.
    fn tolerate(&self, error: StoreError) -> Result<(), EngineError> {
        match error {
            StoreError::Corrupt(_) => {
                tracing::warn!(%error, "a damaged block is left out of the answer");
                self.count(&ScanStats { blocks_skipped_damaged: 1, ..ScanStats::default() });
                Ok(())
            }
            error => Err(self.failed(error)),
        }
    }

    /// Shows all rows of some pieces, each to one of the workers, batch by batch.
    pub(super) fn read<W: Send>(
        &self,
        pieces: &Pieces,
        workers: &mut [W],
        show: impl Fn(&mut W, &Batch<'_>) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let threads = (pieces.rows / LOG_ROWS_PER_THREAD).clamp(1, workers.len().max(1));
        on_each(workers.iter_mut().take(threads), |worker| {
            pieces.all.iter().try_for_each(|piece| self.read_share(piece, worker, &show))
        })?;
        pieces.all.iter().for_each(|piece| self.count(&piece.work.stats()));
        Ok(())
    }

    /// Shows rows of a piece until nothing is left that others have not taken.
    fn read_share<W>(
        &self,
        piece: &Piece,
        worker: &mut W,
        show: &impl Fn(&mut W, &Batch<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut partition = piece.work.partition();
        loop {
            let next = partition.next_rows(true).map_err(|error| self.failed(error))?;
            let Some((batch, places)) = next else { return Ok(()) };
            self.check()?;
            let (rows, count) = (Rows::new(&piece.layout, &batch), batch.num_rows());
            if let Err(error) = show(worker, &Batch { piece, rows, places, count }) {
                partition.stop();
                return Err(error);
            }
        }
    }
}

/// Rows that were read together.
pub(super) struct Batch<'b> {
    pub(super) piece: &'b Piece,
    pub(super) rows: Rows<'b>,
    pub(super) count: usize,
    places: BatchRows,
}

impl Batch<'_> {
    /// What a row has in common with others.
    pub(super) fn belonging(&self, row: usize) -> Option<&Belonging> {
        self.piece.belongings.get(self.rows.origin(row))
    }

    /// Shows each row as an entry.
    pub(super) fn each_entry(
        &self,
        needs: &Needs,
        detects_level: bool,
        mut show: impl FnMut(&Entry<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for row in 0..self.count {
            let Some(belonging) = self.belonging(row) else { continue };
            let mut metadata = self.rows.metadata(row, belonging, needs);
            let line = self.rows.line(row);
            if detects_level {
                super::level::add(&mut metadata, &belonging.stream, line);
            }
            let metadata: Vec<(&str, &str)> =
                metadata.iter().map(|(name, value)| (&**name, &**value)).collect();
            show(&Entry {
                time_nanos: self.rows.time_nanos(row),
                sequence: self.piece.rank << 32 | u64::from(self.places.at(row).row),
                line,
                stream: &belonging.stream,
                metadata: &metadata,
            })?;
        }
        Ok(())
    }
}
