//! The column `metric`: the name in Prometheus of the metric that a point belongs to.
//!
//! It is made of name, unit, type and whether a sum is monotonic. Few combinations make many
//! points, so each is translated once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::common::Result;
use kymo_store::scan::{ColumnRef, Predicate, Scalar};
use kymo_store::tables::series::field;
use kymo_wire::metric_names::{MetricKind, metric_name};

use super::text_type;

/// Columns of the store that the name is made of: name, unit, type, monotonic.
pub(crate) const METRIC_PARTS: [usize; 4] =
    [field::NAME, field::UNIT, field::TYPE, field::MONOTONIC];

/// What a name is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MetricParts {
    name: String,
    unit: Option<String>,
    metric_type: String,
    is_monotonic: Option<bool>,
}

impl MetricParts {
    /// The name; `None` if there is none.
    pub(crate) fn metric(&self) -> Option<String> {
        let kind = match (self.metric_type.as_str(), self.is_monotonic) {
            ("sum", Some(true)) => MetricKind::Counter,
            ("gauge", _) => MetricKind::Gauge,
            _ => MetricKind::Other,
        };
        metric_name(&self.name, self.unit.as_deref().unwrap_or(""), kind)
    }

    /// The series that have these parts.
    pub(crate) fn predicate(&self) -> Predicate {
        let [name, unit, metric_type, monotonic] = METRIC_PARTS.map(ColumnRef::Field);
        let text = |text: &String| Scalar::String(text.clone());
        let absent = |column: ColumnRef| Predicate::Not(Box::new(Predicate::Exists(column)));
        Predicate::And(vec![
            Predicate::equal(name, text(&self.name)),
            Predicate::equal(metric_type, text(&self.metric_type)),
            match &self.unit {
                Some(value) => Predicate::equal(unit, text(value)),
                None => absent(unit),
            },
            match self.is_monotonic {
                Some(value) => Predicate::equal(monotonic, Scalar::Bool(value)),
                None => absent(monotonic),
            },
        ])
    }
}

/// Makes names, each once.
#[derive(Debug, Default)]
pub(crate) struct MetricNames {
    /// Numbers of the combinations seen.
    known: HashMap<MetricParts, usize>,
    parts: Vec<MetricParts>,
    /// The name of each; `None` if it has none.
    names: Vec<Option<String>>,
    /// The names as batches show them, as long as there are no more.
    shown: Option<ArrayRef>,
}

impl MetricNames {
    /// All combinations seen.
    pub(crate) fn parts(&self) -> &[MetricParts] {
        &self.parts
    }

    /// The column of names. The parts are the columns of the batch from `first` on, in the order
    /// of [`METRIC_PARTS`].
    pub(crate) fn column(&mut self, batch: &RecordBatch, first: usize) -> Result<ArrayRef> {
        let numbers = self.numbers(batch, first)?;
        let names = &mut self.names;
        names.extend(self.parts[names.len()..].iter().map(MetricParts::metric));
        let valid = |number: usize| names[number].is_some();
        let keys: Int32Array =
            numbers.into_iter().map(|number| valid(number).then_some(number as i32)).collect();
        let shown = match self.shown.take().filter(|shown| shown.len() == names.len()) {
            Some(shown) => shown,
            None => {
                let texts = names.iter().map(|name| Some(name.as_deref().unwrap_or_default()));
                Arc::new(texts.collect::<StringArray>())
            }
        };
        self.shown = Some(shown.clone());
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, shown)?))
    }

    /// The number of each row's combination.
    pub(crate) fn numbers(&mut self, batch: &RecordBatch, first: usize) -> Result<Vec<usize>> {
        let columns = &batch.columns()[first..first + METRIC_PARTS.len()];
        let texts = [0, 1, 2].map(|nth| Texts::new(&columns[nth]));
        let [names, units, types] = texts;
        let (names, units, types) = (names?, units?, types?);
        let monotonic: &BooleanArray = columns[3].as_boolean();
        let mut by_codes: HashMap<Codes, usize> = HashMap::new();
        let rows = 0..batch.num_rows();
        Ok(rows
            .map(|row| {
                let is_monotonic = monotonic.is_valid(row).then(|| monotonic.value(row));
                let codes = (names.code(row), units.code(row), types.code(row), is_monotonic);
                *by_codes.entry(codes).or_insert_with(|| {
                    self.number(MetricParts {
                        name: names.text(codes.0).unwrap_or_default().to_owned(),
                        unit: units.text(codes.1).map(str::to_owned),
                        metric_type: types.text(codes.2).unwrap_or_default().to_owned(),
                        is_monotonic,
                    })
                })
            })
            .collect())
    }

    fn number(&mut self, parts: MetricParts) -> usize {
        let next = self.parts.len();
        *self.known.entry(parts).or_insert_with_key(|parts| {
            self.parts.push(parts.clone());
            next
        })
    }
}

/// Codes of name, unit and type, and whether a sum is monotonic, in one batch.
type Codes = (Option<usize>, Option<usize>, Option<usize>, Option<bool>);

/// Texts by code.
struct Texts {
    array: DictionaryArray<Int32Type>,
    values: StringArray,
}

impl Texts {
    fn new(column: &ArrayRef) -> Result<Self> {
        let array = cast(column, &text_type())?.as_dictionary::<Int32Type>().clone();
        let values = array.values().as_string::<i32>().clone();
        Ok(Self { array, values })
    }

    fn code(&self, row: usize) -> Option<usize> {
        self.array.key(row)
    }

    fn text(&self, code: Option<usize>) -> Option<&str> {
        code.map(|code| self.values.value(code))
    }
}
