//! The records of a request, with their resources and scopes.

use kymo_wire::groups::{RequestView, ScopeGroupView};
use kymo_wire::{
    KeyValueView, LogRecordView, MetricData, MetricView, Repeated, ResourceView, Signal, SpanView,
    View, WireError,
};

use super::field;
use crate::record::{Own, PointKind, Record};

/// Shows every record of a request, in their order.
///
/// # Errors
///
/// The request is not well-formed; what came before the fault was shown.
pub fn records<'a>(
    signal: Signal,
    request: &'a [u8],
    mut show: impl FnMut(&Record<'a>),
) -> Result<(), WireError> {
    for group in RequestView::<&[u8]>::parse(request)?.resources {
        let group = group?;
        for scope in group.scopes {
            each_record(signal, group.resource, &scope?, &mut |record| {
                show(record);
                Ok::<(), WireError>(())
            })?;
        }
    }
    Ok(())
}

/// Shows the records of one scope.
pub(crate) fn each_record<'a, E: From<WireError>>(
    signal: Signal,
    resource: Option<ResourceView<'a>>,
    group: &ScopeGroupView<'a, &'a [u8]>,
    show: &mut impl FnMut(&Record<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut record = Record { resource, scope: group.scope, own: Own::Nothing };
    for raw in group.items.raws() {
        let raw = raw?;
        match signal {
            Signal::Traces => {
                record.own = Own::Span(SpanView::parse(raw)?);
                show(&record)?;
            }
            Signal::Logs => {
                record.own = Own::Log(LogRecordView::parse(raw)?);
                show(&record)?;
            }
            Signal::Metrics => {
                let metric = MetricView::parse(raw)?;
                each_point(&metric, |kind, attributes, raw| {
                    record.own = Own::Point { metric: metric.name, kind, attributes, raw };
                    show(&record)
                })?;
            }
        }
    }
    Ok(())
}

fn each_point<'a, E: From<WireError>>(
    metric: &MetricView<'a>,
    mut show: impl FnMut(PointKind, Repeated<'a, KeyValueView<'a>>, &'a [u8]) -> Result<(), E>,
) -> Result<(), E> {
    macro_rules! each {
        ($data:expr, $kind:ident) => {
            for point in $data.data_points {
                let point = point?;
                show(PointKind::$kind, point.attributes, point.raw)?;
            }
        };
    }
    match metric.data {
        MetricData::None => {}
        MetricData::Gauge(data) => each!(data, Number),
        MetricData::Sum(data) => each!(data, Number),
        MetricData::Histogram(data) => each!(data, Histogram),
        MetricData::ExponentialHistogram(data) => each!(data, Exponential),
        MetricData::Summary(data) => each!(data, Summary),
    }
    Ok(())
}

/// How many points a metric has, and the number of the field that they are in.
pub(crate) fn points_of(metric: &MetricView<'_>) -> (usize, u32) {
    let [gauge, sum, histogram, exponential, summary] = field::METRIC_DATA;
    match metric.data {
        MetricData::None => (0, 0),
        MetricData::Gauge(data) => (data.data_points.count(), gauge),
        MetricData::Sum(data) => (data.data_points.count(), sum),
        MetricData::Histogram(data) => (data.data_points.count(), histogram),
        MetricData::ExponentialHistogram(data) => (data.data_points.count(), exponential),
        MetricData::Summary(data) => (data.data_points.count(), summary),
    }
}
