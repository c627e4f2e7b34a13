//! Puts requests into chunks and blocks.

use std::sync::Arc;

use kymo_store::block::read::Block;
use kymo_store::block::source::Source;
use kymo_store::block::write::{BlockInput, write};
use kymo_store::chunk::ChunkBuilder;
use kymo_store::objects::Objects;
use kymo_store::schema::Signal;
use kymo_store::tables::{logs, order, spans};

/// A directory for blocks.
pub(crate) struct Place {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) signal: Signal,
    written: std::cell::Cell<usize>,
    _directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(signal: Signal) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let objects = kymo_store::objects::open(path, Arc::new(kymo_journal::OsDisk)).unwrap();
        Self { objects, signal, written: Default::default(), _directory: directory }
    }

    /// Encoded requests as one chunk.
    pub(crate) fn chunk(&self, requests: &[Vec<u8>]) -> Source {
        let mut builder = ChunkBuilder::new(self.signal.table());
        for request in requests {
            match self.signal {
                Signal::Spans => spans::append(request, &mut builder).unwrap(),
                _ => logs::append(request, &mut builder).unwrap(),
            };
        }
        Source::Chunk(Arc::new(builder.finish()))
    }

    /// Encoded requests as chunks of a few requests each.
    pub(crate) fn chunks(&self, requests: &[Vec<u8>]) -> Vec<Source> {
        requests.chunks(requests.len().div_ceil(3).max(1)).map(|part| self.chunk(part)).collect()
    }

    /// All rows of the sources as blocks, one a day.
    pub(crate) fn blocks(&self, sources: &[Source]) -> Vec<Source> {
        let parts = order::order(self.signal, sources, |_| true).unwrap();
        parts.iter().map(|part| self.block(sources, &part.rows)).collect()
    }

    fn block(&self, sources: &[Source], rows: &[kymo_store::block::source::RowRef]) -> Source {
        let input = BlockInput {
            table: self.signal.table(),
            sources,
            order: rows,
            journal: 0..0,
            zstd_level: 1,
        };
        let output = write(&input).unwrap();
        Source::Block(self.open(output.bytes).unwrap())
    }

    /// Opens a block of these bytes.
    pub(crate) fn open(
        &self,
        bytes: bytes::Bytes,
    ) -> Result<Arc<Block>, kymo_store::error::StoreError> {
        self.written.set(self.written.get() + 1);
        let path = format!("{}.parquet", self.written.get());
        self.objects.put(&path, bytes)?;
        Block::open(Arc::clone(&self.objects), &path, None).map(Arc::new)
    }

    /// The requests in each way they may be stored: in chunks, in blocks, in
    /// blocks made of blocks, and some here, some there.
    pub(crate) fn ways(&self, requests: &[Vec<u8>]) -> Vec<(&'static str, Vec<Source>)> {
        let (first, second) = requests.split_at(requests.len() / 2);
        let halves = [self.blocks(&self.chunks(first)), self.blocks(&self.chunks(second))].concat();
        let third = requests.len() / 3;
        let mut mixed = self.blocks(&self.chunks(&requests[..third]));
        mixed.push(self.chunk(&requests[third..2 * third]));
        mixed.extend(self.blocks(&self.chunks(&requests[2 * third..])));
        vec![
            ("chunks", self.chunks(requests)),
            ("blocks of chunks", self.blocks(&self.chunks(requests))),
            ("blocks of blocks", self.blocks(&halves)),
            ("chunk and blocks", mixed),
        ]
    }
}
