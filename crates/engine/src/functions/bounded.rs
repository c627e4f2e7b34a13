//! Functions that look at the size of what they would make before they make it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef};
use datafusion::arrow::compute::concat;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};

use crate::error::Refusal;
use crate::limits::{CONSTANT_MAX_BYTES, FUNCTION_MAX_BYTES};

/// A function with a bound. What would rewrite a call of it while a query is planned is not passed
/// on: the call would come back without the bound.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Bounded {
    inner: Arc<ScalarUDF>,
}

impl Bounded {
    /// The function with its bound; `None` if it needs none, or has it.
    pub(super) fn of(function: &Arc<ScalarUDF>) -> Option<Arc<ScalarUDF>> {
        most_bytes(function.name())?;
        let has_bound = function.inner().is::<Self>();
        (!has_bound).then(|| Arc::new(ScalarUDF::from(Self { inner: function.clone() })))
    }

    fn refuse(&self, most: usize) -> datafusion::error::DataFusionError {
        Refusal::error(format!(
            "{} would make more than {most} bytes at once: ask for less",
            self.inner.name()
        ))
    }

    /// Calls the function for ever fewer rows, until it is certain that they are not too large.
    fn halves(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.number_rows <= 1 {
            return Err(self.refuse(FUNCTION_MAX_BYTES));
        }
        let middle = args.number_rows / 2;
        let mut parts: Vec<ArrayRef> = Vec::new();
        for (first, rows) in [(0, middle), (middle, args.number_rows - middle)] {
            let cut = |arg: &ColumnarValue| match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(first, rows)),
                scalar => scalar.clone(),
            };
            let part = ScalarFunctionArgs {
                args: args.args.iter().map(cut).collect(),
                number_rows: rows,
                ..args.clone()
            };
            parts.push(self.invoke_with_args(part)?.into_array(rows)?);
            if parts.iter().map(|part| part.get_array_memory_size()).sum::<usize>()
                > FUNCTION_MAX_BYTES
            {
                return Err(self.refuse(FUNCTION_MAX_BYTES));
            }
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(most_bytes) = most_bytes(self.inner.name()) else {
            return self.inner.invoke_with_args(args);
        };
        let are_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if are_constant { 1 } else { args.number_rows };
        let sizes: Vec<Sizes> = args.args.iter().map(Sizes::of).collect();
        let bytes = (0..rows)
            .map(|row| most_bytes(&Row { sizes: &sizes, row }))
            .fold(0, usize::saturating_add);
        match (are_constant, bytes) {
            (true, bytes) if bytes > CONSTANT_MAX_BYTES => Err(self.refuse(CONSTANT_MAX_BYTES)),
            (false, bytes) if bytes > FUNCTION_MAX_BYTES => self.halves(args),
            _ => self.inner.invoke_with_args(args),
        }
    }
}

/// Bytes that a function makes of one row at most.
type MostBytes = fn(&Row<'_>) -> usize;

/// How much a function can make; `None` if hardly more than it is given.
fn most_bytes(name: &str) -> Option<MostBytes> {
    Some(match name {
        "||" | "concat" | "overlay" | "make_array" | "array_concat" => |row| row.all(),
        "concat_ws" => |row| row.all().saturating_add(row.times(0, row.sizes.len())),
        "encode" => |row| row.times(0, 2),
        "repeat" => |row| row.times(0, row.number(1)),
        // A letter has four bytes at most.
        "lpad" | "rpad" => |row| row.number(1).saturating_mul(4).max(row.bytes(0)),
        "replace" => |row| {
            let places = row.bytes(0) / row.bytes(1).max(1) + 1;
            row.times(2, places).saturating_add(row.bytes(0))
        },
        // At every place, and with the text itself for each reference to it.
        "regexp_replace" => |row| {
            let places = if row.sizes.len() > 3 { row.bytes(0) + 1 } else { 1 };
            let references = row.times(0, row.bytes(2) / 2 + 1);
            row.times(2, places).saturating_add(references)
        },
        "array_to_string" => |row| {
            let between: usize = (1..row.sizes.len()).map(|arg| row.bytes(arg)).sum();
            // A number has 24 letters at most.
            row.number(0).saturating_mul(between + 24).saturating_add(row.bytes(0))
        },
        "array_replace" | "array_replace_n" | "array_replace_all" => {
            |row| row.times(2, row.number(0)).saturating_add(row.bytes(0))
        }
        // A letter of the format stands for 32 at most.
        "to_char" => |row| row.times(1, 32),
        _ => return None,
    })
}

/// The sizes of a function's arguments in one row.
struct Row<'a> {
    sizes: &'a [Sizes],
    row: usize,
}

