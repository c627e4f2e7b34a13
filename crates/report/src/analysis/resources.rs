//! What nodes and GPUs did. An update about a GPU says nothing of its node, and the other way.

use std::collections::HashMap;

use serde::Serialize;

use super::load::Window;
use crate::limits::{IDLE_GPU_PERCENT, MAX_DEVICES, TIME_BINS};
use crate::recording::{Measure, Sample};

/// A number that goes up and down.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Gauge {
    /// Updates that have it.
    pub samples: u64,
    /// The mean of those.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The last one.
    pub last: f64,
    /// The mean in equal parts of the session; null where there was no update.
    pub series: Vec<Option<f64>>,
}

impl Gauge {
    /// The series for a drawing: between two updates, the earlier one holds.
    #[must_use]
    pub fn held(&self) -> Vec<Option<f64>> {
        let last = self.series.iter().rposition(Option::is_some).unwrap_or_default();
        let mut known = None;
        let hold = |(nth, value): (usize, &Option<f64>)| {
            known = value.or(known);
            known.filter(|_| nth <= last)
        };
        self.series.iter().enumerate().map(hold).collect()
    }
}

/// Bytes that went by.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Flow {
    /// All of them.
    pub total_bytes: f64,
    /// Per second of the time between the first and the last update.
    pub mean_per_second: f64,
    /// The most per second between two updates.
    pub max_per_second: f64,
    /// What the last update said.
    pub last_bytes: f64,
    /// Bytes per second in equal parts of the session; null where there was no update.
    pub series: Vec<Option<f64>>,
}

/// What a node did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeUse {
    /// The node.
    pub node: String,
    /// What runs tasks there.
    pub backend: Option<String>,
    /// Updates about it.
    pub updates: u64,
    /// Use of its processors, in percent.
    pub cpu_percent: Option<Gauge>,
    /// Memory used, in percent.
    pub memory_percent: Option<Gauge>,
    /// Memory used.
    pub memory_used_bytes: Option<Gauge>,
    /// Use of its busiest GPU, in percent.
    pub gpu_percent: Option<Gauge>,
    /// Read from its disks.
    pub disk_read: Option<Flow>,
    /// Written to its disks.
    pub disk_write: Option<Flow>,
    /// Sent over networks.
    pub net_sent: Option<Flow>,
    /// Received over networks.
    pub net_recv: Option<Flow>,
}

/// What a GPU did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuUse {
    /// Its node.
    pub node: String,
    /// Its number there.
    pub gpu: String,
    /// What runs tasks there.
    pub backend: Option<String>,
    /// Updates about it.
    pub updates: u64,
    /// Its use, in percent.
    pub gpu_percent: Option<Gauge>,
    /// Its memory used.
    pub memory_used_bytes: Option<Gauge>,
    /// Updates in which it was idle, as a part of all that say how busy it was.
    pub idle_share: Option<f64>,
}

/// What nodes and GPUs did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Resources {
    /// By node.
    pub nodes: Vec<NodeUse>,
    /// By GPU.
    pub gpus: Vec<GpuUse>,
    /// The idle part of all GPUs; of the busiest of each node where nothing is known of each.
    pub gpu_idle_share: Option<f64>,
    /// Nodes and GPUs beyond those that are listed.
    pub not_listed: u64,
}

/// A device, and its samples by time.
type Devices<'a> = Vec<((&'a str, Option<&'a str>, Option<&'a str>), Vec<&'a Sample>)>;

pub(super) fn resources(samples: &[Sample], window: Window) -> Resources {
    let mut devices: Devices<'_> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for sample in samples {
        let key = (&*sample.node, sample.backend.as_deref(), sample.gpu.as_deref());
        let place = *places.entry(key).or_insert_with(|| {
            devices.push((key, Vec::new()));
            devices.len() - 1
        });
        devices[place].1.push(sample);
    }
    devices.sort_by(|(one, _), (other, _)| natural(*one).cmp(&natural(*other)));
    let mut found = Resources::default();
    let (mut idle, mut known) = (0, 0);
    let has_gpus = devices.iter().any(|((_, _, gpu), _)| gpu.is_some());
    for ((_, _, gpu), samples) in &devices {
        if gpu.is_some() || !has_gpus {
            let uses = samples.iter().filter_map(|sample| sample.value(Measure::Gpu));
            let (now_idle, now_known) = idle_of(uses);
            idle += now_idle;
            known += now_known;
        }
        let list_length = if gpu.is_some() { found.gpus.len() } else { found.nodes.len() };
        if list_length >= MAX_DEVICES {
            found.not_listed += 1;
        } else if gpu.is_some() {
            found.gpus.extend(gpu_use(samples, window));
        } else {
            found.nodes.extend(node_use(samples, window));
        }
    }
    found.gpu_idle_share = share(idle, known);
    found
}

