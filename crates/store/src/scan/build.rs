//! Arrow arrays that are filled by place, in any order.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int32Array, Int64Array, StringArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use base64::prelude::{BASE64_STANDARD, Engine};
use kymo_wire::{AnyValueView, text};

use crate::column::{Dict, Interner};
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_MAX_BYTES;
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
    /// Unsigned integers: counts of points.
    UInt,
    /// Lists of doubles or of unsigned integers, of points.
    DoubleList,
    UIntList,
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
            Self::UInt => DataType::UInt64,
            Self::DoubleList => list_of(DataType::Float64),
            Self::UIntList => list_of(DataType::UInt64),
        }
    }
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// A dictionary as an array of texts, with one more at its end if there is one.
pub(super) fn texts_of(dict: &Dict, more: Option<&str>) -> ArrayRef {
    let entries = dict.iter().map(|entry| Some(text(entry)));
    let more = more.map(|more| Some(Cow::Borrowed(more)));
    Arc::new(entries.chain(more).collect::<StringArray>())
}

/// The text that stands for a value, as columns of several types show it; `None` if it has no
/// value. Bytes are in base64, lists are JSON.
pub fn shown_text<'v>(value: &AnyValueView<'v>) -> Option<Cow<'v, [u8]>> {
    let owned = |text: String| Some(Cow::Owned(text.into_bytes()));
    match value {
        AnyValueView::String(text) => Some(Cow::Borrowed(text)),
        AnyValueView::Bool(value) => owned(value.to_string()),
        AnyValueView::Int(value) => owned(value.to_string()),
        AnyValueView::Double(value) => owned(value.to_string()),
        AnyValueView::Bytes(bytes) => owned(BASE64_STANDARD.encode(bytes)),
        AnyValueView::Array(_) | AnyValueView::KvList(_) => {
            let mut json = String::new();
            crate::json::write_value(value, &mut json);
            owned(json)
        }
        AnyValueView::Empty | AnyValueView::StringIndex(_) => None,
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
    /// Bytes of the texts that the array will hold.
    text_bytes: usize,
}

impl Builder {
    pub(super) fn new(output: Output, rows: usize) -> Self {
        let values = match output {
            Output::Time | Output::Int | Output::UInt => Filling::Int(vec![0; rows]),
            Output::Double => Filling::Double(vec![0.0; rows]),
            Output::Bool => Filling::Bool(vec![false; rows]),
            Output::Fixed(width) => Filling::Fixed(vec![0; rows * width]),
            // Lists are made of points elsewhere.
            Output::Text
            | Output::Plain
            | Output::Binary
            | Output::DoubleList
            | Output::UIntList => Filling::Bytes(vec![0; rows], Interner::default()),
        };
        Self { output, values, valid: vec![false; rows], text_bytes: 0 }
    }

    /// Whether there is more text than a batch may have: then some is left out,
    /// and fewer rows are to be tried.
    pub(super) fn is_too_large(&self) -> bool {
        self.text_bytes > SCAN_BATCH_MAX_BYTES && self.valid.len() > 1
    }

    /// The number of a byte string in this batch, for [`Self::put_code`].
    pub(super) fn intern(&mut self, bytes: &[u8]) -> i32 {
        if self.output == Output::Text {
            self.text_bytes += bytes.len();
        }
        let too_large = self.is_too_large();
        match &mut self.values {
            Filling::Bytes(_, interner) if !too_large => interner.intern(bytes) as i32,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn put_code(&mut self, at: usize, code: i32) {
        if let Filling::Bytes(codes, interner) = &mut self.values {
            if self.output != Output::Text {
                self.text_bytes += interner.dict().get(code as u32).len();
            }
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
            other => {
                if let (true, Some(text)) = (self.is_bytes(), shown_text(other)) {
                    self.put_text(at, &text);
                }
            }
        }
    }

    /// What the array will hold.
    pub(super) fn output(&self) -> Output {
        self.output
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
            Filling::Int(values) if self.output == Output::UInt => {
                let values: Vec<u64> = values.into_iter().map(|value| value as u64).collect();
                Arc::new(UInt64Array::new(values.into(), nulls))
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
                    _ => dictionary(codes, nulls, texts_of(&dict, None))?,
                }
            }
        })
    }
}

/// An array of texts by their places in `texts`.
pub(super) fn dictionary(
    keys: Vec<i32>,
    nulls: Option<NullBuffer>,
    texts: ArrayRef,
) -> Result<ArrayRef, StoreError> {
    let keys = Int32Array::new(keys.into(), nulls);
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).map_err(arrow)?))
}

fn wrong() -> StoreError {
    StoreError::corrupt("a column has another type than its table says")
}

pub(super) fn arrow(error: arrow_schema::ArrowError) -> StoreError {
    StoreError::Query(format!("cannot make a batch: {error}"))
}
