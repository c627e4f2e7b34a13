//! The messages of OTLP, for those who write requests and answers from columns.
//!
//! ```
//! use kymo_wire::{AnyValueView, encode::{SpanFields, Writer}};
//!
//! let mut w = Writer::new();
//! w.resource_group(|w| {
//!     w.resource(|w| w.resource_attribute(b"service.name", &AnyValueView::String(b"shop")));
//!     w.scope_group(|w| {
//!         w.scope(b"my.library", b"1.0", |_| ());
//!         w.span(&SpanFields { trace_id: &[1; 16], span_id: &[2; 8], ..SpanFields::default() }, |w| {
//!             w.span_attribute(b"http.status_code", &AnyValueView::Int(200));
//!             w.status(2, b"out of stock");
//!         });
//!     });
//! });
//! let traces_data = w.into_bytes();
//! ```
//!
//! Fields that hold their default are left out, as protobuf does.

use super::Writer;
use crate::common::AnyValueView;
use crate::tags::{
    any_value, event, key_value, link, list, log_record, request, resource, resource_group, scope,
    scope_group, span, status,
};

/// The fields of a span that are neither repeated nor a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanFields<'a> {
    /// 16 bytes.
    pub trace_id: &'a [u8],
    /// 8 bytes.
    pub span_id: &'a [u8],
    /// The W3C trace state.
    pub trace_state: &'a [u8],
    /// 8 bytes, or none for a root.
    pub parent_span_id: &'a [u8],
    /// W3C trace flags and more.
    pub flags: u32,
    /// Name of the operation.
    pub name: &'a [u8],
    /// `SpanKind`.
    pub kind: i32,
    /// Start in nanoseconds since 1970.
    pub start_time_unix_nano: u64,
    /// End in nanoseconds since 1970.
    pub end_time_unix_nano: u64,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// How many events the sender left out.
    pub dropped_events_count: u32,
    /// How many links were left out.
    pub dropped_links_count: u32,
}

/// The fields of an event that are not repeated.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventFields<'a> {
    /// When, in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// What.
    pub name: &'a [u8],
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
}

/// The fields of a link that are not repeated.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkFields<'a> {
    /// 16 bytes.
    pub trace_id: &'a [u8],
    /// 8 bytes.
    pub span_id: &'a [u8],
    /// The W3C trace state.
    pub trace_state: &'a [u8],
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// W3C trace flags and more.
    pub flags: u32,
}

impl Writer {
    /// Appends a `ResourceSpans`, `ResourceLogs` or `ResourceMetrics` to a request.
    pub fn resource_group<R>(&mut self, content: impl FnOnce(&mut Self) -> R) -> R {
        self.message(request::RESOURCE_GROUPS >> 3, content)
    }

    /// Appends the resource of a resource group; `content` writes its attributes.
    pub fn resource<R>(&mut self, content: impl FnOnce(&mut Self) -> R) -> R {
        self.message(resource_group::RESOURCE >> 3, content)
    }

    /// Appends a resource that is encoded already.
    pub fn resource_raw(&mut self, resource: &[u8]) {
        self.bytes_field(resource_group::RESOURCE >> 3, resource);
    }