/// `node2` before `node10`, GPU 2 before GPU 10: by length, then by letters.
fn natural<'a>(
    (node, backend, gpu): (&'a str, Option<&'a str>, Option<&'a str>),
) -> (usize, &'a str, Option<&'a str>, usize, Option<&'a str>) {
    (node.len(), node, backend, gpu.map_or(0, str::len), gpu)
}

fn node_use(samples: &[&Sample], window: Window) -> Option<NodeUse> {
    let first = samples.first()?;
    let gauge = |measure| gauge(samples, measure, window);
    let flow = |measure| flow(samples, measure, window);
    Some(NodeUse {
        node: first.node.to_string(),
        backend: first.backend.as_deref().map(str::to_owned),
        updates: samples.len() as u64,
        cpu_percent: gauge(Measure::Cpu),
        memory_percent: gauge(Measure::Memory),
        memory_used_bytes: gauge(Measure::MemoryUsedBytes),
        gpu_percent: gauge(Measure::Gpu),
        disk_read: flow(Measure::DiskReadBytes),
        disk_write: flow(Measure::DiskWriteBytes),
        net_sent: flow(Measure::NetSentBytes),
        net_recv: flow(Measure::NetRecvBytes),
    })
}

fn gpu_use(samples: &[&Sample], window: Window) -> Option<GpuUse> {
    let first = samples.first()?;
    let uses = samples.iter().filter_map(|sample| sample.value(Measure::Gpu));
    let (idle, known) = idle_of(uses);
    Some(GpuUse {
        node: first.node.to_string(),
        gpu: first.gpu.as_deref()?.to_owned(),
        backend: first.backend.as_deref().map(str::to_owned),
        updates: samples.len() as u64,
        gpu_percent: gauge(samples, Measure::Gpu, window),
        memory_used_bytes: gauge(samples, Measure::GpuMemoryUsedBytes, window),
        idle_share: share(idle, known),
    })
}

fn idle_of(uses: impl Iterator<Item = f64>) -> (u64, u64) {
    uses.fold((0, 0), |(idle, known), percent| {
        (idle + u64::from(percent < IDLE_GPU_PERCENT), known + 1)
    })
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn gauge(samples: &[&Sample], measure: Measure, window: Window) -> Option<Gauge> {
    let mut found = Gauge { max: f64::NEG_INFINITY, ..Gauge::default() };
    let mut sum = 0.0;
    let mut bins = vec![(0.0, 0u32); TIME_BINS];
    for sample in samples {
        let Some(value) = sample.value(measure) else { continue };
        found.samples += 1;
        sum += value;
        found.max = found.max.max(value);
        found.last = value;
        let bin = &mut bins[window.bin(sample.time_nanos, TIME_BINS)];
        *bin = (bin.0 + value, bin.1 + 1);
    }
    if found.samples == 0 {
        return None;
    }
    found.mean = sum / found.samples as f64;
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    found.series = bins.into_iter().map(mean).collect();
    Some(found)
}

fn flow(samples: &[&Sample], measure: Measure, window: Window) -> Option<Flow> {
    let mut found = Flow::default();
    let mut bins = vec![(0.0, 0.0); TIME_BINS];
    let (mut before, mut first, mut is_known) = (None, None, false);
    // What the first update counts came before it, and over an unknown time.
    let mut counted_bytes = 0.0;
    for sample in samples {
        let Some(value) = sample.value(measure) else { continue };
        // A counter that was set back: nothing is known of that time.
        let bytes = value.max(0.0);
        is_known = true;
        found.total_bytes += bytes;
        found.last_bytes = bytes;
        if let Some(earlier) = before {
            let secs = super::waits::between(earlier, sample.time_nanos);
            if secs > 0.0 {
                counted_bytes += bytes;
                found.max_per_second = found.max_per_second.max(bytes / secs);
                let bin = &mut bins[window.bin(sample.time_nanos, TIME_BINS)];
                *bin = (bin.0 + bytes, bin.1 + secs);
            }
        }
        first.get_or_insert(sample.time_nanos);
        before = Some(sample.time_nanos);
    }
    let secs = first.zip(before).map_or(0.0, |(from, to)| super::waits::between(from, to));
    if secs > 0.0 {
        found.mean_per_second = counted_bytes / secs;
    }
    let rate = |(bytes, secs): (f64, f64)| (secs > 0.0).then(|| bytes / secs);
    found.series = bins.into_iter().map(rate).collect();
    is_known.then_some(found)
}
