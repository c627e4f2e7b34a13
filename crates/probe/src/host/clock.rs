//! The clock: what time it is, which clock tells it, and how well it is kept.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::ProbeError;
use crate::files::{KeptFile, names_in, read_small};
use crate::model::{Builder, Metric};
use crate::probe::Collector;

const SECONDS: Metric = Metric::gauge("node_time_seconds", "Unix time on this machine.");
const AVAILABLE: Metric = Metric::gauge(
    "node_time_clocksource_available_info",
    "Clocks the kernel could use, in the labels; always 1.",
);
const CURRENT: Metric = Metric::gauge(
    "node_time_clocksource_current_info",
    "The clock the kernel uses, in the labels; always 1.",
);

/// Clocks to choose from.
struct Source {
    device: String,
    /// Known when the machine has started.
    clocks: Vec<String>,
    /// The kernel leaves a clock that proves unsteady.
    current: KeptFile,
}

/// The time, and `/sys/devices/system/clocksource`.
pub(super) struct Time {
    directory: PathBuf,
    /// None until they are read.
    sources: Option<Vec<Source>>,
}

impl Time {
    pub(super) fn new(sys: &Path) -> Self {
        Self { directory: sys.join("devices/system/clocksource"), sources: None }
    }

    fn read_sources(&self) -> Vec<Source> {
        let names = names_in(&self.directory).unwrap_or_default();
        let source = |name: &String| {
            let device = name.strip_prefix("clocksource")?.to_owned();
            let directory = self.directory.join(name);
            let clocks = read_small(&directory.join("available_clocksource")).ok()?;
            let clocks = clocks.split_ascii_whitespace().map(str::to_owned).collect();
            let current = KeptFile::new(directory.join("current_clocksource"));
            Some(Source { device, clocks, current })
        };
        names.iter().filter_map(source).collect()
    }
}

impl Collector for Time {
    fn name(&self) -> &'static str {
        "time"
    }

    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        // Before 1970 there is no time to tell.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        out.value(&SECONDS, now.as_secs_f64());
        if self.sources.is_none() {
            self.sources = Some(self.read_sources());
        }
        for source in self.sources.iter_mut().flatten() {
            let device = source.device.as_str();
            for clock in &source.clocks {
                out.with(&AVAILABLE, &[("clocksource", clock.as_str()), ("device", device)], 1.0);
            }
            if let Ok(current) = source.current.read() {
                let labels = [("clocksource", current.trim()), ("device", device)];
                out.with(&CURRENT, &labels, 1.0);
            }
        }
        Ok(())
    }
}

const SYNC_STATUS: Metric =
    Metric::gauge("node_timex_sync_status", "1 if the clock follows a trusted server.");
const STATUS: Metric = Metric::gauge("node_timex_status", "The kernel's bits on the clock.");
const OFFSET: Metric =
    Metric::gauge("node_timex_offset_seconds", "Distance from the clock it follows.");
const FREQUENCY: Metric = Metric::gauge(
    "node_timex_frequency_adjustment_ratio",
    "How much faster than by itself the clock is run.",
);
const MAX_ERROR: Metric =
    Metric::gauge("node_timex_maxerror_seconds", "The most the clock can be wrong by.");
const ESTIMATED_ERROR: Metric =
    Metric::gauge("node_timex_estimated_error_seconds", "What the clock is likely wrong by.");
const TIME_CONSTANT: Metric =
    Metric::gauge("node_timex_loop_time_constant", "How slowly the clock is steered.");
const TICK: Metric = Metric::gauge("node_timex_tick_seconds", "Time between two ticks.");
const TAI_OFFSET: Metric =
    Metric::gauge("node_timex_tai_offset_seconds", "Distance from atomic time.");
const PPS_FREQUENCY: Metric =
    Metric::gauge("node_timex_pps_frequency_hertz", "Frequency by a pulse each second.");
const PPS_JITTER: Metric =
    Metric::gauge("node_timex_pps_jitter_seconds", "How much the pulses vary.");
const PPS_SHIFT: Metric =
    Metric::gauge("node_timex_pps_shift_seconds", "How long the pulses are averaged.");
const PPS_STABILITY: Metric =
    Metric::gauge("node_timex_pps_stability_hertz", "How much the frequency varies.");
const PPS_JITTER_TOTAL: Metric =
    Metric::counter("node_timex_pps_jitter_total", "Pulses that varied too much.");
