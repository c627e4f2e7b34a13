//! What a session knows, as tuples and dictionaries; `kymograph.records` makes objects of them.
//!
//! A question waits until everything that was told before is known, so the GIL is released for it.
//! In a child of a fork the answer is empty.

use std::collections::BTreeMap;

use kymo_session::{FinishedSpan, Metric, ResourceUse, SpanStatus, TaskCount};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::session::Session;
use crate::values::{dictionary, seconds};

/// Asks with the GIL released.
fn ask<T: Default + Send>(
    py: Python<'_>,
    session: &Session,
    question: impl Fn(&kymo_session::Session) -> T + Send,
) -> T {
    py.detach(|| session.asked().map(question).unwrap_or_default())
}

/// Numbers of tasks by state, as RHAPSODY counts them and with what it leaves out.
fn counts<'py>(py: Python<'py>, count: TaskCount) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    counts.set_item("created", count.created)?;
    counts.set_item("submitted", count.submitted)?;
    counts.set_item("started", count.started)?;
    counts.set_item("completed", count.completed)?;
    counts.set_item("failed", count.failed)?;
    counts.set_item("canceled", count.canceled)?;
    counts.set_item("running", count.running)?;
    Ok(counts)
}

pub(crate) fn task_count<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyDict>> {
    let count = ask(py, session, kymo_session::Session::task_count);
    counts(py, count)
}

pub(crate) fn summary<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyDict>> {
    let known = PyDict::new(py);
    let Some(summary) = ask(py, session, |session| Some(session.summary())) else {
        return Ok(known);
    };
    known.set_item("session_id", summary.session_id)?;
    known.set_item("duration_seconds", summary.duration_seconds)?;
    known.set_item("tasks", counts(py, summary.tasks)?)?;
    let duration = PyDict::new(py);
    // Nothing is said of durations before there is one.
    if summary.duration.count > 0 {
        duration.set_item("total_seconds", summary.duration.total_seconds)?;
        duration.set_item("mean_seconds", summary.duration.mean_seconds)?;
        duration.set_item("min_seconds", summary.duration.min_seconds)?;
        duration.set_item("max_seconds", summary.duration.max_seconds)?;
    }
    known.set_item("duration", duration)?;
    Ok(known)
}

pub(crate) fn spans<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyAny>> {
    let spans = ask(py, session, kymo_session::Session::spans);
    let rows = PyList::empty(py);
    for span in &spans {
        rows.append(row_of_span(py, span)?)?;
    }
    Ok(rows.into_any())
}

fn row_of_span<'py>(py: Python<'py>, span: &FinishedSpan) -> PyResult<Bound<'py, PyAny>> {
    let (status, message) = match &span.status {
        SpanStatus::Unset => ("unset", ""),
        SpanStatus::Ok => ("ok", ""),
        SpanStatus::Error(message) => ("error", message.as_str()),
    };
    let events = PyList::empty(py);
    for (name, nanos, attributes) in &span.events {
        events.append((&**name, seconds(*nanos), dictionary(py, attributes)?))?;
    }
    let row = (
        &*span.name,
        span.trace_id.to_string(),
        span.span_id.to_string(),
        span.parent_span_id.map(|parent| parent.to_string()),
        span.start_nanos,
        span.end_nanos,
        status,
        message,
        dictionary(py, &span.attributes)?,
        events,
    );
    Ok(row.into_pyobject(py)?.into_any())
}

pub(crate) fn metrics<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyAny>> {
    let metrics: Vec<Metric> = ask(py, session, kymo_session::Session::metrics);
    let rows = PyList::empty(py);
    for metric in metrics {
        for point in metric.points {
            let labels: BTreeMap<String, String> = point.labels;
            let head = (&metric.name, metric.kind, &metric.unit, labels);
            let value = (point.start_nanos, point.time_nanos, point.value);
            let histogram = (point.count, point.min, point.max, point.bounds, point.bucket_counts);
            rows.append((
                head.0,
                head.1,
                head.2,
                head.3,
                value.0,
                value.1,
                value.2,
                histogram.0,
                histogram.1,
                histogram.2,
                histogram.3,
                histogram.4,
            ))?;
        }
    }
    Ok(rows.into_any())
}

pub(crate) fn resources<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyAny>> {
    let resources: Vec<ResourceUse> = ask(py, session, kymo_session::Session::resources);
    let rows = PyList::empty(py);
    for resource in resources {
        rows.append((
            resource.time_nanos,
            resource.backend.as_deref(),
            &*resource.node_id,
            resource.gpu_id,
            resource.values,
        ))?;
    }
    Ok(rows.into_any())
}

pub(crate) fn stats<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyDict>> {
    let stats = ask(py, session, kymo_session::Session::stats);
    let known = PyDict::new(py);
    known.set_item("events", stats.events)?;
    known.set_item("dropped", stats.dropped)?;
    known.set_item("after_end", stats.after_end)?;
    known.set_item("attributes_dropped", stats.attributes_dropped)?;
    known.set_item("spans_forgotten", stats.spans_forgotten)?;
    known.set_item("subscribers_missed", stats.subscribers_missed)?;
    known.set_item("subscriber_errors", stats.panics)?;
    known.set_item("checkpoint_bytes", stats.checkpoint_bytes)?;
    known.set_item("checkpoint_error", stats.checkpoint_error)?;
    let Some(export) = stats.export else { return Ok(known) };
    known.set_item("export", crate::service::export_counts(py, &export)?)?;
    Ok(known)
}
