//! A trace, laid out: spans in tree order with all that is computed of them.
//!
//! It holds the bytes it was read from; details are read from them when somebody asks. So it can be
//! kept as long as somebody looks at the trace, and takes some 250 bytes a span beside its bytes.

use std::cmp::Ordering;

use hashbrown::HashMap;
use kymo_wire::{SpanView, View, WireError};

use crate::error::TraceError;
use crate::forest::{Forest, Note, Place};
use crate::path::{self, Paths};
use crate::read::{Contents, Piece, Resource, Scope, Span};
use crate::rows::rows;

/// A trace, laid out.
pub struct TraceTree {
    /// 16 bytes; zeros if there are no spans.
    pub trace_id: [u8; 16],
    /// The first start.
    pub start_nanos: i64,
    /// The last end.
    pub end_nanos: i64,
    pub(crate) body: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    pub(crate) laid: Vec<Laid>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) scopes: Vec<Scope>,
    /// The critical path by time.
    pub(crate) stretches: Vec<RowStretch>,
}

/// What is computed of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Laid {
    pub(crate) parent: Option<u32>,
    pub(crate) depth: u32,
    /// Rows of the subtree, this one included.
    pub(crate) subtree: u32,
    pub(crate) self_nanos: i64,
    pub(crate) critical_nanos: i64,
    pub(crate) slack_nanos: i64,
    pub(crate) saving_nanos: i64,
    pub(crate) is_critical: bool,
    pub(crate) note: Note,
}

/// A stretch of the critical path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowStretch {
    /// `None` where nothing ran.
    pub(crate) row: Option<u32>,
    pub(crate) from_nanos: i64,
    pub(crate) to_nanos: i64,
}

impl TraceTree {
    /// Reads an OTLP `TracesData` with the spans of one trace.
    pub fn read(body: Vec<u8>) -> Result<Self, TraceError> {
        let Contents { trace_id, mut spans, resources, scopes } = Contents::read(&body)?;
        spans.sort_unstable_by(|a, b| order(&body, a, b));
        let places: Vec<Place> = spans.iter().map(|span| span.place).collect();
        let forest = Forest::new(&places);
        let rows = rows(&places, &forest);
        let mut paths = path::paths(&places, &forest);
        let mut row_of = vec![0; places.len()];
        for (row, of) in rows.iter().enumerate() {
            row_of[of.span as usize] = row as u32;
        }
        let critical_nanos = critical_nanos(&paths, places.len());
        let laid = rows.iter().map(|row| {
            let span = row.span as usize;
            Laid {
                parent: forest.parent(row.span).map(|parent| row_of[parent as usize]),
                depth: row.depth,
                subtree: row.descendants + 1,
                self_nanos: row.self_nanos,
                critical_nanos: critical_nanos[span],
                slack_nanos: paths.slack_nanos[span],
                saving_nanos: paths.saving_nanos[span],
                is_critical: paths.is_critical[span],
                note: forest.notes[span],
            }
        });
        let laid = laid.collect();
        let stretches =
            std::mem::take(&mut paths.stretches).into_iter().map(|stretch| RowStretch {
                row: stretch.span.map(|span| row_of[span as usize]),
                from_nanos: stretch.from_nanos,
                to_nanos: stretch.to_nanos,
            });
        let spans: Vec<Span> = rows.iter().map(|row| spans[row.span as usize]).collect();
        let (spans, resources) = resources_by_row(spans, &resources);
        Ok(Self {
            trace_id,
            start_nanos: places.iter().map(|place| place.start_nanos).min().unwrap_or(0),
            end_nanos: places.iter().map(|place| place.end_nanos).max().unwrap_or(0),
            stretches: stretches.collect(),
            laid,
            spans,
            resources,
            scopes,
            body,
        })
    }

    /// How many spans there are, and rows.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The bytes it was read from: OTLP.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Bytes that it takes in memory, about.
    pub fn memory_bytes(&self) -> usize {
        self.body.len()
            + self.spans.len() * (size_of::<Span>() + size_of::<Laid>())
            + self.stretches.len() * size_of::<RowStretch>()
            + self.resources.len() * size_of::<Resource>()
    }

    /// 16 hexadecimal digits that change when spans are added: rows are then others.
    pub fn revision(&self) -> String {
        // FNV-1a.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |bytes: [u8; 8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for span in &self.spans {
            add(span.place.span_id);
            add(span.place.start_nanos.to_le_bytes());
            add(span.place.end_nanos.to_le_bytes());
        }
        format!("{hash:016x}")
    }

    /// The row that names the trace: its first root, else the first at the top.
    pub fn main_row(&self) -> Option<usize> {
        let is_root = |row: &usize| {
            self.laid[*row].parent.is_none() && self.spans[*row].place.parent_span_id.is_none()
        };
        self.tops().find(is_root).or_else(|| self.tops().next())
    }

    /// Rows at the top.
    pub(crate) fn tops(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let row = next;
            next += self.laid.get(row)?.subtree as usize;
            Some(row)
        })
    }

    /// The rows of spans, in the order of their ids: the first, if several have an id.
    pub fn rows_of(&self, span_ids: &[[u8; 8]]) -> Vec<usize> {
        let mut first_rows: HashMap<[u8; 8], Option<usize>> =
            span_ids.iter().map(|id| (*id, None)).collect();
        for (row, span) in self.spans.iter().enumerate() {
            if let Some(first) = first_rows.get_mut(&span.place.span_id) {
                first.get_or_insert(row);
            }
        }
        span_ids.iter().filter_map(|id| first_rows.get(id).copied().flatten()).collect()
    }

    /// The span of a row, read.
    pub(crate) fn view(&self, row: usize) -> Result<SpanView<'_>, WireError> {
        SpanView::parse(self.bytes(self.spans[row].raw))
    }

    pub(crate) fn bytes(&self, piece: Piece) -> &[u8] {
        piece.in_body(&self.body)
    }

    /// The name of a row's span.
    pub fn name(&self, row: usize) -> &[u8] {
        self.bytes(self.spans[row].name)
    }

    /// The service of a row's span; empty if it has none.
    pub fn service(&self, row: usize) -> &[u8] {
        self.bytes(self.resource(row).service)
    }

    pub(crate) fn resource(&self, row: usize) -> &Resource {
        &self.resources[self.spans[row].resource as usize]
    }

    /// How long a span took, none if its clock went back.
    pub(crate) fn nanos(&self, row: usize) -> i64 {
        self.spans[row].duration_nanos.max(0)
    }

    pub(crate) fn is_error(&self, row: usize) -> bool {
        self.spans[row].status == STATUS_ERROR
    }
}

