//! The exporter `prometheus`: the address where received metrics are shown.

use crate::Translator;
use crate::document::{Map, Value};
use crate::model::Signal;
use crate::output::{Rule, plain_name};
use crate::receivers::{address, listener};
use crate::section::Section;

pub(super) fn translate(
    mut section: Section<'_>,
    signals: &[Signal],
    translator: &mut Translator<'_>,
) {
    if !signals.contains(&Signal::Metrics) {
        section.notes.lost(section.at, format!("{}: it shows metrics only", section.path));
        return;
    }
    if !translator.out.expose.is_empty() {
        let what = format!("{}: metrics are shown at one address, which another has", section.path);
        section.notes.lost(section.at, what);
        return;
    }
    let endpoint = section.text("endpoint");
    let address = endpoint.as_ref().and_then(|found| address(found, &section.path, section.notes));
    let Some(address) = address else {
        section.notes.lost(section.at, format!("{}: expected an endpoint", section.path));
        section.finish();
        return;
    };
    translator.out.expose.set("metrics", Value::text(address.clone()));
    section.notes.translated(section.at, format!("{}: expose.metrics", section.path));
    listener("expose_metrics", &address, section.at, &mut section, translator);
    naming(&mut section, translator);
    if let Some(age) = section.duration("metric_expiration").filter(|age| age.value != "0s") {
        translator.out.prometheus.set("lookback", Value::Word(age.value));
    }
    labels(&mut section, "const_labels", translator);
    section.noted(&["enable_open_metrics"], "the format is the one that is asked for");
    section.noted(&["send_timestamps"], "samples are shown without their times");
    section.noted(&["keep_alives_enabled"], "connections are kept");
    section.finish();
}

/// How metrics are named, for what is shown and for remote-write alike.
pub(super) fn naming(section: &mut Section<'_>, translator: &mut Translator<'_>) {
    let otlp = &mut translator.out.prometheus_otlp;
    if let Some(namespace) = section.text("namespace").filter(|name| !name.value.is_empty()) {
        let value = Value::Text(namespace.value);
        if otlp.get("namespace").is_some_and(|known| *known != value) {
            let what = format!(
                "{}.namespace: another exporter has another, and there is one here",
                section.path
            );
            section.notes.lost(namespace.at, what);
        } else {
            otlp.set("namespace", value);
            let what =
                format!("{}.namespace: prometheus.otlp.namespace, for all names", section.path);
            section.notes.translated(namespace.at, what);
        }
    }
    if let Some(strategy) = section.text("translation_strategy") {
        otlp.set("translation_strategy", Value::text(strategy.value));
    } else if section.flag("add_metric_suffixes") == Some(false) {
        otlp.set("translation_strategy", Value::text("UnderscoreEscapingWithoutSuffixes"));
    }
    if let Some(mut conversion) = section.section("resource_to_telemetry_conversion") {
        if conversion.flag("enabled") == Some(true) {
            otlp.set("promote_all_resource_attributes", Value::word(true));
        }
        conversion.finish();
    }
    if section.flag("without_scope_info") == Some(false) {
        otlp.set("promote_scope_metadata", Value::word(true));
    }
}

/// Labels of every series: attributes that all metrics get.
pub(super) fn labels(section: &mut Section<'_>, key: &str, translator: &mut Translator<'_>) {
    let Some(mut found) = section.section(key) else { return };
    let mut labels = Map::default();
    let (at, path) = (found.at, found.path.clone());
    for entry in found.take_all() {
        match entry.node.as_text() {
            Some(text) => {
                let value = found.referring(text, entry.at);
                labels.set(&format!(".{}", entry.key), Value::Text(value));
            }
            None => {
                let what = format!("{path}.{}: expected one value", entry.key);
                section.notes.lost(entry.at, what);
            }
        }
    }
    if labels.is_empty() {
        return;
    }
    let what = format!("{path}: a rule, so that all metrics have them, wherever they go");
    section.notes.noted(at, what);
    translator.out.rules.push(Rule {
        name: plain_name(path.trim_start_matches("exporters.")),
        signals: vec![Signal::Metrics],
        condition: None,
        // What a point says itself stays, as in the collector.
        action: "insert",
        value: labels.into(),
    });
}
