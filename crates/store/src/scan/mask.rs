//! A bit for each row of a granule, and the loops that set them.

use super::int_test::IntTest;
use super::packed::{Ints, Piece, Present};
use crate::pages::GRANULE_ROWS;

const WORDS: usize = GRANULE_ROWS / 64;

/// Rows of one granule that pass.
#[derive(Debug, Clone)]
pub(super) struct Mask([u64; WORDS]);

impl Mask {
    pub(super) const NONE: Mask = Mask([0; WORDS]);

    /// The first `rows` rows.
    pub(super) fn first(rows: usize) -> Self {
        let mut mask = Self::NONE;
        for (nth, word) in mask.0.iter_mut().enumerate() {
            *word = match rows.saturating_sub(nth * 64) {
                64.. => u64::MAX,
                rest => (1 << rest) - 1,
            };
        }
        mask
    }

    pub(super) fn any(&self) -> bool {
        self.0.iter().any(|word| *word != 0)
    }

    /// How many rows.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn and(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    pub(super) fn and_not(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    pub(super) fn or(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// The rows, ascending, counted from the granule's first.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(nth, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                (left != 0).then(|| {
                    left &= left - 1;
                    nth as u32 * 64 + bit
                })
            })
        })
    }

    /// Rows that are marked.
    pub(super) fn of_marks(marks: &[bool]) -> Self {
        let mut mask = Self::NONE;
        marks.iter().enumerate().filter(|(_, marked)| **marked).for_each(|(row, _)| mask.set(row));
        mask
    }

    /// Rows of `alive` whose value passes a test that is dear: it only runs for
    /// them, with the place of the value.
    pub(super) fn of_each(
        present: &Present<'_>,
        alive: &Mask,
        mut test: impl FnMut(usize) -> bool,
    ) -> Self {
        let mut mask = Self::NONE;
        if let Present::Rows { rows, first } = present {
            for (nth, row) in rows.iter().enumerate() {
                let row = (row - first) as usize;
                if alive.0[row / 64] >> (row % 64) & 1 == 1 && test(nth) {
                    mask.set(row);
                }
            }
            return mask;
        }
        let mut wanted = alive.clone();
        if let Present::Bits(bits) = present {
            wanted.0.iter_mut().zip(*bits).for_each(|(a, b)| *a &= b);
        }
        wanted.rows().filter(|row| test(*row as usize)).for_each(|row| mask.set(row as usize));
        mask
    }

    /// Rows with a value.
    fn present(present: &Present<'_>, rows: usize) -> Self {
        let mut mask = Self::NONE;
        match present {
            Present::All => return Self::first(rows),
            Present::Bits(bits) => mask.0.iter_mut().zip(*bits).for_each(|(a, b)| *a = *b),
            Present::Rows { rows, first } => {
                for row in *rows {
                    mask.set((row - first) as usize);
                }
            }
        }
        mask
    }

    #[inline]
    fn set(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// Rows of `alive` whose value passes. The values are those of one granule.
    #[inline]
    pub(super) fn of<T: Copy>(
        values: &[T],
        present: &Present<'_>,
        alive: &Mask,
        test: impl Fn(T) -> bool,
    ) -> Self {
        let mut mask = Self::NONE;
        if let Present::Rows { rows, first } = present {
            for (row, value) in rows.iter().zip(values) {
                if test(*value) {
                    mask.set((row - first) as usize);
                }
            }
            mask.and(alive);
            return mask;
        }
        for (nth, chunk) in values.chunks(64).enumerate().take(WORDS) {
            let wanted = match present {
                Present::Bits(bits) => alive.0[nth] & bits.get(nth).copied().unwrap_or(0),
                _ => alive.0[nth],
            };
            if wanted == 0 {
                continue;
            }
            let mut word = 0u64;
            for (bit, value) in chunk.iter().enumerate() {
                word |= u64::from(test(*value)) << bit;
            }
            mask.0[nth] = word & wanted;
        }
        mask
    }

    /// Rows whose code is marked in `table`.
    pub(super) fn of_codes(
        codes: &Ints<'_>,
        present: &Present<'_>,
        alive: &Mask,
        table: &[bool],
    ) -> Self {
        let marked = |code: usize| table.get(code).copied().unwrap_or(false);
        match codes {
            Ints::U8(base, values) => {
                let mut small = [false; 256];
                for (code, slot) in small.iter_mut().enumerate() {
                    *slot = marked(code.wrapping_add(*base as usize));
                }
                Self::of(values, present, alive, |code| small[usize::from(code)])
            }
            Ints::U16(base, values) => Self::of(values, present, alive, |code| {
                marked(usize::from(code).wrapping_add(*base as usize))
            }),
            Ints::U32(base, values) => Self::of(values, present, alive, |code| {
                marked((code as usize).wrapping_add(*base as usize))
            }),
            Ints::I64(values) => Self::of(values, present, alive, |code| marked(code as usize)),
        }
    }

    /// Rows whose integer passes.
    pub(super) fn of_ints(
        ints: &Ints<'_>,
        present: &Present<'_>,
        alive: &Mask,
        test: &IntTest,
    ) -> Self {
        if let (IntTest::Range(low, high), Ints::I64(values)) = (test, ints) {
            let (low, width) = (*low, high.wrapping_sub(*low) as u64);
            return Self::of(values, present, alive, |v| v.wrapping_sub(low) as u64 <= width);
        }
        match (test, ints) {
            (IntTest::Range(low, high), Ints::U8(base, values)) => {
                let Some((low, high)) = shifted(*low, *high, *base, 0xff) else {
                    return Self::NONE;
                };
                let (low, width) = (low as u8, (high - low) as u8);
                Self::of(values, present, alive, |v| v.wrapping_sub(low) <= width)
            }
            (IntTest::Range(low, high), Ints::U16(base, values)) => {
                let Some((low, high)) = shifted(*low, *high, *base, 0xffff) else {
                    return Self::NONE;
                };
                let (low, width) = (low as u16, (high - low) as u16);
                Self::of(values, present, alive, |v| v.wrapping_sub(low) <= width)
            }
            (IntTest::Range(low, high), Ints::U32(base, values)) => {
                let Some((low, high)) = shifted(*low, *high, *base, 0xffff_ffff) else {
                    return Self::NONE;
                };
                let (low, width) = (low as u32, (high - low) as u32);
                Self::of(values, present, alive, |v| v.wrapping_sub(low) <= width)
            }
            (_, Ints::U8(base, values)) => {
                Self::of(values, present, alive, |v| test.holds(base.wrapping_add(i64::from(v))))
            }
            (_, Ints::U16(base, values)) => {
                Self::of(values, present, alive, |v| test.holds(base.wrapping_add(i64::from(v))))
            }
            (_, Ints::U32(base, values)) => {
                Self::of(values, present, alive, |v| test.holds(base.wrapping_add(i64::from(v))))
            }
            (_, Ints::I64(values)) => Self::of(values, present, alive, |v| test.holds(v)),
        }
    }

    /// Rows of `alive` that have a value in `piece`.
    pub(super) fn existing(piece: &Piece<'_>, rows: usize, alive: &Mask) -> Self {
        let mut mask = Self::present(&piece.present, rows);
        mask.and(alive);
        mask
    }
}

