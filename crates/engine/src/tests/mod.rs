//! Tests that look at the engine from inside.

mod differential;
mod plans;
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests use the rest")]
mod support;
mod tables;
mod traceql;

use crate::{Engine, EngineError, EngineOptions};
use support::Place;

fn place() -> Place {
    Place::new(EngineOptions { threads: 2, ..EngineOptions::default() })
}

/// The rows of an answer as lines. The runtime of who asks has no timer.
fn lines(engine: &Engine, query: &str) -> Result<Vec<String>, EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (_, batches) = runtime.block_on(support::batches(engine, query))?;
    Ok(support::rows(&batches))
}
