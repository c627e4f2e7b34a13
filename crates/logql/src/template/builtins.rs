//! What Go's templates have by themselves: comparisons, lengths, parts of values, methods of times.

use std::cmp::Ordering;

use super::Lookup;
use super::functions::Call;
use super::moment::Moment;
use super::value::{IntKind, Value};

type Outcome<T> = Result<T, String>;

/// All labels, sorted by name.
pub(super) fn sorted_labels(labels: &dyn Lookup) -> Vec<(String, String)> {
    let mut sorted = Vec::new();
    labels.each(&mut |name, value| sorted.push((name.to_owned(), value.to_owned())));
    sorted.sort();
    sorted
}

/// A field of a value. A label that is missing is empty, a field of JSON nil.
pub(super) fn field<'a>(
    value: &Value<'a>,
    name: &str,
    labels: &'a dyn Lookup,
) -> Outcome<Value<'a>> {
    match value {
        Value::Labels => Ok(Value::Text(labels.get(name).unwrap_or_default())),
        Value::Map(fields) => Ok(fields.get(name).cloned().unwrap_or(Value::Nil)),
        Value::Nil => Err(format!("nil has no field {name}")),
        other => Err(format!("cannot evaluate field {name} in type {}", other.type_name())),
    }
}

/// A method of a time.
pub(super) fn time_method<'a>(
    moment: &Moment,
    name: &str,
    arguments: &[Value<'a>],
) -> Outcome<Value<'a>> {
    let date = moment.civil().ok_or("the time is out of range");
    let value = match (name, arguments) {
        ("Unix", []) => Value::int64(moment.secs),
        ("UnixMilli", []) => Value::int64(moment.unix_millis()),
        ("UnixMicro", []) => Value::int64(moment.unix_micros()),
        ("UnixNano", []) => Value::int64(moment.unix_nanos()),
        ("Year", []) => Value::int(date?.year),
        ("Month", []) => Value::text(date?.month_name()),
        ("Day", []) => Value::int(date?.day.into()),
        ("Hour", []) => Value::int(date?.hour.into()),
        ("Minute", []) => Value::int(date?.minute.into()),
        ("Second", []) => Value::int(date?.second.into()),
        ("Nanosecond", []) => Value::int(moment.nanos.into()),
        ("YearDay", []) => Value::int(date?.year_day.into()),
        ("Weekday", []) => Value::text(date?.weekday_name()),
        ("IsZero", []) => Value::Bool(moment.is_zero()),
        ("UTC" | "Local", []) => Value::Time(moment.in_utc()),
        ("String", []) => Value::text(moment.to_text()?),
        ("Format", [Value::Text(layout)]) => Value::text(moment.format(layout)?),
        ("Before", [Value::Time(other)]) => Value::Bool(moment.order(other) == Ordering::Less),
        ("After", [Value::Time(other)]) => Value::Bool(moment.order(other) == Ordering::Greater),
        ("Equal", [Value::Time(other)]) => Value::Bool(moment.order(other) == Ordering::Equal),
        _ => {
            return Err(format!(
                "cannot evaluate {name} of a time with {} arguments",
                arguments.len()
            ));
        }
    };
    Ok(value)
}

pub(super) fn len<'a>(call: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    match values.as_slice() {
        [Value::Text(text)] => Ok(Value::count(text.len())),
        [Value::List(items)] => Ok(Value::count(items.len())),
        [Value::Map(fields)] => Ok(Value::count(fields.len())),
        [Value::Labels] => {
            let mut count = 0;
            call.around.labels.each(&mut |_, _| count += 1);
            Ok(Value::count(count))
        }
        [other] => Err(format!("a {} has no length", other.type_name())),
        _ => Err("expected one value".to_owned()),
    }
}