const PPS_CALIBRATION_TOTAL: Metric =
    Metric::counter("node_timex_pps_calibration_total", "Calibrations by pulses.");
const PPS_ERROR_TOTAL: Metric =
    Metric::counter("node_timex_pps_error_total", "Calibrations that failed.");
const PPS_STABILITY_TOTAL: Metric = Metric::counter(
    "node_timex_pps_stability_exceeded_total",
    "Calibrations whose frequency varied too much.",
);

/// Frequencies are in 1/65,536 of a millionth.
const PPM_FRACTION: f64 = 65_536.0 * 1e6;

/// What `adjtimex` says; nothing is adjusted.
pub(super) struct Timex;

/// The kernel's account of the clock, and its state.
fn read_timex() -> Result<(libc::timex, i32), std::io::Error> {
    // SAFETY: the structure is plain numbers, for which all zeros is valid; with no mode set, the
    // call only fills it.
    #[allow(unsafe_code, reason = "no safe crate offers adjtimex")]
    let (timex, state) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        let state = libc::adjtimex(&raw mut timex);
        (timex, state)
    };
    if state < 0 { Err(std::io::Error::last_os_error()) } else { Ok((timex, state)) }
}

impl Collector for Timex {
    fn name(&self) -> &'static str {
        "timex"
    }

    #[allow(clippy::unnecessary_cast, reason = "the numbers are narrower on some machines")]
    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
        let (timex, state) = read_timex().map_err(|error| match error.kind() {
            // Containers may forbid the call, even to read.
            std::io::ErrorKind::PermissionDenied => ProbeError::Absent("adjtimex".into()),
            _ => ProbeError::read("adjtimex", error),
        })?;
        let fraction_per_sec = if timex.status & libc::STA_NANO == 0 { 1e6 } else { 1e9 };
        let is_synced = state != libc::TIME_ERROR;
        out.value(&SYNC_STATUS, f64::from(u8::from(is_synced)));
        out.value(&STATUS, f64::from(timex.status));
        out.value(&OFFSET, timex.offset as f64 / fraction_per_sec);
        out.value(&FREQUENCY, 1.0 + timex.freq as f64 / PPM_FRACTION);
        out.value(&MAX_ERROR, timex.maxerror as f64 / 1e6);
        out.value(&ESTIMATED_ERROR, timex.esterror as f64 / 1e6);
        out.value(&TIME_CONSTANT, timex.constant as f64);
        out.value(&TICK, timex.tick as f64 / 1e6);
        out.value(&TAI_OFFSET, f64::from(timex.tai));
        out.value(&PPS_FREQUENCY, timex.ppsfreq as f64 / PPM_FRACTION);
        out.value(&PPS_JITTER, timex.jitter as f64 / fraction_per_sec);
        out.value(&PPS_SHIFT, f64::from(timex.shift));
        out.value(&PPS_STABILITY, timex.stabil as f64 / PPM_FRACTION);
        out.value(&PPS_JITTER_TOTAL, timex.jitcnt as f64);
        out.value(&PPS_CALIBRATION_TOTAL, timex.calcnt as f64);
        out.value(&PPS_ERROR_TOTAL, timex.errcnt as f64);
        out.value(&PPS_STABILITY_TOTAL, timex.stbcnt as f64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::{Tree, collect};

    #[test]
    fn the_clock_in_use_is_told_from_those_that_could_be() {
        let tree = Tree::new(&[
            ("devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock\n"),
            ("devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let snapshot = collect(&mut Time::new(tree.path()));
        assert!(snapshot.value(SECONDS.name, &[]).unwrap() > 1.7e9);
        assert_eq!(snapshot.family(AVAILABLE.name).unwrap().samples.len(), 2);
        let current = [("clocksource", "tsc"), ("device", "0")];
        assert_eq!(snapshot.value(CURRENT.name, &current), Some(1.0));
        assert_eq!(snapshot.family(CURRENT.name).unwrap().samples.len(), 1);
    }

    #[test]
    fn the_kernel_tells_how_the_clock_is_kept() {
        let snapshot = collect(&mut Timex);
        assert_eq!(snapshot.families.len(), 17);
        let ratio = snapshot.value(FREQUENCY.name, &[]).unwrap();
        assert!((0.99..1.01).contains(&ratio), "{ratio}");
        let tick_secs = snapshot.value(TICK.name, &[]).unwrap();
        assert!((0.0005..0.02).contains(&tick_secs), "{tick_secs}");
    }
}
