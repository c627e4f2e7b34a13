//! Share keys: ids that are set once and are on everything below: spans, log records, exemplars.
//!
//! ```
//! # fn handle() {}
//! let _shared = kymo_service::share([("session.id", "s-17"), ("run.id", "r-3")]);
//! handle(); // every span that starts here, and every log record, has both
//! ```
//!
//! Share keys are baggage of W3C: [`crate::inject`] and any HTTP library with OpenTelemetry carry
//! them on, and what arrives as baggage is a share key. [`ShareSpanProcessor`] and
//! [`ShareLogProcessor`] copy them; a [`crate::Service`] has both. A span or record that says the key
//! itself keeps its own value.
//!
//! Bounds: [`SHARE_KEYS`] keys, [`SHARE_BYTES`] each. They are ids, not payloads: they travel with
//! every request, also to others.

use std::time::Duration;

use opentelemetry::baggage::{Baggage, BaggageExt};
use opentelemetry::logs::{AnyValue, LogRecord};
use opentelemetry::trace::Span as _;
use opentelemetry::{Context, ContextGuard, InstrumentationScope, Key, KeyValue, StringValue};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord};
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};

use crate::limits::{SHARE_BYTES, SHARE_KEYS};

/// Sets share keys for as long as the guard lives, on this thread. For a future, see
/// [`share_context`].
///
/// A key that cannot be one (empty, with spaces, too long) is left out with a warning.
#[must_use = "keys are shared until the guard is dropped"]
pub fn share<K, V>(keys: impl IntoIterator<Item = (K, V)>) -> ContextGuard
where
    K: Into<String>,
    V: Into<String>,
{
    share_context(keys).attach()
}

/// The current context with more share keys, for what moves between threads:
/// `future.with_context(share_context([…]))` (`opentelemetry::context::FutureExt`).
#[must_use]
pub fn share_context<K, V>(keys: impl IntoIterator<Item = (K, V)>) -> Context
where
    K: Into<String>,
    V: Into<String>,
{
    let context = Context::current();
    let mut baggage: Baggage =
        context.baggage().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    for (key, value) in keys {
        let (key, value) = (Key::from(key.into()), StringValue::from(value.into()));
        if let Err(why) = insert(&mut baggage, &key, value) {
            tracing::warn!(target: "kymo_service", "{:?} is not shared: {why}", key.as_str());
        }
    }
    context.with_baggage(baggage)
}

fn insert(baggage: &mut Baggage, key: &Key, value: StringValue) -> Result<(), &'static str> {
    let is_new = baggage.get(key.as_str()).is_none();
    if is_new && baggage.len() >= SHARE_KEYS {
        return Err("there are 32 share keys already");
    }
    if key.as_str().len() > SHARE_BYTES || value.as_str().len() > SHARE_BYTES {
        return Err("expected 1,024 bytes at most");
    }
    // What OpenTelemetry does not take, it leaves out without a word.
    baggage.insert(key.clone(), value.clone());
    match baggage.get(key.as_str()) {
        Some(kept) if *kept == value => Ok(()),
        _ => Err("expected letters, digits and . _ - without spaces, and 8 KiB in all"),
    }
}

/// The share keys of a context.
pub fn shared(context: &Context) -> impl Iterator<Item = (&Key, &StringValue)> {
    // Another program may have set more, and longer ones.
    context
        .baggage()
        .iter()
        .filter(|(key, (value, _))| {
            key.as_str().len() <= SHARE_BYTES && value.as_str().len() <= SHARE_BYTES
        })
        .map(|(key, (value, _))| (key, value))
        .take(SHARE_KEYS)
}

/// Puts share keys on every span that starts.
#[derive(Debug, Default)]
pub struct ShareSpanProcessor;

impl SpanProcessor for ShareSpanProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        if context.baggage().is_empty() {
            return;
        }
        let own = span.exported_data().map(|data| data.attributes).unwrap_or_default();
        for (key, value) in shared(context) {
            if !own.iter().any(|attribute| attribute.key == *key) {
                span.set_attribute(KeyValue::new(key.clone(), value.clone()));
            }
        }
    }

    fn on_end(&self, _: SpanData) {}

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Puts share keys on every log record. To be set before the processor that sends.
#[derive(Debug, Default)]
pub struct ShareLogProcessor;

impl LogProcessor for ShareLogProcessor {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        Context::map_current(|context| {
            for (key, value) in shared(context) {
                if !record.attributes_iter().any(|(own, _)| own == key) {
                    record.add_attribute(key.clone(), AnyValue::String(value.clone()));
                }
            }
        });
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
