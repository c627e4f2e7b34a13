//! Numbers of a fixed width in bits, side by side.
//!
//! Value `i` of width `w` takes bits `i·w` to `i·w + w - 1` of the bytes read as one little-endian
//! number; the last byte is filled with zeros.

/// The bytes that `count` values of `width` bits take.
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends the low `width` bits of every value.
pub(super) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mask = u64::MAX >> (64 - width);
    let mut pending = 0_u128;
    let mut pending_bits = 0;
    for value in values {
        pending |= u128::from(value & mask) << pending_bits;
        pending_bits += width;
        if pending_bits >= 64 {
            out.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= 64;
            pending_bits -= 64;
        }
    }
    let tail = (pending as u64).to_le_bytes();
    out.extend_from_slice(&tail[..pending_bits.div_ceil(8) as usize]);
}

/// Appends `count` values to `out`, each with `base` added (wrapping).
///
/// `bytes` must be [`packed_len`] long; a shorter slice reads as if zeros followed.
pub(super) fn unpack(bytes: &[u8], width: u32, count: usize, base: i64, out: &mut Vec<i64>) {
    if width == 0 {
        out.resize(out.len() + count, base);
        return;
    }
    // A value of up to 57 bits lies within the eight bytes that start at its first byte.
    let whole = if width <= 57 { words_within(bytes.len(), width).min(count) } else { 0 };
    let mask = u64::MAX >> (64 - width);
    let width = width as usize;
    out.extend((0..whole).map(|index| {
        let bit = index * width;
        let word = bytes[bit / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        base.wrapping_add(((word >> (bit % 8)) & mask) as i64)
    }));
    out.extend((whole..count).map(|index| {
        let bit = index * width;
        let mut word = [0; 16];
        let rest = bytes.get(bit / 8..).unwrap_or_default();
        let len = rest.len().min(16);
        word[..len].copy_from_slice(&rest[..len]);
        let bits = u128::from_le_bytes(word) >> (bit % 8);
        base.wrapping_add((bits as u64 & mask) as i64)
    }));
}

/// How many values from the first have eight bytes from where they start.
fn words_within(len: usize, width: u32) -> usize {
    match len.checked_sub(8) {
        // Value i starts in byte i·width/8, which must be at most len - 8.
        Some(last) => (last * 8 + 7) / width as usize + 1,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_and_count_round_trips() {
        for width in 0..=64 {
            for count in [0, 1, 7, 8, 9, 63, 64, 100] {
                let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                let values: Vec<u64> = (0..count as u64)
                    .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask)
                    .collect();
                let mut bytes = Vec::new();
                pack(values.iter().copied(), width, &mut bytes);
                assert_eq!(bytes.len(), packed_len(count, width));
                let mut back = Vec::new();
                unpack(&bytes, width, count, 5, &mut back);
                let expected: Vec<i64> =
                    values.iter().map(|v| (*v as i64).wrapping_add(5)).collect();
                assert_eq!(back, expected, "width {width}, count {count}");
            }
        }
    }
}
