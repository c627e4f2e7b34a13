//! A share of all traces, by their ids: the same traces wherever it is decided.
//!
//! As OpenTelemetry's consistent sampling has it: the last 56 bits of a trace's id, or the
//! `rv` of its trace state, are a random number, and those at or above a threshold are kept. So two
//! nodes, or two destinations of which one wants more, agree on a trace without talking.

use kymo_wire::{SpanView, View};

const RANDOM_BITS: u32 = 56;

/// Which share of traces is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ratio {
    /// Random numbers below are dropped.
    threshold: u64,
}

impl Ratio {
    /// A share between 0 and 1; what is beyond is taken for the nearest of them.
    pub(crate) fn new(share: f64) -> Self {
        let dropped = 1.0 - share.clamp(0.0, 1.0);
        Self { threshold: (dropped * (1u64 << RANDOM_BITS) as f64).round() as u64 }
    }

    /// Whether a trace is kept. One without an id is.
    pub(crate) fn keeps(self, trace_id: &[u8], trace_state: &[u8]) -> bool {
        let random = explicit(trace_state).or_else(|| {
            let (_, last) = trace_id.split_last_chunk::<7>()?;
            Some(last.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        });
        random.is_none_or(|random| random >= self.threshold)
    }

    /// Whether the trace of a span is kept, given its bytes.
    pub(crate) fn keeps_span(self, trace_id: &[u8], span: &[u8]) -> bool {
        // Read once more for a field that hardly anybody sets: the others were skipped over.
        let state = SpanView::parse(span).map_or(&[][..], |span| span.trace_state);
        self.keeps(trace_id, state)
    }
}

/// The random number that a trace state has: `ot=…;rv:` and 14 digits.
fn explicit(trace_state: &[u8]) -> Option<u64> {
    let state = std::str::from_utf8(trace_state).ok().filter(|state| !state.is_empty())?;
    let ours = state.split(',').find_map(|entry| entry.trim().strip_prefix("ot="))?;
    let digits = ours.split(';').find_map(|field| field.strip_prefix("rv:"))?;
    let is_number = digits.len() == 14 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(random: u64) -> [u8; 16] {
        let mut id = [0xff; 16];
        id[8..].copy_from_slice(&random.to_be_bytes());
        id
    }

    #[test]
    fn a_share_is_kept_and_a_larger_one_keeps_the_same_and_more() {
        let ids: Vec<_> =
            (0..10_000u64).map(|n| id(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let kept = |share: f64| -> Vec<_> {
            ids.iter().filter(|id| Ratio::new(share).keeps(&id[..], &[])).collect()
        };
        let (tenth, half) = (kept(0.1), kept(0.5));
        assert!((900..1100).contains(&tenth.len()), "{}", tenth.len());
        assert!(tenth.iter().all(|id| half.contains(id)));
        assert_eq!((kept(0.0).len(), kept(1.0).len()), (0, ids.len()));
    }

    #[test]
    fn the_first_byte_of_the_low_half_is_no_random_number() {
        let half = Ratio::new(0.5);
        assert!(!half.keeps(&id(0xff7f_ffff_ffff_ffff), &[]));
        assert!(half.keeps(&id(0x0080_0000_0000_0000), &[]));
    }

    #[test]
    fn a_trace_state_may_bring_the_number() {
        let half = Ratio::new(0.5);
        assert!(half.keeps(&id(0), b"a=b, ot=th:8;rv:ffffffffffffff"));
        assert!(!half.keeps(&id(u64::MAX), b"ot=rv:00000000000000"));
        assert!(half.keeps(&id(u64::MAX), b"ot=rv:0"), "no number of 14 digits");
    }
}
