//! Columns as bytes, each in the narrowest type that holds its values.

use serde::Serialize;

/// Where a column is and what it is made of.
#[derive(Debug, Serialize)]
pub(super) struct Column {
    name: &'static str,
    r#type: &'static str,
    length: usize,
    /// From the base; absent if all values are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    /// The value of all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<f64>,
}

/// Columns, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) columns: Vec<Column>,
    pub(super) bytes: Vec<u8>,
}

impl Block {
    /// Numbers with a fraction, or that may be large.
    pub(super) fn numbers(
        &mut self,
        name: &'static str,
        values: impl Iterator<Item = f64> + Clone,
    ) {
        let fill = same(values.clone());
        self.add(name, "f64", fill, values, |value, out| out.extend(value.to_le_bytes()));
    }

    /// Numbers that may be -1.
    pub(super) fn signed(&mut self, name: &'static str, values: impl Iterator<Item = i32> + Clone) {
        let fill = same(values.clone()).map(f64::from);
        self.add(name, "i32", fill, values, |value, out| out.extend(value.to_le_bytes()));
    }

    /// Counts, and places in tables.
    pub(super) fn whole_numbers(
        &mut self,
        name: &'static str,
        values: impl Iterator<Item = u32> + Clone,
    ) {
        let fill = same(values.clone()).map(f64::from);
        match values.clone().max().unwrap_or(0) {
            0..=0xff => self.add(name, "u8", fill, values, |value, out| out.push(value as u8)),
            0x100..=0xffff => self.add(name, "u16", fill, values, |value, out| {
                out.extend((value as u16).to_le_bytes());
            }),
            _ => self.add(name, "u32", fill, values, |value, out| out.extend(value.to_le_bytes())),
        }
    }

    /// Ids of spans.
    pub(super) fn ids(&mut self, name: &'static str, values: impl Iterator<Item = [u8; 8]>) {
        self.add(name, "bytes8", None, values, |value, out| out.extend(value));
    }

    fn add<T>(
        &mut self,
        name: &'static str,
        r#type: &'static str,
        fill: Option<f64>,
        values: impl Iterator<Item = T>,
        write: impl Fn(T, &mut Vec<u8>),
    ) {
        let length;
        let mut offset = None;
        if fill.is_some() {
            length = values.count();
        } else {
            self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
            offset = Some(self.bytes.len());
            let mut count = 0;
            for value in values {
                write(value, &mut self.bytes);
                count += 1;
            }
            length = count;
        }
        self.columns.push(Column { name, r#type, length, offset, fill });
    }
}

/// The value that all are, if they are.
fn same<T: PartialEq + Copy>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
