//! Rows as a table for people.
//!
//! The first rows decide how wide the columns are; the others follow as they come, so that a table
//! of millions of rows takes no more memory than its beginning. On a terminal, what is too wide is
//! cut, and the last line says so; elsewhere nothing is.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use kymo_server::format::{Encoder, cell};

use crate::terminal;
use crate::units;

/// Rows that are looked at before the first is written.
const ROWS_MEASURED: usize = 1000;
/// Space between columns.
const GAP: usize = 2;
/// Columns of a terminal that a column gets at least; those beyond what then fits are left out.
const MIN_CUT_COLUMNS: usize = 8;
/// The longest cell in a pipe that others are aligned to; longer ones stand out.
const MAX_PIPE_COLUMNS: usize = 200;
/// What stands for no value.
const NULL: &str = "NULL";

/// Writes a table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Width of the terminal, if it is one.
    columns: Option<usize>,
    headings: Vec<Heading>,
    measured: Vec<Vec<String>>,
    /// Once they are decided: of the columns that are shown.
    widths: Option<Vec<usize>>,
    rows: u64,
    any_cut: bool,
}

#[derive(Debug)]
struct Heading {
    name: String,
    is_number: bool,
    /// Ids, and times that are short already, are of no use in part: they are cut last.
    is_whole: bool,
}

impl Table {
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self {
            columns,
            headings: Vec::new(),
            measured: Vec::new(),
            widths: None,
            rows: 0,
            any_cut: false,
        }
    }

    /// Decides the widths and writes what was held back.
    fn decide(&mut self) -> Vec<u8> {
        let mut natural: Vec<usize> =
            self.headings.iter().map(|heading| terminal::width(&heading.name)).collect();
        for row in &self.measured {
            for (width, cell) in natural.iter_mut().zip(row) {
                *width = (*width).max(terminal::width(cell));
            }
        }
        let widths = match self.columns {
            Some(columns) => {
                let whole: Vec<bool> = self.headings.iter().map(|h| h.is_whole).collect();
                fitted(&natural, &whole, columns)
            }
            None => natural.iter().map(|width| (*width).min(MAX_PIPE_COLUMNS)).collect(),
        };
        let headings: Vec<String> = self.headings.iter().map(|h| h.name.clone()).collect();
        let mut out = Vec::new();
        let measured = std::mem::take(&mut self.measured);
        self.write_row(&headings, &widths, &mut out);
        for row in &measured {
            self.write_row(row, &widths, &mut out);
        }
        self.widths = Some(widths);
        out
    }

    fn write_row(&mut self, cells: &[String], widths: &[usize], out: &mut Vec<u8>) {
        let mut line = String::new();
        for (nth, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let is_number = self.headings.get(nth).is_some_and(|heading| heading.is_number);
            let is_cut = self.columns.is_some() && terminal::width(cell) > *width;
            let cell = match is_cut {
                true => &terminal::fit(cell, *width),
                false => cell,
            };
            self.any_cut |= is_cut;
            let padded = match is_number {
                true => terminal::pad_left(cell, *width),
                false => terminal::pad(cell, *width),
            };
            line.push_str(&padded);
            line.push_str(&" ".repeat(GAP));
        }
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }

    fn summary(&self) -> String {
        let rows = match self.rows {
            1 => "1 row".to_owned(),
            rows => format!("{} rows", units::count(rows)),
        };
        let shown = self.widths.as_ref().map_or(0, Vec::len);
        let hidden = self.headings.len() - shown.min(self.headings.len());
        let columns = if hidden == 1 { "1 column is" } else { &format!("{hidden} columns are") };
        match (hidden, self.any_cut) {
            (0, false) => format!("({rows})\n"),
            (0, true) => format!("({rows}; … is cut to fit, --format json shows all)\n"),
            (_, _) => format!("({rows}; {columns} not shown, --format json shows all)\n"),
        }
    }
}

impl Encoder for Table {
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
        self.headings = schema
            .fields()
            .iter()
            .map(|field| Heading {
                name: units::printable(field.name()),
                is_number: is_number(field.data_type()),
                is_whole: is_whole(field.data_type()),
            })
            .collect();
        Ok(Vec::new())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::new();
        for row in 0..batch.num_rows() {
            let cells: Result<Vec<String>, ArrowError> =
                batch.columns().iter().map(|column| cell_text(column, row)).collect();
            self.rows += 1;
            match self.widths.take() {
                Some(widths) => {
                    self.write_row(&cells?, &widths, &mut out);
                    self.widths = Some(widths);
                }
                None => self.measured.push(cells?),
            }
            if self.widths.is_none() && self.measured.len() == ROWS_MEASURED {
                out.extend(self.decide());
            }
        }
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<u8>, ArrowError> {
        let mut out = if self.widths.is_none() { self.decide() } else { Vec::new() };
        out.extend_from_slice(self.summary().as_bytes());
        Ok(out)
    }

    fn error(&mut self, _message: &str) -> Vec<u8> {
        Vec::new()
    }
}

