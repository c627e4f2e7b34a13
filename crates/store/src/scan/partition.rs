//! A share of a scan: batches, pulled one by one on the caller's thread.
//!
//! Rows in no order: where a granule has many, they become a batch of their own,
//! whose columns are made at once; where it has few, they are gathered until
//! there are enough for a batch.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::direct::Picked;
use super::ordered::Ordered;
use super::points::Points;
use super::predicate::Elements;
use super::project::{BatchError, Pick};
use super::work::{Readers, TooLarge, Unit, Work};
use super::{Order, ScanStats};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_ROWS;
use crate::pages::GRANULE_ROWS;

/// Rows of a granule that are worth a batch of their own.
const OWN_BATCH_ROWS: usize = 512;

/// A batch to be made.
#[derive(Debug)]
enum Job {
    /// Of rows wherever they lie.
    Rows(Vec<RowRef>),
    /// Of rows of one granule.
    Granule(Pick),
    /// Of so many rows, without columns.
    Count(usize),
}

/// Where the rows of a batch lie. Sources are counted as they were given to
/// [`Prepared::new`](super::Prepared::new).
#[derive(Debug, Clone)]
pub enum BatchRows {
    /// In one granule of a source: its first row, and places behind that.
    Granule {
        /// Which source.
        source: u32,
        /// The granule's first row.
        first: u32,
        /// Rows behind it; `None` for all, one after another.
        rows: Option<Vec<u32>>,
    },
    /// Anywhere.
    Rows(Vec<RowRef>),
    /// That was not asked for.
    Unknown,
}

impl BatchRows {
    /// The place of a row of the batch.
    pub fn at(&self, row: usize) -> RowRef {
        match self {
            Self::Granule { source, first, rows } => {
                let behind = match rows {
                    Some(rows) => rows.get(row).copied().unwrap_or(0),
                    None => row as u32,
                };
                RowRef { source: *source, row: first + behind }
            }
            Self::Rows(rows) => rows.get(row).copied().unwrap_or(RowRef { source: 0, row: 0 }),
            Self::Unknown => RowRef { source: 0, row: 0 },
        }
    }
}

/// How rows are found.
#[derive(Debug)]
enum Way {
    /// As they come.
    Any,
    /// In order; found at the first call, by one partition.
    Ordered(Option<Ordered>),
    /// Points of series.
    Points(Box<Points>),
}

/// A share of a scan, see [`Work::partition`].
#[derive(Debug)]
pub struct Partition {
    work: Arc<Work>,
    readers: Readers,
    stats: ScanStats,
    way: Way,
    jobs: VecDeque<Job>,
    /// Rows of granules that have few.
    pending: Vec<RowRef>,
    /// The part that was read last.
    last_part: Option<u32>,
    is_done: bool,
    /// Where the rows of the last batch lie, if that is kept.
    rows: Option<BatchRows>,
}

impl Drop for Partition {
    fn drop(&mut self) {
        self.end();
    }
}

impl Partition {
    pub(super) fn new(work: Arc<Work>) -> Self {
        let prepared = &work.prepared;
        let way = match (prepared.elements, prepared.order) {
            (Some(Elements::Points), _) => Way::Points(Box::new(Points::new(prepared))),
            (_, Order::Any) => Way::Any,
            _ => Way::Ordered(None),
        };
        Self {
            readers: Readers::new(prepared),
            work,
            stats: ScanStats::default(),
            way,
            jobs: VecDeque::new(),
            pending: Vec::new(),
            last_part: None,
            is_done: false,
            rows: None,
        }
    }

