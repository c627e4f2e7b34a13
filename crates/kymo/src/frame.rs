//! Results as Arrow: for programs with numbers and nanoseconds, for people with units.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::ArrowError;
use clap::ValueEnum;
use kymo_server::format::{ArrowStream, Csv, Encoder};
use kymo_traceql::value::OwnedValue;

use crate::failure::Failure;
use crate::sql::answer::Answer;
use crate::sql::json::Objects;
use crate::sql::table::Table;
use crate::{terminal, units};

/// How a result is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people, fitted to the terminal
    #[default]
    Table,
    /// One JSON array of objects
    Json,
    /// CSV with a header line
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

/// Refuses to write Arrow to a terminal.
pub(crate) fn refuse_terminal() -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        let hint = "send it to a file or a program, as in: --format arrow > rows.arrows";
        return Err(Failure::Usage(format!("Arrow is not for a terminal: {hint}")));
    }
    Ok(())
}

impl Format {
    /// Refuses bytes on a terminal.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self == Self::Arrow { refuse_terminal() } else { Ok(()) }
    }

    /// Who reads it.
    pub(crate) fn reader(self) -> Reader {
        match self {
            Self::Table => Reader::Person { columns: terminal::columns() },
            Self::Json | Self::Csv | Self::Arrow => Reader::Program,
        }
    }

    /// What writes it.
    pub(crate) fn encoder(self) -> Box<dyn Encoder> {
        match self {
            Self::Table => Box::new(Table::new(terminal::columns())),
            Self::Json => Box::new(Objects::array()),
            Self::Csv => Box::new(Csv),
            Self::Arrow => Box::new(ArrowStream::default()),
        }
    }
}

/// Who reads the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody, on a terminal of so many columns, if it is one.
    Person { columns: Option<usize> },
    /// A program.
    Program,
}

impl Reader {
    pub(crate) fn is_person(self) -> bool {
        self != Self::Program
    }

    /// Whether drawings can be shown.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Person { columns: Some(_) })
    }
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    /// A duration.
    Seconds,
}

/// A table that grows by columns.
#[derive(Debug)]
pub(crate) struct Frame {
    reader: Reader,
    columns: Vec<(String, ArrayRef)>,
}

impl Frame {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, columns: Vec::new() }
    }

    /// Whether drawings can be shown.
    pub(crate) fn is_for_terminal(&self) -> bool {
        self.reader.is_terminal()
    }

    pub(crate) fn texts(&mut self, name: &str, texts: Vec<Option<String>>) {
        self.push(name, Arc::new(StringArray::from(texts)));
    }

    pub(crate) fn integers(&mut self, name: &str, numbers: Vec<Option<i64>>) {
        self.push(name, Arc::new(Int64Array::from(numbers)));
    }

    /// Nanoseconds since 1970. People do not read more than milliseconds.
    pub(crate) fn times(&mut self, name: &str, times: Vec<i64>) {
        if self.reader.is_person() {
            self.push(name, Arc::new(in_millis(times.into_iter().map(Some))));
        } else {
            self.push(name, Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC")));
        }
    }

    /// Ids of traces.
    pub(crate) fn ids(&mut self, name: &str, ids: &[u128]) -> Result<(), Failure> {
        let mut column = FixedSizeBinaryBuilder::with_capacity(ids.len(), 16);
        for id in ids {
            column.append_value(id.to_be_bytes()).map_err(untabled)?;
        }
        self.push(name, Arc::new(column.finish()));
        Ok(())
    }

    /// Nanoseconds; programs get `…_nanos`.
    pub(crate) fn durations(&mut self, name: &str, nanos: Vec<i64>) {
        if self.reader.is_person() {
            let texts = nanos.iter().map(|nanos| Some(units::nanos(i128::from(*nanos))));
            self.texts(name, right(name, texts.collect()));
        } else {
            self.integers(&format!("{name}_nanos"), nanos.into_iter().map(Some).collect());
        }
    }

    pub(crate) fn numbers(&mut self, name: &str, unit: Unit, numbers: Vec<Option<f64>>) {
        if self.reader.is_person() {
            let texts = numbers.iter().map(|number| number.map(|number| readable(number, unit)));
            self.texts(name, right(name, texts.collect()));
        } else {
            self.push(name, Arc::new(Float64Array::from(numbers)));
        }
    }

    /// Values of one type keep it; others become text.
    pub(crate) fn values(&mut self, name: &str, values: Vec<Option<&OwnedValue>>) {
        let values: Vec<_> =
            values.into_iter().map(|value| value.filter(|v| **v != OwnedValue::Nil)).collect();
        let integers: Option<Vec<_>> = all(&values, |value| match value {
            OwnedValue::Int(number) => Some(*number),
            _ => None,
        });
        let flags: Option<Vec<_>> = all(&values, |value| match value {
            OwnedValue::Bool(flag) => Some(*flag),
            _ => None,
        });
        match (integers, flags) {
            (Some(integers), _) => self.integers(name, integers),
            (None, Some(flags)) => self.push(name, Arc::new(BooleanArray::from(flags))),
            (None, None) => {
                let text = |value: Option<&OwnedValue>| value.map(ToString::to_string);
                self.texts(name, values.into_iter().map(text).collect());
            }
        }
    }

    pub(crate) fn push(&mut self, name: &str, column: ArrayRef) {
        self.columns.push((name.to_owned(), column));
    }

    /// The table as an answer.
    pub(crate) fn answer(self) -> Result<Answer<'static>, Failure> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            self.columns.into_iter().map(|(name, column)| (name, column, true)),
        );
        let batch = batch.map_err(untabled)?;
        Ok(Answer { schema: batch.schema(), batches: Box::new(std::iter::once(Ok(batch))) })
    }
}

