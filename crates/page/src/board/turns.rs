//! Turns at reading sessions: each may be large, so that a few are read at once.
//!
//! Of a tenant one is read at a time, and one waits among those of other tenants: however many sessions
//! one tenant asks for, another's turn comes after one of them at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use kymo_engine::{EngineError, Tenants};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::answer::Failed;

/// Turns.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    /// The one of each tenant, as long as somebody has it or waits for it.
    of_tenants: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// A turn, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _of_tenant: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turns {
    /// So many at once.
    pub(super) fn new(count: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(count)), of_tenants: Mutex::default() }
    }

    /// The next turn of a tenant, if it comes within a time.
    pub(super) async fn take(&self, tenants: &Tenants, within: Duration) -> Result<Turn, Failed> {
        let waiting = async {
            // The tenant's own first: who waits for that is in no other tenant's way.
            let of_tenant = self.of(tenants).acquire_owned().await?;
            let of_all = self.all.clone().acquire_owned().await?;
            Ok::<Turn, AcquireError>(Turn { _of_tenant: of_tenant, _of_all: of_all })
        };
        let busy = || Failed::Engine(EngineError::Busy { retry_after: within });
        tokio::time::timeout(within, waiting).await.map_err(|_| busy())?.map_err(|_| busy())
    }

    /// The turn of a tenant. As with queries, to name others with oneself gives no second one.
    fn of(&self, tenants: &Tenants) -> Arc<Semaphore> {
        let name = tenants.names().next().unwrap_or_default();
        let mut of_tenants = self.of_tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = of_tenants.get(name).and_then(Weak::upgrade) {
            return turn;
        }
        of_tenants.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Semaphore::new(1));
        of_tenants.insert(name.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn who_asks_for_many_sessions_keeps_no_other_tenant_waiting() {
        let turns = Arc::new(Turns::new(2));
        let (many, few) = (Tenants::from("many"), Tenants::from("few"));
        let held = turns.take(&many, LONG).await.unwrap();
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let (turns, many) = (turns.clone(), many.clone());
                tokio::spawn(async move { drop(turns.take(&many, LONG).await.unwrap()) })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = turns.take(&many, SHORT).await.unwrap_err();
        assert_eq!(refused.status(), http::StatusCode::TOO_MANY_REQUESTS);
        let with_others = Tenants::new(["many", "x"].map(str::to_owned));
        assert!(turns.take(&with_others, SHORT).await.is_err(), "they wait in the same line");
        let other = turns.take(&few, SHORT).await.unwrap();
        let third = turns.take(&Tenants::from("third"), SHORT).await;
        assert!(third.is_err(), "no more than two are read at once");
        drop(other);
        assert!(turns.take(&few, SHORT).await.is_ok());
        drop(held);
        for one in waiting {
            one.await.unwrap();
        }
        drop(turns.take(&few, SHORT).await.unwrap());
        assert_eq!(turns.of_tenants.lock().unwrap().len(), 1, "who waits no more is forgotten");
    }
}
