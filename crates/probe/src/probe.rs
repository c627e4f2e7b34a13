//! The collectors together.
//!
//! A [`Probe`] asks each collector in turn. One that fails is left out of the snapshot and has
//! `node_scrape_collector_success` 0; one whose subject the machine does not have is left out
//! without a trace. A failure is logged when it begins, not at every collection.

use std::time::{Duration, Instant};

use crate::error::ProbeError;
use crate::limits::{PACE_AT_MOST, PACE_CPU_FACTOR, PACE_WALL_FACTOR};
use crate::model::{Builder, Family, Metric, Snapshot};
use crate::options::ProbeOptions;
use crate::{gpu, host, process};

const DURATION: Metric = Metric::gauge(
    "node_scrape_collector_duration_seconds",
    "How long a collector took when it last ran.",
);
const SUCCESS: Metric =
    Metric::gauge("node_scrape_collector_success", "1 if a collector worked, 0 if it failed.");

/// How often a collector is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At every collection.
    Always,
    /// Seldom enough to cost at most a two-thousandth of one core; between, its numbers are repeated.
    /// For what changes slowly or may cost much.
    Bounded,
}

/// One subject of a machine.
pub trait Collector: Send {
    /// Its name, as in node-exporter.
    fn name(&self) -> &'static str;

    /// How often it is asked.
    fn pace(&self) -> Pace {
        Pace::Always
    }

    /// Adds what it finds. What it added before an error stays.
    fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError>;
}

/// A collector and what is known of its last run.
struct Slot {
    collector: Box<dyn Collector>,
    last: Option<Run>,
    is_failing: bool,
}

struct Run {
    at: Instant,
    duration: Duration,
    /// What it took of a processor.
    cpu: Duration,
    /// None if the machine does not have its subject.
    succeeded: Option<bool>,
    /// What it found, if it is repeated.
    families: Vec<Family>,
}

/// All collectors of a machine.
pub struct Probe {
    slots: Vec<Slot>,
    builder: Builder,
    scratch: Builder,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.collectors()).finish()
    }
}

impl Probe {
    /// A probe of the host, of GPUs and of processes, as the options say. Loads NVIDIA's library
    /// if there is one; a machine without is no error.
    pub fn new(options: &ProbeOptions) -> Self {
        let mut collectors: Vec<Box<dyn Collector>> = Vec::new();
        if options.host {
            collectors.extend(host::collectors(options));
        }
        if options.gpu && !options.without.contains(gpu::NAME) {
            collectors.extend(gpu::collector(options));
        }
        if !options.processes.is_empty() || !options.process_trees.is_empty() {
            collectors.push(Box::new(process::WatchedProcesses::new(options)));
        }
        collectors.retain(|collector| !options.without.contains(collector.name()));
        Self::of(collectors)
    }

    /// A probe of given collectors.
    pub fn of(collectors: Vec<Box<dyn Collector>>) -> Self {
        let slot = |collector| Slot { collector, last: None, is_failing: false };
        Self {
            slots: collectors.into_iter().map(slot).collect(),
            builder: Builder::new(),
            scratch: Builder::new(),
        }
    }

    /// The names of the collectors.
    pub fn collectors(&self) -> impl Iterator<Item = &'static str> {
        self.slots.iter().map(|slot| slot.collector.name())
    }

    /// Asks all collectors once.
    pub fn collect(&mut self) -> Snapshot {
        for slot in &mut self.slots {
            match slot.collector.pace() {
                Pace::Always => slot.last = Some(slot.run(&mut self.builder)),
                Pace::Bounded => {
                    if slot.is_due() {
                        let mut run = slot.run(&mut self.scratch);
                        run.families = self.scratch.finish().families;
                        slot.last = Some(run);
                    }
                    if let Some(run) = &slot.last {
                        self.builder.append(&run.families);
                    }
                }
            }
        }
        for slot in &self.slots {
            let Some(run) = &slot.last else { continue };
            let Some(succeeded) = run.succeeded else { continue };
            let labels = [("collector", slot.collector.name())];
            self.builder.with(&DURATION, &labels, run.duration.as_secs_f64());
            self.builder.with(&SUCCESS, &labels, f64::from(u8::from(succeeded)));
        }
        self.builder.finish()
    }
}

