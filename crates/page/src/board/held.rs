//! Sessions that were read, for a while: who moves the slider of a replay asks for the same session
//! many times a second. What is too old goes by itself, also where nobody asks any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kymo_engine::{Engine, EngineError, Tenants};
use kymo_report::Session;
use kymo_report::limits::Limits;
use tokio::sync::Semaphore;

use super::gpus;
use super::limits::{
    HELD_ENDED, HELD_RUNNING, MAX_HELD, MAX_HELD_TASKS, MAX_ID_BYTES, MAX_TASKS, READ_WAIT,
};
use super::stored::{StoredError, StoredSession};
use crate::aging;
use crate::answer::Failed;
use crate::times::now_nanos;

/// Sessions that were read lately. Clones are the same.
#[derive(Clone)]
pub(super) struct Held {
    kept: Arc<Mutex<VecDeque<Kept>>>,
    /// One is read at a time: each may be large.
    turn: Arc<Semaphore>,
}

struct Kept {
    tenants: String,
    id: String,
    read_at: Instant,
    session: Arc<Session>,
}

impl Kept {
    fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < lasts(&self.session)
    }
}

fn lasts(session: &Session) -> Duration {
    if session.has_ended { HELD_ENDED } else { HELD_RUNNING }
}

impl Held {
    pub(super) fn new() -> Self {
        Self { kept: Arc::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    /// A session, as it was a moment ago at most.
    pub(super) async fn session(
        &self,
        engine: &Engine,
        tenants: &Tenants,
        id: &str,
    ) -> Result<Arc<Session>, Failed> {
        if !(1..=MAX_ID_BYTES).contains(&id.len()) {
            let expected = format!("expected the id of a session: 1 to {MAX_ID_BYTES} bytes");
            return Err(Failed::Invalid(expected));
        }
        if let Some(session) = self.kept(tenants, id) {
            return Ok(session);
        }
        let busy = || Failed::Engine(EngineError::Busy { retry_after: READ_WAIT });
        let turn = tokio::time::timeout(READ_WAIT, self.turn.acquire()).await;
        let _turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        // Who was before may have asked for the same.
        if let Some(session) = self.kept(tenants, id) {
            return Ok(session);
        }
        let stored = StoredSession::new(id, now_nanos(), Limits::for_tasks(MAX_TASKS));
        let session = stored.read(engine, tenants).await.map_err(|error| match error {
            StoredError::Engine(error) => Failed::Engine(error),
            error => Failed::Internal(error.to_string()),
        })?;
        let mut session = session.ok_or_else(|| {
            Failed::Unknown(format!("nothing is known of a session {id:?}: was it sent?"))
        })?;
        if let Err(error) = gpus::add(engine, tenants, &mut session).await {
            // The session is worth more than what metrics add to it.
            tracing::warn!(%error, "use of GPUs could not be read for the board of a session");
        }
        let session = Arc::new(session);
        self.keep(tenants, id, session.clone());
        Ok(session)
    }

    fn kept(&self, tenants: &Tenants, id: &str) -> Option<Arc<Session>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tenants = tenants.to_string();
        let found = kept.iter().find(|kept| kept.id == id && kept.tenants == tenants)?;
        found.is_fresh().then(|| found.session.clone())
    }

    fn keep(&self, tenants: &Tenants, id: &str, session: Arc<Session>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tenants = tenants.to_string();
        let after = lasts(&session);
        kept.retain(|kept| kept.is_fresh() && (kept.id != id || kept.tenants != tenants));
        kept.push_back(Kept { tenants, id: id.to_owned(), read_at: Instant::now(), session });
        let tasks = |kept: &VecDeque<Kept>| -> usize {
            kept.iter().map(|kept| kept.session.tasks.len()).sum()
        };
        while kept.len() > 1 && (kept.len() > MAX_HELD || tasks(&kept) > MAX_HELD_TASKS) {
            kept.pop_front();
        }
        aging::later(&self.kept, after, |kept| kept.retain(Kept::is_fresh));
    }
}

#[cfg(test)]
impl Held {
    /// How many are held.
    pub(super) fn count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
