//! The store: head, blocks, commit log, compaction.
//!
//! Bytes of OTLP go in, are safe, and come out as rows: by trace, by time, by
//! attribute. One engine for all signals; a signal is a table.
//!
//! # Layout
//! | module | what it holds |
//! |---|---|
//! | [`store`] | the store of one node: opening, applying the journal |
//! | [`schema`], [`tables`] | the tables, and how requests become rows |
//! | [`column`], [`chunk`], [`origin`] | rows in memory |
//! | [`block`] | immutable files: writing, reading, their indexes |
//! | [`commit`] | node objects and generation logs |
//! | [`snapshot`] | what a query sees |
//! | [`scan`], [`otlp`], [`series`] | rows out: batches, messages, samples |
//! | [`compact`], [`garbage`] | joining blocks, retention, deleting files |
//! | [`check`] | verifying everything |
//! | [`objects`] | a directory or a bucket |
//! | [`limits`], [`options`] | bounds and settings |
//!
//! Formats are in `docs/formats/block.md` and `docs/formats/log.md`.

pub mod block;
pub mod check;
pub mod chunk;
pub mod column;
pub mod commit;
pub mod compact;
pub mod error;
mod flush;
pub mod garbage;
mod head;
mod json;
pub mod limits;
pub mod objects;
pub mod options;
pub mod origin;
pub mod otlp;
mod pages;
mod request;
pub mod scan;
pub mod schema;
pub mod series;
pub mod snapshot;
pub mod store;
pub mod tables;
mod tombstone;

pub use error::StoreError;
pub use options::Options;
pub use schema::Signal;
pub use store::Store;
