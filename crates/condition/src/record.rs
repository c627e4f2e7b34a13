//! What conditions look at: a span, a log record, a data point or a series, with its resource and
//! its scope.

use kymo_wire::{
    AnyValueView, ExemplarView, ExponentialHistogramPointView, HistogramPointView, KeyValueView,
    LogRecordView, NumberPointView, Repeated, ResourceView, ScopeView, Signal, SpanView,
    SummaryPointView, View, WireError,
};

use crate::edit::{each_field, field};
use crate::value::usual_key;

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
    Series {
        labels: &'a [Label<'a>],
        /// Labels of all its exemplars.
        exemplar_labels: &'a [Label<'a>],
    },
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

/// Where of a record an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// In the record itself.
    Own,
    /// In its scope.
    Scope,
    /// In its resource.
    Resource,
    /// In an event, a link or an exemplar.
    Within,
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
        Self::series_with_exemplars(labels, &[])
    }

    /// The same, with the labels of all its exemplars.
    #[must_use]
    pub fn series_with_exemplars(
        labels: &'a [Label<'a>],
        exemplar_labels: &'a [Label<'a>],
    ) -> Self {
        Self { resource: None, scope: None, own: Own::Series { labels, exemplar_labels } }
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
            Own::Series { labels, exemplar_labels } => Own::Series { labels, exemplar_labels },
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
            Own::Point { .. } | Own::Series { .. } => Some(Signal::Metrics),
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
            Own::Series { .. } | Own::Nothing => return None,
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
            Own::Series { .. } | Own::Nothing => &[],
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
            Own::Series { labels, .. } => {
                for (name, value) in labels {
                    each(name);
                    each(value);
                }
            }
            Own::Span(_) | Own::Log(_) | Own::Nothing => {}
        }
    }

    /// Shows the attributes whose keys are wanted: those of the record itself, of its scope, of its
    /// resource, and of its events, links and exemplars. Keys that are there several times are shown
    /// as often.
    pub fn each_attribute(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut show: impl FnMut(Part, &'a [u8], AnyValueView<'a>),
    ) {
        let mut list = |part: Part, attributes: &Repeated<'a, KeyValueView<'a>>| {
            for raw in attributes.raws().flatten() {
                if usual_key(raw).is_some_and(|key| !is_wanted(key)) {
                    continue;
                }
                // What cannot be read was refused at admission.
                let Ok(attribute) = KeyValueView::parse(raw) else { continue };
                if is_wanted(attribute.key) {
                    show(part, attribute.key, attribute.value);
                }
            }
        };
        if let Some(scope) = &self.scope {
            list(Part::Scope, &scope.attributes);
        }
        if let Some(resource) = &self.resource {
            list(Part::Resource, &resource.attributes);
        }
        match &self.own {
            Own::Span(span) => {
                list(Part::Own, &span.attributes);
                for event in span.events.iter().flatten() {
                    list(Part::Within, &event.attributes);
                }
                for link in span.links.iter().flatten() {
                    list(Part::Within, &link.attributes);
                }
            }
            Own::Log(log) => list(Part::Own, &log.attributes),
            Own::Point { attributes, raw, .. } => {
                list(Part::Own, attributes);
                let Some(exemplars) = self.exemplars_field() else { return };
                let _ = each_field(raw, |number, content, _| {
                    if number == exemplars {
                        let exemplar = ExemplarView::parse(content)?;
                        list(Part::Within, &exemplar.filtered_attributes);
                    }
                    Ok(())
                });
            }
            Own::Series { labels, exemplar_labels } => {
                for (part, labels) in [(Part::Own, labels), (Part::Within, exemplar_labels)] {
                    for (name, value) in labels.iter().filter(|(name, _)| is_wanted(name)) {
                        show(part, name, AnyValueView::String(value));
                    }
                }
            }
            Own::Nothing => {}
        }
    }
}
