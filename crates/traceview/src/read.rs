//! Spans out of OTLP, each in a few numbers and places in the bytes.
//!
//! Times are made usable here, so that nothing behind has to doubt them. What was done is marked:
//!
//! | sent | shown |
//! |---|---|
//! | no start | where its parent starts, or the trace |
//! | no end | runs: until the last that is known of the trace |
//! | an end before the start | takes no time; the duration is kept as sent |

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, KeyValueView, Repeated, SpanView, TracesView, View};

use crate::error::TraceError;
use crate::forest::Place;

/// The attribute by which the store tells that a span has not ended.
const OPEN_ATTRIBUTE: &[u8] = b"kymo.open";
/// The name of events that tell of exceptions.
const EXCEPTION: &[u8] = b"exception";
/// Attributes of a resource that name the host it ran on, the best first.
pub const HOST_KEYS: [&str; 3] = ["host.name", "k8s.node.name", "node_id"];
/// Those that tell where it ran, the best first: also by what no metrics are asked for.
const HOST: [&[u8]; 5] = [
    HOST_KEYS[0].as_bytes(),
    HOST_KEYS[1].as_bytes(),
    HOST_KEYS[2].as_bytes(),
    b"host.id",
    b"net.host.name",
];
/// Attributes of a resource that tell it from others of its service, the best first.
const INSTANCE: [&[u8]; 5] =
    [b"service.instance.id", b"k8s.pod.name", b"container.id", b"process.pid", b"session_id"];

/// Bytes of a trace's body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    at: u32,
    bytes: u32,
}

impl Piece {
    /// Where a part of `body` lies in it.
    fn of(body: &[u8], part: &[u8]) -> Self {
        if part.is_empty() {
            return Self::default();
        }
        let at = part.as_ptr() as usize - body.as_ptr() as usize;
        Self { at: at as u32, bytes: part.len() as u32 }
    }

    pub(crate) fn in_body(self, body: &[u8]) -> &[u8] {
        let end = self.at as usize + self.bytes as usize;
        body.get(self.at as usize..end).unwrap_or_default()
    }
}

/// A span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) raw: Piece,
    pub(crate) name: Piece,
    pub(crate) message: Piece,
    pub(crate) place: Place,
    /// As sent: less than nothing if its clock went back.
    pub(crate) duration_nanos: i64,
    pub(crate) resource: u32,
    pub(crate) scope: u32,
    pub(crate) kind: u8,
    pub(crate) status: u8,
    pub(crate) events: u32,
    pub(crate) links: u32,
    pub(crate) is_running: bool,
    pub(crate) is_untimed: bool,
    pub(crate) has_exception: bool,
}

/// A resource.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resource {
    pub(crate) raw: Piece,
    pub(crate) service: Piece,
    pub(crate) namespace: Piece,
    pub(crate) host: Piece,
    pub(crate) instance: Piece,
    /// The instance, where it is a number.
    pub(crate) instance_number: Option<i64>,
}

/// A scope.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scope {
    pub(crate) raw: Piece,
    pub(crate) name: Piece,
    pub(crate) version: Piece,
}

/// What a body holds, in no order.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) trace_id: [u8; 16],
    pub(crate) spans: Vec<Span>,
    pub(crate) resources: Vec<Resource>,
    /// The first is that of spans without one.
    pub(crate) scopes: Vec<Scope>,
}

impl Contents {
    pub(crate) fn read(body: &[u8]) -> Result<Self, TraceError> {
        if u32::try_from(body.len()).is_err() {
            return Err(TraceError::TooLarge { bytes: body.len() });
        }
        let mut contents = Self { scopes: vec![Scope::default()], ..Self::default() };
        let mut known_resources: HashMap<&[u8], u32> = HashMap::new();
        let mut known_scopes: HashMap<&[u8], u32> = HashMap::from([(&[][..], 0)]);
        for group in TracesView::parse(body)?.resources {
            let group = group?;
            let raw = group.resource.map_or(&[][..], |resource| resource.raw);
            let resource = match known_resources.get(raw) {
                Some(known) => *known,
                None => {
                    let attributes = group.resource.map(|resource| resource.attributes);
                    contents.resources.push(resource(body, raw, attributes)?);
                    let nth = contents.resources.len() as u32 - 1;
                    known_resources.insert(raw, nth);
                    nth
                }
            };
            for scope_group in group.scopes {
                let scope_group = scope_group?;
                let view = scope_group.scope;
                let raw = view.map_or(&[][..], |scope| scope.raw);
                let scope = *known_scopes.entry(raw).or_insert_with(|| {
                    let piece = |text: Option<&[u8]>| Piece::of(body, text.unwrap_or_default());
                    contents.scopes.push(Scope {
                        raw: Piece::of(body, raw),
                        name: piece(view.map(|scope| scope.name)),
                        version: piece(view.map(|scope| scope.version)),
                    });
                    contents.scopes.len() as u32 - 1
                });
                for raw in scope_group.items.raws() {
                    contents.spans.push(span(body, raw?, resource, scope, &mut contents.trace_id)?);
                }
            }
        }
        contents.settle_times();
        Ok(contents)
    }

