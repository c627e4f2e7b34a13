//! Archived traces: copies that retention does not reach, see
//! `docs/formats/archive.md`.
//!
//! A trace by its id is made of them too; scans do not know of them. Where no other
//! node writes, which traces have copies is listed once for each tenant and kept up
//! to date from then on.

use std::sync::PoisonError;

use hashbrown::HashMap;
use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::block::meta::encode_tenant;
use crate::commit::{VERSION, check_version, seal, unseal};
use crate::error::StoreError;
use crate::limits::{ARCHIVED_MAX_BYTES, ARCHIVED_PIECE_BYTES};
use crate::objects::{ObjectInfo, Objects};
use crate::otlp::{Finder, GoOn, Records, TraceResult, if_readable};
use crate::schema::Signal;
use crate::snapshot::Snapshot;
use crate::store::{Store, lock};

/// What stands between a tenant and its archived traces in a path.
const DIRECTORY: &str = "archive";
/// Digits of a trace's id, and of a hash, in a name.
const ID_DIGITS: usize = 32;
const HASH_DIGITS: usize = 16;

/// The id of a trace.
pub(crate) type TraceId = [u8; 16];

/// A trace that was archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archived {
    /// Its spans.
    pub spans: usize,
    /// Blocks that could not be read. Their spans are not archived.
    pub damaged_blocks: usize,
}

/// A trace in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedTrace {
    /// Its id.
    pub trace_id: TraceId,
    /// When something of it was last archived, by the clock of the disk or of the bucket.
    pub archived_nanos: i64,
    /// Bytes that it takes.
    pub size_bytes: u64,
}

/// What is known of the archive.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Paths of pieces by trace, of each tenant that was asked for.
    by_tenant: HashMap<String, HashMap<TraceId, Vec<String>>>,
    /// Counts what this node changed: a list from before a change is not kept after it.
    changes: u64,
}

/// An object: some spans of a trace.
#[derive(Clone, PartialEq, Eq, Message)]
struct Piece {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(uint32, tag = "2")]
    least_reader: u32,
    #[prost(uint64, tag = "3")]
    spans_bytes: u64,
    #[prost(bytes = "bytes", tag = "4")]
    spans: bytes::Bytes,
}

impl Piece {
    fn new(spans: &[u8], zstd_level: i32) -> Result<Self, StoreError> {
        let compressed = zstd::bulk::compress(spans, zstd_level)?;
        Ok(Self {
            version: VERSION,
            least_reader: VERSION,
            spans_bytes: spans.len() as u64,
            spans: compressed.into(),
        })
    }

    fn get(objects: &dyn Objects, path: &str) -> Result<Self, StoreError> {
        let piece: Self = unseal(&objects.get(path)?, path)?;
        check_version(piece.least_reader, path)?;
        if piece.spans_bytes > ARCHIVED_MAX_BYTES as u64 {
            return Err(StoreError::corrupt(format!("{path} is larger than any that is written")));
        }
        Ok(piece)
    }

    /// Bytes of the spans.
    fn len(&self) -> usize {
        self.spans_bytes as usize
    }

    /// The spans.
    fn decompress(&self, path: &str) -> Result<Vec<u8>, StoreError> {
        let spans = zstd::bulk::decompress(&self.spans, self.len())
            .map_err(|error| StoreError::corrupt(format!("{path}: {error}")))?;
        if spans.len() != self.len() {
            return Err(StoreError::corrupt(format!("{path} has fewer bytes than it says")));
        }
        Ok(spans)
    }
}

