//! A GPU, as dcgm-exporter tells of it.
//!
//! All of them compute for the training. The last of the second node becomes too hot at times: its
//! temperature goes up, then its clock goes down.

use crate::metric::Points;
use crate::random::{Random, hex};
use crate::wave::THROTTLING;

const MODEL: &str = "NVIDIA H100 80GB HBM3";
const MEMORY_MIB: f64 = 81_559.0;
const WATTS: f64 = 655.0;
const HOT_WATTS: f64 = 410.0;
const THROTTLED: (&str, usize) = ("gpu-2", 3);

#[derive(Debug)]
pub(super) struct Gpu {
    host: &'static str,
    number: usize,
    uuid: String,
}

impl Gpu {
    pub(super) fn new(host: &'static str, number: usize, random: &mut Random) -> Self {
        let id = hex(&random.trace_id());
        let uuid = format!(
            "GPU-{}-{}-{}-{}-{}",
            &id[..8],
            &id[8..12],
            &id[12..16],
            &id[16..20],
            &id[20..]
        );
        Self { host, number, uuid }
    }

    pub(super) fn tell(&self, mut points: Points<'_>, random: &mut Random) {
        let is_hot = (self.host, self.number) == THROTTLED;
        let heat = THROTTLING.progress(points.nanos).filter(|_| is_hot);
        let celsius = match heat {
            // It warms up, stays, and cools down.
            Some(progress) => 66.0 + 25.0 * (progress * 8.0).min(1.0).min((1.0 - progress) * 6.0),
            None => 63.0 + self.number as f64,
        } + random.around();
        let is_throttled = heat.is_some();
        let clock = if is_throttled { 1_110.0 } else { 1_980.0 } + 15.0 * random.around();
        let watts = if is_throttled { HOT_WATTS } else { WATTS } + 12.0 * random.around();
        let busy = (if is_throttled { 99.0_f64 } else { 94.0 } + 2.0 * random.around()).min(100.0);
        let seconds = (points.nanos - points.start_nanos) as f64 / 1e9;
        let hot = THROTTLING.open_nanos(points.start_nanos, points.nanos) as f64 / 1e9;
        let hot_seconds = if is_hot { hot } else { 0.0 };
        let number = self.number.to_string();
        let device = format!("nvidia{number}");
        let labels = [
            ("gpu", number.as_str()),
            ("UUID", &self.uuid),
            ("pci_bus_id", PCI[self.number % PCI.len()]),
            ("device", &device),
            ("modelName", MODEL),
            ("Hostname", self.host),
            ("DCGM_FI_DRIVER_VERSION", "570.148.08"),
        ];
        let used = 65_536.0 + 256.0 * random.around();
        let gauges = [
            ("DCGM_FI_DEV_SM_CLOCK", clock),
            ("DCGM_FI_DEV_MEM_CLOCK", 2_619.0),
            ("DCGM_FI_DEV_GPU_TEMP", celsius.round()),
            ("DCGM_FI_DEV_MEMORY_TEMP", (celsius + 9.0).round()),
            ("DCGM_FI_DEV_POWER_USAGE", watts),
            ("DCGM_FI_DEV_GPU_UTIL", busy.round()),
            ("DCGM_FI_DEV_MEM_COPY_UTIL", (busy * 0.55).round()),
            ("DCGM_FI_DEV_ENC_UTIL", 0.0),
            ("DCGM_FI_DEV_DEC_UTIL", 0.0),
            ("DCGM_FI_DEV_XID_ERRORS", 0.0),
            ("DCGM_FI_DEV_FB_USED", used),
            ("DCGM_FI_DEV_FB_FREE", MEMORY_MIB - used),
            ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", busy / 100.0),
            ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", if is_throttled { 0.31 } else { 0.55 }),
            ("DCGM_FI_PROF_DRAM_ACTIVE", 0.42 + 0.02 * random.around()),
        ];
        for (name, value) in gauges {
            points.gauge(name, &labels, value);
        }
        let energy = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
        let joules = WATTS * (seconds - hot_seconds) + HOT_WATTS * hot_seconds;
        points.counter(energy, &labels, joules * 1e3);
        let violation = "DCGM_FI_DEV_THERMAL_VIOLATION";
        points.counter(violation, &labels, hot_seconds * 1e6);
    }
}

const PCI: [&str; 4] =
    ["00000000:18:00.0", "00000000:2A:00.0", "00000000:3A:00.0", "00000000:5D:00.0"];
