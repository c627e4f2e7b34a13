//! Answers of queries as columns, for those who read them whole.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use datafusion::arrow::compute::cast;
use futures::StreamExt;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::tenants::Tenants;

/// All rows of an answer, which the query bounds.
#[derive(Debug)]
pub struct Table {
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Asks a query.
    pub async fn ask(engine: &Engine, tenants: &Tenants, query: &str) -> Result<Self, EngineError> {
        let mut rows = engine.sql(tenants, query).await?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await {
            batches.push(batch?);
        }
        Ok(Self { batches })
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whether there is such a column.
    pub fn has(&self, name: &str) -> bool {
        self.batches.iter().all(|batch| batch.column_by_name(name).is_some())
    }

    /// A column of texts; ids are written in hexadecimal.
    pub fn texts(&self, name: &str) -> Result<Vec<Option<String>>, EngineError> {
        self.collect(name, |column| {
            if let DataType::FixedSizeBinary(_) = column.data_type() {
                let ids = column.as_fixed_size_binary().iter();
                return Ok(ids.map(|id| id.map(hex)).collect());
            }
            let texts = cast(column, &DataType::Utf8)?;
            Ok(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
        })
    }

    /// A column of ids of sessions, as texts. A double is none: it has no one text.
    pub fn ids(&self, name: &str) -> Result<Vec<Option<String>>, EngineError> {
        let is_double = |batch: &RecordBatch| {
            let column = batch.column_by_name(name);
            column.is_some_and(|column| *column.data_type() == DataType::Float64)
        };
        match self.batches.iter().any(is_double) {
            true => Ok(vec![None; self.len()]),
            false => self.texts(name),
        }
    }

    /// A column of numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, EngineError> {
        self.collect(name, |column| {
            let numbers = cast(column, &DataType::Float64)?;
            Ok(numbers.as_primitive::<Float64Type>().iter().collect())
        })
    }

    /// A column of whole numbers, or of moments in nanoseconds since 1970.
    pub fn integers(&self, name: &str) -> Result<Vec<Option<i64>>, EngineError> {
        self.collect(name, |column| Ok(integers(column)?.iter().collect()))
    }

    fn collect<T>(
        &self,
        name: &str,
        read: impl Fn(&ArrayRef) -> Result<Vec<T>, ArrowError>,
    ) -> Result<Vec<T>, EngineError> {
        let mut all = Vec::with_capacity(self.len());
        for batch in &self.batches {
            let column = batch.column_by_name(name);
            let column =
                column.ok_or_else(|| EngineError::Internal(format!("no column {name}")))?;
            let unread = |error| EngineError::Internal(format!("column {name}: {error}"));
            all.extend(read(column).map_err(unread)?);
        }
        Ok(all)
    }
}

/// Whole numbers, or moments in nanoseconds since 1970.
pub fn integers(column: &ArrayRef) -> Result<Int64Array, ArrowError> {
    let numbers = match column.data_type() {
        DataType::Timestamp(_, zone) => {
            let nanos = DataType::Timestamp(TimeUnit::Nanosecond, zone.clone());
            cast(&cast(column, &nanos)?, &DataType::Int64)?
        }
        _ => cast(column, &DataType::Int64)?,
    };
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
