//! Spans, metrics and log records of OpenTelemetry's SDK: as OTLP, and on stdout.

use std::future::Future;

use kymo_forward::Signal;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::logs::tonic::group_logs_by_resource_and_scope;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogBatch, LogExporter as _};
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter as _;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use prost::Message as _;

use super::outlet::ScopedLogRecord;

/// How the items of a signal are written.
pub(super) trait Items: Send + Sync + 'static {
    /// The signal.
    const SIGNAL: Signal;
    /// What is written.
    type Item: Send + Sync + 'static;
    /// A batch as a request of OTLP, in protobuf.
    fn encoded(&self, batch: &[Self::Item]) -> Vec<u8>;
    /// A batch on stdout.
    fn print(&self, batch: &[Self::Item]) -> impl Future<Output = OTelSdkResult> + Send;
}

/// Spans of a resource.
pub(super) struct Spans {
    resource: ResourceAttributesWithSchema,
    console: opentelemetry_stdout::SpanExporter,
}

impl Spans {
    pub(super) fn of(resource: &Resource) -> Self {
        let mut console = opentelemetry_stdout::SpanExporter::default();
        console.set_resource(resource);
        Self { resource: resource.into(), console }
    }
}

impl Items for Spans {
    const SIGNAL: Signal = Signal::Traces;
    type Item = SpanData;

    fn encoded(&self, batch: &[SpanData]) -> Vec<u8> {
        // The batch may be needed again.
        let resource_spans = group_spans_by_resource_and_scope(batch.to_vec(), &self.resource);
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }

    async fn print(&self, batch: &[SpanData]) -> OTelSdkResult {
        self.console.export(batch.to_vec()).await
    }
}

/// Collections of metrics, each of which has a resource of its own.
#[derive(Default)]
pub(super) struct Metrics {
    console: opentelemetry_stdout::MetricExporter,
}

impl Items for Metrics {
    const SIGNAL: Signal = Signal::Metrics;
    type Item = ResourceMetrics;

    fn encoded(&self, batch: &[ResourceMetrics]) -> Vec<u8> {
        let of_one = |metrics| ExportMetricsServiceRequest::from(metrics).resource_metrics;
        let resource_metrics = batch.iter().flat_map(of_one).collect();
        ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
    }

    async fn print(&self, batch: &[ResourceMetrics]) -> OTelSdkResult {
        for metrics in batch {
            self.console.export(metrics).await?;
        }
        Ok(())
    }
}

/// Log records of a resource.
pub(super) struct Logs {
    resource: ResourceAttributesWithSchema,
    console: opentelemetry_stdout::LogExporter,
}

impl Logs {
    pub(super) fn of(resource: &Resource) -> Self {
        let mut console = opentelemetry_stdout::LogExporter::default();
        console.set_resource(resource);
        Self { resource: resource.into(), console }
    }
}

impl Items for Logs {
    const SIGNAL: Signal = Signal::Logs;
    type Item = ScopedLogRecord;

    fn encoded(&self, batch: &[ScopedLogRecord]) -> Vec<u8> {
        let records: Vec<_> = batch.iter().map(|(record, scope)| (record, scope)).collect();
        let batch = LogBatch::new(&records);
        let resource_logs = group_logs_by_resource_and_scope(&batch, &self.resource);
        ExportLogsServiceRequest { resource_logs }.encode_to_vec()
    }

    async fn print(&self, batch: &[ScopedLogRecord]) -> OTelSdkResult {
        let records: Vec<_> = batch.iter().map(|(record, scope)| (record, scope)).collect();
        self.console.export(LogBatch::new(&records)).await
    }
}
