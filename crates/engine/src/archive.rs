//! Traces that are kept beyond retention: the one thing that is written here.

use kymo_store::archive::{Archived, ArchivedTrace};

use crate::clock::Asker;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::stats::Counters;

impl Engine {
    /// Keeps a trace as it is now until it is deleted from the archive; `None` if there is no such
    /// trace. Once this returns, it survives power loss. What is archived can be read again: a
    /// trace that is too large for that is refused.
    pub async fn archive(
        &self,
        tenant: &str,
        trace_id: [u8; 16],
    ) -> Result<Option<Archived>, EngineError> {
        let mut asker = Asker::new(self.counters());
        let tenant = tenant.to_owned();
        let archived = self
            .in_turn_of_traces(&tenant.clone(), &mut asker, move |core, clock| {
                core.within_bytes(clock, |store, go_on| store.archive(&tenant, &trace_id, go_on))
            })
            .await;
        asker.answered(&archived);
        if archived.is_ok() {
            Counters::add(&self.counters().finished, 1);
        }
        archived
    }

    /// Deletes a trace from the archive; false if it was not there. What retention keeps of it
    /// stays.
    pub async fn unarchive(&self, tenant: &str, trace_id: [u8; 16]) -> Result<bool, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let deleting = move || Ok(core.reading.store.unarchive(&tenant, &trace_id)?);
        self.runtime().blocking(deleting).await
    }

    /// What a tenant has archived, the latest first.
    pub async fn archived(&self, tenant: &str) -> Result<Vec<ArchivedTrace>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let listing = move || Ok(core.reading.store.archived(&tenant)?);
        self.runtime().blocking(listing).await
    }
}
