//! The head of series: the points that were admitted since the last flush.
//!
//! Points are appended to columns of their series. As soon as a series has
//! [`SERIES_MAX_POINTS`] they are encoded and become a row, which takes a tenth
//! of the memory; the store writes all rows, and what is not full, when it
//! flushes: [`SeriesHead::drain`] leaves nothing, so the journal can be passed.
//!
//! Requests of OTLP come by [`SeriesHead::append`], those of remote-write by
//! [`SeriesHead::append_remote_write`]; both kinds of series live in one head.
//!
//! A series with a few points costs some 500 bytes: 270 for the series itself,
//! its attributes once, and two small vectors. A number point costs 16 bytes
//! until it is encoded.

use std::sync::Arc;

use kymo_wire::{MetricData, MetricView, MetricsView, Repeated, View};

use super::families::Families;
use super::identity::{MetricKind, MetricType};
use super::ingest::{Buffers, DataPoint};
use super::registry::{Registry, empty_points};
use super::remote_labels;
use super::remote_write::WriteBuffers;
use super::row::{Description, RowWriter};
use crate::chunk::Chunk;
use crate::error::StoreError;
use crate::limits::{SERIES_MAX_BYTES, SERIES_MAX_POINTS, SERIES_MAX_REQUEST_POINTS};
use crate::origin::Origin;

/// What a request brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppendStats {
    /// Points that were appended.
    pub points: usize,
    /// Points that were left out, as they have more buckets than can be stored or
    /// are not what admission lets pass.
    pub refused: usize,
    /// Exemplars that were left out, as their series has no point in memory.
    pub dropped_exemplars: usize,
}

/// Points by series, and the rows they became.
#[derive(Debug, Default)]
pub struct SeriesHead {
    pub(crate) registry: Registry,
    /// What remote-write 1.0 says about families of metrics.
    pub(crate) families: Families,
    /// Rows of series that were full.
    rows: RowWriter,
    /// All points: in rows, and not yet.
    points: usize,
    /// Bytes of the points that are not in rows yet, nearly.
    pub(crate) open_bytes: usize,
    /// Journal position of the last request.
    sequence: i64,
    /// Series that became full within the request at hand.
    full: Vec<u32>,
    buffers: Buffers,
    pub(crate) write_buffers: WriteBuffers,
    snapshot: Option<Vec<Arc<Chunk>>>,
}

impl SeriesHead {
    /// An empty head.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the points of an encoded `ExportMetricsServiceRequest`.
    ///
    /// `sequence` must grow from call to call, also over restarts: it decides
    /// which of two points of equal time came later. After an error the points
    /// before the damaged place are in.
    pub fn append(&mut self, body: &[u8], sequence: u64) -> Result<AppendStats, StoreError> {
        self.append_with(sequence, |head, stats| head.append_groups(body, stats))
    }

    /// Appends what `append` finds in a request.
    pub(crate) fn append_with(
        &mut self,
        sequence: u64,
        append: impl FnOnce(&mut Self, &mut AppendStats) -> Result<(), StoreError>,
    ) -> Result<AppendStats, StoreError> {
        self.snapshot = None;
        self.sequence = sequence as i64;
        let mut stats = AppendStats::default();
        let appended = append(self, &mut stats);
        self.points += stats.points;
        // Only now, so that the points of one request are in one row: which of
        // two with equal time came later is then the order within the row.
        for number in std::mem::take(&mut self.full) {
            self.seal(number)?;
        }
        appended.map(|()| stats)
    }

    fn append_groups(&mut self, body: &[u8], stats: &mut AppendStats) -> Result<(), StoreError> {
        let mut encoded = Vec::new();
        for group in MetricsView::parse(body)?.resources {
            let group = group?;
            for scope in group.scopes {
                let scope = scope?;
                encoded.clear();
                Origin::of(&group, &scope).encode(&mut encoded);
                let origin = self.registry.origin(&encoded);
                for metric in scope.items {
                    self.append_metric(origin, &metric?, stats)?;
                }
            }
        }
        Ok(())
    }

