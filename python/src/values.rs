//! Values of attributes, from Python and to it.
//!
//! Nothing is refused: what OpenTelemetry has no type for is its text, as `str()` gives it, and what
//! `str()` raises for is `<unprintable>`. `None` is no value, and its key is left out. A time that is
//! none is now.

use std::sync::atomic::{AtomicBool, Ordering};

use kymo_session::{Array, KeyValue, StringValue, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

const NANOS_PER_SECOND: f64 = 1e9;
/// The beginning of the year 2200. Later times are milliseconds, or worse, taken for seconds.
const LATEST_SECONDS: f64 = 7_258_118_400.0;
/// The text of what has none.
const UNPRINTABLE: &str = "<unprintable>";

/// A string of Python. What is no Unicode in it (names of files, output of programs) is replaced.
pub(crate) struct Text(pub(crate) String);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self(given.cast::<PyString>()?.to_string_lossy().into_owned()))
    }
}

/// Attributes of a mapping; none of `None`.
pub(crate) fn attributes(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<KeyValue>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Vec::new()) };
    match given.cast::<PyDict>() {
        Ok(pairs) => attributes_of(pairs),
        Err(_) => {
            let pairs = PyDict::new(given.py());
            pairs.update(given.cast()?)?;
            attributes_of(&pairs)
        }
    }
}

/// Attributes of a dictionary.
pub(crate) fn attributes_of(pairs: &Bound<'_, PyDict>) -> PyResult<Vec<KeyValue>> {
    // First all, since making a text of one may run anything, also what changes the dictionary.
    let pairs: Vec<_> = pairs.iter().collect();
    let mut attributes = Vec::with_capacity(pairs.len());
    for (key, given) in pairs {
        if let Some(value) = value(&given)? {
            attributes.push(KeyValue::new(text(&key), value));
        }
    }
    Ok(attributes)
}

/// What `str()` gives.
pub(crate) fn text(given: &Bound<'_, PyAny>) -> String {
    match given.str() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => UNPRINTABLE.to_owned(),
    }
}

/// A value; nothing of `None`.
fn value(given: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(string) = given.cast::<PyString>() {
        return Ok(Some(Value::String(string.to_string_lossy().into_owned().into())));
    }
    if given.is_none() {
        return Ok(None);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        return array(given).map(Some);
    }
    Ok(Some(single(given)))
}

/// A value that is no list: a list is its text.
fn single(given: &Bound<'_, PyAny>) -> Value {
    scalar(given).unwrap_or_else(|| Value::String(text(given).into()))
}

/// A number or a switch, also of a library such as NumPy.
fn scalar(given: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(switch) = given.cast::<PyBool>() {
        return Some(Value::Bool(switch.is_true()));
    }
    if given.is_instance_of::<PyFloat>() {
        return given.extract().ok().map(Value::F64);
    }
    if given.is_instance_of::<PyInt>() {
        // One that is too long is text, and every digit is kept.
        return given.extract().ok().map(Value::I64);
    }
    if is_numpy_bool(given) {
        return given.is_truthy().ok().map(Value::Bool);
    }
    let has = |name: &str| given.hasattr(name).unwrap_or(false);
    if has("__index__") {
        return given.extract().ok().map(Value::I64);
    }
    if has("__float__") {
        return given.extract().ok().map(Value::F64);
    }
    None
}

/// Whether it is one of NumPy's `True` and `False`, which would pass for numbers.
fn is_numpy_bool(given: &Bound<'_, PyAny>) -> bool {
    let kind = given.get_type();
    let is_called = |names: &[&str], name: PyResult<Bound<'_, PyString>>| {
        name.is_ok_and(|name| names.contains(&&*name.to_string_lossy()))
    };
    is_called(&["bool", "bool_"], kind.name()) && is_called(&["numpy"], kind.module())
}

/// A list of one type; numbers of both kinds are floats, everything else is text. So are lists in it:
/// they may be deep, or contain themselves.
fn array(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut values = Vec::new();
    for item in given.try_iter()? {
        let item = item?;
        if !item.is_none() {
            values.push(single(&item));
        }
    }
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    let array = if all(|value| matches!(value, Value::Bool(_))) && !values.is_empty() {
        Array::Bool(values.iter().filter_map(bool_of).collect())
    } else if all(|value| matches!(value, Value::I64(_))) && !values.is_empty() {
        Array::I64(values.iter().filter_map(integer_of).collect())
    } else if all(|value| matches!(value, Value::I64(_) | Value::F64(_))) && !values.is_empty() {
        Array::F64(values.iter().filter_map(float_of).collect())
    } else {
        Array::String(values.iter().map(|value| StringValue::from(value.to_string())).collect())
    };
    Ok(Value::Array(array))
}

fn bool_of(value: &Value) -> Option<bool> {
    if let Value::Bool(value) = value { Some(*value) } else { None }
}

fn integer_of(value: &Value) -> Option<i64> {
    if let Value::I64(value) = value { Some(*value) } else { None }
}

fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::F64(value) => Some(*value),
        Value::I64(value) => Some(*value as f64),
        _ => None,
    }
}

/// A dictionary of attributes.
pub(crate) fn dictionary<'py>(
    py: Python<'py>,
    attributes: &[KeyValue],
) -> PyResult<Bound<'py, PyDict>> {
    let pairs = PyDict::new(py);
    for attribute in attributes {
        pairs.set_item(attribute.key.as_str(), object(py, &attribute.value)?)?;
    }
    Ok(pairs)
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::I64(value) => value.into_pyobject(py)?.into_any(),
        Value::F64(value) => PyFloat::new(py, *value).into_any(),
        Value::String(value) => PyString::new(py, value.as_str()).into_any(),
        Value::Array(Array::Bool(values)) => PyList::new(py, values)?.into_any(),
        Value::Array(Array::I64(values)) => PyList::new(py, values)?.into_any(),
        Value::Array(Array::F64(values)) => PyList::new(py, values)?.into_any(),
        Value::Array(Array::String(values)) => {
            PyList::new(py, values.iter().map(StringValue::as_str))?.into_any()
        }
        // Kinds that a later version of OpenTelemetry may add.
        other => PyString::new(py, &other.to_string()).into_any(),
    })
}

/// Seconds since 1970 as nanoseconds; 0, which stands for now, if there are none or it is no time.
pub(crate) fn nanos(seconds: Option<f64>) -> u64 {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let Some(seconds) = seconds else { return 0 };
    if (0.0..LATEST_SECONDS).contains(&seconds) {
        // Whole seconds apart, since a float has no room for nanoseconds since 1970.
        let whole = seconds.trunc();
        let fraction = ((seconds - whole) * NANOS_PER_SECOND).round();
        return (whole as u64) * 1_000_000_000 + fraction as u64;
    }
    if !IS_SAID.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            target: "kymo_python",
            "{seconds} is no time: expected seconds since 1970, before the year 2200; now is taken \
             in its place (this is said once)"
        );
    }
    0
}

/// Nanoseconds since 1970 as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    // Apart, for the same reason.
    let (whole, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    whole as f64 + fraction as f64 / NANOS_PER_SECOND
}
