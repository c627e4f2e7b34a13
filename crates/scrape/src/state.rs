//! What the API shows of targets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::config::format_duration;
use crate::labels::Labels;
use crate::sink::MetricMetadata;
use crate::target::Target;

/// How a target was at its last scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetHealth {
    /// It was not scraped yet.
    #[default]
    Unknown,
    /// It answered.
    Up,
    /// It did not, or not what can be read, or what it said could not be stored.
    Down,
}

impl TargetHealth {
    /// The word in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// What `/api/v1/targets` shows of an active target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetState {
    /// Labels before relabeling.
    pub discovered_labels: Labels,
    /// Labels of its samples.
    pub labels: Labels,
    /// The job.
    pub scrape_pool: String,
    /// What is asked for.
    pub scrape_url: String,
    /// The same, as others reach it.
    pub global_url: String,
    /// Why the last scrape failed, or why not all of it was stored; empty if all went well.
    pub last_error: String,
    /// When it was last scraped.
    pub last_scrape: Option<SystemTime>,
    /// How long that took.
    pub last_scrape_duration: Duration,
    /// How that went.
    pub health: TargetHealth,
    /// How often it is scraped, such as `15s`.
    pub scrape_interval: String,
    /// How long a scrape may take, such as `10s`.
    pub scrape_timeout: String,
}

/// What `/api/v1/targets` shows of a target that relabeling dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedTarget {
    /// Labels before relabeling.
    pub discovered_labels: Labels,
    /// The job.
    pub scrape_pool: String,
}

/// What `/api/v1/targets/metadata` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetMetadata {
    /// Labels of the target.
    pub target: Labels,
    /// What is known of its metrics, by family.
    pub metrics: Vec<Arc<MetricMetadata>>,
}

/// How the last scrape went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    pub(crate) health: TargetHealth,
    pub(crate) last_error: String,
    pub(crate) last_scrape: Option<SystemTime>,
    pub(crate) last_duration: Duration,
}

/// What a target's task tells, and what the API asks for.
#[derive(Debug)]
pub(crate) struct Shared {
    target: Mutex<Arc<Target>>,
    status: Mutex<Status>,
    metadata: Mutex<Vec<Arc<MetricMetadata>>>,
}

impl Shared {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Self { target: Mutex::new(target), status: Mutex::default(), metadata: Mutex::default() }
    }

    pub(crate) fn set_target(&self, target: Arc<Target>) {
        *lock(&self.target) = target;
    }

    pub(crate) fn set_status(&self, status: Status) {
        *lock(&self.status) = status;
    }

    pub(crate) fn set_metadata(&self, metadata: Vec<Arc<MetricMetadata>>) {
        *lock(&self.metadata) = metadata;
    }

    pub(crate) fn last_error(&self) -> String {
        lock(&self.status).last_error.clone()
    }

    pub(crate) fn state(&self, pool: &str, external_host: Option<&str>) -> TargetState {
        let target = lock(&self.target).clone();
        let status = lock(&self.status).clone();
        TargetState {
            discovered_labels: target.discovered.clone(),
            labels: target.labels.clone(),
            scrape_pool: pool.to_owned(),
            scrape_url: target.url.to_string(),
            global_url: global_url(&target, external_host),
            last_error: status.last_error,
            last_scrape: status.last_scrape,
            last_scrape_duration: status.last_duration,
            health: status.health,
            scrape_interval: format_duration(target.interval),
            scrape_timeout: format_duration(target.timeout),
        }
    }

    pub(crate) fn metadata(&self) -> TargetMetadata {
        let target = lock(&self.target).labels.clone();
        TargetMetadata { target, metrics: lock(&self.metadata).clone() }
    }
}

/// Our own machine is not `localhost` to others.
fn global_url(target: &Target, external_host: Option<&str>) -> String {
    let mut url = target.url.clone();
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if let Some(host) = external_host.filter(|_| is_local) {
        // A host that is none leaves the URL as it is.
        let _ = url.set_host(Some(host));
    }
    url.to_string()
}

/// Locks; what a thread left behind that panicked is whole, since each value is set at once.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
