//! Rows as an Arrow IPC stream, uncompressed: readers of every language take it without further
//! libraries, and HTTP compresses it where the reader asks for that.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use super::Encoder;

/// Writes Arrow IPC. Texts that come as codes into a dictionary go out as plain texts: each block
/// has a dictionary of its own, and a stream would carry one for nearly every batch.
#[derive(Default)]
pub struct ArrowStream {
    writer: Option<StreamWriter<Vec<u8>>>,
    schema: Option<SchemaRef>,
}

fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(_, values) => {
            Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()))
        }
        _ => field.clone(),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

impl ArrowStream {
    fn take(&mut self) -> Result<Vec<u8>, ArrowError> {
        match &mut self.writer {
            Some(writer) => Ok(std::mem::take(writer.get_mut())),
            None => Ok(Vec::new()),
        }
    }
}

impl Encoder for ArrowStream {
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
        let schema = plain(schema);
        self.writer = Some(StreamWriter::try_new(Vec::new(), &schema)?);
        self.schema = Some(schema);
        self.take()
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        if let (Some(writer), Some(schema)) = (&mut self.writer, &self.schema) {
            let columns: Result<Vec<_>, _> = schema
                .fields()
                .iter()
                .zip(batch.columns())
                .map(|(field, column)| match column.data_type() == field.data_type() {
                    true => Ok(column.clone()),
                    false => cast(column, field.data_type()),
                })
                .collect();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let plain = RecordBatch::try_new_with_options(schema.clone(), columns?, &options)?;
            writer.write(&plain)?;
        }
        self.take()
    }

    fn end(&mut self) -> Result<Vec<u8>, ArrowError> {
        if let Some(writer) = &mut self.writer {
            writer.finish()?;
        }
        self.take()
    }

    fn error(&mut self, _message: &str) -> Vec<u8> {
        // A stream without its end is incomplete, and readers say so.
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array};
    use arrow_ipc::reader::StreamReader;

    #[test]
    fn pieces_make_a_stream() {
        let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
        let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let batch =
            RecordBatch::try_from_iter([("n", numbers), ("w", Arc::new(words) as _)]).unwrap();
        let mut stream = ArrowStream::default();
        let mut out = stream.begin(&batch.schema()).unwrap();
        out.extend(stream.batch(&batch).unwrap());
        out.extend(stream.batch(&batch).unwrap());
        out.extend(stream.end().unwrap());
        let read: Vec<_> = StreamReader::try_new(&out[..], None).unwrap().collect();
        assert_eq!(read.len(), 2);
        let second = read[1].as_ref().unwrap();
        assert_eq!(second.column(0), batch.column(0));
        assert_eq!(second.column(1).data_type(), &DataType::Utf8);
    }
}
