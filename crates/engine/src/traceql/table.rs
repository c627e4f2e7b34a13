//! Rows that were read, and their values.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use kymo_traceql::ast::{Kind, Status};
use kymo_traceql::value::{Element, Value};

use super::layout::{From, How, Place};

/// A column of a batch, ready to be looked at row by row.
#[derive(Debug)]
pub(crate) enum View {
    /// Texts with a dictionary.
    Codes(Int32Array, StringArray),
    Texts(StringArray),
    Ints(Int64Array),
    Times(TimestampNanosecondArray),
    Floats(Float64Array),
    Bools(BooleanArray),
    Ids(FixedSizeBinaryArray),
    /// Arrays, parsed: one for each entry of the dictionary, or for each row.
    Arrays(Option<Int32Array>, Vec<Option<Vec<Element>>>),
    /// Ids as text.
    Hex(Vec<Option<String>>),
    /// No row has a value.
    Nothing,
}

impl View {
    pub(crate) fn new(array: &ArrayRef) -> Self {
        match array.data_type() {
            DataType::Dictionary(..) => match array.as_dictionary_opt::<Int32Type>() {
                Some(dictionary) => match dictionary.values().as_string_opt::<i32>() {
                    Some(texts) => Self::Codes(dictionary.keys().clone(), texts.clone()),
                    None => Self::Nothing,
                },
                None => Self::Nothing,
            },
            DataType::Utf8 => Self::Texts(array.as_string::<i32>().clone()),
            DataType::Int64 => Self::Ints(array.as_primitive::<Int64Type>().clone()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Self::Times(array.as_primitive::<TimestampNanosecondType>().clone())
            }
            DataType::Float64 => Self::Floats(array.as_primitive::<Float64Type>().clone()),
            DataType::Boolean => Self::Bools(array.as_boolean().clone()),
            DataType::FixedSizeBinary(_) => Self::Ids(array.as_fixed_size_binary().clone()),
            _ => Self::Nothing,
        }
    }

    /// The same, with what `how` needs made ready.
    fn ready_for(self, how: How) -> Self {
        match (how, self) {
            (How::Array, Self::Codes(codes, texts)) => {
                let parsed = texts.iter().map(|text| text.map(elements)).collect();
                Self::Arrays(Some(codes), parsed)
            }
            (How::Array, Self::Texts(texts)) => {
                Self::Arrays(None, texts.iter().map(|text| text.map(elements)).collect())
            }
            (How::Hex, Self::Ids(ids)) => Self::Hex(ids.iter().map(|id| id.map(id_text)).collect()),
            (_, view) => view,
        }
    }

    /// The text of a row.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Codes(codes, texts) => {
                codes.is_valid(row).then(|| texts.value(codes.value(row) as usize))
            }
            Self::Texts(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::Hex(texts) => texts.get(row)?.as_deref(),
            _ => None,
        }
    }

    /// The integer or time of a row.
    pub(crate) fn int(&self, row: usize) -> Option<i64> {
        match self {
            Self::Ints(values) => values.is_valid(row).then(|| values.value(row)),
            Self::Times(values) => values.is_valid(row).then(|| values.value(row)),
            _ => None,
        }
    }

    /// The code of a row's text, or -1 if it has none; `None` if there is no dictionary.
    pub(crate) fn code(&self, row: usize) -> Option<i32> {
        match self {
            Self::Codes(codes, _) if codes.is_valid(row) => Some(codes.value(row)),
            Self::Codes(..) | Self::Nothing => Some(-1),
            _ => None,
        }
    }

    /// Any value of a row as text; ids in hexadecimal.
    pub(crate) fn shown(&self, row: usize) -> Option<Cow<'_, str>> {
        let owned = |text: String| Some(Cow::Owned(text));
        match self {
            Self::Codes(..) | Self::Texts(_) | Self::Hex(_) => self.text(row).map(Cow::Borrowed),
            Self::Ints(_) | Self::Times(_) => owned(self.int(row)?.to_string()),
            Self::Floats(values) if values.is_valid(row) => owned(values.value(row).to_string()),
            Self::Bools(values) if values.is_valid(row) => owned(values.value(row).to_string()),
            Self::Ids(_) => owned(hex(self.id(row)?)),
            _ => None,
        }
    }

    /// The id of a row.
    pub(super) fn id(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Ids(values) => values.is_valid(row).then(|| values.value(row)),
            _ => None,
        }
    }

    /// The value of a row; `start_nanos` is when its span began.
    pub(super) fn value(&self, row: usize, how: How, start_nanos: i64) -> Value<'_> {
        let found = match how {
            How::Text | How::Hex => self.text(row).map(Value::Text),
            How::Int => self.int(row).map(Value::Int),
            How::Duration => self.int(row).map(Value::Duration),
            How::SinceStart => {
                self.int(row).map(|time| Value::Duration(time.saturating_sub(start_nanos)))
            }
            How::Float => match self {
                Self::Floats(values) => {
                    values.is_valid(row).then(|| Value::Float(values.value(row)))
                }
                _ => None,
            },
            How::Bool => match self {
                Self::Bools(values) => values.is_valid(row).then(|| Value::Bool(values.value(row))),
                _ => None,
            },
            How::Array => match self {
                Self::Arrays(codes, parsed) => {
                    let place = match codes {
                        None => Some(row),
                        Some(codes) => codes.is_valid(row).then(|| codes.value(row) as usize),
                    };
                    let found = place.and_then(|place| parsed.get(place)?.as_deref());
                    found.map(Value::Array)
                }
                _ => None,
            },
            How::Status => self.text(row).and_then(Status::from_name).map(Value::Status),
            How::Kind => self.text(row).and_then(Kind::from_name).map(Value::Kind),
        };
        found.unwrap_or(Value::Nil)
    }
}