    fn append_metric(
        &mut self,
        origin: u32,
        view: &MetricView<'_>,
        stats: &mut AppendStats,
    ) -> Result<(), StoreError> {
        let kind = |metric_type, temporality, monotonic| MetricKind {
            metric_type,
            temporality,
            monotonic,
        };
        match &view.data {
            MetricData::None => Ok(()),
            MetricData::Gauge(data) => {
                let kind = kind(MetricType::Gauge, None, None);
                self.append_points(origin, kind, view, &data.data_points, stats)
            }
            MetricData::Sum(data) => {
                let temporality = Some(data.aggregation_temporality);
                let kind = kind(MetricType::Sum, temporality, Some(data.is_monotonic));
                self.append_points(origin, kind, view, &data.data_points, stats)
            }
            MetricData::Histogram(data) => {
                let temporality = Some(data.aggregation_temporality);
                let kind = kind(MetricType::Histogram, temporality, None);
                self.append_points(origin, kind, view, &data.data_points, stats)
            }
            MetricData::ExponentialHistogram(data) => {
                let temporality = Some(data.aggregation_temporality);
                let kind = kind(MetricType::ExponentialHistogram, temporality, None);
                self.append_points(origin, kind, view, &data.data_points, stats)
            }
            MetricData::Summary(data) => {
                let kind = kind(MetricType::Summary, None, None);
                self.append_points(origin, kind, view, &data.data_points, stats)
            }
        }
    }

    fn append_points<'a, P: DataPoint<'a> + View<'a>>(
        &mut self,
        origin: u32,
        kind: MetricKind,
        view: &MetricView<'a>,
        points: &Repeated<'a, P>,
        stats: &mut AppendStats,
    ) -> Result<(), StoreError> {
        if points.is_empty() {
            return Ok(());
        }
        let metric = self.registry.metric(origin, kind, view)?;
        for point in points {
            let point = point?;
            if !point.fits() {
                stats.refused += 1;
                continue;
            }
            let number = self.registry.series(metric, point.attributes())?;
            let series = &mut self.registry.series[number as usize];
            let bytes_before = series.bytes;
            point.append(series, &mut self.buffers)?;
            self.grew(number, bytes_before)?;
            stats.points += 1;
        }
        Ok(())
    }

    /// Notes that a series got exemplars.
    pub(crate) fn grew_by_exemplars(
        &mut self,
        number: u32,
        bytes_before: u32,
    ) -> Result<(), StoreError> {
        let series = &self.registry.series[number as usize];
        self.open_bytes += (series.bytes - bytes_before) as usize;
        if series.bytes as usize >= SERIES_MAX_BYTES {
            self.seal(number)?;
        }
        Ok(())
    }

    /// Notes that a series got a point.
    #[inline]
    pub(crate) fn grew(&mut self, number: u32, bytes_before: u32) -> Result<(), StoreError> {
        let series = &self.registry.series[number as usize];
        self.open_bytes += (series.bytes - bytes_before) as usize;
        let count = series.points.len();
        if count == SERIES_MAX_POINTS {
            self.full.push(number);
        }
        if count >= SERIES_MAX_REQUEST_POINTS || series.bytes as usize >= SERIES_MAX_BYTES {
            self.seal(number)?;
        }
        Ok(())
    }

    /// Makes a row of what a series has.
    fn seal(&mut self, number: u32) -> Result<(), StoreError> {
        let series = &mut self.registry.series[number as usize];
        if series.points.is_empty() {
            return Ok(());
        }
        let metric_type = self.registry.metrics[series.metric as usize].kind.metric_type;
        let points = std::mem::replace(&mut series.points, empty_points(metric_type));
        let exemplars = std::mem::take(&mut series.exemplars);
        self.open_bytes -= series.bytes as usize;
        series.bytes = 0;
        let mut attributes = Vec::new();
        let description = describe(&self.registry, &self.families, number, &mut attributes);
        self.rows.push_points(&description, &points, &exemplars, self.sequence)
    }

    /// Takes everything out, as rows. The head is empty then, also after an
    /// error.
    pub fn drain(&mut self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut taken = std::mem::take(self);
        self.sequence = taken.sequence;
        for number in 0..taken.registry.series.len() as u32 {
            taken.seal(number)?;
        }
        Ok(taken.rows.finish())
    }

    /// Everything as rows, for a query; the head stays as it is. What is not
    /// full is encoded for it, once until the next request.
    pub fn snapshot(&mut self) -> Result<Vec<Arc<Chunk>>, StoreError> {
        if let Some(chunks) = &self.snapshot {
            return Ok(chunks.clone());
        }
        let mut open = RowWriter::default();
        let mut attributes = Vec::new();
        for (number, series) in self.registry.series.iter().enumerate() {
            if !series.points.is_empty() {
                let number = number as u32;
                let description = describe(&self.registry, &self.families, number, &mut attributes);
                open.push_points(&description, &series.points, &series.exemplars, self.sequence)?;
            }
        }
        let mut chunks = self.rows.snapshot();
        chunks.extend(open.finish());
        self.snapshot = Some(chunks.clone());
        Ok(chunks)
    }

    /// Rows of series that were full.
    pub(crate) fn full_rows(&self) -> Vec<Arc<Chunk>> {
        self.rows.snapshot()
    }

    /// Points since the last drain.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Series since the last drain.
    pub fn series(&self) -> usize {
        self.registry.series.len()
    }

    /// Bytes held on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        let snapshot = self.snapshot.iter().flatten().map(|c| c.heap_bytes()).sum::<usize>();
        // Vectors grow by doubling: on average a third of their room is unused.
        let open_bytes = self.open_bytes + self.open_bytes / 3;
        let described = self.registry.heap_bytes() + self.families.heap_bytes();
        described + self.rows.heap_bytes() + open_bytes + snapshot
    }
}

