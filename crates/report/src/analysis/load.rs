//! What went on over time: how many tasks ran, and how many ended.

use serde::Serialize;

use crate::limits::{THROUGHPUT_BINS, TIME_BINS};
use crate::recording::{Session, Status};

/// The time that a report is about, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Its begin: that of the session, or of what came before.
    pub start_nanos: u64,
    /// Its end: that of the session, or of what came last.
    pub end_nanos: u64,
}

impl Window {
    pub(super) fn of(session: &Session) -> Self {
        let tasks = session.tasks.iter().flat_map(|task| [task.first_nanos(), task.ended_nanos]);
        let samples = session.samples.iter().map(|sample| Some(sample.time_nanos));
        let all = [session.start_nanos, session.end_nanos];
        let mut window: Option<Self> = None;
        for at in all.into_iter().chain(tasks).chain(samples).flatten() {
            let known = window.get_or_insert(Self { start_nanos: at, end_nanos: at });
            known.start_nanos = known.start_nanos.min(at);
            known.end_nanos = known.end_nanos.max(at);
        }
        window.unwrap_or_default()
    }

    /// Its length.
    #[must_use]
    pub fn secs(&self) -> f64 {
        (self.end_nanos - self.start_nanos) as f64 / 1e9
    }

    /// Seconds from its begin.
    #[must_use]
    pub fn offset_secs(&self, nanos: u64) -> f64 {
        nanos.saturating_sub(self.start_nanos) as f64 / 1e9
    }

    /// In which of some equal parts a moment lies.
    pub(super) fn bin(&self, nanos: u64, bins: usize) -> usize {
        let length = (self.end_nanos - self.start_nanos).max(1) as f64;
        let part = nanos.saturating_sub(self.start_nanos) as f64 / length;
        ((part * bins as f64) as usize).min(bins - 1)
    }
}

/// How many tasks ran at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Concurrency {
    /// The most at any moment.
    pub max: u64,
    /// When that was first so, in seconds from the begin.
    pub max_at_seconds: f64,
    /// The mean from the first start to the last end.
    pub mean: f64,
    /// Seconds from the first start to the last end.
    pub busy_seconds: f64,
    /// Seconds in between when nothing ran.
    pub idle_seconds: f64,
    /// In equal parts of the session.
    pub series: Vec<ConcurrencyPoint>,
    /// Every change: seconds from the begin, and how many run from then on.
    #[serde(skip)]
    pub steps: Vec<(f64, u64)>,
}

/// Tasks that ran in a part of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ConcurrencyPoint {
    /// Begin of the part, in seconds from that of the session.
    pub at_seconds: f64,
    /// The mean in it.
    pub mean: f64,
    /// The most in it.
    pub max: u64,
}

/// The time from when less than half as many tasks ran as at most, to the last end: what a larger
/// machine would not shorten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Tail {
    /// When it began, in seconds from the begin of the session.
    pub at_seconds: f64,
    /// How long it took.
    pub seconds: f64,
    /// Its part of the time from the first start to the last end.
    pub share: f64,
    /// Tasks that ran when it began.
    pub tasks: u64,
}

pub(super) fn concurrency(session: &Session, window: Window) -> (Concurrency, Tail) {
    let mut changes: Vec<(u64, i64)> = Vec::with_capacity(session.tasks.len() * 2);
    for task in &session.tasks {
        let Some(start) = task.started_nanos else { continue };
        // What never ended ran as long as is known.
        let end = task.ended_nanos.unwrap_or(window.end_nanos).max(start);
        if end > start {
            changes.push((start, 1));
            changes.push((end, -1));
        }
    }
    // At one moment, what ends makes room for what starts.
    changes.sort_unstable();
    let (Some((first, _)), Some((last, _))) = (changes.first(), changes.last()) else {
        return (Concurrency::default(), Tail::default());
    };
    let (first, last) = (*first, *last);
    let mut found = Concurrency { busy_seconds: secs(first, last), ..Concurrency::default() };
    let mut series = Series::new(window);
    let (mut running, mut before, mut area) = (0i64, first, 0.0);
    for (at, change) in changes {
        if at > before {
            area += running as f64 * secs(before, at);
            if running == 0 {
                found.idle_seconds += secs(before, at);
            }
            series.add(before, at, running.unsigned_abs());
            push_step(&mut found.steps, window.offset_secs(before), running.unsigned_abs());
        }
        running += change;
        before = at;
        if running.unsigned_abs() > found.max {
            found.max = running.unsigned_abs();
            found.max_at_seconds = window.offset_secs(at);
        }
    }
    push_step(&mut found.steps, window.offset_secs(last), 0);
    found.mean = area / found.busy_seconds.max(f64::MIN_POSITIVE);
    found.series = series.finish();
    let tail = tail(&found, window.offset_secs(first), window.offset_secs(last));
    (found, tail)
}

