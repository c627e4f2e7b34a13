//! Spans and log records, and the resources that they are of.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_ci::attributes::{Attributes, Value};
use kymo_wire::encode::{EventFields, LogFields, SpanFields, Writer};

use crate::MARK;

/// Who tells something, encoded once.
#[derive(Debug, Clone)]
pub(crate) struct Resource(Arc<[u8]>);

impl Resource {
    /// A resource with these attributes, and with the mark of a demo.
    pub(crate) fn new(attributes: &Attributes) -> Self {
        let mut writer = Writer::new();
        for (name, value) in attributes.iter() {
            writer.resource_attribute(name.as_bytes(), &value.view());
        }
        writer.resource_attribute(MARK.as_bytes(), &Value::Bool(true).view());
        Self(writer.into_bytes().into())
    }

    pub(crate) fn of(attributes: &[(&str, &str)]) -> Self {
        Self::new(&attributes.iter().copied().collect())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What kind of work a span stands for, as OTLP counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Unset,
    Ok,
    Error(String),
}

/// A span.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace_id: [u8; 16],
    pub(crate) span_id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    pub(crate) start_nanos: u64,
    pub(crate) end_nanos: u64,
    pub(crate) attributes: Attributes,
    pub(crate) events: Vec<Event>,
    pub(crate) status: Status,
}

/// Something that happened in a span.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) nanos: u64,
    pub(crate) name: &'static str,
    pub(crate) attributes: Attributes,
}

impl Span {
    /// Writes it as an item of a scope.
    pub(crate) fn write(&self, writer: &mut Writer) {
        let fields = SpanFields {
            trace_id: &self.trace_id,
            span_id: &self.span_id,
            parent_span_id: self.parent.as_ref().map_or(&[], |parent| &parent[..]),
            // Sampled.
            flags: 1,
            name: self.name.as_bytes(),
            kind: self.kind as i32,
            start_time_unix_nano: self.start_nanos,
            end_time_unix_nano: self.end_nanos,
            ..SpanFields::default()
        };
        writer.span(&fields, |w| {
            for (name, value) in self.attributes.iter() {
                w.span_attribute(name.as_bytes(), &value.view());
            }
            for event in &self.events {
                let fields = EventFields {
                    time_unix_nano: event.nanos,
                    name: event.name.as_bytes(),
                    ..EventFields::default()
                };
                w.event(&fields, |w| {
                    for (name, value) in event.attributes.iter() {
                        w.event_attribute(name.as_bytes(), &value.view());
                    }
                });
            }
            match &self.status {
                Status::Unset => w.status(0, b""),
                Status::Ok => w.status(1, b""),
                Status::Error(message) => w.status(2, message.as_bytes()),
            }
        });
    }
}

/// How serious a record is, as OTLP counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Severity {
    /// Nothing is said: an event.
    #[default]
    Unset = 0,
    Info = 9,
    Warn = 13,
    Error = 17,
}

/// A log record, or an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) nanos: u64,
    pub(crate) severity: Severity,
    pub(crate) body: String,
    pub(crate) event_name: &'static str,
    /// Trace and span.
    pub(crate) place: Option<([u8; 16], [u8; 8])>,
    pub(crate) attributes: Attributes,
}

impl Log {
    /// Writes it as an item of a scope.
    pub(crate) fn write(&self, writer: &mut Writer) {
        let (trace_id, span_id) = match &self.place {
            Some((trace_id, span_id)) => (&trace_id[..], &span_id[..]),
            None => (&[][..], &[][..]),
        };
        let fields = LogFields {
            time_unix_nano: self.nanos,
            observed_time_unix_nano: self.nanos,
            severity_number: self.severity as i32,
            trace_id,
            span_id,
            event_name: self.event_name.as_bytes(),
        };
        writer.log(&fields, |w| {
            if !self.body.is_empty() {
                w.log_body(&Value::Text(self.body.clone()).view());
            }
            for (name, value) in self.attributes.iter() {
                w.log_attribute(name.as_bytes(), &value.view());
            }
        });
    }
}

/// Attributes of an event that tells of an exception.
pub(crate) fn exception(kind: &str, message: &str, stack: &str) -> Attributes {
    [
        ("exception.type", kind),
        ("exception.message", message),
        ("exception.stacktrace", &format!("{kind}: {message}\n{stack}")),
    ]
    .into_iter()
    .collect()
}
