//! Archived traces: copies that retention does not reach, see
//! `docs/formats/archive.md`.
//!
//! A copy is an object of its own. A trace by its id is made of them too; scans do
//! not know of them. Where no other node writes, which traces have copies is listed
//! once and known from then on, so that a trace without any costs nothing.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;
use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::block::meta::encode_tenant;
use crate::block::source::Source;
use crate::chunk::Chunk;
use crate::commit::{VERSION, check_version, seal, unseal};
use crate::error::StoreError;
use crate::head::Batch;
use crate::limits::ARCHIVED_MAX_BYTES;
use crate::objects::{ObjectInfo, Objects};
use crate::otlp::{Finder, GoOn, TraceResult};
use crate::schema::Signal;
use crate::snapshot::Snapshot;
use crate::store::{Store, lock};

/// What stands between a tenant and its archived traces in a path.
const DIRECTORY: &str = "archive";
/// Digits of a trace's id in a path.
const ID_DIGITS: usize = 32;
/// Bytes that reading a copy takes, for each byte of its spans: they and their rows.
const READ_FACTOR: usize = 3;

/// A trace that is archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedTrace {
    /// Its id.
    pub trace_id: [u8; 16],
    /// When it was last archived anew, by the clock of the disk or of the bucket.
    pub archived_nanos: i64,
    /// Bytes of its copies.
    pub size_bytes: u64,
}

/// What is known of the archive of each tenant.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Counts what this node changed: a list from before a change is not kept after it.
    changes: u64,
    by_tenant: HashMap<String, Arc<Copies>>,
}

/// Which traces of a tenant have copies, and their paths, as listed at some time.
#[derive(Debug)]
struct Copies {
    listed_nanos: i64,
    by_trace: HashMap<[u8; 16], Vec<String>>,
}

/// The object.
#[derive(Clone, PartialEq, Eq, Message)]
struct Copy {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(uint32, tag = "2")]
    least_reader: u32,
    #[prost(uint64, tag = "3")]
    spans_bytes: u64,
    #[prost(bytes = "bytes", tag = "4")]
    spans: bytes::Bytes,
}

impl Copy {
    fn new(spans: &[u8], zstd_level: i32) -> Result<Self, StoreError> {
        if spans.len() > ARCHIVED_MAX_BYTES {
            return Err(StoreError::Query(format!(
                "the trace has {} bytes; at most {ARCHIVED_MAX_BYTES} can be archived",
                spans.len()
            )));
        }
        let compressed = zstd::bulk::compress(spans, zstd_level)?;
        Ok(Self {
            version: VERSION,
            least_reader: VERSION,
            spans_bytes: spans.len() as u64,
            spans: compressed.into(),
        })
    }

    fn get(objects: &dyn Objects, path: &str) -> Result<Self, StoreError> {
        let copy: Self = unseal(&objects.get(path)?, path)?;
        check_version(copy.least_reader, path)?;
        if copy.spans_bytes > ARCHIVED_MAX_BYTES as u64 {
            return Err(StoreError::corrupt(format!("{path} is larger than any that is written")));
        }
        Ok(copy)
    }

    /// Bytes of the spans.
    fn len(&self) -> usize {
        self.spans_bytes as usize
    }

    fn rows(&self, path: &str) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let corrupt = |why: &dyn std::fmt::Display| StoreError::corrupt(format!("{path}: {why}"));
        let spans = zstd::bulk::decompress(&self.spans, self.len()).map_err(|e| corrupt(&e))?;
        let batch = Batch::new(Signal::Spans);
        batch.append(&spans, 0).0.map_err(|error| corrupt(&error))?;
        batch.finish()
    }
}

