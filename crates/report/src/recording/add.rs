//! Requests, put where they belong.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_wire::{LogsView, MetricsView, ResourceView, Signal, TracesView, View, WireError, text};

use super::sessions::{Draft, Room};
use super::values::{Texts, moment, readable};
use super::{Found, Session, finish, logs, metrics, spans};
use crate::error::ReportError;
use crate::limits::{Limits, MAX_SERVICES_NAMED, MAX_SESSIONS, MAX_TRACES};

/// Sessions, put together from requests of OTLP.
///
/// ```
/// use kymo_report::Recording;
/// use kymo_wire::Signal;
///
/// let mut recording = Recording::new();
/// recording.add(Signal::Traces, &[])?;
/// let (sessions, found) = recording.finish();
/// assert!(sessions.is_empty() && found.spans == 0);
/// # Ok::<(), kymo_report::ReportError>(())
/// ```
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) drafts: Vec<Draft>,
    by_session: HashMap<Arc<str>, usize>,
    by_trace: HashMap<[u8; 16], usize>,
    /// Hashes of records that were seen.
    seen: HashSet<u64>,
    pub(super) texts: Texts,
    pub(super) room: Room,
    pub(super) found: Found,
    /// Records of sessions and traces beyond their number.
    pub(super) records_without_session: u64,
}

