//! The store's steps, as tests take them.

use std::sync::Arc;

use kymo_store::block::read::Block;
use kymo_store::block::source::Source;
use kymo_store::block::write::{BlockInput, write};
use kymo_store::objects::Objects;
use kymo_store::schema::Signal;
use kymo_store::series::head::SeriesHead;
use kymo_store::series::merge::merge;
use kymo_store::series::select::select;
use kymo_store::series::{data::SeriesData, otlp};
use kymo_store::tables::order::order;
use kymo_store::tables::series::TABLE;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;

pub(crate) type Request = ExportMetricsServiceRequest;

/// Runs `check` with some seeds, or with the one that `KYMO_TEST_SEED` names.
pub(crate) fn for_seeds(count: u64, check: impl Fn(u64)) {
    let seeds = match std::env::var("KYMO_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    };
    for seed in seeds {
        // Shown only if the test fails.
        println!("seed {seed}");
        check(seed);
    }
}

pub(crate) fn append(head: &mut SeriesHead, request: &Request, sequence: u64) {
    head.append(&request.encode_to_vec(), sequence).unwrap();
}

pub(crate) fn drain(head: &mut SeriesHead) -> Vec<Source> {
    head.drain().unwrap().into_iter().map(Source::Chunk).collect()
}

/// A place for blocks that is gone with the test.
pub(crate) struct Blocks {
    pub(crate) directory: tempfile::TempDir,
    objects: Arc<dyn Objects>,
    written: std::cell::Cell<usize>,
}

impl Blocks {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        let objects = kymo_store::objects::open(root, Arc::new(kymo_journal::OsDisk)).unwrap();
        Self { directory, objects, written: std::cell::Cell::new(0) }
    }

    /// The sources as blocks, one for each day.
    pub(crate) fn write(&self, sources: &[Source]) -> Vec<Source> {
        let days = order(Signal::Series, sources, |_| true).unwrap();
        days.iter().map(|day| self.write_rows(sources, &day.rows)).collect()
    }

    fn write_rows(&self, sources: &[Source], rows: &[kymo_store::block::source::RowRef]) -> Source {
        let input =
            BlockInput { table: &TABLE, sources, order: rows, journal: 0..0, zstd_level: 1 };
        let output = write(&input).unwrap();
        let path = format!("{}.parquet", self.written.replace(self.written.get() + 1));
        self.objects.put(&path, output.bytes).unwrap();
        self.open(&path)
    }

    pub(crate) fn open(&self, path: &str) -> Source {
        Source::Block(Arc::new(Block::open(self.objects.clone(), path, None).unwrap()))
    }

    /// The sources joined, each day as a block.
    pub(crate) fn compact(&self, sources: &[Source]) -> Vec<Source> {
        let mut joined = Vec::new();
        for day in order(Signal::Series, sources, |_| true).unwrap() {
            joined.push(Source::Chunk(Arc::new(merge(sources, &day.rows).unwrap())));
        }
        self.write(&joined)
    }
}

/// Everything that sources hold.
pub(crate) fn all(sources: &[Source]) -> Vec<SeriesData> {
    let selection = select(sources, &[], i64::MIN..=i64::MAX).unwrap();
    assert_eq!(selection.damaged_blocks, 0);
    selection.series
}

/// Everything that sources hold, as a request.
pub(crate) fn exported(sources: &[Source]) -> Request {
    Request::decode(&otlp::encode(&all(sources)).unwrap()[..]).unwrap()
}
