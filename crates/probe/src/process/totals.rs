//! What a tree of processes has used so far.
//!
//! The sum over its processes falls when one ends whose parent does not wait for it, or when one is
//! given another parent. A counter that falls would count as one that began anew, and all that the
//! tree ever used as used since. So what a tree has used is added up from one round to the next.

use super::Usage;

/// User and system seconds, bytes read and written.
type Counters = [f64; 4];

/// The counters of one tree.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The sums over its processes in the last round.
    last: Counters,
    /// What they amount to since it is watched, and before.
    totals: Counters,
}

impl Totals {
    /// The usage of a round with counters that never fall.
    pub(super) fn advance(&mut self, usage: Usage) -> Usage {
        let bytes = |bytes: Option<u64>| bytes.unwrap_or(0) as f64;
        let now = [
            usage.cpu_user_secs,
            usage.cpu_system_secs,
            bytes(usage.read_bytes),
            bytes(usage.written_bytes),
        ];
        for ((total, last), now) in self.totals.iter_mut().zip(&self.last).zip(&now) {
            *total += (now - last).max(0.0);
        }
        self.last = now;
        let [cpu_user_secs, cpu_system_secs, read, written] = self.totals;
        Usage {
            cpu_user_secs,
            cpu_system_secs,
            read_bytes: usage.read_bytes.map(|_| read as u64),
            written_bytes: usage.written_bytes.map(|_| written as u64),
            ..usage
        }
    }
}
