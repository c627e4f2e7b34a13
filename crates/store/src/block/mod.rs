//! Blocks: immutable Parquet files that describe themselves.
//!
//! The format is written down in `docs/formats/block.md`.

pub(crate) mod attributes;
pub mod cache;
pub mod catalogue;
pub mod dictionaries;
pub mod filter;
pub mod footer;
mod indexes;
pub mod listing;
pub(crate) mod merge;
pub mod meta;
pub(crate) mod parquet_schema;
pub mod read;
pub mod source;
pub(crate) mod text_filter;
pub(crate) mod trace_filter;
pub mod trace_index;
pub mod write;
