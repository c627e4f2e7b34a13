//! Metrics as requests of OTLP.
//!
//! Names of Tempo's kind are written as Prometheus has them, and are the same after translation:
//! they have no unit, and counters end in `_total` already.

use std::sync::Arc;

use kymo_wire::encode::{
    DistributionFields, ExemplarFields, MetricFields, MetricShape, PointTimes, Writer,
};
use kymo_wire::{AnyValueView, NumberValue, kvlist_entries};

use crate::distribution::{Bounds, Distribution};
use crate::graph::Graph;
use crate::labels::{INSTANCE_LABELS, LabelWriter};
use crate::limits::REQUEST_BYTES;
use crate::settings::{Naming, Settings};
use crate::spans::SpanMetrics;
use crate::table::{Row, Table};

/// The scope of these metrics, by which others can tell them.
pub(crate) const SCOPE: &[u8] = b"kymo.spanmetrics";

/// When points are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTime {
    pub(crate) nanos: u64,
    /// What has not changed since ends now.
    pub(crate) idle_since_nanos: u64,
}

impl WriteTime {
    /// The times of a row's points: of its zero, if it has not been written, and of now.
    fn of<V>(self, row: &Row<V>) -> (Option<PointTimes>, PointTimes) {
        let start_unix_nano = row.start_nanos;
        let zero = PointTimes { start_unix_nano, unix_nano: start_unix_nano, is_absent: false };
        let is_absent = row.is_over(self.idle_since_nanos);
        let now = PointTimes { start_unix_nano, unix_nano: self.nanos, is_absent };
        (Some(zero).filter(|_| !row.is_written), now)
    }
}

/// Requests being put together.
pub(crate) struct Output {
    time: WriteTime,
    done: Vec<Vec<u8>>,
    request: Writer,
    /// Metrics of the resource that is being written.
    metrics: Writer,
    service: Arc<[u8]>,
    /// A label that all have, as a `KeyValueList`.
    common: Box<[u8]>,
}

impl Output {
    pub(crate) fn new(time: WriteTime, settings: &Settings) -> Self {
        let mut common = LabelWriter::default();
        let [plain, dotted] = INSTANCE_LABELS;
        let name = match settings.naming {
            Naming::Tempo => plain,
            Naming::Collector => dotted,
        };
        common.add(name.as_bytes(), settings.instance.as_deref().unwrap_or_default().as_bytes());
        Self {
            time,
            common: common.finish(),
            done: Vec::new(),
            request: Writer::new(),
            metrics: Writer::new(),
            service: Arc::default(),
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Vec<u8>> {
        self.end_request();
        self.done
    }

    /// What follows is of another service's resource; of none if it is empty.
    fn begin_resource(&mut self, service: &Arc<[u8]>) {
        if self.service != *service {
            self.end_resource();
            self.service = Arc::clone(service);
        }
    }

    fn end_resource(&mut self) {
        let metrics = std::mem::take(&mut self.metrics);
        if metrics.as_slice().is_empty() {
            return;
        }
        let service = Arc::clone(&self.service);
        self.request.resource_group(|w| {
            if !service.is_empty() {
                let value = AnyValueView::String(&service);
                w.resource(|w| w.resource_attribute(b"service.name", &value));
            }
            w.scope_group(|w| {
                w.scope(SCOPE, b"", |_| ());
                w.raw(metrics.as_slice());
            });
        });
    }

    fn end_request(&mut self) {
        self.end_resource();
        let request = std::mem::take(&mut self.request).into_bytes();
        if !request.is_empty() {
            self.done.push(request);
        }
    }

    /// Appends a metric with points of these rows, `point` writing those of one with its labels.
    fn metric<V>(
        &mut self,
        fields: &MetricFields<'_>,
        rows: &[&Row<V>],
        mut point: impl FnMut(&mut Writer, &Row<V>, &[&[u8]; 2]),
    ) {
        let (mut rest, common) = (rows, self.common.clone());
        while !rest.is_empty() {
            let mut taken = 0;
            self.metrics.metric(fields, |w| {
                let from_bytes = w.as_slice().len();
                while let Some(row) = rest.get(taken)
                    && w.as_slice().len() - from_bytes < REQUEST_BYTES
                {
                    point(w, row, &[&row.labels, &common]);
                    taken += 1;
                }
            });
            rest = &rest[taken..];
            if self.request.as_slice().len() + self.metrics.as_slice().len() >= REQUEST_BYTES {
                self.end_request();
            }
        }
    }

    fn counter<V>(&mut self, fields: Named<'_>, rows: &[&Row<V>], value: impl Fn(&V) -> u64) {
        let time = self.time;
        self.metric(&fields.of(MetricShape::Counter), rows, |w, row, labels| {
            let (zero, now) = time.of(row);
            if let Some(zero) = zero {
                number(w, &zero, 0, labels);
            }
            number(w, &now, value(&row.value), labels);
        });
    }

    fn histogram<V>(
        &mut self,
        fields: Named<'_>,
        rows: &[&Row<V>],
        bounds: &Bounds,
        value: impl Fn(&V) -> &Distribution,
    ) {
        let time = self.time;
        let zeros = vec![0; bounds.written.len() + 1];
        let rows: Vec<_> = rows.iter().copied().filter(|row| value(&row.value).count > 0).collect();
        self.metric(&fields.of(MetricShape::Histogram), &rows, |w, row, labels| {
            let found = value(&row.value);
            let (zero, now) = time.of(row);
            let bounds_written = &bounds.written;
            let mut fields = DistributionFields {
                count: 0,
                sum: 0.0,
                bounds: bounds_written,
                bucket_counts: &zeros,
            };
            let labels = |w: &mut Writer| {
                for entry in labels.iter().flat_map(|labels| kvlist_entries(labels)).flatten() {
                    w.histogram_point_attribute_raw(entry.raw);
                }
            };
            if let Some(zero) = zero {
                w.histogram_point(&zero, &fields, labels);
            }
            fields.count = found.count;
            fields.sum = bounds.unit(found.sum_nanos);
            fields.bucket_counts = &found.counts;
            w.histogram_point(&now, &fields, |w| {
                labels(w);
                for exemplar in &found.exemplars {
                    w.histogram_point_exemplar(&ExemplarFields {
                        unix_nano: exemplar.source.seen_nanos,
                        value: bounds.unit(u128::from(exemplar.nanos)),
                        trace_id: &exemplar.source.trace_id,
                        span_id: &exemplar.source.span_id,
                    });
                }
            });
        });
    }

    fn info<V>(&mut self, fields: Named<'_>, rows: &[&Row<V>]) {
        let time = self.time;
        self.metric(&fields.of(MetricShape::Gauge), rows, |w, row, labels| {
            let (_, now) = time.of(row);
            number(w, &PointTimes { start_unix_nano: 0, ..now }, 1, labels);
        });
    }
}

/// A metric's name, what it is, and its unit.
#[derive(Clone, Copy)]
struct Named<'a>(&'a str, &'a str, &'a str);

impl<'a> Named<'a> {
    fn of(self, shape: MetricShape) -> MetricFields<'a> {
        let Self(name, description, unit) = self;
        let (name, description, unit) = (name.as_bytes(), description.as_bytes(), unit.as_bytes());
        MetricFields { name, description, unit, shape }
    }
}