    /// The next batch, of at most
    /// [`SCAN_BATCH_ROWS`](crate::limits::SCAN_BATCH_ROWS) rows; `None` when there
    /// is nothing left to do. Computes and reads files on the calling thread.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let next = self.advance();
        match &next {
            Ok(Some(batch)) => self.stats.rows_matched += batch.num_rows(),
            Ok(None) => self.end(),
            Err(_) => self.stop(),
        }
        next
    }

    /// The next batch, and if `keeps_rows` where its rows lie; for rows in no order.
    pub fn next_rows(
        &mut self,
        keeps_rows: bool,
    ) -> Result<Option<(RecordBatch, BatchRows)>, StoreError> {
        self.rows = keeps_rows.then_some(BatchRows::Unknown);
        let batch = self.next_batch()?;
        Ok(batch.map(|batch| (batch, self.rows.take().unwrap_or(BatchRows::Unknown))))
    }

    /// Remembers where the rows of a batch lie.
    fn keep_rows(&mut self, rows: impl FnOnce(&dyn Fn(u32) -> u32) -> BatchRows) {
        if let Some(kept) = &mut self.rows {
            let parts = &self.work.prepared.parts;
            *kept = rows(&|part| parts[part as usize].nth as u32);
        }
    }

    /// Tells all partitions that no more is wanted.
    pub fn stop(&mut self) {
        self.work.stop();
        self.end();
    }

    fn end(&mut self) {
        self.is_done = true;
        self.work.add_stats(&std::mem::take(&mut self.stats));
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        loop {
            let batch = match &mut self.way {
                Way::Points(points) => {
                    points.next(&self.work, &mut self.readers, &mut self.stats)?
                }
                Way::Ordered(ordered) => {
                    if ordered.is_none() && !self.work.take_order() {
                        return Ok(None);
                    }
                    let ordered = ordered.get_or_insert_with(Ordered::default);
                    ordered.next(&self.work, &mut self.readers, &mut self.stats)?
                }
                Way::Any => {
                    let Some(job) = self.next_job()? else { return Ok(None) };
                    let Some(batch) = self.make(job)? else { continue };
                    Some(batch)
                }
            };
            // Rows in order are cut to the limit as they are found.
            return match batch {
                Some(batch) if matches!(self.way, Way::Ordered(_)) => Ok(Some(batch)),
                Some(batch) => Ok(self.work.claim(batch)),
                None => Ok(None),
            };
        }
    }

    /// What is to be made next; looks for rows until there is something.
    fn next_job(&mut self) -> Result<Option<Job>, StoreError> {
        loop {
            if let Some(job) = self.jobs.pop_front() {
                return Ok(Some(job));
            }
            let enough = self.work.wanted().map_or(SCAN_BATCH_ROWS, |w| w.min(SCAN_BATCH_ROWS));
            if enough == 0 {
                return Ok(None);
            }
            if self.pending.len() >= enough {
                return Ok(Some(Job::Rows(self.pending.drain(..enough).collect())));
            }
            match self.work.take_unit() {
                Some(unit) => self.visit(unit, enough)?,
                None if self.pending.is_empty() => return Ok(None),
                None => return Ok(Some(Job::Rows(std::mem::take(&mut self.pending)))),
            }
        }
    }

    /// Finds the rows of a granule.
    fn visit(&mut self, unit: Unit, enough: usize) -> Result<(), StoreError> {
        if self.last_part.replace(unit.part) != Some(unit.part) && self.pending.is_empty() {
            // Granules come part by part: what was kept of others is not needed.
            self.readers.forget_all_but(unit.part as usize);
        }
        let prepared = self.work.prepared.clone();
        let mask = prepared.find(unit, &mut self.readers, &mut self.stats)?;
        let (part, granule) = (unit.part, unit.granule as usize);
        let total = prepared.parts[part as usize].rows(granule).len();
        let passing = mask.count();
        if passing == 0 {
            return Ok(());
        }
        if let Some(Elements::List(list)) = prepared.elements {
            return self.visit_elements(list, unit, mask.rows());
        }
        if prepared.projection.columns.is_empty() {
            self.jobs.push_back(Job::Count(passing.min(enough)));
        } else if passing >= OWN_BATCH_ROWS.min(enough) {
            let rows = match passing.min(enough) {
                wanted if wanted == total => Picked::All(total),
                wanted => Picked::Rows(mask.rows().take(wanted).collect()),
            };
            self.jobs.push_back(Job::Granule(Pick { part, granule, rows, elements: None }));
        } else {
            let first = (granule * GRANULE_ROWS) as u32;
            self.pending.extend(mask.rows().map(|row| RowRef { source: part, row: first + row }));
        }
        Ok(())
    }

    /// Makes jobs of the elements of rows of a granule.
    fn visit_elements(
        &mut self,
        list: usize,
        unit: Unit,
        alive: impl Iterator<Item = u32>,
    ) -> Result<(), StoreError> {
        let prepared = self.work.prepared.clone();
        let (part, granule) = (unit.part, unit.granule as usize);
        let granule_rows = prepared.parts[part as usize].rows(granule);
        let members = &prepared.projection.members;
        let reader = self.readers.of(part as usize);
        let found = reader
            .list(list, members, granule, &mut self.stats)
            .and_then(|piece| Ok((piece.pairs(granule_rows, alive)?, piece)));
        let ((rows, elements), piece) = match found {
            Ok(found) => found,
            Err(error) => return prepared.tolerate(part, error),
        };
        let batches = rows.chunks(SCAN_BATCH_ROWS).zip(elements.chunks(SCAN_BATCH_ROWS));
        self.jobs.extend(batches.map(|(rows, elements)| {
            if prepared.projection.columns.is_empty() {
                return Job::Count(rows.len());
            }
            let elements = Some((piece.clone(), Picked::Rows(elements.to_vec())));
            Job::Granule(Pick { part, granule, rows: Picked::Rows(rows.to_vec()), elements })
        }));
        Ok(())
    }

    /// The batch of a job; `None` if it has to be done in parts, or if what it
    /// needs is damaged.
    fn make(&mut self, job: Job) -> Result<Option<RecordBatch>, StoreError> {
        let prepared = self.work.prepared.clone();
        prepared.check_cancelled()?;
        match job {
            Job::Count(rows) => prepared.projection.count(rows).map(Some),
            Job::Rows(mut rows) => {
                match prepared.batch(&mut rows, &mut self.readers, &mut self.stats)? {
                    Ok(batch) => {
                        self.keep_rows(|source_of| {
                            let place =
                                |row: RowRef| RowRef { source: source_of(row.source), ..row };
                            BatchRows::Rows(rows.into_iter().map(place).collect())
                        });
                        Ok(batch)
                    }
                    Err(TooLarge) => {
                        let second = rows.split_off(rows.len() / 2);
                        self.jobs.push_front(Job::Rows(second));
                        self.jobs.push_front(Job::Rows(rows));
                        Ok(None)
                    }
                }
            }
            Job::Granule(pick) if prepared.is_damaged(pick.part) => Ok(None),
            Job::Granule(pick) => {
                match prepared.projection.granule(&pick, &mut self.readers, &mut self.stats) {
                    Ok(batch) => {
                        self.keep_rows(|source_of| BatchRows::Granule {
                            source: source_of(pick.part),
                            first: (pick.granule * GRANULE_ROWS) as u32,
                            rows: match pick.rows {
                                Picked::All(_) => None,
                                Picked::Rows(rows) => Some(rows),
                            },
                        });
                        Ok(Some(batch))
                    }
                    Err(BatchError::Part(part, error)) => {
                        prepared.tolerate(part, error).map(|()| None)
                    }
                    Err(BatchError::TooLarge) => {
                        let (first, second) = pick.halves();
                        self.jobs.push_front(Job::Granule(second));
                        self.jobs.push_front(Job::Granule(first));
                        Ok(None)
                    }
                }
            }
        }
    }
}
