//! Traces that are kept beyond retention: the one thing that is written here.

use kymo_store::archive::ArchivedTrace;

use crate::engine::Engine;
use crate::error::EngineError;

/// A trace that was archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archived {
    /// Spans that are archived of it.
    pub spans: usize,
    /// Blocks that could not be read, whose spans are not.
    pub damaged_blocks: usize,
}

impl Engine {
    /// Keeps a trace as it is now until it is deleted from the archive; `None` if there is no such
    /// trace. Once this returns, it survives power loss.
    pub async fn archive(
        &self,
        tenant: &str,
        trace_id: [u8; 16],
    ) -> Result<Option<Archived>, EngineError> {
        let Some(found) = self.trace(tenant, trace_id).await? else { return Ok(None) };
        let archived = Archived { spans: found.spans, damaged_blocks: found.damaged_blocks };
        if found.spans > 0 {
            let (core, tenant) = (self.core().clone(), tenant.to_owned());
            let writing =
                move || Ok(core.reading.store.archive(&tenant, &trace_id, &found.body)?);
            self.runtime().blocking(writing).await?;
        }
        Ok(Some(archived))
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
