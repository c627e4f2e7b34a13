//! Which rows of a source belong to which trace.
//!
//! Hashes of trace ids stand for the ids, as in the trace index; see
//! [`split`](super::split) for how seldom that is wrong.

use std::sync::Arc;

use super::cache::{ColumnCache, Kept, What};
use super::traces::ChunkTraces;
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::trace_index;
use crate::error::StoreError;

/// Traces of a block by row: a trace's rows lie together.
#[derive(Debug)]
pub(super) struct BlockTraces {
    /// First rows, which ascend.
    firsts: Vec<u32>,
    /// The hash of each of these traces.
    hashes: Vec<u64>,
    rows: u32,
}

impl BlockTraces {
    /// Of a block, kept for the next who asks.
    pub(super) fn of(block: &Block, cache: &ColumnCache) -> Result<Arc<Self>, StoreError> {
        let make = || -> Result<Self, StoreError> {
            let index = block.trace_index()?;
            let mut traces: Vec<(u32, u64)> =
                trace_index::iter(&index).map(|(hash, first)| (first, hash)).collect();
            traces.sort_unstable();
            let rows = block.rows() as u32;
            if traces.first().is_some_and(|(first, _)| *first != 0)
                || traces.last().is_some_and(|(first, _)| *first >= rows)
                || (traces.is_empty() && rows > 0)
            {
                return Err(StoreError::corrupt(format!("{}: trace index", block.path())));
            }
            let (firsts, hashes) = traces.into_iter().unzip();
            Ok(Self { firsts, hashes, rows })
        };
        let entry_bytes = size_of::<u32>() + size_of::<u64>();
        let bytes = block.footer().groups as usize * entry_bytes;
        let kept = cache.get_or_make(block.path(), &What::Traces, bytes, || {
            let made = make()?;
            let bytes = made.firsts.len() * entry_bytes;
            Ok((Kept::Traces(Arc::new(made)), bytes))
        })?;
        match kept {
            Some(Kept::Traces(traces)) => Ok(traces),
            _ => make().map(Arc::new),
        }
    }

    /// The place of the trace that a row belongs to.
    fn place_of(&self, row: u32) -> usize {
        self.firsts.partition_point(|first| *first <= row).saturating_sub(1)
    }

    fn end_of(&self, place: usize) -> u32 {
        self.firsts.get(place + 1).copied().unwrap_or(self.rows)
    }
}

/// Traces of a source by row.
#[derive(Debug, Clone)]
pub(super) enum TraceMap {
    Block(Arc<BlockTraces>),
    Chunk(Arc<ChunkTraces>),
}

impl TraceMap {
    pub(super) fn of(source: &Source, cache: &ColumnCache) -> Result<Self, StoreError> {
        Ok(match source {
            Source::Block(block) => Self::Block(BlockTraces::of(block, cache)?),
            Source::Chunk(chunk) => Self::Chunk(ChunkTraces::of(chunk)),
        })
    }

    /// Calls `each` with the traces of `rows`, which ascend, and the rows of each: once for each
    /// row in memory, once for each trace of a block.
    pub(super) fn each_trace<'r>(&self, rows: &'r [u32], mut each: impl FnMut(u64, &'r [u32])) {
        match self {
            Self::Chunk(traces) => {
                for row in rows.chunks(1) {
                    each(traces.hash_of(row[0]), row);
                }
            }
            Self::Block(traces) => {
                let mut rest = rows;
                let Some(first) = rest.first() else { return };
                let mut place = traces.place_of(*first);
                while let Some(first) = rest.first() {
                    while traces.end_of(place) <= *first && place + 1 < traces.firsts.len() {
                        place += 1;
                    }
                    let end = traces.end_of(place);
                    let count = rest.iter().position(|row| *row >= end).unwrap_or(rest.len());
                    let (of_trace, others) = rest.split_at(count.max(1));
                    each(traces.hashes[place], of_trace);
                    rest = others;
                }
            }
        }
    }
}

/// Rows of the trace of this hash in a source; they ascend.
pub(super) fn rows_of(
    source: &Source,
    hash: u64,
    cache: &ColumnCache,
) -> Result<Vec<u32>, StoreError> {
    let block = match source {
        Source::Chunk(chunk) => return Ok(ChunkTraces::of(chunk).rows_of(hash).to_vec()),
        Source::Block(block) => block,
    };
    let firsts: Vec<u32> = trace_index::find(&block.trace_index()?, hash).collect();
    if firsts.is_empty() {
        return Ok(Vec::new());
    }
    // Where it ends is only asked for where it is.
    let traces = BlockTraces::of(block, cache)?;
    let rows = firsts.into_iter().flat_map(|first| first..traces.end_of(traces.place_of(first)));
    Ok(rows.collect())
}
