//! Spans of several requests, by trace.

use hashbrown::HashMap;
use kymo_wire::encode::Writer;
use kymo_wire::{TracesView, View};

use super::UploadedTrace;
use crate::error::TraceError;
use crate::limits::{UPLOAD_MAX_SPANS, UPLOAD_MAX_TRACES};

/// The resource and scope that spans share, as they were sent.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner<'a> {
    resource: &'a [u8],
    resource_schema_url: &'a [u8],
    scope: &'a [u8],
    scope_schema_url: &'a [u8],
}

/// A trace that is being gathered: its spans, in runs of the same owner.
struct Gathered<'a> {
    trace_id: [u8; 16],
    runs: Vec<(Owner<'a>, Vec<&'a [u8]>)>,
}

/// Traces in the order of their first spans.
pub(super) fn by_trace<'a>(
    bodies: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<UploadedTrace>, TraceError> {
    split(bodies, UPLOAD_MAX_SPANS)
}

fn split<'a>(
    bodies: impl Iterator<Item = &'a [u8]>,
    most_spans: usize,
) -> Result<Vec<UploadedTrace>, TraceError> {
    let mut spans = 0;
    let mut traces: Vec<Gathered<'a>> = Vec::new();
    let mut known: HashMap<[u8; 16], usize> = HashMap::new();
    for body in bodies {
        for group in TracesView::parse(body)?.resources {
            let group = group?;
            let resource = group.resource.map_or(&[][..], |resource| resource.raw);
            for scopes in group.scopes {
                let scopes = scopes?;
                let owner = Owner {
                    resource,
                    resource_schema_url: group.schema_url,
                    scope: scopes.scope.map_or(&[][..], |scope| scope.raw),
                    scope_schema_url: scopes.schema_url,
                };
                for span in scopes.items {
                    let span = span?;
                    let Ok(trace_id) = span.trace_id.try_into() else { continue };
                    let nth = match known.get(&trace_id) {
                        Some(nth) => *nth,
                        // Each takes room: what is refused is not gathered to its end before.
                        None if traces.len() == UPLOAD_MAX_TRACES => {
                            return Err(TraceError::TooManyTraces(UPLOAD_MAX_TRACES));
                        }
                        None => {
                            traces.push(Gathered { trace_id, runs: Vec::new() });
                            known.insert(trace_id, traces.len() - 1);
                            traces.len() - 1
                        }
                    };
                    spans += 1;
                    if spans > most_spans {
                        let (parts, most) = ("spans", most_spans);
                        return Err(TraceError::TooManyParts { parts, most });
                    }
                    add(&mut traces[nth].runs, owner, span.raw);
                }
            }
        }
    }
    Ok(traces.iter().map(Gathered::written).collect())
}

fn add<'a>(runs: &mut Vec<(Owner<'a>, Vec<&'a [u8]>)>, owner: Owner<'a>, span: &'a [u8]) {
    match runs.last_mut() {
        Some((last, spans)) if *last == owner => spans.push(span),
        _ => runs.push((owner, vec![span])),
    }
}

impl Gathered<'_> {
    fn written(&self) -> UploadedTrace {
        let mut writer = Writer::new();
        for (owner, spans) in &self.runs {
            writer.resource_group(|w| {
                if !owner.resource.is_empty() {
                    w.resource_raw(owner.resource);
                }
                w.scope_group(|w| {
                    if !owner.scope.is_empty() {
                        w.scope_raw(owner.scope);
                    }
                    spans.iter().for_each(|span| w.item_raw(span));
                    w.scope_schema_url(owner.scope_schema_url);
                });
                w.resource_schema_url(owner.resource_schema_url);
            });
        }
        UploadedTrace { trace_id: self.trace_id, body: writer.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use kymo_wire::encode::SpanFields;

    use super::*;

    /// A span of each of so many traces.
    fn body(traces: u32) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.resource_group(|w| {
            w.scope_group(|w| {
                for nth in 1..=traces {
                    let trace_id = u128::from(nth).to_be_bytes();
                    let fields = SpanFields {
                        trace_id: &trace_id,
                        span_id: &[1; 8],
                        ..SpanFields::default()
                    };
                    w.span(&fields, |_| {});
                }
            });
        });
        writer.into_bytes()
    }

    #[test]
    fn a_file_with_too_many_traces_is_refused_before_the_rest_of_it_is_looked_at() {
        let most = u32::try_from(UPLOAD_MAX_TRACES).unwrap();
        assert_eq!(
            by_trace([&*body(most), &*body(most)].into_iter()).unwrap().len(),
            UPLOAD_MAX_TRACES
        );
        // A group of spans that ends early.
        let damaged = [0x0a, 0x02, 0x12, 0x7f];
        let begun_well = [body(most), damaged.to_vec()].concat();
        let error = by_trace([&*begun_well].into_iter()).unwrap_err();
        assert!(matches!(error, TraceError::Wire(_)), "{error}");
        let too_many = [body(most + 1), damaged.to_vec()].concat();
        let error = by_trace([&*too_many].into_iter()).unwrap_err();
        assert!(matches!(error, TraceError::TooManyTraces(UPLOAD_MAX_TRACES)), "{error}");
    }

    #[test]
    fn spans_are_counted_over_all_traces() {
        assert_eq!(split([&*body(2), &*body(1)].into_iter(), 3).unwrap().len(), 2);
        let error = split([&*body(2), &*body(2)].into_iter(), 3).unwrap_err();
        assert!(matches!(error, TraceError::TooManyParts { most: 3, .. }), "{error}");
    }
}
