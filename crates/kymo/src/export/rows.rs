//! Rows, as they come.

use std::io::Write;

use kymo_server::format::{ArrowStream, Csv, Encoder};

use super::file::Output;
use super::{Format, parquet};
use crate::failure::Failure;
use crate::sql::answer::Answer;
use crate::sql::json;

/// Writes an answer; says how many rows it has.
pub(super) fn write(answer: Answer<'_>, format: Format, out: &mut Output) -> Result<u64, Failure> {
    let mut encoder: Box<dyn Encoder> = match format {
        Format::Parquet => return parquet::write(answer, out),
        Format::Csv => Box::new(Csv),
        Format::Jsonl => Box::new(json::Objects::lines()),
        _ => Box::new(ArrowStream::default()),
    };
    let unwritable =
        |error| Failure::Other(format!("the rows cannot be written in this format: {error}"));
    let put = |out: &mut Output, bytes: Vec<u8>| {
        let written = out.write_all(&bytes);
        written.map_err(|source| Failure::Io { act: "write", what: "the export".into(), source })
    };
    let begun = encoder.begin(&answer.schema).map_err(unwritable)?;
    put(out, begun)?;
    let mut rows = 0;
    for batch in answer.batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        put(out, encoder.batch(&batch).map_err(unwritable)?)?;
        out.has(rows, "rows");
    }
    put(out, encoder.end().map_err(unwritable)?)?;
    Ok(rows)
}
