//! A column of 64-bit integers: a prediction for each, and what is left of it, packed.
//!
//! All arithmetic wraps modulo 2⁶⁴, so that every column survives, whatever its values; unsigned
//! columns go through as their two's complement.

use super::CodecError;
use super::bytes::{Reader, put_signed, put_varint};
use super::pack::{pack, packed_len, unpack};

/// Residuals of one block share a base and a width. Small enough to follow a series that changes
/// its manner, large enough that the block's own few bytes do not show.
const BLOCK: usize = 256;

const ORDER: u8 = 0b0011;
const CONSTANT: u8 = 0b0100;
const DIVISOR: u8 = 0b1000;
const EXCEPTIONS: u8 = 0x80;

/// How a value is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// As zero.
    Plain = 0,
    /// As the value before.
    Delta = 1,
    /// On the line through the two values before.
    DeltaOfDelta = 2,
    /// On a line through zero, with one slope for the column.
    Line = 3,
}

/// Appends the column. Its length is not written.
pub(super) fn encode_ints(values: &[i64], out: &mut Vec<u8>) {
    let mut best = (u64::MAX, Order::Plain, Vec::new());
    for order in [Order::Plain, Order::Delta, Order::DeltaOfDelta] {
        if order as usize >= values.len() {
            break;
        }
        let residuals = residuals(values, order);
        let bits = spread_bits(&residuals);
        if bits < best.0 {
            best = (bits, order, residuals);
        }
        if bits == 0 {
            break;
        }
    }
    let (_, order, residuals) = best;
    write(values, order, residuals, out);
}

/// As [`encode_ints`], for columns that may jitter around a regular step: tries a line too.
pub(super) fn encode_steps(values: &[i64], out: &mut Vec<u8>) {
    let start = out.len();
    encode_ints(values, out);
    let is_regular = out.get(start).is_none_or(|tag| tag & CONSTANT != 0);
    if is_regular || values.len() < 4 {
        return;
    }
    let mut line = Vec::new();
    write(values, Order::Line, residuals(values, Order::Line), &mut line);
    if line.len() < out.len() - start {
        out.truncate(start);
        out.extend_from_slice(&line);
    }
}

/// The bits of all distances from about the middle: an estimate of what the residuals will take,
/// for a fraction of the cost of finding out, and not misled by a few outliers.
fn spread_bits(residuals: &[i64]) -> u64 {
    const PROBES: usize = 15;
    let step = residuals.len().div_ceil(PROBES);
    let mut probes = [0; PROBES];
    let mut probe_count = 0;
    for (probe, residual) in probes.iter_mut().zip(residuals.iter().step_by(step)) {
        *probe = *residual;
        probe_count += 1;
    }
    let probes = &mut probes[..probe_count];
    probes.sort_unstable();
    let middle = probes[probe_count / 2];
    residuals
        .iter()
        .map(|residual| u64::from(bits(residual.wrapping_sub(middle).unsigned_abs())))
        .sum()
}

/// The mean step, as a multiple of the unit that all steps are multiples of, so that the distances
/// from the line are multiples too.
fn slope(values: &[i64]) -> i64 {
    let half = values.len() / 2;
    let rest = values.len() - half;
    if half == 0 {
        return 0;
    }
    // From the middle of one half to the middle of the other: first and last value alone would let
    // their own jitter tilt the line.
    let total = |values: &[i64]| values.iter().map(|value| i128::from(*value)).sum::<i128>();
    let rise = total(&values[rest..]) - total(&values[..half]);
    let mean = (rise / (half * rest) as i128) as i64;
    match common_divisor(values) {
        unit if unit > 1 => mean.saturating_add(unit / 2) / unit * unit,
        _ => mean,
    }
}

