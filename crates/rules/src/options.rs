//! What is not in rule files.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{DEFAULT_INTERVAL, TRACEQL_OFFSET};

/// What holds for all groups.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOptions {
    /// How often groups are evaluated that do not say otherwise; zero is the default.
    pub evaluation_interval: Duration,
    /// How far back groups look that do not say otherwise.
    pub query_offset: Duration,
    /// How far back their TraceQL rules look at least.
    pub traceql_offset: Duration,
    /// How long after a message receivers are told again.
    pub resend_delay: Duration,
    /// Alerts are restored after a restart if the server was away for at most so long.
    pub outage_tolerance: Duration,
    /// A restored alert waits at least so long before it fires; alerts with a shorter `for` are
    /// not restored.
    pub for_grace_period: Duration,
    /// Labels of this server, for templates.
    pub external_labels: BTreeMap<String, String>,
    /// Where this server is reached, such as `http://host:9090/prometheus`.
    pub external_url: String,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self {
            evaluation_interval: DEFAULT_INTERVAL,
            query_offset: Duration::ZERO,
            traceql_offset: TRACEQL_OFFSET,
            resend_delay: Duration::from_secs(60),
            outage_tolerance: Duration::from_secs(3_600),
            for_grace_period: Duration::from_secs(600),
            external_labels: BTreeMap::new(),
            external_url: String::new(),
        }
    }
}
