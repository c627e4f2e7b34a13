//! The answer of a query as columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::failure::Failure;
use crate::sql::answer::Answer;

/// All rows of an answer.
pub(crate) struct Columns {
    batches: Vec<RecordBatch>,
}

impl Columns {
    pub(crate) fn read(answer: Answer<'_>) -> Result<Self, Failure> {
        let batches: Result<Vec<_>, Failure> = answer.batches.collect();
        Ok(Self { batches: batches? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.num_rows() == 0)
    }

    /// A column of texts; ids are written in hex.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<Option<String>>, Failure> {
        self.collect(name, |column| {
            if let DataType::FixedSizeBinary(_) = column.data_type() {
                let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect();
                return Ok(column.as_fixed_size_binary().iter().map(|id| id.map(hex)).collect());
            }
            let texts = cast(column, &DataType::Utf8).map_err(unread)?;
            Ok(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
        })
    }

    pub(crate) fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, Failure> {
        self.collect(name, |column| {
            let numbers = cast(column, &DataType::Float64).map_err(unread)?;
            Ok(numbers.as_primitive::<Float64Type>().iter().collect())
        })
    }

    pub(crate) fn integers(&self, name: &str) -> Result<Vec<Option<i64>>, Failure> {
        self.collect(name, |column| {
            let numbers = cast(column, &DataType::Int64).map_err(unread)?;
            Ok(numbers.as_primitive::<Int64Type>().iter().collect())
        })
    }

    /// A column of moments, in nanoseconds since 1970.
    pub(crate) fn times(&self, name: &str) -> Result<Vec<i64>, Failure> {
        let nanos = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None);
        self.collect(name, |column| {
            let times = cast(column, &nanos).and_then(|times| cast(&times, &DataType::Int64));
            let times = times.map_err(unread)?;
            Ok(times.as_primitive::<Int64Type>().iter().map(Option::unwrap_or_default).collect())
        })
    }

    fn collect<T>(
        &self,
        name: &str,
        read: impl Fn(&ArrayRef) -> Result<Vec<T>, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut all = Vec::new();
        for batch in &self.batches {
            let column = batch.column_by_name(name).ok_or_else(|| {
                Failure::Other(format!("the answer has no column {name}: is it a kymo server?"))
            })?;
            all.extend(read(column)?);
        }
        Ok(all)
    }
}

fn unread(error: arrow_schema::ArrowError) -> Failure {
    Failure::Other(format!("the answer cannot be understood: {error}"))
}