fn untabled(error: ArrowError) -> Failure {
    Failure::Other(format!("the result cannot be made into a table: {error}"))
}

/// Moments without what is less than a millisecond.
pub(crate) fn in_millis(nanos: impl Iterator<Item = Option<i64>>) -> TimestampMillisecondArray {
    const NANOS_PER_MILLI: i64 = 1_000_000;
    let millis = nanos.map(|nanos| nanos.map(|nanos| nanos.div_euclid(NANOS_PER_MILLI)));
    millis.collect::<TimestampMillisecondArray>().with_timezone("UTC")
}

/// All values as something, if all that are there are that, and one is there.
fn all<T>(
    values: &[Option<&OwnedValue>],
    of: impl Fn(&OwnedValue) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    values
        .iter()
        .map(|value| match value {
            Some(value) => of(value).map(Some),
            None => Some(None),
        })
        .collect()
}

/// Texts that end below each other.
pub(crate) fn right(name: &str, texts: Vec<Option<String>>) -> Vec<Option<String>> {
    let widths = texts.iter().flatten().map(|text| terminal::width(text));
    let widest = widths.max().unwrap_or(0).max(terminal::width(name));
    let pad = |text: String| terminal::pad_left(&text, widest);
    texts.into_iter().map(|text| text.map(pad)).collect()
}

/// A number with four digits or so, or a duration with its unit.
pub(crate) fn readable(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if number.is_finite() => units::nanos((number * 1e9).round() as i128),
        _ => significant(number),
    }
}

fn significant(number: f64) -> String {
    const DIGITS: i32 = 4;
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let magnitude = number.abs().log10().floor() as i32;
    if !(-5..15).contains(&magnitude) {
        return format!("{number:.3e}");
    }
    if number.fract() == 0.0 || magnitude >= DIGITS - 1 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", units::count(number.abs().round() as u64));
    }
    let decimals = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(1);
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use arrow_schema::DataType;

    /// An answer as it is written.
    pub(crate) fn written(answer: Answer<'_>, encoder: &mut dyn Encoder) -> String {
        let mut out = encoder.begin(&answer.schema).unwrap();
        for batch in answer.batches {
            out.extend(encoder.batch(&batch.unwrap()).unwrap());
        }
        out.extend(encoder.end().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_four_digits_and_durations_their_unit() {
        for (number, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (1_234_567.0, "1,234,567"),
            (-3.0, "-3"),
            (0.016_666_666, "0.01667"),
            (123.456, "123.5"),
            (12_345.678, "12,346"),
            (0.5, "0.5"),
            (1e-9, "1.000e-9"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(readable(number, Unit::None), text);
        }
        assert_eq!(readable(1.24, Unit::Seconds), "1.24 s");
        assert_eq!(readable(7200.0, Unit::Seconds), "2.00 h");
        assert_eq!(readable(0.000_2, Unit::Seconds), "200 µs");
    }

    #[test]
    fn arrow_is_for_programs_and_reads_back() {
        let mut frame = Frame::new(Format::Arrow.reader());
        frame.times("time", vec![1_500]);
        frame.numbers("value", Unit::Seconds, vec![Some(0.5)]);
        let answer = frame.answer().unwrap();
        let mut encoder = Format::Arrow.encoder();
        let mut stream = encoder.begin(&answer.schema).unwrap();
        for batch in answer.batches {
            stream.extend(encoder.batch(&batch.unwrap()).unwrap());
        }
        stream.extend(encoder.end().unwrap());
        let read = Answer::of_stream(&*stream).unwrap();
        assert_eq!(read.schema, answer.schema);
        let batches: Vec<RecordBatch> = read.batches.map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    }

    #[test]
    fn people_and_programs_get_what_they_can_read() {
        for (reader, name, data_type) in [
            (Reader::Program, "took_nanos", DataType::Int64),
            (Reader::Person { columns: None }, "took", DataType::Utf8),
        ] {
            let mut frame = Frame::new(reader);
            frame.durations("took", vec![1_500_000]);
            let answer = frame.answer().unwrap();
            assert_eq!(answer.schema.field(0).name(), name);
            assert_eq!(answer.schema.field(0).data_type(), &data_type);
        }
    }

    #[test]
    fn values_of_one_type_keep_it() {
        let (int, text, nil) =
            (OwnedValue::Int(200), OwnedValue::Text("x".to_owned()), OwnedValue::Nil);
        let mut frame = Frame::new(Reader::Program);
        frame.values("ints", vec![Some(&int), None, Some(&nil)]);
        frame.values("mixed", vec![Some(&int), Some(&text), None]);
        frame.values("none", vec![None, None, Some(&nil)]);
        frame.values("flags", vec![Some(&OwnedValue::Bool(true)), None, None]);
        let schema = frame.answer().unwrap().schema;
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let expected = [DataType::Int64, DataType::Utf8, DataType::Utf8, DataType::Boolean];
        assert_eq!(types, expected);
    }
}