    /// Gives a time to spans that were sent without.
    fn settle_times(&mut self) {
        let timed = self.spans.iter().filter(|span| !span.is_untimed);
        let first = timed.clone().map(|span| span.place.start_nanos).min().unwrap_or(0);
        let last = timed.map(|span| span.place.end_nanos).max().unwrap_or(first);
        if self.spans.iter().any(|span| span.is_untimed) {
            self.settle_starts(first);
        }
        for span in &mut self.spans {
            if span.is_running && span.duration_nanos == 0 {
                span.place.end_nanos = last.max(span.place.start_nanos);
                span.duration_nanos = span.place.end_nanos - span.place.start_nanos;
            }
        }
    }

    fn settle_starts(&mut self, first: i64) {
        let timed = self.spans.iter().filter(|span| !span.is_untimed);
        // Of several with the same id the first has the children.
        let mut starts: HashMap<[u8; 8], i64> = HashMap::new();
        for span in timed {
            let start = starts.entry(span.place.span_id).or_insert(i64::MAX);
            *start = span.place.start_nanos.min(*start);
        }
        for span in self.spans.iter_mut().filter(|span| span.is_untimed) {
            let parent = span.place.parent_span_id.and_then(|id| starts.get(&id).copied());
            let start = parent.unwrap_or(first);
            // What is known of its end stays, if it can.
            let end = span.place.end_nanos.max(start);
            span.place.start_nanos = start;
            span.place.end_nanos = end;
            span.duration_nanos = end - start;
        }
    }
}

fn resource(
    body: &[u8],
    raw: &[u8],
    attributes: Option<Repeated<'_, KeyValueView<'_>>>,
) -> Result<Resource, TraceError> {
    let mut found = Resource { raw: Piece::of(body, raw), ..Resource::default() };
    let (mut best_host, mut best_instance) = (HOST.len(), INSTANCE.len());
    for attribute in attributes.iter().flatten() {
        let KeyValueView { key, value, .. } = attribute?;
        if let (b"process.pid", AnyValueView::Int(pid)) = (key, value) {
            found.instance_number = Some(pid);
        }
        let AnyValueView::String(text) = value else { continue };
        let text = Piece::of(body, text);
        match key {
            b"service.name" => found.service = text,
            b"service.namespace" => found.namespace = text,
            key => {
                let rank = |keys: &[&[u8]]| keys.iter().position(|known| *known == key);
                if let Some(rank) = rank(&HOST).filter(|rank| *rank < best_host) {
                    (best_host, found.host) = (rank, text);
                }
                if let Some(rank) = rank(&INSTANCE).filter(|rank| *rank < best_instance) {
                    (best_instance, found.instance) = (rank, text);
                }
            }
        }
    }
    Ok(found)
}

fn span(
    body: &[u8],
    raw: &[u8],
    resource: u32,
    scope: u32,
    trace_id: &mut [u8; 16],
) -> Result<Span, TraceError> {
    let view = SpanView::parse(raw)?;
    if let Ok(id) = view.trace_id.try_into() {
        *trace_id = id;
    }
    let nanos = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let (start, end) = (nanos(view.start_time_unix_nano), nanos(view.end_time_unix_nano));
    let is_untimed = start == 0;
    let has_no_end = end == 0 && !is_untimed;
    let duration_nanos = if has_no_end || is_untimed { 0 } else { end - start };
    Ok(Span {
        raw: Piece::of(body, raw),
        name: Piece::of(body, view.name),
        message: Piece::of(body, view.status.map_or(&[][..], |status| status.message)),
        place: Place {
            span_id: id_of(view.span_id),
            parent_span_id: (!view.parent_span_id.is_empty()).then(|| id_of(view.parent_span_id)),
            start_nanos: start,
            end_nanos: end.max(start),
        },
        duration_nanos,
        resource,
        scope,
        kind: u8::try_from(view.kind).unwrap_or(u8::MAX),
        status: view.status.map_or(0, |status| u8::try_from(status.code).unwrap_or(0)),
        events: view.events.count() as u32,
        links: view.links.count() as u32,
        is_running: has_no_end || is_open(&view)?,
        is_untimed,
        has_exception: has_exception(&view)?,
    })
}

/// 8 bytes, of whatever was sent.
fn id_of(bytes: &[u8]) -> [u8; 8] {
    let mut id = [0; 8];
    let known = bytes.len().min(8);
    id[..known].copy_from_slice(&bytes[..known]);
    id
}

fn is_open(view: &SpanView<'_>) -> Result<bool, TraceError> {
    for raw in view.attributes.raws() {
        let raw = raw?;
        let key = match KeyValueView::usual_key(raw) {
            Some(key) => key,
            None => KeyValueView::parse(raw)?.key,
        };
        if key == OPEN_ATTRIBUTE {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_exception(view: &SpanView<'_>) -> Result<bool, TraceError> {
    for event in view.events {
        if event?.name == EXCEPTION {
            return Ok(true);
        }
    }
    Ok(false)
}
