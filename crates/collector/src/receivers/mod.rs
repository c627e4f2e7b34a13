//! Receivers: what comes in, and what is fetched.

mod host;
mod otlp;
mod prometheus;
mod server;

pub(crate) use server::{address, listener};

use crate::Translator;
use crate::model::{Collector, Part, Signal};
use crate::section::Taken;

/// Receivers that have a counterpart.
const KNOWN: [&str; 7] = [
    "otlp",
    "prometheus",
    "hostmetrics",
    "host_metrics",
    "prometheusremotewrite",
    "prometheus_remote_write",
    "nop",
];

/// Whether a kind of receiver has a counterpart.
pub(crate) fn is_known(kind: &str) -> bool {
    KNOWN.contains(&kind)
}

pub(crate) fn translate(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for (component, _) in collector.used(Part::Receivers) {
        let section = component.section(translator.notes);
        let at = section.at;
        match component.kind() {
            "otlp" => otlp::translate(section, translator),
            "prometheus" => prometheus::translate(section, &mut translator.out),
            "hostmetrics" | "host_metrics" => host::translate(section, &mut translator.out),
            "prometheusremotewrite" | "prometheus_remote_write" => {
                let what = format!(
                    "{}: remote-write is taken at the address http, below /prometheus/api/v1/write",
                    section.path
                );
                translator.notes.noted(at, what);
            }
            "nop" => {}
            kind => {
                let what = format!("{}: there is no receiver {kind}", section.path);
                translator.notes.lost(at, what);
            }
        }
    }
    for signal in Signal::ALL {
        tell_apart(collector, signal, translator);
    }
}

/// Pipelines of one signal that receive from different ones: here all that comes in takes one way.
fn tell_apart(collector: &Collector<'_>, signal: Signal, translator: &Translator<'_>) {
    let fed = collector.fed(signal);
    let names = |receivers: &[Taken<String>]| {
        let mut names: Vec<_> = receivers
            .iter()
            .filter(|named| collector.is_received(&named.value))
            .map(|named| named.value.clone())
            .collect();
        names.sort();
        names
    };
    let Some((first, others)) = fed.split_first() else { return };
    for other in others {
        if names(&other.receivers) != names(&first.receivers) {
            let what = format!(
                "service.pipelines.{}: receives from others than {}; here all {} take the same \
                 way, whatever they come from",
                other.name,
                first.name,
                signal.word()
            );
            translator.notes.lost(other.at, what);
        }
    }
}
