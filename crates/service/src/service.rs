//! A service's telemetry, from the start of the program to its end.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, global};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tracing::Subscriber;
use tracing_subscriber::registry::LookupSpan;

use crate::bridge::{self, BoxedLayer, LogBridge};
use crate::config::Config;
use crate::context;
use crate::error::ServiceError;
use crate::export::{
    Destination, ExportCounts, ExportSettings, Outlet, OutletOptions, process_environment,
};
use crate::identity;
use crate::registry::{Registry, as_prefix};
use crate::resources;
use crate::share::{ShareLogProcessor, ShareSpanProcessor};

/// The scope of what this crate itself measures and of the [`Registry`]'s instruments.
const SCOPE: &str = "kymograph";

/// The service that [`Service::init`] set up.
static CURRENT: Mutex<Option<Service>> = Mutex::new(None);

/// A service's telemetry. Clones are the same.
///
/// ```no_run
/// use std::time::Duration;
/// use kymo_service::{Config, Service};
///
/// # fn main() -> Result<(), kymo_service::ServiceError> {
/// let service = Service::init(&Config::enabled("trainer"))?;
/// service.install_tracing()?;
/// tracing::info!("ready");
/// service.shutdown(Duration::from_secs(5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    loggers: SdkLoggerProvider,
    registry: Registry,
    resource: Resource,
    /// Nothing if telemetry is off.
    outlet: Option<Outlet>,
    settings: Option<ExportSettings>,
}

