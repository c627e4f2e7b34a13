//! The three tables: which columns they have, and how requests become rows.

pub(crate) mod duplicates;
pub mod logs;
pub mod order;
pub mod series;
pub mod spans;
pub(crate) mod spans_block;
