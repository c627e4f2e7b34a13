//! Prints what this node does, ten times in a second, and what a poll costs.

use std::time::Duration;

use kymo_probe::node::{NodeOptions, NodeProbe};
use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn main() {
    let mut probe = NodeProbe::new(&NodeOptions { gpu_processes: true, ..NodeOptions::default() });
    for _ in 0..10 {
        println!("{:?}", probe.poll());
        std::thread::sleep(Duration::from_millis(100));
    }
    const POLLS: u32 = 10_000;
    let mut probe = NodeProbe::new(&NodeOptions { gpu: false, ..NodeOptions::default() });
    let began = cpu_time();
    for _ in 0..POLLS {
        std::hint::black_box(probe.poll());
    }
    println!("{:?} of processor time each poll, without GPUs", (cpu_time() - began) / POLLS);
}
