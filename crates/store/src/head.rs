//! Heads: what was admitted since the last flush, by tenant and signal.
//!
//! A head is a list of [`Batch`]es. Rows are appended to the last one, which
//! grows; a flush *freezes* all there are and the next row begins a new one.
//! Frozen batches stay visible until the flush commits, or count as not flushed
//! again if it fails.
//!
//! A batch goes to blocks as a whole. So who has seen a batch outside of blocks
//! may read its rows at leisure, those that come meanwhile too: none of them is
//! in a block that was committed before. That is why a batch has a lock of its
//! own, and why nobody holds the store's lock while rows are copied or encoded.

use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use crate::chunk::{Chunk, ChunkBuilder};
use crate::error::StoreError;
use crate::limits::{CHUNK_MAX_BYTES, CHUNK_MAX_ROWS, VIEW_MAX_BYTES, VIEW_MAX_ROWS};
use crate::request::Protocol;
use crate::schema::Signal;
use crate::series::head::SeriesHead;
use crate::series::open::OpenHead;
use crate::store::lock;
use crate::tables::{logs, spans};

/// How much there is of something in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Rows; points, for series.
    pub(crate) rows: usize,
    /// Bytes, nearly.
    pub(crate) bytes: usize,
}

impl Size {
    pub(crate) fn plus(self, other: Size) -> Size {
        Size { rows: self.rows + other.rows, bytes: self.bytes + other.bytes }
    }

