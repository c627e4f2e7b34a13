//! Rows as one JSON document: `{"columns":[{"name","type"}],"rows":[[…]],"row_count":n}`.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::Encoder;
use super::cell::{type_name, write_json, write_string};

/// Writes JSON.
#[derive(Debug, Default)]
pub struct Json {
    rows: u64,
}

impl Encoder for Json {
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
        let mut out = b"{\"columns\":[".to_vec();
        for (nth, field) in schema.fields().iter().enumerate() {
            out.extend_from_slice(if nth > 0 { b",{\"name\":" } else { b"{\"name\":" });
            write_string(field.name(), &mut out);
            out.extend_from_slice(b",\"type\":");
            write_string(&type_name(field.data_type()), &mut out);
            out.push(b'}');
        }
        out.extend_from_slice(b"],\"rows\":[");
        Ok(out)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::with_capacity(batch.num_rows() * (2 + 16 * batch.num_columns()));
        for row in 0..batch.num_rows() {
            out.extend_from_slice(if self.rows > 0 { b",\n[" } else { b"\n[" });
            self.rows += 1;
            for (nth, column) in batch.columns().iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                write_json(column, row, &mut out)?;
            }
            out.push(b']');
        }
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(format!("],\"row_count\":{}}}\n", self.rows).into_bytes())
    }

    fn error(&mut self, message: &str) -> Vec<u8> {
        let mut out = b"],\"error\":".to_vec();
        write_string(message, &mut out);
        out.extend_from_slice(b"}\n");
        out
    }
}
