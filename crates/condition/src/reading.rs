//! The values of one record that conditions ask for, each read once however many ask.
//!
//! A record's attributes are walked once, and its resource's and scope's once for all records that
//! have them: [`Reading::read`] sees whether they are the same bytes as before.

use kymo_traceql::ast::{Intrinsic, Kind, Status};
use kymo_traceql::{List, Trace, Value};
use kymo_wire::remote_write::METRIC_NAME;
use kymo_wire::{KeyValueView, Repeated, ResourceView, ScopeView, SpanView, View};

use crate::conditions::Conditions;
use crate::plan::{Keys, Plan};
use crate::record::{Own, Record};
use crate::value::{Slot, usual_key};

/// Values of a record, for one set of conditions.
#[derive(Debug, Clone)]
pub struct Reading<'c, 'a> {
    conditions: &'c Conditions,
    own: Vec<Slot<'a>>,
    resource: Vec<Slot<'a>>,
    scope: Vec<Slot<'a>>,
    /// Values of events: as many for each event as there are slots.
    events: Vec<Slot<'a>>,
    links: Vec<Slot<'a>>,
    is_root: bool,
    /// Which values there are: a bit for each of the first 64 slots.
    filled: u64,
    /// The bytes that `resource` and `scope` were read from.
    resource_raw: Option<&'a [u8]>,
    scope_raw: Option<&'a [u8]>,
}

impl<'c, 'a> Reading<'c, 'a> {
    pub(crate) fn new(conditions: &'c Conditions) -> Self {
        let nothing = || vec![Slot::Nothing; conditions.plan().slots];
        Self {
            conditions,
            own: nothing(),
            resource: nothing(),
            scope: nothing(),
            events: Vec::new(),
            links: Vec::new(),
            is_root: false,
            filled: 0,
            resource_raw: None,
            scope_raw: None,
        }
    }

    /// Whether the condition that was added as `nth` holds for the record that was read last.
    #[must_use]
    pub fn holds(&self, nth: usize) -> bool {
        let short = self.conditions.shortcut(nth).and_then(|known| known.answer(self.filled));
        short.unwrap_or_else(|| self.conditions.holds(nth, self))
    }

    /// Reads a record.
    pub fn read(&mut self, record: &Record<'a>) {
        let plan = self.conditions.plan();
        self.read_resource(record.resource.as_ref());
        self.read_scope(record.scope.as_ref());
        self.own.fill(Slot::Nothing);
        self.events.clear();
        self.links.clear();
        self.is_root = false;
        match &record.own {
            Own::Span(span) => self.read_span(span),
            Own::Log(log) => {
                fill(&plan.any, &log.attributes, &mut self.own);
                for (which, slot) in &plan.intrinsics {
                    let value = match which {
                        Intrinsic::Name if !log.event_name.is_empty() => Slot::text(log.event_name),
                        Intrinsic::TraceId => Slot::trace_id(log.trace_id),
                        Intrinsic::SpanId => Slot::id(log.span_id),
                        _ => continue,
                    };
                    put(&mut self.own, *slot, value);
                }
            }
            Own::Point { metric, attributes, .. } => {
                fill(&plan.any, attributes, &mut self.own);
                self.name(metric);
            }
            Own::Series { labels, .. } => {
                for (name, value) in *labels {
                    if *name == METRIC_NAME {
                        self.name(value);
                    } else if let Some(slots) = plan.any.get(name)
                        && !value.is_empty()
                    {
                        slots.iter().for_each(|slot| put(&mut self.own, *slot, Slot::text(value)));
                    }
                }
            }
            Own::Nothing => {}
        }
        self.filled = self.filled();
    }

    fn filled(&self) -> u64 {
        let layers = self.own.iter().zip(&self.resource).zip(&self.scope);
        let is_filled = layers.map(|((own, resource), scope)| {
            !(own.is_nothing() && resource.is_nothing() && scope.is_nothing())
        });
        let first = is_filled.take(u64::BITS as usize).enumerate();
        first.fold(0, |bits, (slot, is_filled)| bits | u64::from(is_filled) << slot)
    }

    fn name(&mut self, name: &'a [u8]) {
        for (which, slot) in &self.conditions.plan().intrinsics {
            if *which == Intrinsic::Name {
                put(&mut self.own, *slot, Slot::text(name));
            }
        }
    }

