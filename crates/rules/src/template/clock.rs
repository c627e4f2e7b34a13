//! Methods of times: `{{ (toTime $value).Format "15:04" }}`.

use kymo_logql::template::format_time;

use super::value::Value;
use crate::time::Civil;

/// A method of a time; `None` if there is no such method.
pub(super) fn method(nanos: i64, name: &str, arguments: &[Value]) -> Option<Value> {
    let civil = Civil::of(nanos);
    Some(match (name, arguments) {
        ("Year", []) => Value::Int(civil.year),
        ("Month", []) => Value::text(format_time(nanos, "January")),
        ("Day", []) => Value::Int(civil.day),
        ("Weekday", []) => Value::text(format_time(nanos, "Monday")),
        ("Hour", []) => Value::Int(civil.hour),
        ("Minute", []) => Value::Int(civil.minute),
        ("Second", []) => Value::Int(civil.second),
        ("Unix", []) => Value::Int(nanos.div_euclid(1_000_000_000)),
        ("UTC", []) => Value::Time(nanos),
        ("Format", [Value::Text(layout)]) => Value::text(format_time(nanos, layout)),
        _ => return None,
    })
}
