//! Quantiles of numbers that are not all kept.
//!
//! Up to [`EXACT_VALUES`] numbers are kept as they are, and their quantiles are exact. When there
//! are more, only counts are kept: a double belongs to the bucket that its sign, its exponent and
//! the first six bits of its mantissa name. A bucket is at most 1/64 wider than its lower end, and
//! tells its middle: every quantile is within 1/128, **0.79 %**, of the number that has its rank.
//!
//! - The least and the greatest number are kept and exact, so that quantiles are never outside of
//!   what there was; if all numbers are the same, every quantile is that number.
//! - Numbers below zero have buckets of their own, in order. Infinities are told as they are.
//! - Zero, and what is nearer to it than normal doubles are (2.2 · 10⁻³⁰⁸), is told as zero.
//! - Buckets come in pages of 64, one for each power of two, and only those that were touched
//!   exist. Durations of one operation touch about ten: five kilobytes.
//!
//! Counts are integers, and whether numbers are kept or counted depends only on how many there
//! are in the end; so the answer does not depend on their order, nor on how they were divided.

/// Numbers that are kept as they are: a page of counts is as large.
const EXACT_VALUES: usize = 64;

/// Bits of the mantissa that name a bucket.
const MANTISSA_BITS: u32 = 6;

/// Buckets of a power of two.
const PAGE_BUCKETS: usize = 1 << MANTISSA_BITS;

/// Bits of a double that do not name its bucket.
const IGNORED_BITS: u32 = 52 - MANTISSA_BITS;

const SIGN: u64 = 1 << 63;

type Page = Box<[u64; PAGE_BUCKETS]>;

/// Counts of numbers, from which quantiles are told.
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    count: u64,
    least: f64,
    greatest: f64,
    kept: Kept,
}

#[derive(Debug, Clone)]
enum Kept {
    /// All numbers, in no order.
    Values(Vec<f64>),
    /// Counts by sign and exponent, in order of the numbers.
    Pages(Vec<(u16, Page)>),
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            count: 0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            kept: Kept::Values(Vec::new()),
        }
    }
}

impl Sketch {
    /// Adds a number that is not NaN; gives the bytes that were allocated, less those that were
    /// freed.
    #[inline]
    pub(super) fn add(&mut self, value: f64) -> isize {
        self.count += 1;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        if let Kept::Pages(pages) = &mut self.kept {
            return count(pages, value, 1);
        }
        self.keep(value)
    }

    fn keep(&mut self, value: f64) -> isize {
        let Kept::Values(values) = &mut self.kept else { return 0 };
        let before = values.capacity();
        if values.len() < EXACT_VALUES {
            values.push(value);
            return ((values.capacity() - before) * size_of::<f64>()) as isize;
        }
        let freed = (before * size_of::<f64>()) as isize;
        let mut pages = Vec::new();
        let mut allocated = 0;
        for value in values.iter().chain([&value]) {
            allocated += count(&mut pages, *value, 1);
        }
        self.kept = Kept::Pages(pages);
        allocated - freed
    }