impl Store {
    /// A trace by its id: what a snapshot has of it, and what is archived. It is looked for as long
    /// as `go_on` says so, which is told the bytes that it takes.
    pub fn trace(
        &self,
        snapshot: &Snapshot,
        trace_id: &[u8; 16],
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<TraceResult>, StoreError> {
        let (sources, damaged_blocks) = self.trace_sources(snapshot, trace_id)?;
        let mut finder = Finder::new(trace_id, damaged_blocks, go_on);
        for source in &sources {
            finder.add(source)?;
        }
        drop(sources);
        for tenant in &snapshot.tenants {
            for path in self.copies(&tenant.tenant, trace_id)? {
                self.add_copy(&path, &mut finder)?;
            }
        }
        finder.finish()
    }

    fn add_copy(&self, path: &str, finder: &mut Finder<'_, '_>) -> Result<(), StoreError> {
        let copy = match Copy::get(&*self.objects, path) {
            // Deleted since it was listed.
            Err(StoreError::Objects(error)) if error.is_not_found() => return Ok(()),
            read => finder.unless_damaged(read)?,
        };
        let Some(copy) = copy else { return Ok(()) };
        finder.go_on_with(copy.len().saturating_mul(READ_FACTOR))?;
        for chunk in finder.unless_damaged(copy.rows(path))?.unwrap_or_default() {
            finder.add(&Source::Chunk(chunk))?;
        }
        Ok(())
    }

    /// Keeps these spans of a trace, an encoded `TracesData`, until [`Store::unarchive`]. What is
    /// archived of it already stays too.
    pub fn archive(
        &self,
        tenant: &str,
        trace_id: &[u8; 16],
        spans: &[u8],
    ) -> Result<(), StoreError> {
        self.writable()?;
        let copy = Copy::new(spans, self.options.zstd_level)?;
        let path = format!("{}/{:016x}", directory(tenant, trace_id), xxh3_64(spans));
        // One of the same name has the same spans, perhaps as another version compresses them.
        let put = self.objects.put_new(&path, seal(&copy).into());
        // Also after a failure, of which nobody knows what it left behind.
        self.forget_copies(tenant);
        put?;
        Ok(())
    }

    /// Deletes a trace from the archive; false if it was not there. Blocks that have it keep it.
    pub fn unarchive(&self, tenant: &str, trace_id: &[u8; 16]) -> Result<bool, StoreError> {
        self.writable()?;
        let copies = self.objects.list(&directory(tenant, trace_id))?;
        let deleted = copies.iter().try_for_each(|copy| self.objects.delete(&copy.path));
        self.forget_copies(tenant);
        deleted?;
        Ok(!copies.is_empty())
    }

    /// What a tenant has archived, the latest first.
    pub fn archived(&self, tenant: &str) -> Result<Vec<ArchivedTrace>, StoreError> {
        let mut by_trace: HashMap<[u8; 16], ArchivedTrace> = HashMap::new();
        for (trace_id, copy) in list(&*self.objects, tenant)? {
            let trace = by_trace.entry(trace_id).or_insert(ArchivedTrace {
                trace_id,
                archived_nanos: i64::MIN,
                size_bytes: 0,
            });
            trace.archived_nanos = trace.archived_nanos.max(copy.modified_nanos);
            trace.size_bytes += copy.size_bytes;
        }
        let mut traces: Vec<ArchivedTrace> = by_trace.into_values().collect();
        traces.sort_by_key(|trace| (std::cmp::Reverse(trace.archived_nanos), trace.trace_id));
        Ok(traces)
    }

    /// Paths of a trace's copies.
    fn copies(&self, tenant: &str, trace_id: &[u8; 16]) -> Result<Vec<String>, StoreError> {
        if self.is_shared() {
            let copies = self.objects.list(&directory(tenant, trace_id))?;
            return Ok(copies.into_iter().map(|copy| copy.path).collect());
        }
        let known = self.known_copies(tenant)?;
        Ok(known.by_trace.get(trace_id).cloned().unwrap_or_default())
    }

    /// Which traces have copies, listed again if what is known is too old.
    fn known_copies(&self, tenant: &str) -> Result<Arc<Copies>, StoreError> {
        let now = self.now_nanos();
        let refresh = i64::try_from(self.options.log_refresh.as_nanos()).unwrap_or(i64::MAX);
        let changes = {
            let archive = lock(&self.archive);
            if let Some(known) = archive.by_tenant.get(tenant)
                && now.saturating_sub(known.listed_nanos) < refresh
            {
                return Ok(known.clone());
            }
            archive.changes
        };
        let mut by_trace: HashMap<[u8; 16], Vec<String>> = HashMap::new();
        for (trace_id, copy) in list(&*self.objects, tenant)? {
            by_trace.entry(trace_id).or_default().push(copy.path);
        }
        let copies = Arc::new(Copies { listed_nanos: now, by_trace });
        // Who asks may name anybody, and often.
        let is_kept = !copies.by_trace.is_empty() || lock(&self.state).knows(tenant);
        let mut archive = lock(&self.archive);
        if is_kept && archive.changes == changes {
            archive.by_tenant.insert(tenant.to_owned(), copies.clone());
        }
        Ok(copies)
    }

    fn forget_copies(&self, tenant: &str) {
        let mut archive = lock(&self.archive);
        archive.changes += 1;
        archive.by_tenant.remove(tenant);
    }
}

/// Reads every copy of a tenant; `found` is told each, its bytes, and what is wrong with it.
pub(crate) fn check(
    objects: &dyn Objects,
    tenant: &str,
    mut found: impl FnMut(&str, u64, Option<StoreError>),
) -> Result<(), StoreError> {
    for (_, info) in list(objects, tenant)? {
        let read = Copy::get(objects, &info.path).and_then(|copy| copy.rows(&info.path));
        match read {
            Err(StoreError::Objects(error)) if error.is_not_found() => {}
            Err(error @ (StoreError::Corrupt(_) | StoreError::Newer { .. })) => {
                found(&info.path, info.size_bytes, Some(error));
            }
            Err(error) => return Err(error),
            Ok(_) => found(&info.path, info.size_bytes, None),
        }
    }
    Ok(())
}

/// The copies of a tenant, each with its trace. Other files are none of ours.
fn list(
    objects: &dyn Objects,
    tenant: &str,
) -> Result<impl Iterator<Item = ([u8; 16], ObjectInfo)>, StoreError> {
    let prefix = format!("{}/{DIRECTORY}", encode_tenant(tenant));
    let id_at: Range<usize> = prefix.len() + 1..prefix.len() + 1 + ID_DIGITS;
    let copies = objects.list(&prefix)?.into_iter();
    Ok(copies.filter_map(move |copy| {
        let digits = copy.path.get(id_at.clone())?;
        let id = u128::from_str_radix(digits, 16).ok()?;
        Some((id.to_be_bytes(), copy))
    }))
}

/// Where the copies of a trace are.
fn directory(tenant: &str, trace_id: &[u8; 16]) -> String {
    let id = u128::from_be_bytes(*trace_id);
    format!("{}/{DIRECTORY}/{id:032x}", encode_tenant(tenant))
}
