//! Durations by service, route and status: what the services would measure themselves.

use std::collections::BTreeMap;

use super::call::Call;
use super::services::{Service, Services};
use crate::batch::Batch;
use crate::metric::{Exemplar, Histogram, Points, SECONDS};
use crate::record::Kind;

/// Which copy of a service, the metric, and its labels.
type Key = (usize, usize, &'static str, Vec<(String, String)>);

/// Attributes that are labels too: few values each.
const LABELS: [&str; 8] = [
    "http.request.method",
    "http.route",
    "http.response.status_code",
    "rpc.system",
    "rpc.service",
    "rpc.method",
    "messaging.destination.name",
    "error.type",
];

#[derive(Debug)]
pub(super) struct Measures {
    start_nanos: u64,
    all: BTreeMap<Key, Histogram>,
    /// What the shop is for.
    orders: u64,
}

impl Measures {
    pub(super) fn new(start_nanos: u64) -> Self {
        Self { start_nanos, all: BTreeMap::new(), orders: 0 }
    }

    /// Counts a call that stands for so many.
    pub(super) fn record(&mut self, call: &Call, exemplar: Exemplar, times: u64) {
        let metric = match call.kind {
            Kind::Consumer => "messaging.process.duration",
            _ if call.attributes.get("rpc.system").is_some() => "rpc.server.call.duration",
            _ => "http.server.request.duration",
        };
        let label = |name: &&str| {
            let value = match (*name, &call.error) {
                ("error.type", Some(error)) => error.kind.to_owned(),
                (name, _) => call.attributes.get(name)?.to_string(),
            };
            Some(((*name).to_owned(), value))
        };
        let labels = LABELS.iter().filter_map(label).collect();
        let key = (call.service as usize, call.host, metric, labels);
        let histogram = self.all.entry(key).or_insert_with(|| Histogram::new(SECONDS));
        histogram.record(exemplar.value, times);
        histogram.show(exemplar);
        if call.service == Service::Checkout && call.error.is_none() {
            self.orders += times;
        }
    }

    /// Tells how it stands.
    pub(super) fn tell(&mut self, nanos: u64, services: &Services, batch: &mut Batch) {
        for (service, host) in services.each() {
            let writer = batch.metrics(services.resource(service, host), "shop");
            let mut points = Points { writer, start_nanos: self.start_nanos, nanos };
            for ((of, at, metric, labels), histogram) in &mut self.all {
                if (*of, *at) == (service as usize, host) {
                    let labels: Vec<_> =
                        labels.iter().map(|(name, value)| (&**name, &**value)).collect();
                    points.histogram(metric, &labels, histogram);
                    histogram.told();
                }
            }
            if (service, host) == (Service::Checkout, 0) {
                points.counter("shop.orders", &[], self.orders as f64);
            }
        }
    }
}
