//! The two levels every request has above its records: by resource, then by scope.
//!
//! Traces, logs and metrics use the same field numbers there, so one set of views serves all
//! three; what differs is the type of the records.

use crate::common::{ResourceView, ScopeView, read_once};
use crate::proto::{Reader, WireError};
use crate::repeated::{Repeated, View};
use crate::tags::{request, resource_group, scope_group};

/// A whole request: `ExportTraceServiceRequest` or `TracesData`, and the same for logs and
/// metrics.
#[derive(Debug, Clone, Copy)]
pub struct RequestView<'a, T> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The records by resource.
    pub resources: Repeated<'a, ResourceGroupView<'a, T>>,
}

impl<'a, T> View<'a> for RequestView<'a, T> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { raw, resources: Repeated::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                request::RESOURCE_GROUPS => view.resources.push(tail, tag, &mut reader)?,
                _ => reader.skip_other(tag, request::KNOWN)?,
            }
        }
    }
}

/// The records of one resource: `ResourceSpans`, `ResourceLogs`, `ResourceMetrics`.
#[derive(Debug, Clone, Copy)]
pub struct ResourceGroupView<'a, T> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The resource, if one was given.
    pub resource: Option<ResourceView<'a>>,
    /// The records by scope.
    pub scopes: Repeated<'a, ScopeGroupView<'a, T>>,
    /// Schema of the resource.
    pub schema_url: &'a [u8],
}

impl<'a, T> View<'a> for ResourceGroupView<'a, T> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { raw, resource: None, scopes: Repeated::new(), schema_url: &[] };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                resource_group::RESOURCE => read_once(&mut view.resource, &mut reader, tag)?,
                resource_group::SCOPE_GROUPS => view.scopes.push(tail, tag, &mut reader)?,
                resource_group::SCHEMA_URL => view.schema_url = reader.bytes()?,
                _ => reader.skip_other(tag, resource_group::KNOWN)?,
            }
        }
    }
}

/// The records of one scope: `ScopeSpans`, `ScopeLogs`, `ScopeMetrics`.
#[derive(Debug, Clone, Copy)]
pub struct ScopeGroupView<'a, T> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The scope, if one was given.
    pub scope: Option<ScopeView<'a>>,
    /// Spans, log records or metrics.
    pub items: Repeated<'a, T>,
    /// Schema of the scope and its records.
    pub schema_url: &'a [u8],
}

impl<'a, T> View<'a> for ScopeGroupView<'a, T> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { raw, scope: None, items: Repeated::new(), schema_url: &[] };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                scope_group::SCOPE => read_once(&mut view.scope, &mut reader, tag)?,
                scope_group::ITEMS => view.items.push(tail, tag, &mut reader)?,
                scope_group::SCHEMA_URL => view.schema_url = reader.bytes()?,
                _ => reader.skip_other(tag, scope_group::KNOWN)?,
            }
        }
    }
}
