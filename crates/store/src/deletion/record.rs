//! The objects of a deletion, `docs/formats/erasures.md`: what was asked, what to do, how far it is.
//!
//! `asked`, `hidden` and `done` are written once and stay: they are the audit. `work` and `progress`
//! change, and go when the deletion is done; what is found under `work` has to be done.

use bytes::Bytes;
use prost::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{KeptTarget, Target, Work};
use crate::block::meta::{decode_tenant, encode_tenant};
use crate::commit::{VERSION, check_version, seal, unseal};
use crate::error::StoreError;
use crate::objects::{ObjectInfo, Objects};
use crate::store::Store;

/// Where all of them are: not below their tenants, and no tenant's name.
pub const PREFIX: &str = "%erasures";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Names it; later ones are greater.
    pub id: String,
    /// Whose rows.
    pub tenant: String,
    /// The node that carries it out.
    pub node: String,
    /// Who asked.
    pub by: String,
    /// When.
    pub asked_nanos: i64,
    /// The condition, unless it was not to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its hash.
    pub condition_hash: String,
    /// What it is written in.
    pub language: String,
    /// Names of the signals that it is about.
    pub signals: Vec<String>,
    /// Only rows from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_nanos: Option<i64>,
    /// Only rows before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_nanos: Option<i64>,
    /// Whether traces go as a whole.
    #[serde(default)]
    pub whole_traces: bool,
}

/// What was hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// When.
    pub hidden_nanos: i64,
    /// By signal.
    pub signals: Vec<HiddenSignal>,
    /// Spans that were taken out of the archive.
    pub archived_spans: u64,
}

/// What was hidden of a signal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenSignal {
    /// Its name.
    pub signal: String,
    /// Spans, log records or points.
    pub records: u64,
    /// Rows of the table: the same, but for series.
    pub rows: u64,
    /// Names of the blocks that have them.
    pub blocks: Vec<String>,
    /// Bytes of these blocks.
    pub block_bytes: u64,
    /// Names of blocks that had been replaced before, whose files may have them, too.
    pub replaced: Vec<String>,
    /// Records of the journal before this position are in these blocks.
    pub journal_end: u64,
}

/// How far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Rows that were left out when blocks were written again, as far as that was seen.
    pub rows_erased: u64,
    /// Blocks that were written again.
    pub blocks_rewritten: u64,
    /// Bytes of these blocks before.
    pub bytes_before: u64,
    /// And of those that took their place.
    pub bytes_after: u64,
    /// Requests that were taken out of the journal.
    pub journal_erased: u64,
    /// Requests of the journal that have less in them now.
    pub journal_replaced: u64,
    /// Whether the journal has none of it any more.
    pub is_journal_clean: bool,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// That it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// When.
    pub done_nanos: i64,
    /// What was done.
    #[serde(flatten)]
    pub progress: Progress,
}

/// How a deletion stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was asked for, and is not in force yet.
    Asked,
    /// Nobody sees the rows.
    Hidden,
    /// They leave the files.
    Rewriting,
    /// They are in no file.
    Done,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Hidden => "hidden",
            Self::Rewriting => "rewriting",
            Self::Done => "done",
        }
    }
}

/// A deletion, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// What was asked for.
    pub asked: Asked,
    /// What was hidden.
    pub hidden: Option<Hidden>,
    /// How far it is; what was done in the end, if it is done.
    pub progress: Progress,
    /// When it was done.
    pub done: Option<i64>,
}

impl Deletion {
    /// How it stands.
    pub fn state(&self) -> State {
        match (&self.hidden, self.done) {
            (_, Some(_)) => State::Done,
            (None, None) => State::Asked,
            _ if self.progress == Progress::default() => State::Hidden,
            _ => State::Rewriting,
        }
    }
}

/// The parts of a deletion, each an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Asked,
    Work,
    Hidden,
    Progress,
    Done,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Work => "work",
            Self::Hidden => "hidden",
            Self::Progress => "progress",
            Self::Done => "done",
        }
    }

    fn path(self, tenant: &str, id: &str) -> String {
        format!("{}/{id}.{}", directory(tenant), self.name())
    }
}

/// An object: JSON, so that it can be read by people.
#[derive(Clone, PartialEq, Eq, Message)]
struct Stored {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(uint32, tag = "2")]
    least_reader: u32,
    #[prost(bytes = "bytes", tag = "3")]
    body: Bytes,
}

fn directory(tenant: &str) -> String {
    format!("{PREFIX}/{}", encode_tenant(tenant))
}

fn encode(value: &impl Serialize) -> Result<Bytes, StoreError> {
    let body = serde_json::to_vec(value).map_err(|error| StoreError::Query(error.to_string()))?;
    Ok(seal(&Stored { version: VERSION, least_reader: VERSION, body: body.into() }).into())
}

fn decode<T: DeserializeOwned>(bytes: &[u8], path: &str) -> Result<T, StoreError> {
    let stored: Stored = unseal(bytes, path)?;
    check_version(stored.least_reader, path)?;
    serde_json::from_slice(&stored.body)
        .map_err(|error| StoreError::corrupt(format!("{path}: {error}")))
}

impl Store {
    /// The deletions of a tenant, the latest first, at most so many.
    pub fn deletions(&self, tenant: &str, limit: usize) -> Result<Vec<Deletion>, StoreError> {
        let suffix = format!(".{}", Part::Asked.name());
        let mut ids: Vec<String> = self
            .objects
            .list(&directory(tenant))?
            .iter()
            .filter_map(|info| {
                Some(info.path.rsplit('/').next()?.strip_suffix(&suffix)?.to_owned())
            })
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        let found = ids.iter().take(limit).map(|id| self.deletion(tenant, id));
        found.filter_map(Result::transpose).collect()
    }

