//! The page of a session that never was: to look at, and to measure.
//!
//! ```text
//! cargo run -p kymo-report --example page -- 3000 > page.html
//! ```

#![allow(clippy::unwrap_used, reason = "an example")]

use std::time::Instant;

use kymo_report::{Analysis, Recording, render};
use kymo_wire::encode::{LogFields, Writer};
use kymo_wire::{AnyValueView, Signal};

const START: u64 = 1_790_000_000_000_000_000;
const SLOTS: usize = 24;

/// Numbers that look random and are the same every time (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Events of one session, as they are recorded.
#[derive(Default)]
struct Events {
    recording: Recording,
}

impl Events {
    fn add(&mut self, name: &str, at: f64, fields: &[(&str, AnyValueView<'_>)]) {
        let mut w = Writer::new();
        w.resource_group(|w| {
            w.resource(|w| {
                for (key, value) in [
                    ("session_id", "screening.4f1c2a90"),
                    ("session.name", "screening"),
                    ("host.name", "login1"),
                ] {
                    w.resource_attribute(key.as_bytes(), &text(value));
                }
            });
            w.scope_group(|w| {
                let log = LogFields {
                    time_unix_nano: START + (at * 1e9) as u64,
                    event_name: name.as_bytes(),
                    trace_id: &[0xa9; 16],
                    ..LogFields::default()
                };
                w.log(&log, |w| {
                    fields.iter().for_each(|(key, value)| w.log_attribute(key.as_bytes(), value));
                });
            });
        });
        self.recording.add(Signal::Logs, w.as_slice()).unwrap();
    }
}

fn text(text: &str) -> AnyValueView<'_> {
    AnyValueView::String(text.as_bytes())
}

fn main() {
    let tasks: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let begin = Instant::now();
    let recording = recorded(tasks);
    let (sessions, _) = recording.finish();
    let read = begin.elapsed();
    let begin = Instant::now();
    let analysis = Analysis::of(&sessions[0]);
    let analysed = begin.elapsed();
    let page = render::html::render(&[analysis], None);
    let drawn = begin.elapsed() - analysed;
    let bytes = page.len();
    eprintln!(
        "{tasks} tasks: made and read in {read:?}, analysed in {analysed:?}, drawn in {drawn:?}, \
         {bytes} bytes"
    );
    println!("{page}");
}

fn recorded(count: usize) -> Recording {
    let mut random = Random(42);
    let mut events = Events::default();
    let mut free = [2.0f64; SLOTS];
    events.add("SessionStarted", 0.0, &[]);
    for nth in 0..count {
        let slot = (0..SLOTS).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
        let kind = nth * 7 % 3;
        let mut took = [1.5, 4.0, 9.0][kind] * (0.6 + random.next() * 0.7 + random.next().powi(6));
        if random.next() < 0.004 {
            took *= 6.0;
        }
        let started = free[slot] + random.next() * 0.2;
        free[slot] = started + took;
        let submitted = (started - 1.0 - random.next() * 8.0).max(0.1);
        let queued = submitted + 0.002 + random.next() * 0.05;
        let (end, error) = match random.next() {
            part if part < 0.02 => ("TaskFailed", ["OutOfMemoryError", "TimeoutError"][nth % 2]),
            part if part < 0.03 => ("TaskCanceled", ""),
            _ => ("TaskCompleted", ""),
        };
        let (id, node) = (format!("task.{nth:06}"), format!("node{}", slot % 3));
        let mut fields = vec![
            ("task_id", text(&id)),
            ("span_name", text(["simulate", "featurize", "train"][kind])),
            ("executable", text(["namd3", "python", "torchrun"][kind])),
            ("task_type", text("ComputeTask")),
            ("backend", text("dragon")),
            ("node_id", text(&node)),
        ];
        for (name, at) in
            [("TaskSubmitted", submitted), ("TaskQueued", queued), ("TaskStarted", started)]
        {
            events.add(name, at, &fields);
        }
        if !error.is_empty() {
            fields.push(("error_type", text(error)));
            fields.push(("error_message", text("tried to allocate 20.00 GiB")));
        }
        events.add(end, started + took, &fields);
    }
    let end = free.iter().copied().fold(0.0, f64::max) + 1.0;
    for poll in 0..(end / 5.0) as usize {
        add_use(&mut events, &mut random, poll as f64 * 5.0, end);
    }
    events.add("SessionEnded", end, &[("duration_seconds", AnyValueView::Double(end))]);
    events.recording
}

/// What three nodes with four GPUs each do at a moment.
fn add_use(events: &mut Events, random: &mut Random, time: f64, end: f64) {
    for node in 0..3 {
        let name = format!("node{node}");
        let cpu = 55.0 + 30.0 * (time / 40.0 + f64::from(node)).sin() + random.next() * 10.0;
        let mut fields = vec![("node_id", text(&name)), ("backend", text("dragon"))];
        let measures = [
            ("cpu_percent", cpu),
            ("memory_percent", 40.0 + 20.0 * time / end),
            ("gpu_percent", 95.0),
            ("disk_read_bytes", random.next() * 4e8),
            ("disk_write_bytes", random.next() * 1e8),
            ("net_sent_bytes", random.next() * 5e7),
            ("net_recv_bytes", random.next() * 9e7),
        ];
        fields.extend(measures.map(|(key, value)| (key, AnyValueView::Double(value))));
        events.add("ResourceUpdate", time, &fields);
        for gpu in 0..4 {
            let is_idle = gpu == 3 && time > end / 2.0;
            let used = if is_idle { 0.0 } else { 70.0 + random.next() * 30.0 };
            let fields = [
                ("node_id", text(&name)),
                ("backend", text("dragon")),
                ("gpu_id", AnyValueView::Int(gpu)),
                ("gpu_percent", AnyValueView::Double(used)),
                ("gpu_memory_used_bytes", AnyValueView::Double(3e10)),
            ];
            events.add("ResourceUpdate", time, &fields);
        }
    }
}
