//! Functions of times. The zone of the server is UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use super::super::layout_parse;
use super::super::moment::{Moment, Zone};
use super::super::value::Value;
use super::Call;
use super::text::text;

type Values<'a> = Vec<Value<'a>>;
type Outcome<'a> = Result<Value<'a>, String>;

pub(super) fn timestamp<'a>(call: &mut Call<'a, '_>, _: Values<'a>) -> Outcome<'a> {
    Ok(Value::Time(Moment::of_nanos(call.around.time_nanos)))
}

fn current() -> Moment {
    // A clock before 1970 is not worth an error.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::of_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

pub(super) fn now<'a>(_: &mut Call<'a, '_>, _: Values<'a>) -> Outcome<'a> {
    Ok(Value::Time(current()))
}

/// A time, or seconds since 1970, written after a layout. Anything else is taken for now.
pub(super) fn date<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let moment = match values.get(1) {
        Some(Value::Time(moment)) => moment.in_utc(),
        Some(Value::Int(secs, _)) => Moment::of_secs(*secs),
        _ => current(),
    };
    moment.format(text(&values, 0)).map(Value::text).map_err(str::to_owned)
}

/// A text read after a layout; what cannot be read is the first instant of year 1.
pub(super) fn to_date<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let moment = layout_parse::parse(text(&values, 0), text(&values, 1), Zone::Utc);
    Ok(Value::Time(moment.unwrap_or(Moment::ZERO)))
}

/// The same in a zone; one that nobody knows is UTC.
pub(super) fn to_date_in_zone<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let zone = Zone::named(text(&values, 1));
    let moment = layout_parse::parse(text(&values, 0), text(&values, 2), zone);
    Ok(Value::Time(moment.unwrap_or(Moment::ZERO)))
}

/// The time of a call's only argument, whose type the caller has checked.
fn moment<'v>(values: &'v [Value<'_>]) -> Result<&'v Moment, String> {
    match values {
        [Value::Time(moment)] => Ok(moment),
        _ => Err("expected a time".to_owned()),
    }
}

pub(super) fn unix_epoch<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(moment(&values)?.secs.to_string()))
}

pub(super) fn unix_epoch_millis<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(moment(&values)?.unix_millis().to_string()))
}

pub(super) fn unix_epoch_nanos<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(moment(&values)?.unix_nanos().to_string()))
}

/// Days, seconds, milliseconds, microseconds or nanoseconds since 1970, told by how many digits.
pub(super) fn unix_to_time<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = text(&values, 0);
    let wrong = || format!("cannot read the time {text:?}: expected 5, 10, 13, 16 or 19 digits");
    let number: i64 = text.parse().map_err(|_| wrong())?;
    let moment = match text.len() {
        5 => Moment::of_secs(number * 86_400),
        10 => Moment::of_secs(number),
        13 => Moment::of_nanos(number * 1_000_000),
        16 => Moment::of_nanos(number * 1_000),
        19 => Moment::of_nanos(number),
        _ => return Err(wrong()),
    };
    Ok(Value::Time(moment))
}
