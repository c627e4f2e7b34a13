//! A stored series' description to the labels that it has in Prometheus.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_promql::labels::{Label, Labels, NAME};
use kymo_promql::matcher::LabelMatcher;
use kymo_store::origin::Origin;
use kymo_store::series::Description;
use kymo_store::series::identity::{MetricKind as StoredKind, MetricType};
use kymo_store::series::matcher::value_text;
use kymo_wire::metric_names::MetricKind;
use kymo_wire::{kvlist_entries, text};

use super::naming::Naming;
use super::unfold::{Variant, suffixes};

/// The name of the metric that describes targets.
pub(crate) const TARGET_INFO: &str = "target_info";

/// What is kept of a series from one query to the next.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) kind: StoredKind,
    /// All labels; without a name if the series unfolds to several.
    pub(crate) labels: Labels,
    /// The metric's name in Prometheus.
    pub(crate) name: String,
    /// The labels of `target_info` of the resource, if it has such a series.
    pub(crate) target: Option<Labels>,
}

impl Naming {
    /// The name in Prometheus of a metric; `None` if it has none.
    pub(crate) fn name_of(&self, name: &[u8], unit: &[u8], kind: StoredKind) -> Option<String> {
        let name = text(name);
        if kind.metric_type.is_prometheus() {
            return Some(name.into_owned());
        }
        let role = match (kind.metric_type, kind.monotonic) {
            (MetricType::Sum, Some(true)) => MetricKind::Counter,
            (MetricType::Gauge, _) => MetricKind::Gauge,
            _ => MetricKind::Other,
        };
        let name = self.strategy.metric_name(&name, &text(unit), role)?;
        Some(if self.namespace.is_empty() { name } else { format!("{}_{name}", self.namespace) })
    }

    /// Whether some series of a metric has a name that all of these let through.
    pub(crate) fn may_match(&self, name: &str, kind: StoredKind, names: &[&LabelMatcher]) -> bool {
        suffixes(kind.metric_type).iter().any(|suffix| {
            let full: Cow<'_, str> =
                if suffix.is_empty() { name.into() } else { format!("{name}{suffix}").into() };
            names.iter().all(|matcher| matcher.matches(&full))
        })
    }

    /// Translates a description; `None` if nothing of the name is left.
    pub(crate) fn translate(&self, description: &Description<'_>) -> Option<Translated> {
        let kind = description.kind;
        let name = self.name_of(description.name, description.unit, kind)?;
        if kind.metric_type.is_prometheus() {
            // Nothing to translate, and there may be a million of them.
            let entries = kvlist_entries(description.labels).flatten();
            let mut labels: Vec<Label> =
                entries.map(|entry| label(&text(entry.key), &value_text(&entry.value))).collect();
            labels.push(label(NAME, name.as_bytes()));
            return Some(Translated { kind, labels: Labels::new(labels), name, target: None });
        }
        let mut labels: BTreeMap<String, String> = BTreeMap::new();
        self.add_attributes(description, &mut labels);
        let target = self.add_origin(&Origin::decode(description.origin), &mut labels);
        let is_single = suffixes(kind.metric_type) == [""];
        if is_single {
            labels.insert(NAME.to_owned(), name.clone());
        }
        Some(Translated { kind, labels: to_labels(labels), name, target })
    }

    fn add_attributes(&self, description: &Description<'_>, labels: &mut BTreeMap<String, String>) {
        let mut entries: Vec<(String, String)> = kvlist_entries(description.labels)
            .flatten()
            .map(|entry| (text(entry.key).into_owned(), shown(&entry.value)))
            .collect();
        entries.sort();
        for (key, value) in entries {
            add_joined(labels, self.strategy.label_name(&key), value);
        }
    }

