//! What the library has to say, through Python's `logging`.
//!
//! Warnings are few: each is given once. They may come from the session's thread, which must not
//! wait for the GIL, so each is handed over by a thread of its own.

use std::fmt::{self, Write};
use std::thread;

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

/// The logger that says it.
const LOGGER: &str = "kymograph";

/// Sends warnings of this library to `logging` from now on.
pub(crate) fn forward() {
    // Somebody was first: that is this module, imported a second time.
    let _ = subscriber::set_global_default(Forward);
}

struct Forward;

impl Subscriber for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("kymo_")
    }

    fn event(&self, event: &Event<'_>) {
        if !self.enabled(event.metadata()) {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let is_error = *event.metadata().level() == Level::ERROR;
        // A process that can start no thread has worse problems than an unsaid warning.
        let _ = thread::Builder::new().name("kymograph-notice".to_owned()).spawn(move || {
            Python::try_attach(|py| {
                let method = if is_error { "error" } else { "warning" };
                let said = py.import("logging").and_then(|logging| {
                    let logger = logging.call_method1("getLogger", (LOGGER,))?;
                    logger.call_method1(method, ("%s", text.text()))
                });
                if let Err(error) = said {
                    error.write_unraisable(py, None);
                }
            });
        });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// `message: error=…`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn text(&self) -> String {
        match self.fields.is_empty() {
            true => self.message.clone(),
            false => format!("{}:{}", self.message, self.fields),
        }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        // Writing to a string does not fail.
        let _ = written;
    }
}
