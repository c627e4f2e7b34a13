//! The session: starting, telling, ending. What it knows is in `known`.
//!
//! Calls that tell something hold the GIL, since they only append to a queue; what waits (questions,
//! flushing, ending) releases it. The session's own thread never needs it.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use kymo_service::export::{Protocol, process_environment};
use kymo_service::{Asked, ExportSettings};
use kymo_session::limits::{END_TIMEOUT, LONGEST_WAIT};
use kymo_session::{
    Checkpoint, Event, EventName, KeyValue, Parent, SessionError, SessionOptions, SpanId, TraceId,
    WhenFull,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::context;
use crate::event::{self, Channel};
use crate::span::OpenSpan;
use crate::task::Task;
use crate::values::{Text, attributes, attributes_of, nanos};

/// Variables that name a server.
const ENDPOINTS: [&str; 5] = [
    "KYMO_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
];
/// Events that wait for subscribers in Python: some 30 MB. What does not fit is lost for them and
/// counted.
const CHANNEL_EVENTS: usize = 100_000;

/// What `kymograph.session.Session` is a subclass of.
#[pyclass(frozen, subclass, weakref, module = "kymograph._core")]
pub(crate) struct Session {
    session: ManuallyDrop<kymo_session::Session>,
    /// The process that started it. In a child of a fork there is no thread to wait for, and locks
    /// may be held by nobody.
    pid: u32,
    has_ended: AtomicBool,
    enrichers: Mutex<Vec<Py<PyAny>>>,
    has_enrichers: AtomicBool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_inert() {
            return;
        }
        // SAFETY: it is not used after this, since this is the end of what holds it.
        #[allow(unsafe_code, reason = "the only way to drop it here and not elsewhere")]
        let session = unsafe { ManuallyDrop::take(&mut self.session) };
        release(session);
    }
}

/// Lets go of a session. The last clone waits for the session's threads: that takes no time if they
/// are done, and must not happen here, where the GIL is held, if they are not.
fn release(session: kymo_session::Session) {
    if session.has_finished() {
        return;
    }
    // A closure that no thread can be started for is dropped here.
    let session = ManuallyDrop::new(session);
    let wait = move || {
        let session = ManuallyDrop::into_inner(session);
        // However long a disk takes; a server that is away has `END_TIMEOUT`.
        while !session.has_finished() {
            session.end(END_TIMEOUT);
        }
    };
    // Without a thread it stays in memory, and nothing else is wrong with it.
    let _ = thread::Builder::new().name("kymo-release".to_owned()).spawn(wait);
}

impl Session {
    pub(crate) fn ids(&self) -> (TraceId, SpanId) {
        (self.session.trace_id(), self.session.span_id())
    }

    /// Whether this is a child of the process that started it.
    pub(crate) fn is_inert(&self) -> bool {
        self.pid != std::process::id()
    }

    /// The session, for questions: none in a child of a fork.
    pub(crate) fn asked(&self) -> Option<&kymo_session::Session> {
        (!self.is_inert()).then_some(&*self.session)
    }

    /// The span that something belongs to that is told here.
    fn place(&self, py: Python<'_>, parent: Option<&Bound<'_, PyAny>>) -> PyResult<SpanId> {
        match parent.filter(|parent| !parent.is_none()) {
            Some(parent) => context::parent(parent),
            None => {
                let current = context::current_span(py, self.session.trace_id())?;
                Ok(current.unwrap_or_else(|| self.session.span_id()))
            }
        }
    }

