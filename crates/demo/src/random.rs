//! Numbers that look random and are the same for the same seed.
//!
//! The generator is SplitMix64 of Steele, Lea and Flood (2014): 64 bits of state and no bad seed.

/// A source of such numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another source, so that one story does not change when another draws more numbers.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From one number to below another.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// From 0 to below a number; 0 of 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    /// Whether something happens that does so with this probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Around 0, mostly between -1 and 1: the sum of three draws is near enough to a normal
    /// distribution for what people look at.
    pub(crate) fn around(&mut self) -> f64 {
        (self.unit() + self.unit() + self.unit()) * 2.0 - 3.0
    }

    /// A duration as services have them: mostly near the median, with a long tail.
    pub(crate) fn skewed(&mut self, median: f64) -> f64 {
        median * (0.5 * self.around()).exp()
    }

    /// The time until the next of things that happen so often, independently.
    pub(crate) fn waiting(&mut self, per_second: f64) -> f64 {
        -(1.0 - self.unit()).ln() / per_second
    }

    /// One of several.
    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub(crate) fn trace_id(&mut self) -> [u8; 16] {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.next().to_be_bytes());
        id[8..].copy_from_slice(&self.span_id());
        id
    }

    pub(crate) fn span_id(&mut self) -> [u8; 8] {
        // All zeros would be none.
        self.next().max(1).to_be_bytes()
    }
}

/// An id as people write it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_range_and_the_same_for_the_same_seed() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        for _ in 0..10_000 {
            let number = one.between(2.0, 3.0);
            assert!((2.0..3.0).contains(&number));
            assert_eq!(number, other.between(2.0, 3.0));
            assert!(one.waiting(5.0) >= 0.0 && other.waiting(5.0) >= 0.0);
        }
        assert_ne!(Random::new(1).next(), Random::new(2).next());
    }

    #[test]
    fn what_happens_so_often_waits_as_long_on_average() {
        let mut random = Random::new(3);
        let total: f64 = (0..100_000).map(|_| random.waiting(4.0)).sum();
        assert!((total / 100_000.0 - 0.25).abs() < 0.01, "{total}");
    }
}
