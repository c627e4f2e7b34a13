//! Named instruments: whoever asks for a name gets the instrument of that name.
//!
//! ```
//! # use kymo_service::{Detail, Service, ServiceError};
//! # use opentelemetry::KeyValue;
//! # fn measure(service: &Service) -> Result<(), ServiceError> {
//! let requests = service.registry().counter("inference.requests", &[])?;
//! let seconds = service.registry().histogram("inference.duration", &[Detail::Unit("s")])?;
//! requests.add(1, &[KeyValue::new("model", "small")]);
//! seconds.record(0.12, &[KeyValue::new("model", "small")]);
//! # Ok(())
//! # }
//! # measure(&Service::disabled()).unwrap();
//! ```
//!
//! Asking twice for the same name and kind gives the same instrument, so that modules need not hand
//! instruments around; asking for another kind is an error. Names are the same in any case, as
//! OpenTelemetry has it. Histograms have boundaries for seconds, from 1 ms to 1 h: the SDK's own
//! begin at 5, so that everything that takes seconds falls into one bucket.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};

use crate::error::ServiceError;

/// Boundaries for seconds: 1 ms to 1 h, two or three for each power of ten.
pub const SECONDS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 900.0, 3600.0,
];

/// What an instrument is told beside its name. Only the first who asks for it tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Detail<'a> {
    /// Its unit, such as `s`, `By` or `{request}`.
    Unit(&'a str),
    /// What it measures.
    Description(&'a str),
    /// Boundaries of a histogram, ascending.
    Boundaries(&'a [f64]),
}

/// Instruments by name.
#[derive(Debug)]
pub struct Registry {
    meter: Meter,
    instruments: Mutex<HashMap<String, Instrument>>,
}

#[derive(Debug, Clone)]
enum Instrument {
    Counter(Counter<u64>),
    UpDownCounter(UpDownCounter<i64>),
    Gauge(Gauge<f64>),
    Histogram(Histogram<f64>),
}

impl Instrument {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::UpDownCounter(_) => "up-down counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// Makes an accessor of one kind: its name, what it gives, and how the instrument is built.
macro_rules! accessor {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $kind:literal, $type:ty, $build:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// A name that is none, or that is taken by an instrument of another kind.
        pub fn $name(&self, name: &str, details: &[Detail<'_>]) -> Result<$type, ServiceError> {
            let existing = self.find_or_make(name, || {
                let mut builder = self.meter.$build(name.to_owned());
                for detail in details {
                    builder = match detail {
                        Detail::Unit(unit) => builder.with_unit((*unit).to_owned()),
                        Detail::Description(text) => builder.with_description((*text).to_owned()),
                        Detail::Boundaries(_) => builder,
                    };
                }
                Instrument::$variant(builder.build())
            })?;
            match existing {
                Instrument::$variant(instrument) => Ok(instrument),
                other => Err(Self::another_kind(name, &other, $kind)),
            }
        }
    };
}

impl Registry {
    pub(crate) fn new(meter: Meter) -> Self {
        Self { meter, instruments: Mutex::default() }
    }

    accessor!(
        /// What only goes up.
        counter, Counter, "counter", Counter<u64>, u64_counter
    );
    accessor!(
        /// What goes up and down by amounts, such as requests that run.
        up_down_counter, UpDownCounter, "up-down counter", UpDownCounter<i64>, i64_up_down_counter
    );
    accessor!(
        /// What has a value at a moment.
        gauge, Gauge, "gauge", Gauge<f64>, f64_gauge
    );

    /// What is distributed: durations, sizes. [`SECONDS`] unless [`Detail::Boundaries`] says
    /// otherwise.
    ///
    /// # Errors
    /// A name that is none, or that is taken by an instrument of another kind.
    pub fn histogram(
        &self,
        name: &str,
        details: &[Detail<'_>],
    ) -> Result<Histogram<f64>, ServiceError> {
        let existing = self.find_or_make(name, || {
            let mut builder =
                self.meter.f64_histogram(name.to_owned()).with_boundaries(SECONDS.to_vec());
            for detail in details {
                builder = match detail {
                    Detail::Unit(unit) => builder.with_unit((*unit).to_owned()),
                    Detail::Description(text) => builder.with_description((*text).to_owned()),
                    Detail::Boundaries(boundaries) => builder.with_boundaries(boundaries.to_vec()),
                };
            }
            Instrument::Histogram(builder.build())
        })?;
        match existing {
            Instrument::Histogram(instrument) => Ok(instrument),
            other => Err(Self::another_kind(name, &other, "histogram")),
        }
    }

    fn find_or_make(
        &self,
        name: &str,
        make: impl FnOnce() -> Instrument,
    ) -> Result<Instrument, ServiceError> {
        if !is_name(name) {
            return Err(ServiceError::InstrumentName { name: name.chars().take(300).collect() });
        }
        let mut instruments = self.instruments.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match instruments.entry(name.to_lowercase()) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => entry.insert(make()).clone(),
        })
    }

    fn another_kind(name: &str, existing: &Instrument, asked: &'static str) -> ServiceError {
        ServiceError::InstrumentKind { name: name.to_owned(), existing: existing.kind(), asked }
    }
}

/// Whether OpenTelemetry takes it: the SDK gives an instrument that does nothing otherwise.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'))
        && name.len() <= 255
}

/// A text as the beginning of a name: what cannot be in one becomes `_`.
pub(crate) fn as_prefix(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
        .take(100)
        .collect();
    let starts_well = clean.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts_well { clean } else { format!("service_{clean}") }
}

/// The attribute of a GPU's metrics.
pub(crate) fn gpu_id(id: u32) -> [KeyValue; 1] {
    [KeyValue::new("gpu_id", id.to_string())]
}

#[cfg(test)]
mod tests {
    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};

    use super::*;

    fn registry() -> (Registry, SdkMeterProvider, InMemoryMetricExporter) {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        (Registry::new(provider.meter("test")), provider, exporter)
    }

    #[test]
    fn the_same_name_is_the_same_instrument() {
        let (registry, provider, exporter) = registry();
        registry.counter("requests", &[Detail::Unit("{request}")]).unwrap().add(1, &[]);
        registry.counter("Requests", &[]).unwrap().add(2, &[]);
        registry.histogram("seconds", &[]).unwrap().record(0.3, &[]);
        provider.force_flush().unwrap();
        let finished = exporter.get_finished_metrics().unwrap();
        let scope = finished[0].scope_metrics().next().unwrap();
        let metrics: Vec<_> = scope.metrics().collect();
        assert_eq!(metrics.len(), 2);
        let counter = metrics.iter().find(|metric| metric.name() == "requests").unwrap();
        assert_eq!(counter.unit(), "{request}");
        let AggregatedMetrics::U64(MetricData::Sum(sum)) = counter.data() else { panic!() };
        assert_eq!(sum.data_points().next().unwrap().value(), 3);
        let seconds = metrics.iter().find(|metric| metric.name() == "seconds").unwrap();
        let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = seconds.data() else {
            panic!()
        };
        let bounds: Vec<f64> = histogram.data_points().next().unwrap().bounds().collect();
        assert_eq!(bounds, SECONDS);
    }

    #[test]
    fn another_kind_is_an_error_that_says_so() {
        let (registry, _provider, _) = registry();
        registry.counter("requests", &[]).unwrap();
        let error = registry.gauge("requests", &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the instrument \"requests\" is a counter, so it cannot be a gauge: give it another name"
        );
        assert!(registry.histogram("requests", &[]).is_err());
        assert!(registry.up_down_counter("requests", &[]).is_err());
        assert!(registry.counter("requests", &[]).is_ok());
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let (registry, _provider, _) = registry();
        for name in ["", "1st", "two words", "ümlaut", &"x".repeat(256)] {
            let error = registry.counter(name, &[]).unwrap_err();
            assert!(matches!(error, ServiceError::InstrumentName { .. }), "{name:?}");
        }
        assert!(registry.counter("a/b.c-d_9", &[]).is_ok());
    }

    #[test]
    fn any_service_has_a_prefix() {
        assert_eq!(as_prefix("my service:1"), "my_service_1");
        assert_eq!(as_prefix("9lives"), "service_9lives");
        assert!(is_name(&as_prefix("")));
    }
}
