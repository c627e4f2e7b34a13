//! Rows as JSON objects: one array of them, or one on each line.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use kymo_server::format::{Encoder, cell};

/// Writes objects.
#[derive(Debug)]
pub(crate) struct Objects {
    is_array: bool,
    rows: u64,
    /// `"name":` of each column.
    keys: Vec<Vec<u8>>,
}

impl Objects {
    /// `[{…},{…}]`, an object on each line.
    pub(crate) fn array() -> Self {
        Self { is_array: true, rows: 0, keys: Vec::new() }
    }

    /// Objects without anything around them.
    pub(crate) fn lines() -> Self {
        Self { is_array: false, rows: 0, keys: Vec::new() }
    }
}

impl Encoder for Objects {
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
        let key = |name: &str| format!("{}:", serde_json::Value::from(name)).into_bytes();
        self.keys = schema.fields().iter().map(|field| key(field.name())).collect();
        Ok(if self.is_array { b"[".to_vec() } else { Vec::new() })
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::with_capacity(batch.num_rows() * (2 + 32 * batch.num_columns()));
        for row in 0..batch.num_rows() {
            let before: &[u8] = match (self.is_array, self.rows) {
                (true, 0) => b"\n",
                (true, _) => b",\n",
                (false, _) => b"",
            };
            out.extend_from_slice(before);
            self.rows += 1;
            out.push(b'{');
            for (nth, (column, key)) in batch.columns().iter().zip(&self.keys).enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(key);
                cell::write_json(column, row, &mut out)?;
            }
            out.push(b'}');
            if !self.is_array {
                out.push(b'\n');
            }
        }
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(match (self.is_array, self.rows) {
            (true, 0) => b"]\n".to_vec(),
            (true, _) => b"\n]\n".to_vec(),
            (false, _) => Vec::new(),
        })
    }

    fn error(&mut self, _message: &str) -> Vec<u8> {
        // The message is on stderr, and the document is not closed.
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn write(mut objects: Objects, batches: usize) -> String {
        let numbers = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
        let words = Arc::new(StringArray::from(vec!["a\"b", "ü"])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("n", numbers), ("a \"word\"", words)]).unwrap();
        let mut out = objects.begin(&batch.schema()).unwrap();
        for _ in 0..batches {
            out.extend(objects.batch(&batch).unwrap());
        }
        out.extend(objects.end().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_array_is_one_document_and_lines_are_many() {
        let one = r#"{"n":1,"a \"word\"":"a\"b"}"#;
        let two = r#"{"n":null,"a \"word\"":"ü"}"#;
        let array = write(Objects::array(), 2);
        assert_eq!(array, format!("[\n{one},\n{two},\n{one},\n{two}\n]\n"));
        assert!(serde_json::from_str::<serde_json::Value>(&array).is_ok());
        assert_eq!(write(Objects::lines(), 1), format!("{one}\n{two}\n"));
        assert_eq!(write(Objects::array(), 0), "[]\n");
        assert_eq!(write(Objects::lines(), 0), "");
    }
}
