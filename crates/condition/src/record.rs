//! What conditions look at: a span, a log record, a data point or a series, with its resource and
//! its scope.

use kymo_wire::{
    AnyValueView, ExponentialHistogramPointView, HistogramPointView, KeyValueView, LogRecordView,
    NumberPointView, Repeated, ResourceView, ScopeView, Signal, SpanView, SummaryPointView, View,
    WireError,
};

use crate::edit::field;

/// A label of a series: name and value.
pub type Label<'a> = (&'a [u8], &'a [u8]);

/// A record with what it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub(crate) resource: Option<ResourceView<'a>>,
    pub(crate) scope: Option<ScopeView<'a>>,
    pub(crate) own: Own<'a>,
}

/// What the record itself has.
#[derive(Debug, Clone, Copy)]
// A span is what it mostly is, and a record is not kept.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Own<'a> {
    Span(SpanView<'a>),
    Log(LogRecordView<'a>),
    Point {
        metric: &'a [u8],
        kind: PointKind,
        attributes: Repeated<'a, KeyValueView<'a>>,
        raw: &'a [u8],
    },
    Series(&'a [Label<'a>]),
    /// Only the resource is asked.
    Nothing,
}

/// Which message a data point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// Of a gauge or a sum.
    Number,
    /// Of a histogram with explicit bounds.
    Histogram,
    /// Of a histogram with exponential bounds.
    Exponential,
    /// Of a summary.
    Summary,
}

impl<'a> Record<'a> {
    /// A span.
    #[must_use]
    pub fn span(
        resource: Option<&ResourceView<'a>>,
        scope: Option<&ScopeView<'a>>,
        span: &SpanView<'a>,
    ) -> Self {
        Self { resource: resource.copied(), scope: scope.copied(), own: Own::Span(*span) }
    }

    /// A log record.
    #[must_use]
    pub fn log(
        resource: Option<&ResourceView<'a>>,
        scope: Option<&ScopeView<'a>>,
        log: &LogRecordView<'a>,
    ) -> Self {
        Self { resource: resource.copied(), scope: scope.copied(), own: Own::Log(*log) }
    }

    /// A data point of a metric with this name: of which type it is, its attributes, and its bytes.
    #[must_use]
    pub fn point(
        resource: Option<&ResourceView<'a>>,
        scope: Option<&ScopeView<'a>>,
        metric: &'a [u8],
        kind: PointKind,
        attributes: Repeated<'a, KeyValueView<'a>>,
        raw: &'a [u8],
    ) -> Self {
        let own = Own::Point { metric, kind, attributes, raw };
        Self { resource: resource.copied(), scope: scope.copied(), own }
    }

