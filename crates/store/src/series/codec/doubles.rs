//! A column of doubles: as decimals where they are decimals, as their bits where they are not.
//!
//! Most measurements are integers or have a few decimals. A double `d` is held as an integer `i`
//! and an exponent `e` (one for the column) if `i / 10^e`, divided as doubles, is `d` bit for bit.
//! The division of two exact doubles is rounded correctly, so that this works for whatever was
//! printed or rounded with `e` decimals, in any language.
//!
//! A few values that do not fit (NaN, infinities, -0.0, stale markers) are set aside whole. Where
//! most do not fit, the bits are the integers, mapped so that order and distance are kept: then the
//! difference of neighbours of like size is small, and common trailing zeros (doubles that were
//! floats once) are a common divisor.

use super::CodecError;
use super::bytes::{Reader, put_varint};
use super::ints::{decode_ints, encode_ints};

const BITS: u8 = 0xff;
const MAX_EXPONENT: usize = 18;
const POWERS: [f64; MAX_EXPONENT + 1] = [
    1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

/// Appends the column. Its length is not written.
pub(super) fn encode_doubles(values: &[f64], out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    if let Some(decimals) = Decimals::find(values) {
        decimals.write(values, out);
        return;
    }
    out.push(BITS);
    let ints: Vec<i64> = values.iter().map(|value| to_ordered(*value)).collect();
    encode_ints(&ints, out);
}

/// Maps the bits so that the integers are ordered and spaced as the doubles are.
///
/// Negative doubles become the negative of their magnitude's bits; -0.0, which would meet 0.0,
/// takes the one integer that is left, the least.
fn to_ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    let magnitude = bits & i64::MAX;
    match (bits < 0, magnitude) {
        (false, _) => bits,
        (true, 0) => i64::MIN,
        (true, _) => -magnitude,
    }
}

fn from_ordered(ordered: i64) -> f64 {
    let bits = if ordered < 0 { ordered.wrapping_neg() | i64::MIN } else { ordered };
    f64::from_bits(bits as u64)
}

/// A column as integers with a common exponent.
struct Decimals {
    exponent: usize,
    ints: Vec<i64>,
    /// Positions of values that are not of this form; their integer repeats the one before.
    special: Vec<usize>,
}

impl Decimals {
    /// Finds the least exponent that fits all values but a few; `None` if there is none.
    fn find(values: &[f64]) -> Option<Self> {
        let most_special = 1 + values.len() / 16;
        let exponent = exponent_for(values, most_special)?;
        let power = POWERS[exponent];
        let mut ints = Vec::with_capacity(values.len());
        let mut all_fit = true;
        ints.extend(values.iter().map(|value| {
            let (int, fits) = scale(*value, power);
            all_fit &= fits;
            int
        }));
        let mut special = Vec::new();
        if !all_fit {
            let mut last = 0;
            for (position, (value, int)) in values.iter().zip(&mut ints).enumerate() {
                if scale(*value, power).1 {
                    last = *int;
                } else {
                    special.push(position);
                    *int = last;
                }
            }
        }
        (special.len() <= most_special).then_some(Self { exponent, ints, special })
    }

    fn write(&self, values: &[f64], out: &mut Vec<u8>) {
        out.push(self.exponent as u8);
        put_varint(out, self.special.len() as u64);
        let mut next = 0;
        for &position in &self.special {
            put_varint(out, (position - next) as u64);
            out.extend_from_slice(&values[position].to_le_bytes());
            next = position + 1;
        }
        encode_ints(&self.ints, out);
    }
}

fn exponent_for(values: &[f64], most_special: usize) -> Option<usize> {
    let mut exponent = 0;
    let mut special = 0;
    for value in values {
        if scale(*value, POWERS[exponent]).1 {
            continue;
        }
        match (exponent + 1..=MAX_EXPONENT).find(|e| scale(*value, POWERS[*e]).1) {
            Some(larger) => exponent = larger,
            None => special += 1,
        }
        if special > most_special {
            return None;
        }
    }
    Some(exponent)
}

/// `value · power` as the nearest integer, and whether that leads back to `value`.
fn scale(value: f64, power: f64) -> (i64, bool) {
    // Adding 1.5 · 2⁵² leaves the integer in the low bits of the sum, rounded, without a branch.
    // Beyond ±2⁵¹ the sum means nothing.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const BOUND: f64 = 2_251_799_813_685_248.0;
    let scaled = value * power;
    let shifted = scaled + SHIFT;
    let int = (shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
    let back = (shifted - SHIFT) / power;
    let fits = (scaled.abs() < BOUND) & (back.to_bits() == value.to_bits());
    (int, fits)
}

/// Appends the next `count` values to `out`; `scratch` is room to work in.
pub(super) fn decode_doubles(
    reader: &mut Reader<'_>,
    count: usize,
    scratch: &mut Vec<i64>,
    out: &mut Vec<f64>,
) -> Result<(), CodecError> {
    if count == 0 {
        return Ok(());
    }
    scratch.clear();
    let exponent = reader.byte()?;
    if exponent == BITS {
        decode_ints(reader, count, scratch)?;
        out.extend(scratch.iter().map(|int| from_ordered(*int)));
        return Ok(());
    }
    let power = *POWERS
        .get(usize::from(exponent))
        .ok_or(CodecError::Corrupt("a column of doubles has an unknown exponent"))?;
    let start = out.len();
    let mut special = Vec::new();
    let mut next = 0;
    for _ in 0..reader.count(count)? {
        let position = next + reader.count(count)?;
        if position >= count {
            return Err(CodecError::Corrupt("a special value lies outside its column"));
        }
        special.push((position, reader.double()?));
        next = position + 1;
    }
    decode_ints(reader, count, scratch)?;
    if exponent == 0 {
        out.extend(scratch.iter().map(|int| *int as f64));
    } else {
        out.extend(scratch.iter().map(|int| *int as f64 / power));
    }
    for (position, value) in special {
        out[start + position] = value;
    }
    Ok(())
}
