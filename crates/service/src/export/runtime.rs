//! The thread that sends: one for the process, started with the first exporter.
//!
//! Connections need a runtime of tokio that turns while they live, and programs that use this crate
//! may have none, or one that ends before telemetry does. So exporters bring this one along. After a
//! fork the child has no threads; the next exporter that it makes starts its own.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle};

use crate::error::ServiceError;

static RUNTIME: Mutex<Option<(u32, Handle)>> = Mutex::new(None);

/// The runtime of this process.
pub(super) fn handle() -> Result<Handle, ServiceError> {
    let mut started = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, handle)) = &*started
        && *owner == process
    {
        return Ok(handle.clone());
    }
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(ServiceError::Thread)?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("kymo-export".to_owned())
        .spawn(move || {
            let _quiet = opentelemetry::Context::enter_telemetry_suppressed_scope();
            runtime.block_on(std::future::pending::<()>());
        })
        .map_err(ServiceError::Thread)?;
    *started = Some((process, handle.clone()));
    Ok(handle)
}
