//! Whole traces, chosen when they are complete: those that failed, were slow, or meet a condition.
//!
//! Spans are held by trace until `wait` after the first of them was read; then all spans of the trace
//! go, or none. Spans that come later follow the decision, as long as it is remembered, also through a
//! restart. The records that held spans are of are held, too, so that after a crash they are read
//! again: nothing that was not decided on gets lost.
//!
//! Bounded: when there are more than `max_traces` traces, or more bytes than
//! [`MAX_TAIL_BYTES`], the oldest are decided on early, and counted.

mod decisions;

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kymo_condition::{Conditions, Reading, Record};
use kymo_journal::{Compression, Format};
use kymo_wire::encode::Writer;
use kymo_wire::{ResourceSpansView, ScopeSpansView, Signal, SpanView, TracesView, View, WireError};

use super::outgoing::{Outgoing, Part, Trial};
use super::progress::{Progress, Ticket};
use super::ratio::Ratio;
use super::settings::TailSettings;
use crate::limits::MAX_TAIL_BYTES;
use decisions::Decisions;

/// `STATUS_CODE_ERROR`.
const ERROR: i32 = 2;

/// A trace of a tenant.
type Key = (Arc<str>, [u8; 16]);

/// Holds spans until their traces are decided on.
pub(crate) struct Tail {
    choice: Choice,
    wait: Duration,
    max_traces: usize,
    max_bytes: usize,
    held: HashMap<Key, Held>,
    /// When each of them is due, in that order: all wait equally long.
    due: VecDeque<(Instant, Key)>,
    held_bytes: usize,
    decided: Decisions,
    early: u64,
}

/// What makes a trace one that goes.
struct Choice {
    errors: bool,
    slower_than_nanos: Option<u64>,
    /// One, or none.
    conditions: Conditions,
    ratio: Option<Ratio>,
}

/// What is known of a trace so far.
struct Held {
    parts: Vec<(Ticket, Bytes)>,
    is_chosen: bool,
    start_nanos: u64,
    end_nanos: u64,
}

/// Spans of a trace in one request, as a request of its own.
struct Fragment {
    key: Key,
    writer: Writer,
    held: Held,
}

impl Tail {
    /// As settings say.
    ///
    /// # Errors
    /// A condition that is none.
    pub(crate) fn new(settings: &TailSettings) -> Result<Self, String> {
        let mut conditions = Conditions::new();
        if let Some(text) = &settings.condition {
            let added = conditions.add(text);
            added.map_err(|error| format!("tail where {text:?}: {error}"))?;
        }
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            choice: Choice {
                errors: settings.errors,
                slower_than_nanos: settings.slower_than.map(nanos),
                conditions,
                ratio: settings.ratio.map(Ratio::new),
            },
            wait: settings.wait,
            max_traces: settings.max_traces,
            max_bytes: MAX_TAIL_BYTES,
            held: HashMap::new(),
            due: VecDeque::new(),
            held_bytes: 0,
            decided: Decisions::default(),
            early: 0,
        })
    }

    /// The same with the decisions that a directory keeps.
    pub(crate) fn with_decisions_in(mut self, dir: &Path) -> Self {
        self.decided = Decisions::kept_in(dir);
        self
    }

    /// Takes the spans of a request. What goes at once is given back: late spans of traces that
    /// were chosen, and traces that had to be decided on early.
    ///
    /// # Errors
    /// The request is not OTLP.
    pub(crate) fn add(
        &mut self,
        tenant: &Arc<str>,
        request: &[u8],
        ticket: Ticket,
        now: Instant,
        progress: &mut Progress,
    ) -> Result<Vec<Outgoing>, WireError> {
        let mut ready = Ready::default();
        for fragment in self.fragments(tenant, request)? {
            let Fragment { key, writer, mut held } = fragment;
            let bytes = Bytes::from(writer.into_bytes());
            match self.decided.get(&key) {
                Some(false) => {}
                Some(true) => {
                    progress.hold(ticket);
                    ready.push(&key.0, Part { bytes, tickets: vec![ticket] });
                }
                None => {
                    progress.hold(ticket);
                    self.held_bytes += bytes.len();
                    held.parts.push((ticket, bytes));
                    match self.held.get_mut(&key) {
                        Some(known) => known.merge(held),
                        None => {
                            self.due.push_back((now + self.wait, key.clone()));
                            self.held.insert(key, held);
                        }
                    }
                }
            }
        }
        while self.held.len() > self.max_traces || self.held_bytes > self.max_bytes {
            self.early += 1;
            if !self.decide_oldest(&mut ready, progress) {
                break;
            }
        }
        self.decided.save();
        Ok(ready.outgoing)
    }

    /// What goes of traces that are due.
    pub(crate) fn decide(&mut self, now: Instant, progress: &mut Progress) -> Vec<Outgoing> {
        let mut ready = Ready::default();
        while self.due.front().is_some_and(|(at, _)| *at <= now) {
            self.decide_oldest(&mut ready, progress);
        }
        self.decided.save();
        ready.outgoing
    }

    /// When the next trace is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.front().map(|(at, _)| *at)
    }

    /// Traces that were decided on early since this was last asked.
    pub(crate) fn take_early(&mut self) -> u64 {
        std::mem::take(&mut self.early)
    }

    /// Whether there was one.
    fn decide_oldest(&mut self, ready: &mut Ready, progress: &mut Progress) -> bool {
        let Some((_, key)) = self.due.pop_front() else { return false };
        let Some(held) = self.held.remove(&key) else { return true };
        self.held_bytes -= held.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let is_chosen = self.choice.takes(&held);
        if is_chosen {
            let tickets = held.parts.iter().map(|(ticket, _)| *ticket).collect();
            let parts: Vec<Bytes> = held.parts.into_iter().map(|(_, bytes)| bytes).collect();
            ready.push(&key.0, Part { bytes: super::pack::joined(&parts), tickets });
        } else {
            held.parts.iter().for_each(|(ticket, _)| progress.release(*ticket));
        }
        self.decided.insert(key, is_chosen);
        true
    }

    /// The spans of a request by trace, in the order of their first.
    fn fragments(&self, tenant: &Arc<str>, request: &[u8]) -> Result<Vec<Fragment>, WireError> {
        let mut fragments: Vec<Fragment> = Vec::new();
        let mut places: HashMap<[u8; 16], usize> = HashMap::new();
        let mut reading = self.choice.conditions.reading();
        for resource in TracesView::parse(request)?.resources {
            let resource = resource?;
            for scope in resource.scopes {
                let scope = scope?;
                // Spans of one scope by trace, so that each resource is written once for each.
                let mut spans: Vec<(usize, Vec<&[u8]>)> = Vec::new();
                for span in scope.items {
                    let span = span?;
                    let id = trace_id(span.trace_id);
                    let place = *places.entry(id).or_insert_with(|| {
                        let (key, writer) = ((Arc::clone(tenant), id), Writer::new());
                        fragments.push(Fragment { key, writer, held: Held::new() });
                        fragments.len() - 1
                    });
                    if let Some(fragment) = fragments.get_mut(place) {
                        let held = &mut fragment.held;
                        held.extend(&span);
                        let record =
                            Record::span(resource.resource.as_ref(), scope.scope.as_ref(), &span);
                        held.is_chosen =
                            held.is_chosen || self.choice.takes_for(&span, &record, &mut reading);
                    }
                    match spans.iter_mut().find(|(known, _)| *known == place) {
                        Some((_, raws)) => raws.push(span.raw),
                        None => spans.push((place, vec![span.raw])),
                    }
                }
                for (place, raws) in spans {
                    if let Some(fragment) = fragments.get_mut(place) {
                        write(&mut fragment.writer, &resource, &scope, &raws);
                    }
                }
            }
        }
        Ok(fragments)
    }
}

