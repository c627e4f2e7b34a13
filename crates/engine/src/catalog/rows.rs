//! Rows of the catalogue, and the batch that they become.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    new_null_array,
};
use arrow_schema::ArrowError;

use super::contents::Contents;
use super::relations::{Kind, Relation};

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Number(i64),
    Text(String),
    Flag(bool),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A row: what it says of its columns. Of others it has what their kind says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row(Vec<(&'static str, Cell)>);

impl Row {
    /// The same row with one more value.
    pub(crate) fn with(mut self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.0.push((column, value.into()));
        self
    }

    fn get(&self, column: &str) -> Option<&Cell> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, cell)| cell)
    }

    fn number(&self, column: &str) -> Option<i64> {
        match self.get(column) {
            Some(Cell::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn flag(&self, column: &str) -> bool {
        matches!(self.get(column), Some(Cell::Flag(true)))
    }

    fn text(&self, column: &str) -> Option<&str> {
        match self.get(column) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// All rows of a relation.
pub(crate) fn batch(relation: &Relation, contents: &Contents) -> Result<RecordBatch, ArrowError> {
    let (schema, rows) = (relation.schema(), relation.rows(contents));
    let columns = relation.columns().zip(schema.fields()).map(|((name, kind), field)| {
        let column: ArrayRef = match kind {
            Kind::Number => {
                let numbers = rows.iter().map(|row| row.number(name).unwrap_or(0));
                Arc::new(Int64Array::from_iter_values(numbers))
            }
            Kind::Measure => {
                Arc::new(rows.iter().map(|row| row.number(name)).collect::<Int64Array>())
            }
            Kind::Flag => {
                Arc::new(rows.iter().map(|row| Some(row.flag(name))).collect::<BooleanArray>())
            }
            Kind::Text => Arc::new(rows.iter().map(|row| row.text(name)).collect::<StringArray>()),
            Kind::Texts => new_null_array(field.data_type(), rows.len()),
        };
        column
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let columns = columns.collect();
    RecordBatch::try_new_with_options(schema, columns, &options)
}
