//! Rows as CSV (RFC 4180): a header line, quotes where they are needed, NULL as nothing.
//!
//! An empty text is written as `""`, so that it is not taken for NULL.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};

use super::Encoder;
use super::cell::write_text;

/// Writes CSV.
#[derive(Debug, Default)]
pub struct Csv;

impl Encoder for Csv {
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::new();
        for (nth, field) in schema.fields().iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            write_field(field.name().as_bytes(), &mut out);
        }
        out.extend_from_slice(b"\r\n");
        Ok(out)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::with_capacity(batch.num_rows() * 16 * batch.num_columns());
        let mut text = Vec::new();
        for row in 0..batch.num_rows() {
            for (nth, column) in batch.columns().iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                if column.is_null(row) || column.data_type() == &DataType::Null {
                    continue;
                }
                text.clear();
                write_text(column, row, &mut text)?;
                write_field(&text, &mut out);
            }
            out.extend_from_slice(b"\r\n");
        }
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(Vec::new())
    }

    fn error(&mut self, _message: &str) -> Vec<u8> {
        // There is no place for it in CSV: the broken connection tells.
        Vec::new()
    }
}

fn write_field(text: &[u8], out: &mut Vec<u8>) {
    let is_plain =
        !text.is_empty() && !text.iter().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'));
    if is_plain {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for byte in text {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn null_is_nothing_and_quotes_are_doubled() {
        let words = StringArray::from(vec![Some("a"), Some(""), None, Some("x,\"y\"\n")]);
        let numbers = Int64Array::from(vec![Some(1), None, Some(3), Some(4)]);
        let batch = RecordBatch::try_from_iter([
            ("word", Arc::new(words) as ArrayRef),
            ("a,b", Arc::new(numbers) as ArrayRef),
        ])
        .unwrap();
        let mut out = Csv.begin(&batch.schema()).unwrap();
        out.extend(Csv.batch(&batch).unwrap());
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "word,\"a,b\"\r\na,1\r\n\"\",\r\n,3\r\n\"x,\"\"y\"\"\n\",4\r\n");
    }
}