/// A cell on one line. Times lose the zeros at their end.
fn cell_text(column: &dyn Array, row: usize) -> Result<String, ArrowError> {
    if column.is_null(row) || column.data_type() == &DataType::Null {
        return Ok(NULL.to_owned());
    }
    let mut text = Vec::new();
    cell::write_text(column, row, &mut text)?;
    let text = units::printable(&String::from_utf8_lossy(&text));
    Ok(match column.data_type() {
        DataType::Timestamp(..) => short_time(&text),
        _ => text,
    })
}

/// `2026-01-02T03:04:05.250000000Z` as `2026-01-02T03:04:05.250Z`.
fn short_time(time: &str) -> String {
    let mut short = time.trim_end_matches('Z');
    while short.contains('.') && short.ends_with("000") {
        short = short[..short.len() - 3].trim_end_matches('.');
    }
    format!("{short}Z")
}

fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        other => other.is_numeric(),
    }
}

fn is_whole(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::FixedSizeBinary(_) | DataType::Timestamp(TimeUnit::Millisecond, _)
    )
}

/// Widths that fit a line: the widest columns are cut to the same width, but not those that are of
/// no use in part; if that is too narrow, the last columns are left out.
fn fitted(natural: &[usize], whole: &[bool], columns: usize) -> Vec<usize> {
    let cut_to = |cut: usize, shown: usize| {
        let columns = natural.iter().zip(whole).take(shown);
        columns.map(move |(width, whole)| if *whole { *width } else { (*width).min(cut) })
    };
    let needed =
        |cut, shown: usize| cut_to(cut, shown).sum::<usize>() + shown.saturating_sub(1) * GAP;
    let mut shown = natural.len();
    while shown > 1 && needed(MIN_CUT_COLUMNS, shown) > columns {
        shown -= 1;
    }
    if needed(1, shown) > columns {
        // One column, and too wide.
        return cut_to(columns, shown).map(|width| width.min(columns)).collect();
    }
    let widest = natural.iter().take(shown).copied().max().unwrap_or(0);
    let cut = (1..=widest.min(columns)).rev().find(|cut| needed(*cut, shown) <= columns);
    cut_to(cut.unwrap_or(1), shown).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array, StringArray,
        TimestampNanosecondArray,
    };

    use super::*;

    fn batch() -> RecordBatch {
        let ids = FixedSizeBinaryArray::try_from_iter([[0u8, 0xab], [0xff, 1]].iter()).unwrap();
        let times = TimestampNanosecondArray::from(vec![1_767_323_045_250_000_000, 0]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("span_id", Arc::new(ids)),
            ("name", Arc::new(StringArray::from(vec![Some("GET /größe\n"), None]))),
            ("count", Arc::new(Int64Array::from(vec![1, 1000]))),
            ("ratio", Arc::new(Float64Array::from(vec![Some(0.5), None]))),
            ("time", Arc::new(times.with_timezone("UTC"))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn write(columns: Option<usize>, batches: &[RecordBatch]) -> String {
        let mut table = Table::new(columns);
        let mut out = table.begin(&batch().schema()).unwrap();
        for batch in batches {
            out.extend(table.batch(batch).unwrap());
        }
        out.extend(table.end().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_aligned_and_counted() {
        assert_eq!(
            write(None, &[batch()]),
            "\
span_id  name          count  ratio  time
00ab     GET /größe\\n      1    0.5  2026-01-02T03:04:05.250Z
ff01     NULL           1000   NULL  1970-01-01T00:00:00Z
(2 rows)
"
        );
        assert_eq!(write(None, &[]), "span_id  name  count  ratio  time\n(0 rows)\n");
    }

    #[test]
    fn a_narrow_terminal_cuts_the_widest_and_says_so() {
        assert_eq!(
            write(Some(50), &[batch()]),
            "\
span_id  name          count  ratio  time
00ab     GET /größe\\n      1    0.5  2026-01-02T0…
ff01     NULL           1000   NULL  1970-01-01T0…
(2 rows; … is cut to fit, --format json shows all)
"
        );
        let narrow = write(Some(24), &[batch()]);
        assert!(narrow.contains("2 columns are not shown"), "{narrow}");
        assert!(narrow.lines().take(3).all(|line| terminal::width(line) <= 24), "{narrow}");
    }

    #[test]
    fn ids_are_cut_last() {
        assert_eq!(fitted(&[32, 40, 40], &[true, false, false], 80), [32, 22, 22]);
        assert_eq!(fitted(&[32, 40, 40], &[true, false, false], 50), [32, 16]);
        assert_eq!(fitted(&[32, 40], &[true, false], 20), [20]);
    }

    #[test]
    fn later_rows_follow_the_widths_of_the_first() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3000));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let mut table = Table::new(None);
        table.begin(&batch.schema()).unwrap();
        let out = String::from_utf8(table.batch(&batch).unwrap()).unwrap();
        assert_eq!(out.lines().count(), 3001);
        assert_eq!(out.lines().nth(1), Some("  0"));
        assert_eq!(out.lines().last(), Some("2999"));
        assert_eq!(table.end().unwrap(), b"(3,000 rows)\n");
    }
}
