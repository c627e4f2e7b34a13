//! Where the rows of a new block come from: chunks of the head, or blocks that
//! are joined. Both give the same columns.

use std::borrow::Cow;
use std::sync::Arc;

use super::read::Block;
use crate::chunk::Chunk;
use crate::column::{Column, Dict, Lists};
use crate::error::StoreError;
use crate::schema::{AttributeKey, Table};

/// Rows of a chunk or a block.
#[derive(Debug, Clone)]
pub enum Source {
    /// Rows in memory.
    Chunk(Arc<Chunk>),
    /// Rows of a block, read column by column.
    Block(Arc<Block>),
}

impl Source {
    /// How many rows.
    pub fn rows(&self) -> usize {
        match self {
            Source::Chunk(chunk) => chunk.rows,
            Source::Block(block) => block.rows(),
        }
    }

    /// Their table.
    pub fn table(&self) -> &'static Table {
        match self {
            Source::Chunk(chunk) => chunk.table,
            Source::Block(block) => block.table(),
        }
    }

    /// Rows that readers must not see; `None` if they may see all.
    pub fn hidden(&self) -> Option<&[bool]> {
        match self {
            Source::Chunk(_) => None,
            Source::Block(block) => block.hidden(),
        }
    }

    /// A fixed column; `None` if no row has a value, or if it is derived.
    pub fn field(&self, field: usize) -> Result<Option<Cow<'_, Column>>, StoreError> {
        match self {
            Source::Chunk(chunk) => Ok(chunk.fields[field].as_ref().map(Cow::Borrowed)),
            Source::Block(block) => Ok(Some(Cow::Owned(block.field_as_sent(field)?))),
        }
    }

    /// A list column.
    pub fn list(&self, list: usize) -> Result<Cow<'_, Lists>, StoreError> {
        match self {
            Source::Chunk(chunk) => Ok(Cow::Borrowed(&chunk.lists[list])),
            Source::Block(block) => Ok(Cow::Owned(block.list(list)?)),
        }
    }

    /// Keys of the attribute columns, with the number of rows that have each.
    pub fn attributes(&self) -> Vec<(AttributeKey, usize)> {
        match self {
            Source::Chunk(chunk) => {
                chunk.attributes.iter().map(|(k, c)| (k.clone(), c.values.len())).collect()
            }
            Source::Block(block) => {
                block.attributes().iter().map(|a| (a.key.clone(), a.count)).collect()
            }
        }
    }

    /// The attribute column at that place of [`Self::attributes`].
    pub fn attribute(&self, nth: usize) -> Result<Cow<'_, Column>, StoreError> {
        match self {
            Source::Chunk(chunk) => Ok(Cow::Borrowed(&chunk.attributes[nth].1)),
            Source::Block(block) => Ok(Cow::Owned(block.attribute(nth)?)),
        }
    }

    /// Encoded origins by number.
    pub fn origins(&self) -> Result<Cow<'_, Dict>, StoreError> {
        match self {
            Source::Chunk(chunk) => Ok(Cow::Borrowed(&chunk.origins)),
            Source::Block(block) => Ok(Cow::Owned(Dict::clone(&*block.origins()?))),
        }
    }

    /// Encoded shapes by number.
    pub fn shapes(&self) -> Result<Cow<'_, Dict>, StoreError> {
        match self {
            Source::Chunk(chunk) => Ok(Cow::Borrowed(&chunk.shapes)),
            Source::Block(block) => Ok(Cow::Owned(Dict::clone(&*block.shapes()?))),
        }
    }
}

/// A row of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowRef {
    /// Which source.
    pub source: u32,
    /// Which of its rows.
    pub row: u32,
}
