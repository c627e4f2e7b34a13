//! Work on several threads at once, within one query.

use crate::error::EngineError;

/// Does something with each, all at once, the first on this thread. All are waited for, whatever
/// one of them says.
pub(crate) fn on_each<I: Send, T: Send>(
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