    fn minus(self, other: Size) -> Size {
        Size {
            rows: self.rows.saturating_sub(other.rows),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// What grows: rows one by one, or series point by point.
#[derive(Debug)]
enum Growing {
    Rows(Box<ChunkBuilder>),
    Series(Box<SeriesHead>),
}

impl Growing {
    fn new(signal: Signal) -> Self {
        match signal {
            Signal::Series => Growing::Series(Box::default()),
            _ => Growing::Rows(Box::new(ChunkBuilder::new(signal.table()))),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Growing::Rows(builder) => builder.rows(),
            Growing::Series(series) => series.points(),
        }
    }
}

/// Rows that go to blocks as a whole.
#[derive(Debug)]
pub(crate) struct Batch {
    signal: Signal,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    growing: Growing,
    /// Request bytes since the last seal.
    growing_bytes: usize,
    sealed: Vec<Arc<Chunk>>,
    sealed_size: Size,
    /// The growing rows as a chunk, as long as none is added.
    view: Option<Arc<Chunk>>,
}

impl Batch {
    pub(crate) fn new(signal: Signal) -> Self {
        let content = Content {
            growing: Growing::new(signal),
            growing_bytes: 0,
            sealed: Vec::new(),
            sealed_size: Size::default(),
            view: None,
        };
        Self { signal, content: Mutex::new(content) }
    }

    /// Appends the rows of a request; returns how many records it held, and what
    /// the batch has then.
    pub(crate) fn append(
        &self,
        protocol: Protocol,
        body: &[u8],
        position: u64,
    ) -> (Result<usize, StoreError>, Size) {
        let mut content = lock(&self.content);
        let appended = content.append(self.signal, protocol, body, position);
        (appended, content.size())
    }

    /// The rows so far, for a query. Few growing rows are copied, and many are
    /// sealed: a row is not copied again and again, and chunks do not get small.
    pub(crate) fn view(&self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut content = lock(&self.content);
        let is_large =
            content.growing.rows() >= VIEW_MAX_ROWS || content.growing_bytes >= VIEW_MAX_BYTES;
        if is_large && self.signal != Signal::Series {
            content.seal(self.signal)?;
        }
        let mut chunks = content.sealed.clone();
        let view = content.view.take();
        match &mut content.growing {
            // A series' points are worth keeping together; it keeps what it made.
            Growing::Series(series) => chunks.extend(series.snapshot()?),
            Growing::Rows(builder) if builder.rows() > 0 => {
                let view = view.unwrap_or_else(|| Arc::new(builder.snapshot()));
                chunks.push(view.clone());
                content.view = Some(view);
            }
            Growing::Rows(_) => {}
        }
        Ok(chunks)
    }

    /// Whether a row has a value in an optional field. Copies nothing.
    pub(crate) fn has_values(&self, field: usize) -> bool {
        let content = lock(&self.content);
        let is_growing = match &content.growing {
            Growing::Rows(builder) => builder.has_values(field),
            Growing::Series(_) => false,
        };
        is_growing || content.sealed.iter().any(|chunk| chunk.fields[field].is_some())
    }

    /// Shows the series to a query, while none are added.
    pub(crate) fn with_series<T>(&self, look: impl FnOnce(&OpenHead<'_>) -> T) -> T {
        let content = lock(&self.content);
        let head = match &content.growing {
            Growing::Series(series) => Some(&**series),
            Growing::Rows(_) => None,
        };
        look(&OpenHead::new(content.sealed.clone(), head))
    }

    /// All rows, of a batch that gets no more.
    pub(crate) fn finish(&self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut content = lock(&self.content);
        content.seal(self.signal)?;
        Ok(content.sealed.clone())
    }
}

impl Content {
    fn append(
        &mut self,
        signal: Signal,
        protocol: Protocol,
        body: &[u8],
        position: u64,
    ) -> Result<usize, StoreError> {
        self.view = None;
        self.growing_bytes += body.len();
        let builder = match &mut self.growing {
            Growing::Series(series) => {
                let appended = match protocol {
                    Protocol::Otlp => series.append(body, position)?,
                    Protocol::RemoteWrite(version) => {
                        series.append_remote_write(version, body, position)?
                    }
                };
                if appended.refused > 0 {
                    // Admission lets no such point pass.
                    tracing::error!(position, points = appended.refused, "left out points");
                }
                if appended.dropped_exemplars > 0 {
                    let exemplars = appended.dropped_exemplars;
                    tracing::debug!(position, exemplars, "left out exemplars without a point");
                }
                return Ok(appended.points);
            }
            Growing::Rows(builder) => builder,
        };
        let before = builder.rows();
        let appended = match signal {
            Signal::Spans => spans::append(body, builder),
            _ => logs::append(body, builder),
        };
        if appended.is_err() {
            // A request is stored whole or not at all, and a half-written row would
            // make the whole chunk unreadable.
            builder.truncate(before);
        }
        if builder.rows() >= CHUNK_MAX_ROWS || self.growing_bytes >= CHUNK_MAX_BYTES {
            self.seal(signal)?;
        }
        Ok(appended?)
    }

    fn seal(&mut self, signal: Signal) -> Result<(), StoreError> {
        self.growing_bytes = 0;
        self.view = None;
        if self.growing.rows() == 0 {
            return Ok(());
        }
        let chunks = match &mut self.growing {
            Growing::Series(series) => series.drain()?,
            Growing::Rows(builder) => {
                let full = std::mem::replace(&mut **builder, ChunkBuilder::new(signal.table()));
                vec![Arc::new(full.finish())]
            }
        };
        for chunk in chunks {
            let size = Size { rows: chunk.rows, bytes: chunk.heap_bytes() };
            self.sealed_size = self.sealed_size.plus(size);
            self.sealed.push(chunk);
        }
        Ok(())
    }

    fn size(&self) -> Size {
        let bytes = match &self.growing {
            Growing::Rows(_) => self.growing_bytes,
            Growing::Series(series) => series.heap_bytes(),
        };
        self.sealed_size.plus(Size { rows: self.growing.rows(), bytes })
    }
}

/// The head of one tenant and signal.
#[derive(Debug)]
struct Head {
    /// Batches that get no more rows.
    closed: Vec<Arc<Batch>>,
    growing: Arc<Batch>,
    growing_size: Size,
}

impl Head {
    fn new(growing: Arc<Batch>) -> Self {
        Self { closed: Vec::new(), growing, growing_size: Size::default() }
    }
}

/// What there is of a signal in all its heads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// What no flush is writing.
    pub(crate) open: Size,
    /// What a flush is writing, or has written without an answer.
    pub(crate) frozen: Size,
    /// When the oldest of the open rows came.
    pub(crate) open_since_nanos: Option<i64>,
    /// When the oldest of the frozen rows came.
    pub(crate) frozen_since_nanos: Option<i64>,
}

impl Held {
    /// All of it.
    pub(crate) fn total(&self) -> Size {
        self.open.plus(self.frozen)
    }
}

/// The heads of one signal.
#[derive(Debug, Default)]
struct SignalHeads {
    by_tenant: HashMap<String, Head>,
    held: Held,
}

/// All heads.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    signals: [SignalHeads; Signal::ALL.len()],
}

impl Heads {
    fn of(&self, signal: Signal) -> &SignalHeads {
        &self.signals[signal as usize]
    }

    fn of_mut(&mut self, signal: Signal) -> &mut SignalHeads {
        &mut self.signals[signal as usize]
    }

    /// What there is of a signal.
    pub(crate) fn held(&self, signal: Signal) -> Held {
        self.of(signal).held
    }

    /// Tenants that have rows in memory.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &String> {
        self.signals.iter().flat_map(|heads| heads.by_tenant.keys())
    }

    /// The batch that grows.
    pub(crate) fn growing(&mut self, tenant: &str, signal: Signal) -> Arc<Batch> {
        let heads = self.of_mut(signal);
        let new = || Head::new(Arc::new(Batch::new(signal)));
        heads.by_tenant.entry_ref(tenant).or_insert_with(new).growing.clone()
    }

    /// Notes what the growing batch has now. A flush that was committed since the batch was asked
    /// for may have found it empty, and forgotten the head: then it is one again.
    pub(crate) fn grew(
        &mut self,
        tenant: &str,
        signal: Signal,
        batch: &Arc<Batch>,
        size: Size,
        now_nanos: i64,
    ) {
        let heads = self.of_mut(signal);
        let head = heads.by_tenant.entry_ref(tenant).or_insert_with(|| Head::new(batch.clone()));
        debug_assert!(Arc::ptr_eq(&head.growing, batch), "one thread at a time appends");
        let before = std::mem::replace(&mut head.growing_size, size);
        heads.held.open = heads.held.open.minus(before).plus(size);
        heads.held.open_since_nanos.get_or_insert(now_nanos);
    }

    /// Everything of a tenant and signal that is not in blocks, frozen or not.
    pub(crate) fn batches(&self, tenant: &str, signal: Signal) -> Vec<Arc<Batch>> {
        let Some(head) = self.of(signal).by_tenant.get(tenant) else { return Vec::new() };
        head.closed.iter().chain([&head.growing]).cloned().collect()
    }

    /// Freezes all batches of a signal and returns them by tenant.
    pub(crate) fn freeze(&mut self, signal: Signal) -> Vec<(String, Vec<Arc<Batch>>)> {
        let heads = self.of_mut(signal);
        let held = &mut heads.held;
        held.frozen = held.frozen.plus(std::mem::take(&mut held.open));
        held.frozen_since_nanos = held.frozen_since_nanos.or(held.open_since_nanos.take());
        let mut frozen = Vec::new();
        for (tenant, head) in &mut heads.by_tenant {
            if std::mem::take(&mut head.growing_size).rows > 0 {
                let full = std::mem::replace(&mut head.growing, Arc::new(Batch::new(signal)));
                head.closed.push(full);
            }
            if !head.closed.is_empty() {
                frozen.push((tenant.clone(), head.closed.clone()));
            }
        }
        frozen
    }

    /// Forgets frozen batches, which are in blocks now, and returns them: to drop
    /// them takes a moment.
    pub(crate) fn thaw_committed(&mut self, signal: Signal) -> Vec<Arc<Batch>> {
        let heads = self.of_mut(signal);
        (heads.held.frozen, heads.held.frozen_since_nanos) = (Size::default(), None);
        let mut done = Vec::new();
        heads.by_tenant.retain(|_, head| {
            done.append(&mut head.closed);
            head.growing_size.rows > 0
        });
        done
    }

    /// Counts frozen batches as not flushed, after a flush that wrote nothing.
    pub(crate) fn thaw_failed(&mut self, signal: Signal) {
        let held = &mut self.of_mut(signal).held;
        held.open = held.open.plus(std::mem::take(&mut held.frozen));
        held.open_since_nanos = held.frozen_since_nanos.take().or(held.open_since_nanos);
    }
}

#[cfg(test)]
mod tests {
    use kymo_wire::encode::{SpanFields, Writer};

