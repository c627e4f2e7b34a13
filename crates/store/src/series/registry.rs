//! Origins, metrics and series that the head knows, found by what was sent.
//!
//! The hot path: a scope group looks up its origin, a metric its metric, a point
//! its series; each is one hash and one probe. Texts and attributes are stored
//! once, without an allocation of their own.
//!
//! A series of remote-write is found by its labels alone, as they are encoded in a
//! 1.0 request in order of name: one hash, one probe and one comparison of bytes.
//! That is also how its labels are kept; [`super::remote_labels`] makes attributes
//! of them when a row is written.

use hashbrown::HashTable;
use kymo_wire::{MetricView, View, WireError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::codec::{
    ExponentialHistograms, Histograms, NativeHistograms, Numbers, PointValues, Points, Summaries,
};
use super::identity::{self, MetricKind, MetricType};
use super::remote_labels;
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
    /// The series of remote-write that came after this one last time.
    next: u32,
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
    /// Series of remote-write by their labels.
    labelled_table: HashTable<Labelled>,
    /// The series of remote-write that was found last.
    last_labelled: u32,
    /// Attributes of each series: an encoded `KeyValueList`; for a series of
    /// remote-write its labels as in a 1.0 request.
    pub(crate) labels: Dict,
    /// Hash of the metric, then the attributes of the point at hand.
    key: Vec<u8>,
    scratch: Vec<u8>,
}