pub(super) fn index<'a>(call: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    let mut values = values.into_iter();
    let mut value = values.next().unwrap_or(Value::Nil);
    for key in values {
        value = match (&value, &key) {
            (Value::Labels | Value::Map(_), Value::Text(name)) => {
                field(&value, name, call.around.labels)?
            }
            (Value::List(items), Value::Int(at, _)) => {
                let item = usize::try_from(*at).ok().and_then(|at| items.get(at));
                item.cloned().ok_or_else(|| format!("index out of range: {at}"))?
            }
            (Value::Text(text), Value::Int(at, _)) => {
                let byte = usize::try_from(*at).ok().and_then(|at| text.as_bytes().get(at));
                let byte = byte.ok_or_else(|| format!("index out of range: {at}"))?;
                Value::Int(i64::from(*byte), IntKind::Uint8)
            }
            (Value::Nil, _) => return Err("nil has no parts".to_owned()),
            (value, key) => {
                return Err(format!(
                    "a {} has no part by a {}",
                    value.type_name(),
                    key.type_name()
                ));
            }
        };
    }
    Ok(value)
}

/// Part of a text, by bytes, or of a list.
pub(super) fn slice<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    let (value, bounds) = values.split_first().ok_or("expected a value")?;
    let length = match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        other => return Err(format!("a {} cannot be sliced", other.type_name())),
    };
    let mut ends = [0, length];
    if bounds.len() > 2 {
        return Err("expected at most two bounds".to_owned());
    }
    for (end, bound) in ends.iter_mut().zip(bounds) {
        let Value::Int(at, _) = bound else {
            return Err(format!("cannot slice by a {}", bound.type_name()));
        };
        let inside = usize::try_from(*at).ok().filter(|at| *at <= length);
        *end = inside.ok_or_else(|| format!("index out of range: {at}"))?;
    }
    let [start, end] = ends;
    if start > end {
        return Err(format!("invalid slice: {start} is after {end}"));
    }
    Ok(match value {
        Value::Text(text) => Value::text(whole_characters(text, start, end).to_owned()),
        Value::List(items) => Value::List(items[start..end].to_vec().into()),
        _ => Value::Nil,
    })
}

/// The bytes of a text from `start` to `end`, without halves of characters.
pub(super) fn whole_characters(text: &str, start: usize, end: usize) -> &str {
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = (0..=end.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(start..end).unwrap_or_default()
}

/// Whether the first value equals any of the others.
fn equals_any(values: &[Value<'_>]) -> Outcome<bool> {
    let (first, others) = values.split_first().ok_or("expected values")?;
    if others.is_empty() {
        return Err("missing argument for comparison".to_owned());
    }
    for other in others {
        let is_equal = match (first, other) {
            (Value::Nil, other) => matches!(other, Value::Nil),
            (_, Value::Nil) => false,
            (Value::Time(a), Value::Time(b)) => a.order(b) == Ordering::Equal,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            _ => order(first, other)?.is_some_and(Ordering::is_eq),
        };
        if is_equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How two values of one kind compare; NaN does not.
fn order(a: &Value<'_>, b: &Value<'_>) -> Outcome<Option<Ordering>> {
    match (a, b) {
        (Value::Int(a, _), Value::Int(b, _)) => Ok(Some(a.cmp(b))),
        (Value::Float(a), Value::Float(b)) => Ok(a.partial_cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
        _ => Err(format!("cannot compare {} and {}", a.type_name(), b.type_name())),
    }
}

fn ordered(values: &[Value<'_>], holds: impl Fn(Ordering) -> bool) -> Outcome<bool> {
    match values {
        [a, b] => Ok(order(a, b)?.is_some_and(holds)),
        _ => Err("expected two values".to_owned()),
    }
}

pub(super) fn eq<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    equals_any(&values).map(Value::Bool)
}

pub(super) fn ne<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    equals_any(&values).map(|is_equal| Value::Bool(!is_equal))
}

pub(super) fn lt<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    ordered(&values, Ordering::is_lt).map(Value::Bool)
}

pub(super) fn le<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    ordered(&values, Ordering::is_le).map(Value::Bool)
}

pub(super) fn gt<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    // What is not ordered is neither less nor equal, and so greater: as in Go.
    ordered(&values, Ordering::is_le).map(|holds| Value::Bool(!holds))
}

pub(super) fn ge<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    ordered(&values, Ordering::is_lt).map(|holds| Value::Bool(!holds))
}

pub(super) fn not<'a>(_: &mut Call<'a, '_>, values: Vec<Value<'a>>) -> Outcome<Value<'a>> {
    Ok(Value::Bool(!values.first().is_some_and(Value::is_true)))
}
