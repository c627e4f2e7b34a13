//! Settings of tenants that change while a store serves, see `docs/formats/settings.md`.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

use crate::block::meta::{decode_tenant, encode_tenant};
use crate::commit::{VERSION, check_version, seal, unseal};
use crate::error::StoreError;
use crate::limits::{
    DASHBOARD_KEPT_VERSIONS, DASHBOARD_MAX_BYTES, SETTING_KEPT_VERSIONS, SETTING_MAX_BYTES,
    SETTING_TRIES,
};
use crate::objects::{ObjectInfo, Objects};
use crate::store::Store;

/// Where all settings are: not below their tenants, and no tenant's name. To set something does
/// not make a tenant that has data.
pub const PREFIX: &str = "%settings";
/// Stands for a tenant in settings of the whole server: no tenant can be called so.
pub const SERVER: &str = "\0server";
/// Digits of a version in a path.
const VERSION_DIGITS: usize = 20;

/// The most that an object has beside what is set.
const OTHERS_BYTES: u64 = 1024;

/// Something that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// What Tempo calls user-configurable overrides, as JSON.
    Overrides,
    /// Tokens of the server, as hashes, in JSON.
    Tokens,
    /// Flags that say who is recorded, as JSON.
    Audience,
    /// That somebody sent something, or a target told something: an empty object of JSON.
    Received,
    /// A dashboard by its id, as JSON, see `docs/formats/dashboards.md`.
    Dashboard(String),
    /// Addresses of pages whose short codes begin alike, or one by its whole code, as JSON.
    Link(String),
}

/// Settings of which a tenant has any number, each by an id of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Those of [`Setting::Dashboard`].
    Dashboards,
    /// Those of [`Setting::Link`].
    Links,
}

impl Family {
    /// Where they are, below their tenant.
    fn directory(self) -> &'static str {
        match self {
            Self::Dashboards => "dashboards",
            Self::Links => "links",
        }
    }
}

impl Setting {
    fn name(&self) -> String {
        match self {
            Self::Overrides => "overrides".to_owned(),
            Self::Tokens => "tokens".to_owned(),
            Self::Audience => "audience".to_owned(),
            Self::Received => "received".to_owned(),
            Self::Dashboard(uid) => Self::of_family(Family::Dashboards, uid),
            Self::Link(code) => Self::of_family(Family::Links, code),
        }
    }

    fn of_family(family: Family, id: &str) -> String {
        format!("{}/{}", family.directory(), encode_tenant(id))
    }

    fn max_bytes(&self) -> usize {
        match self {
            Self::Dashboard(_) => DASHBOARD_MAX_BYTES,
            _ => SETTING_MAX_BYTES,
        }
    }

    fn kept_versions(&self) -> u64 {
        match self {
            Self::Dashboard(_) => DASHBOARD_KEPT_VERSIONS,
            _ => SETTING_KEPT_VERSIONS,
        }
    }
}

/// What is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Grows with each change.
    pub version: u64,
    /// As it was written.
    pub body: Bytes,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It holds, as this version.
    Done(u64),
    /// Not the version that was expected holds, but this one; 0 if nothing is set.
    Conflict(u64),
}

/// An object: a version of a setting.
#[derive(Clone, PartialEq, Eq, Message)]
struct Stored {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(uint32, tag = "2")]
    least_reader: u32,
    #[prost(string, tag = "3")]
    token: String,
    #[prost(bytes = "bytes", optional, tag = "4")]
    body: Option<Bytes>,
}

impl Stored {
    fn get(objects: &dyn Objects, info: &ObjectInfo) -> Result<Self, StoreError> {
        let path = &info.path;
        if info.size_bytes > DASHBOARD_MAX_BYTES as u64 + OTHERS_BYTES {
            return Err(StoreError::corrupt(format!("{path} is larger than any that is written")));
        }
        let stored: Self = unseal(&objects.get(path)?, path)?;
        check_version(stored.least_reader, path)?;
        Ok(stored)
    }
}

/// The greatest version of a setting; 0 if it was never set.
struct Greatest {
    version: u64,
    /// What is set, or why that is not known.
    body: Result<Option<Bytes>, StoreError>,
}

impl Greatest {
    /// The version that holds. One that cannot be read does.
    fn holds(&self) -> u64 {
        if matches!(self.body, Ok(None)) { 0 } else { self.version }
    }
}

impl Store {
    /// What is set for a tenant.
    pub fn setting(&self, tenant: &str, setting: Setting) -> Result<Option<Set>, StoreError> {
        let Greatest { version, body } = self.greatest(tenant, &setting)?;
        Ok(body?.map(|body| Set { version, body }))
    }

    /// The ids of a tenant's settings of a family with the greatest version of each, in order. One
    /// that was deleted is among them.
    pub fn settings_of(
        &self,
        tenant: &str,
        family: Family,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let directory = format!("{PREFIX}/{}/{}", encode_tenant(tenant), family.directory());
        let mut greatest = BTreeMap::new();
        for (version, info) in list(&*self.objects, &directory)? {
            let Some(uid) = info.path.rsplit('/').nth(1).and_then(decode_tenant) else { continue };
            let held = greatest.entry(uid).or_insert(version);
            *held = version.max(*held);
        }
        Ok(greatest.into_iter().collect())
    }

