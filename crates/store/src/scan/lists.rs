//! Elements of lists of a granule's rows: events and links of spans.

use std::sync::Arc;

use super::ScanStats;
use super::packed::Piece;
use super::reader::Reader;
use crate::block::read::Block;
use crate::block::source::Source;
use crate::chunk::Chunk;
use crate::column::{Column, Rows};
use crate::error::StoreError;

/// The elements of the rows of one granule, or of all rows of a chunk.
#[derive(Debug)]
pub(super) enum ListPiece {
    /// All of a chunk.
    Chunk(Arc<Chunk>, usize),
    /// Of one granule of a block: elements of each row, and the members asked for.
    Granule(Vec<u32>, Vec<Option<Column>>),
}

impl ListPiece {
    /// A member over all elements, if it was asked for.
    pub(super) fn member(&self, member: usize) -> Option<&Column> {
        match self {
            Self::Chunk(chunk, list) => chunk.lists[*list].members.get(member),
            Self::Granule(_, members) => members.get(member)?.as_ref(),
        }
    }

    /// Rows, counted from the first of `granule_rows`, and elements of those rows
    /// that `alive` names, one after another.
    pub(super) fn pairs(
        &self,
        granule_rows: std::ops::Range<usize>,
        alive: impl Iterator<Item = u32>,
    ) -> Result<(Vec<u32>, Vec<u32>), StoreError> {
        let (counts, mut before) = match self {
            Self::Chunk(chunk, list) => {
                let counts = &chunk.lists[*list].counts;
                let before = counts.get(..granule_rows.start).unwrap_or_default();
                (counts.get(granule_rows).unwrap_or_default(), before.iter().sum())
            }
            Self::Granule(counts, _) => (&counts[..], 0u32),
        };
        let (mut rows, mut elements) = (Vec::new(), Vec::new());
        let mut next = 0;
        for row in alive {
            let at = row as usize;
            let (Some(skipped), Some(count)) = (counts.get(next..at), counts.get(at)) else {
                return Err(StoreError::corrupt("a list column is too short"));
            };
            before += skipped.iter().sum::<u32>();
            rows.resize(rows.len() + *count as usize, row);
            elements.extend(before..before + count);
            before += count;
            next = at + 1;
        }
        Ok((rows, elements))
    }
}

/// All elements of a member.
pub(super) fn whole(member: &Column) -> Piece<'_> {
    match member.rows {
        Rows::All => member.piece(0..member.values.len()),
        Rows::Some(_) => member.piece(0..u32::MAX as usize),
    }
}

impl Reader {
    /// The elements of a list of a granule's rows, with some of their members.
    pub(super) fn list(
        &mut self,
        list: usize,
        members: &[usize],
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Arc<ListPiece>, StoreError> {
        if let Some((last, piece)) = &self.last_list
            && *last == (list, granule)
        {
            return Ok(piece.clone());
        }
        let part = self.part();
        let piece = match &part.source {
            Source::Chunk(chunk) => ListPiece::Chunk(chunk.clone(), list),
            Source::Block(block) => read(block, list, members, granule, stats)?,
        };
        let piece = Arc::new(piece);
        self.last_list = Some(((list, granule), piece.clone()));
        Ok(piece)
    }
}

fn read(
    block: &Block,
    list: usize,
    members: &[usize],
    granule: usize,
    stats: &mut ScanStats,
) -> Result<ListPiece, StoreError> {
    let table = block.table();
    let before: usize = table.lists[..list].iter().map(|l| l.members.len()).sum();
    let first_leaf = table.fields.len() + before;
    let described = table.lists[list].members;
    let mut read: Vec<Option<Column>> = described.iter().map(|_| None).collect();
    let mut counts: Option<Vec<u32>> = None;
    // If no member is asked for, any tells how many elements there are.
    let any = [0];
    let members = if members.is_empty() { &any[..] } else { members };
    for member in members.iter().copied() {
        let field = &described[member];
        let granules = Some(granule..granule + 1);
        let (physical, nesting) = (field.kind.physical(), field.member_nesting());
        let decoded = block.leaf(first_leaf + member, physical, nesting, granules)?;
        stats.pages_read += 1;
        if counts.as_ref().is_some_and(|counts| *counts != decoded.counts) {
            return Err(StoreError::corrupt(format!("{}: lists do not match", block.path())));
        }
        let elements = decoded.counts.iter().map(|count| *count as usize).sum();
        read[member] = Some(decoded.column.fitting(elements)?);
        counts = Some(decoded.counts);
    }
    Ok(ListPiece::Granule(counts.unwrap_or_default(), read))
}
