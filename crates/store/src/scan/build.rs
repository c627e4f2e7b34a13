//! Arrow arrays that are filled by place, in any order.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int32Array, Int64Array, StringArray, TimestampNanosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use kymo_wire::{AnyValueView, text};

use crate::column::Interner;
use crate::error::StoreError;
use crate::schema::Kind;

/// What a column of batches holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Time,
    Int,
    Double,
    Bool,
    /// Text with a dictionary.
    Text,
    /// Text without one: what rarely repeats, and columns without values.
    Plain,
    Binary,
    Fixed(usize),
}

impl Output {
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Time => Self::Time,
            Kind::Int => Self::Int,
            Kind::Double => Self::Double,
            Kind::Bool => Self::Bool,
            Kind::Text => Self::Text,
            Kind::Binary => Self::Binary,
            Kind::Id16 => Self::Fixed(16),
            Kind::Id8 => Self::Fixed(8),
        }
    }

    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Self::Int => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Plain => DataType::Utf8,
            Self::Binary => DataType::Binary,
            Self::Fixed(width) => DataType::FixedSizeBinary(width as i32),
        }
    }
}

#[derive(Debug)]
enum Filling {
    Int(Vec<i64>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Fixed(Vec<u8>),
    Bytes(Vec<i32>, Interner),
}

/// A column of a batch while it is filled.
#[derive(Debug)]
pub(super) struct Builder {
    output: Output,
    values: Filling,
    valid: Vec<bool>,
}

impl Builder {
    pub(super) fn new(output: Output, rows: usize) -> Self {
        let values = match output {
            Output::Time | Output::Int => Filling::Int(vec![0; rows]),
            Output::Double => Filling::Double(vec![0.0; rows]),
            Output::Bool => Filling::Bool(vec![false; rows]),
            Output::Fixed(width) => Filling::Fixed(vec![0; rows * width]),
            Output::Text | Output::Plain | Output::Binary => {
                Filling::Bytes(vec![0; rows], Interner::default())
            }
        };
        Self { output, values, valid: vec![false; rows] }
    }

    /// The number of a byte string in this batch, for [`Self::put_code`].
    pub(super) fn intern(&mut self, bytes: &[u8]) -> i32 {
        match &mut self.values {
            Filling::Bytes(_, interner) => interner.intern(bytes) as i32,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn put_code(&mut self, at: usize, code: i32) {
        if let Filling::Bytes(codes, _) = &mut self.values {
            codes[at] = code;
            self.valid[at] = true;
        }
    }

    #[inline]
    pub(super) fn put_int(&mut self, at: usize, value: i64) {
        match &mut self.values {
            Filling::Int(values) => values[at] = value,
            Filling::Double(values) => values[at] = value as f64,
            Filling::Bytes(..) => return self.put_text(at, value.to_string().as_bytes()),
            _ => return,
        }
        self.valid[at] = true;
    }

    pub(super) fn put_double(&mut self, at: usize, value: f64) {
        match &mut self.values {
            Filling::Double(values) => values[at] = value,
            Filling::Bytes(..) => return self.put_text(at, value.to_string().as_bytes()),
            _ => return,
        }
        self.valid[at] = true;
    }

    pub(super) fn put_bool(&mut self, at: usize, value: bool) {
        match &mut self.values {
            Filling::Bool(values) => values[at] = value,
            Filling::Bytes(..) => return self.put_text(at, value.to_string().as_bytes()),
            _ => return,
        }
        self.valid[at] = true;
    }

    pub(super) fn put_text(&mut self, at: usize, bytes: &[u8]) {
        let code = self.intern(bytes);
        self.put_code(at, code);
    }

    #[inline]
    pub(super) fn put_id(&mut self, at: usize, id: &[u8]) {
        if let (Filling::Fixed(values), Output::Fixed(width)) = (&mut self.values, self.output)
            && id.len() == width
        {
            values[at * width..(at + 1) * width].copy_from_slice(id);
            self.valid[at] = true;
        }
    }

    /// Puts an attribute's value; one that does not fit the column is left out.
    pub(super) fn put_any(&mut self, at: usize, value: &AnyValueView<'_>) {
        match value {
            AnyValueView::String(text) => self.put_text(at, text),
            AnyValueView::Bool(value) => self.put_bool(at, *value),
            AnyValueView::Int(value) => self.put_int(at, *value),
            AnyValueView::Double(value) => self.put_double(at, *value),
            AnyValueView::Array(_) | AnyValueView::KvList(_) | AnyValueView::Bytes(_) => {
                let mut json = String::new();
                crate::json::write_value(value, &mut json);
                self.put_text(at, json.as_bytes());
            }
            AnyValueView::Empty | AnyValueView::StringIndex(_) => {}
        }
    }

    /// Whether values are kept as byte strings.
    pub(super) fn is_bytes(&self) -> bool {
        matches!(self.values, Filling::Bytes(..))
    }

    /// The array.
    pub(super) fn finish(self) -> Result<ArrayRef, StoreError> {
        let rows = self.valid.len();
        let valid = BooleanBuffer::from(self.valid);
        let nulls = (valid.count_set_bits() < rows).then(|| NullBuffer::new(valid));
        Ok(match self.values {
            Filling::Int(values) if self.output == Output::Time => {
                Arc::new(TimestampNanosecondArray::new(values.into(), nulls).with_timezone("UTC"))
            }
            Filling::Int(values) => Arc::new(Int64Array::new(values.into(), nulls)),
            Filling::Double(values) => Arc::new(Float64Array::new(values.into(), nulls)),
            Filling::Bool(values) => {
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
            }
            Filling::Fixed(values) => {
                let Output::Fixed(width) = self.output else { return Err(wrong()) };
                let array =
                    FixedSizeBinaryArray::try_new(width as i32, Buffer::from_vec(values), nulls);
                Arc::new(array.map_err(arrow)?)
            }
            Filling::Bytes(codes, interner) => {
                let dict = interner.into_dict();
                let value = |nth: usize| {
                    let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(nth));
                    valid.then(|| dict.get(codes[nth] as u32))
                };
                match self.output {
                    Output::Binary => Arc::new((0..rows).map(value).collect::<BinaryArray>()),
                    Output::Plain => {
                        let texts = (0..rows).map(|nth| value(nth).map(text));
                        Arc::new(texts.collect::<StringArray>())
                    }
                    _ => {
                        let entries: StringArray = dict.iter().map(|v| Some(text(v))).collect();
                        let keys = Int32Array::new(codes.into(), nulls);
                        let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(entries));
                        Arc::new(array.map_err(arrow)?)
                    }
                }
            }
        })
    }
}

fn wrong() -> StoreError {
    StoreError::corrupt("a column has another type than its table says")
}

pub(super) fn arrow(error: arrow_schema::ArrowError) -> StoreError {
    StoreError::Query(format!("cannot make a batch: {error}"))
}