impl Slot {
    fn is_due(&self) -> bool {
        let Some(last) = &self.last else { return true };
        let pause = (last.cpu * PACE_CPU_FACTOR).max(last.duration * PACE_WALL_FACTOR);
        last.at.elapsed() >= pause.min(PACE_AT_MOST)
    }

    fn run(&mut self, out: &mut Builder) -> Run {
        let (at, cpu_before) = (Instant::now(), thread_cpu_time());
        let result = self.collector.collect(out);
        let duration = at.elapsed();
        let cpu = thread_cpu_time().saturating_sub(cpu_before);
        let succeeded = match &result {
            Ok(()) => Some(true),
            Err(error) if error.is_absent() => None,
            Err(_) => Some(false),
        };
        if let (Err(error), Some(false), false) = (&result, succeeded, self.is_failing) {
            tracing::warn!(collector = self.collector.name(), %error, "a collector fails");
        }
        self.is_failing = succeeded == Some(false);
        Run { at, duration, cpu, succeeded, families: Vec::new() }
    }
}

/// Processor time of this thread so far.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Never negative.
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: Metric = Metric::counter("count_total", "How often it was asked.");

    struct Play {
        name: &'static str,
        pace: Pace,
        takes: Duration,
        count: u32,
        fails: Option<fn() -> ProbeError>,
    }

    impl Collector for Play {
        fn name(&self) -> &'static str {
            self.name
        }

        fn pace(&self) -> Pace {
            self.pace
        }

        fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
            std::thread::sleep(self.takes);
            if let Some(error) = self.fails {
                return Err(error());
            }
            self.count += 1;
            out.with(&COUNT, &[("who", self.name)], f64::from(self.count));
            Ok(())
        }
    }

    fn play(name: &'static str) -> Play {
        Play { name, pace: Pace::Always, takes: Duration::ZERO, count: 0, fails: None }
    }

    #[test]
    fn a_failing_collector_is_left_out_and_an_absent_one_leaves_no_trace() {
        let failing =
            Play { fails: Some(|| ProbeError::malformed("/proc/x", "numbers")), ..play("failing") };
        let absent =
            Play { fails: Some(|| ProbeError::Absent("/proc/y".into())), ..play("absent") };
        let mut probe =
            Probe::of(vec![Box::new(failing), Box::new(absent), Box::new(play("good"))]);
        let snapshot = probe.collect();
        assert_eq!(snapshot.value("count_total", &[("who", "good")]), Some(1.0));
        let success = |name| snapshot.value(SUCCESS.name, &[("collector", name)]);
        assert_eq!(success("failing"), Some(0.0));
        assert_eq!(success("absent"), None);
        assert_eq!(success("good"), Some(1.0));
        assert_eq!(snapshot.family(DURATION.name).unwrap().samples.len(), 2);
    }

    #[test]
    fn a_slow_collector_with_a_bounded_pace_is_repeated_not_asked_again() {
        let slow = Play { pace: Pace::Bounded, takes: Duration::from_millis(5), ..play("slow") };
        let mut probe = Probe::of(vec![Box::new(slow), Box::new(play("quick"))]);
        probe.collect();
        let snapshot = probe.collect();
        assert_eq!(snapshot.value("count_total", &[("who", "slow")]), Some(1.0));
        assert_eq!(snapshot.value("count_total", &[("who", "quick")]), Some(2.0));
        assert_eq!(snapshot.value(SUCCESS.name, &[("collector", "slow")]), Some(1.0));
    }
}
