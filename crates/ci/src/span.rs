//! Spans before they are sent.

use crate::attributes::Attributes;
use crate::ids::{SpanId, TraceId};

/// How a span ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// Nothing is said.
    #[default]
    Unset,
    /// Well.
    Ok,
    /// Not well, and why.
    Error(String),
}

/// What kind of work a span stands for, as OTLP counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Work inside.
    #[default]
    Internal = 1,
    /// Work that was asked for: a whole run.
    Server = 2,
}

/// One span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its id.
    pub id: SpanId,
    /// The one above, unless it is the first.
    pub parent: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// What kind of work it is.
    pub kind: Kind,
    /// When it began, in nanoseconds since 1970.
    pub start_nanos: u64,
    /// When it ended.
    pub end_nanos: u64,
    /// How it ended.
    pub status: Status,
    /// What else is known.
    pub attributes: Attributes,
    /// Attributes that were left out.
    pub dropped_attributes: u32,
    /// Spans elsewhere that it has to do with.
    pub links: Vec<Link>,
}

/// A span of another trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its trace.
    pub trace: TraceId,
    /// Its id.
    pub span: SpanId,
    /// What it has to do with this one.
    pub attributes: Attributes,
}

impl Span {
    /// A span with nothing but names and times.
    #[must_use]
    pub fn new(id: SpanId, parent: Option<SpanId>, name: &str, start_nanos: u64) -> Self {
        Self {
            id,
            parent,
            name: name.to_owned(),
            kind: Kind::Internal,
            start_nanos,
            end_nanos: start_nanos,
            status: Status::Unset,
            attributes: Attributes::new(),
            dropped_attributes: 0,
            links: Vec::new(),
        }
    }

    /// How long it took; nothing if it ended before it began.
    #[must_use]
    pub fn duration_nanos(&self) -> u64 {
        self.end_nanos.saturating_sub(self.start_nanos)
    }
}

/// Spans of one resource: of the run itself, of one job, or of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What the spans are of.
    pub resource: Attributes,
    /// The spans.
    pub spans: Vec<Span>,
}

/// Spans of one trace, and who says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Its id.
    pub id: TraceId,
    /// The library that made the spans, and its version.
    pub scope: (&'static str, &'static str),
    /// The spans, by resource.
    pub groups: Vec<Group>,
}

impl Trace {
    /// All spans.
    pub fn spans(&self) -> impl Iterator<Item = &Span> {
        self.groups.iter().flat_map(|group| &group.spans)
    }
}