/// `STATUS_CODE_ERROR`.
pub(crate) const STATUS_ERROR: u8 = 2;

/// By start, the longer first: a parent comes before the children that began with it. Beyond that
/// by what they are, so that rows do not depend on where spans lie.
fn order(body: &[u8], a: &Span, b: &Span) -> Ordering {
    let order = a.place.start_nanos.cmp(&b.place.start_nanos);
    let order = order.then_with(|| b.duration_nanos.cmp(&a.duration_nanos));
    let order = order.then_with(|| a.place.span_id.cmp(&b.place.span_id));
    let order = order.then_with(|| a.name.in_body(body).cmp(b.name.in_body(body)));
    let order = order.then_with(|| a.place.parent_span_id.cmp(&b.place.parent_span_id));
    order.then_with(|| a.raw.in_body(body).cmp(b.raw.in_body(body)))
}

/// Numbers resources by their first row, so that their order does not depend on where they lie.
fn resources_by_row(mut spans: Vec<Span>, resources: &[Resource]) -> (Vec<Span>, Vec<Resource>) {
    let mut new_numbers: Vec<Option<u32>> = vec![None; resources.len()];
    let mut by_row = Vec::new();
    for span in &mut spans {
        let old = span.resource as usize;
        span.resource = *new_numbers[old].get_or_insert_with(|| {
            by_row.push(resources[old]);
            by_row.len() as u32 - 1
        });
    }
    (spans, by_row)
}

/// How much of the path is each span's own.
fn critical_nanos(paths: &Paths, spans: usize) -> Vec<i64> {
    let mut own = vec![0; spans];
    for stretch in &paths.stretches {
        if let Some(span) = stretch.span {
            own[span as usize] += stretch.to_nanos - stretch.from_nanos;
        }
    }
    own
}

impl std::fmt::Debug for TraceTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceTree").field("spans", &self.spans.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::columns::columns;
    use crate::fixture::{sent, tree};
    use crate::random::Random;

    #[test]
    fn whatever_is_sent_has_a_row_behind_its_parent_and_within_its_subtree() {
        let mut random = Random::new(13);
        for _ in 0..500 {
            let count = random.below(40);
            // Ids come twice, parents are missing or in circles, times go back or are not there.
            let spans: Vec<_> = (0..count)
                .map(|_| {
                    let (id, parent) = (1 + random.below(30), random.below(35));
                    let times = [0, 1_000 + random.below(50)];
                    let (from, to) = (random.below(8).min(1), random.below(8).min(1));
                    let to = times[to as usize] + random.below(20);
                    sent(id, parent, "s", "n", times[from as usize], to)
                })
                .collect();
            let tree = tree(&spans);
            assert_eq!(tree.len(), spans.len());
            for (row, laid) in tree.laid.iter().enumerate() {
                let parent = laid.parent.map(|parent| parent as usize);
                let end = row + laid.subtree as usize;
                assert!(end <= tree.len());
                if let Some(parent) = parent {
                    let above = &tree.laid[parent];
                    assert!(parent < row && end <= parent + above.subtree as usize);
                    assert_eq!(laid.depth, above.depth + 1);
                }
                assert!(laid.slack_nanos >= 0 && laid.saving_nanos >= 0);
                assert!(!laid.is_critical || laid.slack_nanos == 0);
                assert!(laid.is_critical || laid.critical_nanos == 0);
            }
            let own: i64 = tree.laid.iter().map(|laid| laid.critical_nanos).sum();
            let idle = tree.stretches.iter().filter(|stretch| stretch.row.is_none());
            let idle: i64 = idle.map(|stretch| stretch.to_nanos - stretch.from_nanos).sum();
            let ends = tree.stretches.first().zip(tree.stretches.last());
            let whole = ends.map_or(0, |(first, last)| last.to_nanos - first.from_nanos);
            assert_eq!(own + idle, whole);
            columns(&tree, "id", 0).unwrap();
        }
    }

    #[test]
    fn spans_are_found_by_id_in_the_order_asked_for_and_of_several_the_first() {
        let ids = [1, 2, 3, 2];
        let spans: Vec<_> = (1_000..)
            .zip(ids)
            .map(|(from, id)| sent(id, u64::from(id > 1), "s", "n", from, 2_000))
            .collect();
        let tree = tree(&spans);
        let rows = tree.rows_of(&[3u64, 9, 2, 1, 2].map(u64::to_be_bytes));
        assert_eq!(rows, [2, 1, 0, 1]);
    }
}