    fn read_resource(&mut self, resource: Option<&ResourceView<'a>>) {
        let raw = resource.map(|resource| resource.raw);
        if is_same(self.resource_raw, raw) {
            return;
        }
        self.resource_raw = raw;
        self.resource.fill(Slot::Nothing);
        if let Some(resource) = resource {
            fill(&self.conditions.plan().resource, &resource.attributes, &mut self.resource);
        }
    }

    fn read_scope(&mut self, scope: Option<&ScopeView<'a>>) {
        let raw = scope.map(|scope| scope.raw);
        if is_same(self.scope_raw, raw) {
            return;
        }
        self.scope_raw = raw;
        self.scope.fill(Slot::Nothing);
        let Some(scope) = scope else { return };
        let plan = self.conditions.plan();
        fill(&plan.scope, &scope.attributes, &mut self.scope);
        for (which, slot) in &plan.scope_intrinsics {
            let text =
                if *which == Intrinsic::InstrumentationName { scope.name } else { scope.version };
            if !text.is_empty() {
                put(&mut self.scope, *slot, Slot::text(text));
            }
        }
    }

    fn read_span(&mut self, span: &SpanView<'a>) {
        let plan = self.conditions.plan();
        self.is_root = span.parent_span_id.is_empty();
        fill(&plan.span, &span.attributes, &mut self.own);
        for (which, slot) in &plan.intrinsics {
            put(&mut self.own, *slot, intrinsic(*which, span));
        }
        if !plan.event.is_empty() || !plan.event_intrinsics.is_empty() {
            self.read_events(span, plan);
        }
        if !plan.link.is_empty() || !plan.link_intrinsics.is_empty() {
            self.read_links(span, plan);
        }
        let has_elements = !span.events.is_empty() || !span.links.is_empty();
        if has_elements && !plan.unscoped.is_empty() {
            self.look_everywhere(span, plan);
        }
    }

    fn read_events(&mut self, span: &SpanView<'a>, plan: &Plan) {
        for event in span.events.iter().map_while(Result::ok) {
            let begin = self.events.len();
            self.events.resize(begin + plan.slots, Slot::Nothing);
            let Some(row) = self.events.get_mut(begin..) else { return };
            fill(&plan.event, &event.attributes, row);
            for (which, slot) in &plan.event_intrinsics {
                let value = match which {
                    Intrinsic::EventName => Slot::text(event.name),
                    _ => nanos_between(span.start_time_unix_nano, event.time_unix_nano),
                };
                put(row, *slot, value);
            }
        }
    }

    fn read_links(&mut self, span: &SpanView<'a>, plan: &Plan) {
        for link in span.links.iter().map_while(Result::ok) {
            let begin = self.links.len();
            self.links.resize(begin + plan.slots, Slot::Nothing);
            let Some(row) = self.links.get_mut(begin..) else { return };
            fill(&plan.link, &link.attributes, row);
            for (which, slot) in &plan.link_intrinsics {
                let value = match which {
                    Intrinsic::LinkTraceId => Slot::trace_id(link.trace_id),
                    _ => Slot::id(link.span_id),
                };
                put(row, *slot, value);
            }
        }
    }

    /// `.x` that neither the span nor its resource nor its scope has: of all events, else of all
    /// links, as queries do.
    fn look_everywhere(&mut self, span: &SpanView<'a>, plan: &Plan) {
        for slot in &plan.unscoped {
            if self.value(0, *slot) != Value::Nil {
                continue;
            }
            let Some(key) = plan.any.key_of(*slot) else { continue };
            let found = |attributes: &Repeated<'a, KeyValueView<'a>>| {
                let mut named = attributes.iter().flatten().filter(|found| found.key == key);
                named.next().map(|found| Slot::attribute(found.value).into_elements())
            };
            let events = span.events.iter().flatten();
            let mut values: Vec<_> =
                events.filter_map(|event| found(&event.attributes)).flatten().collect();
            if values.is_empty() {
                let links = span.links.iter().flatten();
                values = links.filter_map(|link| found(&link.attributes)).flatten().collect();
            }
            if !values.is_empty() {
                put(&mut self.own, *slot, Slot::Several(values));
            }
        }
    }