    /// The versions of a setting that are kept, the oldest first.
    pub fn setting_versions(
        &self,
        tenant: &str,
        setting: &Setting,
    ) -> Result<Vec<u64>, StoreError> {
        let versions = list(&*self.objects, &directory(tenant, setting))?;
        let mut versions: Vec<u64> = versions.map(|(version, _)| version).collect();
        versions.sort_unstable();
        Ok(versions)
    }

    /// A version of a setting; `None` if it is not kept, or says that nothing is set.
    pub fn setting_version(
        &self,
        tenant: &str,
        setting: &Setting,
        version: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        let versions = list(&*self.objects, &directory(tenant, setting))?;
        let found = versions.filter(|(other, _)| *other == version).map(|(_, info)| info).next();
        let Some(info) = found else { return Ok(None) };
        match Stored::get(&*self.objects, &info) {
            Ok(stored) => Ok(stored.body),
            Err(StoreError::Objects(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets something, or nothing any more, if `expected` is the version that holds: 0 if nothing
    /// is set. Once this returns, it survives power loss.
    pub fn set(
        &self,
        tenant: &str,
        setting: Setting,
        expected: u64,
        body: Option<Bytes>,
    ) -> Result<Change, StoreError> {
        self.writable()?;
        let setting = &setting;
        let greatest = self.greatest(tenant, setting)?;
        if greatest.holds() != expected {
            return Ok(Change::Conflict(greatest.holds()));
        }
        let most = setting.max_bytes();
        if let Some(body) = body.as_ref().filter(|body| body.len() > most) {
            let bytes = body.len();
            return Err(StoreError::Query(format!(
                "a setting has at most {most} bytes, not {bytes}"
            )));
        }
        let Some(version) = greatest.version.checked_add(1) else {
            return Err(StoreError::State("a setting has no version left".to_owned()));
        };
        let token = format!("{}-{:016x}", self.options.node, self.disk.random());
        let stored = Stored { version: VERSION, least_reader: VERSION, token, body };
        let path = format!("{}/{version:0VERSION_DIGITS$}", directory(tenant, setting));
        if !self.objects.put_new(&path, seal(&stored).into())? {
            return Ok(Change::Conflict(self.greatest(tenant, setting)?.holds()));
        }
        self.tidy(tenant, setting, version)
    }

    /// After a version was written: deletes those that were passed long ago, itself too if it is
    /// one. Whether it has held for a while is not known then: it may have been there before, and
    /// deleted.
    fn tidy(&self, tenant: &str, setting: &Setting, written: u64) -> Result<Change, StoreError> {
        let versions: Vec<(u64, ObjectInfo)> =
            list(&*self.objects, &directory(tenant, setting))?.collect();
        let greatest = versions.iter().map(|(version, _)| *version).max();
        let latest = greatest.map_or(written, |greatest| greatest.max(written));
        let is_passed = |version: u64| latest - version >= setting.kept_versions();
        for (_, info) in versions.iter().filter(|(version, _)| is_passed(*version)) {
            if let Err(error) = self.objects.delete(&info.path) {
                tracing::warn!(%error, "an old version of a setting is not deleted");
            }
        }
        if is_passed(written) {
            let why = "others have changed the setting many times meanwhile: look what holds";
            return Err(StoreError::State(why.to_owned()));
        }
        Ok(Change::Done(written))
    }

    fn greatest(&self, tenant: &str, setting: &Setting) -> Result<Greatest, StoreError> {
        for _ in 0..SETTING_TRIES {
            let versions = list(&*self.objects, &directory(tenant, setting))?;
            let Some((version, info)) = versions.max_by_key(|(version, _)| *version) else {
                return Ok(Greatest { version: 0, body: Ok(None) });
            };
            match Stored::get(&*self.objects, &info) {
                // It was passed long ago, and deleted.
                Err(StoreError::Objects(error)) if error.is_not_found() => {}
                Ok(stored) => return Ok(Greatest { version, body: Ok(stored.body) }),
                Err(error @ StoreError::Corrupt(_)) => {
                    return Ok(Greatest { version, body: Err(error) });
                }
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::State("a setting changes faster than it can be read".to_owned()))
    }
}

/// All versions of all settings.
pub(crate) fn versions(
    objects: &dyn Objects,
) -> Result<impl Iterator<Item = ObjectInfo> + use<>, StoreError> {
    Ok(list(objects, PREFIX)?.map(|(_, version)| version))
}

/// Reads a version.
pub(crate) fn check_readable(objects: &dyn Objects, info: &ObjectInfo) -> Result<(), StoreError> {
    Stored::get(objects, info).map(drop)
}

/// The versions below a directory. Other files are none of ours.
fn list(
    objects: &dyn Objects,
    directory: &str,
) -> Result<impl Iterator<Item = (u64, ObjectInfo)> + use<>, StoreError> {
    let versions = objects.list(directory)?.into_iter();
    Ok(versions.filter_map(|info| {
        let (_, name) = info.path.rsplit_once('/')?;
        let is_version =
            name.len() == VERSION_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
        let version = is_version.then(|| name.parse().ok()).flatten()?;
        Some((version, info))
    }))
}

/// Where the versions of a tenant's setting are.
fn directory(tenant: &str, setting: &Setting) -> String {
    format!("{PREFIX}/{}/{}", encode_tenant(tenant), setting.name())
}
