//! Processors: rules, sampling, and what is not needed.
//!
//! Rules here hold for a signal, wherever it goes. What all pipelines of a signal begin with becomes
//! rules. Where they differ after that, conditions of filters become routes of the destinations that
//! a pipeline leads to, and anything else is told.

mod attributes;
mod drafts;
mod filter;
mod legacy;
mod matching;
mod order;
mod redaction;
mod sampling;
mod transform;

use drafts::{Draft, add_rules};

use crate::Translator;
use crate::limits::DEFAULT_RECEIVING_MIB;
use crate::model::{Component, Part, Pipeline, Signal};
use crate::notes::Notes;
use crate::section::Section;
use crate::traceql;

/// What a processor becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Rules,
    Sampling,
    Nothing,
}

fn becomes(kind: &str) -> Becomes {
    match kind {
        "attributes" | "resource" | "filter" | "transform" | "redaction" => Becomes::Rules,
        "probabilistic_sampler" | "tail_sampling" => Becomes::Sampling,
        _ => Becomes::Nothing,
    }
}

/// The rules that a processor is for one signal.
fn drafts(component: &Component<'_>, signal: Signal, notes: &Notes) -> Vec<Draft> {
    let section = Section::of(component.part.word(), component.entry, notes);
    match component.kind() {
        "attributes" => attributes::of_records(section, signal),
        "resource" => attributes::of_resources(section),
        "filter" => filter::translate(section, signal),
        "transform" => transform::translate(section, signal),
        "redaction" => redaction::translate(section),
        _ => Vec::new(),
    }
}

/// Everything that becomes rules.
pub(crate) fn translate_rules(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for (component, _) in collector.used(Part::Processors) {
        if becomes(component.kind()) == Becomes::Nothing {
            without_rules(component, translator);
        }
    }
    let shared: Vec<_> =
        Signal::ALL.into_iter().map(|signal| (signal, shared(signal, translator))).collect();
    for (name, signals) in order::merged(shared) {
        let Some(component) = collector.component(Part::Processors, &name) else { continue };
        let of_signals = signals
            .into_iter()
            .map(|signal| (signal, drafts(component, signal, translator.notes)))
            .collect();
        if add_rules(&name, of_signals, &mut translator.out) {
            let what = format!("processors.{name}: rules");
            translator.notes.translated(component.entry.key_at, what);
        }
    }
}

/// What depends on the destinations: sampling, and conditions of single pipelines.
pub(crate) fn translate_routes(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for signal in Signal::ALL {
        let shared_count = shared(signal, translator).len();
        for pipeline in collector.fed(signal) {
            let own: Vec<_> = making(pipeline, Becomes::Rules, translator)
                .into_iter()
                .skip(shared_count)
                .collect();
            route(pipeline, &own, translator);
            for component in
                components(&making(pipeline, Becomes::Sampling, translator), translator)
            {
                sampling::translate(component, pipeline, translator);
            }
        }
    }
    join_routes(translator);
}

/// Names of a pipeline's processors that become something.
fn making(pipeline: &Pipeline, wanted: Becomes, translator: &Translator<'_>) -> Vec<String> {
    let names = pipeline.processors.iter().map(|named| named.value.clone());
    let is_wanted = |name: &String| {
        let component = translator.collector.component(Part::Processors, name);
        component.is_some_and(|component| becomes(component.kind()) == wanted)
    };
    names.filter(is_wanted).collect()
}

fn components<'a>(names: &[String], translator: &Translator<'a>) -> Vec<&'a Component<'a>> {
    let collector = translator.collector;
    names.iter().filter_map(|name| collector.component(Part::Processors, name)).collect()
}

/// What all pipelines of a signal begin with.
fn shared(signal: Signal, translator: &Translator<'_>) -> Vec<String> {
    let fed = translator.collector.fed(signal);
    let mut lists = fed.iter().map(|pipeline| making(pipeline, Becomes::Rules, translator));
    let Some(mut shared) = lists.next() else { return Vec::new() };
    for list in lists {
        let same = shared.iter().zip(&list).take_while(|(one, other)| one == other).count();
        shared.truncate(same);
    }
    shared
}

/// Processors that one pipeline has and others of its signal have not: only conditions can be said.
fn route(pipeline: &Pipeline, names: &[String], translator: &mut Translator<'_>) {
    let mut conditions = Vec::new();
    for component in components(names, translator) {
        for draft in drafts(component, pipeline.signal, translator.notes) {
            match draft.passes() {
                Some(condition) => conditions.push(condition),
                None => {
                    let what = format!(
                        "processors.{}: pipelines of {} differ, and rules hold for all of them; \
                         only conditions can hold for one",
                        component.entry.key,
                        pipeline.signal.word()
                    );
                    translator.notes.lost(component.entry.key_at, what);
                }
            }
        }
    }
    let Some(condition) = traceql::all_of(&conditions) else { return };
    for named in &pipeline.exporters {
        let destination =
            translator.out.destinations.iter_mut().find(|known| known.exporter == named.value);
        match destination {
            Some(destination) => {
                destination.routes.push((pipeline.signal, condition.clone()));
                let what =
                    format!("service.pipelines.{}: routes of {}", pipeline.name, destination.name);
                translator.notes.translated(pipeline.at, what);
            }
            None => {
                let what = format!(
                    "service.pipelines.{}: what its filters leave out cannot be left out for {} alone",
                    pipeline.name, named.value
                );
                translator.notes.lost(named.at, what);
            }
        }
    }
}

/// A destination that another pipeline of the signal sends everything to needs no route for it.
fn join_routes(translator: &mut Translator<'_>) {
    let collector = translator.collector;
    for destination in &mut translator.out.destinations {
        for signal in Signal::ALL {
            let leading = collector.fed(signal).into_iter().filter(|pipeline| {
                pipeline.exporters.iter().any(|named| named.value == destination.exporter)
            });
            let routed = destination.routes.iter().filter(|(of, _)| *of == signal).count();
            if routed > 0 && leading.count() > routed {
                destination.routes.retain(|(of, _)| *of != signal);
            }
        }
    }
}

/// Processors that are not needed, or not known.
fn without_rules(component: &Component<'_>, translator: &mut Translator<'_>) {
    let mut section = component.section(translator.notes);
    let at = section.at;
    match component.kind() {
        "batch" => {
            let what = format!(
                "{}: not needed; requests go on as they come, and are joined when a destination lags",
                section.path
            );
            translator.notes.noted(at, what);
        }
        "memory_limiter" => {
            let limit = section.number("limit_mib").map(|limit| limit.value);
            let spike = section.number("spike_limit_mib").map(|spike| spike.value);
            let left = limit.map(|limit| limit - spike.unwrap_or(limit / 5).min(limit));
            match left {
                Some(left) if left > 0 && left < DEFAULT_RECEIVING_MIB => {
                    let size = crate::document::Value::Word(format!("{left}MiB"));
                    translator.out.top.set("max_receiving_bytes", size);
                    let what = format!("{}: max_receiving_bytes", section.path);
                    translator.notes.translated(at, what);
                }
                _ => {
                    let what = format!(
                        "{}: not needed; max_receiving_bytes ({DEFAULT_RECEIVING_MIB}MiB) and the \
                         other limits bound memory",
                        section.path
                    );
                    translator.notes.noted(at, what);
                }
            }
        }
        kind => {
            let what = format!("{}: there is nothing like the processor {kind}", section.path);
            translator.notes.lost(at, what);
        }
    }
}