fn residuals(values: &[i64], order: Order) -> Vec<i64> {
    match order {
        Order::Plain => values.to_vec(),
        Order::Delta => values.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect(),
        Order::DeltaOfDelta => values
            .windows(3)
            .map(|w| w[2].wrapping_sub(w[1]).wrapping_sub(w[1].wrapping_sub(w[0])))
            .collect(),
        Order::Line => {
            let slope = slope(values);
            (0..).zip(values).map(|(i, v)| v.wrapping_sub(slope.wrapping_mul(i))).collect()
        }
    }
}

fn write(values: &[i64], order: Order, mut residuals: Vec<i64>, out: &mut Vec<u8>) {
    let Some(&anchor) = residuals.first() else { return };
    let divisor = common_divisor(&residuals);
    let mut tag = order as u8;
    if divisor == 0 {
        tag |= CONSTANT;
    } else if divisor > 1 {
        tag |= DIVISOR;
    }
    out.push(tag);
    match order {
        Order::Plain => {}
        Order::Delta => put_signed(out, values[0]),
        Order::DeltaOfDelta => {
            put_signed(out, values[0]);
            put_signed(out, values[1].wrapping_sub(values[0]));
        }
        Order::Line => put_signed(out, slope(values)),
    }
    if divisor != 1 {
        put_signed(out, anchor);
    }
    if divisor == 0 {
        return;
    }
    if divisor > 1 {
        put_varint(out, divisor as u64);
        for residual in &mut residuals {
            *residual = residual.wrapping_sub(anchor) / divisor;
        }
    }
    let mut sorted = Vec::new();
    for block in residuals.chunks(BLOCK) {
        let window = Window::choose(block, &mut sorted);
        write_block(block, &window, out);
    }
}

/// The greatest number that divides the distance of all values from the first; 0 if all are equal.
fn common_divisor(values: &[i64]) -> i64 {
    let mut divisor = 0_u64;
    for value in values {
        let mut rest = value.wrapping_sub(values[0]).unsigned_abs();
        if divisor == 1 {
            break;
        }
        if divisor == 0 || rest == 0 {
            divisor |= rest;
            continue;
        }
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
    }
    // A distance of 2⁶³ has no signed opposite; such a column is stored undivided.
    i64::try_from(divisor).unwrap_or(1)
}

/// The range that most values of a block lie in: `base` and the `2^width - 1` numbers above.
struct Window {
    base: i64,
    width: u32,
    has_exceptions: bool,
    cost_bits: usize,
}

impl Window {
    /// Finds the cheapest window, leaving out at most a quarter of the values.
    fn choose(block: &[i64], sorted: &mut Vec<i64>) -> Self {
        sorted.clear();
        sorted.extend_from_slice(block);
        sorted.sort_unstable();
        let len = sorted.len();
        let range_bits =
            |low: usize, high: usize| bits(sorted[high].wrapping_sub(sorted[low]) as u64);
        let full_bits = range_bits(0, len - 1);
        let mut best = Self {
            base: sorted[0],
            width: full_bits,
            has_exceptions: false,
            cost_bits: len * full_bits as usize,
        };
        let mut exceptions = 1;
        while exceptions <= len / 4 && best.width > 0 {
            // Of all windows that hold the rest, the narrowest.
            let (width, low) = (0..=exceptions)
                .map(|low| (range_bits(low, low + len - exceptions - 1), low))
                .min()
                .unwrap_or((full_bits, 0));
            let exception_bits = 16 + (full_bits - width) as usize * 8 / 7;
            let cost_bits = len * width as usize + exceptions * exception_bits + 8;
            if cost_bits < best.cost_bits {
                best = Self { base: sorted[low], width, has_exceptions: true, cost_bits };
            }
            exceptions += 1 + exceptions / 4;
        }
        best
    }
}

/// The bits that a distance takes.
fn bits(distance: u64) -> u32 {
    64 - distance.leading_zeros()
}

