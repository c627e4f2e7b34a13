//! Random ids, and ids as text.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use opentelemetry::trace::{SpanId, TraceId};

use crate::error::SessionError;
use crate::fork;

thread_local! {
    /// The generator of this thread, and the generation of processes in which it was seeded: a
    /// child of a fork must not repeat its parent's ids.
    static GENERATOR: Cell<(u64, u32)> = const { Cell::new((0, u32::MAX)) };
}

/// 64 random bits (SplitMix64). Good for ids; not for secrets.
fn random() -> u64 {
    GENERATOR.with(|generator| {
        let (mut state, mut generation) = generator.get();
        let now = fork::generation();
        if generation != now {
            // The standard library's keys are random, per process; what else differs in a child is
            // its number and the moment.
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(std::process::id());
            hasher.write_u128(std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos());
            state = hasher.finish();
            generation = now;
        }
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        generator.set((state, generation));
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    })
}

/// A new span id, never zero.
#[must_use]
pub fn span_id() -> SpanId {
    SpanId::from(random().max(1))
}

/// A new trace id, never zero.
#[must_use]
pub fn trace_id() -> TraceId {
    TraceId::from((u128::from(random()) << 64) | u128::from(random().max(1)))
}

/// Eight random hex digits, for ids that people read.
pub(crate) fn short() -> String {
    format!("{:08x}", random() as u32)
}

/// A W3C traceparent of a sampled span.
#[must_use]
pub fn traceparent(trace: TraceId, span: SpanId) -> String {
    format!("00-{trace}-{span}-01")
}

/// Reads a W3C traceparent: of any version, with any flags.
pub fn parse_traceparent(text: &str) -> Result<(TraceId, SpanId), SessionError> {
    let wrong = || SessionError::Traceparent(text.chars().take(80).collect());
    let mut parts = text.trim().split('-');
    let (Some(version), Some(trace), Some(span), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let is_hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let has_parts = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    // Versions after the first may have more.
    let is_whole = version != "00" || parts.next().is_none();
    if !has_parts || !is_whole || version == "ff" {
        return Err(wrong());
    }
    let trace = TraceId::from_hex(trace).map_err(|_| wrong())?;
    let span = SpanId::from_hex(span).map_err(|_| wrong())?;
    if trace == TraceId::INVALID || span == SpanId::INVALID {
        return Err(wrong());
    }
    Ok((trace, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_repeat() {
        let ids: std::collections::HashSet<_> = (0..100_000).map(|_| span_id()).collect();
        assert_eq!(ids.len(), 100_000);
        assert_ne!(trace_id(), trace_id());
    }

    #[test]
    fn a_traceparent_is_read_with_any_flags() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
        let (trace, span) = parse_traceparent(text).unwrap();
        assert_eq!(trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(traceparent(trace, span), text.replace("-03", "-01"));
        assert!(parse_traceparent(&format!("01{}-more", &text[2..])).is_ok());
    }

    #[test]
    fn what_is_no_traceparent_is_refused() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert!(parse_traceparent(text).is_err(), "{text}");
        }
    }
}
