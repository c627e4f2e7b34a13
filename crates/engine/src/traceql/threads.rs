//! Work on several threads at once, within one query.

use kymo_store::scan::Walked;

use crate::error::EngineError;
use crate::limits::TRACES_PER_SHARE;

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

/// Does something with each, all at once, the first on this thread. All are waited for, whatever
/// one of them says.
pub(super) fn on_each<I: Send, T: Send>(
    items: impl Iterator<Item = I>,
    work: impl Fn(I) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    let work = &work;
    let mut items = items;
    let Some(first) = items.next() else { return Ok(Vec::new()) };
    let mut others = items.peekable();
    if others.peek().is_none() {
        return Ok(vec![work(first)?]);
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = others.map(|item| scope.spawn(move || work(item))).collect();
        let mut results = vec![work(first)];
        for other in others {
            results.push(match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
        }
        results.into_iter().collect()
    })
}
