//! Events, for subscribers; and the channel that they come through.
//!
//! The session's thread never waits for Python: it puts events into a channel of bounded size, and
//! a thread of Python takes them out, all that are there at a time.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kymo_session::TraceId;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use crate::values::{dictionary, seconds};

/// Something that happened. Times are seconds since 1970.
#[pyclass(frozen, module = "kymograph._core")]
pub(crate) struct Event {
    event: kymo_session::Event,
    trace_id: TraceId,
    /// Made when it is asked for.
    attributes: PyOnceLock<Py<PyDict>>,
}

impl Event {
    pub(crate) fn new(event: kymo_session::Event, trace_id: TraceId) -> Self {
        Self { event, trace_id, attributes: PyOnceLock::new() }
    }
}

#[pymethods]
impl Event {
    #[getter]
    fn name(&self) -> &str {
        self.event.name.as_str()
    }

    #[getter]
    fn time(&self) -> f64 {
        seconds(self.event.time_nanos)
    }

    #[getter]
    fn emit_time(&self) -> f64 {
        seconds(self.event.emitted_nanos)
    }

    #[getter]
    fn task_id(&self) -> Option<&str> {
        self.event.task_id.as_deref()
    }

    #[getter]
    fn backend(&self) -> Option<&str> {
        self.event.backend.as_deref()
    }

    #[getter]
    fn node_id(&self) -> Option<&str> {
        self.event.node_id.as_deref()
    }

    #[getter]
    fn trace_id(&self) -> String {
        self.trace_id.to_string()
    }

    #[getter]
    fn span_id(&self) -> Option<String> {
        self.event.span_id.map(|span| span.to_string())
    }

    /// The name of the span that begins with it.
    #[getter]
    fn span_name(&self) -> Option<&str> {
        self.event.opens.as_ref().map(|opening| &*opening.name)
    }

    /// The span that that one lies in.
    #[getter]
    fn parent_span_id(&self) -> Option<String> {
        let parent = self.event.opens.as_ref().and_then(|opening| opening.parent);
        parent.map(|span| span.to_string())
    }

    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self
            .attributes
            .get_or_try_init(py, || dictionary(py, &self.event.attributes).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    fn __repr__(&self) -> String {
        let task = self.event.task_id.as_deref().unwrap_or_default();
        let gap = if task.is_empty() { "" } else { " " };
        format!("<kymograph event {}{gap}{task}>", self.event.name)
    }
}

/// Events on their way to Python.
#[pyclass(frozen, module = "kymograph._core")]
pub(crate) struct Channel {
    receiver: Mutex<Receiver<kymo_session::Event>>,
    trace_id: TraceId,
}

impl Channel {
    pub(crate) fn new(receiver: Receiver<kymo_session::Event>, trace_id: TraceId) -> Self {
        Self { receiver: Mutex::new(receiver), trace_id }
    }
}

#[pymethods]
impl Channel {
    /// At least one event and at most `most`; an empty list if none came in time; `None` when there
    /// will be none.
    fn take<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout: f64,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let timeout = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        let taken = py.detach(|| {
            let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
            match receiver.recv_timeout(timeout) {
                Ok(first) => {
                    let rest = receiver.try_iter().take(most.saturating_sub(1));
                    Some(std::iter::once(first).chain(rest).collect())
                }
                Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => None,
            }
        });
        let Some(taken) = taken else { return Ok(None) };
        let events = taken.into_iter().map(|event| Event::new(event, self.trace_id));
        let events: Vec<Py<Event>> =
            events.map(|event| Py::new(py, event)).collect::<Result<_, _>>()?;
        PyList::new(py, events).map(Some)
    }
}
