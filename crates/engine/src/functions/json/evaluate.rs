//! The functions over a batch of rows.
//!
//! Attributes of resources are the same in many rows and come by code: a text is then looked into
//! once, not once for each row.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion::arrow::compute::{cast, take};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use super::Asked;
use super::text::{self, Step};
use crate::error::Refusal;
use crate::limits::FUNCTION_MAX_BYTES;

/// A step of the path, in all rows.
enum Steps<'a> {
    /// NULL: nothing is there.
    Nowhere,
    Key(&'a str),
    Place(i64),
    Keys(&'a StringArray),
    Places(&'a arrow_array::Int64Array),
}

impl<'a> Steps<'a> {
    fn of(arg: &'a ColumnarValue) -> Result<Self> {
        Ok(match arg {
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(key))) => Self::Key(key),
            ColumnarValue::Scalar(ScalarValue::Int64(Some(place))) => Self::Place(*place),
            ColumnarValue::Scalar(value) if value.is_null() => Self::Nowhere,
            ColumnarValue::Array(array) if *array.data_type() == DataType::Utf8 => {
                Self::Keys(array.as_string())
            }
            ColumnarValue::Array(array) if *array.data_type() == DataType::Int64 => {
                Self::Places(array.as_primitive::<Int64Type>())
            }
            other => return internal_err!("{} is no step", other.data_type()),
        })
    }

    fn at(&self, row: usize) -> Option<Step<'a>> {
        match self {
            Self::Nowhere => None,
            Self::Key(key) => Some(Step::Key(key)),
            Self::Place(place) => Some(Step::Place(*place)),
            Self::Keys(keys) => keys.is_valid(row).then(|| Step::Key(keys.value(row))),
            Self::Places(places) => places.is_valid(row).then(|| Step::Place(places.value(row))),
        }
    }

    fn is_same_in_all(&self) -> bool {
        !matches!(self, Self::Keys(_) | Self::Places(_))
    }
}

/// Calls a function.
pub(super) fn evaluate(
    asked: Asked,
    name: &str,
    args: &ScalarFunctionArgs,
) -> Result<ColumnarValue> {
    let Some((json, path)) = args.args.split_first() else {
        return internal_err!("{name} without JSON");
    };
    let steps = path.iter().map(Steps::of).collect::<Result<Vec<_>>>()?;
    let is_constant = matches!(json, ColumnarValue::Scalar(_));
    let are_same = steps.iter().all(Steps::is_same_in_all);
    let rows = if is_constant && are_same { 1 } else { args.number_rows };
    let array = json.to_array(rows)?;
    let call = Call { asked, name, steps };
    if let Some(by_code) = array.as_dictionary_opt::<Int32Type>() {
        // A dictionary may have more texts than these rows use.
        if are_same && by_code.values().len() <= rows {
            let found = call.run(by_code.values().as_string())?;
            call.check_bytes(&found, by_code.keys())?;
            return Ok(ColumnarValue::Array(take(&found, by_code.keys(), None)?));
        }
        call.check_bytes(by_code.values(), by_code.keys())?;
        let plain = cast(&array, &DataType::Utf8)?;
        return Ok(ColumnarValue::Array(call.run(plain.as_string())?));
    }
    let found = call.run(array.as_string())?;
    Ok(match is_constant && are_same {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
        false => ColumnarValue::Array(found),
    })
}

struct Call<'a> {
    asked: Asked,
    name: &'a str,
    steps: Vec<Steps<'a>>,
}

