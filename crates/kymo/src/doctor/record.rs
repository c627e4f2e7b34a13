//! A record that says that it is a test.

use kymo_wire::encode::{LogFields, SpanFields, Writer};
use kymo_wire::{AnyValueView, NumberValue, Signal};

/// The service that test records are of.
pub(super) const SERVICE: &str = "kymo-doctor";

/// A span, a gauge and a log record, of one trace.
pub(super) struct TestRecord {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    time_nanos: u64,
}

impl TestRecord {
    pub(super) fn new() -> Self {
        let time_nanos = u64::try_from(crate::times::now()).unwrap_or_default();
        let trace_id = kymo_ci::ids::TraceId::random().0;
        Self { trace_id, span_id: kymo_ci::ids::SpanId::random().0, time_nanos }
    }

    /// The id of its trace, by which it is looked for.
    pub(super) fn trace_id(&self) -> String {
        self.trace_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The request of a signal.
    pub(super) fn request(&self, signal: Signal) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.resource_group(|w| {
            w.resource(|w| {
                w.resource_attribute(b"service.name", &AnyValueView::String(SERVICE.as_bytes()));
            });
            w.scope_group(|w| match signal {
                Signal::Traces => self.span(w),
                Signal::Metrics => {
                    w.gauge(b"kymo_doctor_test", self.time_nanos, NumberValue::Int(1));
                }
                Signal::Logs => self.log(w),
            });
        });
        writer.into_bytes()
    }

    fn span(&self, w: &mut Writer) {
        let fields = SpanFields {
            trace_id: &self.trace_id,
            span_id: &self.span_id,
            name: b"kymo doctor",
            kind: 1,
            start_time_unix_nano: self.time_nanos,
            end_time_unix_nano: self.time_nanos,
            ..SpanFields::default()
        };
        w.span(&fields, |w| w.span_attribute(b"kymo.test", &AnyValueView::Bool(true)));
    }

    fn log(&self, w: &mut Writer) {
        let fields = LogFields {
            time_unix_nano: self.time_nanos,
            observed_time_unix_nano: self.time_nanos,
            severity_number: 9,
            trace_id: &self.trace_id,
            span_id: &self.span_id,
            ..LogFields::default()
        };
        w.log(&fields, |w| {
            w.log_body(&AnyValueView::String(b"kymo doctor was here"));
            w.log_attribute(b"kymo.test", &AnyValueView::Bool(true));
        });
    }
}
