//! Spans and events for exporters of the ecosystem: the session's own way out, and what the program
//! added.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::trace::{
    Event as SpanEvent, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks, SpanProcessor};

use crate::clock::system_time;
use crate::event::Event;
use crate::limits::MAX_EVENT_NAMES;
use crate::queue::Log;
use crate::summary::{FinishedSpan, SpanStatus};

/// Where everything goes that leaves the program through an SDK's interfaces.
pub(crate) struct Exporting {
    spans: Vec<Box<dyn SpanProcessor>>,
    /// The provider too: it ends with the last who has it.
    logs: Option<(SdkLogger, SdkLoggerProvider)>,
    scope: InstrumentationScope,
    trace_id: TraceId,
}

impl Exporting {
    pub(crate) fn new(
        resource: &Resource,
        scope: InstrumentationScope,
        trace_id: TraceId,
        mut spans: Vec<Box<dyn SpanProcessor>>,
        logs: Vec<Box<dyn LogProcessor>>,
    ) -> Self {
        for processor in &mut spans {
            processor.set_resource(resource);
        }
        let logs = (!logs.is_empty()).then(|| {
            let mut builder = SdkLoggerProvider::builder().with_resource(resource.clone());
            for processor in logs {
                builder = builder.with_log_processor(Boxed(processor));
            }
            let provider = builder.build();
            (provider.logger_with_scope(scope.clone()), provider)
        });
        Self { spans, logs, scope, trace_id }
    }

    pub(crate) fn wants_spans(&self) -> bool {
        !self.spans.is_empty()
    }

    /// A span that has ended.
    pub(crate) fn span(&self, span: FinishedSpan) {
        let data = span_data(span, &self.scope);
        if let Some((last, others)) = self.spans.split_last() {
            for processor in others {
                processor.on_end(data.clone());
            }
            last.on_end(data);
        }
    }

    /// An event, as a log record with a name.
    pub(crate) fn event(&self, event: &Event, span: SpanId, is_error: bool) {
        let Some((logger, _)) = &self.logs else { return };
        let mut record = logger.create_log_record();
        match static_name(event.name.as_str()) {
            Some(name) => record.set_event_name(name),
            None => record.add_attribute("event_name", event.name.as_str().to_owned()),
        }
        record.set_timestamp(system_time(event.time_nanos));
        record.set_observed_timestamp(system_time(event.emitted_nanos));
        record.set_trace_context(self.trace_id, span, Some(TraceFlags::SAMPLED));
        if is_error {
            record.set_severity_number(Severity::Error);
        }
        let named =
            [("task_id", &event.task_id), ("backend", &event.backend), ("node_id", &event.node_id)];
        for (key, text) in named {
            if let Some(text) = text {
                record.add_attribute(key, AnyValue::from(text.to_string()));
            }
        }
        if let Some(opens) = &event.opens {
            record.add_attribute("span_name", opens.name.to_string());
            if let Some(parent) = opens.parent {
                record.add_attribute("parent_span_id", parent.to_string());
            }
        }
        for KeyValue { key, value, .. } in &event.attributes {
            record.add_attribute(key.clone(), any_value(value));
        }
        logger.emit(record);
    }

    /// A line of somebody's log.
    pub(crate) fn log(&self, log: &Log) {
        let Some((logger, _)) = &self.logs else { return };
        let mut record = logger.create_log_record();
        record.set_timestamp(system_time(log.time_nanos));
        record.set_observed_timestamp(system_time(log.time_nanos));
        record.set_trace_context(self.trace_id, log.span, Some(TraceFlags::SAMPLED));
        record.set_severity_number(severity(log.severity));
        record.set_body(log.body.clone().into());
        for KeyValue { key, value, .. } in &log.attributes {
            record.add_attribute(key.clone(), any_value(value));
        }
        logger.emit(record);
    }

    /// Has processors of the program end. The session's own way out is ended by the session.
    pub(crate) fn shutdown(&self, timeout: std::time::Duration) {
        for processor in &self.spans {
            let _ = processor.shutdown_with_timeout(timeout);
        }
        if let Some((_, provider)) = &self.logs {
            let _ = provider.shutdown_with_timeout(timeout);
        }
    }
}

/// A processor behind a pointer; the SDK takes only those that it can name.
#[derive(Debug)]
struct Boxed(Box<dyn LogProcessor>);

impl LogProcessor for Boxed {
    fn emit(
        &self,
        record: &mut opentelemetry_sdk::logs::SdkLogRecord,
        scope: &InstrumentationScope,
    ) {
        self.0.emit(record, scope);
    }

    fn force_flush(&self) -> opentelemetry_sdk::error::OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(
        &self,
        timeout: std::time::Duration,
    ) -> opentelemetry_sdk::error::OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn span_data(span: FinishedSpan, scope: &InstrumentationScope) -> SpanData {
    let context =
        |id| SpanContext::new(span.trace_id, id, TraceFlags::SAMPLED, false, TraceState::default());
    let mut events = SpanEvents::default();
    events.events = span
        .events
        .into_iter()
        .map(|(name, time, attributes)| SpanEvent::new(name, system_time(time), attributes, 0))
        .collect();
    SpanData {
        span_context: context(span.span_id),
        parent_span_id: span.parent_span_id.unwrap_or(SpanId::INVALID),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name,
        start_time: system_time(span.start_nanos),
        end_time: system_time(span.end_nanos),
        attributes: span.attributes,
        dropped_attributes_count: 0,
        events,
        links: SpanLinks::default(),
        status: match span.status {
            SpanStatus::Unset => Status::Unset,
            SpanStatus::Ok => Status::Ok,
            SpanStatus::Error(message) => Status::Error { description: Cow::Owned(message) },
        },
        instrumentation_scope: scope.clone(),
    }
}

fn any_value(value: &Value) -> AnyValue {
    match value {
        Value::Bool(truth) => AnyValue::Boolean(*truth),
        Value::I64(number) => AnyValue::Int(*number),
        Value::F64(number) => AnyValue::Double(*number),
        Value::String(text) => AnyValue::String(text.clone()),
        Value::Array(array) => AnyValue::ListAny(Box::new(match array {
            Array::Bool(all) => all.iter().map(|item| AnyValue::Boolean(*item)).collect(),
            Array::I64(all) => all.iter().map(|item| AnyValue::Int(*item)).collect(),
            Array::F64(all) => all.iter().map(|item| AnyValue::Double(*item)).collect(),
            Array::String(all) => all.iter().cloned().map(AnyValue::String).collect(),
            other => vec![AnyValue::String(other.to_string().into())],
        })),
        other => AnyValue::String(other.to_string().into()),
    }
}

fn severity(number: u8) -> Severity {
    match number {
        0..=4 => Severity::Trace,
        5..=8 => Severity::Debug,
        9..=12 => Severity::Info,
        13..=16 => Severity::Warn,
        17..=20 => Severity::Error,
        _ => Severity::Fatal,
    }
}

/// Exporters keep names of events for ever, so they are made once and are bounded; none if there are
/// too many.
fn static_name(name: &str) -> Option<&'static str> {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(HashSet::new);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() >= MAX_EVENT_NAMES {
        return None;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    Some(kept)
}
