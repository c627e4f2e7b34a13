//! Where the buckets of one side of a histogram are.
//!
//! Spans name stretches of buckets: the first starts at its offset, each other
//! one `offset` buckets after the end of the one before. A [`Side`] pairs them
//! with counts and walks both from either end; a [`Layout`] builds spans from
//! indices in order. Offsets that run out of 32 bits wrap: such histograms are
//! refused by validation, and here they only must not panic.

/// A stretch of buckets next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSpan {
    /// How many buckets are left out before; for the first span the index of its
    /// first bucket, which may be negative.
    pub offset: i32,
    /// How many buckets it has.
    pub length: u32,
}

/// The buckets of one sign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) spans: &'a [BucketSpan],
    pub(crate) counts: &'a [f64],
}

impl<'a> Side<'a> {
    /// The index of each bucket, in order.
    pub(crate) fn indices(self) -> Indices<'a> {
        Indices::new(self.spans, self.counts.len())
    }

    /// The index and the count of each bucket, in order.
    pub(crate) fn cells(self) -> impl DoubleEndedIterator<Item = (i32, f64)> + 'a {
        let indices = self.indices();
        let counts = &self.counts[..indices.len()];
        indices.zip(counts.iter().copied())
    }

    /// Whether both have the same buckets with the same counts, bit by bit.
    pub(crate) fn equals(self, other: Self) -> bool {
        let same_count = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        self.counts.len() == other.counts.len()
            && self.counts.iter().zip(other.counts).all(same_count)
            && (self.spans == other.spans || self.indices().eq(other.indices()))
    }
}

/// The indices of buckets, from both ends.
#[derive(Debug, Clone)]
pub(crate) struct Indices<'a> {
    spans: &'a [BucketSpan],
    left: usize,
    front: End,
    back: End,
}

/// How far one end has come.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    /// The span it is in.
    span: usize,
    /// Front: buckets taken of that span. Back: buckets left of it.
    buckets: u32,
    /// Front: the next index. Back: the index after the next.
    index: i32,
}

impl<'a> Indices<'a> {
    /// The indices that `spans` name, `limit` at most.
    pub(crate) fn new(spans: &'a [BucketSpan], limit: usize) -> Self {
        let front = End { index: spans.first().map_or(0, |span| span.offset), ..End::default() };
        let mut back = End::default();
        let mut left = 0;
        let mut index = 0_i32;
        for (nth, span) in spans.iter().enumerate() {
            if left == limit {
                break;
            }
            let length = usize::try_from(span.length).unwrap_or(usize::MAX).min(limit - left);
            let buckets = u32::try_from(length).unwrap_or(u32::MAX);
            index = index.wrapping_add(span.offset).wrapping_add_unsigned(buckets);
            left += length;
            back = End { span: nth, buckets, index };
        }
        Self { spans, left, front, back }
    }
}

impl Iterator for Indices<'_> {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        while self.front.buckets >= self.spans.get(self.front.span)?.length {
            let span = self.front.span + 1;
            let index = self.front.index.wrapping_add(self.spans.get(span)?.offset);
            self.front = End { span, buckets: 0, index };
        }
        let index = self.front.index;
        self.front.buckets += 1;
        self.front.index = index.wrapping_add(1);
        Some(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Indices<'_> {
    fn next_back(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        while self.back.buckets == 0 {
            let index = self.back.index.wrapping_sub(self.spans.get(self.back.span)?.offset);
            let span = self.back.span.checked_sub(1)?;
            self.back = End { span, buckets: self.spans.get(span)?.length, index };
        }
        self.back.buckets -= 1;
        self.back.index = self.back.index.wrapping_sub(1);
        Some(self.back.index)
    }
}

impl ExactSizeIterator for Indices<'_> {}

/// Spans in the making, from the indices of buckets in order.
#[derive(Debug, Default)]
pub(super) struct Layout {
    spans: Vec<BucketSpan>,
    /// The index after the last.
    end: i32,
}

impl Layout {
    /// Adds a bucket.
    pub(super) fn push(&mut self, index: i32) {
        match self.spans.last_mut() {
            Some(span) if index == self.end => span.length = span.length.saturating_add(1),
            Some(_) => {
                self.spans.push(BucketSpan { offset: index.wrapping_sub(self.end), length: 1 });
            }
            None => self.spans.push(BucketSpan { offset: index, length: 1 }),
        }
        self.end = index.wrapping_add(1);
    }

    /// The last bucket added.
    pub(super) fn last(&self) -> Option<i32> {
        self.spans.last().map(|_| self.end.wrapping_sub(1))
    }

    pub(super) fn into_spans(self) -> Vec<BucketSpan> {
        self.spans
    }
}

