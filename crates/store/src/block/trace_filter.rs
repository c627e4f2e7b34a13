//! Which blocks may have a trace, without opening them.
//!
//! An open block takes a megabyte, and of hundreds that overlap in time one or two have a trace. So
//! a small Bloom filter of each block's traces is kept for all of them. It is made of the trace
//! index when that is first read. Blocks of log records have no such index, and most records of a
//! trace say nothing of its spans: they have two filters, of the traces of which an event opens a
//! span, and of those that have any event (`otlp::open` says what is which).

use hashbrown::{HashMap, HashSet};

use super::trace_index;

/// Bits for each trace; with eight probes one look-up in three hundred is in vain.
const BITS_PER_TRACE: usize = 12;
const PROBES: u64 = 8;

/// Which traces of a block are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traces {
    /// Those of its spans; of log records, those that have events.
    All,
    /// Of log records: those of which an event opens a span.
    Opened,
}

/// The traces of a block, nearly.
#[derive(Debug)]
pub(crate) struct TraceFilter {
    all: Bits,
    opened: Bits,
}

impl TraceFilter {
    /// From the bytes of a trace index.
    pub(crate) fn of_spans(index: &[u8]) -> Self {
        let traces = index.len() / trace_index::ENTRY_BYTES;
        let all = Bits::of(traces, trace_index::iter(index).map(|(hash, _)| hash));
        Self { all, opened: Bits::default() }
    }

    /// From hashes of the traces that have events, and of those of which one opens a span.
    pub(crate) fn of_events(all: HashSet<u64>, opened: HashSet<u64>) -> Self {
        let bits = |hashes: HashSet<u64>| Bits::of(hashes.len(), hashes.into_iter());
        Self { all: bits(all), opened: bits(opened) }
    }

    /// False if the block has no such trace of this hash.
    pub(crate) fn may_hold(&self, traces: Traces, hash: u64) -> bool {
        match traces {
            Traces::All => self.all.may_hold(hash),
            Traces::Opened => self.opened.may_hold(hash),
        }
    }

    fn heap_bytes(&self) -> usize {
        self.all.heap_bytes() + self.opened.heap_bytes()
    }
}

/// A Bloom filter; one without bits holds nothing.
#[derive(Debug, Default)]
struct Bits(Box<[u64]>);

impl Bits {
    fn of(traces: usize, hashes: impl Iterator<Item = u64>) -> Self {
        let mut words = vec![0u64; (traces * BITS_PER_TRACE).div_ceil(64)];
        let bits = words.len() as u64 * 64;
        for hash in hashes {
            for bit in probes(hash, bits) {
                words[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        Self(words.into())
    }

    fn may_hold(&self, hash: u64) -> bool {
        let bits = self.0.len() as u64 * 64;
        bits > 0 && probes(hash, bits).all(|bit| self.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    fn heap_bytes(&self) -> usize {
        self.0.len() * 8
    }
}

fn probes(hash: u64, bits: u64) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(32) | 1;
    (0..PROBES).map(move |nth| hash.wrapping_add(step.wrapping_mul(nth)) % bits)
}

/// Filters by the paths of blocks, up to a bound of bytes.
#[derive(Debug)]
pub(crate) struct TraceFilters {
    filters: HashMap<String, TraceFilter>,
    size_bytes: usize,
    max_bytes: usize,
}

impl TraceFilters {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { filters: HashMap::new(), size_bytes: 0, max_bytes }
    }

    /// Whether a block may have a trace; `None` if its traces are not known.
    pub(crate) fn may_hold(&self, path: &str, traces: Traces, hash: u64) -> Option<bool> {
        self.filters.get(path).map(|filter| filter.may_hold(traces, hash))
    }

    /// Keeps a filter, and beyond the bound lets go of some other.
    pub(crate) fn keep(&mut self, path: &str, filter: TraceFilter) {
        self.forget(path);
        self.size_bytes += size_bytes(path, &filter);
        self.filters.insert(path.to_owned(), filter);
        while self.size_bytes > self.max_bytes && self.filters.len() > 1 {
            let other = self.filters.keys().find(|other| *other != path).cloned();
            let Some(other) = other else { break };
            self.forget(&other);
        }
    }

    pub(crate) fn forget(&mut self, path: &str) {
        if let Some(filter) = self.filters.remove(path) {
            self.size_bytes -= size_bytes(path, &filter);
        }
    }
}

fn size_bytes(path: &str, filter: &TraceFilter) -> usize {
    path.len() + filter.heap_bytes() + size_of::<(String, TraceFilter)>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(nth: u32) -> [u8; 16] {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&nth.to_le_bytes());
        id
    }

    fn hash(nth: u32) -> u64 {
        trace_index::trace_hash(&id(nth))
    }

    #[test]
    fn every_trace_of_a_block_is_held_and_few_others() {
        let index = trace_index::encode((0..5000).map(|nth| (id(nth), nth)));
        let filter = TraceFilter::of_spans(&index);
        let may_hold = |nth| filter.may_hold(Traces::All, hash(nth));
        assert!((0..5000).all(may_hold));
        let in_vain = (5000..105_000).filter(|nth| may_hold(*nth)).count();
        assert!(in_vain < 600, "{in_vain} of 100,000");
        assert!(!TraceFilter::of_spans(&[]).may_hold(Traces::All, hash(0)));
    }

    #[test]
    fn of_events_those_that_open_spans_are_told_apart() {
        let hashes = |range: std::ops::Range<u32>| range.map(hash).collect::<HashSet<u64>>();
        let filter = TraceFilter::of_events(hashes(0..5000), hashes(0..100));
        assert!((0..5000).all(|nth| filter.may_hold(Traces::All, hash(nth))));
        assert!((0..100).all(|nth| filter.may_hold(Traces::Opened, hash(nth))));
        let in_vain = (100..5000).filter(|nth| filter.may_hold(Traces::Opened, hash(*nth))).count();
        assert!(in_vain < 60, "{in_vain} of 4,900");
    }

    #[test]
    fn filters_stay_within_their_bound() {
        let index = trace_index::encode((0..1000).map(|nth| (id(nth), nth)));
        let mut filters = TraceFilters::new(5000);
        for nth in 0..10 {
            filters.keep(&nth.to_string(), TraceFilter::of_spans(&index));
            filters.keep(&nth.to_string(), TraceFilter::of_spans(&index));
            assert_eq!(filters.may_hold(&nth.to_string(), Traces::All, hash(3)), Some(true));
        }
        assert!(filters.size_bytes <= 5000 && filters.filters.len() == 3);
        let known: Vec<String> = filters.filters.keys().cloned().collect();
        known.iter().for_each(|path| filters.forget(path));
        let known = filters.may_hold("9", Traces::All, hash(3));
        assert_eq!((filters.size_bytes, known), (0, None));
    }
}
