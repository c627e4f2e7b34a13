//! Rows of series, written: points and what describes them to a row of a chunk.

use std::sync::Arc;

use kymo_wire::{KeyValueView, kvlist_entries};

use super::codec::{self, Points};
use super::identity::{MetricKind, TEMPORALITIES};
use crate::chunk::{Chunk, ChunkBuilder};
use crate::error::StoreError;
use crate::limits::{CHUNK_MAX_BYTES, CHUNK_MAX_ROWS};
use crate::tables::series::{TABLE, field};
use crate::tables::spans::push_word;

/// What describes a series, as it is in its rows.
#[derive(Debug, Clone, Copy)]
pub struct Description<'a> {
    /// The identity.
    pub identity: [u8; 16],
    /// The encoded origin, see [`crate::origin::Origin::decode`].
    pub origin: &'a [u8],
    /// Type, temporality, and whether it is monotonic.
    pub kind: MetricKind,
    /// The metric's name as sent.
    pub name: &'a [u8],
    /// The metric's unit.
    pub unit: &'a [u8],
    /// The metric's description.
    pub description: &'a [u8],
    /// The metric's metadata: an encoded `KeyValueList`.
    pub metadata: &'a [u8],
    /// The points' attributes: an encoded `KeyValueList`.
    pub labels: &'a [u8],
}

/// The points of a row, encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodedPoints<'a> {
    pub(crate) min_time_nanos: i64,
    pub(crate) max_time_nanos: i64,
    pub(crate) count: usize,
    pub(crate) times: &'a [u8],
    pub(crate) values: &'a [u8],
    pub(crate) exemplars: &'a [u8],
    /// Grows with arrival; that of the point that came last.
    pub(crate) sequence: i64,
    /// That of each point, encoded as times are; empty if all have `sequence`.
    pub(crate) sequences: &'a [u8],
}

/// Grows chunks of bounded size.
#[derive(Debug)]
pub(crate) struct RowWriter {
    chunks: Vec<Arc<Chunk>>,
    builder: ChunkBuilder,
    builder_bytes: usize,
    times: Vec<u8>,
    values: Vec<u8>,
}

impl Default for RowWriter {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            builder: ChunkBuilder::new(&TABLE),
            builder_bytes: 0,
            times: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl RowWriter {
    /// Encodes points, which must not be none, and appends their row.
    pub(crate) fn push_points(
        &mut self,
        description: &Description<'_>,
        points: &Points,
        exemplars: &[u8],
        sequence: i64,
    ) -> Result<(), StoreError> {
        let (mut times, mut values) =
            (std::mem::take(&mut self.times), std::mem::take(&mut self.values));
        times.clear();
        values.clear();
        codec::encode_times(&points.times_nanos, &mut times)?;
        codec::encode_values(points, &mut values)?;
        let (min_time_nanos, max_time_nanos) = time_bounds(&points.times_nanos);
        let encoded = EncodedPoints {
            min_time_nanos,
            max_time_nanos,
            count: points.len(),
            times: &times,
            values: &values,
            exemplars,
            sequence,
            sequences: &[],
        };
        self.push_encoded(description, &encoded)?;
        (self.times, self.values) = (times, values);
        Ok(())
    }

    fn push_encoded(
        &mut self,
        description: &Description<'_>,
        points: &EncodedPoints<'_>,
    ) -> Result<(), StoreError> {
        if self.builder.rows() >= CHUNK_MAX_ROWS || self.builder_bytes >= CHUNK_MAX_BYTES {
            let full = std::mem::replace(&mut self.builder, ChunkBuilder::new(&TABLE));
            self.chunks.push(Arc::new(full.finish()));
            self.builder_bytes = 0;
        }
        push_row(&mut self.builder, description, points)?;
        self.builder_bytes += points.times.len() + points.values.len() + points.exemplars.len();
        Ok(())
    }

    /// The rows so far, copied where they are not complete chunks yet.
    pub(crate) fn snapshot(&self) -> Vec<Arc<Chunk>> {
        let mut chunks = self.chunks.clone();
        if self.builder.rows() > 0 {
            chunks.push(Arc::new(self.builder.snapshot()));
        }
        chunks
    }

    /// The rows.
    pub(crate) fn finish(mut self) -> Vec<Arc<Chunk>> {
        if self.builder.rows() > 0 {
            self.chunks.push(Arc::new(self.builder.finish()));
        }
        self.chunks
    }

    /// Bytes held on the heap, nearly.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.chunks.iter().map(|c| c.heap_bytes()).sum::<usize>() + self.builder.heap_bytes()
    }
}

/// Least and greatest of some times; zeroes for none.
pub(crate) fn time_bounds(times_nanos: &[i64]) -> (i64, i64) {
    let min = times_nanos.iter().copied().min();
    let max = times_nanos.iter().copied().max();
    (min.unwrap_or(0), max.unwrap_or(0))
}

/// Appends a row.
pub(crate) fn push_row(
    builder: &mut ChunkBuilder,
    description: &Description<'_>,
    points: &EncodedPoints<'_>,
) -> Result<(), StoreError> {
    let labels: Vec<KeyValueView<'_>> =
        kvlist_entries(description.labels).collect::<Result<_, _>>()?;
    let origin = builder.origin(description.origin);
    builder.begin_row(origin);
    builder.id(field::IDENTITY, &description.identity);
    builder.bytes(field::NAME, description.name);
    builder.bytes_if_any(field::UNIT, description.unit);
    builder.bytes_if_any(field::DESCRIPTION, description.description);
    builder.bytes(field::TYPE, description.kind.metric_type.name().as_bytes());
    if let Some(temporality) = description.kind.temporality {
        push_word(builder, field::TEMPORALITY, &TEMPORALITIES, temporality);
    }
    if let Some(monotonic) = description.kind.monotonic {
        builder.bool(field::MONOTONIC, monotonic);
    }
    builder.bytes_if_any(field::METADATA, description.metadata);
    builder.int(field::MIN_TIME, points.min_time_nanos);
    builder.int(field::MAX_TIME, points.max_time_nanos);
    builder.int(field::COUNT, points.count as i64);
    builder.bytes(field::TIMES, points.times);
    builder.bytes(field::VALUES, points.values);
    builder.bytes_if_any(field::EXEMPLARS, points.exemplars);
    builder.int(field::SEQUENCE, points.sequence);
    builder.bytes_if_any(field::SEQUENCES, points.sequences);
    for label in &labels {
        builder.attribute(label);
    }
    builder.end_attributes();
    Ok(())
}
