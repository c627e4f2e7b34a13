//! Exporters of OpenTelemetry's SDK, for a server or for stdout.
//!
//! They may be used on any thread and inside or outside of any runtime: connections live on the
//! thread of [`super::runtime`]. One call takes no longer than [`OtlpSettings::timeout`], retries
//! included.

use std::future::Future;
use std::time::Duration;

use opentelemetry_otlp::{ExporterBuildError, WithExportConfig, WithHttpConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::LogBatch;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::SpanData;
use tokio::runtime::Handle;

use super::http::{Client, Words};
use super::settings::{Compression, Destination, OtlpSettings, Protocol, Signal};
use super::{grpc, runtime};
use crate::error::ServiceError;

/// Sends spans.
#[derive(Debug)]
pub struct SpanExporter(
    Inner<opentelemetry_otlp::SpanExporter, opentelemetry_stdout::SpanExporter>,
);

/// Sends metrics.
#[derive(Debug)]
pub struct MetricExporter(
    Inner<opentelemetry_otlp::MetricExporter, opentelemetry_stdout::MetricExporter>,
);

/// Sends log records.
#[derive(Debug)]
pub struct LogExporter(Inner<opentelemetry_otlp::LogExporter, opentelemetry_stdout::LogExporter>);

#[derive(Debug)]
enum Inner<O, C> {
    Otlp(O, Link),
    Console(C),
    Nowhere,
}

/// An exporter of spans.
///
/// # Errors
/// An endpoint or certificate that cannot be used. That nobody answers is no error here.
pub fn span_exporter(destination: &Destination) -> Result<SpanExporter, ServiceError> {
    let builder = opentelemetry_otlp::SpanExporter::builder;
    let inner = match destination {
        Destination::Console => Inner::Console(opentelemetry_stdout::SpanExporter::default()),
        Destination::Nowhere => Inner::Nowhere,
        Destination::Otlp(settings) => {
            let way = Way::new(settings, Signal::Traces)?;
            let built = match settings.protocol {
                Protocol::Grpc => way.grpc(builder().with_tonic())?.build(),
                _ => way.http(builder().with_http())?.build(),
            };
            Inner::Otlp(way.built(built)?, way.link())
        }
    };
    Ok(SpanExporter(inner))
}

/// An exporter of metrics, cumulative ones.
///
/// # Errors
/// An endpoint or certificate that cannot be used. That nobody answers is no error here.
pub fn metric_exporter(destination: &Destination) -> Result<MetricExporter, ServiceError> {
    let builder = opentelemetry_otlp::MetricExporter::builder;
    let inner = match destination {
        Destination::Console => Inner::Console(opentelemetry_stdout::MetricExporter::default()),
        Destination::Nowhere => Inner::Nowhere,
        Destination::Otlp(settings) => {
            let way = Way::new(settings, Signal::Metrics)?;
            let built = match settings.protocol {
                Protocol::Grpc => way.grpc(builder().with_tonic())?.build(),
                _ => way.http(builder().with_http())?.build(),
            };
            Inner::Otlp(way.built(built)?, way.link())
        }
    };
    Ok(MetricExporter(inner))
}

/// An exporter of log records.
///
/// # Errors
/// An endpoint or certificate that cannot be used. That nobody answers is no error here.
pub fn log_exporter(destination: &Destination) -> Result<LogExporter, ServiceError> {
    let builder = opentelemetry_otlp::LogExporter::builder;
    let inner = match destination {
        Destination::Console => Inner::Console(opentelemetry_stdout::LogExporter::default()),
        Destination::Nowhere => Inner::Nowhere,
        Destination::Otlp(settings) => {
            let way = Way::new(settings, Signal::Logs)?;
            let built = match settings.protocol {
                Protocol::Grpc => way.grpc(builder().with_tonic())?.build(),
                _ => way.http(builder().with_http())?.build(),
            };
            Inner::Otlp(way.built(built)?, way.link())
        }
    };
    Ok(LogExporter(inner))
}

/// What an exporter for a server is built with.
struct Way {
    /// Without user and password in the endpoint.
    settings: OtlpSettings,
    signal: Signal,
    runtime: Handle,
    words: Words,
}

impl Way {
    fn new(settings: &OtlpSettings, signal: Signal) -> Result<Self, ServiceError> {
        let settings = settings.without_credentials();
        Ok(Self { settings, signal, runtime: runtime::handle()?, words: Words::default() })
    }

    fn failed(&self, why: String) -> ServiceError {
        ServiceError::Exporter {
            signal: self.signal.items(),
            endpoint: self.settings.shown_endpoint(),
            why,
        }
    }

    fn grpc<B: WithTonicConfig + WithExportConfig>(&self, builder: B) -> Result<B, ServiceError> {
        let _entered = self.runtime.enter();
        let channel = grpc::channel(&self.settings).map_err(|why| self.failed(why))?;
        let headers = grpc::Headers::new(&self.settings.headers).map_err(|why| self.failed(why))?;
        let builder = builder
            .with_channel(channel)
            .with_interceptor(headers)
            .with_timeout(self.settings.timeout);
        Ok(match self.settings.compression {
            Some(Compression::Gzip) => {
                builder.with_compression(opentelemetry_otlp::Compression::Gzip)
            }
            None => builder,
        })
    }

    fn http<B: WithHttpConfig + WithExportConfig>(&self, builder: B) -> Result<B, ServiceError> {
        let client = Client::new(&self.settings, self.runtime.clone(), self.words.clone())
            .map_err(|why| self.failed(why))?;
        let protocol = match self.settings.protocol {
            Protocol::HttpJson => opentelemetry_otlp::Protocol::HttpJson,
            Protocol::HttpProtobuf | Protocol::Grpc => opentelemetry_otlp::Protocol::HttpBinary,
        };
        let builder = builder
            .with_http_client(client)
            .with_protocol(protocol)
            .with_endpoint(&self.settings.endpoint)
            .with_timeout(self.settings.timeout);
        Ok(match self.settings.compression {
            Some(Compression::Gzip) => {
                builder.with_compression(opentelemetry_otlp::Compression::Gzip)
            }
            None => builder,
        })
    }

    fn built<E>(&self, built: Result<E, ExporterBuildError>) -> Result<E, ServiceError> {
        built.map_err(|error| self.failed(error.to_string()))
    }

    fn link(&self) -> Link {
        Link {
            runtime: self.runtime.clone(),
            timeout: self.settings.timeout,
            words: self.words.clone(),
        }
    }
}

/// The bounds of one call.
#[derive(Debug)]
struct Link {
    runtime: Handle,
    timeout: Duration,
    words: Words,
}

impl Link {
    async fn within(&self, sending: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
        let limited = {
            // A timer belongs to a runtime, and the caller may have none.
            let _entered = self.runtime.enter();
            tokio::time::timeout(self.timeout, sending)
        };
        let result = match limited.await {
            Ok(result) => result,
            Err(_) => Err(OTelSdkError::Timeout(self.timeout)),
        };
        result.map_err(|error| match (error, self.words.take()) {
            (OTelSdkError::InternalFailure(why), Some(words)) if !words.is_empty() => {
                OTelSdkError::InternalFailure(format!("{why}: {words}"))
            }
            (error, _) => error,
        })
    }
}

impl opentelemetry_sdk::trace::SpanExporter for SpanExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, link) => link.within(exporter.export(batch)).await,
            Inner::Console(exporter) => exporter.export(batch).await,
            Inner::Nowhere => Ok(()),
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, _) => exporter.shutdown_with_timeout(timeout),
            Inner::Console(exporter) => exporter.shutdown_with_timeout(timeout),
            Inner::Nowhere => Ok(()),
        }
    }

    fn set_resource(&mut self, resource: &Resource) {
        match &mut self.0 {
            Inner::Otlp(exporter, _) => exporter.set_resource(resource),
            Inner::Console(exporter) => exporter.set_resource(resource),
            Inner::Nowhere => {}
        }
    }
}

impl PushMetricExporter for MetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, link) => link.within(exporter.export(metrics)).await,
            Inner::Console(exporter) => exporter.export(metrics).await,
            Inner::Nowhere => Ok(()),
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, _) => exporter.shutdown_with_timeout(timeout),
            Inner::Console(exporter) => exporter.shutdown_with_timeout(timeout),
            Inner::Nowhere => Ok(()),
        }
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

impl opentelemetry_sdk::logs::LogExporter for LogExporter {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, link) => link.within(exporter.export(batch)).await,
            Inner::Console(exporter) => exporter.export(batch).await,
            Inner::Nowhere => Ok(()),
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        match &self.0 {
            Inner::Otlp(exporter, _) => exporter.shutdown_with_timeout(timeout),
            Inner::Console(exporter) => exporter.shutdown_with_timeout(timeout),
            Inner::Nowhere => Ok(()),
        }
    }

    fn set_resource(&mut self, resource: &Resource) {
        match &mut self.0 {
            Inner::Otlp(exporter, _) => exporter.set_resource(resource),
            Inner::Console(exporter) => exporter.set_resource(resource),
            Inner::Nowhere => {}
        }
    }
}

#[cfg(test)]
#[path = "exporter_tests.rs"]
mod tests;
