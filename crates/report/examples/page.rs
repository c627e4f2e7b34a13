//! The page of a session that never was: to look at, and to measure.
//!
//! ```text
//! cargo run -p kymo-report --example page -- 3000 > page.html
//! ```

#![allow(clippy::unwrap_used, reason = "an example")]

use std::time::Instant;

use kymo_report::times::rfc3339;
use kymo_report::{Analysis, Session, render};
use serde_json::{Value, json};

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

fn main() {
    let tasks: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let document = document(tasks).to_string();
    let session = Session::from_json(document.as_bytes()).unwrap();
    let begin = Instant::now();
    let analysis = Analysis::of(&session);
    let analysed = begin.elapsed();
    let page = render::html::render(&[analysis], None);
    let drawn = begin.elapsed() - analysed;
    eprintln!("{tasks} tasks: analysed in {analysed:?}, drawn in {drawn:?}, {} bytes", page.len());
    println!("{page}");
}

fn document(count: usize) -> Value {
    let at = |secs: f64| rfc3339(START + (secs * 1e9) as u64);
    let mut random = Random(42);
    let mut free = [2.0f64; SLOTS];
    let mut tasks = Vec::with_capacity(count);
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
        let (status, error) = match random.next() {
            part if part < 0.02 => ("failed", Some(["OutOfMemoryError", "TimeoutError"][nth % 2])),
            part if part < 0.03 => ("canceled", None),
            _ => ("completed", None),
        };
        let name = ["simulate", "featurize", "train"][kind];
        let executable = ["namd3", "python", "torchrun"][kind];
        tasks.push(json!({
            "id": format!("task.{nth:06}"), "name": name,
            "executable": executable, "task_type": "ComputeTask",
            "backend": "dragon", "node_id": format!("node{}", slot % 3), "status": status,
            "error_type": error, "error_message": error.map(|_| "tried to allocate 20.00 GiB"),
            "created": at(submitted), "submitted": at(submitted), "queued": at(queued),
            "started": at(started), "ended": at(started + took),
        }));
    }
    let end = free.iter().copied().fold(0.0, f64::max) + 1.0;
    let mut resources = Vec::new();
    for poll in 0..(end / 5.0) as usize {
        let time = poll as f64 * 5.0;
        for node in 0..3 {
            let cpu = 55.0 + 30.0 * (time / 40.0 + f64::from(node)).sin() + random.next() * 10.0;
            resources.push(json!({
                "time": at(time), "node_id": format!("node{node}"), "backend": "dragon",
                "cpu_percent": cpu, "memory_percent": 40.0 + 20.0 * time / end, "gpu_percent": 95,
                "disk_read_bytes": random.next() * 4e8, "disk_write_bytes": random.next() * 1e8,
                "net_sent_bytes": random.next() * 5e7, "net_recv_bytes": random.next() * 9e7,
            }));
            for gpu in 0..4 {
                let is_idle = gpu == 3 && time > end / 2.0;
                let used = if is_idle { 0.0 } else { 70.0 + random.next() * 30.0 };
                resources.push(json!({
                    "time": at(time), "node_id": format!("node{node}"), "gpu_id": gpu,
                    "backend": "dragon", "gpu_percent": used, "gpu_memory_used_bytes": 3e10,
                }));
            }
        }
    }
    json!({
        "session": {"id": "screening.4f1c2a90", "name": "screening", "host": "login1",
            "trace_id": "a9cdc3efbac462849a3a580270323ea2", "started": at(0.0), "ended": at(end),
            "state": "ended", "duration_seconds": end, "spans": count + 1, "errors": 0},
        "tasks": tasks, "resources": resources, "events": [],
    })
}