impl Row<'_> {
    fn of<T: Copy + Default>(&self, arg: usize, values: fn(&Sizes) -> &Each<T>) -> T {
        match self.sizes.get(arg).map(values) {
            Some(Each::Same(value)) => *value,
            Some(Each::Rows(rows)) => rows.get(self.row).copied().unwrap_or_default(),
            None => T::default(),
        }
    }

    fn bytes(&self, arg: usize) -> usize {
        self.of(arg, |sizes| &sizes.bytes)
    }

    fn number(&self, arg: usize) -> usize {
        self.of(arg, |sizes| &sizes.numbers)
    }

    fn times(&self, arg: usize, count: usize) -> usize {
        self.bytes(arg).saturating_mul(count)
    }

    fn all(&self) -> usize {
        (0..self.sizes.len()).map(|arg| self.bytes(arg)).sum()
    }
}

/// A number for each row.
enum Each<T> {
    Same(T),
    Rows(Vec<T>),
}

/// How large an argument is.
struct Sizes {
    bytes: Each<usize>,
    /// The number that it is, or how many elements it has.
    numbers: Each<usize>,
}

impl Sizes {
    fn of(arg: &ColumnarValue) -> Self {
        match arg {
            ColumnarValue::Array(array) => {
                Self { bytes: Each::Rows(bytes_of(array)), numbers: Each::Rows(numbers_of(array)) }
            }
            ColumnarValue::Scalar(scalar) => {
                let first = |sizes: Vec<usize>| Each::Same(sizes.first().copied().unwrap_or(0));
                match scalar {
                    ScalarValue::Utf8(text)
                    | ScalarValue::LargeUtf8(text)
                    | ScalarValue::Utf8View(text) => Self {
                        bytes: Each::Same(text.as_ref().map_or(0, String::len)),
                        numbers: Each::Same(0),
                    },
                    other => match other.to_array() {
                        Ok(array) => Self {
                            bytes: first(bytes_of(&array)),
                            numbers: first(numbers_of(&array)),
                        },
                        Err(_) => Self { bytes: Each::Same(other.size()), numbers: Each::Same(0) },
                    },
                }
            }
        }
    }
}

/// Bytes of each value; of what is no text, their mean.
fn bytes_of(array: &ArrayRef) -> Vec<usize> {
    match array.data_type() {
        DataType::Utf8 => texts_of(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts_of(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts_of(array.as_string_view().iter()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let entries = bytes_of(dictionary.values());
            let keys = dictionary.normalized_keys();
            keys.iter().map(|key| entries.get(*key).copied().unwrap_or(0)).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let element = mean_bytes(lists.values());
            (0..lists.len()).map(|row| lists.value_length(row) as usize * element).collect()
        }
        _ => vec![mean_bytes(array); array.len()],
    }
}

fn texts_of<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<usize> {
    texts.map(|text| text.map_or(0, str::len)).collect()
}

fn mean_bytes(array: &ArrayRef) -> usize {
    let bytes = array.to_data().get_slice_memory_size().unwrap_or(usize::MAX);
    bytes.div_ceil(array.len().max(1))
}

/// Numbers themselves, and how many elements lists have.
fn numbers_of(array: &ArrayRef) -> Vec<usize> {
    match array.data_type() {
        DataType::Int64 => {
            let numbers = array.as_primitive::<Int64Type>().iter();
            numbers.map(|number| usize::try_from(number.unwrap_or(0)).unwrap_or(0)).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            (0..lists.len()).map(|row| lists.value_length(row) as usize).collect()
        }
        _ => Vec::new(),
    }
}