    /// What enrichers say of a task. One that raises is counted as any error of a callback.
    fn enriched(&self, py: Python<'_>, created: &Event) -> Vec<KeyValue> {
        if !self.has_enrichers.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let lock = self.enrichers.lock().unwrap_or_else(PoisonError::into_inner);
        let enrichers: Vec<Py<PyAny>> = lock.iter().map(|one| one.clone_ref(py)).collect();
        drop(lock);
        let Ok(event) = Py::new(py, event::Event::new(created.clone(), self.session.trace_id()))
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for enricher in enrichers {
            let said = enricher.call1(py, (event.clone_ref(py),));
            match said.and_then(|said| attributes(Some(said.bind(py)))) {
                Ok(more) => found.extend(more),
                Err(error) => error.write_unraisable(py, Some(enricher.bind(py))),
            }
        }
        found
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (
        name, *, id, service_name, backend, directory, file, endpoint, protocol, headers,
        poll_interval, flush_interval, queue_events, drop_when_full, keep_spans, attributes, parent,
        use_environment_parent, debug
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are named where they are given")]
    fn new(
        py: Python<'_>,
        name: String,
        id: Option<String>,
        service_name: Option<String>,
        backend: Option<String>,
        directory: Option<PathBuf>,
        file: Option<PathBuf>,
        endpoint: Option<String>,
        protocol: Option<String>,
        headers: Vec<(String, String)>,
        poll_interval: Option<f64>,
        flush_interval: f64,
        queue_events: usize,
        drop_when_full: bool,
        keep_spans: usize,
        attributes: Option<&Bound<'_, PyAny>>,
        parent: Option<String>,
        use_environment_parent: bool,
        debug: bool,
    ) -> PyResult<Self> {
        let mut options = SessionOptions::new(name);
        options.id = id;
        options.service_name = service_name;
        options.backend = backend;
        options.attributes = self::attributes(attributes)?;
        options.checkpoint = match (file, directory) {
            (Some(file), _) => Checkpoint::File(file),
            (None, Some(directory)) => Checkpoint::Directory(directory),
            (None, None) => Checkpoint::None,
        };
        options.poll_every =
            poll_interval.map(|every| interval("poll_interval", every)).transpose()?;
        options.flush_every = interval("flush_interval", flush_interval)?;
        options.queue_events = queue_events;
        options.when_full = if drop_when_full { WhenFull::Drop } else { WhenFull::Block };
        // Other threads of Python go on while one waits for room. Without an interpreter (it ends, or
        // the call is not from Python) there is nothing to let go of.
        options.around_wait = Some(|wait| {
            if Python::try_attach(|py| py.detach(&mut *wait)).is_none() {
                wait();
            }
        });
        options.keep_spans = keep_spans;
        options.language = "python";
        options.parent = match parent {
            Some(parent) => Parent::Traceparent(parent),
            None if use_environment_parent => Parent::Environment,
            None => Parent::None,
        };
        options.export = export(endpoint, protocol, headers, debug)?;
        let session = py.detach(|| kymo_session::Session::start(options)).map_err(refused)?;
        Ok(Self {
            session: ManuallyDrop::new(session),
            pid: std::process::id(),
            has_ended: AtomicBool::new(false),
            enrichers: Mutex::default(),
            has_enrichers: AtomicBool::new(false),
        })
    }

    #[getter]
    fn id(&self) -> &str {
        self.session.id()
    }

    #[getter]
    fn name(&self) -> &str {
        self.session.name()
    }

    #[getter]
    fn trace_id(&self) -> String {
        self.session.trace_id().to_string()
    }

    #[getter]
    fn span_id(&self) -> String {
        self.session.span_id().to_string()
    }

    #[getter]
    fn traceparent(&self) -> String {
        self.session.traceparent()
    }

    /// The checkpoint.
    #[getter]
    fn path(&self) -> Option<String> {
        self.session.checkpoint_path().map(|path| path.to_string_lossy().into_owned())
    }

    #[getter]
    fn is_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || self.is_inert()
    }

    #[pyo3(signature = (
        name, *, id=None, backend=None, node_id=None, executable=None, task_type=None,
        attributes=None, parent=None, time=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are named where they are given")]
    fn create_task(
        &self,
        py: Python<'_>,
        name: Text,
        id: Option<Text>,
        backend: Option<Text>,
        node_id: Option<Text>,
        executable: Option<Text>,
        task_type: Option<Text>,
        attributes: Option<&Bound<'_, PyAny>>,
        parent: Option<&Bound<'_, PyAny>>,
        time: Option<f64>,
    ) -> PyResult<Task> {
        let place = self.place(py, parent)?;
        let mut task = self.session.task(name.0).parent(place).at(nanos(time));
        if let Some(Text(id)) = &id {
            task = task.id(id.as_str());
        }
        if let Some(Text(backend)) = &backend {
            task = task.backend(backend.as_str());
        }
        if let Some(Text(node)) = &node_id {
            task = task.node(node.as_str());
        }
        let mut known = Vec::new();
        known.extend(executable.map(|given| KeyValue::new("executable", given.0)));
        known.extend(task_type.map(|given| KeyValue::new("task_type", given.0)));
        known.extend(self::attributes(attributes)?);
        if self.has_enrichers.load(Ordering::Relaxed) {
            let created = Event {
                task_id: shared(id),
                backend: shared(backend),
                node_id: shared(node_id),
                time_nanos: nanos(time),
                attributes: known.clone(),
                ..Event::new(EventName::TaskCreated)
            };
            known.extend(self.enriched(py, &created));
        }
        for attribute in known {
            task = task.attribute(attribute);
        }
        Ok(Task::new(task.create()))
    }

    #[pyo3(signature = (name, attributes=None, *, parent=None))]
    fn start_span(
        &self,
        py: Python<'_>,
        name: Text,
        attributes: Option<&Bound<'_, PyAny>>,
        parent: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<OpenSpan> {
        let place = self.place(py, parent)?;
        let attributes = self::attributes(attributes)?;
        let span = self.session.start_span(name.0, Some(place), attributes);
        Ok(OpenSpan::new(span, self.session.trace_id()))
    }

    #[pyo3(signature = (name, attributes=None))]
    fn annotate(
        &self,
        py: Python<'_>,
        name: Text,
        attributes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let place = self.place(py, None)?;
        self.session.annotate_span(place, name.0, self::attributes(attributes)?);
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "called by kymograph.session alone")]
    fn _emit(
        &self,
        py: Python<'_>,
        name: Text,
        fields: &Bound<'_, PyDict>,
        task_id: Option<Text>,
        backend: Option<Text>,
        node_id: Option<Text>,
        time: Option<f64>,
        emit_time: Option<f64>,
    ) -> PyResult<()> {
        let name = EventName::of(&name.0);
        if let EventName::Custom(name) = &name {
            crate::service::check_event_name(name)?;
        }
        let mut event = Event {
            time_nanos: nanos(time),
            emitted_nanos: nanos(emit_time),
            task_id: shared(task_id),
            backend: shared(backend),
            node_id: shared(node_id),
            attributes: attributes_of(fields)?,
            ..Event::new(name)
        };
        if matches!(event.name, EventName::Custom(_)) && event.task_id.is_none() {
            event.span_id = context::current_span(py, self.session.trace_id())?;
        }
        if event.name == EventName::TaskCreated {
            let more = self.enriched(py, &event);
            event.attributes.extend(more);
        }
        self.session.emit(event);
        Ok(())
    }

    /// `enricher(event)` gives more attributes of every task, when it is created.
    fn enrich(&self, enricher: Py<PyAny>) {
        let mut enrichers = self.enrichers.lock().unwrap_or_else(PoisonError::into_inner);
        enrichers.push(enricher);
        self.has_enrichers.store(true, Ordering::Relaxed);
    }

    fn _channel(&self) -> Option<Channel> {
        let session = self.asked()?;
        Some(Channel::new(session.channel(CHANNEL_EVENTS), session.trace_id()))
    }

    fn _fail(&self, message: Text) {
        self.session.fail(message.0);
    }

    #[pyo3(signature = (timeout=5.0))]
    fn flush(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let timeout = interval("timeout", timeout)?;
        py.detach(|| Ok(self.asked().is_some_and(|session| session.flush(timeout))))
    }

    fn _end(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let timeout = interval("timeout", timeout)?;
        let Some(session) = self.asked() else { return Ok(false) };
        self.has_ended.store(true, Ordering::Relaxed);
        Ok(py.detach(|| session.end(timeout)))
    }

    fn _summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::known::summary(py, self)
    }