/// An id as queries compare it: those of traces without leading zeros.
pub(super) fn id_text(id: &[u8]) -> String {
    let text = hex(id);
    match id.len() {
        16 => text.trim_start_matches('0').to_owned(),
        _ => text,
    }
}

/// An id in hexadecimal.
fn hex(id: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits =
        id.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}

/// Members of an array in JSON, as far as they can be compared. What is no array, or has others in
/// it, has none: it is there, and equals nothing.
fn elements(json: &str) -> Vec<Element> {
    if !json.starts_with('[') {
        return Vec::new();
    }
    let Ok(serde_json::Value::Array(members)) = serde_json::from_str(json) else {
        return Vec::new();
    };
    let found: Option<Vec<Element>> = members
        .into_iter()
        .map(|member| match member {
            serde_json::Value::Bool(value) => Some(Element::Bool(value)),
            serde_json::Value::String(text) => Some(Element::Text(text.into())),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(value) => Some(Element::Int(value)),
                None => number.as_f64().map(Element::Float),
            },
            _ => None,
        })
        .collect();
    let found = found.unwrap_or_default();
    let is_one_type = found.windows(2).all(|pair| {
        let is_number = |element: &Element| matches!(element, Element::Int(_) | Element::Float(_));
        std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1])
            || (is_number(&pair[0]) && is_number(&pair[1]))
    });
    if is_one_type { found } else { Vec::new() }
}

/// Rows in batches, one after another.
#[derive(Debug, Default)]
pub(super) struct Table {
    batches: Vec<Vec<View>>,
    /// The first row of each batch, and the end.
    begins: Vec<usize>,
    pub(super) bytes: usize,
}

impl Table {
    /// `places` says how columns will be looked at.
    pub(super) fn new<'p>(
        batches: &[RecordBatch],
        places: impl Iterator<Item = &'p Place> + Clone,
    ) -> Self {
        let mut table = Self { begins: vec![0], ..Self::default() };
        for batch in batches {
            let mut views: Vec<View> = batch.columns().iter().map(View::new).collect();
            for (column, how) in places.clone() {
                if let Some(view) = views.get_mut(*column) {
                    *view = std::mem::replace(view, View::Nothing).ready_for(*how);
                }
            }
            table.bytes += batch.get_array_memory_size();
            table.begins.push(table.rows() + batch.num_rows());
            table.batches.push(views);
        }
        table
    }

    pub(super) fn rows(&self) -> usize {
        self.begins.last().copied().unwrap_or(0)
    }

    /// The views of a row's batch, and the row's place in it.
    #[inline]
    pub(super) fn at(&self, row: usize) -> (&[View], usize) {
        if let [views] = &self.batches[..] {
            return (views, row);
        }
        let batch = self.begins.partition_point(|begin| *begin <= row).saturating_sub(1);
        match self.batches.get(batch) {
            Some(views) => (views, row - self.begins[batch]),
            None => (&[], 0),
        }
    }

    /// The first value that a row has in one of the places.
    #[inline]
    pub(super) fn first(&self, row: usize, places: &[Place], start_nanos: i64) -> Value<'_> {
        let (views, at) = self.at(row);
        for (column, how) in places {
            let Some(view) = views.get(*column) else { continue };
            match view.value(at, *how, start_nanos) {
                Value::Nil => {}
                value => return value,
            }
        }
        Value::Nil
    }

    /// The value of a row that comes from its own columns.
    #[inline]
    pub(super) fn get(&self, row: usize, from: &From) -> Value<'_> {
        match (self.first(row, from.span_places(), 0), from) {
            (Value::Nil, From::SpanOr(_, otherwise)) => Value::Text(otherwise),
            (value, _) => value,
        }
    }

    pub(super) fn int(&self, row: usize, column: usize) -> Option<i64> {
        let (views, at) = self.at(row);
        views.get(column)?.int(at)
    }

    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        let (views, at) = self.at(row);
        views.get(column)?.text(at)
    }

    pub(super) fn id(&self, row: usize, column: usize) -> Option<&[u8]> {
        let (views, at) = self.at(row);
        views.get(column)?.id(at)
    }
}
