//! The threads that ask host and GPUs how they are.
//!
//! There are two: NVIDIA's library hangs when its driver does, and then it matters most how the
//! host is. A thread that hangs is left behind when the server stops.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kymo_probe::{Family, Kind, Probe, ProbeOptions, Series, Snapshot};
use kymo_promql::sample::STALE_NAN;
use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter};
use tokio::runtime::Handle;

use super::own::Own;
use super::{CollectOptions, MIN_WAIT, hostname};
use crate::error::ServerError;

/// The label `job` of what is known of the host, as dashboards made for node-exporter expect it.
const HOST_JOB: &str = "node";
/// The same of GPUs.
const GPU_JOB: &str = "dcgm";

/// How long a server that stops waits for these threads. A healthy one looks for milliseconds.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// The threads, as long as it is kept.
pub(super) struct ProbeThread {
    workers: Vec<Worker>,
}

impl ProbeThread {
    pub(super) fn start(options: &CollectOptions, own: Own) -> Result<Self, ServerError> {
        let host = ProbeOptions {
            host: options.host,
            gpu: false,
            own_process: true,
            watched_names: options.processes.clone(),
            ..ProbeOptions::default()
        };
        let gpu = ProbeOptions {
            host: false,
            nvml_library: options.nvml_library.clone(),
            ..ProbeOptions::default()
        };
        let mut workers = Vec::new();
        let wants_processes = !options.processes.is_empty();
        for (is_wanted, name, settings) in [
            (options.host || wants_processes, "kymo-probe-host", host),
            (options.gpu, "kymo-probe-gpu", gpu),
        ] {
            if is_wanted {
                let round = Round::new(&settings, options.instance.clone(), own.clone());
                let interval = options.interval;
                workers.push(Worker::start(name, move |stopped| round.repeat(interval, &stopped))?);
            }
        }
        Ok(Self { workers })
    }
}

impl Drop for ProbeThread {
    fn drop(&mut self) {
        let until = Instant::now() + STOP_WAIT;
        // First all are told, then all are waited for.
        for worker in &mut self.workers {
            worker.stop = None;
        }
        for worker in self.workers.drain(..) {
            worker.wait(until);
        }
    }
}

/// One thread.
struct Worker {
    name: &'static str,
    /// Dropped, the thread ends.
    stop: Option<Sender<()>>,
    /// Nothing comes; it is cut off when the thread has ended.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts a thread that ends when what it is given is cut off.
    fn start(
        name: &'static str,
        work: impl FnOnce(Receiver<()>) + Send + 'static,
    ) -> Result<Self, ServerError> {
        let (stop, stopped) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let run = move || {
            // Dropped last, also if the work panics.
            let _end: Sender<()> = end;
            work(stopped);
        };
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|source| {
                ServerError::Setting(format!("starting the probe failed: {source}"))
            })?;
        Ok(Self { name, stop: Some(stop), ended, thread })
    }

    /// Waits for its end until then.
    fn wait(self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        if self.ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!(thread = self.name, "the probe hangs, and is left behind");
            return;
        }
        // A thread that died has said so.
        let _ = self.thread.join();
    }
}

/// What a thread does again and again.
struct Round {
    probe: Probe,
    instance: Option<String>,
    own: Own,
    runtime: Handle,
    /// Whether the last snapshot could not be written.
    is_failing: bool,
}

impl Round {
    /// Must be called in the server's runtime.
    fn new(settings: &ProbeOptions, instance: Option<String>, own: Own) -> Self {
        let runtime = Handle::current();
        Self { probe: Probe::new(settings), instance, own, runtime, is_failing: false }
    }

