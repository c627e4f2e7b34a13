//! Exporters: destinations, and the address where metrics are shown.

mod client;
mod debug;
mod file;
mod otlp;
mod prometheus;
mod remote_write;

use crate::Translator;
use crate::document::Map;
use crate::model::{Collector, Part, Signal};
use crate::output::Destination;
use crate::section::Section;

pub(crate) fn translate(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for (component, _) in collector.used(Part::Exporters) {
        let name = component.entry.key.trim();
        let signals = carried(collector, name);
        if signals.is_empty() {
            let what = format!("exporters.{name}: nothing that is received here leads to it");
            translator.notes.lost(component.entry.key_at, what);
            continue;
        }
        let section = component.section(translator.notes);
        let at = section.at;
        match component.kind() {
            "otlp" | "otlp_grpc" | "otlpgrpc" => otlp::grpc(section, name, signals, translator),
            "otlphttp" | "otlp_http" => otlp::http(section, name, signals, translator),
            "prometheus" => prometheus::translate(section, &signals, translator),
            "prometheusremotewrite" | "prometheus_remote_write" => {
                remote_write::translate(section, name, &signals, translator);
            }
            "file" => file::translate(section, name, signals, translator),
            "debug" | "logging" => debug::translate(section, name, signals, translator),
            "nop" => translator.notes.noted(at, format!("exporters.{name}: it does nothing")),
            kind => {
                let what = format!("exporters.{name}: there is no destination for {kind}");
                translator.notes.lost(at, what);
            }
        }
    }
}

/// The signals that reach an exporter from a receiver.
fn carried(collector: &Collector<'_>, exporter: &str) -> Vec<Signal> {
    let carries = |signal: &Signal| {
        let fed = collector.fed(*signal);
        fed.iter().any(|pipeline| pipeline.exporters.iter().any(|named| named.value == exporter))
    };
    Signal::ALL.into_iter().filter(carries).collect()
}

/// Adds a destination, says so, and tells what its exporter had besides.
fn add(
    section: Section<'_>,
    exporter: &str,
    signals: Vec<Signal>,
    settings: Map,
    translator: &mut Translator<'_>,
) {
    let name = translator.out.destination_name(exporter);
    section.notes.translated(section.at, format!("{}: destination {name}", section.path));
    translator.out.destinations.push(Destination {
        name,
        exporter: exporter.to_owned(),
        settings,
        signals,
        routes: Vec::new(),
        sampling: None,
    });
    section.finish();
}
