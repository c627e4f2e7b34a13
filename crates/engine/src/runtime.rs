//! The threads that queries run on: apart from those that receive and acknowledge.

use std::future::Future;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::clock::Clock;
use crate::error::EngineError;
use crate::limits::{QUERY_MAX_SCANS, SPARE_THREADS, STACK_BYTES};
use crate::options::EngineOptions;

/// How far queries step back: against a busy thread of the usual priority, one of theirs gets a
/// quarter of a core.
const NICENESS: i32 = 5;

/// A runtime of its own. Dropped, it waits for nobody, so that it can be dropped anywhere.
#[derive(Debug)]
pub(crate) struct QueryRuntime(Option<Runtime>);

impl QueryRuntime {
    pub(crate) fn new(options: &EngineOptions) -> Result<Self, EngineError> {
        // Scans block their threads while nobody takes their batches. There must be one for each,
        // or a join whose one side waits for the other would never end.
        let scans = options.max_running.saturating_mul(QUERY_MAX_SCANS);
        let scan_threads = scans.saturating_mul(options.partitions());
        let base = base_niceness();
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .max_blocking_threads(scan_threads.saturating_add(SPARE_THREADS))
            .thread_stack_size(STACK_BYTES)
            .thread_name("kymo-query")
            .on_thread_start(move || step_back(base))
            .enable_time()
            .build()
            .map_err(|error| EngineError::Internal(format!("cannot start threads: {error}")))?;
        Ok(Self(Some(runtime)))
    }

    /// To start tasks with.
    pub(crate) fn handle(&self) -> Result<&Handle, EngineError> {
        self.0.as_ref().map(Runtime::handle).ok_or(EngineError::Cancelled)
    }

    /// Runs what blocks on a query thread.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        joined(self.handle()?.spawn_blocking(work)).await
    }

    /// The same, with an end: after that time nobody waits for it any more.
    pub(crate) async fn blocking_within<T: Send + 'static>(
        &self,
        clock: &Clock,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        // On this runtime: that of the caller may have no timer.
        let left = clock.time_left();
        let late = self.handle()?.spawn(async move { tokio::time::sleep(left).await });
        let stop = late.abort_handle();
        let done = tokio::select! {
            biased;
            done = self.blocking(work) => done,
            _ = late => Err(clock.timeout()),
        };
        stop.abort();
        done
    }
}

impl Drop for QueryRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The priority of whoever makes the engine; `None` where queries cannot step back from it. Only
/// Linux gives a thread a priority of its own; elsewhere it would be that of the whole process.
fn base_niceness() -> Option<i32> {
    #[cfg(target_os = "linux")]
    return rustix::process::getpriority_process(None).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Lets the threads that receive and acknowledge go first where cores are scarce. A query has all
/// that they leave. A thread inherits the priority of the one that started it, which may be a
/// query thread; so it is set, not added to.
fn step_back(base: Option<i32>) {
    let Some(base) = base else { return };
    if let Err(error) = rustix::process::setpriority_process(None, base + NICENESS) {
        tracing::debug!(%error, "queries run at the priority of everything else");
    }
}

/// What is dropped on a query thread, wherever its owner is: a deep expression is dropped by
/// recursion, which takes a stack as large as theirs.
#[derive(Debug)]
pub(crate) struct Aside<T: Send + 'static> {
    value: Option<T>,
    runtime: Handle,
}

impl<T: Send + 'static> Aside<T> {
    /// To be made on a query thread.
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), runtime: Handle::current() }
    }

    /// The value, for a thread with a stack of that size, or to hand on.
    pub(crate) fn into_inner(mut self) -> Result<T, EngineError> {
        // Always there: only this and `drop` take it.
        self.value.take().ok_or(EngineError::Cancelled)
    }
}

impl<T: Send + 'static> Drop for Aside<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            drop(self.runtime.spawn_blocking(move || drop(value)));
        }
    }
}

/// The result of a task; a panic in it is an error of this program, not the end of it.
pub(crate) async fn joined<T>(
    task: impl Future<Output = Result<Result<T, EngineError>, tokio::task::JoinError>>,
) -> Result<T, EngineError> {
    match task.await {
        Ok(result) => result,
        Err(error) if error.is_cancelled() => Err(EngineError::Cancelled),
        Err(error) => Err(EngineError::Internal(panic_message(error.into_panic()))),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a query panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_step_back_once_whoever_starts_them() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let runtime = QueryRuntime::new(&EngineOptions::default()).unwrap();
        let handle = runtime.handle().unwrap();
        let expected = (niceness() + NICENESS).min(19);
        // Each is started by the one before, while that one is busy.
        let deep = handle.block_on(handle.spawn_blocking(move || {
            let inner = Handle::current();
            let second = inner.spawn_blocking(move || {
                let third = Handle::current().spawn_blocking(niceness);
                (niceness(), Handle::current().block_on(third).unwrap())
            });
            (niceness(), inner.block_on(second).unwrap())
        }));
        assert_eq!(deep.unwrap(), (expected, (expected, expected)));
        let of_task = handle.block_on(handle.spawn(async move { niceness() }));
        assert_eq!(of_task.unwrap(), expected);
    }
}