    fn list(&self, list: List) -> &[Slot<'a>] {
        match list {
            List::Events => &self.events,
            List::Links => &self.links,
        }
    }
}

/// A trace of one span, whatever the record is.
impl Trace for Reading<'_, '_> {
    fn spans(&self) -> usize {
        1
    }

    #[inline]
    fn value(&self, _span: usize, slot: usize) -> Value<'_> {
        for layer in [&self.own, &self.resource, &self.scope] {
            if let Some(found) = layer.get(slot).filter(|found| !found.is_nothing()) {
                return found.value();
            }
        }
        Value::Nil
    }

    fn elements(&self, _span: usize, list: List) -> usize {
        self.list(list).len() / self.conditions.plan().slots.max(1)
    }

    fn element_value(&self, _span: usize, slot: usize, nth: usize) -> Value<'_> {
        // Which list it is follows from the slot: the other has nothing there.
        let place = nth * self.conditions.plan().slots + slot;
        let value = |list| self.list(list).get(place).map_or(Value::Nil, Slot::value);
        match value(List::Events) {
            Value::Nil => value(List::Links),
            found => found,
        }
    }

    fn parent(&self, _span: usize) -> Option<usize> {
        None
    }

    fn is_root(&self, _span: usize) -> bool {
        self.is_root
    }
}

fn is_same(before: Option<&[u8]>, now: Option<&[u8]>) -> bool {
    match (before, now) {
        (None, None) => true,
        // The same place in memory: equal bytes elsewhere are read again.
        (Some(before), Some(now)) => std::ptr::eq(before, now),
        _ => false,
    }
}

/// Fills the slots of the attributes that are looked for. The first of several with one key counts.
#[inline]
fn fill<'a>(keys: &Keys, attributes: &Repeated<'a, KeyValueView<'a>>, slots: &mut [Slot<'a>]) {
    if keys.is_empty() {
        return;
    }
    for raw in attributes.raws().map_while(Result::ok) {
        if usual_key(raw).is_some_and(|key| keys.get(key).is_none()) {
            continue;
        }
        let Ok(attribute) = KeyValueView::parse(raw) else { return };
        let Some(found) = keys.get(attribute.key) else { continue };
        for slot in found {
            put(slots, *slot, Slot::attribute(attribute.value));
        }
    }
}

#[inline]
fn put<'a>(slots: &mut [Slot<'a>], slot: usize, value: Slot<'a>) {
    if let Some(place) = slots.get_mut(slot)
        && place.is_nothing()
    {
        *place = value;
    }
}

fn intrinsic<'a>(which: Intrinsic, span: &SpanView<'a>) -> Slot<'a> {
    let status = span.status.as_ref();
    match which {
        Intrinsic::Duration => nanos_between(span.start_time_unix_nano, span.end_time_unix_nano),
        Intrinsic::Name => Slot::text(span.name),
        // Numbers that have no word are there in no query.
        Intrinsic::Status => Slot::Plain(Value::Status(match status.map_or(0, |s| s.code) {
            0 => Status::Unset,
            1 => Status::Ok,
            2 => Status::Error,
            _ => return Slot::Nothing,
        })),
        Intrinsic::StatusMessage => Slot::text(status.map_or(&[], |status| status.message)),
        Intrinsic::Kind => Slot::Plain(Value::Kind(match span.kind {
            0 => Kind::Unspecified,
            1 => Kind::Internal,
            2 => Kind::Server,
            3 => Kind::Client,
            4 => Kind::Producer,
            5 => Kind::Consumer,
            _ => return Slot::Nothing,
        })),
        Intrinsic::SpanId => Slot::id(span.span_id),
        // That of a root is empty, so that `span:parentID = ""` asks for roots.
        Intrinsic::SpanParentId if span.parent_span_id.is_empty() => Slot::text(b""),
        Intrinsic::SpanParentId => Slot::id(span.parent_span_id),
        Intrinsic::TraceId => Slot::trace_id(span.trace_id),
        _ => Slot::Nothing,
    }
}

/// Both are below 2^63 where they were admitted.
fn nanos_between<'a>(from: u64, to: u64) -> Slot<'a> {
    Slot::Plain(Value::Duration(to.wrapping_sub(from) as i64))
}
