//! How long a large trace takes: `cargo test -p kymo-traceview --release -- --ignored --nocapture`.

use std::time::Instant;

use kymo_traceview::TraceTree;
use kymo_traceview::attribute::{AttributeColumn, Key};
use kymo_traceview::columns::columns;
use kymo_traceview::compare::compare;
use kymo_traceview::find::find;
use kymo_traceview::flame::flame;
use kymo_traceview::perfetto::perfetto;
use kymo_traceview::statistics::{GroupBy, Statistics};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};

const SERVICES: [&str; 8] = ["gateway", "shop", "cart", "auth", "db", "cache", "queue", "mail"];

/// A trace whose spans have up to 16 children, of eight services, with five attributes each.
fn body(spans: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    for (nth, service) in SERVICES.iter().enumerate() {
        writer.resource_group(|w| {
            w.resource(|w| {
                w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
            });
            w.scope_group(|w| {
                for id in (1..=spans).filter(|id| id % SERVICES.len() as u64 == nth as u64) {
                    span(w, id);
                }
            });
        });
    }
    writer.into_bytes()
}

fn span(writer: &mut Writer, id: u64) {
    let parent = (id + 14) / 16;
    let (id_bytes, parent_bytes) = (id.to_be_bytes(), parent.to_be_bytes());
    let start = 1_700_000_000_000_000_000 + id * 1_000;
    let name = format!("operation {}", id % 200);
    let fields = SpanFields {
        trace_id: &[7; 16],
        span_id: &id_bytes,
        parent_span_id: if id == 1 { &[] } else { &parent_bytes },
        name: name.as_bytes(),
        kind: 2,
        start_time_unix_nano: start,
        end_time_unix_nano: start + 2_000_000_000 / (1 + id.ilog2() as u64 * id % 97),
        ..SpanFields::default()
    };
    writer.span(&fields, |w| {
        w.span_attribute(b"http.request.method", &AnyValueView::String(b"GET"));
        w.span_attribute(b"http.route", &AnyValueView::String(b"/api/items/{id}"));
        w.span_attribute(b"http.response.status_code", &AnyValueView::Int(200));
        w.span_attribute(b"thread.id", &AnyValueView::Int(id.cast_signed() % 32));
        w.span_attribute(b"retried", &AnyValueView::Bool(false));
    });
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    println!("  {what}: {:?}", begun.elapsed());
    done
}

#[test]
#[ignore = "measures; run it with --release"]
fn large_traces() {
    for spans in [100_000, 1_000_000] {
        let body = body(spans);
        println!("{spans} spans, {} MiB", body.len() >> 20);
        let tree = timed("lay out", || TraceTree::read(body).unwrap());
        let bytes = timed("columns", || columns(&tree, "id", 0).unwrap());
        println!("  {} bytes a span", bytes.len() as u64 / spans);
        timed("find", || find(&tree, "nothing").unwrap());
        timed("column", || AttributeColumn::of(&tree, Key::parse("span.thread.id")).unwrap());
        timed("statistics", || Statistics::of(&tree, &GroupBy::Operation).unwrap());
        timed("flame", || flame(&tree));
        timed("compare", || compare(&tree, &tree).unwrap());
        timed("perfetto", || perfetto(&tree).unwrap());
    }
}
