//! Sessions that were read, for a while: who moves the slider of a replay asks for the same session
//! many times a second. What is too old goes by itself, also where nobody asks any more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use kymo_engine::{Engine, Tenants};
use kymo_report::Session;
use kymo_report::limits::Limits;

use super::gpus;
use super::limits::{
    HELD_ENDED, HELD_RUNNING, MAX_HELD, MAX_HELD_TASKS, MAX_ID_BYTES, MAX_TASKS, READ_AT_ONCE,
    READ_WAIT,
};
use super::stored::{StoredError, StoredSession};
use super::turns::Turns;
use crate::aging::{Ages, Aging};
use crate::answer::Failed;
use crate::times::now_nanos;

/// Sessions that were read lately. Clones are the same.
#[derive(Clone)]
pub(super) struct Held {
    kept: Aging<Sessions>,
    turns: Arc<Turns>,
}

/// The newest at the back.
#[derive(Default)]
struct Sessions(VecDeque<Kept>);

struct Kept {
    tenants: String,
    id: String,
    read_at: Instant,
    session: Arc<Session>,
}

impl Kept {
    fn fresh_until(&self) -> Instant {
        self.read_at + if self.session.has_ended { HELD_ENDED } else { HELD_RUNNING }
    }
}

impl Ages for Sessions {
    fn drop_old(&mut self) {
        let now = Instant::now();
        self.0.retain(|kept| kept.fresh_until() > now);
    }

    fn next_old(&self) -> Option<Instant> {
        self.0.iter().map(Kept::fresh_until).min()
    }
}

impl Sessions {
    fn find(&self, tenants: &str, id: &str) -> Option<Arc<Session>> {
        let found = self.0.iter().find(|kept| kept.id == id && kept.tenants == tenants)?;
        Some(found.session.clone())
    }

    fn add(&mut self, added: Kept) {
        self.0.retain(|kept| kept.id != added.id || kept.tenants != added.tenants);
        self.0.push_back(added);
        while self.0.len() > 1 && (self.0.len() > MAX_HELD || self.tasks() > MAX_HELD_TASKS) {
            self.0.pop_front();
        }
    }

    fn tasks(&self) -> usize {
        self.0.iter().map(|kept| kept.session.tasks.len()).sum()
    }
}

impl Held {
    pub(super) fn new() -> Self {
        let turns = Arc::new(Turns::new(READ_AT_ONCE));
        Self { kept: Aging::new(Sessions::default()), turns }
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
        let _turn = self.turns.take(tenants, READ_WAIT).await?;
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
        self.kept.with(|sessions| sessions.find(&tenants.to_string(), id))
    }

    fn keep(&self, tenants: &Tenants, id: &str, session: Arc<Session>) {
        let (tenants, id) = (tenants.to_string(), id.to_owned());
        let kept = Kept { tenants, id, read_at: Instant::now(), session };
        self.kept.with(|sessions| sessions.add(kept));
    }
}

#[cfg(test)]
impl Held {
    /// Turns at reading.
    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }
}
