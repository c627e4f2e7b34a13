//! Traces divided among threads.

use kymo_store::scan::Walked;

use crate::error::EngineError;
use crate::limits::TRACES_PER_SHARE;
use crate::threads::on_each;

/// Lets each worker do a share of some traces that lies together; returns what each made of it, in
/// order. Few traces are done by the first alone.
pub(super) fn on_traces<W: Send, T: Send>(
    workers: &mut [W],
    traces: &[Walked],
    work: impl Fn(&mut W, &[Walked]) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    let threads = workers.len().min(traces.len() / TRACES_PER_SHARE).max(1);
    let share = traces.len().div_ceil(threads).max(1);
    let shares = workers.iter_mut().zip(traces.chunks(share));
    on_each(shares, |(worker, traces)| work(worker, traces))
}