/// A range of integers as a range of `value - base`, cut to `0..=max`.
fn shifted(low: i64, high: i64, base: i64, max: i128) -> Option<(i128, i128)> {
    let low = (i128::from(low) - i128::from(base)).max(0);
    let high = (i128::from(high) - i128::from(base)).min(max);
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_the_first_rows() {
        for rows in [0, 1, 63, 64, 65, 8191, 8192] {
            let mask = Mask::first(rows);
            assert!(mask.rows().eq(0..rows as u32));
        }
    }

    #[test]
    fn packed_integers_give_the_same_rows_at_every_width() {
        let values: Vec<i64> = (0..1000).map(|i| -40 + i % 200).collect();
        let offset = |v: &i64| *v + 40;
        let (bytes, shorts, words): (Vec<u8>, Vec<u16>, Vec<u32>) = (
            values.iter().map(|v| offset(v) as u8).collect(),
            values.iter().map(|v| offset(v) as u16).collect(),
            values.iter().map(|v| offset(v) as u32).collect(),
        );
        let alive = Mask::first(1000);
        let tests = [
            IntTest::Range(-50, -35),
            IntTest::Range(10, 20),
            IntTest::Range(150, i64::MAX),
            IntTest::Range(1000, 2000),
            IntTest::ALWAYS,
            IntTest::Never,
            IntTest::Except(7),
            IntTest::Set(vec![-40, 0, 159]),
        ];
        for test in tests {
            let expected: Vec<u32> =
                (0..1000).filter(|row| test.holds(values[*row as usize])).collect();
            for ints in [
                Ints::U8(-40, &bytes),
                Ints::U16(-40, &shorts),
                Ints::U32(-40, &words),
                Ints::I64(&values),
            ] {
                let mask = Mask::of_ints(&ints, &Present::All, &alive, &test);
                assert_eq!(mask.rows().collect::<Vec<_>>(), expected, "{test:?} {ints:?}");
            }
        }
    }
}
