//! Rows as one Parquet file.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::file::Output;
use crate::failure::Failure;
use crate::sql::answer::Answer;

/// Rows of a row group: what a reader holds at once of a column that it reads.
const ROW_GROUP_ROWS: usize = 256 * 1024;
/// Bytes that a row group may have in memory before it is written, whatever its rows are.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Writes an answer; says how many rows it has.
pub(super) fn write(answer: Answer<'_>, out: &mut Output) -> Result<u64, Failure> {
    let failed = |error: ParquetError| {
        Failure::Other(format!("the rows cannot be written as Parquet: {error}"))
    };
    let schema = plain(&answer.schema);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer =
        ArrowWriter::try_new(&mut *out, schema.clone(), Some(properties)).map_err(failed)?;
    let mut rows = 0;
    for batch in answer.batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        writer.write(&columns(&schema, &batch)?).map_err(failed)?;
        if writer.in_progress_size() > ROW_GROUP_BYTES {
            writer.flush().map_err(failed)?;
        }
        writer.inner().has(rows, "rows");
    }
    writer.close().map_err(failed)?;
    Ok(rows)
}

/// Texts by code as texts: Parquet has dictionaries of its own.
fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(_, values) => {
            Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()))
        }
        _ => field.clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn columns(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let unfit = |error| Failure::Other(format!("the rows do not fit their columns: {error}"));
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| match column.data_type() == field.data_type() {
        true => Ok(column.clone()),
        false => cast(column, field.data_type()),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(unfit)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(unfit)
}
