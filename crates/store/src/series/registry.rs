//! Origins, metrics and series that the head knows, found by what was sent.
//!
//! The hot path: a scope group looks up its origin, a metric its metric, a point
//! its series; each is one hash and one probe. Texts and attributes are stored
//! once, without an allocation of their own.

use hashbrown::HashTable;
use kymo_wire::{MetricView, View, WireError};

use super::codec::{ExponentialHistograms, Histograms, Numbers, PointValues, Points, Summaries};
use super::identity::{self, MetricKind, MetricType};
use crate::chunk::push_rest;
use crate::column::{Dict, Interner};
use crate::error::StoreError;

/// A metric of one origin. Texts are codes.
#[derive(Debug)]
pub(crate) struct Metric {
    hash: u128,
    pub(crate) kind: MetricKind,
    pub(crate) origin: u32,
    pub(crate) name: u32,
    pub(crate) unit: u32,
    pub(crate) description: u32,
    /// An encoded `KeyValueList`.
    pub(crate) metadata: u32,
}

/// A series and its points that are not encoded yet. Its attributes are in
/// [`Registry::labels`] under the same number.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) identity: u128,
    pub(crate) metric: u32,
    /// Bytes of `points` and `exemplars`, nearly.
    pub(crate) bytes: u32,
    pub(crate) points: Points,
    /// See [`super::exemplars`].
    pub(crate) exemplars: Vec<u8>,
}

/// Origins, metrics and series by number.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) origins: Interner,
    origin_hashes: Vec<u128>,
    pub(crate) texts: Interner,
    pub(crate) metrics: Vec<Metric>,
    metric_table: HashTable<u32>,
    pub(crate) series: Vec<Series>,
    series_table: HashTable<u32>,
    /// Attributes of each series: an encoded `KeyValueList`.
    pub(crate) labels: Dict,
    /// Hash of the metric, then the attributes of the point at hand.
    key: Vec<u8>,
    scratch: Vec<u8>,
}

/// Bytes of a metric's hash in [`Registry::key`].
const HASH_BYTES: usize = 16;

impl Registry {
    /// The number of an encoded origin.
    pub(crate) fn origin(&mut self, encoded: &[u8]) -> u32 {
        let origin = self.origins.intern(encoded);
        if origin as usize == self.origin_hashes.len() {
            self.origin_hashes.push(identity::origin_hash(encoded));
        }
        origin
    }

    /// The number of a metric; its description and metadata become those of `view`.
    pub(crate) fn metric(
        &mut self,
        origin: u32,
        kind: MetricKind,
        view: &MetricView<'_>,
    ) -> Result<u32, WireError> {
        let origin_hash = self.origin_hashes[origin as usize];
        let hash =
            identity::metric_hash(origin_hash, kind, view.name, view.unit, &mut self.scratch);
        let (metrics, texts) = (&self.metrics, self.texts.dict());
        let found = self.metric_table.find(hash as u64, |number| {
            let metric = &metrics[*number as usize];
            metric.origin == origin
                && metric.kind == kind
                && texts.get(metric.name) == view.name
                && texts.get(metric.unit) == view.unit
        });
        let number = match found {
            Some(number) => *number,
            None => self.new_metric(hash, origin, kind, view),
        };
        let metric = &mut self.metrics[number as usize];
        if self.texts.dict().get(metric.description) != view.description {
            metric.description = self.texts.intern(view.description);
        }
        self.scratch.clear();
        for raw in view.metadata.raws() {
            push_rest(raw?, &mut self.scratch);
        }
        if self.texts.dict().get(metric.metadata) != self.scratch {
            metric.metadata = self.texts.intern(&self.scratch);
        }
        self.key.clear();
        self.key.extend_from_slice(&metric.hash.to_le_bytes());
        Ok(number)
    }

    fn new_metric(
        &mut self,
        hash: u128,
        origin: u32,
        kind: MetricKind,
        view: &MetricView<'_>,
    ) -> u32 {
        let number = self.metrics.len() as u32;
        let empty = self.texts.intern(b"");
        self.metrics.push(Metric {
            hash,
            kind,
            origin,
            name: self.texts.intern(view.name),
            unit: self.texts.intern(view.unit),
            description: empty,
            metadata: empty,
        });
        let metrics = &self.metrics;
        self.metric_table.insert_unique(hash as u64, number, |n| metrics[*n as usize].hash as u64);
        number
    }

    /// The number of the series with these attributes, of the metric that was
    /// looked up last.
    #[inline]
    pub(crate) fn series<'a, T: View<'a>>(
        &mut self,
        metric: u32,
        attributes: &kymo_wire::Repeated<'a, T>,
    ) -> Result<u32, StoreError> {
        self.key.truncate(HASH_BYTES);
        for raw in attributes.raws() {
            push_rest(raw?, &mut self.key);
        }
        let (series, labels) = (&self.series, &self.labels);
        for seed in 0.. {
            let identity = identity::identity(&self.key, seed);
            let found = self
                .series_table
                .find(identity as u64, |number| series[*number as usize].identity == identity);
            let Some(number) = found else { return self.new_series(identity, metric) };
            let is_same = series[*number as usize].metric == metric
                && labels.get(*number) == &self.key[HASH_BYTES..];
            if is_same {
                return Ok(*number);
            }
        }
        Err(StoreError::State("more series than can be told apart: flush more often".into()))
    }

    #[cold]
    fn new_series(&mut self, identity: u128, metric: u32) -> Result<u32, StoreError> {
        let label_bytes = &self.key[HASH_BYTES..];
        if self.labels.total_bytes() + label_bytes.len() > u32::MAX as usize {
            return Err(StoreError::State(
                "the labels of all series in memory exceed 4 GiB: flush more often".into(),
            ));
        }
        let number = self.labels.push(label_bytes);
        let kind = self.metrics[metric as usize].kind;
        self.series.push(Series {
            identity,
            metric,
            bytes: 0,
            points: empty_points(kind.metric_type),
            exemplars: Vec::new(),
        });
        let series = &self.series;
        self.series_table
            .insert_unique(identity as u64, number, |n| series[*n as usize].identity as u64);
        Ok(number)
    }

    /// Bytes held on the heap but for the points, nearly.
    pub(crate) fn heap_bytes(&self) -> usize {
        const TABLE_ENTRY_BYTES: usize = 9;
        self.series.capacity() * size_of::<Series>()
            + self.labels.total_bytes()
            + self.labels.len() * size_of::<u32>()
            + self.metrics.capacity() * size_of::<Metric>()
            + (self.series_table.capacity() + self.metric_table.capacity()) * TABLE_ENTRY_BYTES
            + self.origins.dict().total_bytes()
            + self.texts.dict().total_bytes()
    }
}

/// No points of a metric of that type.
pub(crate) fn empty_points(metric_type: MetricType) -> Points {
    Points::new(match metric_type {
        MetricType::Gauge | MetricType::Sum => PointValues::Numbers(Numbers::default()),
        MetricType::Histogram => PointValues::Histograms(Box::<Histograms>::default()),
        MetricType::ExponentialHistogram => {
            PointValues::ExponentialHistograms(Box::<ExponentialHistograms>::default())
        }
        MetricType::Summary => PointValues::Summaries(Summaries::default()),
    })
}
