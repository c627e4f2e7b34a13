//! `increase(value, time)` and `rate(value, time)`: how much a counter grew in a group of samples.
//!
//! A group is one series: counters of several are summed after, not before. Samples may come in
//! any order. Where a value is less than the one before, the counter began anew, and what it has
//! since counts. Nothing is extrapolated to the bounds of a window, unlike in PromQL: it is what
//! the samples say between the first and the last of them. Fewer than two samples say nothing, so
//! the answer is NULL. A sample that is NULL, not a number or without a time is left out; of
//! several at the same time the greatest counts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::lists;
use crate::error::Refusal;

/// What is asked of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Increase,
    /// By second.
    Rate,
}

/// The functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Counter {
    asked: Asked,
    signature: Signature,
}

impl Counter {
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Counter {
    fn name(&self) -> &str {
        match self.asked {
            Asked::Increase => "increase",
            Asked::Rate => "rate",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let time = |zone| DataType::Timestamp(TimeUnit::Nanosecond, zone);
        let time = match types {
            [value, DataType::Timestamp(_, zone)] if is_number(value) => time(zone.clone()),
            [value, DataType::Null] if is_number(value) => time(None),
            _ => {
                let name = self.name();
                return Err(Refusal::error(format!(
                    "{name} takes the value of a counter and its time: {name}(value, time)"
                )));
            }
        };
        Ok(vec![DataType::Float64, time])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(Refusal::error(format!("{} has no DISTINCT", self.name())));
        }
        Ok(Box::new(Samples { asked: self.asked, samples: Vec::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = |part: &str, item| {
            let data_type = DataType::List(Arc::new(Field::new_list_field(item, true)));
            Arc::new(Field::new(format_state_name(args.name, part), data_type, true))
        };
        Ok(vec![list("times", DataType::Int64), list("values", DataType::Float64)])
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || *data_type == DataType::Null
}

/// The samples of a group.
#[derive(Debug)]
struct Samples {
    asked: Asked,
    samples: Vec<(i64, f64)>,
}

impl Accumulator for Samples {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values, times] = values else { return internal_err!("a value and a time") };
        let values = values.as_primitive::<Float64Type>();
        let times = times.as_primitive::<TimestampNanosecondType>();
        let both = times.iter().zip(values.iter());
        self.samples.extend(both.filter_map(|(time, value)| {
            value.filter(|value| !value.is_nan()).and_then(|value| Some((time?, value)))
        }));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(grown(&mut self.samples).map(|grown| match self.asked {
            Asked::Increase => grown.increase,
            Asked::Rate => grown.increase / grown.seconds,
        })))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.samples.capacity() * size_of::<(i64, f64)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let times: Int64Array = self.samples.iter().map(|(time, _)| Some(*time)).collect();
        let values: Float64Array = self.samples.iter().map(|(_, value)| Some(*value)).collect();
        Ok(vec![lists::scalar(Arc::new(times)), lists::scalar(Arc::new(values))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [times, values] = states else { return internal_err!("times and values") };
        let (times, values) = (times.as_list::<i32>(), values.as_list::<i32>());
        for row in 0..times.len() {
            if times.is_null(row) || values.is_null(row) {
                continue;
            }
            let (times, values) = (times.value(row), values.value(row));
            let times = times.as_primitive::<Int64Type>().values().iter().copied();
            let values = values.as_primitive::<Float64Type>().values().iter().copied();
            self.samples.extend(times.zip(values));
        }
        Ok(())
    }
}

/// What samples say of their counter.
#[derive(Debug, PartialEq)]
struct Grown {
    increase: f64,
    /// From the first to the last sample.
    seconds: f64,
}

/// Sorts samples by time; `None` if fewer than two are at different times.
fn grown(samples: &mut [(i64, f64)]) -> Option<Grown> {
    samples.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (first, last) = (samples.first()?.0, samples.last()?.0);
    if first == last {
        return None;
    }
    let mut increase = 0.0;
    let mut before: Option<f64> = None;
    // The greatest of a time is the last of it.
    for at_once in samples.chunk_by(|a, b| a.0 == b.0) {
        let value = at_once.last()?.1;
        increase += match before {
            None => 0.0,
            Some(before) if value >= before => value - before,
            Some(_) => value,
        };
        before = Some(value);
    }
    let seconds = (i128::from(last) - i128::from(first)) as f64 / 1e9;
    Some(Grown { increase, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_counter_that_began_anew_grew_by_what_it_has_since() {
        let mut samples = vec![(3 * SECOND, 2.0), (0, 10.0), (SECOND, 15.0), (2 * SECOND, 1.0)];
        assert_eq!(grown(&mut samples), Some(Grown { increase: 7.0, seconds: 3.0 }));
    }

    #[test]
    fn what_says_nothing_is_null() {
        assert_eq!(grown(&mut []), None);
        assert_eq!(grown(&mut [(5, 1.0)]), None);
        assert_eq!(grown(&mut [(5, 1.0), (5, 9.0)]), None);
        let far = grown(&mut [(i64::MIN, 0.0), (i64::MAX, 1.0)]).unwrap();
        assert!(far.increase == 1.0 && far.seconds > 1e10);
    }

    #[test]
    fn samples_that_are_null_or_not_a_number_are_left_out_and_parts_come_together() {
        let times = |nanos: Vec<Option<i64>>| {
            Arc::new(arrow_array::TimestampNanosecondArray::from(nanos)) as ArrayRef
        };
        let values = |values: Vec<Option<f64>>| Arc::new(Float64Array::from(values)) as ArrayRef;
        let of = |asked| Samples { asked, samples: Vec::new() };
        let mut first = of(Asked::Rate);
        first
            .update_batch(&[
                values(vec![Some(1.0), None, Some(f64::NAN), Some(4.0)]),
                times(vec![Some(0), Some(1), Some(2), None]),
            ])
            .unwrap();
        let mut second = of(Asked::Rate);
        second.update_batch(&[values(vec![Some(9.0)]), times(vec![Some(4 * SECOND)])]).unwrap();
        let mut whole = of(Asked::Rate);
        for part in [&mut second, &mut first, &mut of(Asked::Rate)] {
            let state: Vec<ArrayRef> =
                part.state().unwrap().iter().map(|value| value.to_array().unwrap()).collect();
            whole.merge_batch(&state).unwrap();
        }
        assert_eq!(whole.evaluate().unwrap(), ScalarValue::Float64(Some(2.0)));
    }
}
