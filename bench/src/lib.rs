//! What the benchmarks share: requests to measure with, and what a process has
//! used so far.

pub mod process;
pub mod requests;
