//! The span that is current where a call is made.
//!
//! `kymograph._context` has a context variable with the innermost session, task or scope. Once an
//! SDK of OpenTelemetry is loaded there may be spans of others in between; one in the session's trace
//! is nearer than ours.

use kymo_session::{SpanId, TraceId};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::session::Session;
use crate::span::OpenSpan;
use crate::task::Task;

/// What is used of Python.
struct Hooks {
    /// `_context.current.get`.
    current: Py<PyAny>,
    /// `_context.active_span_of`.
    active_span_of: Py<PyAny>,
    /// `_context.Current`.
    make_current: Py<PyAny>,
    /// `sys.modules`.
    modules: Py<PyDict>,
}

static HOOKS: PyOnceLock<Hooks> = PyOnceLock::new();

fn hooks(py: Python<'_>) -> PyResult<&Hooks> {
    HOOKS.get_or_try_init(py, || {
        let context = py.import("kymograph._context")?;
        let modules = py.import("sys")?.getattr("modules")?;
        Ok(Hooks {
            current: context.getattr("current")?.getattr("get")?.unbind(),
            active_span_of: context.getattr("active_span_of")?.unbind(),
            make_current: context.getattr("Current")?.unbind(),
            modules: modules.cast_into::<PyDict>()?.unbind(),
        })
    })
}

/// The current span, if it lies in a trace.
pub(crate) fn current_span(py: Python<'_>, trace: TraceId) -> PyResult<Option<SpanId>> {
    let hooks = hooks(py)?;
    if hooks.modules.bind(py).contains(intern!(py, "opentelemetry.sdk.trace"))? {
        let span = hooks.active_span_of.call1(py, (trace.to_string(),))?;
        if let Some(digits) = span.extract::<Option<String>>(py)? {
            return Ok(SpanId::from_hex(&digits).ok());
        }
    }
    let current = hooks.current.bind(py).call0()?;
    if current.is_none() {
        return Ok(None);
    }
    Ok(ids(&current).filter(|(of, _)| *of == trace).map(|(_, span)| span))
}

/// The ids of a session, task or scope, or of anything that has ids as text.
fn ids(span: &Bound<'_, PyAny>) -> Option<(TraceId, SpanId)> {
    if let Ok(task) = span.cast::<Task>() {
        return Some(task.get().ids());
    }
    if let Ok(span) = span.cast::<OpenSpan>() {
        return Some(span.get().ids());
    }
    if let Ok(session) = span.cast::<Session>() {
        return Some(session.get().ids());
    }
    // A span of another process, of which only the ids are known.
    let digits = |name: &str| span.getattr(name).ok()?.extract::<String>().ok();
    let trace = TraceId::from_hex(&digits("trace_id")?).ok()?;
    Some((trace, SpanId::from_hex(&digits("span_id")?).ok()?))
}

/// A parent as a caller names it: a session, task or scope, the digits of a span id, or a
/// traceparent.
pub(crate) fn parent(given: &Bound<'_, PyAny>) -> PyResult<SpanId> {
    if let Some((_, span)) = ids(given) {
        return Ok(span);
    }
    let text: String = given.extract().unwrap_or_default();
    if let Ok((_, span)) = kymo_session::ids::parse_traceparent(&text) {
        return Ok(span);
    }
    match SpanId::from_hex(&text) {
        Ok(span) if text.len() == 16 && span != SpanId::INVALID => Ok(span),
        _ => Err(pyo3::exceptions::PyValueError::new_err(format!(
            "{} is no parent: expected a task, a span, 16 hex digits or a traceparent",
            given.repr()?
        ))),
    }
}

/// `_context.Current(span)`, for `with task.context():`.
pub(crate) fn make_current<'py>(span: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    hooks(span.py())?.make_current.bind(span.py()).call1((span,))
}
