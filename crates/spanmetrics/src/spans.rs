//! Metrics of spans: how many, how long, how large, by service, name, kind and status.

use std::sync::Arc;

use kymo_wire::{KeyValueView, Repeated, ResourceView, SpanView};

use crate::dimensions::{Dimensions, Values, push_value, push_values};
use crate::distribution::{Bounds, Distribution, Source};
use crate::labels::{LabelWriter, Names, cut, kind_word, plain_name, status_word, value_text};
use crate::settings::Settings;
use crate::table::{Moment, NewRow, Table};

/// What is counted of spans with the same labels.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    pub(crate) size_bytes: u64,
    /// How many there are is what it counts.
    pub(crate) latency: Distribution,
}

/// What all spans of a resource share.
#[derive(Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) service: Arc<[u8]>,
    job: Vec<u8>,
    instance: Vec<u8>,
    /// What keys of series of its spans begin with.
    key: Vec<u8>,
    /// What it gives for dimensions of spans, and of the graph.
    pub(crate) of_spans: Values<'a>,
    pub(crate) of_graph: Values<'a>,
}

/// Metrics of a tenant's spans.
#[derive(Debug)]
pub(crate) struct SpanMetrics {
    pub(crate) table: Table<SpanCounts>,
    pub(crate) targets: Table<()>,
    names: Names,
    pub(crate) dimensions: Dimensions,
    pub(crate) bounds: Bounds,
    has_targets: bool,
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
            has_targets: settings.target_info,
            key: Vec::new(),
        }
    }

    /// Reads what spans of a resource share.
    pub(crate) fn origin<'a>(
        &self,
        graph: &Dimensions,
        resource: Option<ResourceView<'a>>,
    ) -> Origin<'a> {
        let attributes = resource.map(|resource| resource.attributes);
        let [mut name, mut namespace, mut instance] = [Vec::new(), Vec::new(), Vec::new()];
        for entry in entries(attributes) {
            let place = match entry.key {
                b"service.name" => &mut name,
                b"service.namespace" => &mut namespace,
                b"service.instance.id" => &mut instance,
                _ => continue,
            };
            *place = cut(&value_text(&entry.value)).to_vec();
        }
        let service = Arc::from(&*name);
        let job = match (namespace.is_empty(), name.is_empty()) {
            (false, false) => [&namespace[..], b"/", &name].concat(),
            _ => name,
        };
        let mut key = Vec::new();
        push_value(&service, &mut key);
        if self.has_targets {
            push_value(&job, &mut key);
            push_value(&instance, &mut key);
        }
        let of_spans = self.dimensions.of_resource(attributes);
        let of_graph = graph.of_resource(attributes);
        Origin { service, job, instance, key, of_spans, of_graph }
    }

    /// Counts a span; whether it was counted without labels.
    pub(crate) fn count(
        &mut self,
        origin: &Origin<'_>,
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
        let (names, dimensions, has_targets) = (&self.names, &self.dimensions, self.has_targets);
        let make = || {
            let mut labels = LabelWriter::default();
            labels.add(names.service.as_bytes(), &origin.service);
            labels.add(names.span_name.as_bytes(), cut(span.name));
            labels.add(names.span_kind.as_bytes(), kind_word(span.kind).as_bytes());
            labels.add(names.status_code.as_bytes(), status_word(code).as_bytes());
            for (label, value) in dimensions.labels().zip(values) {
                labels.add(label.as_bytes(), cut(value));
            }
            if has_targets {
                labels.add(b"job", &origin.job);
                labels.add(b"instance", &origin.instance);
            }
            NewRow { labels: labels.finish(), service: Arc::clone(&origin.service) }
        };
        let (counts, is_overflow) = self.table.value(key, moment, has_room, make);
        counts.size_bytes += span.raw.len() as u64;
        counts.latency.observe(&self.bounds, nanos, source);
        is_overflow
    }

    /// Tells of a resource, if that is wanted, it has a name, and there is something to tell.
    pub(crate) fn target(
        &mut self,
        origin: &Origin<'_>,
        resource: Option<ResourceView<'_>>,
        (moment, has_room): (Moment, bool),
    ) {
        let Some(resource) = resource.filter(|_| self.has_targets) else { return };
        if origin.job.is_empty() && origin.instance.is_empty() {
            return;
        }
        let identity: [&[u8]; 3] = [b"service.name", b"service.namespace", b"service.instance.id"];
        let is_identity = |key: &[u8]| identity.contains(&key);
        let is_told = |entry: &KeyValueView<'_>| {
            !entry.key.is_empty() && !is_identity(entry.key) && !value_text(&entry.value).is_empty()
        };
        if !entries(Some(resource.attributes)).any(|entry| is_told(&entry)) {
            return;
        }
        let make = || {
            let mut told: Vec<(String, Vec<u8>)> = Vec::new();
            for entry in entries(Some(resource.attributes)).filter(is_told) {
                let mut name = plain_name(&kymo_wire::text(entry.key));
                if ["job", "instance"].contains(&name.as_str()) {
                    name.insert_str(0, "__");
                }
                // Two names may be one as labels.
                if told.iter().all(|(known, _)| *known != name) {
                    told.push((name, cut(&value_text(&entry.value)).to_vec()));
                }
            }
            let mut labels = LabelWriter::default();
            labels.add(b"job", &origin.job);
            labels.add(b"instance", &origin.instance);
            told.iter().for_each(|(name, value)| labels.add(name.as_bytes(), value));
            NewRow { labels: labels.finish(), service: Arc::clone(&origin.service) }
        };
        // Without labels it would say nothing: beyond the bound there is none.
        if has_room || self.targets.contains(resource.raw) {
            self.targets.value(resource.raw, moment, has_room, make);
        }
    }
}

fn entries<'a>(
    attributes: Option<Repeated<'a, KeyValueView<'a>>>,
) -> impl Iterator<Item = KeyValueView<'a>> {
    attributes.into_iter().flatten().flatten()
}
