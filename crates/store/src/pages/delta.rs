//! Parquet's `DELTA_BINARY_PACKED` for 64-bit integers.
//!
//! Header: block size, miniblocks a block, count, first value (zigzag). A block:
//! its least delta (zigzag), a width for each miniblock, the miniblocks' deltas
//! less the least one, packed.

use super::{PageError, bits_for, read_varint, write_varint};

const BLOCK: usize = 128;
const MINIBLOCKS: usize = 4;
const MINIBLOCK: usize = BLOCK / MINIBLOCKS;

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends `values`.
pub(crate) fn encode(values: &[i64], out: &mut Vec<u8>) {
    write_varint(BLOCK as u64, out);
    write_varint(MINIBLOCKS as u64, out);
    write_varint(values.len() as u64, out);
    write_varint(zigzag(values.first().copied().unwrap_or(0)), out);
    let mut deltas = [0i64; BLOCK];
    let mut previous = values.first().copied().unwrap_or(0);
    for block in values.get(1..).unwrap_or_default().chunks(BLOCK) {
        for (delta, value) in deltas.iter_mut().zip(block) {
            *delta = value.wrapping_sub(previous);
            previous = *value;
        }
        encode_block(&deltas[..block.len()], out);
    }
}

fn encode_block(deltas: &[i64], out: &mut Vec<u8>) {
    let least = deltas.iter().copied().min().unwrap_or(0);
    write_varint(zigzag(least), out);
    let widths_at = out.len();
    out.extend_from_slice(&[0; MINIBLOCKS]);
    for (index, mini) in deltas.chunks(MINIBLOCK).enumerate() {
        let most = mini.iter().map(|d| d.wrapping_sub(least) as u64).max().unwrap_or(0);
        let width = bits_for(most);
        out[widths_at + index] = width;
        let end = out.len() + MINIBLOCK * usize::from(width) / 8;
        let mut pending = 0u128;
        let mut bits = 0u32;
        for delta in mini {
            pending |= u128::from(delta.wrapping_sub(least) as u64) << bits;
            bits += u32::from(width);
            if bits >= 64 {
                out.extend_from_slice(&(pending as u64).to_le_bytes());
                pending >>= 64;
                bits -= 64;
            }
        }
        out.extend_from_slice(&(pending as u64).to_le_bytes()[..(bits as usize).div_ceil(8)]);
        out.resize(end, 0);
    }
}

/// Appends the values of `bytes`, which must be exactly `count`, to `out`.
pub(crate) fn decode(bytes: &[u8], count: usize, out: &mut Vec<i64>) -> Result<(), PageError> {
    let mut at = 0;
    let block = read_varint(bytes, &mut at)?;
    let miniblocks = read_varint(bytes, &mut at)?;
    let total = read_varint(bytes, &mut at)?;
    let mut previous = unzigzag(read_varint(bytes, &mut at)?);
    if block != BLOCK as u64 || miniblocks != MINIBLOCKS as u64 || total != count as u64 {
        return Err(PageError("delta header does not fit the page"));
    }
    if count == 0 {
        return Ok(());
    }
    out.reserve(count);
    out.push(previous);
    let mut left = count - 1;
    while left > 0 {
        let least = unzigzag(read_varint(bytes, &mut at)?);
        let mut widths = [0u8; MINIBLOCKS];
        let raw = bytes.get(at..at + MINIBLOCKS).ok_or(PageError("deltas cut short"))?;
        widths.copy_from_slice(raw);
        at += MINIBLOCKS;
        for width in widths {
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err(PageError("delta wider than 64 bits"));
            }
            let size = MINIBLOCK * usize::from(width) / 8;
            let packed = bytes.get(at..at + size).ok_or(PageError("deltas cut short"))?;
            at += size;
            let take = left.min(MINIBLOCK);
            unpack(packed, width, take, |delta| {
                previous = previous.wrapping_add(least).wrapping_add(delta as i64);
                out.push(previous);
            });
            left -= take;
        }
    }
    Ok(())
}

#[inline]
fn unpack(packed: &[u8], width: u8, count: usize, mut each: impl FnMut(u64)) {
    if width == 0 {
        (0..count).for_each(|_| each(0));
        return;
    }
    let width = usize::from(width);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let mut bit = 0;
    for _ in 0..count {
        let byte = bit >> 3;
        let value = match packed.get(byte..byte + 8) {
            Some(word) if width + (bit & 7) <= 64 => {
                let mut raw = [0u8; 8];
                raw.copy_from_slice(word);
                u64::from_le_bytes(raw) >> (bit & 7)
            }
            _ => {
                let mut raw = [0u8; 16];
                let rest = &packed[byte..packed.len().min(byte + 16)];
                raw[..rest.len()].copy_from_slice(rest);
                (u128::from_le_bytes(raw) >> (bit & 7)) as u64
            }
        };
        each(value & mask);
        bit += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[i64]) {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        let mut back = Vec::new();
        decode(&bytes, values.len(), &mut back).unwrap();
        assert_eq!(back, values);
    }

    #[test]
    fn values_of_every_width_come_back() {
        round_trip(&[]);
        round_trip(&[42]);
        round_trip(&[i64::MIN, i64::MAX, 0, -1, 1, i64::MAX, i64::MIN]);
        for bits in 0..64 {
            for count in [2usize, 31, 32, 33, 128, 129, 130, 500] {
                let values: Vec<i64> = (0..count as u64)
                    .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - bits)) as i64)
                    .collect();
                round_trip(&values);
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut bytes = Vec::new();
        encode(&(0..1000).map(|i| i * i).collect::<Vec<i64>>(), &mut bytes);
        for end in 0..bytes.len() - 1 {
            let mut out = Vec::new();
            assert!(decode(&bytes[..end], 1000, &mut out).is_err(), "cut at {end}");
        }
        assert!(decode(&bytes, 999, &mut Vec::new()).is_err());
    }
}