fn trace_id(bytes: &[u8]) -> [u8; 16] {
    // Admission refuses those of another length.
    bytes.try_into().unwrap_or_default()
}

/// Appends spans with their resource and scope.
fn write(
    writer: &mut Writer,
    resource: &ResourceSpansView<'_>,
    scope: &ScopeSpansView<'_>,
    spans: &[&[u8]],
) {
    writer.resource_group(|w| {
        if let Some(resource) = &resource.resource {
            w.resource_raw(resource.raw);
        }
        w.scope_group(|w| {
            if let Some(scope) = &scope.scope {
                w.scope_raw(scope.raw);
            }
            spans.iter().for_each(|span| w.item_raw(span));
            if !scope.schema_url.is_empty() {
                w.scope_schema_url(scope.schema_url);
            }
        });
        if !resource.schema_url.is_empty() {
            w.resource_schema_url(resource.schema_url);
        }
    });
}

impl Held {
    fn new() -> Self {
        Self { parts: Vec::new(), is_chosen: false, start_nanos: u64::MAX, end_nanos: 0 }
    }

    /// Notes when a span was.
    fn extend(&mut self, span: &SpanView<'_>) {
        self.start_nanos = self.start_nanos.min(span.start_time_unix_nano);
        self.end_nanos = self.end_nanos.max(span.end_time_unix_nano);
    }

    fn merge(&mut self, other: Self) {
        self.parts.extend(other.parts);
        self.is_chosen |= other.is_chosen;
        self.start_nanos = self.start_nanos.min(other.start_nanos);
        self.end_nanos = self.end_nanos.max(other.end_nanos);
    }
}

impl Choice {
    /// Whether a trace goes because of one span.
    fn takes_for<'a>(
        &self,
        span: &SpanView<'a>,
        record: &Record<'a>,
        reading: &mut Reading<'_, 'a>,
    ) -> bool {
        let has_failed = span.status.is_some_and(|status| status.code == ERROR);
        let is_sampled =
            self.ratio.is_some_and(|ratio| ratio.keeps(span.trace_id, span.trace_state));
        if (self.errors && has_failed) || is_sampled {
            return true;
        }
        if self.conditions.is_empty() {
            return false;
        }
        reading.read(record);
        reading.holds(0)
    }

    /// Whether a trace goes, now that it is complete.
    fn takes(&self, held: &Held) -> bool {
        let duration_nanos = held.end_nanos.saturating_sub(held.start_nanos);
        held.is_chosen || self.slower_than_nanos.is_some_and(|bound| duration_nanos > bound)
    }
}

/// Requests that are ready, as few as possible.
#[derive(Default)]
struct Ready {
    outgoing: Vec<Outgoing>,
}

impl Ready {
    fn push(&mut self, tenant: &Arc<str>, part: Part) {
        let next = Outgoing {
            signal: Signal::Traces,
            tenant: Arc::clone(tenant),
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            trial: Trial::Usual,
            parts: vec![part],
        };
        match self.outgoing.last_mut() {
            Some(last) if last.can_join(&next) => last.parts.extend(next.parts),
            _ => self.outgoing.push(next),
        }
    }
}

#[cfg(test)]
mod tests;