    /// Appends an attribute inside [`Writer::resource`].
    pub fn resource_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(resource::ATTRIBUTES >> 3, key, value);
    }

    /// Appends the schema of a resource group, behind its scopes.
    pub fn resource_schema_url(&mut self, schema_url: &[u8]) {
        self.text(resource_group::SCHEMA_URL, schema_url);
    }

    /// Appends a `ScopeSpans`, `ScopeLogs` or `ScopeMetrics` to a resource group.
    pub fn scope_group<R>(&mut self, content: impl FnOnce(&mut Self) -> R) -> R {
        self.message(resource_group::SCOPE_GROUPS >> 3, content)
    }

    /// Appends the scope of a scope group; `attributes` writes its attributes.
    pub fn scope<R>(
        &mut self,
        name: &[u8],
        version: &[u8],
        attributes: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.message(scope_group::SCOPE >> 3, |w| {
            w.text(scope::NAME, name);
            w.text(scope::VERSION, version);
            attributes(w)
        })
    }

    /// Appends a scope that is encoded already.
    pub fn scope_raw(&mut self, scope: &[u8]) {
        self.bytes_field(scope_group::SCOPE >> 3, scope);
    }

    /// Appends an attribute inside [`Writer::scope`].
    pub fn scope_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(scope::ATTRIBUTES >> 3, key, value);
    }

    /// Appends the schema of a scope group, behind its records.
    pub fn scope_schema_url(&mut self, schema_url: &[u8]) {
        self.text(scope_group::SCHEMA_URL, schema_url);
    }

    /// Appends a span, log record or metric that is encoded already to a scope group.
    pub fn item_raw(&mut self, item: &[u8]) {
        self.bytes_field(scope_group::ITEMS >> 3, item);
    }

    /// Appends a span to a scope group; `content` writes attributes, events, links and status.
    pub fn span<R>(&mut self, fields: &SpanFields<'_>, content: impl FnOnce(&mut Self) -> R) -> R {
        self.message(scope_group::ITEMS >> 3, |w| {
            w.text(span::TRACE_ID, fields.trace_id);
            w.text(span::SPAN_ID, fields.span_id);
            w.text(span::TRACE_STATE, fields.trace_state);
            w.text(span::PARENT_SPAN_ID, fields.parent_span_id);
            w.text(span::NAME, fields.name);
            w.integer(span::KIND, fields.kind as u64);
            w.time(span::START_TIME, fields.start_time_unix_nano);
            w.time(span::END_TIME, fields.end_time_unix_nano);
            w.integer(span::DROPPED_ATTRIBUTES_COUNT, fields.dropped_attributes_count.into());
            w.integer(span::DROPPED_EVENTS_COUNT, fields.dropped_events_count.into());
            w.integer(span::DROPPED_LINKS_COUNT, fields.dropped_links_count.into());
            let result = content(w);
            w.flags(span::FLAGS, fields.flags);
            result
        })
    }

    /// Appends an attribute inside [`Writer::span`].
    pub fn span_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(span::ATTRIBUTES >> 3, key, value);
    }

    /// Appends the status inside [`Writer::span`].
    pub fn status(&mut self, code: i32, message: &[u8]) {
        self.message(span::STATUS >> 3, |w| {
            w.text(status::MESSAGE, message);
            w.integer(status::CODE, code as u64);
        });
    }

    /// Appends an event inside [`Writer::span`]; `attributes` writes its attributes.
    pub fn event<R>(
        &mut self,
        fields: &EventFields<'_>,
        attributes: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.message(span::EVENTS >> 3, |w| {
            w.time(event::TIME, fields.time_unix_nano);
            w.text(event::NAME, fields.name);
            let result = attributes(w);
            w.integer(event::DROPPED_ATTRIBUTES_COUNT, fields.dropped_attributes_count.into());
            result
        })
    }

    /// Appends an attribute inside [`Writer::event`].
    pub fn event_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(event::ATTRIBUTES >> 3, key, value);
    }

    /// Appends a link inside [`Writer::span`]; `attributes` writes its attributes.
    pub fn link<R>(
        &mut self,
        fields: &LinkFields<'_>,
        attributes: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.message(span::LINKS >> 3, |w| {
            w.text(link::TRACE_ID, fields.trace_id);
            w.text(link::SPAN_ID, fields.span_id);
            w.text(link::TRACE_STATE, fields.trace_state);
            let result = attributes(w);
            w.integer(link::DROPPED_ATTRIBUTES_COUNT, fields.dropped_attributes_count.into());
            w.flags(link::FLAGS, fields.flags);
            result
        })
    }

    /// Appends an attribute inside [`Writer::link`].
    pub fn link_attribute(&mut self, key: &[u8], value: &AnyValueView<'_>) {
        self.key_value(link::ATTRIBUTES >> 3, key, value);
    }

    /// Appends the body of a log record.
    pub fn log_body(&mut self, body: &AnyValueView<'_>) {
        self.message(log_record::BODY >> 3, |w| w.any_value(body));
    }

    /// Appends an attribute as `field` of the current message.
    pub fn key_value(&mut self, field: u32, key: &[u8], value: &AnyValueView<'_>) {
        self.message(field, |w| {
            w.text(key_value::KEY, key);
            w.message(key_value::VALUE >> 3, |w| w.any_value(value));
        });
    }

    /// Appends an attribute whose `KeyValue` message is encoded already.
    pub fn key_value_raw(&mut self, field: u32, key_value: &[u8]) {
        self.bytes_field(field, key_value);
    }

    /// Appends the one field of an `AnyValue`. Also a default value is written, since which field
    /// is there tells the type.
    pub fn any_value(&mut self, value: &AnyValueView<'_>) {
        match *value {
            AnyValueView::Empty => {}
            AnyValueView::String(text) => self.bytes_field(any_value::STRING >> 3, text),
            AnyValueView::Bool(flag) => self.varint_field(any_value::BOOL >> 3, flag.into()),
            AnyValueView::Int(number) => self.varint_field(any_value::INT >> 3, number as u64),
            AnyValueView::Double(number) => self.double_field(any_value::DOUBLE >> 3, number),
            AnyValueView::Array(raw) => self.bytes_field(any_value::ARRAY >> 3, raw),
            AnyValueView::KvList(raw) => self.bytes_field(any_value::KVLIST >> 3, raw),
            AnyValueView::Bytes(bytes) => self.bytes_field(any_value::BYTES >> 3, bytes),
            AnyValueView::StringIndex(index) => {
                self.varint_field(any_value::STRING_STRINDEX >> 3, index as u64);
            }
        }
    }

    /// Appends a value to those of an array: the bytes of [`AnyValueView::Array`].
    pub fn array_element(&mut self, value: &AnyValueView<'_>) {
        self.message(list::VALUES >> 3, |w| w.any_value(value));
    }

    pub(super) fn text(&mut self, tag: u32, value: &[u8]) {
        if !value.is_empty() {
            self.bytes_field(tag >> 3, value);
        }
    }

    pub(super) fn integer(&mut self, tag: u32, value: u64) {
        if value != 0 {
            self.varint_field(tag >> 3, value);
        }
    }

    pub(super) fn time(&mut self, tag: u32, value: u64) {
        if value != 0 {
            self.fixed64_field(tag >> 3, value);
        }
    }

    fn flags(&mut self, tag: u32, value: u32) {
        if value != 0 {
            self.fixed32_field(tag >> 3, value);
        }
    }
}
