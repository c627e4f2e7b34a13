//! Who may run: a bounded number at once, the others wait in order.
//!
//! Fair between tenants: each tenant has its own line, and the lines take turns, so that one
//! with a hundred queries does not keep another with one waiting. If there is no room to wait, the
//! last of the longest line makes room for one of a shorter line. Whoever goes away while waiting
//! is passed over.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::EngineError;
use crate::limits::RETRY_AFTER;
use crate::running::Noted;

/// The queue of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    max_running: usize,
    max_waiting: usize,
    state: Mutex<State>,
    /// How long turns took lately.
    turn_nanos: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    /// Tenants that have someone waiting, the next first.
    lines: VecDeque<Line>,
}

/// Gets a turn, or is refused after all.
type Waiter = oneshot::Sender<Result<Turn, EngineError>>;

#[derive(Debug)]
struct Line {
    tenant: String,
    waiting: VecDeque<Waiter>,
}

impl State {
    /// The next to run; its tenant goes to the end.
    fn next(&mut self) -> Option<Waiter> {
        let mut line = self.lines.pop_front()?;
        let next = line.waiting.pop_front();
        self.waiting -= usize::from(next.is_some());
        if !line.waiting.is_empty() {
            self.lines.push_back(line);
        }
        next
    }

    /// Forgets those who went away.
    fn purge(&mut self) {
        for line in &mut self.lines {
            line.waiting.retain(|sender| !sender.is_closed());
        }
        self.lines.retain(|line| !line.waiting.is_empty());
        self.waiting = self.lines.iter().map(|line| line.waiting.len()).sum();
    }

    /// The last of the longest line, if that stays at least as long as the line of a tenant who
    /// comes.
    fn displaced_by(&mut self, tenant: &str) -> Option<Waiter> {
        let own = self.lines.iter().find(|line| line.tenant == tenant);
        let own_waiting = own.map_or(0, |line| line.waiting.len());
        let longest = self.lines.iter_mut().max_by_key(|line| line.waiting.len())?;
        if own_waiting + 1 >= longest.waiting.len() {
            return None;
        }
        self.waiting -= 1;
        longest.waiting.pop_back()
    }

    fn join(&mut self, tenant: &str, sender: Waiter) {
        self.waiting += 1;
        match self.lines.iter_mut().find(|line| line.tenant == tenant) {
            Some(line) => line.waiting.push_back(sender),
            None => {
                let line = Line { tenant: tenant.to_owned(), waiting: VecDeque::from([sender]) };
                self.lines.push_back(line);
            }
        }
    }
}

/// The right to run; dropped, it goes to the next in line.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` once it was handed on.
    shared: Option<Arc<Shared>>,
    since: Instant,
    /// What it is used for, for those who look.
    noted: Option<Noted>,
}

impl Queue {
    pub(crate) fn new(max_running: usize, max_waiting: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                max_running: max_running.max(1),
                max_waiting,
                state: Mutex::default(),
                turn_nanos: AtomicU64::new(0),
            }),
        }
    }

    /// Waits for a turn; refused if too many wait already.
    pub(crate) async fn turn(&self, tenant: &str) -> Result<Turn, EngineError> {
        let mut displaced = None;
        let receiver = {
            let mut state = self.shared.lock();
            if state.running < self.shared.max_running {
                state.running += 1;
                return Ok(Turn::new(&self.shared));
            }
            if state.waiting >= self.shared.max_waiting {
                state.purge();
            }
            if state.waiting >= self.shared.max_waiting {
                let busy = EngineError::Busy { retry_after: self.shared.retry_after(&state) };
                match state.displaced_by(tenant) {
                    Some(last) => displaced = Some((last, busy)),
                    None => return Err(busy),
                }
            }
            let (sender, receiver) = oneshot::channel();
            state.join(tenant, sender);
            receiver
        };
        if let Some((last, busy)) = displaced {
            // If it went away meanwhile, there is room as well.
            let _ = last.send(Err(busy));
        }
        // The sender is only dropped unused when the whole queue is.
        receiver.await.unwrap_or(Err(EngineError::Cancelled))
    }

    /// How many run and how many wait.
    pub(crate) fn running_and_waiting(&self) -> (usize, usize) {
        let mut state = self.shared.lock();
        state.purge();
        (state.running, state.waiting)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When those who wait now will have had their turn, if turns take as long as lately.
    fn retry_after(&self, state: &State) -> Duration {
        let turn = Duration::from_nanos(self.turn_nanos.load(Ordering::Relaxed));
        let rounds = u32::try_from(state.waiting / self.max_running).unwrap_or(u32::MAX);
        turn.saturating_mul(rounds).clamp(*RETRY_AFTER.start(), *RETRY_AFTER.end())
    }

    /// Hands a turn to the next who still waits for it.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                match state.next() {
                    Some(next) => next,
                    None => {
                        state.running -= 1;
                        return;
                    }
                }
            };
            // Sent outside the lock: a turn that nobody takes comes back here.
            match next.send(Ok(Turn::new(self))) {
                Err(Ok(mut turn)) => turn.shared = None,
                _ => return,
            }
        }
    }
}

