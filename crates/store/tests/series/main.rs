//! Metrics from requests to rows, blocks, joined rows and back.
//!
//! Random requests come from seeds, which a failing test prints; `KYMO_TEST_SEED`
//! runs one seed alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod captured;
mod damage;
mod generate;
mod matching;
mod model;
mod points;
mod points_model;
#[path = "../support/random.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod random;
mod remote_write;
mod round_trip;
mod support;
