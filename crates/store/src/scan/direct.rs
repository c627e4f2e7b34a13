//! Rows of one granule straight to Arrow arrays: values that lie side by side are
//! copied side by side, and dictionaries are shared, not built again.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int64Array,
    StringArray, TimestampNanosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use kymo_wire::text;

use super::build::{Output, arrow, dictionary};
use super::origins::{NO_TEXT, OriginTexts};
use super::packed::{Ints, Piece, Present, Slice};
use crate::column::Dict;
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_MAX_BYTES;

/// Rows of a granule that a batch is made of.
#[derive(Debug, Clone)]
pub(super) enum Picked {
    /// All of so many.
    All(usize),
    /// These; they ascend, and may repeat.
    Rows(Vec<u32>),
}

impl Picked {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Rows(rows) => rows.len(),
        }
    }

    /// Each row with its place in the batch.
    pub(super) fn places(&self) -> Vec<(u32, usize)> {
        match self {
            Self::All(rows) => (0..*rows).map(|row| (row as u32, row)).collect(),
            Self::Rows(rows) => rows.iter().copied().zip(0..).collect(),
        }
    }

    /// The first and the second half.
    pub(super) fn halves(self) -> (Self, Self) {
        let mut rows = match self {
            Self::All(rows) => (0..rows as u32).collect::<Vec<_>>(),
            Self::Rows(rows) => rows,
        };
        let second = rows.split_off(rows.len() / 2);
        (Self::Rows(rows), Self::Rows(second))
    }
}

/// Values of a column by place in the batch, with fillers where there is none.
struct Gathered<T> {
    values: Vec<T>,
    nulls: Option<NullBuffer>,
}

/// The array of picked rows; `None` if the column has another type than the
/// output, or is a text, which needs its dictionary: see [`text_array`].
pub(super) fn array(
    piece: &Piece<'_>,
    picked: &Picked,
    output: Output,
) -> Result<Option<ArrayRef>, StoreError> {
    let present = &piece.present;
    Ok(Some(match (piece.values, output) {
        (Slice::Int(ints), Output::Time) => {
            let found = gather_ints(&ints, present, picked, |value| value);
            let array = TimestampNanosecondArray::new(found.values.into(), found.nulls);
            Arc::new(array.with_timezone("UTC"))
        }
        (Slice::Int(ints), Output::Int) => {
            let found = gather_ints(&ints, present, picked, |value| value);
            Arc::new(Int64Array::new(found.values.into(), found.nulls))
        }
        (Slice::Int(ints), Output::Double) => {
            let found = gather_ints(&ints, present, picked, |value| value as f64);
            Arc::new(Float64Array::new(found.values.into(), found.nulls))
        }
        (Slice::Double(values), Output::Double) => {
            let found = gather(values, present, picked, |value| value);
            Arc::new(Float64Array::new(found.values.into(), found.nulls))
        }
        (Slice::Bool(values), Output::Bool) => {
            let found = gather(values, present, picked, |value| value);
            Arc::new(BooleanArray::new(BooleanBuffer::from(found.values), found.nulls))
        }
        (Slice::Id8(ids), Output::Fixed(8)) => {
            let found = gather(ids, present, picked, |id| id);
            fixed(8, found.values.into_flattened(), found.nulls)?
        }
        (Slice::Id16(ids), Output::Fixed(16)) => {
            let found = gather(ids, present, picked, |id| id);
            fixed(16, found.values.into_flattened(), found.nulls)?
        }
        _ => return Ok(None),
    }))
}

fn fixed(width: i32, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef, StoreError> {
    let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(array.map_err(arrow)?))
}

/// The array of picked texts. Their codes are places in `texts`; rows without one
/// take `default`, if there is one.
pub(super) fn text_array(
    codes: &Ints<'_>,
    present: &Present<'_>,
    picked: &Picked,
    texts: ArrayRef,
    default: Option<i32>,
) -> Result<ArrayRef, StoreError> {
    let Gathered { mut values, mut nulls } =
        gather_ints(codes, present, picked, |code| code as i32);
    if let (Some(default), Some(missing)) = (default, nulls.take_if(|_| default.is_some())) {
        for (at, value) in values.iter_mut().enumerate() {
            *value = if missing.is_null(at) { default } else { *value };
        }
    }
    dictionary(values, nulls, texts)
}

/// The array of picked byte strings without a dictionary; `None` if it would be
/// larger than a batch may be.
pub(super) fn plain_array(
    codes: &Ints<'_>,
    dict: &Dict,
    present: &Present<'_>,
    picked: &Picked,
    output: Output,
) -> Option<ArrayRef> {
    let Gathered { values, nulls } = gather_ints(codes, present, picked, |code| code as u32);
    let valid = |at: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at));
    let found = || {
        let numbered = values.iter().enumerate();
        numbered.map(|(at, code)| valid(at).then(|| dict.get(*code)))
    };
    let bytes: usize = found().flatten().map(<[u8]>::len).sum();
    if bytes > SCAN_BATCH_MAX_BYTES && picked.len() > 1 {
        return None;
    }
    Some(match output {
        Output::Binary => Arc::new(found().collect::<BinaryArray>()),
        _ => Arc::new(found().map(|value| value.map(text)).collect::<StringArray>()),
    })
}

