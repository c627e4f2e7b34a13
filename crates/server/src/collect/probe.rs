//! The thread that asks host and GPUs how they are.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kymo_probe::{Family, Kind, Probe, ProbeOptions, Snapshot};
use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter};
use tokio::runtime::Handle;

use super::CollectOptions;
use super::own::Own;
use crate::error::ServerError;

/// The label `job` of what is known of the host, as dashboards made for node-exporter expect it.
const HOST_JOB: &str = "node";
/// The same of GPUs.
const GPU_JOB: &str = "dcgm";

/// The thread, as long as it is kept.
pub(super) struct ProbeThread {
    /// Dropped, it ends.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProbeThread {
    pub(super) fn start(options: &CollectOptions, own: Own) -> Result<Self, ServerError> {
        let settings = ProbeOptions {
            host: options.host,
            gpu: options.gpu,
            nvml_library: options.nvml_library.clone(),
            ..ProbeOptions::default()
        };
        let (interval, instance) = (options.interval, options.instance.clone());
        let (stop, stopped) = mpsc::channel();
        let runtime = Handle::current();
        let work = move || {
            let mut probe = Probe::new(&settings);
            let mut next = Instant::now();
            loop {
                let snapshot = probe.collect();
                let request = request(&snapshot, instance.as_deref());
                if request.points() > 0
                    && let Err(failure) = runtime.block_on(own.write(request))
                {
                    tracing::warn!(
                        reason = failure.reason,
                        "metrics of this machine are lost: {}",
                        failure.message
                    );
                }
                // At even distances, however long it took; what was missed is not caught up with.
                next = (next + interval).max(Instant::now());
                let wait = next.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(wait.max(MIN_WAIT)) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("kymo-probe".to_owned()).spawn(work).map_err(
                |source| ServerError::Setting(format!("starting the probe failed: {source}")),
            )?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// So that a machine that is slower than the interval still does something else.
const MIN_WAIT: Duration = Duration::from_millis(10);

impl Drop for ProbeThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that died has said so.
            let _ = thread.join();
        }
    }
}

/// A snapshot as a request, with a job and an instance.
fn request(snapshot: &Snapshot, instance: Option<&str>) -> RequestWriter {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time_millis = since.map_or(0, |since| since.as_millis() as i64);
    let nodename = snapshot
        .family("node_uname_info")
        .and_then(|family| family.samples.first())
        .and_then(|sample| sample.labels.iter().find(|(name, _)| *name == "nodename"))
        .map(|(_, value)| value.clone());
    let hostname = || {
        let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
        read.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
    };
    let instance = instance.map(str::to_owned).or(nodename).unwrap_or_else(hostname);
    let mut writer = RequestWriter::new();
    for family in &snapshot.families {
        let is_gpu = family.name.starts_with("DCGM_") || family.name.starts_with("kymo_gpu_");
        let job = if is_gpu { GPU_JOB } else { HOST_JOB };
        write_family(&mut writer, family, [("job", job), ("instance", &instance)], time_millis);
    }
    writer
}

fn write_family(
    writer: &mut RequestWriter,
    family: &Family,
    target: [(&str, &str); 2],
    time_millis: i64,
) {
    let metadata = Metadata {
        metric_type: match family.kind {
            Kind::Counter => MetadataType::Counter,
            Kind::Gauge => MetadataType::Gauge,
            _ => MetadataType::Unknown,
        },
        help: &family.help,
        unit: "",
    };
    for sample in &family.samples {
        let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
        let labels: Vec<(&str, &str)> =
            own.chain(target).chain([("__name__", &*family.name)]).collect();
        writer.series(labels, Some(metadata), |series| {
            series.sample(sample.value, time_millis, 0);
        });
    }
}
