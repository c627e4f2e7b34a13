//! Scraping real servers over real sockets.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod access;
mod changes;
mod fixture;
mod hostile;
mod plain;
mod server;
mod sinks;