    use super::*;

    fn spans(count: usize) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.resource_group(|w| {
            w.scope_group(|w| {
                for number in 0..count as u64 {
                    let (trace_id, span_id) = ([1; 16], (number + 1).to_be_bytes());
                    let fields = SpanFields {
                        trace_id: &trace_id,
                        span_id: &span_id,
                        ..SpanFields::default()
                    };
                    w.span(&fields, |_| ());
                }
            });
        });
        writer.into_bytes()
    }

    fn append(heads: &mut Heads, tenant: &str, count: usize, now_nanos: i64) -> Arc<Batch> {
        let batch = heads.growing(tenant, Signal::Spans);
        let (appended, size) = batch.append(Protocol::Otlp, &spans(count), 0);
        assert_eq!(appended.unwrap(), count);
        heads.grew(tenant, Signal::Spans, &batch, size, now_nanos);
        batch
    }

    fn rows(chunks: &[Arc<Chunk>]) -> Vec<usize> {
        chunks.iter().map(|chunk| chunk.rows).collect()
    }

    #[test]
    fn few_rows_are_copied_for_a_query_and_many_are_sealed() {
        let batch = Batch::new(Signal::Spans);
        batch.append(Protocol::Otlp, &spans(10), 0).0.unwrap();
        let view = batch.view().unwrap();
        assert_eq!(rows(&view), [10]);
        assert!(Arc::ptr_eq(&view[0], &batch.view().unwrap()[0]), "copied once");
        batch.append(Protocol::Otlp, &spans(VIEW_MAX_ROWS), 0).0.unwrap();
        assert_eq!(rows(&batch.view().unwrap()), [VIEW_MAX_ROWS + 10]);
        batch.append(Protocol::Otlp, &spans(5), 0).0.unwrap();
        assert_eq!(rows(&batch.view().unwrap()), [VIEW_MAX_ROWS + 10, 5]);
        assert_eq!(rows(&batch.finish().unwrap()), [VIEW_MAX_ROWS + 10, 5]);
        assert_eq!(rows(&view), [10], "what was seen stays as it was");
    }

