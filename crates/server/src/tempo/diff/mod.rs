//! `POST /tempo/api/v2/traces/diff`: the differences between two traces.
//!
//! Spans are the same operation if service, name and kind are the same. Of those that both traces
//! have, duration, status and attributes are compared; the others are added or removed. It takes
//! time in proportion to the spans (and sorting), however they are related: no span is lost to
//! missing parents, circles or ids that come twice.
//!
//! ```text
//! TracesData ── spans ──> tree ──┐
//!                                ├──> pairs ──> changes ──> patch ──> formats (JSON)
//! TracesData ── spans ──> tree ──┘                └─────> summary ──────┘
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `answer`, `request` | the question over HTTP, and what it says |
//! | `spans`, `tree` | a trace as it is compared |
//! | `pairs`, `changes`, `values` | which spans are one, and what differs between them |
//! | `compare`, `warnings` | all that is found |
//! | `patch`, `summary`, `services`, `formats` | documents of that |

mod answer;
mod changes;
mod compare;
#[cfg(test)]
mod fixture;
mod formats;
mod pairs;
mod patch;
mod request;
mod services;
mod spans;
mod summary;
mod tree;
mod values;
mod warnings;

pub(super) use answer::answer;