fn write_block(block: &[i64], window: &Window, out: &mut Vec<u8>) {
    let Window { base, width, has_exceptions, .. } = *window;
    let offsets = block.iter().map(|value| value.wrapping_sub(base));
    put_signed(out, base);
    out.push(width as u8 | if has_exceptions { EXCEPTIONS } else { 0 });
    pack(offsets.clone().map(|offset| offset as u64), width, out);
    if !has_exceptions {
        return;
    }
    let above = offsets.map(|offset| offset >> width).enumerate().filter(|(_, high)| *high != 0);
    put_varint(out, above.clone().count() as u64);
    let mut next = 0;
    for (position, high) in above {
        put_varint(out, (position - next) as u64);
        put_signed(out, high);
        next = position + 1;
    }
}

/// Appends the next `count` values to `out`.
pub(super) fn decode_ints(
    reader: &mut Reader<'_>,
    count: usize,
    out: &mut Vec<i64>,
) -> Result<(), CodecError> {
    if count == 0 {
        return Ok(());
    }
    let tag = reader.byte()?;
    if tag & !(ORDER | CONSTANT | DIVISOR) != 0 || tag & (CONSTANT | DIVISOR) == CONSTANT | DIVISOR
    {
        return Err(CodecError::Corrupt("an integer column has an unknown tag"));
    }
    let order = tag & ORDER;
    let seeds = if order == 3 { 0 } else { usize::from(order) };
    if seeds >= count {
        return Err(CodecError::Corrupt("an integer column is shorter than its order"));
    }
    let first = if order == 0 { 0 } else { reader.signed()? };
    let second = if order == 2 { reader.signed()? } else { 0 };
    out.reserve(count);
    let start = out.len();
    match order {
        1 => out.push(first),
        2 => out.extend([first, first.wrapping_add(second)]),
        _ => {}
    }
    read_residuals(reader, tag, count - seeds, out)?;
    let values = &mut out[start..];
    match order {
        1 => add_up(&mut values[1..], first),
        2 => {
            add_up(&mut values[2..], second);
            add_up(&mut values[2..], first.wrapping_add(second));
        }
        3 => {
            for (i, value) in (0..).zip(values) {
                *value = value.wrapping_add(first.wrapping_mul(i));
            }
        }
        _ => {}
    }
    Ok(())
}

fn add_up(values: &mut [i64], mut last: i64) {
    for value in values {
        last = last.wrapping_add(*value);
        *value = last;
    }
}

fn read_residuals(
    reader: &mut Reader<'_>,
    tag: u8,
    count: usize,
    out: &mut Vec<i64>,
) -> Result<(), CodecError> {
    let start = out.len();
    if tag & CONSTANT != 0 {
        out.resize(start + count, reader.signed()?);
        return Ok(());
    }
    let scale = match tag & DIVISOR {
        0 => None,
        _ => Some((reader.signed()?, reader.varint()? as i64)),
    };
    let mut left = count;
    while left > 0 {
        let block_len = left.min(BLOCK);
        read_block(reader, block_len, out)?;
        left -= block_len;
    }
    if let Some((anchor, divisor)) = scale {
        for value in &mut out[start..] {
            *value = value.wrapping_mul(divisor).wrapping_add(anchor);
        }
    }
    Ok(())
}

fn read_block(reader: &mut Reader<'_>, count: usize, out: &mut Vec<i64>) -> Result<(), CodecError> {
    let base = reader.signed()?;
    let head = reader.byte()?;
    let width = u32::from(head & !EXCEPTIONS);
    if width > 64 {
        return Err(CodecError::Corrupt("a block is wider than 64 bits"));
    }
    let packed = reader.take(packed_len(count, width))?;
    let start = out.len();
    unpack(packed, width, count, base, out);
    if head & EXCEPTIONS == 0 {
        return Ok(());
    }
    let mut next = start;
    for _ in 0..reader.count(count)? {
        let position = next + reader.count(count)?;
        let high = reader.signed()?.checked_shl(width).unwrap_or(0);
        let value = out
            .get_mut(position)
            .ok_or(CodecError::Corrupt("an exception lies outside its block"))?;
        *value = value.wrapping_add(high);
        next = position + 1;
    }
    Ok(())
}
