//! The store: head, blocks, commit log, compaction.
//!
//! Bytes of OTLP go in, are safe, and come out as rows: by trace, by time, by
//! attribute. One engine for all signals; a signal is a table.
//!
//! # Layout
//! | module | what it holds |
//! |---|---|
//! | [`store`] | the store of one node: opening, threads, locks |
//! | [`apply`], `head`, `flush`, `gate` | the journal into heads, heads to blocks |
//! | `read_only` | reading beside a running server |
//! | [`owner`] | whose a data directory is |
//! | [`status`] | counts, and how things stand |
//! | [`schema`], [`tables`] | the tables, and how requests become rows |
//! | [`mod@column`], [`chunk`], [`origin`] | rows in memory |
//! | [`block`] | immutable files: writing, reading, their indexes |
//! | [`commit`] | node objects and generation logs |
//! | [`snapshot`], `pins` | what a query sees, and what stays for it |
//! | [`scan`], [`otlp`], [`series`] | rows out: batches, messages, samples |
//! | [`archive`] | copies of traces that stay when their blocks expire |
//! | [`deletion`], `tombstone` | rows that are to go for good |
//! | [`settings`] | what is set for a tenant while a store serves |
//! | [`compact`], [`garbage`], `rounds` | joining blocks, retention, deleting files |
//! | [`check`] | verifying everything |
//! | [`objects`] | a directory or a bucket |
//! | [`limits`], [`options`] | bounds and settings |
//!
//! Formats are in `docs/formats`: `block.md`, `log.md`, `archive.md`, `settings.md`, `erasures.md`.

pub mod apply;
pub mod archive;
pub mod block;
pub mod check;
pub mod chunk;
pub mod column;
pub mod commit;
pub mod compact;
pub mod deletion;
pub mod error;
mod flush;
pub mod garbage;
mod gate;
mod head;
mod json;
pub mod limits;
pub mod objects;
pub mod options;
pub mod origin;
pub mod otlp;
pub mod owner;
mod pages;
mod pins;
mod read_only;
mod request;
mod rounds;
pub mod scan;
pub mod schema;
pub mod series;
pub mod settings;
pub mod snapshot;
pub mod status;
pub mod store;
pub mod tables;
mod tombstone;

pub use error::StoreError;
pub use options::Options;
pub use schema::Signal;
pub use store::Store;