/// What a row says about its series. `attributes` is overwritten.
pub(crate) fn describe<'a>(
    registry: &'a Registry,
    families: &'a Families,
    number: u32,
    attributes: &'a mut Vec<u8>,
) -> Description<'a> {
    let series = &registry.series[number as usize];
    let metric = &registry.metrics[series.metric as usize];
    let texts = registry.texts.dict();
    let name = texts.get(metric.name);
    let (mut description, mut metadata) =
        (texts.get(metric.description), texts.get(metric.metadata));
    let mut labels = registry.labels.get(number);
    if metric.kind.metric_type.is_prometheus() {
        attributes.clear();
        remote_labels::push_attributes(labels, attributes);
        labels = attributes;
        if description.is_empty()
            && metadata.is_empty()
            && let Some(family) = families.of(name)
        {
            (description, metadata) = (&family.help, &family.metadata);
        }
    }
    Description {
        identity: series.identity.to_le_bytes(),
        origin: registry.origins.dict().get(metric.origin),
        kind: metric.kind,
        name,
        unit: texts.get(metric.unit),
        description,
        metadata,
        labels,
    }
}

#[cfg(test)]
mod tests {
    use kymo_wire::AnyValueView;
    use kymo_wire::encode::Writer;
    use xxhash_rust::xxh3::xxh3_128;

    use super::*;
    use crate::column::{Column, Values};
    use crate::tables::series::field;

    /// A request with one gauge `g` of unit `s`, without resource or scope.
    fn request(description: &[u8], points: impl Iterator<Item = (u64, i64)>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.resource_group(|w| {
            w.scope_group(|w| {
                w.message(2, |w| {
                    w.bytes_field(1, b"g");
                    w.bytes_field(2, description);
                    w.bytes_field(3, b"s");
                    w.message(5, |w| {
                        for (time, value) in points {
                            w.message(1, |w| {
                                w.key_value(7, b"k", &AnyValueView::String(b"v"));
                                w.fixed64_field(3, time);
                                w.fixed64_field(6, value as u64);
                            });
                        }
                    });
                });
            });
        });
        writer.into_bytes()
    }

    fn column(chunk: &Chunk, field: usize) -> &Column {
        chunk.fields[field].as_ref().unwrap()
    }