impl Store {
    /// A trace by its id: what a snapshot has of it, and what is archived. It is looked for as long
    /// as `go_on` says so, which is told the bytes that it takes.
    pub fn trace(
        &self,
        snapshot: &Snapshot,
        trace_id: &TraceId,
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<TraceResult>, StoreError> {
        self.find(snapshot, trace_id, go_on)?.finish()
    }

    /// The same, and spans that have begun and not arrived, as far as a snapshot of events
    /// ([`Store::event_snapshot`]) tells of them: see [`crate::otlp`].
    pub fn trace_with_open(
        &self,
        snapshot: &Snapshot,
        events: &Snapshot,
        trace_id: &TraceId,
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<TraceResult>, StoreError> {
        let mut found = self.find(snapshot, trace_id, go_on)?;
        let cache = self.column_cache();
        let mut go_on = |bytes| found.go_on_with(bytes);
        let opening = self.opening_sources(events, trace_id, &mut go_on);
        let Some((sources, _)) = if_readable(opening)? else { return found.finish() };
        let opening = found.opening(&sources, cache)?;
        // Nearly always all spans have arrived, and other events say nothing of them.
        if opening.is_empty() {
            return found.finish();
        }
        let mut go_on = |bytes| found.go_on_with(bytes);
        let all = self.trace_sources(events, trace_id, &mut go_on);
        let Some((all_sources, _)) = if_readable(all)? else { return found.finish() };
        found.add_open(opening, &sources, &all_sources, cache)?;
        found.finish()
    }

    /// Keeps a trace as it is now until [`Store::unarchive`]; `None` if there is no such trace.
    /// `go_on` is as for [`Store::trace`].
    pub fn archive(
        &self,
        tenant: &str,
        trace_id: &TraceId,
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<Archived>, StoreError> {
        self.writable()?;
        let _archiving = self.archiving.read().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot(tenant, Signal::Spans)?;
        let found = self.find(&snapshot, trace_id, go_on)?;
        let write = |spans: Vec<u8>| self.write_piece(tenant, trace_id, &spans);
        let archived = found.finish_archiving(ARCHIVED_PIECE_BYTES, write)?;
        Ok(archived.map(|(spans, damaged_blocks)| Archived { spans, damaged_blocks }))
    }

    /// Puts together what there is of a trace.
    fn find<'a, 'g>(
        &self,
        snapshot: &Snapshot,
        trace_id: &'a TraceId,
        go_on: &'a mut GoOn<'g>,
    ) -> Result<Finder<'a, 'g>, StoreError> {
        let (sources, damaged_blocks) = self.trace_sources(snapshot, trace_id, go_on)?;
        let mut finder = Finder::new(trace_id, damaged_blocks, go_on);
        for tenant in &snapshot.tenants {
            for path in self.pieces(&tenant.tenant, trace_id)? {
                self.add_piece(&path, &mut finder)?;
            }
        }
        for source in &sources {
            finder.add(source)?;
        }
        Ok(finder)
    }

    fn add_piece(&self, path: &str, finder: &mut Finder<'_, '_>) -> Result<(), StoreError> {
        let piece = match Piece::get(&*self.objects, path) {
            // Deleted since it was listed.
            Err(StoreError::Objects(error)) if error.is_not_found() => return Ok(()),
            read => finder.unless_damaged(read)?,
        };
        let Some(piece) = piece else { return Ok(()) };
        finder.go_on_with_piece(piece.len())?;
        match finder.unless_damaged(piece.decompress(path))? {
            Some(spans) => finder.add_archived(&spans),
            None => Ok(()),
        }
    }

    /// The spans of a piece; `None` if it is gone or cannot be read, which is told elsewhere.
    pub(crate) fn piece(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let piece = Piece::get(&*self.objects, path).and_then(|piece| piece.decompress(path));
        match piece {
            Ok(spans) => Ok(Some(spans)),
            Err(StoreError::Objects(error)) if error.is_not_found() => Ok(None),
            Err(error @ StoreError::Corrupt(_)) => {
                tracing::warn!(path, %error, "left out a damaged piece of the archive");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes a piece.
    pub(crate) fn delete_piece(
        &self,
        tenant: &str,
        trace_id: &TraceId,
        path: &str,
    ) -> Result<(), StoreError> {
        let deleted = self.objects.delete(path);
        let mut known = lock(&self.archive);
        known.changes += 1;
        match (&deleted, known.by_tenant.get_mut(tenant)) {
            (Ok(()), Some(of_tenant)) => {
                if let Some(paths) = of_tenant.get_mut(trace_id) {
                    paths.retain(|known| known != path);
                }
            }
            _ => drop(known.by_tenant.remove(tenant)),
        }
        Ok(deleted?)
    }

    pub(crate) fn write_piece(
        &self,
        tenant: &str,
        trace_id: &TraceId,
        spans: &[u8],
    ) -> Result<(), StoreError> {
        let path = format!("{}-{:016x}", path_of(tenant, trace_id), xxh3_64(spans));
        let sealed = bytes::Bytes::from(seal(&Piece::new(spans, self.options.zstd_level)?));
        let written = self.objects.put_new(&path, sealed.clone()).and_then(|is_new| match is_new {
            true => Ok(()),
            // It could not be read, or these spans would not be written.
            false => self.objects.put(&path, sealed),
        });
        let mut known = lock(&self.archive);
        known.changes += 1;
        match (&written, known.by_tenant.get_mut(tenant)) {
            (Ok(()), Some(of_tenant)) => {
                let paths = of_tenant.entry(*trace_id).or_default();
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            // Nobody knows what a failure left behind.
            _ => drop(known.by_tenant.remove(tenant)),
        }
        Ok(written?)
    }

    /// Deletes a trace from the archive; false if it was not there. Blocks that have it keep it.
    pub fn unarchive(&self, tenant: &str, trace_id: &TraceId) -> Result<bool, StoreError> {
        self.writable()?;
        let paths = self.list_pieces(tenant, trace_id)?;
        let deleted = paths.iter().try_for_each(|path| self.objects.delete(path));
        let mut known = lock(&self.archive);
        known.changes += 1;
        match (&deleted, known.by_tenant.get_mut(tenant)) {
            (Ok(()), Some(of_tenant)) => drop(of_tenant.remove(trace_id)),
            _ => drop(known.by_tenant.remove(tenant)),
        }
        deleted?;
        Ok(!paths.is_empty())
    }

    /// What a tenant has archived, the latest first.
    pub fn archived(&self, tenant: &str) -> Result<Vec<ArchivedTrace>, StoreError> {
        let mut by_trace: HashMap<TraceId, ArchivedTrace> = HashMap::new();
        for (trace_id, piece) in list(&*self.objects, &directory(tenant))? {
            let trace = by_trace.entry(trace_id).or_insert(ArchivedTrace {
                trace_id,
                archived_nanos: i64::MIN,
                size_bytes: 0,
            });
            trace.archived_nanos = trace.archived_nanos.max(piece.modified_nanos);
            trace.size_bytes += piece.size_bytes;
        }
        let mut traces: Vec<ArchivedTrace> = by_trace.into_values().collect();
        traces.sort_by_key(|trace| (std::cmp::Reverse(trace.archived_nanos), trace.trace_id));
        Ok(traces)
    }

    /// Paths of the pieces of a trace.
    fn pieces(&self, tenant: &str, trace_id: &TraceId) -> Result<Vec<String>, StoreError> {
        if self.is_shared() {
            return self.list_pieces(tenant, trace_id);
        }
        let changes = {
            let known = lock(&self.archive);
            if let Some(of_tenant) = known.by_tenant.get(tenant) {
                return Ok(of_tenant.get(trace_id).cloned().unwrap_or_default());
            }
            known.changes
        };
        let mut of_tenant: HashMap<TraceId, Vec<String>> = HashMap::new();
        for (trace_id, piece) in list(&*self.objects, &directory(tenant))? {
            of_tenant.entry(trace_id).or_default().push(piece.path);
        }
        let paths = of_tenant.get(trace_id).cloned().unwrap_or_default();
        // Who asks may name anybody, and often.
        let is_kept = !of_tenant.is_empty() || lock(&self.state).knows(tenant);
        let mut known = lock(&self.archive);
        if is_kept && known.changes == changes {
            known.by_tenant.insert(tenant.to_owned(), of_tenant);
        }
        Ok(paths)
    }

    fn list_pieces(&self, tenant: &str, trace_id: &TraceId) -> Result<Vec<String>, StoreError> {
        let path = path_of(tenant, trace_id);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let pieces = list(&*self.objects, directory)?;
        Ok(pieces.filter(|(id, _)| id == trace_id).map(|(_, piece)| piece.path).collect())
    }
}

/// All pieces of a tenant, each with its trace.
pub(crate) fn traces_of(
    objects: &dyn Objects,
    tenant: &str,
) -> Result<impl Iterator<Item = (TraceId, ObjectInfo)> + use<>, StoreError> {
    list(objects, &directory(tenant))
}

/// All pieces of a tenant.
pub(crate) fn pieces_of(
    objects: &dyn Objects,
    tenant: &str,
) -> Result<impl Iterator<Item = ObjectInfo> + use<>, StoreError> {
    Ok(list(objects, &directory(tenant))?.map(|(_, piece)| piece))
}

/// Reads a piece whole.
pub(crate) fn check_piece(objects: &dyn Objects, piece: &ObjectInfo) -> Result<(), StoreError> {
    let spans = Piece::get(objects, &piece.path)?.decompress(&piece.path)?;
    Records::default().add_request(&spans)
}

/// The pieces below a directory, each with its trace. Other files are none of ours.
fn list(
    objects: &dyn Objects,
    directory: &str,
) -> Result<impl Iterator<Item = (TraceId, ObjectInfo)> + use<>, StoreError> {
    let pieces = objects.list(directory)?.into_iter();
    Ok(pieces.filter_map(|piece| {
        let (_, name) = piece.path.rsplit_once('/')?;
        let (trace, hash) = name.split_once('-')?;
        let is_name = trace.len() == ID_DIGITS && hash.len() == HASH_DIGITS;
        let trace = is_name.then(|| u128::from_str_radix(trace, 16).ok()).flatten()?;
        Some((trace.to_be_bytes(), piece))
    }))
}

/// Where a tenant's pieces are.
fn directory(tenant: &str) -> String {
    format!("{}/{DIRECTORY}", encode_tenant(tenant))
}

/// What the paths of a trace's pieces begin with. There are few directories, for each is synced
/// when a store is opened; ids are most random at their end.
fn path_of(tenant: &str, trace_id: &TraceId) -> String {
    let id = u128::from_be_bytes(*trace_id);
    format!("{}/{:02x}/{id:032x}", directory(tenant), id as u8)
}
