//! Errors that the driver reports of one GPU (XID), as events that it queues.

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::{Device, EventSet, Nvml};

use super::metrics::XID_ERRORS;
use super::xid_text::text;
use crate::limits::MAX_XID_EVENTS;
use crate::model::{Builder, Labels};

/// What stands for an error whose number the library does not tell.
const UNKNOWN: u64 = 999;

/// The events of one GPU, and the last error among them.
pub(super) struct XidWatch {
    /// None if the GPU has no such events; then nothing is told.
    events: Option<EventSet<'static>>,
    labels: Labels,
    last: u64,
}

impl XidWatch {
    /// Begins to watch; `before` is what was known of a GPU at the same place.
    pub(super) fn new(
        nvml: &'static Nvml,
        device: &Device<'static>,
        labels: Labels,
        before: Option<Self>,
    ) -> Self {
        let register = |set| device.register_events(EventTypes::CRITICAL_XID_ERROR, set).ok();
        let events = nvml.create_event_set().ok().and_then(register);
        // A GPU that was lost and is back keeps the error it was lost with.
        let before = before.filter(|before| before.labels == labels);
        Self { events, labels, last: before.map_or(0, |before| before.last) }
    }

    /// Takes what happened since.
    pub(super) fn drain(&mut self) {
        let Some(events) = &self.events else { return };
        for _ in 0..MAX_XID_EVENTS {
            // Does not wait: what happened is queued.
            let Ok(event) = events.wait(0) else { break };
            match event.event_data {
                Some(XidError::Value(number)) => self.last = number,
                Some(XidError::Unknown) => self.last = UNKNOWN,
                None => {}
            }
        }
    }

    /// Adds the last error, 0 if there was none.
    pub(super) fn emit(&self, out: &mut Builder) {
        if self.events.is_none() {
            return;
        }
        let mut labels = self.labels.clone();
        labels.push(("err_code", self.last.to_string()));
        labels.push(("err_msg", text(self.last).to_owned()));
        out.push(&XID_ERRORS, labels, self.last as f64);
    }
}