    fn ints(chunk: &Chunk, field: usize) -> &[i64] {
        let Values::Int(values) = &column(chunk, field).values else { panic!("not integers") };
        values
    }

    #[test]
    fn the_identity_is_the_documented_hash() {
        let mut head = SeriesHead::new();
        head.append(&request(b"", [(1, 1)].into_iter()), 0).unwrap();
        let chunks = head.drain().unwrap();
        let mut metric = xxh3_128(b"").to_le_bytes().to_vec();
        metric.extend_from_slice(&[1, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        metric.extend_from_slice(b"gs");
        let mut series = xxh3_128(&metric).to_le_bytes().to_vec();
        series.extend_from_slice(b"\x0a\x08\x0a\x01k\x12\x03\x0a\x01v");
        let Values::Id16(identities) = &column(&chunks[0], field::IDENTITY).values else {
            panic!("not identities")
        };
        assert_eq!(identities, &[xxh3_128(&series).to_le_bytes()]);
    }

    #[test]
    fn a_full_series_becomes_a_row_at_the_end_of_its_request() {
        let mut head = SeriesHead::new();
        let many = SERIES_MAX_POINTS as u64 + 60;
        let stats = head.append(&request(b"", (0..many).map(|t| (t, 0))), 3).unwrap();
        assert_eq!(stats, AppendStats { points: many as usize, ..AppendStats::default() });
        head.append(&request(b"", [(many, 0)].into_iter()), 4).unwrap();
        assert_eq!((head.series(), head.points()), (1, many as usize + 1));
        let chunks = head.drain().unwrap();
        assert_eq!(ints(&chunks[0], field::COUNT), [many as i64, 1]);
        assert_eq!(ints(&chunks[0], field::SEQUENCE), [3, 4]);
        assert_eq!((head.series(), head.points()), (0, 0));
        assert!(head.drain().unwrap().is_empty());
    }

    #[test]
    fn a_request_with_very_many_points_of_one_series_is_divided() {
        let mut head = SeriesHead::new();
        let many = SERIES_MAX_REQUEST_POINTS as u64 + 10;
        head.append(&request(b"", (0..many).map(|t| (t, 0))), 3).unwrap();
        let chunks = head.drain().unwrap();
        assert_eq!(ints(&chunks[0], field::COUNT), [SERIES_MAX_REQUEST_POINTS as i64, 10]);
    }

    #[test]
    fn the_last_description_of_a_row_is_kept() {
        let mut head = SeriesHead::new();
        head.append(&request(b"first", [(1, 1)].into_iter()), 0).unwrap();
        head.append(&request(b"second", [(2, 1)].into_iter()), 1).unwrap();
        let chunks = head.drain().unwrap();
        let Values::Bytes(codes, dict) = &column(&chunks[0], field::DESCRIPTION).values else {
            panic!("not texts")
        };
        assert_eq!(codes.iter().map(|c| dict.get(*c)).collect::<Vec<_>>(), [b"second"]);
    }

    #[test]
    fn a_series_with_few_points_takes_less_than_600_bytes() {
        let mut head = SeriesHead::new();
        const SERIES: usize = 100_000;
        for series in 0..SERIES {
            let mut writer = Writer::new();
            writer.resource_group(|w| {
                w.scope_group(|w| {
                    w.message(2, |w| {
                        w.bytes_field(1, b"requests");
                        w.message(5, |w| {
                            for time in 1..4 {
                                w.message(1, |w| {
                                    let pod = format!("a-pod-with-a-long-name-{series}");
                                    let pod = AnyValueView::String(pod.as_bytes());
                                    w.key_value(7, b"k8s.pod.name", &pod);
                                    w.key_value(7, b"zone", &AnyValueView::String(b"eu-west-1"));
                                    w.fixed64_field(3, time);
                                    w.double_field(4, 0.5);
                                });
                            }
                        });
                    });
                });
            });
            head.append(&writer.into_bytes(), series as u64).unwrap();
        }
        assert_eq!(head.series(), SERIES);
        let bytes = head.heap_bytes() / SERIES;
        assert!(bytes < 600, "{bytes} bytes for each series");
    }
}