    /// Adds all of another; gives the bytes that were allocated, less those that were freed here.
    pub(super) fn merge(&mut self, other: Self) -> isize {
        if self.count == 0 {
            let freed = self.bytes();
            *self = other;
            return self.bytes() - freed;
        }
        let pages = match other.kept {
            Kept::Values(values) => return values.into_iter().map(|value| self.add(value)).sum(),
            Kept::Pages(pages) => pages,
        };
        // The other has too many to be kept; so have both together.
        let mut grown = 0;
        if let Kept::Values(values) = &mut self.kept {
            let values = std::mem::take(values);
            grown -= (values.capacity() * size_of::<f64>()) as isize;
            let mut counted = Vec::new();
            for value in values {
                grown += count(&mut counted, value, 1);
            }
            self.kept = Kept::Pages(counted);
        }
        if let Kept::Pages(into) = &mut self.kept {
            for (number, from) in pages {
                grown += merge_page(into, number, from);
            }
        }
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        grown
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Numbers of which the parts `quantiles` (0 to 1) are not greater; none if nothing was added.
    pub(super) fn quantiles(&self, quantiles: &[f64]) -> Option<Vec<f64>> {
        if self.is_empty() {
            return None;
        }
        let ranks = quantiles.iter().map(|quantile| rank(*quantile, self.count));
        Some(match &self.kept {
            Kept::Values(values) => {
                let mut values = values.clone();
                values.sort_by(f64::total_cmp);
                ranks.map(|rank| values[rank as usize - 1]).collect()
            }
            Kept::Pages(pages) => ranks.map(|rank| self.of_rank(pages, rank)).collect(),
        })
    }

    fn of_rank(&self, pages: &[(u16, Page)], rank: u64) -> f64 {
        if rank == 1 {
            return self.least;
        }
        let buckets = pages
            .iter()
            .flat_map(|(page, counts)| (u64::from(*page) << MANTISSA_BITS..).zip(counts.iter()));
        let mut seen = 0;
        for (bucket, count) in buckets {
            seen += count;
            if seen >= rank && rank < self.count {
                return middle(bucket).clamp(self.least, self.greatest);
            }
        }
        self.greatest
    }

    fn bytes(&self) -> isize {
        let bytes = match &self.kept {
            Kept::Values(values) => values.capacity() * size_of::<f64>(),
            Kept::Pages(pages) => {
                pages.capacity() * size_of::<(u16, Page)>()
                    + pages.len() * PAGE_BUCKETS * size_of::<u64>()
            }
        };
        bytes as isize
    }
}

/// `ceil(quantile · count)`, at least 1 and at most `count`. A product that is a whole number but
/// for rounding, as 0.07 · 100 is, counts as one.
fn rank(quantile: f64, count: u64) -> u64 {
    let product = quantile * count as f64;
    let nearest = product.round();
    let is_whole = (product - nearest).abs() <= 4.0 * f64::EPSILON * product.abs();
    let rank = if is_whole { nearest } else { product.ceil() };
    (rank as u64).clamp(1, count)
}

/// The bucket of a number; a greater number has no lesser bucket.
#[inline]
fn bucket(value: f64) -> u64 {
    let bits = if value.abs() < f64::MIN_POSITIVE { 0 } else { value.to_bits() };
    // Doubles are ordered as their bits are, except for the sign.
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    ordered >> IGNORED_BITS
}

/// The number that stands for all of a bucket.
fn middle(bucket: u64) -> f64 {
    let ordered = bucket << IGNORED_BITS;
    let bits = if ordered & SIGN == 0 { !ordered } else { ordered ^ SIGN };
    let end = f64::from_bits(bits >> IGNORED_BITS << IGNORED_BITS);
    if end == 0.0 || end.is_infinite() {
        return end;
    }
    f64::from_bits(end.to_bits() | 1 << (IGNORED_BITS - 1))
}

#[inline]
fn count(pages: &mut Vec<(u16, Page)>, value: f64, more: u64) -> isize {
    let bucket = bucket(value);
    let number = (bucket >> MANTISSA_BITS) as u16;
    let within = bucket as usize & (PAGE_BUCKETS - 1);
    match pages.binary_search_by_key(&number, |(number, _)| *number) {
        Ok(found) => {
            pages[found].1[within] += more;
            0
        }
        Err(place) => {
            let mut page = Box::new([0; PAGE_BUCKETS]);
            page[within] = more;
            insert_page(pages, place, number, page)
        }
    }
}

fn merge_page(pages: &mut Vec<(u16, Page)>, number: u16, from: Page) -> isize {
    match pages.binary_search_by_key(&number, |(number, _)| *number) {
        Ok(found) => {
            for (into, from) in pages[found].1.iter_mut().zip(from.iter()) {
                *into += from;
            }
            0
        }
        Err(place) => insert_page(pages, place, number, from),
    }
}

#[cold]
fn insert_page(pages: &mut Vec<(u16, Page)>, place: usize, number: u16, page: Page) -> isize {
    let before = pages.capacity();
    pages.insert(place, (number, page));
    let grown = (pages.capacity() - before) * size_of::<(u16, Page)>();
    (grown + PAGE_BUCKETS * size_of::<u64>()) as isize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::Random;

    const QUANTILES: [f64; 9] = [0.0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0];

    fn sketch(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::default();
        let grown: isize = values.iter().map(|value| sketch.add(*value)).sum();
        assert_eq!(grown, sketch.bytes());
        sketch
    }

    fn bits(sketch: &Sketch) -> Vec<u64> {
        sketch.quantiles(&QUANTILES).unwrap().into_iter().map(f64::to_bits).collect()
    }

    /// Numbers as they are seen, and some that are hard.
    fn distributions(random: &mut Random, count: usize) -> Vec<(&'static str, Vec<f64>)> {
        let mut make = |name, number: fn(&mut Random) -> f64| {
            (name, (0..count).map(|_| number(random)).collect::<Vec<_>>())
        };
        vec![
            make("uniform", |random| random.unit()),
            make("whole", |random| random.below(1_000) as f64),
            make("exponential", |random| -(1.0 - random.unit()).ln() * 0.05),
            make("long tail", |random| (1.0 - random.unit()).powf(-2.0) * 1e-3),
            make("two humps", |random| match random.below(10) {
                0 => 30.0 + random.unit(),
                _ => 0.002 + random.unit() * 1e-4,
            }),
            make("below zero", |random| -random.unit() * 1e6),
            make("around zero", |random| (random.unit() - 0.5) * 2e3),
            make("any size", |random| {
                let magnitude = 10_f64.powi(random.below(600) as i32 - 300) * (1.0 + random.unit());
                if random.below(2) == 0 { magnitude } else { -magnitude }
            }),
            make("mostly zero", |random| if random.below(3) == 0 { 7.5 } else { 0.0 }),
        ]
    }

    #[test]
    fn quantiles_are_within_one_part_of_128() {
        let mut random = Random::new(5);
        for count in [1, 2, 63, 64, 65, 100, 1_000, 20_000] {
            for (name, mut values) in distributions(&mut random, count) {
                let told = sketch(&values).quantiles(&QUANTILES).unwrap();
                values.sort_by(f64::total_cmp);
                for (quantile, told) in QUANTILES.iter().zip(told) {
                    let exact = values[rank(*quantile, count as u64) as usize - 1];
                    let error = if told == exact { 0.0 } else { ((told - exact) / exact).abs() };
                    assert!(error <= 1.0 / 128.0, "{name} {count} {quantile}: {told} for {exact}");
                    assert!(error == 0.0 || count > EXACT_VALUES, "{name} {count} {quantile}");
                }
                assert_eq!(sketch(&values).quantiles(&[0.0, 1.0]).unwrap()[0], values[0]);
                assert_eq!(sketch(&values).quantiles(&[1.0]).unwrap()[0], values[count - 1]);
            }
        }
    }

    #[test]
    fn any_order_and_any_division_gives_the_same_bits() {
        let mut random = Random::new(6);
        for round in 0..60 {
            let count = [3, 64, 65, 90, 400][round % 5];
            for (name, mut values) in distributions(&mut random, count) {
                let expected = bits(&sketch(&values));
                random.shuffle(&mut values);
                let mut parts = vec![Vec::new(); 1 + random.below(6) as usize];
                for value in values {
                    let part = random.below(parts.len() as u64) as usize;
                    parts[part].push(value);
                }
                let mut merged = Sketch::default();
                let grown: isize = parts.iter().map(|part| merged.merge(sketch(part))).sum();
                assert_eq!(bits(&merged), expected, "{name} {count}");
                assert_eq!(grown, merged.bytes());
            }
        }
    }

    #[test]
    fn equal_numbers_are_told_as_they_are() {
        for value in [0.3, -0.3, 0.0, 1e-310, 5e-324, 1e308, f64::INFINITY, f64::NEG_INFINITY] {
            let sketch = sketch(&[value; 100]);
            assert!(sketch.quantiles(&QUANTILES).unwrap().iter().all(|told| *told == value));
        }
    }

    #[test]
    fn infinities_are_the_ends() {
        let mut values = vec![1.5; 98];
        values.extend([f64::INFINITY; 50]);
        values.extend([f64::NEG_INFINITY; 50]);
        let told = sketch(&values).quantiles(&[0.1, 0.5, 0.9]).unwrap();
        assert_eq!((told[0], told[2]), (f64::NEG_INFINITY, f64::INFINITY));
        assert!((told[1] - 1.5).abs() < 0.012);
    }

    #[test]
    fn buckets_are_in_the_order_of_numbers_and_hold_their_middle() {
        let mut random = Random::new(7);
        let mut values: Vec<_> = (0..50_000).map(|_| f64::from_bits(random.next())).collect();
        values.retain(|value| !value.is_nan());
        values.sort_by(f64::total_cmp);
        assert!(values.is_sorted_by_key(|value| bucket(*value)));
        for value in values {
            assert_eq!(bucket(middle(bucket(value))), bucket(value), "{value:e}");
        }
    }

    #[test]
    fn the_rank_of_a_quantile_is_rounded_up() {
        let expected = [
            (0.5, 1, 1),
            (0.5, 4, 2),
            (0.5, 5, 3),
            (0.9, 10, 9),
            (0.07, 100, 7),
            (0.0701, 100, 8),
            (0.0, 10, 1),
            (1.0, 10, 10),
            (2.0, 10, 10),
            (-1.0, 10, 1),
            (f64::NAN, 10, 1),
        ];
        for (quantile, count, expected) in expected {
            assert_eq!(rank(quantile, count), expected, "{quantile} of {count}");
        }
    }

    #[test]
    fn nothing_has_no_quantiles() {
        assert_eq!(Sketch::default().quantiles(&[0.5]), None);
    }
}
