//! Traces as Jaeger UI reads them: its own JSON, made of OTLP.
//!
//! | OTLP | Jaeger |
//! |---|---|
//! | resource | process: `service.name` is its name, other attributes its tags |
//! | parent, links | references: `CHILD_OF`, `FOLLOWS_FROM` |
//! | attributes | tags; arrays and maps as JSON text, bytes as base64 |
//! | scope, kind, status, trace state | tags `otel.scope.name`, `otel.scope.version`, `span.kind`, `otel.status_code`, `error`, `otel.status_description`, `w3c.tracestate` |
//! | events | logs, with the name as field `event` |
//!
//! Times are microseconds. What nanoseconds a time has beyond them is lost here, and only here.

mod model;
mod span;
mod value;

use std::collections::HashMap;

use kymo_store::otlp::TraceResult;
use kymo_wire::{ResourceView, TracesView, View, WireError};

use self::model::{Process, Processes, Trace};
use super::ids;
use super::service::NO_SERVICE;

/// A stored trace as JSON; nothing if it has no spans.
pub(super) fn stored(trace: &TraceResult) -> Result<Vec<u8>, WireError> {
    let traces = traces(&trace.body, trace.damaged_blocks)?;
    // One id has one trace.
    let text = traces.first().map(serde_json::to_vec).transpose();
    Ok(text
        .unwrap_or_else(|error| {
            tracing::error!(%error, "a trace cannot be written as JSON");
            None
        })
        .unwrap_or_default())
}

/// The traces in some OTLP, in the order of their first spans.
pub(super) fn traces(otlp: &[u8], damaged_blocks: usize) -> Result<Vec<Trace<'_>>, WireError> {
    let mut found: Vec<Building<'_>> = Vec::new();
    let mut by_id: HashMap<&[u8], usize> = HashMap::new();
    for group in TracesView::parse(otlp)?.resources {
        let group = group?;
        for scope in group.scopes {
            let scope = scope?;
            for view in scope.items {
                let view = view?;
                let nth = *by_id.entry(view.trace_id).or_insert_with(|| {
                    found.push(Building::default());
                    found.len() - 1
                });
                let Some(building) = found.get_mut(nth) else { continue };
                let process = building.process(group.resource.as_ref())?;
                let span = span::convert(&view, scope.scope.as_ref(), process)?;
                building.trace.trace_id = ids::trace(view.trace_id);
                building.trace.spans.push(span);
            }
        }
    }
    let mut traces: Vec<Trace<'_>> = found.into_iter().map(|building| building.trace).collect();
    if damaged_blocks > 0 {
        let warning =
            format!("damaged blocks are left out ({damaged_blocks}); spans may be missing");
        traces.iter_mut().for_each(|trace| trace.warnings = Some(vec![warning.clone()]));
    }
    Ok(traces)
}

/// A trace, and which of its processes is which resource.
#[derive(Default)]
struct Building<'a> {
    trace: Trace<'a>,
    by_resource: HashMap<&'a [u8], usize>,
}

impl<'a> Building<'a> {
    /// The name of the process of a resource.
    fn process(&mut self, resource: Option<&ResourceView<'a>>) -> Result<String, WireError> {
        let raw = resource.map_or(&[][..], |resource| resource.raw);
        let Processes(processes) = &mut self.trace.processes;
        let nth = match self.by_resource.get(raw) {
            Some(nth) => *nth,
            None => {
                processes.push(process(resource)?);
                self.by_resource.insert(raw, processes.len() - 1);
                processes.len() - 1
            }
        };
        Ok(model::process_id(nth))
    }
}

fn process<'a>(resource: Option<&ResourceView<'a>>) -> Result<Process<'a>, WireError> {
    let mut process = Process { service_name: NO_SERVICE.into(), tags: Vec::new() };
    let Some(resource) = resource else { return Ok(process) };
    for attribute in resource.attributes {
        let attribute = attribute?;
        if attribute.key == b"service.name" {
            let name = value::text_of(attribute.value)?;
            if !name.is_empty() {
                process.service_name = name;
            }
        } else {
            process.tags.push(value::tag(&attribute)?);
        }
    }
    Ok(process)
}

#[cfg(test)]
mod tests;
