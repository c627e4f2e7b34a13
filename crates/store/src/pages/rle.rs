//! Parquet's hybrid of run lengths and bit-packing.
//!
//! A run of equal values is `varint(count << 1)` and the value in as many bytes
//! as the width needs; other values are packed in groups of eight,
//! `varint(groups << 1 | 1)` and `width` bytes a group. Widths of 0 to 32 bits.

use super::{PageError, read_varint, write_varint};

/// Values in a group of packed ones.
const GROUP: usize = 8;

/// Appends `values`, each less than 2^`width`.
pub(crate) fn encode<T: Copy + Into<u32> + PartialEq>(values: &[T], width: u8, out: &mut Vec<u8>) {
    let mut at = 0;
    let mut packed_from = 0;
    while at < values.len() {
        let first = values[at];
        let run = values[at..].iter().take_while(|v| **v == first).count();
        // Packed groups are whole, so the run gives up what completes the last one.
        let fill = (GROUP - (at - packed_from) % GROUP) % GROUP;
        if run >= fill + GROUP {
            pack_groups(&values[packed_from..at + fill], width, out);
            write_varint(((run - fill) as u64) << 1, out);
            let bytes = first.into().to_le_bytes();
            out.extend_from_slice(&bytes[..usize::from(width).div_ceil(8)]);
            packed_from = at + run;
        }
        at += run;
    }
    pack_groups(&values[packed_from..], width, out);
}

fn pack_groups<T: Copy + Into<u32>>(values: &[T], width: u8, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    write_varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * usize::from(width);
    let mut pending = 0u64;
    let mut bits = 0u32;
    for value in values {
        pending |= u64::from((*value).into()) << bits;
        bits += u32::from(width);
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
    out.resize(end, 0);
}

/// Appends the next `count` values of `bytes` to `out`.
pub(crate) fn decode(
    bytes: &[u8],
    width: u8,
    count: usize,
    out: &mut Vec<u32>,
) -> Result<(), PageError> {
    if width > 32 {
        return Err(PageError("code wider than 32 bits"));
    }
    let value_bytes = usize::from(width).div_ceil(8);
    let end = out.len() + count;
    out.reserve(count);
    let mut at = 0;
    while out.len() < end {
        let header = read_varint(bytes, &mut at)?;
        let left = end - out.len();
        if header & 1 == 0 {
            let run = ((header >> 1) as usize).min(left);
            if run == 0 {
                return Err(PageError("empty run"));
            }
            let raw = bytes.get(at..at + value_bytes).ok_or(PageError("run cut short"))?;
            at += value_bytes;
            let mut word = [0u8; 4];
            word[..value_bytes].copy_from_slice(raw);
            out.resize(out.len() + run, u32::from_le_bytes(word));
        } else {
            let groups = (header >> 1) as usize;
            let packed_bytes = groups
                .checked_mul(usize::from(width))
                .ok_or(PageError("too many packed groups"))?;
            let packed = at
                .checked_add(packed_bytes)
                .and_then(|packed_end| bytes.get(at..packed_end))
                .ok_or(PageError("packed values cut short"))?;
            if groups == 0 {
                return Err(PageError("empty run"));
            }
            at += packed_bytes;
            unpack(packed, width, left.min(groups.saturating_mul(GROUP)), out);
        }
    }
    Ok(())
}

fn unpack(packed: &[u8], width: u8, count: usize, out: &mut Vec<u32>) {
    let width = usize::from(width);
    match width {
        0 => return out.resize(out.len() + count, 0),
        1 => return unpack_bits(packed, count, out),
        8 => return out.extend(packed[..count].iter().map(|b| u32::from(*b))),
        16 => {
            let pairs = packed.chunks_exact(2).take(count);
            return out.extend(pairs.map(|p| u32::from(u16::from_le_bytes([p[0], p[1]]))));
        }
        _ => {}
    }
    let mask = (1u64 << width) - 1;
    let mut bit = 0;
    // Eight bytes at once while they are there, byte by byte at the end.
    let whole = packed.len().saturating_sub(7) * 8 / width;
    let first = out.len();
    out.resize(first + count, 0);
    let (fast, slow) = out[first..].split_at_mut(count.min(whole));
    for value in fast {
        let byte = bit >> 3;
        let mut word = [0u8; 8];
        word.copy_from_slice(&packed[byte..byte + 8]);
        *value = ((u64::from_le_bytes(word) >> (bit & 7)) & mask) as u32;
        bit += width;
    }
    for value in slow {
        let byte = bit >> 3;
        let mut word = [0u8; 8];
        let rest = &packed[byte..packed.len().min(byte + 8)];
        word[..rest.len()].copy_from_slice(rest);
        *value = ((u64::from_le_bytes(word) >> (bit & 7)) & mask) as u32;
        bit += width;
    }
}

/// Levels, mostly: eight at once.
fn unpack_bits(packed: &[u8], count: usize, out: &mut Vec<u32>) {
    let first = out.len();
    out.resize(first + count.next_multiple_of(GROUP), 0);
    for (group, byte) in out[first..].chunks_exact_mut(GROUP).zip(packed) {
        for (bit, value) in group.iter_mut().enumerate() {
            *value = u32::from(byte >> bit & 1);
        }
    }
    out.truncate(first + count);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u32], width: u8) {
        let mut bytes = Vec::new();
        encode(values, width, &mut bytes);
        let mut back = Vec::new();
        decode(&bytes, width, values.len(), &mut back).unwrap();
        assert_eq!(back, values, "width {width}");
    }

    #[test]
    fn runs_and_literals_come_back() {
        for width in [1u8, 2, 3, 5, 7, 8, 11, 16, 17, 24, 31, 32] {
            let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
            let mixed: Vec<u32> = (0..3000u32)
                .map(|i| if i % 100 < 60 { 7 & mask } else { i.wrapping_mul(2_654_435_761) & mask })
                .collect();
            for end in [0, 1, 7, 8, 9, 63, 64, 65, 1000, 3000] {
                round_trip(&mixed[..end], width);
            }
        }
    }

    #[test]
    fn width_zero_holds_any_number_of_zeroes() {
        round_trip(&[0; 5000], 0);
    }

    #[test]
    fn a_run_after_an_incomplete_group_comes_back() {
        for lead in 0..20 {
            let values: Vec<u32> =
                (0..lead).map(|i| i % 3).chain(std::iter::repeat_n(5, 40)).chain([1, 2]).collect();
            round_trip(&values, 3);
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut out = Vec::new();
        assert!(decode(&[], 3, 1, &mut out).is_err());
        assert!(decode(&[0x03, 0x01], 3, 8, &mut out).is_err());
        assert!(decode(&[0xff; 12], 3, 8, &mut out).is_err());
        assert!(decode(&[0x00, 0x00], 3, 8, &mut out).is_err());
    }
}
