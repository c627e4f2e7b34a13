//! Snapshots: what a query sees, pinned.
//!
//! Heads and the node's own level-0 blocks are taken under the store's lock, then
//! other nodes' objects, then the log. The log comes last, so that a block it has
//! taken over in between is not missed, and a level-0 block it knows is not seen
//! twice. If the log has taken over a flush of this node that was in memory when
//! the heads were taken, its rows would be seen twice: then all is taken again.
//!
//! As long as a snapshot lives, or a source that was opened for it, this process
//! deletes none of its blocks.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::block::meta::{BlockMeta, decode_tenant};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::trace_filter::{TraceFilter, Traces};
use crate::block::trace_index;
use crate::chunk::Chunk;
use crate::commit::node::{NodeObject, PREFIX, TenantBlock};
use crate::commit::state::LogState;
use crate::error::StoreError;
use crate::head::Batch;
use crate::otlp::{GoOn, event_traces};
use crate::pins::Pin;
use crate::scan::{Scan, ScanContext, ScanStats};
use crate::schema::Signal;
use crate::series::open::OpenHead;
use crate::status::Counters;
use crate::store::{Store, lock};
use crate::tables::logs;

/// What is visible of a signal at one moment, of one tenant or several.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Of what.
    pub signal: Signal,
    /// Of whom. Each was looked at for itself: what one moment is for one is not for all.
    pub tenants: Vec<TenantSnapshot>,
}

/// What is visible of a tenant and signal at one moment.
#[derive(Debug, Clone)]
pub struct TenantSnapshot {
    /// Whose.
    pub tenant: String,
    /// Rows in memory.
    pub chunks: Vec<Arc<Chunk>>,
    /// The log: blocks, and conditions whose rows are hidden in some of them.
    pub log: Arc<LogState>,
    /// Level-0 blocks that the log has not taken over.
    pub level_zero: Vec<BlockMeta>,
    _pin: Arc<Pin>,
}

/// What is visible of series at one moment, of one tenant or several. Heads are not
/// copied: what comes into them meanwhile may be seen too, but nothing twice.
#[derive(Debug, Clone)]
pub struct SeriesSnapshot {
    /// Blocks, and no rows in memory.
    blocks: Snapshot,
    heads: Vec<Arc<Batch>>,
}

impl SeriesSnapshot {
    /// Shows each head, one after the other, while nothing is added to it.
    pub fn for_each_head(
        &self,
        look: &mut dyn FnMut(&OpenHead<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.heads.iter().try_for_each(|head| head.with_series(&mut *look))
    }

    /// The blocks.
    pub fn blocks(&self) -> &Snapshot {
        &self.blocks
    }
}

impl Snapshot {
    /// All blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &BlockMeta> {
        self.tenants.iter().flat_map(TenantSnapshot::blocks)
    }

    /// All rows in memory.
    pub fn chunks(&self) -> impl Iterator<Item = &Arc<Chunk>> {
        self.tenants.iter().flat_map(|tenant| &tenant.chunks)
    }

    /// All blocks, and whose they are.
    fn owned_blocks(&self) -> impl Iterator<Item = (&TenantSnapshot, &BlockMeta)> {
        self.tenants.iter().flat_map(|tenant| tenant.blocks().map(move |meta| (tenant, meta)))
    }
}

impl TenantSnapshot {
    fn blocks(&self) -> impl Iterator<Item = &BlockMeta> {
        self.log.blocks.values().chain(&self.level_zero)
    }
}

/// Times that a snapshot is taken anew because flushes are taken over meanwhile.
const PIN_TRIES: usize = 8;

/// What a snapshot is made of.
struct Pinned {
    batches: Vec<Arc<Batch>>,
    /// This node's object.
    own: Arc<NodeObject>,
    others: Vec<NodeObject>,
    log: Arc<LogState>,
}

impl Store {
    /// Pins what is visible of a tenant now: everything that was acknowledged before.
    pub fn snapshot(&self, tenant: &str, signal: Signal) -> Result<Snapshot, StoreError> {
        self.snapshot_of([tenant], signal)
    }

