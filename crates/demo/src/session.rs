//! A session as the library of that name tells of it: a trace with one root, events as log records.

use std::borrow::Cow;

use kymo_ci::attributes::Attributes;

use crate::batch::Batch;
use crate::random::{Random, hex};
use crate::record::{Event, Kind, Log, Resource, Severity, Span, Status};

/// The scope of everything that the library makes.
pub(crate) const SCOPE: &str = "kymograph";

/// A session that goes on.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: &'static str,
    pub(crate) resource: Resource,
    pub(crate) trace_id: [u8; 16],
    pub(crate) span_id: [u8; 8],
    pub(crate) start_nanos: u64,
}

impl Session {
    /// Begins a session, with attributes of its own, and tells of it.
    pub(crate) fn begin(
        name: &'static str,
        host: &str,
        own: &Attributes,
        random: &mut Random,
        nanos: u64,
        batch: &mut Batch,
    ) -> Self {
        let id = format!("{name}.{:08x}", random.next() >> 32);
        let mut attributes: Attributes = [
            ("service.name", name),
            ("session_id", &id),
            // Metrics of two runs are two instances.
            ("service.instance.id", &id),
            ("session.name", name),
            ("host.name", host),
            ("telemetry.sdk.name", "kymograph"),
            ("telemetry.sdk.language", "python"),
        ]
        .into_iter()
        .collect();
        attributes.set("process.pid", 1_000 + (random.next() % 30_000) as i64);
        attributes.extend(own);
        let (trace_id, span_id) = (random.trace_id(), random.span_id());
        let resource = Resource::new(&attributes);
        let session = Self { name, resource, trace_id, span_id, start_nanos: nanos };
        session.event("SessionStarted", nanos, span_id, [("span_name", "session")], batch);
        session
    }

    /// Ends it: the event, and the span that holds all others.
    pub(crate) fn end(&self, nanos: u64, batch: &mut Batch) {
        let seconds = (nanos - self.start_nanos) as f64 / 1e9;
        self.event("SessionEnded", nanos, self.span_id, [("duration_seconds", seconds)], batch);
        let attributes = [("session.name", self.name)].into_iter().collect();
        let mut span = self.span(self.span_id, None, "session", (self.start_nanos, nanos));
        span.attributes = attributes;
        batch.span(&self.resource, SCOPE, &span);
    }

    /// Tells of an event of one of its spans.
    pub(crate) fn event<N: Into<String>, V: Into<kymo_ci::attributes::Value>>(
        &self,
        name: &'static str,
        nanos: u64,
        span_id: [u8; 8],
        attributes: impl IntoIterator<Item = (N, V)>,
        batch: &mut Batch,
    ) {
        let severity = if name == "TaskFailed" { Severity::Error } else { Severity::Unset };
        let place = Some((self.trace_id, span_id));
        let attributes = attributes.into_iter().collect();
        let log = Log { nanos, severity, event_name: name, place, attributes, ..Log::default() };
        batch.log(&self.resource, SCOPE, &log);
    }

    /// Writes a line.
    pub(crate) fn line(
        &self,
        severity: Severity,
        nanos: u64,
        span_id: [u8; 8],
        body: String,
        batch: &mut Batch,
    ) {
        let place = Some((self.trace_id, span_id));
        let log = Log { nanos, severity, body, place, ..Log::default() };
        batch.log(&self.resource, self.name, &log);
    }

    /// A span of its trace, with nothing but names and times.
    pub(crate) fn span(
        &self,
        span_id: [u8; 8],
        parent: Option<[u8; 8]>,
        name: impl Into<Cow<'static, str>>,
        (start_nanos, end_nanos): (u64, u64),
    ) -> Span {
        Span {
            trace_id: self.trace_id,
            span_id,
            parent,
            name: name.into(),
            kind: Kind::Internal,
            start_nanos,
            end_nanos,
            attributes: Attributes::new(),
            events: Vec::<Event>::new(),
            status: Status::Unset,
        }
    }
}

/// What an event that opens a span says of it.
pub(crate) fn opens(name: &str, parent: [u8; 8]) -> Attributes {
    [("span_name", name.to_owned()), ("parent_span_id", hex(&parent))].into_iter().collect()
}

/// Attributes as pairs, for events.
pub(crate) fn pairs(
    attributes: &Attributes,
) -> impl Iterator<Item = (&str, kymo_ci::attributes::Value)> {
    attributes.iter().map(|(name, value)| (name, value.clone()))
}
