//! What is kept in memory for a while goes by itself, also where nobody asks any more.
//!
//! However much is added and pushed out again meanwhile, one task waits for what will be too old next,
//! and ends when nothing is left. It holds nothing of what is kept while it waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::Notify;

/// Things that are kept for a while.
pub(crate) trait Ages: Send + 'static {
    /// Drops what is too old.
    fn drop_old(&mut self);

    /// When something will be too old next; nothing if there is nothing.
    fn next_old(&self) -> Option<Instant>;
}

/// Things that are kept for a while, for all who ask. Clones are the same.
#[derive(Debug)]
pub(crate) struct Aging<T> {
    inner: Arc<Mutex<Inner<T>>>,
    /// Something will be too old before what is waited for.
    sooner: Arc<Notify>,
}

#[derive(Debug)]
struct Inner<T> {
    kept: T,
    /// Until when the task waits, if there is one.
    waits_until: Option<Instant>,
}

impl<T> Clone for Aging<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), sooner: self.sooner.clone() }
    }
}

impl<T: Ages> Aging<T> {
    pub(crate) fn new(kept: T) -> Self {
        let inner = Inner { kept, waits_until: None };
        Self { inner: Arc::new(Mutex::new(inner)), sooner: Arc::default() }
    }

    /// Looks at what is kept and not too old, or changes it.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        let mut inner = locked(&self.inner);
        inner.kept.drop_old();
        let done = act(&mut inner.kept);
        if let Some(next) = inner.kept.next_old() {
            match inner.waits_until {
                Some(until) if until <= next => {}
                Some(_) => {
                    inner.waits_until = Some(next);
                    self.sooner.notify_one();
                }
                None => {
                    inner.waits_until = Some(next);
                    let waiting = wait(Arc::downgrade(&self.inner), self.sooner.clone(), next);
                    tokio::spawn(waiting);
                }
            }
        }
        done
    }
}

fn locked<T>(inner: &Mutex<Inner<T>>) -> MutexGuard<'_, Inner<T>> {
    // What is kept is whole at any time.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for what will be too old next, as long as there is something.
async fn wait<T: Ages>(inner: Weak<Mutex<Inner<T>>>, sooner: Arc<Notify>, mut until: Instant) {
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = sooner.notified() => {}
        }
        let Some(inner) = inner.upgrade() else { return };
        let mut inner = locked(&inner);
        inner.kept.drop_old();
        inner.waits_until = inner.kept.next_old();
        match inner.waits_until {
            Some(next) => until = next,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Moments until which something is kept.
    #[derive(Default)]
    struct Moments(Vec<Instant>);

    impl Ages for Moments {
        fn drop_old(&mut self) {
            let now = Instant::now();
            self.0.retain(|until| *until > now);
        }

        fn next_old(&self) -> Option<Instant> {
            self.0.iter().min().copied()
        }
    }

    const LONG: Duration = Duration::from_secs(3_600);

    fn keep(kept: &Aging<Moments>, age: Duration) {
        kept.with(|moments| moments.0.push(Instant::now() + age));
    }

    fn count(kept: &Aging<Moments>) -> usize {
        // Not by `with`, which drops what is old by itself.
        locked(&kept.inner).kept.0.len()
    }

    async fn until_left(kept: &Aging<Moments>, left: usize) {
        let begun = Instant::now();
        while count(kept) > left {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is still there");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn tasks() -> usize {
        tokio::runtime::Handle::current().metrics().num_alive_tasks()
    }

    #[tokio::test]
    async fn one_task_waits_however_much_is_added_and_pushed_out() {
        let kept = Aging::new(Moments::default());
        for _ in 0..1_000 {
            keep(&kept, LONG);
            kept.with(|moments| moments.0.clear());
        }
        assert_eq!(tasks(), 1);
        keep(&kept, Duration::from_millis(1));
        until_left(&kept, 0).await;
    }

    #[tokio::test]
    async fn what_is_too_old_sooner_than_all_before_goes_in_its_time() {
        let kept = Aging::new(Moments::default());
        keep(&kept, LONG);
        // The task waits for that.
        tokio::task::yield_now().await;
        keep(&kept, Duration::from_millis(1));
        until_left(&kept, 1).await;
        assert_eq!(tasks(), 1);
    }

    #[tokio::test]
    async fn the_task_ends_with_the_last_and_another_waits_for_what_comes_then() {
        let kept = Aging::new(Moments::default());
        for _ in 0..2 {
            keep(&kept, Duration::from_millis(1));
            until_left(&kept, 0).await;
            tokio::task::yield_now().await;
            assert_eq!(tasks(), 0);
        }
    }

    #[tokio::test]
    async fn what_nobody_keeps_any_more_is_left_alone() {
        let kept = Aging::new(Moments::default());
        keep(&kept, LONG);
        let seen = Arc::downgrade(&kept.inner);
        drop(kept);
        assert!(seen.upgrade().is_none(), "what waits holds nothing");
    }
}
