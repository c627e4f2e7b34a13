//! What a service uses: processor, memory, GPUs, as observable gauges.
//!
//! | gauge | unit | attributes |
//! |---|---|---|
//! | `<prefix>.resource.cpu.utilization_percent` | % | |
//! | `<prefix>.resource.memory.used_bytes`, `.total_bytes` | By | |
//! | `<prefix>.resource.memory.utilization_percent` | % | |
//! | `<prefix>.resource.gpu.utilization_percent` | % | `gpu_id` |
//! | `<prefix>.resource.gpu.memory_used_bytes`, `.memory_total_bytes` | By | `gpu_id` |
//! | `<prefix>.resource.process.memory_used_bytes` | By | |
//!
//! They are read when metrics are sent, all from one look at the machine. What cannot be read has no
//! value: without a GPU there are no GPU gauges, and a driver that hangs holds up nothing. Processor
//! time is that of the whole machine since the last look; a container sees its host's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kymo_probe::node::{NodeOptions, NodeProbe, NodeUsage};
use opentelemetry::metrics::{AsyncInstrument, Meter};

use crate::limits::RESOURCE_AGE;
use crate::registry::gpu_id;

/// Takes a look, and keeps it for all gauges that are read together.
struct Sampler {
    probe: NodeProbe,
    taken: Option<Instant>,
    node: NodeUsage,
    process_bytes: Option<u64>,
}

type Shared = Arc<Mutex<Sampler>>;

/// A gauge, and what it shows of the machine.
type Reading<T> = fn(&Sampler, &dyn AsyncInstrument<T>);

const PERCENTAGES: [(&str, Reading<f64>); 3] = [
    ("cpu.utilization_percent", |sampler, gauge| show(gauge, sampler.node.cpu_percent)),
    ("memory.utilization_percent", |sampler, gauge| show(gauge, sampler.node.memory_percent)),
    ("gpu.utilization_percent", |sampler, gauge| {
        for gpu in &sampler.node.gpus {
            if let Some(percent) = gpu.percent {
                gauge.observe(percent, &gpu_id(gpu.id));
            }
        }
    }),
];

const BYTES: [(&str, Reading<u64>); 5] = [
    ("memory.used_bytes", |sampler, gauge| show(gauge, sampler.node.memory_used_bytes)),
    ("memory.total_bytes", |sampler, gauge| show(gauge, sampler.node.memory_total_bytes)),
    ("process.memory_used_bytes", |sampler, gauge| show(gauge, sampler.process_bytes)),
    ("gpu.memory_used_bytes", |sampler, gauge| {
        for gpu in &sampler.node.gpus {
            if let Some(bytes) = gpu.memory_used_bytes {
                gauge.observe(bytes, &gpu_id(gpu.id));
            }
        }
    }),
    ("gpu.memory_total_bytes", |sampler, gauge| {
        for gpu in &sampler.node.gpus {
            if let Some(bytes) = gpu.memory_total_bytes {
                gauge.observe(bytes, &gpu_id(gpu.id));
            }
        }
    }),
];

fn show<T>(gauge: &dyn AsyncInstrument<T>, value: Option<T>) {
    if let Some(value) = value {
        gauge.observe(value, &[]);
    }
}

/// Registers the gauges.
pub(crate) fn observe(meter: &Meter, prefix: &str, options: &NodeOptions) {
    let shared: Shared = Arc::new(Mutex::new(Sampler::new(options)));
    for (name, read) in PERCENTAGES {
        let shared = Arc::clone(&shared);
        meter
            .f64_observable_gauge(format!("{prefix}.resource.{name}"))
            .with_unit("%")
            .with_callback(move |gauge| look(&shared, |sampler| read(sampler, gauge)))
            .build();
    }
    for (name, read) in BYTES {
        let shared = Arc::clone(&shared);
        meter
            .u64_observable_gauge(format!("{prefix}.resource.{name}"))
            .with_unit("By")
            .with_callback(move |gauge| look(&shared, |sampler| read(sampler, gauge)))
            .build();
    }
}

fn look(shared: &Shared, show: impl FnOnce(&Sampler)) {
    let mut sampler = shared.lock().unwrap_or_else(PoisonError::into_inner);
    sampler.refresh();
    show(&sampler);
}

impl Sampler {
    fn new(options: &NodeOptions) -> Self {
        let mut probe = NodeProbe::new(options);
        // Processor time is counted since the last look, so there has to be one.
        let node = probe.poll();
        Self { probe, taken: None, node, process_bytes: None }
    }

    fn refresh(&mut self) {
        if self.taken.is_some_and(|taken| taken.elapsed() < RESOURCE_AGE) {
            return;
        }
        self.node = self.probe.poll();
        self.process_bytes =
            kymo_probe::process::usage(std::process::id()).ok().map(|usage| usage.resident_bytes);
        self.taken = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};

    use super::*;

    #[test]
    fn memory_and_processor_are_shown_under_the_prefix_and_gpus_only_if_there_are() {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        let options = NodeOptions { gpu: false, ..NodeOptions::default() };
        observe(&provider.meter("test"), "tuft", &options);
        // The processor's share needs some time to be one of: the kernel counts in hundredths.
        let began = Instant::now();
        while began.elapsed().as_millis() < 30 {
            std::hint::spin_loop();
        }
        provider.force_flush().unwrap();
        let finished = exporter.get_finished_metrics().unwrap();
        let mut names: Vec<&str> = finished
            .iter()
            .flat_map(|metrics| metrics.scope_metrics())
            .flat_map(|scope| scope.metrics())
            .map(|metric| metric.name())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "tuft.resource.cpu.utilization_percent",
                "tuft.resource.memory.total_bytes",
                "tuft.resource.memory.used_bytes",
                "tuft.resource.memory.utilization_percent",
                "tuft.resource.process.memory_used_bytes",
            ]
        );
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_gauges() {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        let options = NodeOptions {
            proc_root: "/nowhere".into(),
            gpu: true,
            nvml_library: Some("/nowhere/libnvidia-ml.so".into()),
            ..NodeOptions::default()
        };
        observe(&provider.meter("test"), "x", &options);
        provider.force_flush().unwrap();
        let finished = exporter.get_finished_metrics().unwrap();
        let names: Vec<&str> = finished
            .iter()
            .flat_map(|metrics| metrics.scope_metrics())
            .flat_map(|scope| scope.metrics())
            .map(|metric| metric.name())
            .collect();
        assert_eq!(names, ["x.resource.process.memory_used_bytes"]);
    }
}