impl Service {
    /// Sets up telemetry for this process: providers of spans, metrics and log records, and W3C's
    /// propagators, as OpenTelemetry's global ones. If the configuration is not enabled, nothing is
    /// set and everything does nothing.
    ///
    /// To call it again while it is on gives the same service, and a warning.
    ///
    /// # Errors
    /// Settings that cannot be understood or used. That nobody listens at the endpoint is no error:
    /// what cannot be sent is counted.
    pub fn init(config: &Config) -> Result<Self, ServiceError> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = &*current {
            tracing::warn!(
                target: "kymo_service",
                "telemetry is set up already: what the second call says is not looked at"
            );
            return Ok(service.clone());
        }
        let service = Self::build(config, process_environment)?;
        if service.is_enabled() {
            global::set_text_map_propagator(context::propagator());
            global::set_tracer_provider(service.inner.tracers.clone());
            global::set_meter_provider(service.inner.meters.clone());
            *current = Some(service.clone());
        }
        Ok(service)
    }

    /// The same without touching anything global: for tests, and for programs that contain several
    /// services. `environment` looks a variable up; what the SDK reads by itself
    /// (`OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`, limits of spans) it
    /// reads from the process.
    ///
    /// # Errors
    /// As [`Service::init`].
    pub fn build(
        config: &Config,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ServiceError> {
        if !config.is_enabled(&environment) {
            return Ok(Self::disabled());
        }
        let settings = config.export_settings(&environment)?;
        let resource = identity::resource(config);
        let options = OutletOptions { queue_items: config.queue_items, notice: None };
        let outlet = Outlet::start(&settings, &resource, options)?;

        let tracers = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(ShareSpanProcessor)
            .with_span_processor(outlet.span_processor())
            .build();
        let loggers = SdkLoggerProvider::builder()
            .with_resource(resource.clone())
            .with_log_processor(ShareLogProcessor)
            .with_log_processor(outlet.log_processor())
            .build();
        let mut meters = SdkMeterProvider::builder().with_resource(resource.clone());
        if settings.metrics != Destination::Nowhere {
            let mut reader = PeriodicReader::builder(outlet.metric_exporter(&settings)?);
            if let Some(every) = config.metrics_interval(&environment) {
                reader = reader.with_interval(every);
            }
            meters = meters.with_reader(reader.build());
        }
        let meters = meters.build();
        if config.resource_metrics && settings.metrics != Destination::Nowhere {
            let prefix = config.metric_prefix.clone();
            let prefix = as_prefix(&prefix.unwrap_or_else(|| identity::service_name(&resource)));
            resources::observe(&meter(&meters), &prefix, &kymo_probe::node::NodeOptions::default());
        }
        let registry = Registry::new(meter(&meters));
        let inner = Inner {
            tracers,
            meters,
            loggers,
            registry,
            resource,
            outlet: Some(outlet),
            settings: Some(settings),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Telemetry that is off: everything can be called and does nothing.
    #[must_use]
    pub fn disabled() -> Self {
        let tracers = SdkTracerProvider::builder().with_sampler(Sampler::AlwaysOff).build();
        let meters = SdkMeterProvider::builder().build();
        let registry = Registry::new(meter(&meters));
        let inner = Inner {
            tracers,
            meters,
            loggers: SdkLoggerProvider::builder().build(),
            registry,
            resource: Resource::builder_empty().build(),
            outlet: None,
            settings: None,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether anything is sent.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.inner.outlet.is_some()
    }

    /// Where it goes, if it is on.
    #[must_use]
    pub fn export_settings(&self) -> Option<&ExportSettings> {
        self.inner.settings.as_ref()
    }

    /// What this process says it is.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.inner.resource
    }

    /// Starts spans.
    #[must_use]
    pub fn tracer(&self, name: &'static str) -> SdkTracer {
        self.inner.tracers.tracer(name)
    }

    /// Instruments by name.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The provider of loggers, for appenders of other crates.
    #[must_use]
    pub fn logger_provider(&self) -> &SdkLoggerProvider {
        &self.inner.loggers
    }

    /// The provider of meters, for instruments of other crates.
    #[must_use]
    pub fn meter_provider(&self) -> &SdkMeterProvider {
        &self.inner.meters
    }

    /// Spans and events of `tracing`, for the program's own subscriber:
    /// `tracing_subscriber::registry().with(fmt_layer).with(service.tracing_layer())`. Nothing if
    /// telemetry is off, which a subscriber takes as well.
    #[must_use]
    pub fn tracing_layer<S>(&self) -> Option<BoxedLayer<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        self.is_enabled().then(|| bridge::layer(self.tracer("tracing"), &self.inner.loggers))
    }

    /// Sets a subscriber of `tracing` that does nothing but send, at `RUST_LOG`'s levels, else from
    /// `info` up. For programs that have none.
    ///
    /// # Errors
    /// There is one already: add [`Service::tracing_layer`] to it.
    pub fn install_tracing(&self) -> Result<(), ServiceError> {
        match self.tracing_layer() {
            Some(layer) => bridge::install_tracing(layer, &process_environment),
            None => Ok(()),
        }
    }

    /// A logger of the crate `log` that sends; [`LogBridge::beside`] keeps the program's own.
    #[must_use]
    pub fn log_bridge(&self) -> LogBridge {
        LogBridge::new(self.is_enabled().then_some(&self.inner.loggers))
    }

    /// Sets a logger of the crate `log` that does nothing but send, at `RUST_LOG`'s levels, else
    /// from `info` up. For programs that have none.
    ///
    /// # Errors
    /// There is one already: wrap it with [`Service::log_bridge`].
    pub fn install_log(&self) -> Result<(), ServiceError> {
        if self.is_enabled() {
            bridge::install_log(self.log_bridge(), &process_environment)
        } else {
            Ok(())
        }
    }

    /// What became of everything so far.
    #[must_use]
    pub fn counts(&self) -> ExportCounts {
        self.inner.outlet.as_ref().map(Outlet::counts).unwrap_or_default()
    }

    /// Waits until everything so far has been sent; `false` if something was lost or the time is
    /// over. Metrics are collected and sent now.
    #[must_use]
    pub fn flush(&self, timeout: Duration) -> bool {
        let Some(outlet) = &self.inner.outlet else { return true };
        let deadline = Instant::now() + timeout;
        let is_flushed = self.within(timeout, |meters| meters.force_flush().is_ok());
        outlet.flush(deadline.saturating_duration_since(Instant::now())) && is_flushed
    }

    /// Ends: sends what is queued and a last collection of metrics within `timeout`. `false` if
    /// something was lost. Nothing is recorded after it; another [`Service::init`] may follow.
    pub fn shutdown(&self, timeout: Duration) -> bool {
        let Some(outlet) = &self.inner.outlet else { return true };
        let deadline = Instant::now() + timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|service| Arc::ptr_eq(&service.inner, &self.inner)) {
            *current = None;
        }
        drop(current);
        let has_metrics =
            self.settings().is_some_and(|settings| settings.metrics != Destination::Nowhere);
        let is_complete = !has_metrics
            || self.within(left(), move |meters| {
                let ended = meters.shutdown_with_timeout(timeout);
                matches!(ended, Ok(()) | Err(OTelSdkError::AlreadyShutdown))
            });
        let is_sent = outlet.shutdown(left());
        // What comes from now on is nothing, rather than counted as lost.
        let _ = self.inner.tracers.shutdown_with_timeout(Duration::ZERO);
        let _ = self.inner.loggers.shutdown_with_timeout(Duration::ZERO);
        is_complete && is_sent
    }

    fn settings(&self) -> Option<&ExportSettings> {
        self.inner.settings.as_ref()
    }

    /// Does something with the meters that the SDK may take longer for than there is time.
    fn within(
        &self,
        timeout: Duration,
        act: impl FnOnce(&SdkMeterProvider) -> bool + Send + 'static,
    ) -> bool {
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        let meters = self.inner.meters.clone();
        let started = std::thread::Builder::new().name("kymo-flush".to_owned()).spawn(move || {
            let _ = reply.send(act(&meters));
        });
        started.is_ok() && answer.recv_timeout(timeout).unwrap_or(false)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("is_enabled", &self.is_enabled())
            .field("settings", &self.inner.settings)
            .finish_non_exhaustive()
    }
}

fn meter(meters: &SdkMeterProvider) -> Meter {
    meters.meter_with_scope(
        InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build(),
    )
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
