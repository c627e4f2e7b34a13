//! The collectors together.
//!
//! A [`Probe`] asks each collector in turn. One that fails is left out of the snapshot and has
//! `node_scrape_collector_success` 0; one whose subject the machine does not have is left out
//! without a trace. A failure is logged when it begins, not at every collection.
//!
//! A collector that is read less often than asked is in the snapshots of the rounds in which it
//! was really read: a counter that is repeated would show a rate of nothing, then of too much.

use std::time::{Duration, Instant};

use crate::error::ProbeError;
use crate::limits::{PACE_AT_MOST, PACE_CPU_FACTOR, PACE_WALL_FACTOR};
use crate::live::LiveSeries;
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
    /// Seldom enough to cost about a two-thousandth of one core, but at least once a minute; for
    /// what changes slowly or may cost much. A snapshot between has none of its families.
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
    live: LiveSeries,
    is_failing: bool,
}

struct Run {
    at: Instant,
    duration: Duration,
    /// What it took of a processor.
    cpu: Duration,
    /// None if the machine does not have its subject.
    succeeded: Option<bool>,
}

/// All collectors of a machine.
pub struct Probe {
    slots: Vec<Slot>,
    builder: Builder,
    scratch: Builder,
    /// When it was last asked.
    last_round: Option<Instant>,
    /// What is told of the collectors themselves.
    live: LiveSeries,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.collectors()).finish()
    }
}

impl Probe {
    /// A probe of the host, of GPUs and of processes, as the options say. NVIDIA's library is
    /// loaded when the probe is first asked; a machine without is no error.
    pub fn new(options: &ProbeOptions) -> Self {
        let mut collectors: Vec<Box<dyn Collector>> = Vec::new();
        if options.host {
            collectors.extend(host::collectors(options));
        }
        if options.gpu {
            collectors.push(gpu::collector(options));
        }
        collectors.extend(process::watched(options));
        collectors.retain(|collector| !options.without.contains(collector.name()));
        Self::of(collectors)
    }

    /// A probe of given collectors.
    pub fn of(collectors: Vec<Box<dyn Collector>>) -> Self {
        let slot = |collector| Slot {
            collector,
            last: None,
            live: LiveSeries::default(),
            is_failing: false,
        };
        Self {
            slots: collectors.into_iter().map(slot).collect(),
            builder: Builder::new(),
            scratch: Builder::new(),
            last_round: None,
            live: LiveSeries::default(),
        }
    }

    /// The names of the collectors.
    pub fn collectors(&self) -> impl Iterator<Item = &'static str> {
        self.slots.iter().map(|slot| slot.collector.name())
    }

    /// Asks all collectors that are due.
    pub fn collect(&mut self) -> Snapshot {
        let now = Instant::now();
        let since_last_round = self.last_round.replace(now).map(|last| now - last);
        let mut ended = Vec::new();
        for slot in &mut self.slots {
            if slot.is_due(now, since_last_round.unwrap_or_default()) {
                let families = slot.run(&mut self.scratch);
                slot.live.update(&families, &mut ended);
                self.builder.append(families);
            }
        }
        let of_collectors = self.collect_runs();
        self.live.update(&of_collectors, &mut ended);
        self.builder.append(of_collectors);
        Snapshot { ended, ..self.builder.finish() }
    }

    /// What is told of the collectors themselves.
    fn collect_runs(&mut self) -> Vec<Family> {
        for slot in &self.slots {
            let Some(run) = &slot.last else { continue };
            let Some(succeeded) = run.succeeded else { continue };
            let labels = [("collector", slot.collector.name())];
            self.scratch.with(&DURATION, &labels, run.duration.as_secs_f64());
            self.scratch.with(&SUCCESS, &labels, f64::from(u8::from(succeeded)));
        }
        self.scratch.finish().families
    }
}

impl Slot {
    /// Whether it is asked in the round that begins now, rather than in the next.
    fn is_due(&self, now: Instant, since_last_round: Duration) -> bool {
        let (Some(last), Pace::Bounded) = (&self.last, self.collector.pace()) else { return true };
        let pause = (last.cpu * PACE_CPU_FACTOR).max(last.duration * PACE_WALL_FACTOR);
        // The round that is nearest: waiting for the first after the pause could be almost a whole
        // interval too long, and PACE_AT_MOST is a promise.
        now - last.at + since_last_round / 2 >= pause.min(PACE_AT_MOST)
    }

    /// Asks the collector; what it found, also before it failed.
    fn run(&mut self, scratch: &mut Builder) -> Vec<Family> {
        let (at, cpu_before) = (Instant::now(), thread_cpu_time());
        let result = self.collector.collect(scratch);
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
        // One that is absent for a while has not recovered.
        self.is_failing = succeeded.map_or(self.is_failing, |succeeded| !succeeded);
        self.last = Some(Run { at, duration, cpu, succeeded });
        scratch.finish().families
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
    fn a_slow_collector_with_a_bounded_pace_is_told_when_it_is_read_and_not_repeated() {
        let takes = Duration::from_millis(5);
        let slow = Play { pace: Pace::Bounded, takes, ..play("slow") };
        let mut probe = Probe::of(vec![Box::new(slow), Box::new(play("quick"))]);
        let of = |snapshot: &Snapshot, who| snapshot.value("count_total", &[("who", who)]);
        assert_eq!(of(&probe.collect(), "slow"), Some(1.0));
        let between = probe.collect();
        assert_eq!(of(&between, "slow"), None);
        assert_eq!(of(&between, "quick"), Some(2.0));
        assert_eq!(between.value(SUCCESS.name, &[("collector", "slow")]), Some(1.0));
        assert_eq!(between.ended, [], "what was not looked for has not ended");
        std::thread::sleep(takes * PACE_WALL_FACTOR);
        assert_eq!(of(&probe.collect(), "slow"), Some(2.0));
    }

    #[test]
    fn the_longest_pace_is_below_a_minute_whatever_the_interval() {
        let at = Instant::now();
        let last = Run { at, duration: PACE_AT_MOST, cpu: PACE_AT_MOST, succeeded: Some(true) };
        let slow = Play { pace: Pace::Bounded, ..play("slow") };
        let slot = Slot {
            collector: Box::new(slow),
            last: Some(last),
            live: LiveSeries::default(),
            is_failing: false,
        };
        for interval in [1, 7, 10, 15, 20, 25, 30].map(Duration::from_secs) {
            let due = (1..).find(|round| slot.is_due(at + interval * *round, interval)).unwrap();
            assert!(interval * due < Duration::from_secs(60), "{interval:?}");
        }
    }

    #[test]
    fn the_series_of_a_collector_that_fails_have_ended() {
        struct Once(bool);
        impl Collector for Once {
            fn name(&self) -> &'static str {
                "once"
            }

            fn collect(&mut self, out: &mut Builder) -> Result<(), ProbeError> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(ProbeError::Absent("/proc/z".into()));
                }
                out.with(&COUNT, &[("who", "once")], 1.0);
                Ok(())
            }
        }
        let mut probe = Probe::of(vec![Box::new(Once(false)), Box::new(play("good"))]);
        assert_eq!(probe.collect().ended, []);
        let ended = probe.collect().ended;
        let mut names: Vec<&str> = ended.iter().map(|series| &*series.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["count_total", DURATION.name, SUCCESS.name]);
        assert_eq!(probe.collect().ended, [], "told once");
    }
}