/// The array of what rows have from their origins, whose numbers are `codes`.
pub(super) fn origin_array(
    codes: &Ints<'_>,
    picked: &Picked,
    shown: &OriginTexts,
) -> Result<ArrayRef, StoreError> {
    // An origin that is not there is found by its key, which no dictionary has.
    const NO_ORIGIN: i32 = i32::MIN;
    let key = |code: i64| match usize::try_from(code) {
        Ok(code) => shown.keys.get(code).copied().unwrap_or(NO_ORIGIN),
        Err(_) => NO_ORIGIN,
    };
    let mut keys = gather_ints(codes, &Present::All, picked, key).values;
    let least = keys.iter().copied().min().unwrap_or(0);
    if least == NO_ORIGIN {
        return Err(StoreError::corrupt("a row has no origin"));
    }
    let nulls = (least == NO_TEXT).then(|| {
        let valid = BooleanBuffer::collect_bool(keys.len(), |at| keys[at] != NO_TEXT);
        keys.iter_mut().for_each(|key| *key = (*key).max(0));
        NullBuffer::new(valid)
    });
    dictionary(keys, nulls, shown.texts.clone())
}

fn gather_ints<T: Copy + Default>(
    ints: &Ints<'_>,
    present: &Present<'_>,
    picked: &Picked,
    convert: impl Fn(i64) -> T,
) -> Gathered<T> {
    match ints {
        Ints::U8(base, values) => {
            gather(values, present, picked, |v| convert(base.wrapping_add(i64::from(v))))
        }
        Ints::U16(base, values) => {
            gather(values, present, picked, |v| convert(base.wrapping_add(i64::from(v))))
        }
        Ints::U32(base, values) => {
            gather(values, present, picked, |v| convert(base.wrapping_add(i64::from(v))))
        }
        Ints::I64(values) => gather(values, present, picked, convert),
    }
}

#[inline]
fn gather<S: Copy, T: Copy + Default>(
    values: &[S],
    present: &Present<'_>,
    picked: &Picked,
    convert: impl Fn(S) -> T,
) -> Gathered<T> {
    if let Present::Rows { rows, first } = present {
        return gather_sparse(values, rows, *first, picked, convert);
    }
    let gathered = match picked {
        Picked::All(_) => values.iter().map(|value| convert(*value)).collect(),
        Picked::Rows(rows) => rows.iter().map(|row| convert(values[*row as usize])).collect(),
    };
    let nulls = match present {
        Present::Bits(bits) => bit_nulls(bits, picked),
        _ => None,
    };
    Gathered { values: gathered, nulls }
}

/// Values lie one after another, and so do the picked rows: both are walked once.
fn gather_sparse<S: Copy, T: Copy + Default>(
    values: &[S],
    rows: &[u32],
    first: u32,
    picked: &Picked,
    convert: impl Fn(S) -> T,
) -> Gathered<T> {
    let mut gathered = vec![T::default(); picked.len()];
    let mut valid = vec![false; picked.len()];
    match picked {
        Picked::All(_) => {
            for (row, value) in rows.iter().zip(values) {
                let at = (row - first) as usize;
                gathered[at] = convert(*value);
                valid[at] = true;
            }
        }
        Picked::Rows(wanted) => {
            let mut nth = 0;
            for (at, row) in wanted.iter().enumerate() {
                let row = row + first;
                nth += rows[nth..].iter().take_while(|present| **present < row).count();
                if rows.get(nth) == Some(&row) {
                    gathered[at] = convert(values[nth]);
                    valid[at] = true;
                }
            }
        }
    }
    let nulls = NullBuffer::new(BooleanBuffer::from(valid));
    Gathered { values: gathered, nulls: (nulls.null_count() > 0).then_some(nulls) }
}

fn bit_nulls(bits: &[u64], picked: &Picked) -> Option<NullBuffer> {
    let valid = match picked {
        Picked::All(rows) => BooleanBuffer::new(Buffer::from_vec(bits.to_vec()), 0, *rows),
        Picked::Rows(rows) => BooleanBuffer::collect_bool(rows.len(), |at| {
            let row = rows[at] as usize;
            bits[row / 64] >> (row % 64) & 1 == 1
        }),
    };
    let nulls = NullBuffer::new(valid);
    (nulls.null_count() > 0).then_some(nulls)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::super::packed::Packed;
    use super::*;
    use crate::column::{Column, Rows, Values};

    #[test]
    fn picked_rows_have_their_values_however_the_column_is_packed() {
        const ROWS: usize = 1000;
        for every in [1u32, 2, 50] {
            let present: Vec<u32> =
                (0..ROWS as u32).filter(|row| row.is_multiple_of(every)).collect();
            let value = |row: u32| i64::from(row) * 3 - 7;
            let values = Values::Int(present.iter().map(|row| value(*row)).collect());
            let column = Column { rows: Rows::Some(present), values };
            let packed = Packed::new(column, ROWS).unwrap();
            let piece = packed.piece(0, 0..ROWS);
            let some = vec![0, 0, 1, 49, 50, 50, 51, 100, 999];
            for picked in [Picked::All(ROWS), Picked::Rows(some), Picked::Rows(vec![])] {
                let array = array(&piece, &picked, Output::Int).unwrap().unwrap();
                let array = array.as_primitive::<Int64Type>();
                assert_eq!(array.len(), picked.len());
                for (row, at) in picked.places() {
                    let found = array.is_valid(at).then(|| array.value(at));
                    assert_eq!(found, row.is_multiple_of(every).then(|| value(row)), "{row}");
                }
            }
        }
    }
}
