//! Metrics of spans: how many, how long, how large, by service, name, kind and status.

use std::sync::Arc;

use kymo_wire::{ResourceView, SpanView};

use crate::dimensions::{Dimensions, Values, push_value, push_values};
use crate::distribution::{Bounds, Distribution, Source};
use crate::labels::{LabelWriter, Names, cut, kind_word, status_word};
use crate::origin::{Origin, Origins};
use crate::settings::Settings;
use crate::table::{Moment, NewRow, Table};

/// What is counted of spans with the same labels.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    pub(crate) size_bytes: u64,
    /// How many there are is what it counts.
    pub(crate) latency: Distribution,
}

/// Metrics of a tenant's spans.
#[derive(Debug)]
pub(crate) struct SpanMetrics {
    pub(crate) table: Table<SpanCounts>,
    pub(crate) targets: Table<()>,
    names: Names,
    pub(crate) dimensions: Dimensions,
    pub(crate) bounds: Bounds,
    origins: Origins,
    key: Vec<u8>,
}

impl SpanMetrics {
    pub(crate) fn new(settings: &Settings, nanos_per_unit: f64) -> Self {
        Self {
            table: Table::new(),
            targets: Table::new(),
            names: Names::of(settings.naming),
            dimensions: Dimensions::of_spans(settings),
            bounds: Bounds::new(&settings.buckets, nanos_per_unit),
            origins: Origins::new(settings.target_info),
            key: Vec::new(),
        }
    }

    /// What spans of a resource share.
    pub(crate) fn origin(
        &mut self,
        graph: &Dimensions,
        resource: Option<ResourceView<'_>>,
    ) -> Arc<Origin> {
        self.origins.of(resource, [&self.dimensions, graph])
    }

    /// Counts a span; whether it was counted without labels.
    pub(crate) fn count(
        &mut self,
        origin: &Origin,
        (span, values): (&SpanView<'_>, &Values<'_>),
        (nanos, source): (u64, Option<&Source>),
        (moment, has_room): (Moment, bool),
    ) -> bool {
        let code = span.status.map_or(0, |status| status.code);
        let key = &mut self.key;
        key.clear();
        key.extend_from_slice(&origin.key);
        key.extend_from_slice(&span.kind.to_le_bytes());
        key.extend_from_slice(&code.to_le_bytes());
        push_values(values, key);
        push_value(span.name, key);
        let (names, dimensions) = (&self.names, &self.dimensions);
        let make = || {
            let mut labels = LabelWriter::default();
            labels.add(names.service.as_bytes(), &origin.service);
            labels.add(names.span_name.as_bytes(), cut(span.name));
            labels.add(names.span_kind.as_bytes(), kind_word(span.kind).as_bytes());
            labels.add(names.status_code.as_bytes(), status_word(code).as_bytes());
            for (label, value) in dimensions.labels().zip(values) {
                labels.add(label.as_bytes(), cut(value));
            }
            labels.add(b"job", &origin.job);
            labels.add(b"instance", &origin.instance);
            NewRow { labels: labels.finish(), service: Arc::clone(&origin.service) }
        };
        let (counts, is_overflow) = self.table.value(key, moment, has_room, make);
        counts.size_bytes += span.raw.len() as u64;
        counts.latency.observe(&self.bounds, nanos, source);
        is_overflow
    }

    /// Tells of a resource, if it is to be told.
    pub(crate) fn target(&mut self, origin: &Origin, (moment, has_room): (Moment, bool)) {
        let Some(labels) = &origin.target else { return };
        // Without labels it would say nothing: beyond the bound there is none.
        if has_room || self.targets.contains(labels) {
            let service = Arc::clone(&origin.service);
            let make = || NewRow { labels: labels.clone(), service };
            self.targets.value(labels, moment, has_room, make);
        }
    }
}
