//! Series of a head, as they are: rows that are full, and points that are not in
//! rows yet.
//!
//! A query that wants a few of a million series must not encode them all. It gets
//! to see the points where they lie, while nothing is added, and copies what it
//! needs.

use std::sync::Arc;

use super::codec::Points;
use super::head::{SeriesHead, describe};
use super::identity::MetricKind;
use super::row::Description;
use crate::chunk::Chunk;

/// Whether a metric is wanted: by its name, its unit and its kind.
pub type IsWanted<'a> = dyn FnMut(&[u8], &[u8], MetricKind) -> bool + 'a;

/// A head, while nothing is added to it.
#[derive(Debug)]
pub struct OpenHead<'a> {
    /// Rows that are full.
    pub rows: Vec<Arc<Chunk>>,
    head: Option<&'a SeriesHead>,
}

/// A series of a head with its points that are not in rows yet.
#[derive(Debug)]
pub struct OpenSeries<'a> {
    head: &'a SeriesHead,
    number: u32,
}

impl<'a> OpenHead<'a> {
    pub(crate) fn new(mut rows: Vec<Arc<Chunk>>, head: Option<&'a SeriesHead>) -> Self {
        rows.extend(head.into_iter().flat_map(SeriesHead::full_rows));
        Self { rows, head }
    }

    /// Calls `visit` with each series that has such points, of the metrics that
    /// `is_wanted` lets through.
    pub fn for_each(&self, is_wanted: &mut IsWanted<'_>, visit: &mut dyn FnMut(&OpenSeries<'_>)) {
        let Some(head) = self.head else { return };
        let texts = head.registry.texts.dict();
        let metrics = head.registry.metrics.iter();
        let wanted: Vec<bool> = metrics
            .map(|metric| is_wanted(texts.get(metric.name), texts.get(metric.unit), metric.kind))
            .collect();
        for (number, series) in head.registry.series.iter().enumerate() {
            if wanted[series.metric as usize] && !series.points.is_empty() {
                visit(&OpenSeries { head, number: number as u32 });
            }
        }
    }
}

impl OpenSeries<'_> {
    /// The identity.
    pub fn identity(&self) -> [u8; 16] {
        self.head.registry.series[self.number as usize].identity.to_le_bytes()
    }

    /// What describes it. `attributes` is overwritten.
    pub fn describe<'b>(&'b self, attributes: &'b mut Vec<u8>) -> Description<'b> {
        describe(&self.head.registry, &self.head.families, self.number, attributes)
    }

    /// The points in the order they came.
    pub fn points(&self) -> &Points {
        &self.head.registry.series[self.number as usize].points
    }

    /// Bytes of the points, nearly.
    pub fn points_bytes(&self) -> usize {
        self.head.registry.series[self.number as usize].bytes as usize
    }

    /// Their exemplars, see [`super::exemplars`].
    pub fn exemplars(&self) -> &[u8] {
        &self.head.registry.series[self.number as usize].exemplars
    }
}
