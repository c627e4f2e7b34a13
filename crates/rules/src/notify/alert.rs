//! An alert on its way to receivers, and the trait that takes it.

use std::collections::BTreeMap;

use serde::Serialize;

/// An alert for receivers.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingAlert {
    /// What identifies it.
    pub labels: BTreeMap<String, String>,
    /// What is said about it.
    pub annotations: BTreeMap<String, String>,
    /// When it fired, in nanoseconds since 1970.
    pub starts_at_nanos: i64,
    /// When it was resolved, or when it counts as resolved if nothing more is heard.
    pub ends_at_nanos: i64,
    /// Whether it is resolved.
    pub is_resolved: bool,
    /// Whether it fired before the server started and not since: receivers may know of it from then.
    pub is_restored: bool,
    /// A link to its expression.
    pub generator_url: String,
}

/// Takes alerts to receivers.
pub trait Notify: Send + Sync {
    /// Takes alerts over; must not wait for receivers.
    fn notify(&self, alerts: Vec<OutgoingAlert>);

    /// The Alertmanagers that are told, for the API.
    fn alertmanagers(&self) -> Alertmanagers {
        Alertmanagers::default()
    }
}

/// What `/api/v1/alertmanagers` shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alertmanagers {
    /// Those that are told.
    pub active_alertmanagers: Vec<AlertmanagerTarget>,
    /// Those that relabeling dropped.
    pub dropped_alertmanagers: Vec<AlertmanagerTarget>,
}

/// An Alertmanager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlertmanagerTarget {
    /// Where it takes alerts.
    pub url: String,
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Notify for Silent {
    fn notify(&self, _alerts: Vec<OutgoingAlert>) {}
}
