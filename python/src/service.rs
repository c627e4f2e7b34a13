//! What `kymograph.configure` needs: the library's own reading of configuration and environment, so
//! that Rust and Python agree on what wins over what; and what a node does, for its gauges.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use kymo_probe::node::{NodeOptions, NodeUsage};
use kymo_service::Config;
use kymo_service::export::{
    Destination, ExportCounts, OtlpSettings, Protocol, Signal, SignalCounts,
};
use kymo_session::{EventKind, FieldKind};
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What a word says of the protocol.
pub(crate) fn protocol(word: &str) -> PyResult<Protocol> {
    let expected = "expected grpc, http/protobuf or http/json";
    Protocol::of(word).ok_or_else(|| wrong(format!("the protocol is {word:?}: {expected}")))
}

/// Whether a program may call an event so.
pub(crate) fn check_event_name(name: &str) -> PyResult<()> {
    EventKind::define(name, []).map(|_| ()).map_err(wrong)
}

/// Whether a program may declare an event of these fields.
#[pyfunction]
pub(crate) fn check_event(name: &str, fields: Vec<String>) -> PyResult<()> {
    let fields = fields.iter().map(|field| (field.as_str(), FieldKind::Text, None));
    EventKind::define(name, fields).map(|_| ()).map_err(wrong)
}

/// Says that this process is the child of a fork.
#[pyfunction]
pub(crate) fn forked_in_child() {
    kymo_session::forked_in_child();
}

/// What was taken by a server, by signal.
pub(crate) fn export_counts<'py>(
    py: Python<'py>,
    counts: &ExportCounts,
) -> PyResult<Bound<'py, PyDict>> {
    let by_signal = PyDict::new(py);
    let of = |counts: &SignalCounts| -> PyResult<Bound<'py, PyDict>> {
        let numbers = PyDict::new(py);
        numbers.set_item("sent", counts.sent)?;
        numbers.set_item("failed", counts.failed)?;
        numbers.set_item("dropped", counts.dropped)?;
        Ok(numbers)
    };
    by_signal.set_item("spans", of(&counts.spans)?)?;
    by_signal.set_item("metrics", of(&counts.metrics)?)?;
    by_signal.set_item("logs", of(&counts.logs)?)?;
    by_signal.set_item("last_error", counts.last_error.as_deref())?;
    Ok(by_signal)
}

/// Reads a configuration of telemetry. Keys that the file does not have are `None`.
#[pyfunction]
pub(crate) fn read_config(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    if !path.exists() {
        let path = path.display();
        return Err(PyFileNotFoundError::new_err(format!("there is no configuration {path}")));
    }
    let config = Config::from_file(&path).map_err(wrong)?;
    let keys = PyDict::new(py);
    keys.set_item("enabled", config.enabled)?;
    keys.set_item("service_name", config.service_name)?;
    keys.set_item("otlp_endpoint", config.otlp_endpoint)?;
    keys.set_item("otlp_protocol", config.otlp_protocol.map(Protocol::word))?;
    keys.set_item("resource_attributes", config.resource_attributes)?;
    keys.set_item("metric_prefix", config.metric_prefix)?;
    keys.set_item("resource_metrics", config.resource_metrics)?;
    keys.set_item("metrics_every_seconds", config.metrics_every.map(|every| every.as_secs_f64()))?;
    Ok(keys)
}

/// Where each signal goes: what was asked for, then the environment. A dictionary for a server,
/// `"console"`, or `None` for nowhere.
#[pyfunction]
#[pyo3(signature = (endpoint, protocol, headers))]
pub(crate) fn export_settings(
    py: Python<'_>,
    endpoint: Option<String>,
    protocol: Option<String>,
    headers: Vec<(String, String)>,
) -> PyResult<Bound<'_, PyDict>> {
    let protocol = protocol.map(|word| self::protocol(&word)).transpose()?;
    let settings = crate::session::settings(endpoint, protocol, headers)?;
    let by_signal = PyDict::new(py);
    for (signal, name) in
        [(Signal::Traces, "traces"), (Signal::Metrics, "metrics"), (Signal::Logs, "logs")]
    {
        match settings.of(signal) {
            Destination::Otlp(server) => by_signal.set_item(name, server_of(py, server)?)?,
            Destination::Console => by_signal.set_item(name, "console")?,
            Destination::Nowhere => by_signal.set_item(name, py.None())?,
        }
    }
    Ok(by_signal)
}

fn server_of<'py>(py: Python<'py>, server: &OtlpSettings) -> PyResult<Bound<'py, PyDict>> {
    let settings = PyDict::new(py);
    settings.set_item("endpoint", &server.endpoint)?;
    settings.set_item("source", server.source)?;
    settings.set_item("protocol", server.protocol.word())?;
    settings.set_item("headers", server.headers.clone())?;
    settings.set_item("timeout", server.timeout.as_secs_f64())?;
    settings.set_item("gzip", server.is_gzipped)?;
    Ok(settings)
}

/// What this node does, again and again.
#[pyclass(frozen, module = "kymograph._core")]
pub(crate) struct NodeProbe {
    probe: Mutex<kymo_probe::node::NodeProbe>,
}

#[pymethods]
impl NodeProbe {
    #[new]
    #[pyo3(signature = (*, gpu=true))]
    fn new(gpu: bool) -> Self {
        let options = NodeOptions { gpu, ..NodeOptions::default() };
        Self { probe: Mutex::new(kymo_probe::node::NodeProbe::new(&options)) }
    }

    /// What it does now and did since the last call. What is not known is `None`.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let usage: NodeUsage =
            py.detach(|| self.probe.lock().unwrap_or_else(PoisonError::into_inner).poll());
        let known = PyDict::new(py);
        known.set_item("cpu_percent", usage.cpu_percent)?;
        known.set_item("memory_percent", usage.memory_percent)?;
        known.set_item("memory_used_bytes", usage.memory_used_bytes)?;
        known.set_item("memory_total_bytes", usage.memory_total_bytes)?;
        known.set_item("disk_read_bytes", usage.disk_read_bytes)?;
        known.set_item("disk_write_bytes", usage.disk_write_bytes)?;
        known.set_item("net_sent_bytes", usage.net_sent_bytes)?;
        known.set_item("net_recv_bytes", usage.net_recv_bytes)?;
        known.set_item("gpu_percent", usage.gpu_percent)?;
        let gpus = PyList::empty(py);
        for gpu in &usage.gpus {
            let one = PyDict::new(py);
            one.set_item("gpu_id", gpu.id)?;
            one.set_item("name", &gpu.name)?;
            one.set_item("gpu_percent", gpu.percent)?;
            one.set_item("gpu_memory_used_bytes", gpu.memory_used_bytes)?;
            one.set_item("gpu_memory_total_bytes", gpu.memory_total_bytes)?;
            gpus.append(one)?;
        }
        known.set_item("gpus", gpus)?;
        Ok(known)
    }
}
