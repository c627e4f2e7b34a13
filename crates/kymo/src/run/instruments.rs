//! What the command's processes use, as metrics beside the session's own.
//!
//! | name | type | unit |
//! |---|---|---|
//! | `process_cpu_seconds` | counter, `mode` is `user` or `system` | s |
//! | `process_memory_bytes` | gauge | By |
//! | `process_count`, `process_threads` | gauge | |
//! | `process_disk_read_bytes`, `process_disk_write_bytes` | counter | By |
//! | `process_net_recv_bytes`, `process_net_sent_bytes` | counter, of the network namespace | By |

use kymo_session::metrics::{Counter, Gauge};
use kymo_session::{KeyValue, Session};

use super::watch::Used;

/// Counts them.
#[derive(Debug)]
pub(super) struct Instruments {
    cpu: Counter<f64>,
    memory: Gauge<u64>,
    processes: Gauge<u64>,
    threads: Gauge<u64>,
    disk_read: Counter<u64>,
    disk_written: Counter<u64>,
    received: Counter<u64>,
    sent: Counter<u64>,
    /// What the counters have.
    counted: Used,
}

impl Instruments {
    pub(super) fn new(session: &Session) -> Self {
        let meter = session.meter("kymograph.run");
        let gauge = |name, unit| meter.u64_gauge(name).with_unit(unit).build();
        let bytes = |name| meter.u64_counter(name).with_unit("By").build();
        Self {
            cpu: meter.f64_counter("process_cpu_seconds").with_unit("s").build(),
            memory: gauge("process_memory_bytes", "By"),
            processes: gauge("process_count", ""),
            threads: gauge("process_threads", ""),
            disk_read: bytes("process_disk_read_bytes"),
            disk_written: bytes("process_disk_write_bytes"),
            received: bytes("process_net_recv_bytes"),
            sent: bytes("process_net_sent_bytes"),
            counted: Used::default(),
        }
    }

    /// All of them as they stand.
    pub(super) fn tell(&mut self, used: &Used) {
        let (now, before) = (&used.tree, &self.counted.tree);
        let modes = [
            ("user", now.cpu_user_secs - before.cpu_user_secs),
            ("system", now.cpu_system_secs - before.cpu_system_secs),
        ];
        for (mode, seconds) in modes {
            self.cpu.add(seconds.max(0.0), &[KeyValue::new("mode", mode)]);
        }
        self.memory.record(now.resident_bytes, &[]);
        self.processes.record(now.pids.len() as u64, &[]);
        self.threads.record(now.threads, &[]);
        self.disk_read.add(now.read_bytes.saturating_sub(before.read_bytes), &[]);
        self.disk_written.add(now.written_bytes.saturating_sub(before.written_bytes), &[]);
        self.received.add(used.received_bytes.saturating_sub(self.counted.received_bytes), &[]);
        self.sent.add(used.sent_bytes.saturating_sub(self.counted.sent_bytes), &[]);
        self.counted = used.clone();
    }
}
