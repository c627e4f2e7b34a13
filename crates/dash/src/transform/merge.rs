//! `merge`: one table out of several, rows with the same keys joined.
//!
//! The keys are the fields that all frames have. Rows of equal keys become one where no other field
//! tells them apart; else they follow each other.

use std::collections::HashMap;

use super::{Outcome, check_cells, joined_ref_id};
use crate::frame::{Field, Frame, Key, Value};
use crate::limits;

pub(super) fn apply(frames: &[Frame]) -> Outcome {
    if frames.len() <= 1 {
        return Ok(frames.to_vec());
    }
    let data: Vec<&Frame> = frames.iter().filter(|frame| !frame.fields.is_empty()).collect();
    if data.is_empty() {
        return Ok(frames[..1].to_vec());
    }
    let mut table = Table::over(&data);
    if table.keys.is_empty() {
        return Ok(frames.to_vec());
    }
    check_cells(table.columns.len() * data.iter().map(|frame| frame.rows()).sum::<usize>())?;
    for (index, frame) in data.iter().enumerate() {
        for row in 0..frame.rows() {
            table.add(index, frame, row);
            if table.compared > limits::MAX_MERGE_COMPARISONS {
                return Err("too many rows have the same keys to be merged".to_owned());
            }
        }
    }
    let mut made = Frame::new(table.fields());
    let sources: Vec<Frame> = data.iter().map(|frame| frame.with_fields(Vec::new())).collect();
    made.ref_id = Some(joined_ref_id("merge", &sources));
    Ok(vec![made])
}

/// Rows so far, by columns of the merged table.
struct Table<'a> {
    columns: Vec<&'a Field>,
    /// For each frame, the column of each of its fields.
    places: Vec<Vec<usize>>,
    keys: Vec<usize>,
    rows: Vec<Vec<Option<Value>>>,
    by_key: HashMap<Vec<Key>, Vec<usize>>,
    /// How many rows were compared so far, which grows with the square of those of one key.
    compared: usize,
}

impl<'a> Table<'a> {
    fn over(data: &[&'a Frame]) -> Self {
        let mut columns: Vec<&Field> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut places = Vec::new();
        for frame in data {
            let place = |field: &'a Field| {
                *by_name.entry(&field.name).or_insert_with(|| {
                    columns.push(field);
                    columns.len() - 1
                })
            };
            places.push(frame.fields.iter().map(place).collect::<Vec<usize>>());
        }
        let everywhere = |column: &usize| places.iter().all(|places| places.contains(column));
        let keys = (0..columns.len()).filter(everywhere).collect();
        Self { columns, places, keys, rows: Vec::new(), by_key: HashMap::new(), compared: 0 }
    }

    fn add(&mut self, index: usize, frame: &Frame, row: usize) {
        let mut cells: Vec<Option<Value>> = vec![None; self.columns.len()];
        for (field, &column) in frame.fields.iter().zip(&self.places[index]) {
            cells[column] = Some(field.at(row).clone());
        }
        let key = |&key: &usize| cells[key].as_ref().map_or(Key::Null, Value::key);
        let key: Vec<Key> = self.keys.iter().map(key).collect();
        let known = self.by_key.entry(key).or_default();
        let mut merged = false;
        self.compared += known.len();
        for &place in known.iter() {
            let existing = &mut self.rows[place];
            if fits(existing, &cells) {
                merged = true;
                for (old, new) in existing.iter_mut().zip(&cells) {
                    if new.is_some() {
                        old.clone_from(new);
                    }
                }
            }
        }
        if !merged {
            known.push(self.rows.len());
            self.rows.push(cells);
        }
    }

    fn fields(self) -> Vec<Field> {
        let column = |(index, field): (usize, &&Field)| {
            let values = self.rows.iter().map(|row| row[index].clone().unwrap_or_default());
            let mut made = field.with_values(values.collect());
            made.labels.clear();
            made.config.remove("displayName");
            made
        };
        self.columns.iter().enumerate().map(column).collect()
    }
}

/// Whether two rows say nothing that contradicts.
fn fits(existing: &[Option<Value>], new: &[Option<Value>]) -> bool {
    existing.iter().zip(new).all(|(old, new)| match (old, new) {
        (None | Some(Value::Null), _) | (_, None) => true,
        (Some(old), Some(new)) => old == new,
    })
}
