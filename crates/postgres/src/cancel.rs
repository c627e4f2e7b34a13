//! Queries that can be cancelled from another connection, by a number and a secret.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;

/// All connections, by number.
#[derive(Debug, Default)]
pub(crate) struct Cancels(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: i32,
    connections: HashMap<i32, Connection>,
}

#[derive(Debug)]
struct Connection {
    secret: i32,
    /// Counts how often its query was to be cancelled.
    wanted: watch::Sender<u64>,
}

/// A connection that is known by its number as long as this lives.
#[derive(Debug)]
pub(crate) struct Known {
    cancels: Arc<Cancels>,
    pub(crate) pid: i32,
    pub(crate) secret: i32,
    wanted: watch::Receiver<u64>,
}

impl Cancels {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that begins; none if the system has no random numbers for its secret.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Known> {
        let mut secret = [0; 4];
        SystemRandom::new().fill(&mut secret).ok()?;
        let secret = i32::from_be_bytes(secret);
        let (sender, wanted) = watch::channel(0);
        let mut state = self.state();
        let mut pid = state.last;
        loop {
            pid = if pid == i32::MAX { 1 } else { pid + 1 };
            // There are far fewer connections than numbers.
            if !state.connections.contains_key(&pid) {
                break;
            }
        }
        state.last = pid;
        state.connections.insert(pid, Connection { secret, wanted: sender });
        drop(state);
        Some(Known { cancels: self.clone(), pid, secret, wanted })
    }

    /// Cancels what a connection runs, if the secret is its own.
    pub(crate) fn cancel(&self, pid: i32, secret: i32) {
        let state = self.state();
        if let Some(connection) = state.connections.get(&pid)
            && connection.secret == secret
        {
            connection.wanted.send_modify(|times| *times = times.wrapping_add(1));
        }
    }
}

impl Known {
    /// A query begins: what was wanted before does not concern it.
    pub(crate) fn query_begins(&mut self) {
        self.wanted.borrow_and_update();
    }

    /// Ends when the query is to be cancelled.
    pub(crate) async fn wanted(&mut self) {
        if self.wanted.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.cancels.state().connections.remove(&self.pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn only_the_secret_cancels_and_only_what_runs() {
        let cancels = Arc::new(Cancels::default());
        let (mut one, mut other) = (cancels.begin().unwrap(), cancels.begin().unwrap());
        assert_ne!(one.pid, other.pid);
        cancels.cancel(one.pid, one.secret.wrapping_add(1));
        assert!(one.wanted().now_or_never().is_none());
        cancels.cancel(one.pid, one.secret);
        one.query_begins();
        assert!(one.wanted().now_or_never().is_none(), "that was for the query before");
        cancels.cancel(one.pid, one.secret);
        assert!(one.wanted().now_or_never().is_some());
        assert!(other.wanted().now_or_never().is_none());
        let pid = one.pid;
        drop(one);
        cancels.cancel(pid, 0);
        assert_eq!(cancels.state().connections.len(), 1);
    }
}
