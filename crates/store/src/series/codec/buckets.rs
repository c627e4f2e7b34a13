//! Bucket counts of histograms.
//!
//! Where all points have the same buckets, which is the rule, each bucket is a column over time.
//! Otherwise the counts follow point by point, as they are (delta temporality) or as the difference
//! to the same bucket of the point before (cumulative): buckets of exponential histograms come and
//! go at both ends, so that the same bucket is not at the same place.

use super::bytes::{Reader, put_varint};
use super::columns::{Lists, Repeated};
use super::ints::{decode_ints, encode_ints};
use super::values::{
    check_items, decode_repeated, decode_unsigned, encode_as_ints, encode_unsigned,
};
use super::{CodecError, MAX_LIST_ITEMS};

const BY_BUCKET: u8 = 0;
const BY_POINT: u8 = 1;
const BY_POINT_DIFFERENCE: u8 = 2;

/// Appends the counts. `offsets`, for exponential histograms, are the indexes of first buckets.
pub(super) fn encode_buckets(
    lists: &Lists<u64>,
    offsets: Option<&Repeated<i32>>,
    out: &mut Vec<u8>,
) {
    if lists.is_empty() {
        return;
    }
    let same_offset = offsets.is_none_or(|offsets| offsets.constant().is_some());
    if let (Some(length), true) = (lists.lengths.constant(), same_offset) {
        out.push(BY_BUCKET);
        put_varint(out, u64::from(length));
        let mut column = Vec::with_capacity(lists.len());
        for position in 0..length as usize {
            let items = lists.items.iter().skip(position).step_by(length as usize);
            column.clear();
            column.extend(items.map(|item| *item as i64));
            encode_ints(&column, out);
        }
        return;
    }
    let mut plain = Vec::new();
    encode_unsigned(&lists.items, &mut plain);
    let mut difference = Vec::new();
    encode_unsigned(&differences(lists, offsets), &mut difference);
    let (mode, items) = match plain.len() <= difference.len() {
        true => (BY_POINT, plain),
        false => (BY_POINT_DIFFERENCE, difference),
    };
    out.push(mode);
    encode_as_ints(lists.lengths.iter().map(i64::from), out);
    out.extend_from_slice(&items);
}

/// The counts of `count` points.
pub(super) fn decode_buckets(
    reader: &mut Reader<'_>,
    count: usize,
    offsets: Option<&Repeated<i32>>,
) -> Result<Lists<u64>, CodecError> {
    if count == 0 {
        return Ok(Lists::default());
    }
    let mode = reader.byte()?;
    if mode == BY_BUCKET {
        return decode_by_bucket(reader, count);
    }
    if mode > BY_POINT_DIFFERENCE {
        return Err(CodecError::Corrupt("bucket counts are in an unknown order"));
    }
    let lengths: Repeated<u32> = decode_repeated(reader, count)?;
    let items = lengths.iter().map(|length| length as usize).sum();
    check_items(items)?;
    let mut lists = Lists { lengths, items: decode_unsigned(reader, items)? };
    if mode == BY_POINT_DIFFERENCE {
        add_differences(&mut lists, offsets);
    }
    Ok(lists)
}

fn decode_by_bucket(reader: &mut Reader<'_>, count: usize) -> Result<Lists<u64>, CodecError> {
    let length = reader.count(MAX_LIST_ITEMS)?;
    check_items(length * count)?;
    let mut items = vec![0; length * count];
    let mut column = Vec::with_capacity(count);
    for position in 0..length {
        column.clear();
        decode_ints(reader, count, &mut column)?;
        let slots = items.iter_mut().skip(position).step_by(length);
        slots.zip(&column).for_each(|(slot, value)| *slot = *value as u64);
    }
    Ok(Lists { lengths: Repeated::of(length as u32, count), items })
}

/// Where the lists begin that precede and are a list, and how far its first bucket is from theirs.
struct Pair {
    before: usize,
    before_len: usize,
    start: usize,
    len: usize,
    shift: i64,
}

impl Pair {
    /// The item of the list before that is the same bucket as item `index` of the list.
    fn same_bucket(&self, index: usize) -> Option<usize> {
        let position = usize::try_from(index as i64 + self.shift).ok()?;
        (position < self.before_len).then_some(self.before + position)
    }
}

fn pairs(lengths: &Repeated<u32>, offsets: Option<&Repeated<i32>>) -> Vec<Pair> {
    let (mut before, mut before_len, mut start, mut last_offset) = (0, 0, 0, 0);
    let mut pairs = Vec::with_capacity(lengths.len());
    for (index, len) in lengths.iter().enumerate() {
        let len = len as usize;
        let offset = offsets.and_then(|offsets| offsets.get(index)).map_or(0, i64::from);
        pairs.push(Pair { before, before_len, start, len, shift: offset - last_offset });
        (before, before_len, start, last_offset) = (start, len, start + len, offset);
    }
    pairs
}

fn differences(lists: &Lists<u64>, offsets: Option<&Repeated<i32>>) -> Vec<u64> {
    let mut items = lists.items.clone();
    for pair in pairs(&lists.lengths, offsets) {
        for index in 0..pair.len {
            if let Some(same) = pair.same_bucket(index) {
                let item = &mut items[pair.start + index];
                *item = item.wrapping_sub(lists.items[same]);
            }
        }
    }
    items
}

fn add_differences(lists: &mut Lists<u64>, offsets: Option<&Repeated<i32>>) {
    for pair in pairs(&lists.lengths, offsets) {
        for index in 0..pair.len {
            if let Some(same) = pair.same_bucket(index) {
                let before = lists.items[same];
                let item = &mut lists.items[pair.start + index];
                *item = item.wrapping_add(before);
            }
        }
    }
}
