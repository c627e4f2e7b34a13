//! The reducers that one walk over a column answers together.

use crate::frame::{Kind, Value};

use super::{Nulls, Reducer};

/// What one walk over a column finds.
#[derive(Debug)]
pub(super) struct Standard {
    empty: bool,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
    log_min: Option<f64>,
    first: Option<Value>,
    last: Option<Value>,
    /// Values that are not null, NaN among them.
    count: usize,
    /// Numbers that are not NaN.
    numbers: usize,
    /// Values that are neither null nor NaN.
    present: usize,
    all_zero: bool,
    delta: f64,
    step: Option<f64>,
    increasing: bool,
}

impl Standard {
    pub(super) fn of(values: &[Value], kind: Kind, nulls: Nulls) -> Self {
        let mut standard = Self {
            empty: values.is_empty(),
            sum: 0.0,
            min: None,
            max: None,
            log_min: None,
            first: None,
            last: None,
            count: 0,
            numbers: 0,
            present: 0,
            all_zero: true,
            delta: 0.0,
            step: None,
            increasing: true,
        };
        let numeric = matches!(kind, Kind::Number | Kind::Time);
        for value in values {
            standard.take(value, numeric, nulls);
        }
        standard
    }

    fn take(&mut self, value: &Value, numeric: bool, nulls: Nulls) {
        let zero = Value::Number(0.0);
        let value = match (value, nulls) {
            (Value::Null, Nulls::Ignore) => return,
            (Value::Null, Nulls::AsZero) => &zero,
            (value, _) => value,
        };
        self.count += 1;
        if value.is_null() || value.as_number().is_some_and(f64::is_nan) {
            return;
        }
        self.present += 1;
        self.all_zero &= value.as_number() == Some(0.0);
        if numeric && let Some(number) = value.as_number() {
            self.take_number(number);
        }
        if self.first.is_none() {
            self.first = Some(value.clone());
        }
        self.last = Some(value.clone());
    }

    fn take_number(&mut self, number: f64) {
        self.sum += number;
        self.numbers += 1;
        if let Some(last) = self.last.as_ref().and_then(Value::as_number) {
            let step = number - last;
            if self.step.is_none_or(|least| step < least) {
                self.step = Some(step);
            }
            // What follows a decrease is measured from there, as a counter that began anew.
            if last > number {
                self.increasing = false;
            } else {
                if self.increasing {
                    self.delta += step;
                }
                self.increasing = true;
            }
        }
        self.max = Some(self.max.map_or(number, |max| max.max(number)));
        self.min = Some(self.min.map_or(number, |min| min.min(number)));
        if number > 0.0 {
            self.log_min = Some(self.log_min.map_or(number, |min| min.min(number)));
        }
    }

    /// The last less the first, where both are numbers.
    fn difference(&self) -> Option<(f64, f64)> {
        let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_number);
        let first = number(&self.first)?;
        Some((number(&self.last)? - first, first))
    }

    pub(super) fn result(&self, reducer: Reducer) -> Value {
        match reducer {
            Reducer::Sum => self.sum.into(),
            Reducer::Min => self.min.into(),
            Reducer::Max => self.max.into(),
            Reducer::LogMin => self.log_min.into(),
            Reducer::Mean => (self.numbers > 0).then(|| self.sum / self.numbers as f64).into(),
            Reducer::Count => self.count.into(),
            Reducer::Range => self.max.zip(self.min).map(|(max, min)| max - min).into(),
            Reducer::Delta if self.empty => Value::Null,
            Reducer::Delta => self.delta.into(),
            Reducer::Step => self.step.into(),
            Reducer::Diff => self.difference().map(|(difference, _)| difference).into(),
            Reducer::DiffPercent if self.empty => Value::Null,
            Reducer::DiffPercent => {
                let percent =
                    self.difference().map(|(difference, first)| difference / first * 100.0);
                percent.unwrap_or(0.0).into()
            }
            Reducer::AllIsZero => (self.present > 0 && self.all_zero).into(),
            Reducer::AllIsNull => (self.present == 0).into(),
            _ => Value::Null,
        }
    }
}
