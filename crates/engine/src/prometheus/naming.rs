//! How series of OpenTelemetry appear in Prometheus: settings.

use kymo_wire::metric_names::Strategy;

/// Settings of naming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Naming {
    /// How names are translated.
    pub strategy: Strategy,
    /// What all names of metrics begin with, before an underscore; nothing if empty.
    pub namespace: String,
    /// Attributes of resources that are labels of all their series.
    pub promoted: Vec<String>,
    /// All of them are.
    pub promotes_all: bool,
    /// But these are not, if all others are.
    pub ignored: Vec<String>,
    /// `target_info` also has the attributes that `job` and `instance` are made of.
    pub keeps_identifying: bool,
    /// Name, version and attributes of scopes are labels: `otel_scope_…`.
    pub promotes_scope: bool,
}

impl Naming {
    /// Whether an attribute of a resource is a label of its series.
    pub(super) fn promotes(&self, key: &str) -> bool {
        let is_named = |keys: &[String]| keys.iter().any(|named| named == key);
        match self.promotes_all {
            true => !is_named(&self.ignored),
            false => is_named(&self.promoted),
        }
    }
}
