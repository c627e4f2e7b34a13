//! A trace by its id, put together from all the blocks and chunks that hold
//! spans of it.

use std::ops::Range;

use super::records::{Records, Seen};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::trace_index;
use crate::chunk::Chunk;
use crate::column::Values;
use crate::error::StoreError;
use crate::objects::ObjectsError;
use crate::pages::GRANULE_ROWS;
use crate::tables::spans::field;

/// What is known of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceResult {
    /// The encoded `TracesData`: groups in the order of their first span, spans
    /// by start, exact duplicates once.
    pub body: Vec<u8>,
    /// Spans in it.
    pub spans: usize,
    /// Blocks that could not be read because they are damaged. If there are any,
    /// spans may be missing.
    pub damaged_blocks: usize,
}

/// Finds a trace; `None` if no source has a span of it. If none has, but a block
/// is damaged, the result has no spans and says so.
///
/// Damage is logged and counted; other failures, such as a file that is gone or
/// a bucket that does not answer, are errors, since trying again may help.
pub fn trace_by_id(
    sources: &[Source],
    trace_id: &[u8; 16],
) -> Result<Option<TraceResult>, StoreError> {
    TraceResult::find(sources, 0, trace_id, &mut |_| Ok(()))
}

impl TraceResult {
    /// The same as [`trace_by_id`], as long as `go_on` says so. It is asked before each source and
    /// between parts of a large one, with the bytes that the trace takes so far, its answer
    /// included. `damaged_blocks` are those that could not even be opened.
    pub fn find(
        sources: &[Source],
        damaged_blocks: usize,
        trace_id: &[u8; 16],
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let mut finder = Finder::new(trace_id, damaged_blocks, go_on);
        for source in sources {
            finder.add(source)?;
        }
        finder.finish()
    }
}

/// Says whether to go on with so many bytes.
pub(crate) type GoOn<'a> = dyn FnMut(usize) -> Result<(), StoreError> + 'a;

/// Times its spans' bytes that reading an archived piece takes: as it is stored, as it was, and as
/// records.
const PIECE_FACTOR: usize = 3;

/// A trace while it is put together: first from what is archived of it, then from sources.
pub(crate) struct Finder<'a, 'g> {
    pub(super) trace_id: &'a [u8; 16],
    pub(super) records: Records,
    /// If something is archived: most of it is in sources too, and is not kept twice.
    seen: Option<Seen>,
    /// How many records are archived.
    archived: usize,
    damaged_blocks: usize,
    go_on: &'a mut GoOn<'g>,
}

impl<'a, 'g> Finder<'a, 'g> {
    pub(crate) fn new(
        trace_id: &'a [u8; 16],
        damaged_blocks: usize,
        go_on: &'a mut GoOn<'g>,
    ) -> Self {
        let (records, seen) = (Records::default(), None);
        Self { trace_id, records, seen, archived: 0, damaged_blocks, go_on }
    }

    /// Asks whether to go on with some bytes beside those of the trace.
    pub(crate) fn go_on_with(&mut self, more_bytes: usize) -> Result<(), StoreError> {
        // Bytes of the spans, and of the answer with some room.
        let held = self.records.writer.as_slice().len() * 9 / 4;
        (self.go_on)(held.saturating_add(more_bytes))
    }

    /// Asks whether to go on with a piece that has so many bytes of spans.
    pub(crate) fn go_on_with_piece(&mut self, spans_bytes: usize) -> Result<(), StoreError> {
        self.go_on_with(spans_bytes.saturating_mul(PIECE_FACTOR))
    }

