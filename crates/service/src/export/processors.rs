//! What puts an SDK's spans, metrics and log records into an [`Outlet`].

use std::time::Duration;

use kymo_forward::{Answer, Signal, signals};
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};

use super::exporter::Exporter;
use super::items::Metrics;
use super::lane::Export as _;
use super::notices::Notices;
use super::outlet::Outlet;
use super::settings::ExportSettings;
use crate::error::ServiceError;
use crate::limits::SHUTDOWN_TIMEOUT;

impl Outlet {
    /// For a tracer provider: spans that end go into this outlet. Shutting it down flushes; the
    /// outlet itself goes on.
    #[must_use]
    pub fn span_processor(&self) -> OutletSpanProcessor {
        OutletSpanProcessor(self.clone())
    }

    /// For a logger provider: log records go into this outlet. Shutting it down flushes; the outlet
    /// itself goes on.
    #[must_use]
    pub fn log_processor(&self) -> OutletLogProcessor {
        OutletLogProcessor(self.clone())
    }

    /// For a periodic reader: metrics are sent on its thread, since the SDK hands them out by
    /// reference only, and are counted here. What fails is not kept: the next collection says the
    /// same and more.
    ///
    /// # Errors
    /// Settings that cannot be used.
    pub fn metric_exporter(
        &self,
        settings: &ExportSettings,
    ) -> Result<OutletMetricExporter, ServiceError> {
        Ok(OutletMetricExporter {
            exporter: Exporter::new(&settings.metrics, Metrics::default())?,
            notices: self.metric_notices(settings),
            outlet: self.clone(),
        })
    }
}

fn flushed(outlet: &Outlet, signal: Signal, timeout: Duration) -> OTelSdkResult {
    if outlet.flush_signals(&[signal], timeout) {
        Ok(())
    } else {
        Err(OTelSdkError::InternalFailure(format!(
            "not all {} were sent within {:.1} s",
            signals::items(signal),
            timeout.as_secs_f64()
        )))
    }
}

/// Puts spans into an [`Outlet`].
#[derive(Debug, Clone)]
pub struct OutletSpanProcessor(Outlet);

impl SpanProcessor for OutletSpanProcessor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.0.spans([span]);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        flushed(&self.0, Signal::Traces, SHUTDOWN_TIMEOUT)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        flushed(&self.0, Signal::Traces, timeout)
    }
}

/// Puts log records into an [`Outlet`].
#[derive(Debug, Clone)]
pub struct OutletLogProcessor(Outlet);

impl LogProcessor for OutletLogProcessor {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        self.0.logs([(record.clone(), scope.clone())]);
    }

    fn force_flush(&self) -> OTelSdkResult {
        flushed(&self.0, Signal::Logs, SHUTDOWN_TIMEOUT)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        flushed(&self.0, Signal::Logs, timeout)
    }
}

/// Sends metrics and counts them in an [`Outlet`].
pub struct OutletMetricExporter {
    /// None if they go nowhere.
    exporter: Option<Exporter<Metrics>>,
    notices: Notices,
    outlet: Outlet,
}

impl PushMetricExporter for OutletMetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let Some(exporter) = &self.exporter else { return Ok(()) };
        let lost_why = match exporter.export(std::slice::from_ref(metrics)).await {
            Answer::Accepted(partial) => {
                let lost_before = self.outlet.counts().metrics.failed;
                self.notices.takes(partial.as_ref(), lost_before);
                partial.filter(|partial| partial.rejected > 0).map(|partial| partial.to_string())
            }
            Answer::Refused(why) => {
                self.notices.fails(&why, true);
                Some(why)
            }
            Answer::Later(why, _) => {
                self.notices.fails(&why, false);
                Some(why)
            }
        };
        self.outlet.count_metrics(lost_why.is_none());
        lost_why.map_or(Ok(()), |why| Err(OTelSdkError::InternalFailure(why)))
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}
