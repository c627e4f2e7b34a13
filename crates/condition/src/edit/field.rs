//! Numbers of the fields of OTLP that are touched when a request is written again.

/// Groups of records by resource, of a request.
pub const RESOURCE_GROUPS: u32 = 1;
/// The resource of a group.
pub const RESOURCE: u32 = 1;
/// Groups of records by scope, of a group by resource.
pub const SCOPE_GROUPS: u32 = 2;
/// The scope of a group.
pub const SCOPE: u32 = 1;
/// Spans, log records or metrics of a group by scope.
pub const ITEMS: u32 = 2;
/// Data of a metric: gauge, sum, histogram, exponential histogram, summary.
pub const METRIC_DATA: [u32; 5] = [5, 7, 9, 10, 11];
/// Data points, of data of any type.
pub const DATA_POINTS: u32 = 1;
/// Attributes of a resource.
pub const RESOURCE_ATTRIBUTES: u32 = 1;
/// Attributes of a scope.
pub const SCOPE_ATTRIBUTES: u32 = 3;
/// Attributes of a span.
pub const SPAN_ATTRIBUTES: u32 = 9;
/// Events of a span.
pub const SPAN_EVENTS: u32 = 11;
/// Links of a span.
pub const SPAN_LINKS: u32 = 13;
/// Attributes of an event.
pub const EVENT_ATTRIBUTES: u32 = 3;
/// Attributes of a link.
pub const LINK_ATTRIBUTES: u32 = 4;
/// Attributes of a log record.
pub const LOG_ATTRIBUTES: u32 = 6;
/// The body of a log record.
pub const LOG_BODY: u32 = 5;
/// Attributes of points of gauges and sums, and of summaries.
pub const NUMBER_POINT_ATTRIBUTES: u32 = 7;
/// Attributes of points of histograms.
pub const HISTOGRAM_POINT_ATTRIBUTES: u32 = 9;
/// Attributes of points of exponential histograms.
pub const EXPONENTIAL_POINT_ATTRIBUTES: u32 = 1;
/// Attributes of points of summaries.
pub const SUMMARY_POINT_ATTRIBUTES: u32 = 7;
/// Exemplars of points of gauges and sums.
pub const NUMBER_POINT_EXEMPLARS: u32 = 5;
/// Exemplars of points of histograms.
pub const HISTOGRAM_POINT_EXEMPLARS: u32 = 8;
/// Exemplars of points of exponential histograms.
pub const EXPONENTIAL_POINT_EXEMPLARS: u32 = 11;
/// Attributes of an exemplar.
pub const EXEMPLAR_ATTRIBUTES: u32 = 7;
/// The key of an attribute.
pub const KEY: u32 = 1;
/// The value of an attribute.
pub const VALUE: u32 = 2;
