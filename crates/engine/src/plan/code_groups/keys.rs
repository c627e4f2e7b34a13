//! Values of one grouping column to numbers: equal values get the same, in the order they are seen.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion::arrow::compute::cast;
use datafusion::common::{Result, internal_datafusion_err};
use hashbrown::HashMap;

use crate::tables::is_text;

/// No number yet.
const NONE: u32 = u32::MAX;

/// The values of a column that were seen.
#[derive(Debug)]
pub(super) enum KeyColumn {
    Text(Texts),
    Number(Numbers),
}

impl KeyColumn {
    /// For values of that type; `None` if there is no better way than DataFusion's.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            text if is_text(text) => Some(Self::Text(Texts::default())),
            DataType::Int64 | DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                let data_type = data_type.clone();
                Some(Self::Number(Numbers { known: HashMap::new(), values: Vec::new(), data_type }))
            }
            _ => None,
        }
    }

    /// The number of each row's value.
    pub(super) fn numbers(&mut self, column: &ArrayRef) -> Result<Vec<u32>> {
        match self {
            Self::Text(texts) => texts.numbers(column),
            Self::Number(numbers) => numbers.numbers(column),
        }
    }

    /// The values of these numbers.
    pub(super) fn values(&self, numbers: &[u32]) -> Result<ArrayRef> {
        match self {
            Self::Text(texts) => texts.array(numbers),
            Self::Number(known) => known.array(numbers),
        }
    }

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(texts) => texts.bytes + texts.places.capacity() * 4,
            Self::Number(numbers) => numbers.values.capacity() * 48,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashMap<Arc<str>, u32>,
    /// By number; `None` is NULL.
    texts: Vec<Option<Arc<str>>>,
    null: Option<u32>,
    /// The dictionary that was seen last, and the numbers of its entries as far as they are known.
    dictionary: Option<ArrayRef>,
    places: Vec<u32>,
    /// Of texts, twice: they are in the map as well.
    bytes: usize,
}

impl Texts {
    fn numbers(&mut self, column: &ArrayRef) -> Result<Vec<u32>> {
        let column = column
            .as_dictionary_opt::<Int32Type>()
            .ok_or_else(|| internal_datafusion_err!("grouping by code needs codes"))?;
        let entries = column.values();
        if !self.dictionary.as_ref().is_some_and(|last| Arc::ptr_eq(last, entries)) {
            self.dictionary = Some(entries.clone());
            self.places.clear();
            self.places.resize(entries.len(), NONE);
        }
        let texts: StringArray = entries.as_string::<i32>().clone();
        let keys = column.keys();
        let mut numbers = Vec::with_capacity(keys.len());
        if keys.null_count() == 0 && texts.null_count() == 0 {
            for key in keys.values() {
                let number = self.places[*key as usize];
                numbers.push(if number == NONE { self.see(*key as usize, &texts) } else { number });
            }
            return Ok(numbers);
        }
        for key in keys {
            let place = key.map(|key| key as usize).filter(|place| texts.is_valid(*place));
            numbers.push(match place {
                None => self.see_null(),
                Some(place) if self.places[place] == NONE => self.see(place, &texts),
                Some(place) => self.places[place],
            });
        }
        Ok(numbers)
    }

    /// The number of an entry of the dictionary that was not asked for before.
    #[cold]
    fn see(&mut self, place: usize, entries: &StringArray) -> u32 {
        let text = entries.value(place);
        let number = match self.known.get(text) {
            Some(number) => *number,
            None => {
                let number = self.texts.len() as u32;
                let text: Arc<str> = text.into();
                self.bytes += text.len() + 64;
                self.texts.push(Some(text.clone()));
                self.known.insert(text, number);
                number
            }
        };
        self.places[place] = number;
        number
    }

    fn see_null(&mut self) -> u32 {
        *self.null.get_or_insert_with(|| {
            self.texts.push(None);
            self.texts.len() as u32 - 1
        })
    }

    fn array(&self, numbers: &[u32]) -> Result<ArrayRef> {
        let is_null = |number: u32| self.null == Some(number);
        let keys: Int32Array =
            numbers.iter().map(|number| (!is_null(*number)).then_some(*number as i32)).collect();
        let texts: StringArray =
            self.texts.iter().map(|text| Some(text.as_deref().unwrap_or(""))).collect();
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts))?))
    }
}

#[derive(Debug)]
pub(super) struct Numbers {
    known: HashMap<Option<i64>, u32>,
    values: Vec<Option<i64>>,
    data_type: DataType,
}

impl Numbers {
    fn numbers(&mut self, column: &ArrayRef) -> Result<Vec<u32>> {
        let (values, nulls) = match column.data_type() {
            DataType::Int64 => {
                let column = column.as_primitive::<Int64Type>();
                (column.values(), column.nulls())
            }
            _ => {
                let column = column.as_primitive::<TimestampNanosecondType>();
                (column.values(), column.nulls())
            }
        };
        let mut numbers = Vec::with_capacity(values.len());
        // Neighbours are often the same: a minute, an hour.
        let mut last = None;
        for (row, value) in values.iter().enumerate() {
            let value = nulls.is_none_or(|nulls| nulls.is_valid(row)).then_some(*value);
            let number = match last {
                Some((seen, number)) if seen == value => number,
                _ => self.number(value),
            };
            last = Some((value, number));
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn number(&mut self, value: Option<i64>) -> u32 {
        let next = self.values.len() as u32;
        *self.known.entry(value).or_insert_with(|| {
            self.values.push(value);
            next
        })
    }

    fn array(&self, numbers: &[u32]) -> Result<ArrayRef> {
        let values: Int64Array =
            numbers.iter().map(|number| self.values[*number as usize]).collect();
        Ok(cast(&values, &self.data_type)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::text_type;

    fn dictionary(keys: Vec<Option<i32>>, texts: Vec<Option<&str>>) -> ArrayRef {
        let texts = Arc::new(StringArray::from(texts));
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys.into(), texts).unwrap())
    }

    #[test]
    fn equal_texts_of_different_dictionaries_get_the_same_number() {
        let mut column = KeyColumn::new(&text_type()).unwrap();
        let first = dictionary(vec![Some(1), Some(0), None], vec![Some("a"), Some("b")]);
        let second =
            dictionary(vec![Some(0), Some(1), Some(2), Some(1)], vec![Some("b"), None, Some("c")]);
        assert_eq!(column.numbers(&first).unwrap(), [0, 1, 2]);
        assert_eq!(column.numbers(&second).unwrap(), [0, 2, 3, 2]);
        let values = cast(&column.values(&[3, 2, 0]).unwrap(), &DataType::Utf8).unwrap();
        let values: Vec<Option<&str>> = values.as_string::<i32>().iter().collect();
        assert_eq!(values, [Some("c"), None, Some("b")]);
    }

    #[test]
    fn numbers_keep_their_type_and_null_is_a_value() {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let mut column = KeyColumn::new(&time).unwrap();
        let values = Int64Array::from(vec![Some(7), Some(7), None, Some(8), None]);
        let values = cast(&values, &time).unwrap();
        assert_eq!(column.numbers(&values).unwrap(), [0, 0, 1, 2, 1]);
        let shown = column.values(&[1, 2]).unwrap();
        assert_eq!(shown.data_type(), &time);
        assert!(shown.is_null(0) && shown.is_valid(1));
    }
}
