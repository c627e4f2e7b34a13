//! What every span repeats of its trace: the root's name and service, the
//! trace's start and duration.
//!
//! A block has these as columns, made from the part of the trace that lies in it.
//! Rows in memory have none, and a trace may lie in several blocks and in memory
//! until compaction brings it together. A scan that asks for these fields first
//! looks which traces are in memory or in several blocks ([`super::split`]), puts
//! together what is known of them ([`super::traces`]), and shows that on all their
//! rows; all other rows are read as they are stored.
//!
//! That is relative to the sources of the scan: what lies in blocks that were left
//! out before, as outside of a range of times, is not known.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::packed::{Piece, Slice};
use super::traces::Traces;
use crate::column::{Column, Interner, Rows, Values};
use crate::error::StoreError;
use crate::tables::spans::field;

/// Which traces of a table the rows of a source belong to.
#[derive(Debug)]
enum Belonging {
    /// Each row to the trace of that number.
    Rows(Vec<u32>),
    /// Rows of these ranges, which ascend, to those traces; others to none.
    Ranges(Vec<(Range<u32>, u32)>),
}

/// What is known of the traces of a source.
#[derive(Debug)]
pub(super) struct PartTraces {
    table: Arc<Traces>,
    belonging: Belonging,
    /// Columns over all rows, for rows in memory.
    columns: [OnceLock<Arc<Column>>; 4],
}

impl PartTraces {
    /// Of rows in memory, each with the number of its trace.
    pub(super) fn of_rows(table: Arc<Traces>, numbers: Vec<u32>) -> Self {
        Self { table, belonging: Belonging::Rows(numbers), columns: Default::default() }
    }

    /// Of a block that has these traces, among others.
    pub(super) fn of_ranges(table: Arc<Traces>, ranges: Vec<(Range<u32>, u32)>) -> Self {
        Self { table, belonging: Belonging::Ranges(ranges), columns: Default::default() }
    }

    /// Whether something is known of some of these rows.
    pub(super) fn touches(&self, rows: Range<usize>) -> bool {
        match &self.belonging {
            Belonging::Rows(_) => true,
            Belonging::Ranges(ranges) => {
                let next = ranges.partition_point(|(range, _)| range.end as usize <= rows.start);
                ranges.get(next).is_some_and(|(range, _)| (range.start as usize) < rows.end)
            }
        }
    }

    /// The column of a field over all rows in memory; `None` for a block.
    pub(super) fn column(&self, field: usize) -> Option<Arc<Column>> {
        let Belonging::Rows(numbers) = &self.belonging else { return None };
        let slot = self.columns.get(field.checked_sub(field::ROOT_NAME)?)?;
        let made = slot.get_or_init(|| {
            let mut patch = Patch::new(field, numbers.len());
            for (row, number) in numbers.iter().enumerate() {
                patch.put(&self.table, *number, row);
            }
            Arc::new(patch.finish())
        });
        Some(made.clone())
    }

    /// The column of a field over the rows of a granule: as stored, but for rows
    /// of which more is known.
    pub(super) fn patch(
        &self,
        field: usize,
        stored: &Piece<'_>,
        rows: Range<usize>,
    ) -> Result<Column, StoreError> {
        let mut patch = Patch::new(field, rows.len());
        patch.take(stored)?;
        if let Belonging::Ranges(ranges) = &self.belonging {
            let next = ranges.partition_point(|(range, _)| range.end as usize <= rows.start);
            for (range, number) in &ranges[next..] {
                let (start, end) = (range.start as usize, range.end as usize);
                if start >= rows.end {
                    break;
                }
                for row in start.max(rows.start)..end.min(rows.end) {
                    patch.put(&self.table, *number, row - rows.start);
                }
            }
        }
        Ok(patch.finish())
    }
}

/// A column that is put together.
enum Patch {
    Ints(usize, Vec<i64>),
    Texts { field: usize, codes: Vec<Option<u32>>, texts: Interner },
}

impl Patch {
    fn new(field: usize, rows: usize) -> Self {
        match field {
            field::TRACE_START_TIME | field::TRACE_DURATION => Self::Ints(field, vec![0; rows]),
            _ => Self::Texts { field, codes: vec![None; rows], texts: Interner::default() },
        }
    }

    fn take(&mut self, stored: &Piece<'_>) -> Result<(), StoreError> {
        let wrong = || StoreError::corrupt("a derived column has another type");
        match (self, stored.values) {
            (Self::Ints(_, out), Slice::Int(values)) => {
                for (row, out) in out.iter_mut().enumerate() {
                    *out =
                        stored.index_of(row as u32).map(|nth| values.get(nth)).ok_or_else(wrong)?;
                }
            }
            (Self::Texts { codes, texts, .. }, Slice::Bytes(stored_codes, dict)) => {
                let mut known: Option<(u32, u32)> = None;
                for (row, out) in codes.iter_mut().enumerate() {
                    let Some(nth) = stored.index_of(row as u32) else { continue };
                    let code = stored_codes.get(nth) as u32;
                    // Rows of one trace, which are neighbours, have the same.
                    let new = match known {
                        Some((last, new)) if last == code => new,
                        _ => texts.intern(dict.get(code)),
                    };
                    known = Some((code, new));
                    *out = Some(new);
                }
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn put(&mut self, table: &Traces, number: u32, at: usize) {
        match self {
            Self::Ints(field::TRACE_START_TIME, out) => out[at] = table.start(number),
            Self::Ints(_, out) => out[at] = table.duration(number),
            Self::Texts { field, codes, texts } => {
                let text = match *field {
                    field::ROOT_NAME => table.root_name(number),
                    _ => table.root_service(number),
                };
                codes[at] = text.map(|text| texts.intern(text));
            }
        }
    }

    fn finish(self) -> Column {
        match self {
            Self::Ints(_, values) => Column { rows: Rows::All, values: Values::Int(values) },
            Self::Texts { codes, texts, .. } => {
                let rows = (0..codes.len() as u32).filter(|row| codes[*row as usize].is_some());
                let rows: Vec<u32> = rows.collect();
                let is_all = rows.len() == codes.len();
                let rows = if is_all { Rows::All } else { Rows::Some(rows) };
                let codes = codes.into_iter().flatten().collect();
                Column { rows, values: Values::Bytes(codes, Arc::new(texts.into_dict())) }
            }
        }
    }
}
