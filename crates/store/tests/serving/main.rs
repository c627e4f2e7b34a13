//! The store as a server runs it: threads for applying, flushing, compaction and queries, full
//! memory, failing and hanging flushes, an idle store, a shutdown, and another process that reads.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod full;
mod idle;
mod reading;
mod spans;
mod status;
mod threads;
#[path = "../support/watched.rs"]
mod watched;