/// A series of remote-write in its table.
#[derive(Debug, Clone, Copy)]
struct Labelled {
    hash: u64,
    number: u32,
    metric_type: MetricType,
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
        let number = self.metric_named(origin, kind, view.name, view.unit);
        let mut metadata = std::mem::take(&mut self.scratch);
        metadata.clear();
        for raw in view.metadata.raws() {
            push_rest(raw?, &mut metadata);
        }
        self.describe_metric(number, view.description, &metadata);
        self.scratch = metadata;
        Ok(number)
    }

    /// Sets the description and metadata, an encoded `KeyValueList`, of a metric.
    pub(crate) fn describe_metric(&mut self, number: u32, description: &[u8], metadata: &[u8]) {
        let metric = &mut self.metrics[number as usize];
        if self.texts.dict().get(metric.description) != description {
            metric.description = self.texts.intern(description);
        }
        if self.texts.dict().get(metric.metadata) != metadata {
            metric.metadata = self.texts.intern(metadata);
        }
    }

    /// The number of a metric, of which the key of a series is then begun.
    fn metric_named(&mut self, origin: u32, kind: MetricKind, name: &[u8], unit: &[u8]) -> u32 {
        let origin_hash = self.origin_hashes[origin as usize];
        let hash = identity::metric_hash(origin_hash, kind, name, unit, &mut self.scratch);
        let (metrics, texts) = (&self.metrics, self.texts.dict());
        let found = self.metric_table.find(hash as u64, |number| {
            let metric = &metrics[*number as usize];
            metric.origin == origin
                && metric.kind == kind
                && texts.get(metric.name) == name
                && texts.get(metric.unit) == unit
        });
        let number = match found {
            Some(number) => *number,
            None => self.new_metric(hash, origin, kind, name, unit),
        };
        self.key.clear();
        self.key.extend_from_slice(&self.metrics[number as usize].hash.to_le_bytes());
        number
    }

    fn new_metric(
        &mut self,
        hash: u128,
        origin: u32,
        kind: MetricKind,
        name: &[u8],
        unit: &[u8],
    ) -> u32 {
        let number = self.metrics.len() as u32;
        let empty = self.texts.intern(b"");
        self.metrics.push(Metric {
            hash,
            kind,
            origin,
            name: self.texts.intern(name),
            unit: self.texts.intern(unit),
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
            let Some(number) = found else {
                let key = std::mem::take(&mut self.key);
                let number = self.new_series(identity, metric, &key[HASH_BYTES..]);
                self.key = key;
                return number;
            };
            let is_same = series[*number as usize].metric == metric
                && labels.get(*number) == &self.key[HASH_BYTES..];
            if is_same {
                return Ok(*number);
            }
        }
        Err(StoreError::State("more series than can be told apart: flush more often".into()))
    }

    /// The series of remote-write with these labels, if it is known.
    #[inline]
    pub(crate) fn find_labelled(&mut self, metric_type: MetricType, labels: &[u8]) -> Option<u32> {
        // Senders keep to an order. Then the series is the one that came here last time, and lies
        // near to what is in the processor's cache.
        let expected = self.series.get(self.last_labelled as usize)?.next;
        let metric = self.series.get(expected as usize)?.metric;
        if self.metrics[metric as usize].kind.metric_type == metric_type
            && self.labels.get(expected) == labels
        {
            self.last_labelled = expected;
            return Some(expected);
        }
        let number = self.find_hashed(metric_type, labels, labels_hash(metric_type, labels))?;
        self.came(number);
        Some(number)
    }

    /// Remembers which series came after which.
    fn came(&mut self, number: u32) {
        if let Some(last) = self.series.get_mut(self.last_labelled as usize) {
            last.next = number;
        }
        self.last_labelled = number;
    }

    #[inline]
    fn find_hashed(&self, metric_type: MetricType, labels: &[u8], hash: u64) -> Option<u32> {
        let is_same = |known: &Labelled| {
            known.hash == hash
                && known.metric_type == metric_type
                && self.labels.get(known.number) == labels
        };
        self.labelled_table.find(hash, is_same).map(|known| known.number)
    }

    /// The series of remote-write with these labels, which must be in order of name
    /// and encoded as [`remote_labels`] does. `None` if they have no metric's name.
    pub(crate) fn labelled(
        &mut self,
        metric_type: MetricType,
        labels: &[u8],
    ) -> Result<Option<u32>, StoreError> {
        if let Some(number) = self.find_labelled(metric_type, labels) {
            return Ok(Some(number));
        }
        let hash = labels_hash(metric_type, labels);
        let Some(name) = remote_labels::metric_name(labels) else { return Ok(None) };
        let origin = self.origin(b"");
        let kind = MetricKind { metric_type, temporality: None, monotonic: None };
        let metric = self.metric_named(origin, kind, name, b"");
        remote_labels::push_attributes(labels, &mut self.key);
        let mut seed = 0;
        let identity = loop {
            let identity = identity::identity(&self.key, seed);
            let series = &self.series;
            let is_taken = |number: &u32| series[*number as usize].identity == identity;
            if self.series_table.find(identity as u64, is_taken).is_none() {
                break identity;
            }
            seed += 1;
        };
        let number = self.new_series(identity, metric, labels)?;
        let labelled = Labelled { hash, number, metric_type };
        self.labelled_table.insert_unique(hash, labelled, |known| known.hash);
        self.came(number);
        Ok(Some(number))
    }

    #[cold]
    fn new_series(
        &mut self,
        identity: u128,
        metric: u32,
        label_bytes: &[u8],
    ) -> Result<u32, StoreError> {
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
            next: 0,
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
            + self.labelled_table.capacity() * (size_of::<Labelled>() + 1)
            + self.origins.dict().total_bytes()
            + self.texts.dict().total_bytes()
    }
}

fn labels_hash(metric_type: MetricType, labels: &[u8]) -> u64 {
    xxh3_64_with_seed(labels, metric_type as u64)
}

/// No points of a metric of that type.
pub(crate) fn empty_points(metric_type: MetricType) -> Points {
    Points::new(match metric_type {
        MetricType::Gauge | MetricType::Sum | MetricType::Sample => {
            PointValues::Numbers(Numbers::default())
        }
        MetricType::Histogram => PointValues::Histograms(Box::<Histograms>::default()),
        MetricType::ExponentialHistogram => {
            PointValues::ExponentialHistograms(Box::<ExponentialHistograms>::default())
        }
        MetricType::Summary => PointValues::Summaries(Summaries::default()),
        MetricType::NativeHistogram => {
            PointValues::NativeHistograms(Box::<NativeHistograms>::default())
        }
    })
}
