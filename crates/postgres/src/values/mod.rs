//! Values between Arrow and PostgreSQL.
//!
//! | module | what it holds |
//! |---|---|
//! | `cell` | one value of a column |
//! | `text` | as text |
//! | `binary` | as bytes |
//! | `given` | values that clients give for parameters |

mod binary;
mod cell;
mod given;
mod text;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::{BufMut, Bytes, BytesMut};
use kymo_engine::catalog::types::PgColumn;
use kymo_engine::shown_name;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FieldDescription, RowDescription};

pub(crate) use given::{given, is_binary_known};

use crate::error::{PgError, code};
use crate::limits::{ENCODE_BYTES, MAX_COLUMNS};
use crate::message::{format_of, without_zeros};

/// Columns of an answer, and how a client wants each.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    names: Vec<String>,
    types: Vec<PgColumn>,
    /// Whether each is sent as bytes.
    are_binary: Vec<bool>,
}

/// Rows as messages one after the other.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) messages: Bytes,
    /// How many they are.
    pub(crate) rows: usize,
}

impl Columns {
    pub(crate) fn new(schema: &Schema, formats: &[i16]) -> Result<Self, PgError> {
        let fields = schema.fields();
        if fields.len() > MAX_COLUMNS {
            let message =
                format!("an answer has {} columns, at most {MAX_COLUMNS} are sent", fields.len());
            return Err(PgError::new("54011", message));
        }
        Ok(Self {
            names: fields.iter().map(|field| without_zeros(shown_name(field.name()))).collect(),
            types: fields.iter().map(|field| PgColumn::of(field)).collect(),
            are_binary: (0..fields.len()).map(|place| format_of(formats, place) == 1).collect(),
        })
    }

    /// The message that tells of them.
    pub(crate) fn description(&self) -> PgWireBackendMessage {
        let columns = self.names.iter().zip(&self.types).zip(&self.are_binary);
        let fields = columns.map(|((name, column), is_binary)| {
            let format = i16::from(*is_binary);
            FieldDescription::new(name.clone(), 0, 0, column.oid(), column.size(), -1, format)
        });
        PgWireBackendMessage::RowDescription(RowDescription::new(fields.collect()))
    }

    /// Rows of a batch from its first on: all, unless their bytes become too many before.
    pub(crate) fn rows(&self, batch: &RecordBatch) -> Result<Encoded, PgError> {
        let mut out = BytesMut::with_capacity((batch.num_rows() * 64).min(ENCODE_BYTES));
        let mut rows = 0;
        while rows < batch.num_rows() && out.len() < ENCODE_BYTES {
            self.row(batch, rows, &mut out)?;
            rows += 1;
        }
        Ok(Encoded { messages: out.freeze(), rows })
    }

    fn row(&self, batch: &RecordBatch, row: usize, out: &mut BytesMut) -> Result<(), PgError> {
        let unwritten = |message: String| PgError::new(code::VALUE, message);
        out.put_u8(b'D');
        let begin = out.len();
        out.put_u32(0);
        // There are no more than MAX_COLUMNS.
        out.put_i16(batch.num_columns() as i16);
        for (place, array) in batch.columns().iter().enumerate() {
            let length_at = out.len();
            out.put_i32(-1);
            let column = &self.types[place];
            let cell = cell::of(array.as_ref(), row, column.is_array).map_err(unwritten)?;
            let is_there = match self.are_binary[place] {
                true => binary::write(&cell, column, out).map_err(unwritten)?,
                false => text::write(&cell, out).map_err(unwritten)?,
            };
            if is_there {
                let length = out.len() - length_at - 4;
                out[length_at..length_at + 4].copy_from_slice(&length_of(length)?);
            }
        }
        let length = out.len() - begin;
        out[begin..begin + 4].copy_from_slice(&length_of(length)?);
        Ok(())
    }
}

fn length_of(bytes: usize) -> Result<[u8; 4], PgError> {
    let too_long = |_| PgError::new(code::TOO_MUCH, "a row has more than 2 GiB");
    i32::try_from(bytes).map(i32::to_be_bytes).map_err(too_long)
}

