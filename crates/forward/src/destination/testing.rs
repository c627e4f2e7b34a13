//! Requests for tests.

use kymo_wire::encode::{SpanFields, Writer};
use kymo_wire::{TracesView, View, text};

/// A trace's id of a number.
pub(crate) fn trace_id(number: u8) -> [u8; 16] {
    [number; 16]
}

/// A request of spans, each of a trace and with a name. One named `error` has failed; the number
/// behind `slow` is how many seconds it took.
pub(crate) fn traces(spans: &[(u8, &str)]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.scope_group(|w| {
            for (place, (trace, name)) in spans.iter().enumerate() {
                let seconds = name.strip_prefix("slow").and_then(|n| n.parse().ok()).unwrap_or(0);
                let span_id = (place as u64 + 1).to_be_bytes();
                let fields = SpanFields {
                    trace_id: &trace_id(*trace),
                    span_id: &span_id,
                    name: name.as_bytes(),
                    start_time_unix_nano: 1_000_000_000,
                    end_time_unix_nano: 1_000_000_000 + seconds * 1_000_000_000,
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    if *name == "error" {
                        w.status(2, b"");
                    }
                });
            }
        });
    });
    writer.into_bytes()
}

/// The names of the spans in a request.
pub(crate) fn spans(request: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for resource in TracesView::parse(request).unwrap().resources {
        for scope in resource.unwrap().scopes {
            for span in scope.unwrap().items {
                names.push(text(span.unwrap().name).into_owned());
            }
        }
    }
    names
}