    /// What came of reading; `None` if the bytes were wrong, which is logged and counted.
    pub(crate) fn unless_damaged<T>(
        &mut self,
        read: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if is_damage(&error) => {
                tracing::warn!(%error, "damaged: its spans are left out of a trace");
                self.damaged_blocks += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds spans that are archived.
    pub(crate) fn add_archived(&mut self, spans: &[u8]) -> Result<(), StoreError> {
        let mut part = Records::default();
        let read = part.add_request(spans);
        if self.unless_damaged(read)?.is_some() {
            self.records.add_unseen(&part, self.seen.get_or_insert_default());
            self.archived = self.records.len();
        }
        self.go_on_with(0)
    }

    /// Adds what a source has. Damage is logged and counted.
    pub(crate) fn add(&mut self, source: &Source) -> Result<(), StoreError> {
        let added = self.add_rows(source);
        self.unless_damaged(added).map(|_| ())
    }

    fn add_rows(&mut self, source: &Source) -> Result<(), StoreError> {
        self.go_on_with(0)?;
        let mut rows = match source {
            Source::Chunk(chunk) => rows_of_chunk(chunk, self.trace_id)?,
            Source::Block(block) => rows_of_block(block, self.trace_id)?.collect(),
        };
        if let Some(hidden) = source.hidden() {
            rows.retain(|row| !hidden[*row as usize]);
        }
        for rows in rows.chunks(GRANULE_ROWS) {
            match &mut self.seen {
                None => self.records.add_spans(source, rows)?,
                Some(seen) => {
                    let mut part = Records::default();
                    part.add_spans(source, rows)?;
                    self.records.add_unseen(&part, seen);
                }
            }
            self.go_on_with(0)?;
        }
        Ok(())
    }

    /// Whether nothing was found, and nothing may be missing.
    fn is_nothing(&self) -> bool {
        self.records.is_empty() && self.damaged_blocks == 0
    }

    /// The trace.
    pub(crate) fn finish(mut self) -> Result<Option<TraceResult>, StoreError> {
        self.go_on_with(0)?;
        if self.is_nothing() {
            return Ok(None);
        }
        let Self { mut records, damaged_blocks, .. } = self;
        records.sort_by_time();
        records.remove_duplicates();
        let (body, spans) = (records.request(), records.len());
        Ok(Some(TraceResult { body, spans, damaged_blocks }))
    }

    /// What of the trace is not archived, in pieces of about `piece_bytes` that `write` is given;
    /// how many spans the trace has, and damaged blocks that may have more. Before anything is
    /// written, it is asked whether reading it again will take too much.
    pub(crate) fn finish_archiving(
        mut self,
        piece_bytes: usize,
        mut write: impl FnMut(Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<Option<(usize, usize)>, StoreError> {
        if self.is_nothing() {
            return Ok(None);
        }
        // What is archived comes first, and has no duplicates.
        self.records.remove_duplicates();
        self.records.sort_by_time_from(self.archived);
        let largest_bytes = self.records.largest_from(self.archived).max(piece_bytes);
        self.go_on_with_piece(largest_bytes)?;
        for piece in self.records.requests_from(self.archived, piece_bytes) {
            write(piece)?;
        }
        Ok(Some((self.records.len(), self.damaged_blocks)))
    }
}

/// Whether reading again would fail again, because the bytes are wrong.
pub(super) fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt(_)
            | StoreError::Wire(_)
            | StoreError::Objects(ObjectsError::OutOfRange { .. })
    )
}

fn rows_of_chunk(chunk: &Chunk, trace_id: &[u8; 16]) -> Result<Vec<u32>, StoreError> {
    match chunk.fields[field::TRACE_ID].as_ref().map(|column| &column.values) {
        Some(Values::Id16(ids)) => {
            let same = ids.iter().enumerate().filter(|(_, id)| *id == trace_id);
            Ok(same.map(|(row, _)| row as u32).collect())
        }
        None if chunk.rows == 0 => Ok(Vec::new()),
        _ => Err(StoreError::corrupt("trace ids of another type")),
    }
}

/// The rows of a trace, which are neighbours in a block.
fn rows_of_block(block: &Block, trace_id: &[u8; 16]) -> Result<Range<u32>, StoreError> {
    let index = block.trace_index()?;
    // Another trace may have the same hash.
    for first in trace_index::find(&index, trace_index::trace_hash(trace_id)) {
        let end = end_of_trace(block, trace_id, first)?;
        if end > first {
            return Ok(first..end);
        }
    }
    Ok(0..0)
}

/// The row behind the last of the trace that begins at `first`, or `first` if it
/// is another trace that begins there.
fn end_of_trace(block: &Block, trace_id: &[u8; 16], first: u32) -> Result<u32, StoreError> {
    let mut end = first;
    while (end as usize) < block.rows() {
        let granule = end as usize / GRANULE_ROWS;
        let column = block.field(field::TRACE_ID, Some(granule..granule + 1))?;
        let Values::Id16(ids) = &column.values else {
            return Err(StoreError::corrupt("trace ids of another type"));
        };
        let ids = ids.get(end as usize % GRANULE_ROWS..).unwrap_or_default();
        let same = ids.iter().take_while(|id| *id == trace_id).count();
        end += same as u32;
        if same < ids.len() || same == 0 {
            break;
        }
    }
    Ok(end)
}
