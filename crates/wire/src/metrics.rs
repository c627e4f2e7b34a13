//! Metrics and the kinds of data they carry. The data points are in [`points`](crate::points).

use crate::common::KeyValueView;
use crate::groups::{RequestView, ResourceGroupView, ScopeGroupView};
use crate::points::{
    ExponentialHistogramPointView, HistogramPointView, NumberPointView, SummaryPointView,
};
use crate::proto::{Reader, WireError, WireErrorKind};
use crate::repeated::{Repeated, View};
use crate::tags::{gauge, histogram, metric, sum, summary};

/// An `ExportMetricsServiceRequest`, which is also `MetricsData`.
pub type MetricsView<'a> = RequestView<'a, MetricView<'a>>;
/// The metrics of one resource.
pub type ResourceMetricsView<'a> = ResourceGroupView<'a, MetricView<'a>>;
/// The metrics of one scope.
pub type ScopeMetricsView<'a> = ScopeGroupView<'a, MetricView<'a>>;

/// A metric.
#[derive(Debug, Clone, Copy)]
pub struct MetricView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Name as sent.
    pub name: &'a [u8],
    /// What it measures, for people.
    pub description: &'a [u8],
    /// Unit, usually in UCUM.
    pub unit: &'a [u8],
    /// What else is known about the metric, not about its points.
    pub metadata: Repeated<'a, KeyValueView<'a>>,
    /// The points.
    pub data: MetricData<'a>,
}

/// The data of a metric.
#[derive(Debug, Clone, Copy, Default)]
pub enum MetricData<'a> {
    /// No data was given.
    #[default]
    None,
    /// Values that were current when they were taken.
    Gauge(GaugeView<'a>),
    /// Sums over time.
    Sum(SumView<'a>),
    /// Distributions over explicit bounds.
    Histogram(HistogramView<'a>),
    /// Distributions over exponential bounds.
    ExponentialHistogram(ExponentialHistogramView<'a>),
    /// Quantiles computed by the sender.
    Summary(SummaryView<'a>),
}

impl<'a> View<'a> for MetricView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            name: &[],
            description: &[],
            unit: &[],
            metadata: Repeated::new(),
            data: MetricData::None,
        };
        let mut reader = Reader::new(raw);
        let mut data_tag = 0;
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                metric::NAME => view.name = reader.bytes()?,
                metric::DESCRIPTION => view.description = reader.bytes()?,
                metric::UNIT => view.unit = reader.bytes()?,
                metric::METADATA => view.metadata.push(tail, tag, &mut reader)?,
                metric::GAUGE
                | metric::SUM
                | metric::HISTOGRAM
                | metric::EXPONENTIAL_HISTOGRAM
                | metric::SUMMARY => {
                    // The last kind wins, yet the same kind twice would have to be merged.
                    if data_tag == tag {
                        return Err(reader.error(WireErrorKind::Duplicate(tag >> 3)));
                    }
                    data_tag = tag;
                    view.data = read_data(tag, reader.bytes()?)?;
                }
                _ => reader.skip_other(tag, metric::KNOWN)?,
            }
        }
    }
}

fn read_data(tag: u32, raw: &[u8]) -> Result<MetricData<'_>, WireError> {
    Ok(match tag {
        metric::GAUGE => MetricData::Gauge(GaugeView::parse(raw)?),
        metric::SUM => MetricData::Sum(SumView::parse(raw)?),
        metric::HISTOGRAM => MetricData::Histogram(HistogramView::parse(raw)?),
        metric::EXPONENTIAL_HISTOGRAM => {
            MetricData::ExponentialHistogram(ExponentialHistogramView::parse(raw)?)
        }
        _ => MetricData::Summary(SummaryView::parse(raw)?),
    })
}

/// Values that were current when they were taken.
#[derive(Debug, Clone, Copy)]
pub struct GaugeView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The points.
    pub data_points: Repeated<'a, NumberPointView<'a>>,
}

impl<'a> View<'a> for GaugeView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { raw, data_points: points_only(raw, gauge::DATA_POINTS, gauge::KNOWN)? })
    }
}

/// Sums over time.
#[derive(Debug, Clone, Copy)]
pub struct SumView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The points.
    pub data_points: Repeated<'a, NumberPointView<'a>>,
    /// `AggregationTemporality` as sent: 1 delta, 2 cumulative.
    pub aggregation_temporality: i32,
    /// Whether the sum never falls.
    pub is_monotonic: bool,
}

impl<'a> View<'a> for SumView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            data_points: Repeated::new(),
            aggregation_temporality: 0,
            is_monotonic: false,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                sum::DATA_POINTS => view.data_points.push(tail, tag, &mut reader)?,
                sum::TEMPORALITY => view.aggregation_temporality = reader.varint()? as i32,
                sum::IS_MONOTONIC => view.is_monotonic = reader.varint()? != 0,
                _ => reader.skip_other(tag, sum::KNOWN)?,
            }
        }
    }
}

/// Distributions over explicit bounds.
#[derive(Debug, Clone, Copy)]
pub struct HistogramView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The points.
    pub data_points: Repeated<'a, HistogramPointView<'a>>,
    /// `AggregationTemporality` as sent: 1 delta, 2 cumulative.
    pub aggregation_temporality: i32,
}

impl<'a> View<'a> for HistogramView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let (data_points, aggregation_temporality) = points_and_temporality(raw)?;
        Ok(Self { raw, data_points, aggregation_temporality })
    }
}

/// Distributions over exponential bounds.
#[derive(Debug, Clone, Copy)]
pub struct ExponentialHistogramView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The points.
    pub data_points: Repeated<'a, ExponentialHistogramPointView<'a>>,
    /// `AggregationTemporality` as sent: 1 delta, 2 cumulative.
    pub aggregation_temporality: i32,
}

impl<'a> View<'a> for ExponentialHistogramView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let (data_points, aggregation_temporality) = points_and_temporality(raw)?;
        Ok(Self { raw, data_points, aggregation_temporality })
    }
}

/// Quantiles computed by the sender.
#[derive(Debug, Clone, Copy)]
pub struct SummaryView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The points.
    pub data_points: Repeated<'a, SummaryPointView<'a>>,
}

impl<'a> View<'a> for SummaryView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { raw, data_points: points_only(raw, summary::DATA_POINTS, summary::KNOWN)? })
    }
}

fn points_only<T>(raw: &[u8], points: u32, known: u64) -> Result<Repeated<'_, T>, WireError> {
    let mut data_points = Repeated::new();
    let mut reader = Reader::new(raw);
    loop {
        let tail = reader.rest();
        let Some(tag) = reader.tag()? else { return Ok(data_points) };
        if tag == points {
            data_points.push(tail, tag, &mut reader)?;
        } else {
            reader.skip_other(tag, known)?;
        }
    }
}

/// Both kinds of histogram have the same two fields.
fn points_and_temporality<T>(raw: &[u8]) -> Result<(Repeated<'_, T>, i32), WireError> {
    let mut data_points = Repeated::new();
    let mut temporality = 0;
    let mut reader = Reader::new(raw);
    loop {
        let tail = reader.rest();
        let Some(tag) = reader.tag()? else { return Ok((data_points, temporality)) };
        match tag {
            histogram::DATA_POINTS => data_points.push(tail, tag, &mut reader)?,
            histogram::TEMPORALITY => temporality = reader.varint()? as i32,
            _ => reader.skip_other(tag, histogram::KNOWN)?,
        }
    }
}