/// What a resource says of its records.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) session_id: Option<Arc<str>>,
    pub(super) session_name: Option<Arc<str>>,
    pub(super) service: Option<Arc<str>>,
    pub(super) host: Option<Arc<str>>,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty recording with other room than usual.
    #[must_use]
    pub fn within(limits: Limits) -> Self {
        Self { room: Room { limits, ..Room::default() }, ..Self::default() }
    }

    /// The trace of a session, as far as is known: spans of other programs in it belong to the
    /// session.
    #[must_use]
    pub fn trace_of(&self, session_id: &str) -> Option<[u8; 16]> {
        self.drafts[*self.by_session.get(session_id)?].trace_id()
    }

    /// Adds a request in protobuf. What precedes damaged bytes is kept.
    pub fn add(&mut self, signal: Signal, request: &[u8]) -> Result<(), ReportError> {
        let added = match signal {
            Signal::Traces => self.add_traces(request),
            Signal::Logs => self.add_logs(request),
            Signal::Metrics => self.add_metrics(request),
        };
        added.map_err(|source| ReportError::Request { signal, source })
    }

    /// The sessions, in the order in which they were first seen; and what else there was.
    ///
    /// A trace without a session is one if its spans have `task_id` or if it has a single root, and
    /// if there is no other session.
    #[must_use]
    pub fn finish(self) -> (Vec<Session>, Found) {
        finish::finish(self)
    }

    fn add_traces(&mut self, request: &[u8]) -> Result<(), WireError> {
        for resource in TracesView::parse(request)?.resources {
            let resource = resource?;
            let source = self.source(resource.resource.as_ref());
            for scope in resource.scopes {
                for span in scope?.items {
                    spans::add(self, &source, &span?);
                }
            }
        }
        Ok(())
    }

    fn add_logs(&mut self, request: &[u8]) -> Result<(), WireError> {
        for resource in LogsView::parse(request)?.resources {
            let resource = resource?;
            let source = self.source(resource.resource.as_ref());
            for scope in resource.scopes {
                for record in scope?.items {
                    logs::add(self, &source, &record?);
                }
            }
        }
        Ok(())
    }

    fn add_metrics(&mut self, request: &[u8]) -> Result<(), WireError> {
        for resource in MetricsView::parse(request)?.resources {
            let resource = resource?;
            let source = self.source(resource.resource.as_ref());
            // Two processes of one session count apart.
            let identity = hash(&resource.resource.map_or(&[][..], |resource| resource.raw));
            for scope in resource.scopes {
                for metric in scope?.items {
                    metrics::add(self, &source, identity, &metric?)?;
                }
            }
        }
        Ok(())
    }

    fn source(&mut self, resource: Option<&ResourceView<'_>>) -> Source {
        let mut source = Source::default();
        let Some(resource) = resource else { return source };
        for (key, value) in readable(&resource.attributes) {
            let slot = match key {
                b"session_id" => &mut source.session_id,
                b"session.name" => &mut source.session_name,
                b"service.name" => &mut source.service,
                b"host.name" => &mut source.host,
                _ => continue,
            };
            *slot = self.texts.value(&value);
        }
        if let Some(service) = &source.service
            && self.found.services.len() < MAX_SERVICES_NAMED
            && !self.found.services.iter().any(|known| **known == **service)
        {
            self.found.services.push(service.to_string());
        }
        source
    }

    /// The session or trace that a record belongs to, if it belongs to one and there is room.
    pub(super) fn owner(
        &mut self,
        source: &Source,
        session_id: Option<&[u8]>,
        trace_id: Option<[u8; 16]>,
    ) -> Option<usize> {
        let session_id = match (&source.session_id, session_id) {
            (Some(id), _) => Some(id.clone()),
            (None, Some(id)) if !id.is_empty() => Some(self.texts.keep(&text(id))),
            _ => None,
        };
        let known = match (&session_id, &trace_id) {
            (Some(id), _) => self.by_session.get(id),
            (None, Some(id)) => self.by_trace.get(id),
            (None, None) => return None,
        };
        let at = match known {
            Some(at) => *at,
            None => self.new_draft(session_id, trace_id)?,
        };
        let draft = &mut self.drafts[at];
        draft.least_trace_id = least(draft.least_trace_id, trace_id);
        keep_least(&mut draft.name, &source.session_name);
        keep_least(&mut draft.service, &source.service);
        keep_least(&mut draft.host, &source.host);
        Some(at)
    }

    /// Notes that a session was heard of, by a line of a log or a point that tells nothing else of
    /// it: one that sends nothing else is a session all the same, and is not silent.
    pub(super) fn heard(&mut self, source: &Source, nanos: u64) {
        let Some(nanos) = moment(nanos).filter(|_| source.session_id.is_some()) else { return };
        if let Some(owner) = self.owner(source, None, None) {
            self.drafts[owner].saw(nanos);
        }
    }

    fn new_draft(
        &mut self,
        session_id: Option<Arc<str>>,
        trace: Option<[u8; 16]>,
    ) -> Option<usize> {
        let has_room = match &session_id {
            Some(_) => self.by_session.len() < MAX_SESSIONS,
            None => self.by_trace.len() < MAX_TRACES,
        };
        if !has_room {
            self.records_without_session += 1;
            return None;
        }
        let at = self.drafts.len();
        match (&session_id, trace) {
            (Some(id), _) => _ = self.by_session.insert(id.clone(), at),
            (None, Some(trace)) => _ = self.by_trace.insert(trace, at),
            (None, None) => return None,
        }
        self.drafts.push(Draft { session_id, least_trace_id: trace, ..Draft::default() });
        Some(at)
    }

    /// Whether a record of a session was not seen before. Without room to remember, all are new.
    pub(super) fn is_new(&mut self, owner: usize, record: &[u8]) -> bool {
        let hash = hash(&(owner, record));
        if self.seen.len() >= self.room.limits.records {
            return !self.seen.contains(&hash);
        }
        let is_new = self.seen.insert(hash);
        if !is_new {
            self.drafts[owner].repeated += 1;
        }
        is_new
    }
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The smaller of two, if there are two.
pub(super) fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Keeps the smaller text: of several processes one gives the session its names, and it must not
/// depend on the order of records which.
pub(super) fn keep_least(slot: &mut Option<Arc<str>>, new: &Option<Arc<str>>) {
    if let Some(new) = new
        && slot.as_ref().is_none_or(|known| new < known)
    {
        *slot = Some(new.clone());
    }
}

/// Keeps what is there, else what is new.
pub(super) fn keep_first(slot: &mut Option<Arc<str>>, new: &Option<Arc<str>>) {
    if slot.is_none() {
        slot.clone_from(new);
    }
}
