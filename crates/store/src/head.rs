//! The head: what was admitted since the last flush, for one tenant and signal.
//!
//! Rows grow in a builder, which is sealed into a chunk when it is full. A flush
//! freezes what is there; frozen chunks stay visible until the flush commits, or
//! are taken back if it fails.

use std::sync::Arc;

use crate::chunk::{Chunk, ChunkBuilder};
use crate::error::StoreError;
use crate::limits::{CHUNK_MAX_BYTES, CHUNK_MAX_ROWS};
use crate::schema::Signal;
use crate::series::head::SeriesHead;
use crate::tables::{logs, spans};

/// What grows: rows one by one, or series point by point.
#[derive(Debug)]
enum Growing {
    Rows(Box<ChunkBuilder>),
    Series(Box<SeriesHead>),
}

/// The head of one tenant and signal.
#[derive(Debug)]
pub(crate) struct Head {
    signal: Signal,
    growing: Growing,
    /// Request bytes since the last seal.
    growing_bytes: usize,
    sealed: Vec<Arc<Chunk>>,
    /// Chunks that a flush is writing.
    frozen: Vec<Arc<Chunk>>,
    /// The growing rows as chunks, as long as none is added.
    view: Option<Vec<Arc<Chunk>>>,
    /// When the oldest row that is not frozen came.
    since_nanos: Option<i64>,
}

impl Head {
    pub(crate) fn new(signal: Signal) -> Self {
        Self {
            signal,
            growing: Self::grow(signal),
            growing_bytes: 0,
            sealed: Vec::new(),
            frozen: Vec::new(),
            view: None,
            since_nanos: None,
        }
    }

    fn grow(signal: Signal) -> Growing {
        match signal {
            Signal::Series => Growing::Series(Box::default()),
            _ => Growing::Rows(Box::new(ChunkBuilder::new(signal.table()))),
        }
    }

    /// Appends the rows of a request; returns how many records it held.
    pub(crate) fn append(
        &mut self,
        body: &[u8],
        position: u64,
        now_nanos: i64,
    ) -> Result<usize, StoreError> {
        self.view = None;
        self.since_nanos.get_or_insert(now_nanos);
        self.growing_bytes += body.len();
        let builder = match &mut self.growing {
            Growing::Series(series) => {
                let appended = series.append(body, position)?;
                if appended.refused > 0 {
                    // Admission lets no such point pass.
                    tracing::error!(position, points = appended.refused, "left out points");
                }
                return Ok(appended.points);
            }
            Growing::Rows(builder) => builder,
        };
        let before = builder.rows();
        let appended = match self.signal {
            Signal::Spans => spans::append(body, builder),
            _ => logs::append(body, builder),
        };
        if appended.is_err() {
            // A request is stored whole or not at all, and a half-written row would
            // make the whole chunk unreadable.
            builder.truncate(before);
        }
        if self.growing_rows() >= CHUNK_MAX_ROWS || self.growing_bytes >= CHUNK_MAX_BYTES {
            self.seal()?;
        }
        Ok(appended?)
    }

    fn growing_rows(&self) -> usize {
        match &self.growing {
            Growing::Rows(builder) => builder.rows(),
            Growing::Series(series) => series.points(),
        }
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        self.growing_bytes = 0;
        self.view = None;
        if self.growing_rows() == 0 {
            return Ok(());
        }
        match &mut self.growing {
            Growing::Series(series) => self.sealed.extend(series.drain()?),
            Growing::Rows(builder) => {
                let full =
                    std::mem::replace(&mut **builder, ChunkBuilder::new(self.signal.table()));
                self.sealed.push(Arc::new(full.finish()));
            }
        }
        Ok(())
    }

    /// Seals and freezes everything; returns the frozen chunks.
    pub(crate) fn freeze(&mut self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        self.seal()?;
        self.frozen.append(&mut self.sealed);
        self.since_nanos = None;
        Ok(self.frozen.clone())
    }

    /// Drops frozen chunks, which are in blocks now.
    pub(crate) fn thaw_committed(&mut self) {
        self.frozen.clear();
    }

    /// Takes frozen chunks back after a flush that wrote nothing.
    pub(crate) fn thaw_failed(&mut self, now_nanos: i64) {
        if !self.frozen.is_empty() {
            self.since_nanos.get_or_insert(now_nanos);
            let newer = std::mem::replace(&mut self.sealed, std::mem::take(&mut self.frozen));
            self.sealed.extend(newer);
        }
    }

    /// Everything that is not in blocks, frozen or not.
    pub(crate) fn chunks(&mut self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut chunks: Vec<_> = self.frozen.iter().chain(&self.sealed).cloned().collect();
        if self.growing_rows() > 0 {
            let view = match (self.view.take(), &mut self.growing) {
                (Some(view), _) => view,
                (None, Growing::Rows(builder)) => vec![Arc::new(builder.snapshot())],
                (None, Growing::Series(series)) => series.snapshot()?,
            };
            chunks.extend(view.iter().cloned());
            self.view = Some(view);
        }
        Ok(chunks)
    }

    /// Rows (for series, points and sealed rows) that are not frozen.
    pub(crate) fn rows(&self) -> usize {
        self.growing_rows() + self.sealed.iter().map(|c| c.rows).sum::<usize>()
    }

    /// Bytes of what is not frozen.
    pub(crate) fn heap_bytes(&self) -> usize {
        let growing = match &self.growing {
            Growing::Rows(_) => self.growing_bytes,
            Growing::Series(series) => series.heap_bytes(),
        };
        growing + self.sealed.iter().map(|c| c.heap_bytes()).sum::<usize>()
    }

    /// Whether there is nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.frozen.is_empty() && self.sealed.is_empty() && self.growing_rows() == 0
    }

    /// When the oldest row that is not frozen came.
    pub(crate) fn since_nanos(&self) -> Option<i64> {
        self.since_nanos
    }
}
