//! Numbers of several columns to groups: rows with the same numbers are in the same group.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion::common::Result;
use hashbrown::HashMap;

use super::keys::KeyColumn;

/// The groups that were seen.
#[derive(Debug)]
pub(super) struct Groups {
    columns: Vec<KeyColumn>,
    /// Pairs of a number so far and the number of the next column to the number of both; one map
    /// for each column but the first.
    pairs: Vec<HashMap<u64, u32>>,
    /// The numbers of each group, by column.
    numbers: Vec<Vec<u32>>,
}

impl Groups {
    /// Of columns of these types, all of which [`KeyColumn`] knows.
    pub(super) fn new(types: &[DataType]) -> Option<Self> {
        let columns = types.iter().map(KeyColumn::new).collect::<Option<Vec<_>>>()?;
        let pairs = types.iter().skip(1).map(|_| HashMap::new()).collect();
        Some(Self { numbers: vec![Vec::new(); columns.len()], columns, pairs })
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.numbers[0].len()
    }

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        let columns: usize = self.columns.iter().map(KeyColumn::size).sum();
        let pairs: usize = self.pairs.iter().map(|pairs| pairs.capacity() * 16).sum();
        let numbers: usize = self.numbers.iter().map(|numbers| numbers.capacity() * 4).sum();
        columns + pairs + numbers
    }

    /// The group of each row.
    pub(super) fn of_rows(&mut self, columns: &[ArrayRef], groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let by_column = self
            .columns
            .iter_mut()
            .zip(columns)
            .map(|(known, column)| known.numbers(column))
            .collect::<Result<Vec<_>>>()?;
        if let ([numbers], [seen]) = (&by_column[..], &mut self.numbers[..]) {
            groups.extend(numbers.iter().map(|number| *number as usize));
            let count = numbers.iter().max().map_or(0, |greatest| greatest + 1);
            seen.extend(seen.len() as u32..count);
            return Ok(());
        }
        let rows = by_column[0].len();
        let mut joined = by_column[0].clone();
        for (nth, numbers) in by_column.iter().enumerate().skip(1) {
            let is_last = nth + 1 == by_column.len();
            let pairs = &mut self.pairs[nth - 1];
            // Neighbours are often the same.
            let mut last = None;
            for row in 0..rows {
                let pair = u64::from(joined[row]) << 32 | u64::from(numbers[row]);
                if let Some((seen, number)) = last
                    && seen == pair
                {
                    joined[row] = number;
                    continue;
                }
                let next = pairs.len() as u32;
                let number = *pairs.entry(pair).or_insert(next);
                if is_last && number == next {
                    for (seen, numbers) in self.numbers.iter_mut().zip(&by_column) {
                        seen.push(numbers[row]);
                    }
                }
                last = Some((pair, number));
                joined[row] = number;
            }
        }
        groups.extend(joined.into_iter().map(|number| number as usize));
        Ok(())
    }

    /// The values of all groups, by column.
    pub(super) fn values(&self) -> Result<Vec<ArrayRef>> {
        self.columns.iter().zip(&self.numbers).map(|(known, seen)| known.values(seen)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Array, Int64Array};

    use super::*;

    #[test]
    fn rows_are_in_one_group_if_all_their_values_are_the_same() {
        // Three columns of few values, in an order that repeats by chance.
        let rows = 500u64;
        let value = |row: u64, column: u64| {
            let mixed = (row * 3 + column).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            (!mixed.is_multiple_of(5)).then_some((mixed % 4) as i64)
        };
        for width in 1..=3u64 {
            let mut groups = Groups::new(&vec![DataType::Int64; width as usize]).unwrap();
            let mut found = Vec::new();
            for batch in 0..2 {
                let rows = batch * rows / 2..(batch + 1) * rows / 2;
                let columns: Vec<ArrayRef> = (0..width)
                    .map(|column| {
                        let values = rows.clone().map(|row| value(row, column));
                        Arc::new(values.collect::<Int64Array>()) as ArrayRef
                    })
                    .collect();
                let mut of_rows = Vec::new();
                groups.of_rows(&columns, &mut of_rows).unwrap();
                found.extend(of_rows);
            }
            let values = groups.values().unwrap();
            assert_eq!(values[0].len(), groups.len());
            let mut distinct = std::collections::BTreeSet::new();
            for (row, group) in found.iter().enumerate() {
                for (column, values) in values.iter().enumerate() {
                    let values = values.as_primitive::<Int64Type>();
                    let shown = values.is_valid(*group).then(|| values.value(*group));
                    assert_eq!(shown, value(row as u64, column as u64));
                }
                let key: Vec<_> = (0..width).map(|column| value(row as u64, column)).collect();
                distinct.insert(key);
            }
            assert_eq!(distinct.len(), groups.len());
        }
    }
}
