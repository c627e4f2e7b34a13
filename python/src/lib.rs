//! `kymograph._core`: sessions of `kymo-session`, as classes of Python.
//!
//! | module | what is in it |
//! |---|---|
//! | `session` | the session: starting, telling, ending |
//! | `task`, `span` | what has a beginning and an end |
//! | `event` | events, and the channel by which subscribers get them |
//! | `known` | what a session knows, for `kymograph.records` |
//! | `context` | the span that is current where a call is made |
//! | `values` | attributes and times, there and back |
//! | `service` | configuration and gauges, for `kymograph.configure` |
//! | `notices` | warnings, through `logging` |
//!
//! The Python side is thin: what is called often (a task's states) is a method of a class here,
//! without anything in between. Nothing here panics on purpose, and a panic would be an exception.

mod context;
mod event;
mod known;
mod notices;
mod service;
mod session;
mod span;
mod task;
mod values;

use pyo3::prelude::*;

/// The native part of kymograph.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    notices::forward();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<session::Session>()?;
    module.add_class::<task::Task>()?;
    module.add_class::<span::OpenSpan>()?;
    module.add_class::<event::Event>()?;
    module.add_class::<event::Channel>()?;
    module.add_class::<service::NodeProbe>()?;
    module.add_function(wrap_pyfunction!(service::check_event, module)?)?;
    module.add_function(wrap_pyfunction!(service::forked_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(service::read_config, module)?)?;
    module.add_function(wrap_pyfunction!(service::export_settings, module)?)?;
    Ok(())
}