    fn task_count<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::known::task_count(py, self)
    }

    fn _spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::known::spans(py, self)
    }

    fn _metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::known::metrics(py, self)
    }

    fn _resources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::known::resources(py, self)
    }

    fn _stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::known::stats(py, self)
    }
}

/// Seconds as a duration, [`LONGEST_WAIT`] at the most.
fn interval(what: &str, seconds: f64) -> PyResult<Duration> {
    if seconds >= LONGEST_WAIT.as_secs_f64() {
        return Ok(LONGEST_WAIT);
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("{what} is {seconds}: expected seconds, 0 or more"))
    })
}

fn shared(text: Option<Text>) -> Option<Arc<str>> {
    text.map(|Text(text)| Arc::from(text))
}

/// Where it is sent: to what was asked for, else to what the environment names, else nowhere.
fn export(
    endpoint: Option<String>,
    protocol: Option<String>,
    headers: Vec<(String, String)>,
    debug: bool,
) -> PyResult<Option<ExportSettings>> {
    if debug {
        return Ok(Some(ExportSettings::console()));
    }
    let protocol = protocol.map(|word| crate::service::protocol(&word)).transpose()?;
    let is_named = ENDPOINTS.iter().any(|name| process_environment(name).is_some());
    if endpoint.is_none() && !is_named {
        return Ok(None);
    }
    settings(endpoint, protocol, headers).map(Some)
}

/// Settings of exporters, as the library's rules have them.
pub(crate) fn settings(
    endpoint: Option<String>,
    protocol: Option<Protocol>,
    headers: Vec<(String, String)>,
) -> PyResult<ExportSettings> {
    let asked = Asked { endpoint, protocol, headers, timeout: None };
    ExportSettings::resolve(&asked, process_environment)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A session that could not be started.
fn refused(error: SessionError) -> PyErr {
    match error {
        SessionError::Thread(_) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
