//! Values of attributes, from Python and to it.
//!
//! Nothing is refused: what OpenTelemetry has no type for is its text, as `str()` gives it. `None` is
//! no value, and its key is left out.

use kymo_session::{Array, KeyValue, StringValue, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

const NANOS_PER_SECOND: f64 = 1e9;

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
    let mut attributes = Vec::with_capacity(pairs.len());
    for (key, given) in pairs {
        if let Some(value) = value(&given)? {
            attributes.push(KeyValue::new(text(&key)?, value));
        }
    }
    Ok(attributes)
}

fn text(given: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(given.str()?.to_string_lossy().into_owned())
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
    Ok(Some(match scalar(given) {
        Some(value) => value,
        None => Value::String(text(given)?.into()),
    }))
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
    let has = |name: &str| given.hasattr(name).unwrap_or(false);
    if has("__index__") {
        return given.extract().ok().map(Value::I64);
    }
    if has("__float__") {
        return given.extract().ok().map(Value::F64);
    }
    None
}

/// A list of one type; numbers of both kinds are floats, everything else is text.
fn array(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut values = Vec::new();
    for item in given.try_iter()? {
        values.extend(value(&item?)?);
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

/// Seconds since 1970 as nanoseconds; 0, which stands for now, if there are none.
pub(crate) fn nanos(seconds: Option<f64>) -> PyResult<u64> {
    match seconds {
        None => Ok(0),
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            // Whole seconds apart, since a float has no room for nanoseconds since 1970.
            let whole = seconds.trunc();
            let fraction = ((seconds - whole) * NANOS_PER_SECOND).round();
            Ok((whole as u64).saturating_mul(1_000_000_000).saturating_add(fraction as u64))
        }
        Some(seconds) => Err(pyo3::exceptions::PyValueError::new_err(format!(
            "{seconds} is no time: expected seconds since 1970"
        ))),
    }
}

/// Nanoseconds since 1970 as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    // Apart, for the same reason.
    let (whole, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    whole as f64 + fraction as f64 / NANOS_PER_SECOND
}
