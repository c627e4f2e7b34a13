//! Counts by power of two.
//!
//! A bucket is named by its upper end, which it contains: 5 is in bucket 8, 8 is too, 0.3 is in
//! 0.5. Numbers below zero have the powers of two below zero: −5 is in bucket −4. Zero is a bucket
//! of its own. Durations are put in buckets by their nanoseconds and named in seconds, as Tempo
//! does: 300 ms is in bucket 0.536870912, which is 2²⁹ ns.

use super::cells::Cells;

/// The upper end of the bucket of a number.
pub(super) fn bucket_of(value: f64) -> f64 {
    if value == 0.0 || value.is_infinite() {
        return value;
    }
    // What is nearer to zero than normal doubles are shares the bucket next to it.
    if value.is_subnormal() {
        return if value < 0.0 { 0.0 } else { f64::MIN_POSITIVE };
    }
    let magnitude = value.abs();
    let power = f64::from_bits(magnitude.to_bits() & (0x7ff << 52));
    match value < 0.0 {
        true => -power,
        false if power < magnitude => power * 2.0,
        false => power,
    }
}

/// Counts of each group by bucket.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Of each group: its buckets and their rows, in order of appearance.
    rows: Vec<Vec<(f64, u32)>>,
    rows_bytes: usize,
    counts: Cells<u64>,
    next_row: u32,
}

impl Buckets {
    pub(super) fn new(points: usize) -> Self {
        Self { rows: Vec::new(), rows_bytes: 0, counts: Cells::new(points, 0), next_row: 0 }
    }

    pub(super) fn extend_groups(&mut self, groups: usize) {
        self.rows.resize_with(groups, Vec::new);
    }

    /// Counts a number that is not NaN.
    pub(super) fn add(&mut self, group: usize, point: usize, value: f64) {
        let Some(row) = self.row(group, bucket_of(value)) else { return };
        if let Some(count) = self.counts.cell(row, point) {
            *count += 1;
        }
    }

    /// The row of a bucket, made if it is new.
    fn row(&mut self, group: usize, bucket: f64) -> Option<usize> {
        let rows = self.rows.get_mut(group)?;
        if let Some((_, row)) = rows.iter().find(|(of, _)| *of == bucket) {
            return Some(*row as usize);
        }
        let row = self.next_row;
        self.next_row += 1;
        let before = rows.capacity();
        rows.push((bucket, row));
        self.rows_bytes += (rows.capacity() - before) * size_of::<(f64, u32)>();
        self.counts.extend_rows(self.next_row as usize);
        Some(row as usize)
    }

    /// Adds all of another. `groups` are the groups here that its groups are.
    pub(super) fn merge(&mut self, other: Self, groups: &[usize]) {
        let mut rows = vec![0; other.next_row as usize];
        for (buckets, group) in other.rows.iter().zip(groups) {
            for (bucket, from) in buckets {
                if let Some(into) = self.row(*group, *bucket) {
                    rows[*from as usize] = into;
                }
            }
        }
        self.counts.merge(other.counts, &rows, |into, from| *into += from);
    }

    /// The buckets of a group, and the counts of all points of each.
    pub(super) fn of(&self, group: usize) -> impl Iterator<Item = (f64, Vec<u64>)> {
        self.rows.get(group).into_iter().flatten().map(|(bucket, row)| {
            (*bucket, self.counts.whole_row(*row as usize).map(|(_, count)| *count).collect())
        })
    }

    /// The buckets of all groups.
    pub(super) fn len(&self) -> usize {
        self.next_row as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Vec<(f64, u32)>>() + self.rows_bytes + self.counts.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_the_next_power_of_two() {
        let expected = [
            (0.0, 0.0),
            (0.3, 0.5),
            (0.5, 0.5),
            (1.0, 1.0),
            (1.1, 2.0),
            (2.0, 2.0),
            (3.0, 4.0),
            (5.0, 8.0),
            (300_000_000.0, 536_870_912.0),
            (1e308, f64::INFINITY),
            (1e-310, f64::MIN_POSITIVE),
            (-1e-310, 0.0),
            (f64::INFINITY, f64::INFINITY),
            (-0.3, -0.25),
            (-4.0, -4.0),
            (-5.0, -4.0),
            (f64::NEG_INFINITY, f64::NEG_INFINITY),
        ];
        for (value, bucket) in expected {
            assert_eq!(bucket_of(value), bucket, "{value:e}");
        }
    }

    #[test]
    fn counts_are_kept_by_group_and_bucket_and_can_be_merged() {
        let mut one = Buckets::new(3);
        one.extend_groups(2);
        one.add(0, 0, 5.0);
        one.add(0, 2, 3.0);
        one.add(1, 1, 3.0);
        let mut two = Buckets::new(3);
        two.extend_groups(1);
        two.add(0, 1, 4.0);
        two.add(0, 1, 100.0);
        one.merge(two, &[1]);
        assert_eq!(one.of(0).collect::<Vec<_>>(), [(8.0, vec![1, 0, 0]), (4.0, vec![0, 0, 1])]);
        assert_eq!(one.of(1).collect::<Vec<_>>(), [(4.0, vec![0, 2, 0]), (128.0, vec![0, 1, 0])]);
    }
}