impl Turn {
    fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Some(shared.clone()), since: Instant::now(), noted: None }
    }

    /// Says what it is used for, until it is given back.
    pub(crate) fn note(&mut self, noted: Noted) {
        self.noted = Some(noted);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // A running mean over about eight turns; a lost update does no harm.
        let mean = shared.turn_nanos.load(Ordering::Relaxed);
        shared.turn_nanos.store(mean - mean / 8 + nanos / 8, Ordering::Relaxed);
        shared.pass_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn now<T>(poll: Poll<Result<T, EngineError>>) -> T {
        match poll {
            Poll::Ready(Ok(value)) => value,
            Poll::Ready(Err(error)) => panic!("refused: {error}"),
            Poll::Pending => panic!("has to wait"),
        }
    }

    #[test]
    fn tenants_take_turns_and_each_tenants_queries_stay_in_order() {
        let queue = Queue::new(1, 10);
        let first = now(poll(pin!(queue.turn("a"))));
        let mut waiting: Vec<_> = ["a1", "a2", "b1", "a3", "b2"]
            .map(|name| (name, Box::pin(queue.turn(&name[..1]))))
            .into_iter()
            .collect();
        for (_, future) in &mut waiting {
            assert!(poll(future.as_mut()).is_pending());
        }
        let mut order = Vec::new();
        let mut turn = Some(first);
        while !waiting.is_empty() {
            drop(turn.take());
            let served = waiting.iter_mut().position(|(_, future)| match poll(future.as_mut()) {
                Poll::Ready(Ok(next)) => {
                    turn = Some(next);
                    true
                }
                _ => false,
            });
            order.push(waiting.remove(served.unwrap()).0);
        }
        assert_eq!(order, ["a1", "b1", "a2", "b2", "a3"]);
        drop(turn);
        assert_eq!(queue.running_and_waiting(), (0, 0));
    }

    #[test]
    fn one_too_many_is_refused_with_a_time_and_who_went_away_leaves_room() {
        let queue = Queue::new(1, 1);
        let turn = now(poll(pin!(queue.turn("a"))));
        let mut waits = Box::pin(queue.turn("a"));
        assert!(poll(waits.as_mut()).is_pending());
        match poll(pin!(queue.turn("a"))) {
            Poll::Ready(Err(EngineError::Busy { retry_after })) => {
                assert_eq!(retry_after, *RETRY_AFTER.start());
            }
            other => panic!("{other:?}"),
        }
        drop(waits);
        let mut waits = Box::pin(queue.turn("b"));
        assert!(poll(waits.as_mut()).is_pending());
        drop(turn);
        drop(now(poll(waits.as_mut())));
        assert_eq!(queue.running_and_waiting(), (0, 0));
    }

    #[test]
    fn a_tenant_with_a_long_line_makes_room_for_one_with_a_short_line() {
        let queue = Queue::new(1, 4);
        let turn = now(poll(pin!(queue.turn("a"))));
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(queue.turn("a"))).collect();
        assert!(waiting.iter_mut().all(|future| poll(future.as_mut()).is_pending()));
        assert!(matches!(poll(pin!(queue.turn("a"))), Poll::Ready(Err(EngineError::Busy { .. }))));
        let mut others: Vec<_> = (0..2).map(|_| Box::pin(queue.turn("b"))).collect();
        assert!(others.iter_mut().all(|future| poll(future.as_mut()).is_pending()));
        // The last two of the long line were refused; now both are as long.
        for tenant in ["a", "b"] {
            let refused = poll(pin!(queue.turn(tenant)));
            assert!(matches!(refused, Poll::Ready(Err(EngineError::Busy { .. }))));
        }
        for (nth, future) in waiting.iter_mut().enumerate() {
            match poll(future.as_mut()) {
                Poll::Ready(Err(EngineError::Busy { .. })) => assert!(nth >= 2),
                other => assert!(other.is_pending() && nth < 2),
            }
        }
        assert_eq!(queue.running_and_waiting(), (1, 4));
        drop(turn);
        drop(now(poll(waiting[0].as_mut())));
        drop(now(poll(others[0].as_mut())));
    }

    #[test]
    fn a_turn_that_was_handed_over_but_never_taken_is_not_lost() {
        let queue = Queue::new(1, 2);
        let turn = now(poll(pin!(queue.turn("a"))));
        let mut gone = Box::pin(queue.turn("a"));
        let mut stays = Box::pin(queue.turn("a"));
        assert!(poll(gone.as_mut()).is_pending() && poll(stays.as_mut()).is_pending());
        drop(turn);
        drop(gone);
        drop(now(poll(stays.as_mut())));
        drop(now(poll(pin!(queue.turn("a")))));
    }
}
