//! Settings of tenants.

use bytes::Bytes;
use kymo_store::settings::{Change, Family, Set, Setting};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// What is set for a tenant.
    pub async fn setting(
        &self,
        tenant: &str,
        setting: Setting,
    ) -> Result<Option<Set>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let reading = move || Ok(core.reading.store.setting(&tenant, setting)?);
        self.runtime().blocking(reading).await
    }

    /// The ids of a tenant's settings of a family with the greatest version of each, in order. One
    /// that was deleted is among them.
    pub async fn settings_of(
        &self,
        tenant: &str,
        family: Family,
    ) -> Result<Vec<(String, u64)>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        self.runtime().blocking(move || Ok(core.reading.store.settings_of(&tenant, family)?)).await
    }

    /// The versions of a setting that are kept, the oldest first.
    pub async fn setting_versions(
        &self,
        tenant: &str,
        setting: Setting,
    ) -> Result<Vec<u64>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let reading = move || Ok(core.reading.store.setting_versions(&tenant, &setting)?);
        self.runtime().blocking(reading).await
    }

    /// A version of a setting; `None` if it is not kept, or says that nothing is set.
    pub async fn setting_version(
        &self,
        tenant: &str,
        setting: Setting,
        version: u64,
    ) -> Result<Option<Bytes>, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let reading = move || Ok(core.reading.store.setting_version(&tenant, &setting, version)?);
        self.runtime().blocking(reading).await
    }

    /// Sets something for a tenant, or nothing any more, if `expected` is the version that holds:
    /// 0 if nothing is set. Once this returns, it survives power loss.
    pub async fn set(
        &self,
        tenant: &str,
        setting: Setting,
        expected: u64,
        body: Option<Bytes>,
    ) -> Result<Change, EngineError> {
        let (core, tenant) = (self.core().clone(), tenant.to_owned());
        let writing = move || Ok(core.reading.store.set(&tenant, setting, expected, body)?);
        self.runtime().blocking(writing).await
    }
}
