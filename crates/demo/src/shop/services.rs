//! The services, where they run and in which version.

use crate::MINUTE;
use crate::batch::Batch;
use crate::record::{Log, Resource, Severity};

pub(super) const HOSTS: [&str; 3] = ["shop-1", "shop-2", "shop-3"];

/// When the new version of `payment` is put on the last host, and stays there alone.
const DEPLOYED_AFTER: u64 = 5 * MINUTE;

/// One of the services, as a place in [`SERVICES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Frontend,
    Cart,
    Checkout,
    Payment,
    Inventory,
    Recommendation,
    Shipping,
    Email,
}

/// Name, version, language.
const SERVICES: [(&str, &str, &str); 8] = [
    ("frontend", "5.1.0", "nodejs"),
    ("cart", "1.9.3", "dotnet"),
    ("checkout", "3.2.0", "go"),
    ("payment", "2.4.0", "nodejs"),
    ("inventory", "4.0.2", "java"),
    ("recommendation", "0.8.1", "python"),
    ("shipping", "1.2.0", "rust"),
    ("email", "1.0.7", "ruby"),
];

const NEW_PAYMENT: &str = "2.4.1";

/// All copies of all services.
#[derive(Debug)]
pub(crate) struct Services {
    /// By service, then by host.
    copies: Vec<[Resource; HOSTS.len()]>,
    is_deployed: bool,
    /// Tells processes of this demo from those of others, as every start of a process does.
    started: String,
}

impl Services {
    pub(super) fn new(start_nanos: u64) -> Self {
        let started = format!("{:05x}", (start_nanos / crate::SECOND) & 0xf_ffff);
        let copies = |(name, version, language)| {
            HOSTS.map(|host| resource(name, version, language, host, &started))
        };
        let copies = SERVICES.into_iter().map(copies).collect();
        Self { copies, is_deployed: false, started }
    }

    pub(super) fn resource(&self, service: Service, host: usize) -> &Resource {
        &self.copies[service as usize][host]
    }

    /// All copies, with name of service and number of host.
    pub(super) fn each(&self) -> impl Iterator<Item = (Service, usize)> {
        use Service::*;
        let all = [Frontend, Cart, Checkout, Payment, Inventory, Recommendation, Shipping, Email];
        all.into_iter().flat_map(|service| (0..HOSTS.len()).map(move |host| (service, host)))
    }

    /// Whether a copy has the new version of `payment`.
    pub(super) fn has_new_payment(&self, host: usize) -> bool {
        self.is_deployed && host == HOSTS.len() - 1
    }

    /// Puts the new version in place when it is time, and tells of it.
    pub(super) fn deploy(&mut self, age_nanos: u64, nanos: u64, batch: &mut Batch) {
        if self.is_deployed || age_nanos < DEPLOYED_AFTER {
            return;
        }
        self.is_deployed = true;
        let host = HOSTS.len() - 1;
        let (name, _, language) = SERVICES[Service::Payment as usize];
        let new = resource(name, NEW_PAYMENT, language, HOSTS[host], &self.started);
        let log = Log {
            nanos,
            severity: Severity::Info,
            body: format!("deployed {name} {NEW_PAYMENT} on {}", HOSTS[host]),
            event_name: "deployment",
            attributes: [("deployment.status", "succeeded"), ("service.version", NEW_PAYMENT)]
                .into_iter()
                .collect(),
            ..Log::default()
        };
        batch.log(&new, "deployer", &log);
        self.copies[Service::Payment as usize][host] = new;
    }
}

fn resource(name: &str, version: &str, language: &str, host: &str, started: &str) -> Resource {
    let pod = format!("{name}-{started}-{}", host.trim_start_matches("shop-"));
    Resource::of(&[
        ("service.name", name),
        ("service.namespace", "shop"),
        ("service.version", version),
        ("service.instance.id", &pod),
        ("host.name", host),
        ("k8s.namespace.name", "shop"),
        ("k8s.pod.name", &pod),
        ("deployment.environment.name", "production"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.language", language),
    ])
}
