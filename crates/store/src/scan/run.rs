//! A scan run from its begin to its end, on threads of its own.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use super::ordered::UNITS_PER_THREAD;
use super::predicate::Elements;
use super::{Order, Prepared, ScanStats, Sink};
use crate::error::StoreError;

impl Prepared {
    /// Runs the scan on as many threads as it may use: `sink` gets batches of at
    /// most [`SCAN_BATCH_ROWS`](crate::limits::SCAN_BATCH_ROWS) rows, on this
    /// thread.
    pub fn run(self: &Arc<Self>, sink: &mut Sink<'_>) -> Result<ScanStats, StoreError> {
        let work = self.start();
        let enough = match self.elements {
            // A granule of series is much work.
            Some(Elements::Points) => work.units.len(),
            _ => work.units.len() / UNITS_PER_THREAD,
        };
        let threads = self.context.threads.min(enough).max(1);
        if threads == 1 || self.order != Order::Any {
            let mut partition = work.partition();
            while let Some(batch) = partition.next_batch()? {
                if sink(batch)?.is_break() {
                    partition.stop();
                }
            }
            drop(partition);
            return Ok(work.stats());
        }
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(threads);
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    let (sender, mut partition) = (sender.clone(), work.partition());
                    scope.spawn(move || {
                        while let Some(batch) = partition.next_batch()? {
                            // If nobody takes batches any more, the scan is over.
                            if sender.send(batch).is_err() {
                                partition.stop();
                            }
                        }
                        Ok(ScanStats::default())
                    })
                })
                .collect();
            drop(sender);
            let mut taken = Ok(ControlFlow::Continue(()));
            for batch in &batches {
                taken = sink(batch);
                if !matches!(taken, Ok(ControlFlow::Continue(()))) {
                    break;
                }
            }
            drop(batches);
            let joined = join(workers, &mut ScanStats::default());
            taken.and(joined)
        })?;
        Ok(work.stats())
    }
}

/// Runs the same work on so many threads; the first error counts.
pub(super) fn on_threads<T: Send>(
    threads: usize,
    work: impl Fn() -> Result<T, StoreError> + Sync,
) -> Result<Vec<T>, StoreError> {
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All are waited for, whatever the first says.
        joined.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Waits for workers and adds up what they did; the first error counts.
pub(super) fn join(
    workers: Vec<std::thread::ScopedJoinHandle<'_, Result<ScanStats, StoreError>>>,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let mut result = Ok(());
    for worker in workers {
        match worker.join() {
            Ok(Ok(done)) => stats.add(&done),
            Ok(Err(error)) => result = result.and(Err(error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    result
}
