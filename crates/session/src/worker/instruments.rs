//! Instruments: ordinary OpenTelemetry, read by whoever wants to.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hashbrown::HashMap;
use kymo_service::export::{ExportSettings, Outlet};
use opentelemetry::metrics::{
    AsyncInstrument, Counter, Gauge, Histogram, Meter, MeterProvider, UpDownCounter,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{
    InstrumentKind, ManualReader, PeriodicReader, Pipeline, SdkMeterProvider, Temporality,
};

use super::record::{TaskRecord, TaskState};
use crate::error::SessionError;
use crate::event::Event;
use crate::limits::{MAX_LABEL_SETS, SECONDS_BUCKETS};
use crate::options::MeterSetup;

/// A reader that two know: the SDK, which fills it, and who reads it.
#[derive(Debug, Clone)]
struct OwnReader(Arc<ManualReader>);

impl MetricReader for OwnReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    /// It has nothing to end: a session that has ended still tells what was counted.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}

/// The provider of a session's instruments, and a reader for the session itself.
pub(crate) struct Meters {
    provider: SdkMeterProvider,
    reader: OwnReader,
    /// What is read into, again and again.
    scratch: Mutex<ResourceMetrics>,
}

impl Meters {
    pub(crate) fn new(
        resource: Resource,
        outlet: Option<(&Outlet, &ExportSettings)>,
        send_every: Duration,
        setup: Option<MeterSetup>,
    ) -> Result<Self, SessionError> {
        let reader = OwnReader(Arc::new(ManualReader::builder().build()));
        let mut builder =
            SdkMeterProvider::builder().with_resource(resource).with_reader(reader.clone());
        if let Some((outlet, settings)) = outlet {
            let exporter = outlet.metric_exporter(settings)?;
            let sending = PeriodicReader::builder(exporter).with_interval(send_every).build();
            builder = builder.with_reader(sending);
        }
        if let Some(setup) = setup {
            builder = setup(builder);
        }
        Ok(Self { provider: builder.build(), reader, scratch: Mutex::default() })
    }

    pub(crate) fn meter(&self, scope: InstrumentationScope) -> Meter {
        self.provider.meter_with_scope(scope)
    }

    /// All instruments as they stand, as OTLP.
    pub(crate) fn read(&self) -> Option<ExportMetricsServiceRequest> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        self.reader.collect(&mut scratch).ok()?;
        Some(ExportMetricsServiceRequest::from(&*scratch))
    }

    /// Has others read for the last time.
    pub(crate) fn shutdown(&self, timeout: Duration) -> bool {
        self.provider.shutdown_with_timeout(timeout).is_ok()
    }
}

/// What was lost. Counted where it happens, and read by instruments when somebody asks.
#[derive(Default)]
pub(crate) struct Lost {
    /// Messages that were not taken in, or not handled: see [`crate::Stats::dropped`].
    pub(crate) dropped: Arc<AtomicU64>,
    /// States of tasks that came after their end.
    pub(crate) after_end: Arc<AtomicU64>,
}

