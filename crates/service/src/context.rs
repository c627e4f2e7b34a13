//! The context of a piece of work, carried by hand: to an actor, through a queue, to another host.
//!
//! ```
//! use std::collections::HashMap;
//! let mut carrier = HashMap::new();
//! kymo_service::inject(&mut carrier);
//! // … the map travels with the message …
//! let _work = kymo_service::extract(&carrier).attach();
//! ```
//!
//! The map has the headers of W3C: `traceparent`, `tracestate` and `baggage`. Any flags of a
//! `traceparent` are taken (`03` says that its trace id is random, too). What cannot be read is left
//! out: the context is then a new one, never an error.

use std::collections::HashMap;

use opentelemetry::Context;
use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

/// W3C's propagators of trace and baggage.
pub(crate) fn propagator() -> TextMapCompositePropagator {
    TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ])
}

/// Puts the current context into a map.
pub fn inject(carrier: &mut HashMap<String, String>) {
    inject_context(&Context::current(), carrier);
}

/// Puts a context into a map.
pub fn inject_context(context: &Context, carrier: &mut HashMap<String, String>) {
    propagator().inject_context(context, carrier);
    // The SDK writes a header of nothing.
    carrier.retain(|name, value| {
        !value.is_empty() || !matches!(name.as_str(), "tracestate" | "baggage")
    });
}

/// The context that a map has: the current one with what the map says. Names are taken in any case,
/// as headers are.
///
/// Share keys come with it, as what they are: words of whoever filled the map. A map that a stranger
/// may fill should not be asked.
#[must_use]
pub fn extract(carrier: &HashMap<String, String>) -> Context {
    let lower: HashMap<String, String> = carrier
        .iter()
        .map(|(name, value)| (name.to_lowercase(), value.clone()))
        .filter(|(name, _)| matches!(name.as_str(), "traceparent" | "tracestate" | "baggage"))
        .collect();
    propagator().extract_with_context(&Context::current(), &lower)
}

#[cfg(test)]
mod tests {
    use opentelemetry::baggage::BaggageExt;
    use opentelemetry::trace::TraceContextExt;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn carrier(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_context_goes_there_and_back_with_its_keys() {
        let flags_of_python = format!("00-{TRACE}-00f067aa0ba902b7-03");
        let context = extract(&carrier(&[
            ("Traceparent", &flags_of_python),
            ("baggage", "session.id=a%20b,run.id=7"),
            ("unrelated", "x"),
        ]));
        let span = context.span().span_context().clone();
        assert_eq!(span.trace_id().to_string(), TRACE);
        assert!(span.is_sampled() && span.is_remote());
        assert_eq!(context.baggage().get("session.id").unwrap().as_str(), "a b");

        let mut out = HashMap::new();
        inject_context(&context, &mut out);
        assert_eq!(out["traceparent"], format!("00-{TRACE}-00f067aa0ba902b7-01"));
        assert!(out["baggage"].contains("run.id=7"));
        assert!(!out.contains_key("tracestate"));
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        for traceparent in ["", "00", "00-zz-00f067aa0ba902b7-01", "ff-0-0-0", "garbage-\u{0}"] {
            let context = extract(&carrier(&[("traceparent", traceparent), ("baggage", "=;,=")]));
            assert!(!context.span().span_context().is_valid(), "{traceparent:?}");
        }
        let mut out = HashMap::new();
        inject_context(&Context::new(), &mut out);
        assert!(out.is_empty(), "{out:?}");
    }
}