fn secs(from: u64, to: u64) -> f64 {
    (to - from) as f64 / 1e9
}

fn push_step(steps: &mut Vec<(f64, u64)>, at: f64, running: u64) {
    if steps.last().is_none_or(|(_, known)| *known != running) {
        steps.push((at, running));
    }
}

/// Steps are few enough to be looked at once more, from the end.
fn tail(found: &Concurrency, first: f64, last: f64) -> Tail {
    let is_full = |(_, running): &(f64, u64)| *running as f64 >= found.max as f64 / 2.0;
    let Some(full) = found.steps.iter().rposition(is_full) else { return Tail::default() };
    let (at_seconds, tasks) = found.steps.get(full + 1).copied().unwrap_or((last, 0));
    let seconds = (last - at_seconds).max(0.0);
    Tail { at_seconds, seconds, share: seconds / (last - first).max(f64::MIN_POSITIVE), tasks }
}

/// Mean and most in equal parts of the session.
struct Series {
    window: Window,
    areas: Vec<f64>,
    most: Vec<u64>,
}

impl Series {
    fn new(window: Window) -> Self {
        Self { window, areas: vec![0.0; TIME_BINS], most: vec![0; TIME_BINS] }
    }

    fn add(&mut self, from: u64, to: u64, running: u64) {
        let width = self.width();
        let (from, to) = (self.window.offset_secs(from), self.window.offset_secs(to));
        let place = |at: f64| ((at / width) as usize).min(TIME_BINS - 1);
        for bin in place(from)..=place(to) {
            let (begin, end) = (bin as f64 * width, (bin + 1) as f64 * width);
            let inside = to.min(end) - from.max(begin);
            if inside > 0.0 {
                self.areas[bin] += inside * running as f64;
                self.most[bin] = self.most[bin].max(running);
            }
        }
    }

    fn width(&self) -> f64 {
        (self.window.secs() / TIME_BINS as f64).max(1e-9)
    }

    fn finish(self) -> Vec<ConcurrencyPoint> {
        let width = self.width();
        let points = self.areas.iter().zip(&self.most).enumerate();
        points
            .map(|(bin, (area, max))| ConcurrencyPoint {
                at_seconds: bin as f64 * width,
                mean: area / width,
                max: *max,
            })
            .collect()
    }
}

/// How many tasks ended, over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Completed tasks per second, from the first state of any task to the last end.
    pub mean_per_second: f64,
    /// The most completed per second in one part of the session.
    pub max_per_second: f64,
    /// Length of a part.
    pub bin_seconds: f64,
    /// In equal parts of the session.
    pub bins: Vec<ThroughputBin>,
}

/// Tasks that ended in a part of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ThroughputBin {
    /// Begin of the part, in seconds from that of the session.
    pub at_seconds: f64,
    /// Tasks that completed in it.
    pub completed: u64,
    /// Tasks that failed in it.
    pub failed: u64,
    /// Tasks that were canceled in it.
    pub canceled: u64,
    /// Tasks that had completed by its end.
    pub completed_so_far: u64,
}

pub(super) fn throughput(session: &Session, window: Window) -> Throughput {
    let width = (window.secs() / THROUGHPUT_BINS as f64).max(1e-9);
    let mut bins: Vec<ThroughputBin> = (0..THROUGHPUT_BINS)
        .map(|bin| ThroughputBin { at_seconds: bin as f64 * width, ..ThroughputBin::default() })
        .collect();
    let (mut first, mut last, mut completed) = (u64::MAX, 0, 0u64);
    for task in &session.tasks {
        first = first.min(task.first_nanos().unwrap_or(u64::MAX));
        let Some(ended) = task.ended_nanos else { continue };
        last = last.max(ended);
        let bin = &mut bins[window.bin(ended, THROUGHPUT_BINS)];
        match task.status {
            Status::Completed => {
                completed += 1;
                bin.completed += 1;
            }
            Status::Failed => bin.failed += 1,
            _ => bin.canceled += 1,
        }
    }
    if last == 0 {
        return Throughput::default();
    }
    let mut so_far = 0;
    for bin in &mut bins {
        so_far += bin.completed;
        bin.completed_so_far = so_far;
    }
    let most = bins.iter().map(|bin| bin.completed).max().unwrap_or_default();
    let spent = secs(first.min(last), last);
    Throughput {
        mean_per_second: if spent > 0.0 { completed as f64 / spent } else { 0.0 },
        max_per_second: most as f64 / width,
        bin_seconds: width,
        bins,
    }
}