/// One row of texts.
pub(crate) fn text_row(values: &[&str]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(b'D');
    let bytes: usize = values.iter().map(|value| 4 + value.len()).sum();
    // Values are settings, whose length is bounded.
    out.put_u32((4 + 2 + bytes) as u32);
    out.put_u16(values.len() as u16);
    for value in values {
        out.put_u32(value.len() as u32);
        out.put_slice(value.as_bytes());
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int32Type, UInt64Type};
    use arrow_array::*;
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    /// The values of the one row of a batch of one column.
    fn value(array: ArrayRef, format: i16) -> (u32, Option<Vec<u8>>) {
        let field = Field::new("a", array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let columns = Columns::new(&schema, &[format]).unwrap();
        let row = columns.rows(&batch).unwrap().messages;
        assert_eq!(row[0], b'D');
        let length = u32::from_be_bytes(row[1..5].try_into().unwrap());
        assert_eq!(length as usize, row.len() - 1);
        let length = i32::from_be_bytes(row[7..11].try_into().unwrap());
        let value = usize::try_from(length).ok().map(|length| row[11..11 + length].to_vec());
        (columns.types[0].oid(), value)
    }

    fn text(array: ArrayRef) -> String {
        String::from_utf8(value(array, 0).1.unwrap()).unwrap()
    }

    fn bytes(array: ArrayRef) -> Vec<u8> {
        value(array, 1).1.unwrap()
    }

    fn nanos(value: i64) -> ArrayRef {
        Arc::new(TimestampNanosecondArray::from(vec![value]).with_timezone("UTC"))
    }

    #[test]
    fn values_are_text_as_postgresql_writes_it() {
        assert_eq!(text(Arc::new(BooleanArray::from(vec![true]))), "t");
        assert_eq!(text(Arc::new(Int64Array::from(vec![-7]))), "-7");
        assert_eq!(text(Arc::new(Float64Array::from(vec![1.5]))), "1.5");
        assert_eq!(text(Arc::new(Float64Array::from(vec![1e300]))), "1e+300");
        assert_eq!(text(Arc::new(Float64Array::from(vec![f64::NAN]))), "NaN");
        // The digits of the number as it is, not as it would be with 64 bits.
        assert_eq!(text(Arc::new(Float32Array::from(vec![0.1]))), "0.1");
        assert_eq!(text(Arc::new(Float32Array::from(vec![1e6]))), "1e+06");
        assert_eq!(text(Arc::new(Float64Array::from(vec![f64::NEG_INFINITY]))), "-Infinity");
        assert_eq!(text(nanos(1_700_000_000_123_456_789)), "2023-11-14 22:13:20.123456+00");
        assert_eq!(text(nanos(-1)), "1969-12-31 23:59:59.999999+00");
        assert_eq!(text(nanos(0)), "1970-01-01 00:00:00+00");
        assert_eq!(text(Arc::new(UInt64Array::from(vec![u64::MAX]))), "18446744073709551615");
        let ids = FixedSizeBinaryArray::try_from_iter([[0xab_u8, 0x01]].into_iter());
        let id: ArrayRef = Arc::new(ids.unwrap());
        assert_eq!(text(id), "ab01");
        assert_eq!(text(Arc::new(BinaryArray::from(vec![&[0xab_u8][..]]))), "\\xab");
        assert_eq!(value(Arc::new(Int64Array::from(vec![None])), 0).1, None);
        let codes: DictionaryArray<Int32Type> = vec!["ok"].into_iter().collect();
        assert_eq!(text(Arc::new(codes)), "ok");
        assert_eq!(text(Arc::new(Date32Array::from(vec![19_675]))), "2023-11-14");
        let codes: DictionaryArray<UInt64Type> = vec!["ok"].into_iter().collect();
        assert_eq!(text(Arc::new(codes)), "ok");
    }

    #[test]
    fn decimals_of_any_size_are_digits() {
        let small = Decimal32Array::from(vec![150]).with_precision_and_scale(5, 2).unwrap();
        assert_eq!(text(Arc::new(small)), "1.50");
        let middle = Decimal64Array::from(vec![-5]).with_precision_and_scale(12, 1).unwrap();
        assert_eq!(text(Arc::new(middle)), "-0.5");
    }

    #[test]
    fn values_that_postgresql_cannot_have_are_an_error() {
        let ends = Int32Array::from(vec![1]);
        let runs = RunArray::try_new(&ends, &Int64Array::from(vec![7])).unwrap();
        let field = Field::new("a", runs.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(runs)]).unwrap();
        let error = Columns::new(&schema, &[]).unwrap().rows(&batch).unwrap_err();
        assert_eq!(error.code, code::VALUE);
        let many: Vec<_> = (0..=MAX_COLUMNS)
            .map(|number| Field::new(format!("{number}"), DataType::Int64, true))
            .collect();
        assert_eq!(Columns::new(&Schema::new(many), &[]).unwrap_err().code, "54011");
    }

    #[test]
    fn long_rows_are_encoded_a_few_at_a_time() {
        let long = "x".repeat(ENCODE_BYTES / 2);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(); 5]));
        let batch = RecordBatch::try_from_iter([("a", texts)]).unwrap();
        let columns = Columns::new(&batch.schema(), &[]).unwrap();
        assert_eq!(columns.rows(&batch).unwrap().rows, 2);
        let last = columns.rows(&batch.slice(4, 1)).unwrap();
        assert_eq!((last.rows, last.messages[0]), (1, b'D'));
        assert!(last.messages.len() > long.len());
    }

    #[test]
    fn values_are_bytes_as_postgresql_lays_them_out() {
        assert_eq!(bytes(Arc::new(Int64Array::from(vec![1]))), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes(Arc::new(Int32Array::from(vec![1]))), [0, 0, 0, 1]);
        assert_eq!(bytes(Arc::new(Float64Array::from(vec![1.0]))), 1.0_f64.to_be_bytes());
        // Microseconds since 2000.
        assert_eq!(bytes(nanos(946_684_800_000_001_000)), 1_i64.to_be_bytes());
        assert_eq!(bytes(Arc::new(Date32Array::from(vec![10_957]))), [0, 0, 0, 0]);
        assert_eq!(bytes(Arc::new(StringArray::from(vec!["ü"]))), "ü".as_bytes());
        // 1 0001 2345: three digits of base 10,000, weight 2.
        let expected = [0, 3, 0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 9, 41];
        assert_eq!(bytes(Arc::new(UInt64Array::from(vec![100_012_345]))), expected);
        let half = Decimal128Array::from(vec![-5]).with_precision_and_scale(3, 1).unwrap();
        assert_eq!(bytes(Arc::new(half)), [0, 1, 0xff, 0xff, 0x40, 0, 0, 1, 0x13, 0x88]);
    }

    #[test]
    fn lists_are_arrays_and_what_is_deeper_is_json() {
        let mut list = ListBuilder::new(Float64Builder::new());
        list.values().append_value(1.0);
        list.values().append_null();
        list.append(true);
        let list: ArrayRef = Arc::new(list.finish());
        assert_eq!(value(list.clone(), 0).0, 1022);
        assert_eq!(text(list.clone()), "{1,NULL}");
        let binary = bytes(list);
        assert_eq!(binary[..20], [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2, 189, 0, 0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(binary[20..24], [0, 0, 0, 8]);
        assert_eq!(binary[32..], [0xff, 0xff, 0xff, 0xff]);
        let mut list = ListBuilder::new(StringBuilder::new());
        for text in ["a", "", "a\"b\\", "null", "x,y"] {
            list.values().append_value(text);
        }
        list.append(true);
        assert_eq!(text(Arc::new(list.finish())), r#"{a,"","a\"b\\","null","x,y"}"#);
        let field = Arc::new(Field::new("n", DataType::Int64, true));
        let column: ArrayRef = Arc::new(Int64Array::from(vec![3]));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, column)]));
        assert_eq!(value(nested, 0), (114, Some(b"{\"n\":3}".to_vec())));
        let mut lists = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
        lists.values().values().append_value(f64::NAN);
        lists.values().append(true);
        lists.values().append(false);
        lists.append(true);
        assert_eq!(value(Arc::new(lists.finish()), 1), (114, Some(b"[[\"NaN\"],null]".to_vec())));
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        map.keys().append_value("a\"b");
        map.values().append_value(1);
        map.append(true).unwrap();
        assert_eq!(value(Arc::new(map.finish()), 0).1, Some(br#"{"a\"b":1}"#.to_vec()));
    }

    use arrow_array::builder::{
        Float64Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    };

    #[test]
    fn a_row_of_texts_is_laid_out() {
        assert_eq!(text_row(&["ab"])[..], *b"D\0\0\0\x0c\0\x01\0\0\0\x02ab");
    }
}
