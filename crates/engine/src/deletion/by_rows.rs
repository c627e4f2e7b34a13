//! Rows that are named one by one, where the store cannot test what is asked.

use kymo_store::deletion::Target;
use kymo_store::scan::{ColumnRef, Predicate, Scalar};
use kymo_store::schema::Signal;
use kymo_store::tables::{logs, spans};

use super::{all_of, invalid};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::DELETION_MAX_ROWS;

/// Rows that a query has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// How many rows match.
    pub(super) rows: u64,
    /// Ids of traces and of spans; empty for logs.
    pub(super) traces: Vec<[u8; 16]>,
    pub(super) spans: Vec<[u8; 8]>,
    /// Times of log records; empty for spans.
    pub(super) times: Vec<i64>,
}

impl Found {
    /// Whether there are more than can be named.
    pub(super) fn is_too_many(&self) -> bool {
        let named = [self.traces.len(), self.spans.len(), self.times.len()];
        named.into_iter().any(|named| named > DELETION_MAX_ROWS)
    }

    /// A target that names them, and passes no row that `wide` does not: one that all of them pass.
    pub(super) fn target(&self, signal: Signal, wide: Predicate) -> Target {
        let among = |field, values| Predicate::In { column: ColumnRef::Field(field), values };
        let named = match signal {
            Signal::Spans => vec![
                among(spans::field::TRACE_ID, scalars(&self.traces)),
                among(spans::field::SPAN_ID, scalars(&self.spans)),
            ],
            _ => {
                let times = self.times.iter().map(|nanos| Scalar::Int(*nanos)).collect();
                vec![among(logs::field::TIME, times)]
            }
        };
        Target { signal, predicate: all_of([wide, Predicate::And(named)]) }
    }
}

fn scalars<const N: usize>(ids: &[[u8; N]]) -> Vec<Scalar> {
    ids.iter().map(|id| Scalar::Bytes(id.to_vec())).collect()
}

/// Whether a target passes so many rows. It passes at least those that are meant, so if it does, it
/// passes no others.
pub(super) async fn passes(
    engine: &Engine,
    tenant: &str,
    target: &Target,
    rows: u64,
) -> Result<bool, EngineError> {
    let affected = engine.preview_deletion(tenant, std::slice::from_ref(target)).await?;
    Ok(affected.iter().map(|affected| affected.records).sum::<u64>() == rows)
}

pub(super) fn too_many() -> EngineError {
    invalid(format!(
        "the store cannot test this condition itself, and more than {DELETION_MAX_ROWS} records \
         match, which is too many to name: choose less time, or a condition that compares columns \
         and attributes with constants"
    ))
}

pub(super) fn not_exact() -> EngineError {
    invalid(
        "the store cannot test this condition exactly, and would delete records that do not match: \
         compare columns and attributes with constants, or delete whole traces",
    )
}
