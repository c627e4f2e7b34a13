//! NVIDIA's GPUs, with dcgm-exporter's names and labels.
//!
//! A machine without the driver has no such metrics: one line in the log, no error. The driver is
//! looked for again now and then, as it may be loaded later; one that goes and comes back, perhaps
//! as another version, is taken up again. A GPU that is lost does not keep others from being
//! collected; it counts in `kymo_gpu_errors_total` and is asked anew each time, so that one that
//! comes back is seen.

mod device;
mod instances;
mod library;
mod metrics;
mod profile;
mod session;
mod usage;
mod xid;
mod xid_text;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::library::USUAL_NAME;
use self::session::{Place, Session};
pub(crate) use self::usage::GpuUsages;
use crate::error::ProbeError;
use crate::model::Builder;
use crate::options::ProbeOptions;
use crate::probe::Collector;

/// The collector of GPUs. Without a driver it is absent.
pub(crate) fn collector(options: &ProbeOptions) -> Box<dyn Collector> {
    let node_name = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    Box::new(Gpus {
        session: None,
        next_try: None,
        is_absence_told: false,
        library: options.nvml_library.clone(),
        retry: options.nvml_retry,
        proc: options.proc_root.clone(),
        hostname: options.hostname.clone().unwrap_or_else(node_name),
    })
}

/// All GPUs of a machine.
struct Gpus {
    /// None while there is no driver.
    session: Option<Session>,
    /// When it is looked for again; none for at once.
    next_try: Option<Instant>,
    is_absence_told: bool,
    library: Option<PathBuf>,
    retry: Duration,
    proc: PathBuf,
    hostname: String,
}

impl Gpus {
    /// Loads the library, unless that was tried a short while ago.
    fn begin(&mut self) -> Result<Session, ProbeError> {
        let now = Instant::now();
        if self.next_try.is_some_and(|at| now < at) {
            return Err(self.absent());
        }
        match Session::begin(self.library.as_deref()) {
            Ok(session) => {
                if std::mem::take(&mut self.is_absence_told) {
                    let version = session.driver_version.as_str();
                    tracing::info!(version, "there is an NVIDIA driver now; GPUs are collected");
                }
                Ok(session)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_absence_told, true) {
                    tracing::info!(
                        %error,
                        "no GPU metrics, as there is no NVIDIA driver; it is looked for now and then"
                    );
                }
                self.next_try = Some(now + self.retry);
                Err(self.absent())
            }
        }
    }

    fn absent(&self) -> ProbeError {
        let usual = || PathBuf::from(USUAL_NAME);
        ProbeError::Absent(self.library.clone().unwrap_or_else(usual))
    }
}

impl Collector for Gpus {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.begin()?,
        };
        let place = Place { proc: &self.proc, hostname: &self.hostname };
        if let Err(error) = session.collect(out, place) {
            // It ends here and the next round begins another, unless this one never worked.
            let pause = (!session.is_proven).then_some(self.retry);
            self.next_try = pause.map(|pause| Instant::now() + pause);
            return Err(error.into());
        }
        self.session = Some(session);
        Ok(())
    }
}
