//! Calls as a tree, and the tree as spans.
//!
//! A tree is made first, with durations and no times; it is laid out so that its last span ends when
//! the request is told. Trees are a few levels deep, since this crate makes them.

use std::borrow::Cow;

use kymo_ci::attributes::Attributes;

use super::measure::Measures;
use super::services::{Service, Services};
use crate::batch::Batch;
use crate::metric::Exemplar;
use crate::random::Random;
use crate::record::{Event, Kind, Log, Severity, Span, Status, exception};

/// Something that a service does, and what it calls for it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) service: Service,
    pub(super) host: usize,
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Kind,
    pub(super) attributes: Attributes,
    /// Time of its own, before, between and after what it calls.
    pub(super) own_millis: f64,
    pub(super) calls: Vec<Call>,
    /// Whether it calls all at once.
    pub(super) is_parallel: bool,
    pub(super) error: Option<Error>,
    /// A line that it writes when it is done.
    pub(super) says: Option<(Severity, String)>,
    /// Something that goes on when the call has long been answered: a message.
    pub(super) is_detached: bool,
}

/// Why something failed.
#[derive(Debug, Clone)]
pub(super) struct Error {
    pub(super) kind: &'static str,
    pub(super) message: String,
    /// Where, as the language of the service shows it; none where it is only passed on.
    pub(super) stack: Option<&'static str>,
}

impl Call {
    pub(super) fn new(
        (service, host): (Service, usize),
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        own_millis: f64,
    ) -> Self {
        Self {
            service,
            host,
            name: name.into(),
            kind,
            attributes: Attributes::new(),
            own_millis,
            calls: Vec::new(),
            is_parallel: false,
            error: None,
            says: None,
            is_detached: false,
        }
    }

    pub(super) fn with(mut self, attributes: &[(&str, &str)]) -> Self {
        for (name, value) in attributes {
            self.attributes.set(*name, *value);
        }
        self
    }

    pub(super) fn number(mut self, name: &str, value: i64) -> Self {
        self.attributes.set(name, value);
        self
    }

    pub(super) fn calls(mut self, calls: impl IntoIterator<Item = Self>) -> Self {
        self.calls.extend(calls);
        self
    }

    pub(super) fn says(mut self, severity: Severity, line: impl Into<String>) -> Self {
        self.says = Some((severity, line.into()));
        self
    }

    pub(super) fn fails(mut self, error: Option<Error>) -> Self {
        self.error = error;
        self
    }

    fn nanos(&self) -> u64 {
        let attached = self.calls.iter().filter(|call| !call.is_detached).map(Self::nanos);
        let below: u64 =
            if self.is_parallel { attached.max().unwrap_or(0) } else { attached.sum() };
        below + (self.own_millis * 1e6) as u64
    }

    /// When everything is over, counted from its start: messages go on after the answer.
    fn reach_nanos(&self) -> u64 {
        let (mut cursor, mut reach) = (self.lead_nanos(), self.nanos());
        for call in &self.calls {
            reach = reach.max(cursor + call.reach_nanos());
            if !self.is_parallel && !call.is_detached {
                cursor += call.nanos();
            }
        }
        reach
    }

    /// What it does before it calls anybody.
    fn lead_nanos(&self) -> u64 {
        (self.own_millis * 0.4e6) as u64
    }
}

/// One request on its way into spans.
pub(super) struct Told<'a> {
    random: &'a mut Random,
    trace_id: [u8; 16],
    stands_for: u64,
}

impl<'a> Told<'a> {
    pub(super) fn new(random: &'a mut Random, stands_for: u32) -> Self {
        let trace_id = random.trace_id();
        Self { random, trace_id, stands_for: u64::from(stands_for) }
    }

    /// Tells of a request whose last span ends then.
    pub(super) fn tell(
        &mut self,
        call: &Call,
        end_nanos: u64,
        services: &Services,
        measures: &mut Measures,
        batch: &mut Batch,
    ) {
        let start_nanos = end_nanos - call.reach_nanos();
        let mut all = Vec::new();
        self.lay_out(call, None, start_nanos, &mut all);
        for (call, span) in &all {
            let resource = services.resource(call.service, call.host);
            batch.span(resource, "shop", span);
            if let Some((severity, line)) = &call.says {
                let log = Log {
                    nanos: span.end_nanos,
                    severity: *severity,
                    body: line.clone(),
                    place: Some((span.trace_id, span.span_id)),
                    attributes: line_attributes(call),
                    ..Log::default()
                };
                batch.log(resource, "shop", &log);
            }
            if matches!(call.kind, Kind::Server | Kind::Consumer) {
                let seconds = (span.end_nanos - span.start_nanos) as f64 / 1e9;
                let place = (span.trace_id, span.span_id);
                let exemplar = Exemplar { nanos: span.end_nanos, value: seconds, place };
                measures.record(call, exemplar, self.stands_for);
            }
        }
    }

    fn lay_out<'c>(
        &mut self,
        call: &'c Call,
        parent: Option<[u8; 8]>,
        start_nanos: u64,
        all: &mut Vec<(&'c Call, Span)>,
    ) {
        let span_id = self.random.span_id();
        let end_nanos = start_nanos + call.nanos();
        let status = match &call.error {
            Some(error) => Status::Error(error.message.clone()),
            None => Status::Unset,
        };
        let events = call.error.iter().filter_map(|error| {
            let attributes = exception(error.kind, &error.message, error.stack?);
            Some(Event { nanos: end_nanos, name: "exception", attributes })
        });
        let mut attributes = call.attributes.clone();
        attributes.set_some("error.type", call.error.as_ref().map(|error| error.kind));
        all.push((
            call,
            Span {
                trace_id: self.trace_id,
                span_id,
                parent,
                name: call.name.clone(),
                kind: call.kind,
                start_nanos,
                end_nanos,
                attributes,
                events: events.collect(),
                status,
            },
        ));
        let mut cursor = start_nanos + call.lead_nanos();
        for below in &call.calls {
            self.lay_out(below, Some(span_id), cursor, all);
            if !call.is_parallel && !below.is_detached {
                cursor += below.nanos();
            }
        }
    }
}

/// What a line says beside its text: the failure that it is about.
fn line_attributes(call: &Call) -> Attributes {
    match &call.error {
        Some(error) => match error.stack {
            Some(stack) => exception(error.kind, &error.message, stack),
            None => [("error.type", error.kind)].into_iter().collect(),
        },
        None => Attributes::new(),
    }
}
