//! The span that stands for others: a copy of the longest of them that spans the time of all, with
//! what they took together as attributes.

use kymo_wire::encode::{SpanFields, Writer};
use kymo_wire::{AnyValueView, SpanView, View, WireError};

use super::groups::{Group, Groups};
use super::tree::Tree;

/// The attribute that tells a summary.
pub(super) const IS_SUMMARY: &[u8] = b"aggregation.is_summary";
const SPAN_COUNT: &[u8] = b"aggregation.span_count";
const MIN: &[u8] = b"aggregation.duration_min_ns";
const MAX: &[u8] = b"aggregation.duration_max_ns";
const TOTAL: &[u8] = b"aggregation.duration_total_ns";
const AVERAGE: &[u8] = b"aggregation.duration_avg_ns";
const BOUNDS: &[u8] = b"aggregation.histogram_bucket_bounds_s";
const COUNTS: &[u8] = b"aggregation.histogram_bucket_counts";
/// Those that a summary has for itself, whatever the span has that it is made from.
const OWN: [&[u8]; 8] = [IS_SUMMARY, SPAN_COUNT, MIN, MAX, TOTAL, AVERAGE, BOUNDS, COUNTS];

/// Upper bounds of the histogram's buckets; the last bucket has none.
const BOUNDS_MILLIS: [i64; 11] = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/// Fields of a span.
const ATTRIBUTES: u32 = 9;
const EVENTS: u32 = 11;
const LINKS: u32 = 13;

/// Writes the summary of a group.
pub(super) fn write(
    out: &mut Writer,
    tree: &Tree<'_>,
    groups: &Groups,
    group: &Group,
) -> Result<(), WireError> {
    let template = SpanView::parse(tree.nodes[group.template].raw)?;
    let took = Took::of(tree, group);
    let fields = SpanFields {
        trace_id: template.trace_id,
        span_id: &group.summary_id,
        trace_state: template.trace_state,
        parent_span_id: parent_id(tree, groups, group),
        flags: template.flags,
        name: template.name,
        kind: template.kind,
        start_time_unix_nano: took.start_nanos,
        end_time_unix_nano: took.end_nanos,
        dropped_attributes_count: template.dropped_attributes_count,
        dropped_events_count: template.dropped_events_count,
        dropped_links_count: template.dropped_links_count,
    };
    out.span(&fields, |out| {
        for attribute in template.attributes {
            let attribute = attribute?;
            if !OWN.contains(&attribute.key) {
                out.key_value_raw(ATTRIBUTES, attribute.raw);
            }
        }
        took.write(out);
        template.events.raws().try_for_each(|raw| raw.map(|raw| out.bytes_field(EVENTS, raw)))?;
        template.links.raws().try_for_each(|raw| raw.map(|raw| out.bytes_field(LINKS, raw)))?;
        // Grafana reads a status without looking whether it is there.
        let status = template.status;
        out.status(status.map_or(0, |status| status.code), status.map_or(&[], |s| s.message));
        Ok(())
    })
}

/// The parent of the first span, or what it became.
fn parent_id<'g>(tree: &'g Tree<'_>, groups: &'g Groups, group: &Group) -> &'g [u8] {
    let first = &tree.nodes[group.members.first().copied().unwrap_or(group.template)];
    match first.parent.and_then(|parent| groups.of_node(parent)) {
        Some(above) => &above.summary_id,
        None => first.parent_id,
    }
}

/// The time that spans took together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Took {
    start_nanos: u64,
    end_nanos: u64,
    count: i64,
    min_nanos: i64,
    max_nanos: i64,
    total_nanos: i64,
    /// How many took no longer than each bound; the last counts all.
    at_most: [i64; BOUNDS_MILLIS.len() + 1],
}

impl Took {
    fn of(tree: &Tree<'_>, group: &Group) -> Self {
        let mut took = Self {
            start_nanos: u64::MAX,
            end_nanos: 0,
            count: 0,
            min_nanos: i64::MAX,
            max_nanos: i64::MIN,
            total_nanos: 0,
            at_most: [0; BOUNDS_MILLIS.len() + 1],
        };
        for node in group.members.iter().map(|member| &tree.nodes[*member]) {
            let nanos = node.duration_nanos();
            took.start_nanos = took.start_nanos.min(node.start_nanos);
            took.end_nanos = took.end_nanos.max(node.end_nanos);
            took.count += 1;
            took.min_nanos = took.min_nanos.min(nanos);
            took.max_nanos = took.max_nanos.max(nanos);
            took.total_nanos = took.total_nanos.saturating_add(nanos);
            let bucket = BOUNDS_MILLIS.partition_point(|millis| millis * 1_000_000 < nanos);
            took.at_most[bucket..].iter_mut().for_each(|count| *count += 1);
        }
        took
    }

    /// As attributes.
    fn write(&self, out: &mut Writer) {
        out.span_attribute(IS_SUMMARY, &AnyValueView::Bool(true));
        for (key, number) in [
            (SPAN_COUNT, self.count),
            (MIN, self.min_nanos),
            (MAX, self.max_nanos),
            (TOTAL, self.total_nanos),
            (AVERAGE, self.total_nanos / self.count.max(1)),
        ] {
            out.span_attribute(key, &AnyValueView::Int(number));
        }
        let bounds = BOUNDS_MILLIS.map(|millis| AnyValueView::Double(millis as f64 / 1000.0));
        out.span_attribute(BOUNDS, &AnyValueView::Array(&array(&bounds)));
        let counts = self.at_most.map(AnyValueView::Int);
        out.span_attribute(COUNTS, &AnyValueView::Array(&array(&counts)));
    }
}

/// An encoded `ArrayValue`.
fn array(values: &[AnyValueView<'_>]) -> Vec<u8> {
    const VALUES: u32 = 1;
    let mut out = Writer::new();
    for value in values {
        out.message(VALUES, |out| out.any_value(value));
    }
    out.into_bytes()
}