    /// A deletion by its id; `None` if there is no such.
    pub fn deletion(&self, tenant: &str, id: &str) -> Result<Option<Deletion>, StoreError> {
        if !is_id(id) {
            return Ok(None);
        }
        let Some(asked) = self.part(tenant, id, Part::Asked)? else { return Ok(None) };
        let hidden = self.part(tenant, id, Part::Hidden)?;
        let done: Option<Done> = self.part(tenant, id, Part::Done)?;
        let progress = match &done {
            Some(done) => done.progress.clone(),
            None => self.part(tenant, id, Part::Progress)?.unwrap_or_default(),
        };
        Ok(Some(Deletion { asked, hidden, progress, done: done.map(|done| done.done_nanos) }))
    }

    fn part<T: DeserializeOwned>(
        &self,
        tenant: &str,
        id: &str,
        part: Part,
    ) -> Result<Option<T>, StoreError> {
        let path = part.path(tenant, id);
        match self.objects.get(&path) {
            Ok(bytes) => decode(&bytes, &path).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What is to be done for a deletion; `None` if nothing is.
    pub(super) fn work(&self, tenant: &str, id: &str) -> Result<Option<Work>, StoreError> {
        self.part(tenant, id, Part::Work)
    }

    /// Writes down what is asked for. What is to be done comes first: without `asked` it is nothing.
    pub(super) fn write_order(&self, asked: &Asked, targets: &[Target]) -> Result<(), StoreError> {
        let kept = targets.iter().map(|target| KeptTarget {
            signal: target.signal.name().to_owned(),
            predicate: target.predicate.clone(),
        });
        let work = Work { node: asked.node.clone(), targets: kept.collect() };
        let (tenant, id) = (&asked.tenant, &asked.id);
        self.objects.put_new(&Part::Work.path(tenant, id), encode(&work)?)?;
        self.objects.put_new(&Part::Asked.path(tenant, id), encode(asked)?)?;
        Ok(())
    }

    pub(super) fn write_hidden(&self, asked: &Asked, hidden: &Hidden) -> Result<(), StoreError> {
        let path = Part::Hidden.path(&asked.tenant, &asked.id);
        self.objects.put_new(&path, encode(hidden)?)?;
        Ok(())
    }

    pub(super) fn write_progress(
        &self,
        asked: &Asked,
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let path = Part::Progress.path(&asked.tenant, &asked.id);
        Ok(self.objects.put(&path, encode(progress)?)?)
    }

    pub(super) fn write_done(&self, asked: &Asked, done: &Done) -> Result<(), StoreError> {
        self.objects.put_new(&Part::Done.path(&asked.tenant, &asked.id), encode(done)?)?;
        Ok(())
    }

    /// Deletes what is needed no more once it is done. What was to be done goes last: as long as it is
    /// there, this is tried again.
    pub(super) fn clear_work(&self, tenant: &str, id: &str) -> Result<(), StoreError> {
        self.objects.delete(&Part::Progress.path(tenant, id))?;
        Ok(self.objects.delete(&Part::Work.path(tenant, id))?)
    }

    /// Tenants and ids of all that is not done.
    pub(super) fn list_work(&self) -> Result<Vec<(String, String)>, StoreError> {
        let suffix = format!(".{}", Part::Work.name());
        let found = self.objects.list(PREFIX)?.into_iter().filter_map(|info| {
            let mut parts = info.path.rsplit('/');
            let id = parts.next()?.strip_suffix(&suffix)?.to_owned();
            Some((decode_tenant(parts.next()?)?, id))
        });
        Ok(found.collect())
    }
}

/// Whether a text can be the id of a deletion; it becomes part of a path.
fn is_id(text: &str) -> bool {
    text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// All objects of deletions.
pub(crate) fn objects_of(
    objects: &dyn Objects,
) -> Result<impl Iterator<Item = ObjectInfo> + use<>, StoreError> {
    Ok(objects.list(PREFIX)?.into_iter())
}

/// Reads an object of a deletion.
pub(crate) fn check_readable(objects: &dyn Objects, info: &ObjectInfo) -> Result<(), StoreError> {
    decode::<serde_json::Value>(&objects.get(&info.path)?, &info.path).map(drop)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use kymo_journal::{Journal, OsDisk};

    use super::*;
    use crate::options::Options;

    fn open(dir: &Path, node: &str) -> Store {
        let disk = Arc::new(OsDisk);
        let (journal, _) =
            Journal::open(disk.clone(), &dir.join(node), Default::default()).unwrap();
        let blocks = dir.join("blocks");
        let objects = crate::objects::open(&blocks.to_string_lossy(), disk.clone()).unwrap();
        let options =
            Options { node: node.to_owned(), log_refresh: Duration::ZERO, ..Options::default() };
        Store::open(disk, journal, objects, options).unwrap()
    }

    #[test]
    fn what_was_never_asked_for_is_cleared_away_by_its_own_node_only() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (open(dir.path(), "own"), open(dir.path(), "other"));
        let path = Part::Work.path("default", "0123456789abcdef0123");
        let work = Work { node: "own".to_owned(), targets: Vec::new() };
        own.objects.put_new(&path, encode(&work).unwrap()).unwrap();
        // Whoever writes this down may be about to write down who asked.
        other.pursue_deletions().unwrap();
        assert!(own.objects.get(&path).is_ok());
        own.pursue_deletions().unwrap();
        assert!(own.objects.get(&path).unwrap_err().is_not_found());
        assert_eq!((own.deletions_pending(), other.deletions_pending()), (0, 0));
    }
}
