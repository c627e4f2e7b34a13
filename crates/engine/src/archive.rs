//! Traces that are kept beyond retention.

use kymo_store::archive::{Archived, ArchivedTrace};

use crate::clock::Clock;
use crate::engine::{Core, Engine};
use crate::error::EngineError;

impl Engine {
    /// Keeps a trace as it is now until it is deleted from the archive; `None` if there is no such
    /// trace. Once this returns, it survives power loss. What is archived can be read again: a
    /// trace that is too large for that is refused.
    pub async fn archive(
        &self,
        tenant: &str,
        trace_id: [u8; 16],
    ) -> Result<Option<Archived>, EngineError> {
        let (line, tenant) = (tenant, tenant.to_owned());
        let archiving = move |core: &Core, clock: &Clock| {
            let memory = core.query_memory();
            core.within_bytes(memory, clock, |store, go_on| {
                store.archive(&tenant, &trace_id, go_on)
            })
        };
        self.in_turn_of_traces(line, &trace_id, archiving).await
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