    #[test]
    fn what_comes_during_a_flush_stays_and_what_fails_comes_back() {
        let mut heads = Heads::default();
        append(&mut heads, "a", 3, 7);
        append(&mut heads, "b", 4, 8);
        let frozen = heads.freeze(Signal::Spans);
        assert_eq!(frozen.len(), 2);
        append(&mut heads, "a", 5, 9);
        let held = heads.held(Signal::Spans);
        assert_eq!((held.frozen.rows, held.open.rows), (7, 5));
        assert_eq!((held.frozen_since_nanos, held.open_since_nanos), (Some(7), Some(9)));

        heads.thaw_failed(Signal::Spans);
        let held = heads.held(Signal::Spans);
        assert_eq!((held.frozen.rows, held.open.rows), (0, 12));
        assert_eq!((held.frozen_since_nanos, held.open_since_nanos), (None, Some(7)));

        heads.freeze(Signal::Spans);
        append(&mut heads, "b", 6, 10);
        assert_eq!(heads.thaw_committed(Signal::Spans).len(), 3);
        let held = heads.held(Signal::Spans);
        assert_eq!((held.total().rows, held.open_since_nanos), (6, Some(10)));
        assert_eq!(heads.tenants().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn rows_that_come_while_a_flush_is_committed_are_kept() {
        for is_committed_before in [true, false] {
            let mut heads = Heads::default();
            append(&mut heads, "a", 3, 0);
            heads.freeze(Signal::Spans);
            let growing = heads.growing("a", Signal::Spans);
            if is_committed_before {
                heads.thaw_committed(Signal::Spans);
            }
            let (_, size) = growing.append(Protocol::Otlp, &spans(2), 0);
            if !is_committed_before {
                heads.thaw_committed(Signal::Spans);
            }
            heads.grew("a", Signal::Spans, &growing, size, 1);
            drop(growing);
            assert_eq!(heads.held(Signal::Spans).open.rows, 2);
            let frozen = heads.freeze(Signal::Spans);
            let chunks = frozen.iter().flat_map(|(_, batches)| batches);
            let chunks: Vec<_> = chunks.flat_map(|batch| batch.finish().unwrap()).collect();
            assert_eq!(rows(&chunks), [2], "committed before the append: {is_committed_before}");
        }
    }
}