    fn repeat(mut self, interval: Duration, stopped: &Receiver<()>) {
        let mut next = Instant::now();
        loop {
            let snapshot = self.probe.collect();
            // It may have hung until long after the server stopped.
            if stopped.try_recv() != Err(TryRecvError::Empty) {
                return;
            }
            self.write(&snapshot);
            // At even distances, however long it took; what was missed is not caught up with.
            next = (next + interval).max(Instant::now());
            let wait = next.saturating_duration_since(Instant::now());
            if stopped.recv_timeout(wait.max(MIN_WAIT)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Makes a snapshot durable. A failure is worth a line when it begins, and one when it ends.
    fn write(&mut self, snapshot: &Snapshot) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let time_millis = since.map_or(0, |since| since.as_millis() as i64);
        let request = request(snapshot, self.instance.as_deref(), time_millis);
        if request.points() == 0 {
            return;
        }
        match self.runtime.block_on(self.own.write(request)) {
            Ok(_) if self.is_failing => {
                self.is_failing = false;
                tracing::info!("metrics of this machine are stored again");
            }
            Err(failure) if !self.is_failing => {
                self.is_failing = true;
                tracing::warn!(
                    reason = failure.reason,
                    "metrics of this machine are lost: {}",
                    failure.message
                );
            }
            _ => {}
        }
    }
}

/// A snapshot as a request, with a job and an instance; what has ended gets its end.
fn request(snapshot: &Snapshot, instance: Option<&str>, time_millis: i64) -> RequestWriter {
    let nodename = snapshot
        .family("node_uname_info")
        .and_then(|family| family.samples.first())
        .and_then(|sample| sample.labels.iter().find(|(name, _)| *name == "nodename"))
        .map(|(_, value)| value.clone());
    let instance = instance.map(str::to_owned).or(nodename).unwrap_or_else(hostname);
    let target = |name| [("job", job_of(name)), ("instance", &instance)];
    let mut writer = RequestWriter::new();
    for family in &snapshot.families {
        write_family(&mut writer, family, target(&family.name), time_millis);
    }
    for series in &snapshot.ended {
        write_end(&mut writer, series, target(&series.name), time_millis);
    }
    writer
}

fn job_of(name: &str) -> &'static str {
    let is_gpu = name.starts_with("DCGM_") || name.starts_with("kymo_gpu_");
    if is_gpu { GPU_JOB } else { HOST_JOB }
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
            // A clock that was set back would make it begin later than now.
            let start = sample.start_millis.filter(|start| *start < time_millis).unwrap_or(0);
            series.sample(sample.value, time_millis, start);
        });
    }
}

fn write_end(
    writer: &mut RequestWriter,
    ended: &Series,
    target: [(&str, &str); 2],
    time_millis: i64,
) {
    let own = ended.labels.iter().map(|(name, value)| (*name, value.as_str()));
    let labels: Vec<(&str, &str)> = own.chain(target).chain([("__name__", &*ended.name)]).collect();
    writer.series(labels, None, |series| series.sample(STALE_NAN, time_millis, 0));
}

#[cfg(test)]
mod tests {
    use kymo_probe::Sample;
    use kymo_wire::View;
    use kymo_wire::remote_write::RequestView;

    use super::*;

    #[test]
    fn a_thread_that_hangs_is_left_behind_and_the_others_end() {
        let until_cut_off = |channel: Receiver<()>| assert!(channel.recv().is_err());
        let (hang, hanging) = mpsc::channel();
        let hangs = Worker::start("hangs", move |_| until_cut_off(hanging)).unwrap();
        let ends = Worker::start("ends", until_cut_off).unwrap();
        let begin = Instant::now();
        drop(ProbeThread { workers: vec![hangs, ends] });
        let taken = begin.elapsed();
        assert!(taken >= STOP_WAIT && taken < STOP_WAIT * 2, "{taken:?}");
        drop(hang);
        let ends = Worker::start("ends", until_cut_off).unwrap();
        let begin = Instant::now();
        drop(ProbeThread { workers: vec![ends] });
        assert!(begin.elapsed() < STOP_WAIT, "not waited for longer than it takes");
    }

    #[test]
    fn what_has_ended_gets_its_end_with_job_and_instance() {
        let labels = vec![("gpu", "0".to_owned())];
        let ended = Series { name: "DCGM_FI_DEV_GPU_TEMP".into(), labels };
        let snapshot = Snapshot { families: Vec::new(), ended: vec![ended] };
        let body = request(&snapshot, Some("here"), 5).finish();
        let view = RequestView::parse(&body).unwrap();
        let symbols = view.symbols.table().unwrap();
        let series = view.series.into_iter().next().unwrap().unwrap();
        let labels: Vec<_> = symbols.labels(&series.labels).map(Option::unwrap).collect();
        let expected = [
            ("__name__", "DCGM_FI_DEV_GPU_TEMP"),
            ("gpu", "0"),
            ("instance", "here"),
            ("job", GPU_JOB),
        ];
        assert_eq!(labels, expected.map(|(name, value)| (name.as_bytes(), value.as_bytes())));
        let sample = series.samples.into_iter().next().unwrap().unwrap();
        assert_eq!((sample.value.to_bits(), sample.time_millis), (STALE_NAN.to_bits(), 5));
    }

    #[test]
    fn counters_say_since_when_they_count() {
        let start = |start_millis: Option<i64>| {
            let sample = Sample { labels: Vec::new(), value: 2.0, start_millis };
            let family = Family {
                name: "c_total".into(),
                help: "Counted.".into(),
                kind: Kind::Counter,
                samples: vec![sample],
            };
            let snapshot = Snapshot { families: vec![family], ended: Vec::new() };
            let body = request(&snapshot, Some("here"), 5).finish();
            let view = RequestView::parse(&body).unwrap();
            let series = view.series.into_iter().next().unwrap().unwrap();
            series.samples.into_iter().next().unwrap().unwrap().start_time_millis
        };
        assert_eq!([start(Some(3)), start(None), start(Some(9))], [3, 0, 0]);
    }
}
