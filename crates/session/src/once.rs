//! Something that is done once, by whoever comes first.
//!
//! The others wait for what came of it, each for as long as he likes: the lock is held while somebody
//! looks, never while something is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::clock::Deadline;

#[derive(Default)]
pub(crate) struct Once {
    state: Mutex<State>,
    /// It is done.
    done: Condvar,
}

#[derive(Default, Clone, Copy)]
enum State {
    #[default]
    Open,
    /// Somebody is at it.
    Begun,
    /// And whether it went well.
    Done(bool),
}

impl Once {
    /// Does it, unless somebody did or does; whether it went well, false if that is not known in
    /// time. A panic is one way not to go well.
    pub(crate) fn run(&self, until: Deadline, work: impl FnOnce() -> bool) -> bool {
        let mut state = self.lock();
        loop {
            match *state {
                State::Done(is_well) => return is_well,
                State::Open => break,
                State::Begun => {
                    let left = until.left();
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.done.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        *state = State::Begun;
        drop(state);
        let is_well = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
        *self.lock() = State::Done(is_well);
        self.done.notify_all();
        is_well
    }

    /// Whether it is done, well or not.
    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.lock(), State::Done(_))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_comes_second_waits_no_longer_than_he_likes_and_hears_the_same() {
        let once = Once::default();
        let long = Deadline::after(Duration::from_secs(20));
        let (enter, entered) = channel();
        let (release, released) = channel::<()>();
        std::thread::scope(|threads| {
            let first = threads.spawn(|| {
                once.run(long, move || {
                    enter.send(()).unwrap();
                    released.recv_timeout(long.left()).is_ok()
                })
            });
            entered.recv().unwrap();
            let never = || panic!("somebody is at it");
            assert!(!once.run(Deadline::after(Duration::from_millis(10)), never));
            assert!(!once.is_done());
            release.send(()).unwrap();
            assert!(once.run(long, never));
            assert!(first.join().unwrap(), "released in time");
        });
        assert!(once.is_done());
    }

    #[test]
    fn a_panic_is_an_end_like_others() {
        let once = Once::default();
        let soon = Deadline::after(Duration::ZERO);
        assert!(!once.run(soon, || panic!("on purpose")));
        assert!(once.is_done());
        assert!(!once.run(soon, || true));
    }
}