/// What is counted.
pub(crate) struct Instruments {
    submitted: Counter<u64>,
    started: Counter<u64>,
    completed: Counter<u64>,
    failed: Counter<u64>,
    canceled: Counter<u64>,
    running: UpDownCounter<i64>,
    duration: Histogram<f64>,
    queue: Histogram<f64>,
    nodes: [(&'static str, Gauge<f64>); 3],
    gpus: [(&'static str, Gauge<f64>); 2],
    moved: [(&'static str, Counter<u64>); 4],
    sums: Vec<Sums>,
    /// Which of them have something for the counters.
    touched: Vec<usize>,
    /// Where sums are, by what their labels are made of.
    places: HashMap<String, usize>,
    scratch: String,
    default_backend: Option<Arc<str>>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter, default_backend: Option<Arc<str>>, lost: &Lost) -> Self {
        let counter = |name: &'static str, about: &'static str| {
            meter.u64_counter(name).with_description(about).build()
        };
        let seconds = |name: &'static str, about: &'static str| {
            let histogram = meter.f64_histogram(name).with_description(about).with_unit("s");
            histogram.with_boundaries(SECONDS_BUCKETS.to_vec()).build()
        };
        let gauge = |name: &'static str, about: &'static str| {
            meter.f64_gauge(name).with_description(about).build()
        };
        let bytes = |name: &'static str, about: &'static str| {
            meter.u64_counter(name).with_description(about).with_unit("By").build()
        };
        let observed = |name: &'static str, about: &'static str, count: &Arc<AtomicU64>| {
            let count = count.clone();
            let observe = move |observer: &dyn AsyncInstrument<u64>| {
                observer.observe(count.load(Ordering::Relaxed), &[]);
            };
            // The meter keeps it.
            let _ = meter
                .u64_observable_counter(name)
                .with_description(about)
                .with_callback(observe)
                .build();
        };
        observed("session_events_dropped", "Events that were not recorded.", &lost.dropped);
        observed("session_events_after_end", "States after the end of a task.", &lost.after_end);
        Self {
            submitted: counter("tasks_submitted", "Tasks that were handed over."),
            started: counter("tasks_started", "Tasks that were started."),
            completed: counter("tasks_completed", "Tasks that ended well."),
            failed: counter("tasks_failed", "Tasks that failed."),
            canceled: counter("tasks_canceled", "Tasks that were called off."),
            running: meter
                .i64_up_down_counter("tasks_running")
                .with_description("Tasks that run now.")
                .build(),
            duration: seconds("task_duration_seconds", "From start to end of a task."),
            queue: seconds("task_queue_seconds", "From handing over to start of a task."),
            nodes: [
                ("cpu_percent", gauge("node_cpu_utilization", "Processors in use, percent.")),
                ("memory_percent", gauge("node_memory_utilization", "Memory in use, percent.")),
                ("gpu_percent", gauge("node_gpu_utilization", "The busiest GPU, percent.")),
            ],
            gpus: [
                ("gpu_percent", gauge("gpu_utilization", "A GPU in use, percent.")),
                (
                    "gpu_memory_used_bytes",
                    gauge("gpu_memory_used_bytes", "Memory of a GPU in use."),
                ),
            ],
            moved: [
                ("disk_read_bytes", bytes("node_disk_read_bytes", "Read from disks.")),
                ("disk_write_bytes", bytes("node_disk_write_bytes", "Written to disks.")),
                ("net_sent_bytes", bytes("node_net_sent_bytes", "Sent over networks.")),
                ("net_recv_bytes", bytes("node_net_recv_bytes", "Received over networks.")),
            ],
            sums: Vec::new(),
            touched: Vec::new(),
            places: HashMap::new(),
            scratch: String::new(),
            default_backend,
        }
    }

    pub(crate) fn submitted(&mut self, task: &mut TaskRecord) {
        self.sums_of(task).submitted += 1;
    }

    pub(crate) fn started(&mut self, task: &mut TaskRecord) {
        let sums = self.sums_of(task);
        sums.started += 1;
        sums.running += 1;
        if task.submitted > 0 {
            let labels = sums.labels.clone();
            self.queue.record(seconds_between(task.submitted, task.started), &labels);
        }
    }

    pub(crate) fn ended(&mut self, task: &mut TaskRecord, duration_seconds: f64) {
        let sums = self.sums_of(task);
        match task.state {
            TaskState::Completed => sums.completed += 1,
            TaskState::Failed => sums.failed += 1,
            TaskState::Canceled => sums.canceled += 1,
            TaskState::Open | TaskState::Unfinished => {}
        }
        if task.started > 0 {
            sums.running -= 1;
        }
        if !task.is_incomplete {
            let labels = sums.labels.clone();
            self.duration.record(duration_seconds, &labels);
        }
    }

    /// Adds what a batch counted to the counters.
    pub(crate) fn settle(&mut self) {
        for at in self.touched.drain(..) {
            let sums = &mut self.sums[at];
            let counters = [
                (&self.submitted, &mut sums.submitted),
                (&self.started, &mut sums.started),
                (&self.completed, &mut sums.completed),
                (&self.failed, &mut sums.failed),
                (&self.canceled, &mut sums.canceled),
            ];
            for (counter, count) in counters {
                if *count > 0 {
                    counter.add(std::mem::take(count), &sums.labels);
                }
            }
            // Also if it has not changed: none running is something to know.
            self.running.add(std::mem::take(&mut sums.running), &sums.labels);
            sums.is_touched = false;
        }
    }

    pub(crate) fn resource(&self, event: &Event) {
        let text = |text: &Option<Arc<str>>| text.clone().unwrap_or_else(|| "".into());
        let backend = event.backend.clone().or_else(|| self.default_backend.clone());
        let node = [
            KeyValue::new("backend", text(&backend)),
            KeyValue::new("node_id", text(&event.node_id)),
        ];
        if let Some(gpu_id) = event.attribute("gpu_id") {
            let gpu_id = KeyValue::new("gpu_id", gpu_id.to_string());
            let [backend, node] = node;
            let labels = [backend, node, gpu_id];
            for (field, gauge) in &self.gpus {
                if let Some(number) = event.number(field) {
                    gauge.record(number, &labels);
                }
            }
            return;
        }
        for (field, gauge) in &self.nodes {
            if let Some(number) = event.number(field) {
                gauge.record(number, &node);
            }
        }
        for (field, counter) in &self.moved {
            if let Some(number) = event.number(field).filter(|number| *number >= 0.0) {
                counter.add(number as u64, &node);
            }
        }
    }

    /// The sums that a task is counted in. Ids in names would make sets without end, so there is a
    /// bound.
    fn sums_of(&mut self, task: &mut TaskRecord) -> &mut Sums {
        let at = match task.sums {
            Some(at) => at,
            None => self.find(task),
        };
        task.sums = Some(at);
        let sums = &mut self.sums[at];
        if !sums.is_touched {
            sums.is_touched = true;
            self.touched.push(at);
        }
        sums
    }

    fn find(&mut self, task: &TaskRecord) -> usize {
        let backend = task.backend.clone().or_else(|| self.default_backend.clone());
        let [executable, task_type] = ["executable", "task_type"].map(|key| task.text(key));
        self.scratch.clear();
        for part in [backend.as_deref(), executable.as_deref(), task_type.as_deref()] {
            self.scratch.push_str(part.unwrap_or_default());
            self.scratch.push('\0');
        }
        if let Some(at) = self.places.get(self.scratch.as_str()) {
            return *at;
        }
        if self.sums.len() >= MAX_LABEL_SETS {
            // What has no place of its own.
            let at = *self.places.entry_ref("").or_insert(self.sums.len());
            if at == self.sums.len() {
                self.sums.push(Sums::new(other()));
            }
            return at;
        }
        let text = |text: Option<Cow<'_, str>>| Value::from(text.unwrap_or_default().into_owned());
        let labels = Arc::new([
            KeyValue::new("backend", backend.unwrap_or_else(|| "".into())),
            KeyValue::new("executable", text(executable)),
            KeyValue::new("task_type", text(task_type)),
        ]);
        let at = self.sums.len();
        self.sums.push(Sums::new(labels));
        self.places.insert(self.scratch.clone(), at);
        at
    }
}

/// What a batch counts for one combination of labels, before the counters are told: to find a
/// counter by its labels takes longer than everything else that is done for an event.
struct Sums {
    labels: Arc<[KeyValue]>,
    submitted: u64,
    started: u64,
    completed: u64,
    failed: u64,
    canceled: u64,
    running: i64,
    is_touched: bool,
}

impl Sums {
    fn new(labels: Arc<[KeyValue]>) -> Self {
        Self {
            labels,
            submitted: 0,
            started: 0,
            completed: 0,
            failed: 0,
            canceled: 0,
            running: 0,
            is_touched: false,
        }
    }
}

fn other() -> Arc<[KeyValue]> {
    ["backend", "executable", "task_type"].map(|key| KeyValue::new(key, "other")).into()
}

/// Never negative: clocks of different machines differ.
pub(crate) fn seconds_between(from_nanos: u64, to_nanos: u64) -> f64 {
    to_nanos.saturating_sub(from_nanos) as f64 / 1e9
}
