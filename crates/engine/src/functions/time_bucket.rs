//! `time_bucket(width, time[, origin])`: the begin of the bucket that a time lies in.
//!
//! It is `date_bin` with two things more that people expect: the width may be text (`'5m'`), and
//! weeks begin on Monday. Buckets are counted from 2000-01-03, a Monday, those of months from
//! 2000-01-01, unless an origin is given.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::interval::Span;
use crate::error::Refusal;

/// 2000-01-03, a Monday.
const MONDAY_NANOS: i64 = 946_857_600_000_000_000;
/// 2000-01-01.
const CENTURY_NANOS: i64 = 946_684_800_000_000_000;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeBucket {
    signature: Signature,
    date_bin: Arc<ScalarUDF>,
}

impl Default for TimeBucket {
    fn default() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            date_bin: datafusion::functions::datetime::date_bin(),
        }
    }
}

fn usage() -> datafusion::error::DataFusionError {
    Refusal::error(
        "time_bucket takes a width, a time and perhaps an origin: time_bucket('5m', start_time)",
    )
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        "time_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let (width, times) = match types {
            [width, times @ ..] if matches!(times.len(), 1 | 2) => (width, times),
            _ => return Err(usage()),
        };
        let width = match width {
            DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            text if text.is_string() => DataType::Utf8,
            DataType::Dictionary(_, value) if value.is_string() => DataType::Utf8,
            DataType::Null => DataType::Utf8,
            _ => return Err(usage()),
        };
        let zone = times.iter().find_map(|time| match time {
            DataType::Timestamp(_, zone) => Some(zone.clone()),
            _ => None,
        });
        let time = DataType::Timestamp(TimeUnit::Nanosecond, zone.unwrap_or(Some("UTC".into())));
        for given in times {
            let is_time = matches!(
                given,
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Null
            );
            if !is_time && !given.is_string() {
                return Err(usage());
            }
        }
        Ok(std::iter::once(width).chain(times.iter().map(|_| time.clone())).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.get(1).cloned().ok_or_else(usage)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let time = args.arg_fields.get(1).ok_or_else(usage)?;
        Ok(Arc::new(Field::new(self.name(), time.data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ScalarFunctionArgs { args: given, number_rows, return_field, config_options, .. } =
            args;
        let mut given = given.into_iter();
        let (Some(width), Some(time)) = (given.next(), given.next()) else { return Err(usage()) };
        let ColumnarValue::Scalar(width) = width else {
            return Err(Refusal::error("the width of time_bucket has to be a constant"));
        };
        let Some(width) = Span::of_scalar(&width)? else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(return_field.data_type())?));
        };
        let (months, nanos, default) = match width {
            Span::Months(months) => (months, 0, CENTURY_NANOS),
            Span::Nanos(nanos) => (0, nanos, MONDAY_NANOS),
        };
        let zone = match return_field.data_type() {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let origin = match given.next() {
            None => ScalarValue::TimestampNanosecond(Some(default), zone),
            Some(ColumnarValue::Scalar(origin)) => origin,
            Some(ColumnarValue::Array(_)) => {
                return Err(Refusal::error("the origin of time_bucket has to be a constant"));
            }
        };
        if origin.is_null() {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(return_field.data_type())?));
        }
        let stride = IntervalMonthDayNano::new(months, 0, nanos);
        let args = vec![
            ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(Some(stride))),
            time,
            ColumnarValue::Scalar(origin),
        ];
        let field = |(nth, arg): (usize, &ColumnarValue)| {
            Arc::new(Field::new(format!("{nth}"), arg.data_type(), true))
        };
        let arg_fields = args.iter().enumerate().map(field).collect();
        self.date_bin.invoke_with_args(ScalarFunctionArgs {
            args,
            arg_fields,
            number_rows,
            return_field,
            config_options,
        })
    }
}