impl Call<'_> {
    /// Hands over what the path finds in each row.
    fn each<'j>(&self, json: &'j StringArray, mut found: impl FnMut(Option<&'j str>)) {
        let mut path = Vec::with_capacity(self.steps.len());
        for row in 0..json.len() {
            path.clear();
            path.extend(self.steps.iter().map_while(|steps| steps.at(row)));
            let is_whole = json.is_valid(row) && path.len() == self.steps.len();
            found(is_whole.then(|| text::find(json.value(row), &path)).flatten());
        }
    }

    fn run(&self, json: &StringArray) -> Result<ArrayRef> {
        Ok(match self.asked {
            Asked::Json => self.texts(json, |found| Some(found.to_owned())),
            Asked::Str => self.texts(json, text::unquoted),
            Asked::AsText => self.texts(json, |found| match found {
                "null" => None,
                other => Some(text::unquoted(other).unwrap_or_else(|| other.to_owned())),
            }),
            Asked::Int => {
                let mut builder = Int64Builder::with_capacity(json.len());
                self.each(json, |found| builder.append_option(found.and_then(integer)));
                Arc::new(builder.finish())
            }
            Asked::Length => {
                let mut builder = Int64Builder::with_capacity(json.len());
                let length = |found| text::length(found).map(|length| length as i64);
                self.each(json, |found| builder.append_option(found.and_then(length)));
                Arc::new(builder.finish())
            }
            Asked::Float => {
                let mut builder = Float64Builder::with_capacity(json.len());
                let number = |found: &str| found.parse().ok().filter(|n: &f64| n.is_finite());
                self.each(json, |found| builder.append_option(found.and_then(number)));
                Arc::new(builder.finish())
            }
            Asked::Bool => {
                let mut builder = BooleanBuilder::with_capacity(json.len());
                self.each(json, |found| builder.append_option(found.and_then(|f| f.parse().ok())));
                Arc::new(builder.finish())
            }
            Asked::Contains => {
                let mut builder = BooleanBuilder::with_capacity(json.len());
                let mut row = 0;
                self.each(json, |found| {
                    let is_known = json.is_valid(row);
                    builder.append_option(is_known.then_some(found.is_some()));
                    row += 1;
                });
                Arc::new(builder.finish())
            }
            Asked::Keys => self.keys(json)?,
        })
    }

    fn texts(&self, json: &StringArray, text: impl Fn(&str) -> Option<String>) -> ArrayRef {
        let mut builder = StringBuilder::with_capacity(json.len(), 0);
        self.each(json, |found| builder.append_option(found.and_then(&text)));
        Arc::new(builder.finish())
    }

    fn keys(&self, json: &StringArray) -> Result<ArrayRef> {
        let mut builder = ListBuilder::new(StringBuilder::new());
        self.each(json, |found| match found.and_then(text::keys) {
            Some(keys) => builder.append_value(keys.into_iter().map(Some)),
            None => builder.append_null(),
        });
        Ok(Arc::new(builder.finish()))
    }

    /// A text that many rows have by code is written out for each of them.
    fn check_bytes(&self, found: &ArrayRef, codes: &arrow_array::Int32Array) -> Result<()> {
        let bytes_of = |code: usize| match found.data_type() {
            DataType::Utf8 => found.as_string::<i32>().value_length(code) as usize,
            DataType::List(_) => {
                let keys = found.as_list::<i32>();
                let (begin, end) = (keys.value_offsets()[code], keys.value_offsets()[code + 1]);
                let texts = keys.values().as_string::<i32>().value_offsets();
                (texts[end as usize] - texts[begin as usize]) as usize
            }
            _ => 0,
        };
        let bytes = codes.iter().flatten().map(|code| bytes_of(code as usize));
        match bytes.fold(0, usize::saturating_add) {
            bytes if bytes > FUNCTION_MAX_BYTES => Err(Refusal::error(format!(
                "{} would make more than {FUNCTION_MAX_BYTES} bytes at once: ask for less",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

/// A number that is whole, however it is written.
fn integer(found: &str) -> Option<i64> {
    found.parse().ok().or_else(|| {
        let number: f64 = found.parse().ok()?;
        // The least double beyond all integers.
        let is_whole = number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0;
        is_whole.then_some(number as i64)
    })
}