    /// Adds what resource and scope give; the labels of `target_info`, if there are any.
    fn add_origin(
        &self,
        origin: &Origin<'_>,
        labels: &mut BTreeMap<String, String>,
    ) -> Option<Labels> {
        let mut resource: Vec<(String, String)> = origin
            .resource_attributes()
            .into_iter()
            .flat_map(|attributes| attributes.iter())
            .flatten()
            .map(|entry| (text(entry.key).into_owned(), shown(&entry.value)))
            .collect();
        resource.sort();
        let value = |key: &str| resource.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        let job = match (value("service.namespace"), value("service.name")) {
            (Some(namespace), Some(name)) => Some(format!("{namespace}/{name}")),
            (_, name) => name,
        };
        let instance = value("service.instance.id");
        for (key, value) in resource.iter().filter(|(key, _)| self.promotes(key)) {
            labels.entry(self.strategy.label_name(key)).or_insert_with(|| value.clone());
        }
        self.add_scope(origin, labels);
        let identity: Vec<(&str, String)> = [("job", job), ("instance", instance)]
            .into_iter()
            .filter_map(|(k, v)| Some((k, v?)))
            .collect();
        for (key, value) in &identity {
            labels.insert((*key).to_owned(), value.clone());
        }
        let is_identifying =
            |key: &str| matches!(key, "service.name" | "service.namespace" | "service.instance.id");
        let mut info: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in &resource {
            if self.keeps_identifying || !is_identifying(key) {
                add_joined(&mut info, self.strategy.label_name(key), value.clone());
            }
        }
        if identity.is_empty() || info.is_empty() {
            return None;
        }
        let name = match self.namespace.is_empty() {
            true => TARGET_INFO.to_owned(),
            false => format!("{}_{TARGET_INFO}", self.namespace),
        };
        info.insert(NAME.to_owned(), name);
        info.extend(identity.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Some(to_labels(info))
    }

    fn add_scope(&self, origin: &Origin<'_>, labels: &mut BTreeMap<String, String>) {
        let Some(scope) = origin.scope_view().filter(|_| self.promotes_scope) else { return };
        let mut add = |key: &str, value: String| {
            if !value.is_empty() {
                labels.entry(key.to_owned()).or_insert(value);
            }
        };
        add("otel_scope_name", text(scope.name).into_owned());
        add("otel_scope_version", text(scope.version).into_owned());
        add("otel_scope_schema_url", text(origin.scope_schema_url).into_owned());
        for entry in scope.attributes.iter().flatten() {
            let key = format!("otel_scope_{}", self.strategy.label_name(&text(entry.key)));
            add(&key, shown(&entry.value));
        }
    }
}

/// Adds a label; if there is one of that name, both values joined.
fn add_joined(labels: &mut BTreeMap<String, String>, name: String, value: String) {
    labels
        .entry(name)
        .and_modify(|known| {
            known.push(';');
            known.push_str(&value);
        })
        .or_insert(value);
}

fn shown(value: &kymo_wire::AnyValueView<'_>) -> String {
    String::from_utf8_lossy(&value_text(value)).into_owned()
}

fn label(name: &str, value: &[u8]) -> Label {
    Label { name: name.into(), value: String::from_utf8_lossy(value).into() }
}

fn to_labels(labels: BTreeMap<String, String>) -> Labels {
    let label = |(name, value): (String, String)| Label { name: name.into(), value: value.into() };
    labels.into_iter().map(label).collect()
}

impl Translated {
    /// The labels of one of the series.
    pub(crate) fn labels_of(&self, variant: &Variant) -> Labels {
        if suffixes(self.kind.metric_type) == [""] {
            return self.labels.clone();
        }
        let name = format!("{}{}", self.name, variant.suffix());
        let mut labels: Vec<Label> = self.labels.iter().cloned().collect();
        let extra = variant.label().map(|(name, value)| (Arc::from(name), Arc::from(value)));
        for (name, value) in extra.into_iter().chain([(Arc::from(NAME), Arc::from(name))]) {
            labels.push(Label { name, value });
        }
        Labels::new(labels)
    }

    /// Whether the labels that all its series have fulfil these conditions, as far as they are
    /// about such labels.
    pub(crate) fn may_match(&self, matchers: &[LabelMatcher]) -> bool {
        let own: &[&str] = match self.kind.metric_type {
            MetricType::Histogram => &[NAME, "le"],
            MetricType::Summary => &[NAME, "quantile"],
            _ => &[],
        };
        let fulfils = |m: &LabelMatcher| m.matches(self.labels.get(&m.name).unwrap_or_default());
        matchers.iter().all(|m| own.contains(&m.name.as_str()) || fulfils(m))
    }

    /// Bytes held on the heap, nearly.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of = |labels: &Labels| {
            labels.iter().map(|l| l.name.len() + l.value.len() + 64).sum::<usize>()
        };
        size_of::<Self>() + of(&self.labels) + self.name.len() + self.target.as_ref().map_or(0, of)
    }
}
