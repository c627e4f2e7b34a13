//! Labels of series: of a point's attributes, and of its resource.
//!
//! As Prometheus has it for OTLP: `service.namespace` and `service.name` are the label `job`,
//! `service.instance.id` is `instance`; all other attributes of a resource are labels of one series
//! `target_info`, which queries join with.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_wire::exposition::format_float;
use kymo_wire::metric_names::Strategy;
use kymo_wire::{AnyValueView, KeyValueView, Repeated, ResourceView, array_values, kvlist_entries};
use serde_json::Value;

/// Names and values, each name once.
pub(super) type Labels = BTreeMap<String, String>;

/// The label that holds the name of a series' metric.
pub(super) const NAME: &str = "__name__";

/// What a resource gives to its series.
#[derive(Debug, Default)]
pub(super) struct ResourceLabels {
    /// `job` and `instance`.
    pub(super) identity: Labels,
    /// Those of `target_info`, with the identity; none if nothing is left to say.
    pub(super) info: Option<Labels>,
}

impl ResourceLabels {
    pub(super) fn new(resource: Option<&ResourceView<'_>>) -> Self {
        let Some(resource) = resource else { return Self::default() };
        let attributes = sorted(&resource.attributes);
        let value = |key: &str| attributes.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        let job = match (value("service.namespace"), value("service.name")) {
            (Some(namespace), Some(name)) => Some(format!("{namespace}/{name}")),
            (_, name) => name,
        };
        let instance = value("service.instance.id");
        let identity: Labels = [("job", job), ("instance", instance)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        let is_identifying =
            |key: &str| matches!(key, "service.name" | "service.namespace" | "service.instance.id");
        let mut info = Labels::new();
        for (key, value) in attributes.into_iter().filter(|(key, _)| !is_identifying(key)) {
            add_joined(&mut info, Strategy::Escaped.label_name(&key), value);
        }
        if identity.is_empty() || info.is_empty() {
            return Self { identity, info: None };
        }
        info.extend(identity.clone());
        info.insert(NAME.to_owned(), "target_info".to_owned());
        Self { identity, info: Some(info) }
    }

    /// The labels of a point, without its name.
    pub(super) fn with(&self, attributes: &Repeated<'_, KeyValueView<'_>>) -> Labels {
        let mut labels = Labels::new();
        for (key, value) in sorted(attributes) {
            add_joined(&mut labels, Strategy::Escaped.label_name(&key), value);
        }
        labels.extend(self.identity.clone());
        labels
    }
}

fn sorted(attributes: &Repeated<'_, KeyValueView<'_>>) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| kymo_wire::text(bytes).into_owned();
    let mut sorted: Vec<_> =
        attributes.iter().flatten().map(|entry| (text(entry.key), shown(&entry.value))).collect();
    sorted.sort();
    sorted
}

/// Adds a label; if there is one of that name, both values joined.
fn add_joined(labels: &mut Labels, name: String, value: String) {
    labels
        .entry(name)
        .and_modify(|known| {
            known.push(';');
            known.push_str(&value);
        })
        .or_insert(value);
}

/// A value as text: lists and maps as JSON, bytes in base64.
pub(super) fn shown(value: &AnyValueView<'_>) -> String {
    match value {
        AnyValueView::Empty | AnyValueView::StringIndex(_) => String::new(),
        AnyValueView::String(bytes) => kymo_wire::text(bytes).into_owned(),
        AnyValueView::Bool(yes) => yes.to_string(),
        AnyValueView::Int(int) => int.to_string(),
        AnyValueView::Double(double) => float(*double),
        AnyValueView::Bytes(bytes) => STANDARD.encode(bytes),
        AnyValueView::Array(_) | AnyValueView::KvList(_) => json(value).to_string(),
    }
}

/// A number as Prometheus writes it.
pub(super) fn float(value: f64) -> String {
    let mut text = String::new();
    format_float(&mut text, value);
    text
}

/// Admission bounds how deep values are nested.
fn json(value: &AnyValueView<'_>) -> Value {
    match value {
        AnyValueView::Bool(yes) => Value::from(*yes),
        AnyValueView::Int(int) => Value::from(*int),
        AnyValueView::Double(double) => Value::from(*double),
        AnyValueView::Array(raw) => array_values(raw).flatten().map(|value| json(&value)).collect(),
        AnyValueView::KvList(raw) => {
            let entry = |entry: KeyValueView<'_>| {
                (kymo_wire::text(entry.key).into_owned(), json(&entry.value))
            };
            Value::Object(kvlist_entries(raw).flatten().map(entry).collect())
        }
        AnyValueView::Empty => Value::Null,
        other => Value::from(shown(other)),
    }
}
