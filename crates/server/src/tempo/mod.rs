//! Tempo's API, under `/tempo`.

mod complete;
mod traces;

pub(crate) use traces::{by_id, by_id_v2};
