//! How long one panel, or the variables of a dashboard, may be worked on. What a dashboard asks for is
//! bounded in many places, but their product is not.
//!
//! The end is kept with the thread instead of handed from function to function: such work runs on one
//! thread from its beginning to its end, and what takes long, such as an expression that goes back and
//! forth, lies deep in what knows of nothing but a text. Who has set no end is never stopped.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// After so many rows it is looked at the clock.
const ROWS_PER_LOOK: usize = 1_000;

thread_local! {
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does some work, all of it on this thread, of which no more is begun when the time is over.
pub fn within<T>(time: Duration, work: impl FnOnce() -> T) -> T {
    let _before = Before(END.replace(Some(Instant::now() + time)));
    work()
}

/// The end that was set before, to be set again whatever becomes of the work.
struct Before(Option<Instant>);

impl Drop for Before {
    fn drop(&mut self) {
        END.set(self.0);
    }
}

/// Whether the time is over.
pub fn is_over() -> bool {
    END.get().is_some_and(|end| Instant::now() >= end)
}

/// Refuses to go on when the time is over.
pub(crate) fn check() -> Result<(), String> {
    if is_over() {
        return Err("it takes too long".to_owned());
    }
    Ok(())
}

/// The same where there are many rows: at some of them.
pub(crate) fn check_at(row: usize) -> Result<(), String> {
    if row.is_multiple_of(ROWS_PER_LOOK) { check() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_holds_for_the_work_alone() {
        assert!(!is_over());
        within(Duration::ZERO, || {
            assert!(is_over());
            assert!(check_at(0).is_err() && check_at(1).is_ok());
            within(Duration::from_secs(3_600), || assert!(!is_over()));
            assert!(is_over());
        });
        assert!(!is_over());
    }
}