    /// A series of remote-write. It has no resource and no scope; its label `__name__` is its name.
    #[must_use]
    pub fn series(labels: &'a [Label<'a>]) -> Self {
        Self { resource: None, scope: None, own: Own::Series(labels) }
    }

    /// A resource without a record, for conditions that ask for nothing else.
    #[must_use]
    pub fn resource_only(resource: Option<&ResourceView<'a>>) -> Self {
        Self { resource: resource.copied(), scope: None, own: Own::Nothing }
    }

    /// The same record with other bytes, perhaps of another resource or scope. A series has none and
    /// stays as it is.
    ///
    /// # Errors
    ///
    /// The bytes are no such message.
    pub fn with<'b>(
        &self,
        resource: Option<ResourceView<'b>>,
        scope: Option<ScopeView<'b>>,
        raw: &'b [u8],
    ) -> Result<Record<'b>, WireError>
    where
        'a: 'b,
    {
        let own = match self.own {
            Own::Span(_) => Own::Span(SpanView::parse(raw)?),
            Own::Log(_) => Own::Log(LogRecordView::parse(raw)?),
            Own::Point { metric, kind, .. } => {
                let attributes = match kind {
                    PointKind::Number => NumberPointView::parse(raw)?.attributes,
                    PointKind::Histogram => HistogramPointView::parse(raw)?.attributes,
                    PointKind::Exponential => ExponentialHistogramPointView::parse(raw)?.attributes,
                    PointKind::Summary => SummaryPointView::parse(raw)?.attributes,
                };
                Own::Point { metric, kind, attributes, raw }
            }
            Own::Series(labels) => Own::Series(labels),
            Own::Nothing => Own::Nothing,
        };
        Ok(Record { resource, scope, own })
    }

    /// Which signal it is of.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        match self.own {
            Own::Span(_) => Some(Signal::Traces),
            Own::Log(_) => Some(Signal::Logs),
            Own::Point { .. } | Own::Series(_) => Some(Signal::Metrics),
            Own::Nothing => None,
        }
    }

    /// The number of the field that has its attributes; nothing if it is a series.
    #[must_use]
    pub fn attributes_field(&self) -> Option<u32> {
        Some(match self.own {
            Own::Span(_) => field::SPAN_ATTRIBUTES,
            Own::Log(_) => field::LOG_ATTRIBUTES,
            Own::Point { kind: PointKind::Number, .. } => field::NUMBER_POINT_ATTRIBUTES,
            Own::Point { kind: PointKind::Histogram, .. } => field::HISTOGRAM_POINT_ATTRIBUTES,
            Own::Point { kind: PointKind::Exponential, .. } => field::EXPONENTIAL_POINT_ATTRIBUTES,
            Own::Point { kind: PointKind::Summary, .. } => field::SUMMARY_POINT_ATTRIBUTES,
            Own::Series(_) | Own::Nothing => return None,
        })
    }

    /// The number of the field that has its exemplars, if it is a data point that may have some.
    #[must_use]
    pub fn exemplars_field(&self) -> Option<u32> {
        let Own::Point { kind, .. } = self.own else { return None };
        match kind {
            PointKind::Number => Some(field::NUMBER_POINT_EXEMPLARS),
            PointKind::Histogram => Some(field::HISTOGRAM_POINT_EXEMPLARS),
            PointKind::Exponential => Some(field::EXPONENTIAL_POINT_EXEMPLARS),
            PointKind::Summary => None,
        }
    }

    /// The bytes of its message; none of a series.
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        match self.own {
            Own::Span(span) => span.raw,
            Own::Log(log) => log.raw,
            Own::Point { raw, .. } => raw,
            Own::Series(_) | Own::Nothing => &[],
        }
    }

    /// The resource, if one was given.
    #[must_use]
    pub fn resource(&self) -> Option<&ResourceView<'a>> {
        self.resource.as_ref()
    }

    /// The scope, if one was given.
    #[must_use]
    pub fn scope(&self) -> Option<&ScopeView<'a>> {
        self.scope.as_ref()
    }

    /// The trace that a span or a log record belongs to: 16 bytes, or none.
    #[must_use]
    pub fn trace_id(&self) -> &'a [u8] {
        match self.own {
            Own::Span(span) => span.trace_id,
            Own::Log(log) => log.trace_id,
            _ => &[],
        }
    }

    /// What tells the series of a data point from others, piece by piece: resource, scope, name and
    /// attributes, as they were sent. Nothing of other records.
    pub fn each_part_of_series(&self, each: &mut dyn FnMut(&[u8])) {
        let mut attributes = |attributes: &Repeated<'a, KeyValueView<'a>>| {
            attributes.raws().flatten().for_each(&mut *each);
            each(&[]);
        };
        if let Some(resource) = &self.resource {
            attributes(&resource.attributes);
        }
        if let Some(scope) = &self.scope {
            attributes(&scope.attributes);
        }
        match self.own {
            Own::Point { metric, attributes: own, .. } => {
                attributes(&own);
                each(metric);
            }
            Own::Series(labels) => {
                for (name, value) in labels {
                    each(name);
                    each(value);
                }
            }
            Own::Span(_) | Own::Log(_) | Own::Nothing => {}
        }
    }

    /// The value of an attribute: of the record itself, else of its scope, else of its resource. The
    /// first of several with one key that is not empty.
    #[must_use]
    pub fn attribute(&self, key: &[u8]) -> Option<AnyValueView<'a>> {
        let own = match self.own {
            Own::Span(span) => find(&span.attributes, key),
            Own::Log(log) => find(&log.attributes, key),
            Own::Point { attributes, .. } => find(&attributes, key),
            Own::Series(labels) => labels
                .iter()
                .find(|(name, value)| *name == key && !value.is_empty())
                .map(|(_, value)| AnyValueView::String(value)),
            Own::Nothing => None,
        };
        own.or_else(|| find(&self.scope.as_ref()?.attributes, key))
            .or_else(|| find(&self.resource.as_ref()?.attributes, key))
    }
}

fn find<'a>(attributes: &Repeated<'a, KeyValueView<'a>>, key: &[u8]) -> Option<AnyValueView<'a>> {
    // What cannot be read was refused at admission.
    let mut found = attributes.iter().flatten().filter(|attribute| attribute.key == key);
    found.find(|attribute| attribute.value != AnyValueView::Empty).map(|attribute| attribute.value)
}