    /// Pins what is visible of several tenants, each of which is to be named once.
    pub fn snapshot_of<'a>(
        &self,
        tenants: impl IntoIterator<Item = &'a str>,
        signal: Signal,
    ) -> Result<Snapshot, StoreError> {
        if self.read_only.is_none() {
            self.catch_up()?;
        }
        let tenants = tenants.into_iter().map(|tenant| self.pin_tenant(tenant, signal));
        Ok(Snapshot { signal, tenants: tenants.collect::<Result<_, _>>()? })
    }

    /// Pins the log records of several tenants among which events are: rows in memory are left
    /// alone where none is an event.
    pub fn event_snapshot<'a>(
        &self,
        tenants: impl IntoIterator<Item = &'a str>,
    ) -> Result<Snapshot, StoreError> {
        if self.read_only.is_none() {
            self.catch_up()?;
        }
        let mut pinned = Vec::new();
        for tenant in tenants {
            let (mut snapshot, batches) = self.pin_blocks(tenant, Signal::Logs)?;
            for batch in batches.iter().filter(|batch| batch.has_values(logs::field::EVENT_NAME)) {
                snapshot.chunks.extend(batch.view()?);
            }
            pinned.push(snapshot);
        }
        Ok(Snapshot { signal: Signal::Logs, tenants: pinned })
    }

    /// Pins what is visible of the series of several tenants.
    pub fn series_snapshot<'a>(
        &self,
        tenants: impl IntoIterator<Item = &'a str>,
    ) -> Result<SeriesSnapshot, StoreError> {
        if self.read_only.is_none() {
            self.catch_up()?;
        }
        let (mut pinned, mut heads) = (Vec::new(), Vec::new());
        for tenant in tenants {
            let (snapshot, batches) = self.pin_blocks(tenant, Signal::Series)?;
            pinned.push(snapshot);
            heads.extend(batches);
        }
        Ok(SeriesSnapshot { blocks: Snapshot { signal: Signal::Series, tenants: pinned }, heads })
    }

    fn pin_tenant(&self, tenant: &str, signal: Signal) -> Result<TenantSnapshot, StoreError> {
        let (mut snapshot, batches) = self.pin_blocks(tenant, signal)?;
        for batch in batches {
            snapshot.chunks.extend(batch.view()?);
        }
        Ok(snapshot)
    }

    /// What is visible of a tenant but for rows in memory, and who has these.
    fn pin_blocks(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<(TenantSnapshot, Vec<Arc<Batch>>), StoreError> {
        let pin = self.pins.begin(tenant, signal);
        let Pinned { batches, own, others, log } = self.pin_once(tenant, signal)?;
        let nodes = std::iter::once(&*own).chain(&others);
        let level_zero = level_zero(nodes, &log, tenant, signal);
        pin.settle(log.clone(), level_zero.clone());
        let (tenant, chunks) = (tenant.to_owned(), Vec::new());
        Ok((TenantSnapshot { tenant, chunks, log, level_zero, _pin: pin }, batches))
    }

    /// Heads, nodes and log that do not show a row twice.
    fn pin_once(&self, tenant: &str, signal: Signal) -> Result<Pinned, StoreError> {
        for _ in 0..PIN_TRIES {
            let pinned = self.pin(tenant, signal)?;
            let absorbed = pinned.log.absorbed_of(&pinned.own.node);
            if absorbed <= pinned.own.sequence_of(signal) {
                return Ok(pinned);
            }
            if self.read_only.is_some() {
                // Its owner has flushed since it was looked at, and the log knows.
                self.reload()?;
            } else {
                // Flushed and taken over since. Or the answer to the flush was lost
                // and it is still in memory: a log that knows it is answer enough.
                self.settle_pending(signal, absorbed);
            }
        }
        if self.read_only.is_some() {
            let what = "the store changes faster than it can be read beside its owner";
            return Err(StoreError::State(format!("{what}: try again")));
        }
        // The log is ahead for good, since somebody has put back an older node
        // object; what is in memory is in no block then.
        self.pin(tenant, signal)
    }

    /// Heads, node objects and the log, in this order.
    fn pin(&self, tenant: &str, signal: Signal) -> Result<Pinned, StoreError> {
        let (batches, own) = {
            let state = lock(&self.state);
            (state.heads.batches(tenant, signal), state.node.clone())
        };
        let mut others = Vec::new();
        if self.is_shared() {
            others = NodeObject::all(&*self.objects)?;
            others.retain(|node| node.node != own.node);
        }
        Ok(Pinned { batches, own, others, log: self.known_log(tenant, signal)? })
    }

    /// The log's state, read again if what is known is too old.
    pub(crate) fn known_log(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<Arc<LogState>, StoreError> {
        let key = (tenant.to_owned(), signal);
        let now = self.now_nanos();
        let refresh = i64::try_from(self.options.log_refresh.as_nanos()).unwrap_or(i64::MAX);
        if let Some((read_nanos, state)) = lock(&self.state).logs.get(&key)
            && now - read_nanos < refresh
            && !self.is_shared()
        {
            return Ok(state.clone());
        }
        self.read_log(tenant, signal)
    }

    /// The log's state as it is now, for who changes it or deletes files because of
    /// it. Where no other node writes it is known, unless an answer was lost.
    pub(crate) fn current_log(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<Arc<LogState>, StoreError> {
        match self.is_shared() {
            true => self.read_log(tenant, signal),
            false => self.known_log(tenant, signal),
        }
    }

    /// Forgets a log that is not surely as it is known.
    pub(crate) fn forget_log(&self, tenant: &str, signal: Signal) {
        lock(&self.state).logs.remove(&(tenant.to_owned(), signal));
    }

    /// Reads the log and remembers it.
    pub(crate) fn read_log(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<Arc<LogState>, StoreError> {
        let now = self.now_nanos();
        let read = Arc::new(self.log(tenant, signal).read()?);
        let log = self.remember_log(tenant, signal, now, read);
        if self.is_shared() {
            self.drop_absorbed(tenant, signal, &log);
        }
        Ok(log)
    }

    /// The next flush writes a node object without what the log has now.
    pub(crate) fn drop_absorbed(&self, tenant: &str, signal: Signal, log: &LogState) {
        let absorbed = log.absorbed_of(&self.options.node);
        let mut state = lock(&self.state);
        let is_absorbed = |b: &TenantBlock| b.tenant == tenant && b.block.sequence <= absorbed;
        if state.node.blocks_of(signal).iter().any(is_absorbed) {
            let node = Arc::make_mut(&mut state.node);
            let mut signal_state = node.signal(signal);
            signal_state.blocks.retain(|b| !is_absorbed(b));
            node.set_signal(signal_state);
        }
    }

    /// Keeps a log's state unless a newer one is known already. That there is none is kept of
    /// those only who have sent something: who asks may name anybody, and often.
    pub(crate) fn remember_log(
        &self,
        tenant: &str,
        signal: Signal,
        read_nanos: i64,
        log: Arc<LogState>,
    ) -> Arc<LogState> {
        let mut state = lock(&self.state);
        if log.generation == 0 && !state.knows(tenant) {
            return log;
        }
        let slot = state
            .logs
            .entry((tenant.to_owned(), signal))
            .or_insert_with(|| (read_nanos, log.clone()));
        if log.generation >= slot.1.generation {
            *slot = (read_nanos, log);
        }
        slot.1.clone()
    }

    /// The rows of a snapshot that may lie in a time range. Blocks that cannot be
    /// read are left out, counted and warned of.
    pub fn sources(
        &self,
        snapshot: &Snapshot,
        time_nanos: Option<Range<i64>>,
    ) -> Result<Vec<Source>, StoreError> {
        self.sources_and_damaged(snapshot, time_nanos).map(|(sources, _)| sources)
    }

    /// The same, and how many blocks are left out because they are damaged.
    pub fn sources_and_damaged(
        &self,
        snapshot: &Snapshot,
        time_nanos: Option<Range<i64>>,
    ) -> Result<(Vec<Source>, usize), StoreError> {
        let mut sources: Vec<Source> = snapshot.chunks().cloned().map(Source::Chunk).collect();
        let mut damaged_blocks = 0;
        for (tenant, meta) in snapshot.owned_blocks() {
            if let Some(range) = &time_nanos
                && (meta.max_time_nanos < range.start || meta.min_time_nanos >= range.end)
            {
                continue;
            }
            let path = meta.path(&tenant.tenant, snapshot.signal);
            match self.open_visible(tenant, &path, meta) {
                Ok(block) => sources.push(Source::Block(block)),
                Err(error @ StoreError::Corrupt(_)) => {
                    self.warn_damaged(&path, &error);
                    damaged_blocks += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok((sources, damaged_blocks))
    }

    /// The rows of a snapshot that may belong to a trace, and how many blocks may too but are
    /// damaged. Of log records those of blocks are found that are events. `go_on` is asked before
    /// each block.
    pub fn trace_sources(
        &self,
        snapshot: &Snapshot,
        trace_id: &[u8; 16],
        go_on: &mut GoOn<'_>,
    ) -> Result<(Vec<Source>, usize), StoreError> {
        self.sources_of_trace(snapshot, Traces::All, trace_id, go_on)
    }

    /// The same for log records; of blocks, those with events that open spans of the trace.
    pub fn opening_sources(
        &self,
        events: &Snapshot,
        trace_id: &[u8; 16],
        go_on: &mut GoOn<'_>,
    ) -> Result<(Vec<Source>, usize), StoreError> {
        self.sources_of_trace(events, Traces::Opened, trace_id, go_on)
    }

    fn sources_of_trace(
        &self,
        snapshot: &Snapshot,
        traces: Traces,
        trace_id: &[u8; 16],
        go_on: &mut GoOn<'_>,
    ) -> Result<(Vec<Source>, usize), StoreError> {
        let hash = trace_index::trace_hash(trace_id);
        let mut sources: Vec<Source> = snapshot.chunks().cloned().map(Source::Chunk).collect();
        let mut damaged_blocks = 0;
        for (tenant, meta) in snapshot.owned_blocks() {
            // To open blocks and to make their filters is most of the work.
            go_on(0)?;
            let path = meta.path(&tenant.tenant, snapshot.signal);
            let open = || self.open_visible(tenant, &path, meta);
            let make = || match snapshot.signal {
                Signal::Logs => event_traces(&open()?, &self.columns),
                _ => Ok(TraceFilter::of_spans(&open()?.trace_index()?)),
            };
            let block = match self.blocks.may_hold_trace(&path, traces, hash, make) {
                Ok(false) => continue,
                Ok(true) => open(),
                Err(error) => Err(error),
            };
            match block {
                Ok(block) => sources.push(Source::Block(block)),
                Err(error @ StoreError::Corrupt(_)) => {
                    self.warn_damaged(&path, &error);
                    damaged_blocks += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok((sources, damaged_blocks))
    }

    /// The block, with the rows hidden that tombstones hide.
    fn open_visible(
        &self,
        tenant: &TenantSnapshot,
        path: &str,
        meta: &BlockMeta,
    ) -> Result<Arc<Block>, StoreError> {
        if tenant.log.tombstones.is_empty() {
            return self.blocks.open(path, meta, "");
        }
        let name = meta.name();
        let tombstones = tenant.log.tombstones.values();
        let ids: Vec<&str> =
            tombstones.filter(|t| t.blocks.contains(&name)).map(|t| t.id.as_str()).collect();
        let block = self.blocks.open(path, meta, &ids.join(","))?;
        if !ids.is_empty() && block.hidden().is_none() {
            let source = Source::Block(block.clone());
            if let Some(hidden) = self.hidden_rows(&source, meta, &tenant.log)? {
                block.hide(hidden);
            }
        }
        Ok(block)
    }

    /// Scans what is visible now; for small answers.
    pub fn scan(
        &self,
        tenant: &str,
        signal: Signal,
        scan: &Scan,
    ) -> Result<(Vec<RecordBatch>, ScanStats), StoreError> {
        let snapshot = self.snapshot(tenant, signal)?;
        let sources = self.sources(&snapshot, scan.time.clone())?;
        let context = ScanContext {
            cache: self.columns.clone(),
            cancel: Arc::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        };
        crate::scan::collect(&sources, signal, scan, context)
    }

    pub(crate) fn warn_damaged(&self, path: &str, error: &StoreError) {
        Counters::add(&self.counters.blocks_damaged, 1);
        tracing::warn!(path, %error, "left out a damaged block");
    }

    /// Tenants that have data: lists one directory, not what is in it.
    pub fn tenants(&self) -> Result<Vec<String>, StoreError> {
        let mut tenants: Vec<String> = self
            .objects
            .list_dirs("")?
            .iter()
            .filter(|name| *name != PREFIX)
            .filter_map(|name| decode_tenant(name))
            .collect();
        tenants.extend(lock(&self.state).heads.tenants().cloned());
        tenants.sort();
        tenants.dedup();
        Ok(tenants)
    }
}

/// Committed level-0 blocks that the log has not taken over.
pub(crate) fn level_zero<'a>(
    nodes: impl IntoIterator<Item = &'a NodeObject>,
    log: &LogState,
    tenant: &str,
    signal: Signal,
) -> Vec<BlockMeta> {
    nodes
        .into_iter()
        .flat_map(|node| {
            let absorbed = log.absorbed_of(&node.node);
            let blocks = node.blocks_of(signal).iter();
            blocks.filter(move |b| b.block.sequence > absorbed)
        })
        .filter(|b| b.tenant == tenant)
        .map(|b| b.block.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use kymo_journal::{Compression, Format, Journal, OsDisk, Record};

    use super::*;
    use crate::options::Options;

    #[test]
    fn tenants_that_do_not_exist_are_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(OsDisk);
        let (journal, _) =
            Journal::open(disk.clone(), &dir.path().join("journal"), Default::default()).unwrap();
        let blocks = dir.path().join("blocks");
        let objects = crate::objects::open(&blocks.to_string_lossy(), disk.clone()).unwrap();
        let store = Store::open(disk, journal, objects, Options::default()).unwrap();
        let record = Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpJson,
            compression: Compression::None,
            tenant: "known",
            body: br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}"#[..].into(),
            received_nanos: 0,
        };
        store.journal().append(record).unwrap();
        for tenant in ["known", "nobody", "known", "none"] {
            store.snapshot(tenant, Signal::Spans).unwrap();
        }
        let names: Vec<String> =
            lock(&store.state).logs.keys().map(|(tenant, _)| tenant.clone()).collect();
        assert_eq!(names, ["known"]);
        store.flush().unwrap();
        let several = store.snapshot_of(["known", "nobody"], Signal::Spans).unwrap();
        assert_eq!((several.tenants.len(), several.blocks().count()), (2, 1));
        assert_eq!(store.sources(&several, None).unwrap().len(), 1);
    }
}