/// Makes room for the buckets `wanted`, in order, where `spans` lack them. All
/// `columns` have a value for each bucket of `spans` and get 0 for each new one.
pub(super) fn widen(
    spans: &mut Vec<BucketSpan>,
    columns: &mut [&mut Vec<f64>],
    wanted: impl Iterator<Item = i32> + Clone,
) {
    let length = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    let present = Indices::new(spans, length);
    if contains_all(present.clone(), wanted.clone()) {
        return;
    }
    let mut layout = Layout::default();
    let mut old_places = Vec::with_capacity(length);
    let mut buckets = 0;
    let (mut present, mut wanted) = (present.peekable(), wanted.peekable());
    loop {
        let index = match (present.peek(), wanted.peek()) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&only), None) | (None, Some(&only)) => only,
            (None, None) => break,
        };
        if present.next_if_eq(&index).is_some() {
            old_places.push(buckets);
        }
        wanted.next_if_eq(&index);
        layout.push(index);
        buckets += 1;
    }
    for column in columns {
        let mut wide = vec![0.0; buckets];
        for (&place, &value) in old_places.iter().zip(column.iter()) {
            wide[place] = value;
        }
        **column = wide;
    }
    *spans = layout.into_spans();
}

fn contains_all(mut present: Indices<'_>, mut wanted: impl Iterator<Item = i32>) -> bool {
    wanted.all(|index| present.by_ref().find(|&p| p >= index) == Some(index))
}

/// Calls `visit` with the place of each bucket of `of` that is among `within`:
/// its place there, and its place in `of`. Both are in order.
pub(super) fn for_each_place(
    mut within: Indices<'_>,
    of: impl Iterator<Item = i32>,
    mut visit: impl FnMut(usize, usize),
) {
    let mut place = 0;
    let mut candidate = within.next();
    for (nth, index) in of.enumerate() {
        while candidate.is_some_and(|c| c < index) {
            candidate = within.next();
            place += 1;
        }
        if candidate == Some(index) {
            visit(place, nth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pairs: &[(i32, u32)]) -> Vec<BucketSpan> {
        pairs.iter().map(|&(offset, length)| BucketSpan { offset, length }).collect()
    }

    #[test]
    fn indices_run_through_gaps_and_empty_spans_from_both_ends() {
        let layout = spans(&[(-2, 2), (1, 0), (2, 1), (0, 2)]);
        let expected = [-2, -1, 3, 4, 5];
        assert_eq!(Indices::new(&layout, 9).collect::<Vec<_>>(), expected);
        let mut backward: Vec<_> = Indices::new(&layout, 9).rev().collect();
        backward.reverse();
        assert_eq!(backward, expected);
        let mut both = Indices::new(&layout, 9);
        assert_eq!((both.next(), both.next_back(), both.len()), (Some(-2), Some(5), 3));
        assert_eq!(both.collect::<Vec<_>>(), [-1, 3, 4]);
    }

    #[test]
    fn buckets_without_a_count_do_not_exist() {
        let layout = spans(&[(0, 2), (3, u32::MAX)]);
        assert_eq!(Indices::new(&layout, 3).collect::<Vec<_>>(), [0, 1, 5]);
        assert_eq!(Indices::new(&layout, 3).rev().collect::<Vec<_>>(), [5, 1, 0]);
        assert_eq!(Indices::new(&[], 3).count(), 0);
        assert_eq!(Indices::new(&layout, 0).count(), 0);
        let counts = [1.0, 2.0, 3.0];
        let few = spans(&[(4, 1)]);
        assert_eq!(Side { spans: &few, counts: &counts }.cells().collect::<Vec<_>>(), [(4, 1.0)]);
    }

    #[test]
    fn indices_at_the_edge_of_numbers_wrap() {
        let edge = spans(&[(i32::MAX, 2), (i32::MAX, 1)]);
        assert_eq!(Indices::new(&edge, 9).count(), 3);
        assert_eq!(Indices::new(&edge, 9).rev().count(), 3);
    }

    #[test]
    fn a_layout_joins_neighbours() {
        let mut layout = Layout::default();
        [-3, -2, 0, 1, 2, 9].into_iter().for_each(|index| layout.push(index));
        assert_eq!(layout.last(), Some(9));
        assert_eq!(layout.into_spans(), spans(&[(-3, 2), (1, 3), (6, 1)]));
    }

    #[test]
    fn widening_keeps_values_at_their_indices() {
        let mut own = spans(&[(0, 2), (2, 1)]);
        let (mut counts, mut lost) = (vec![1.0, 2.0, 3.0], vec![0.1, 0.2, 0.3]);
        widen(&mut own, &mut [&mut counts, &mut lost], [-2, 1, 2, 3, 7].into_iter());
        assert_eq!(own, spans(&[(-2, 1), (1, 5), (2, 1)]));
        assert_eq!(counts, [0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 0.0]);
        assert_eq!(lost, [0.0, 0.1, 0.2, 0.0, 0.0, 0.3, 0.0]);
    }

    #[test]
    fn widening_to_what_is_there_changes_nothing() {
        let mut own = spans(&[(0, 1), (0, 1), (2, 1)]);
        let before = own.clone();
        let mut counts = vec![1.0, 2.0, 3.0];
        widen(&mut own, &mut [&mut counts], [1, 4].into_iter());
        assert_eq!((own, counts), (before, vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn places_are_found_by_index() {
        let within = spans(&[(0, 3), (2, 2)]);
        let mut found = Vec::new();
        for_each_place(Indices::new(&within, 5), [1, 4, 6].into_iter(), |a, b| found.push((a, b)));
        assert_eq!(found, [(1, 0), (4, 2)]);
    }
}
