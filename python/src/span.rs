//! Spans of the program's own, between their beginning and their end.

use kymo_session::{SpanId, TraceId};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::context;
use crate::values::{Text, attributes, attributes_of, nanos};

/// A span that somebody ends; `Session.span` makes a `with` of it.
#[pyclass(frozen, module = "kymograph._core")]
pub(crate) struct OpenSpan {
    span: kymo_session::OpenSpan,
    trace_id: TraceId,
}

impl OpenSpan {
    pub(crate) fn new(span: kymo_session::OpenSpan, trace_id: TraceId) -> Self {
        Self { span, trace_id }
    }

    pub(crate) fn ids(&self) -> (TraceId, SpanId) {
        (self.trace_id, self.span.span_id())
    }
}

#[pymethods]
impl OpenSpan {
    #[getter]
    fn trace_id(&self) -> String {
        self.trace_id.to_string()
    }

    #[getter]
    fn span_id(&self) -> String {
        self.span.span_id().to_string()
    }

    #[getter]
    fn traceparent(&self) -> String {
        self.span.traceparent()
    }

    #[pyo3(signature = (name, attributes=None))]
    fn annotate(&self, name: Text, attributes: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.span.annotate(name.0, crate::values::attributes(attributes)?);
        Ok(())
    }

    fn set_attribute(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let pair = PyDict::new(value.py());
        pair.set_item(key, value)?;
        self.span.set_attributes(attributes_of(&pair)?);
        Ok(())
    }

    #[pyo3(name = "set_attributes", signature = (attributes))]
    fn set_all(&self, attributes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.span.set_attributes(self::attributes(Some(attributes))?);
        Ok(())
    }

    #[pyo3(signature = (time=None))]
    fn end(&self, time: Option<f64>) {
        self.span.end_at(nanos(time), None);
    }

    #[pyo3(signature = (message, time=None))]
    fn fail(&self, message: Text, time: Option<f64>) {
        self.span.end_at(nanos(time), Some(message.0));
    }

    fn context<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        context::make_current(slf.as_any())
    }

    fn __repr__(&self) -> String {
        format!("<kymograph span {}>", self.span.span_id())
    }
}
