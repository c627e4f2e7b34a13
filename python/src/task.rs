//! Tasks. Python's hot path: each method is one call into the session's queue.

use kymo_session::{SpanId, TraceId};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::context;
use crate::values::{Text, nanos, text};

/// A task of a session, made by `Session.create_task`.
#[pyclass(frozen, module = "kymograph._core")]
pub(crate) struct Task {
    task: kymo_session::Task,
}

impl Task {
    pub(crate) fn new(task: kymo_session::Task) -> Self {
        Self { task }
    }

    pub(crate) fn ids(&self) -> (TraceId, SpanId) {
        (self.task.trace_id(), self.task.span_id())
    }
}

#[pymethods]
impl Task {
    #[getter]
    fn id(&self) -> &str {
        self.task.id()
    }

    #[getter]
    fn trace_id(&self) -> String {
        self.task.trace_id().to_string()
    }

    #[getter]
    fn span_id(&self) -> String {
        self.task.span_id().to_string()
    }

    #[getter]
    fn traceparent(&self) -> String {
        self.task.traceparent()
    }

    #[getter]
    fn has_ended(&self) -> bool {
        self.task.has_ended()
    }

    #[pyo3(signature = (time=None))]
    fn submitted(&self, time: Option<f64>) {
        self.task.submitted_at(nanos(time));
    }

    #[pyo3(signature = (time=None))]
    fn queued(&self, time: Option<f64>) {
        self.task.queued_at(nanos(time));
    }

    #[pyo3(signature = (node_id=None, time=None))]
    fn started(&self, node_id: Option<Text>, time: Option<f64>) {
        match node_id {
            None => self.task.started_at(nanos(time)),
            Some(Text(node)) => self.task.started_on(node, nanos(time)),
        }
    }

    #[pyo3(signature = (time=None))]
    fn completed(&self, time: Option<f64>) {
        self.task.completed_at(nanos(time));
    }

    #[pyo3(signature = (error, message=None, time=None))]
    fn failed(&self, error: &Bound<'_, PyAny>, message: Option<Text>, time: Option<f64>) {
        let (error_type, said) = described(error);
        self.task.failed_at(error_type, message.map_or(said, |Text(said)| said), nanos(time));
    }

    #[pyo3(signature = (time=None))]
    fn canceled(&self, time: Option<f64>) {
        self.task.canceled_at(nanos(time));
    }

    #[pyo3(signature = (name, attributes=None))]
    fn annotate(&self, name: Text, attributes: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.task.annotate(name.0, crate::values::attributes(attributes)?);
        Ok(())
    }

    fn context<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        context::make_current(slf.as_any())
    }

    fn __repr__(&self) -> String {
        let state = if self.task.has_ended() { " (ended)" } else { "" };
        format!("<kymograph task {}{state}>", self.task.id())
    }
}

/// Type and message of an error: of an exception, of a class of exceptions, or of the type's name.
fn described(error: &Bound<'_, PyAny>) -> (String, String) {
    let name = |kind: &Bound<'_, PyType>| {
        kind.name()
            .map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    if error.is_instance_of::<PyBaseException>() {
        return (name(&error.get_type()), text(error));
    }
    match error.cast::<PyType>() {
        Ok(kind) => (name(kind), String::new()),
        Err(_) => (text(error), String::new()),
    }
}