fn number(w: &mut Writer, times: &PointTimes, value: u64, labels: &[&[u8]; 2]) {
    let value = match times.is_absent {
        true => NumberValue::None,
        false => NumberValue::Int(i64::try_from(value).unwrap_or(i64::MAX)),
    };
    w.number_point(times, value, |w| {
        for entry in labels.iter().flat_map(|labels| kvlist_entries(labels)).flatten() {
            w.number_point_attribute_raw(entry.raw);
        }
    });
}

/// Writes the metrics of spans.
pub(crate) fn spans(output: &mut Output, spans: &SpanMetrics, naming: Naming) {
    let mut rows: Vec<_> = spans.table.rows().collect();
    match naming {
        Naming::Tempo => {
            let calls = Named("traces_spanmetrics_calls_total", "Spans", "");
            output.counter(calls, &rows, |counts| counts.latency.count);
            let latency = Named("traces_spanmetrics_latency", "Duration of spans, in seconds", "");
            output.histogram(latency, &rows, &spans.bounds, |counts| &counts.latency);
            let size = Named("traces_spanmetrics_size_total", "Bytes of spans, as they came", "");
            output.counter(size, &rows, |counts| counts.size_bytes);
        }
        Naming::Collector => {
            rows.sort_by(|a, b| a.service.cmp(&b.service));
            for rows in rows.chunk_by(|a, b| a.service == b.service) {
                output.begin_resource(&rows[0].service);
                let calls = Named("traces.span.metrics.calls", "Spans", "");
                output.counter(calls, rows, |counts| counts.latency.count);
                let duration = Named("traces.span.metrics.duration", "Duration of spans", "ms");
                output.histogram(duration, rows, &spans.bounds, |counts| &counts.latency);
                let size = Named("traces.span.metrics.size", "Bytes of spans, as they came", "");
                output.counter(size, rows, |counts| counts.size_bytes);
            }
            output.begin_resource(&Arc::default());
        }
    }
    let targets = rows_of(&spans.targets);
    output.info(Named("traces_target_info", "Resources that spans came from", ""), &targets);
}

/// Writes the metrics of requests between services, whose names both schemes share.
pub(crate) fn graph(output: &mut Output, graph: &Graph) {
    let edges = rows_of(&graph.edges);
    let requests = "Requests between two services";
    output.counter(Named("traces_service_graph_request_total", requests, ""), &edges, |counts| {
        counts.requests
    });
    let failed = Named("traces_service_graph_request_failed_total", "Those that failed", "");
    output.counter(failed, &edges, |counts| counts.failed);
    let server = "Duration as the server saw it, in seconds";
    let server = Named("traces_service_graph_request_server_seconds", server, "");
    output.histogram(server, &edges, &graph.bounds, |counts| &counts.server);
    let client = "Duration as the client saw it, in seconds";
    let client = Named("traces_service_graph_request_client_seconds", client, "");
    output.histogram(client, &edges, &graph.bounds, |counts| &counts.client);
    let lost = rows_of(&graph.lost);
    let unpaired = "Spans whose other side did not come";
    output.counter(Named("traces_service_graph_unpaired_spans_total", unpaired, ""), &lost, |l| {
        l.unpaired
    });
    let dropped = "Spans that could not wait for their other side";
    output.counter(Named("traces_service_graph_dropped_spans_total", dropped, ""), &lost, |l| {
        l.dropped
    });
}

fn rows_of<V: Default>(table: &Table<V>) -> Vec<&Row<V>> {
    table.rows().collect()
}
