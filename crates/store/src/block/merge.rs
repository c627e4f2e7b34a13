//! Columns of several sources put into one order.
//!
//! A merge knows for each row of each source where it goes. A column is made by
//! scattering each source's values to their places: work for values that are
//! there, none for gaps, and only one column in memory at a time.

use super::source::{RowRef, Source};
use crate::column::{Column, Dict, Interner, Values};
use crate::error::StoreError;
use crate::pages::encode::{Dense, Levels, fits_dictionary};
use crate::schema::Kind;

/// The place of a row that is left out.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Where the rows (or elements) of each source go.
#[derive(Debug)]
pub(crate) struct Places {
    /// For each source, for each of its rows, the row in the result.
    pub(crate) to: Vec<Vec<u32>>,
    pub(crate) rows: usize,
}

impl Places {
    /// Places for rows in this order.
    pub(crate) fn new(sources: &[Source], order: &[RowRef]) -> Self {
        let mut to: Vec<Vec<u32>> = sources.iter().map(|s| vec![NOWHERE; s.rows()]).collect();
        for (place, row) in order.iter().enumerate() {
            to[row.source as usize][row.row as usize] = place as u32;
        }
        Self { to, rows: order.len() }
    }

    /// Places of list elements, given the elements of each row of each source.
    pub(crate) fn elements(&self, counts: &[&[u32]]) -> (Self, Vec<u32>) {
        let mut merged = vec![0u32; self.rows];
        for (to, counts) in self.to.iter().zip(counts) {
            for (place, count) in to.iter().zip(*counts) {
                if *place != NOWHERE {
                    merged[*place as usize] = *count;
                }
            }
        }
        let mut firsts = Vec::with_capacity(self.rows);
        let mut total = 0u32;
        for count in &merged {
            firsts.push(total);
            total += count;
        }
        let to = self.to.iter().zip(counts).map(|(to, counts)| {
            let mut elements = Vec::new();
            for (place, count) in to.iter().zip(*counts) {
                match *place {
                    NOWHERE => elements.extend((0..*count).map(|_| NOWHERE)),
                    place => elements.extend((0..*count).map(|i| firsts[place as usize] + i)),
                }
            }
            elements
        });
        (Self { to: to.collect(), rows: total as usize }, merged)
    }
}

/// A merged column: a value for each row, and marks where one is there.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) values: MergedValues,
    /// Marks (1) of rows that have a value; `None` if all have.
    pub(crate) present: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) enum MergedValues {
    Int(Vec<i64>),
    Double(Vec<f64>),
    Bool(Vec<u8>),
    Id8(Vec<[u8; 8]>),
    Id16(Vec<[u8; 16]>),
    Bytes(Vec<u32>, Interner),
}

impl Merged {
    pub(crate) fn empty(kind: Kind, rows: usize, optional: bool) -> Self {
        let values = match kind {
            Kind::Time | Kind::Int => MergedValues::Int(vec![0; rows]),
            Kind::Double => MergedValues::Double(vec![0.0; rows]),
            Kind::Bool => MergedValues::Bool(vec![0; rows]),
            Kind::Id8 => MergedValues::Id8(vec![[0; 8]; rows]),
            Kind::Id16 => MergedValues::Id16(vec![[0; 16]; rows]),
            Kind::Text | Kind::Binary => MergedValues::Bytes(vec![0; rows], Interner::default()),
        };
        Self { values, present: optional.then(|| vec![0; rows]) }
    }

    /// Puts the values of `column` to their places.
    pub(crate) fn scatter(&mut self, column: &Column, to: &[u32]) -> Result<(), StoreError> {
        let present = &mut self.present;
        macro_rules! scatter {
            ($out:expr, $values:expr, $convert:expr) => {
                column.for_each_row(|row, i| {
                    let place = to[row as usize];
                    if place != NOWHERE {
                        $out[place as usize] = $convert($values[i]);
                        if let Some(marks) = present {
                            marks[place as usize] = 1;
                        }
                    }
                })
            };
        }
        match (&mut self.values, &column.values) {
            (MergedValues::Int(out), Values::Int(values)) => scatter!(out, values, |v| v),
            (MergedValues::Double(out), Values::Double(values)) => scatter!(out, values, |v| v),
            (MergedValues::Bool(out), Values::Bool(values)) => scatter!(out, values, u8::from),
            (MergedValues::Id8(out), Values::Id8(values)) => scatter!(out, values, |v| v),
            (MergedValues::Id16(out), Values::Id16(values)) => scatter!(out, values, |v| v),
            (MergedValues::Bytes(out, interner), Values::Bytes(codes, dict)) => {
                let mut new_codes = vec![NOWHERE; dict.len()];
                scatter!(out, codes, |code: u32| {
                    let new = &mut new_codes[code as usize];
                    if *new == NOWHERE {
                        // Beyond what a dictionary may have, there will be none.
                        *new = match fits_dictionary(interner.dict()) {
                            true => interner.intern(dict.get(code)),
                            false => interner.append(dict.get(code)),
                        };
                    }
                    *new
                });
            }
            _ => return Err(StoreError::corrupt("a column has another type than its table says")),
        }
        Ok(())
    }

    pub(crate) fn dense(&self) -> Dense<'_> {
        match &self.values {
            MergedValues::Int(v) => Dense::Int(v),
            MergedValues::Double(v) => Dense::Double(v),
            MergedValues::Bool(v) => Dense::Bool(v),
            MergedValues::Id8(v) => Dense::Fixed(v.as_flattened(), 8),
            MergedValues::Id16(v) => Dense::Fixed(v.as_flattened(), 16),
            MergedValues::Bytes(codes, interner) => Dense::Bytes(codes, interner.dict()),
        }
    }

    pub(crate) fn levels(&self) -> Levels<'_> {
        self.present.as_ref().map_or(Levels::Required, |marks| Levels::Optional(marks))
    }

    pub(crate) fn ints(&self) -> &[i64] {
        match &self.values {
            MergedValues::Int(v) => v,
            _ => &[],
        }
    }

    pub(crate) fn bytes(&self) -> Option<(&[u32], &Dict)> {
        match &self.values {
            MergedValues::Bytes(codes, interner) => Some((codes, interner.dict())),
            _ => None,
        }
    }

    /// Calls `each` with every row that has a value.
    pub(crate) fn for_each_present(&self, rows: usize, mut each: impl FnMut(usize)) {
        match &self.present {
            None => (0..rows).for_each(each),
            Some(marks) => {
                for (row, mark) in marks.iter().enumerate() {
                    if *mark == 1 {
                        each(row);
                    }
                }
            }
        }
    }
}
