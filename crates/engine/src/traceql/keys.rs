//! Numbers for values, found by the codes of dictionaries: a text is looked at once for each
//! dictionary that has it, not once for each row.

use arrow_array::{Array, StringArray};
use hashbrown::HashMap;
use kymo_traceql::value::{OwnedValue, Value};

use super::layout::{From, How, Place};
use super::table::View;

/// No number was given yet.
const UNKNOWN: u32 = u32::MAX;
/// The number of a value that is not there.
pub(super) const NIL: u32 = 0;

/// Numbers for the values of one name.
pub(super) struct Key {
    places: Vec<Place>,
    otherwise: Option<&'static str>,
    /// Numbers of texts, and of other values.
    texts: HashMap<String, u32>,
    known: HashMap<Distinct, u32>,
    values: Vec<OwnedValue>,
    /// Of each place: the dictionary that was seen last, and the number of each of its entries.
    codes: Vec<Option<(StringArray, Vec<u32>)>>,
    /// Bytes that values and their numbers take.
    bytes: usize,
}

/// A value other than a text that can be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Distinct {
    Int(i64),
    Float(u64),
    Bool(bool),
    Duration(i64),
    Word(&'static str),
    Array(String),
}

impl Key {
    pub(super) fn new(from: &From) -> Self {
        let otherwise = match from {
            From::SpanOr(_, text) => Some(*text),
            _ => None,
        };
        let places = from.span_places().to_vec();
        Self {
            codes: places.iter().map(|_| None).collect(),
            places,
            otherwise,
            texts: HashMap::new(),
            known: HashMap::new(),
            values: vec![OwnedValue::Nil],
            bytes: 0,
        }
    }

    /// The number of a value.
    fn number_of(&mut self, value: Value<'_>) -> u32 {
        let distinct = match value {
            Value::Nil => return NIL,
            Value::Text(text) => {
                if let Some(number) = self.texts.get(text) {
                    return *number;
                }
                let number = self.values.len() as u32;
                self.bytes += 96 + 2 * text.len();
                self.texts.insert(text.to_owned(), number);
                self.values.push(OwnedValue::Text(text.to_owned()));
                return number;
            }
            Value::Int(value) => Distinct::Int(value),
            Value::Float(value) => Distinct::Float(value.to_bits()),
            Value::Bool(value) => Distinct::Bool(value),
            Value::Duration(value) => Distinct::Duration(value),
            Value::Status(status) => Distinct::Word(status.name()),
            Value::Kind(kind) => Distinct::Word(kind.name()),
            Value::Array(elements) => Distinct::Array(format!("{elements:?}")),
        };
        let values = &mut self.values;
        let bytes = &mut self.bytes;
        let size_bytes = match &distinct {
            Distinct::Array(text) => 96 + 3 * text.len(),
            _ => 96,
        };
        *self.known.entry(distinct).or_insert_with(|| {
            *bytes += size_bytes;
            values.push(OwnedValue::from(value));
            values.len() as u32 - 1
        })
    }

    /// Makes ready for the dictionaries of a batch.
    fn begin(&mut self, views: &[View]) {
        for (nth, (column, _)) in self.places.iter().enumerate() {
            let Some(View::Codes(_, texts)) = views.get(*column) else {
                self.codes[nth] = None;
                continue;
            };
            let is_known = self.codes[nth].as_ref().is_some_and(|(known, _)| {
                known.len() == texts.len()
                    && known.value_data().as_ptr() == texts.value_data().as_ptr()
            });
            if !is_known {
                self.codes[nth] = Some((texts.clone(), vec![UNKNOWN; texts.len()]));
            }
        }
    }

    /// The number of the value of each row of a batch.
    pub(super) fn of_rows(&mut self, views: &[View], rows: usize, numbers: &mut Vec<u32>) {
        self.begin(views);
        numbers.clear();
        if let [(column, how)] = self.places[..]
            && how != How::Array
            && self.otherwise.is_none()
            && let Some(View::Codes(codes, _)) = views.get(column)
            && codes.null_count() == 0
        {
            // The common case: all rows have a text. What is new is looked at row by row below.
            if let Some((_, known)) = &self.codes[0] {
                let all = codes.values().iter().map(|code| known[*code as usize]);
                numbers.extend(all);
            }
            for (row, number) in numbers.iter_mut().enumerate() {
                if *number == UNKNOWN {
                    *number = self.of_row(views, row);
                }
            }
            return;
        }
        numbers.extend((0..rows).map(|row| self.of_row(views, row)));
    }

    /// The number of the value of a row.
    #[inline]
    fn of_row(&mut self, views: &[View], row: usize) -> u32 {
        for nth in 0..self.places.len() {
            let (column, how) = self.places[nth];
            let Some(view) = views.get(column) else { continue };
            let number = match (view, &self.codes[nth]) {
                (View::Codes(codes, _), Some((_, numbers))) if how != How::Array => {
                    if !codes.is_valid(row) {
                        continue;
                    }
                    let code = codes.value(row) as usize;
                    match numbers.get(code).copied() {
                        Some(UNKNOWN) | None => {
                            let number = self.number_of(view.value(row, how, 0));
                            if let Some((_, numbers)) = &mut self.codes[nth]
                                && let Some(slot) = numbers.get_mut(code)
                            {
                                *slot = number;
                            }
                            number
                        }
                        Some(number) => number,
                    }
                }
                _ => self.number_of(view.value(row, how, 0)),
            };
            if number != NIL {
                return number;
            }
        }
        match self.otherwise {
            Some(text) => self.number_of(Value::Text(text)),
            None => NIL,
        }
    }

    /// The value of a number.
    pub(super) fn value(&self, number: u32) -> &OwnedValue {
        self.values.get(number as usize).unwrap_or(&OwnedValue::Nil)
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let codes = self.codes.iter().flatten();
        let dictionaries =
            codes.map(|(texts, numbers)| texts.value_data().len() + 8 * numbers.len());
        self.bytes + dictionaries.sum::<usize>()
    }
}
