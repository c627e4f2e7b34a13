//! Streams: what the rows of an origin have in common.
//!
//! Lines that were pushed in Loki's protocol have a scope of a name of its own; all attributes of
//! their resource are the labels of their stream. Of other records, those attributes of the resource
//! are labels that Loki takes for such by default; all else of resource and scope is structured
//! metadata, the same for all rows of the origin.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_logql::labels::Labels;
use kymo_logql::matcher::LabelMatcher;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::origin::Origin;
use kymo_wire::loki;
use kymo_wire::text;

use super::names::each_label;

/// Attributes of resources that are labels, in names of OpenTelemetry.
pub(crate) const INDEX_LABELS: [&str; 18] = [
    "service.name",
    "service.namespace",
    "service.instance.id",
    "deployment.environment",
    "deployment.environment.name",
    "cloud.region",
    "cloud.availability_zone",
    "k8s.cluster.name",
    "k8s.namespace.name",
    "k8s.pod.name",
    "k8s.container.name",
    "container.name",
    "k8s.replicaset.name",
    "k8s.deployment.name",
    "k8s.statefulset.name",
    "k8s.daemonset.name",
    "k8s.cronjob.name",
    "k8s.job.name",
];

/// What all rows of an origin have in common.
#[derive(Debug, Clone)]
pub(super) struct Belonging {
    pub(super) stream: Labels,
    /// Structured metadata of every row.
    pub(super) metadata: Arc<[(Box<str>, Box<str>)]>,
    /// Whether it came in Loki's protocol: then nothing but what was sent is shown.
    pub(super) is_pushed: bool,
}

/// Streams of a question, each kept once.
#[derive(Debug)]
pub(super) struct Streams<'o> {
    index_labels: &'o [String],
    known: HashMap<Vec<u8>, Belonging>,
    /// Equal labels are one set: what is known of a set is found by its identity.
    labels: HashSet<Labels>,
}

impl<'o> Streams<'o> {
    pub(super) fn new(index_labels: &'o [String]) -> Self {
        Self { index_labels, known: HashMap::new(), labels: HashSet::new() }
    }

    /// What the origins of a source are, by number.
    pub(super) fn of_source(&mut self, source: &Source) -> Result<Vec<Belonging>, StoreError> {
        let origins = source.origins()?;
        Ok(origins.iter().map(|encoded| self.of_origin(encoded)).collect())
    }

    fn of_origin(&mut self, encoded: &[u8]) -> Belonging {
        if let Some(known) = self.known.get(encoded) {
            return known.clone();
        }
        let made = self.make(&Origin::decode(encoded));
        self.known.insert(encoded.to_vec(), made.clone());
        made
    }

    /// What the rows of an origin have in common.
    pub(super) fn make(&mut self, origin: &Origin<'_>) -> Belonging {
        let scope = origin.scope_view();
        let is_pushed = scope.as_ref().is_some_and(|scope| scope.name == loki::SCOPE);
        let mut labels: Vec<(String, String)> = Vec::new();
        let mut metadata: Vec<(Box<str>, Box<str>)> = Vec::new();
        for attribute in origin.resource_attributes().iter().flat_map(|a| a.iter()).flatten() {
            let key = text(attribute.key);
            let is_label = is_pushed || self.index_labels.iter().any(|label| *label == *key);
            each_label(&key, &attribute.value, &mut |name, value| match is_label {
                true => labels.push((name.to_owned(), value.into_owned())),
                false => metadata.push((name.into(), value.into())),
            });
        }
        if let Some(scope) = scope.filter(|_| !is_pushed) {
            let mut add = |name: &str, value: &str| metadata.push((name.into(), value.into()));
            if !scope.name.is_empty() {
                add("scope_name", &text(scope.name));
            }
            if !scope.version.is_empty() {
                add("scope_version", &text(scope.version));
            }
            if scope.dropped_attributes_count > 0 {
                let count = scope.dropped_attributes_count.to_string();
                add("scope_dropped_attributes_count", &count);
            }
            for attribute in scope.attributes.iter().flatten() {
                let key = text(attribute.key);
                each_label(&key, &attribute.value, &mut |name, value| add(name, &value));
            }
        }
        let labels = Labels::of(labels);
        let stream = self.labels.get_or_insert(labels).clone();
        Belonging { stream, metadata: metadata.into(), is_pushed }
    }
}

/// Whether all of some matchers match the labels of a stream.
pub(super) fn is_selected(stream: &Labels, matchers: &[LabelMatcher]) -> bool {
    matchers.iter().all(|matcher| matcher.matches(stream.get(&matcher.name).unwrap_or("")))
}
