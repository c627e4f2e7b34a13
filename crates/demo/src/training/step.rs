//! One step of a training: what each rank does, and who waits for whom.

use super::is_throttled;
use crate::batch::Batch;
use crate::random::Random;
use crate::session::{SCOPE, Session};

pub(super) const NODES: [&str; 2] = ["gpu-1", "gpu-2"];
pub(super) const RANKS: usize = 8;

/// A step that waits for data, once in so many.
const SLOW_EVERY: u64 = 140;

/// Durations of a step, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Step {
    data: u64,
    forward: u64,
    /// Of each rank: the slowest decides when all go on.
    backward: [u64; RANKS],
    reduce: u64,
    update: u64,
}

impl Step {
    pub(super) fn plan(random: &mut Random, number: u64, now_nanos: u64) -> Self {
        let mut nanos = |millis: f64, spread: f64| {
            (millis * (1.0 + spread * random.around()).max(0.2) * 1e6) as u64
        };
        let is_slow = number % SLOW_EVERY == SLOW_EVERY - 1;
        let mut backward = [0; RANKS];
        for rank in &mut backward {
            *rank = nanos(820.0, 0.02);
        }
        if is_throttled(now_nanos) {
            backward[RANKS - 1] = backward[RANKS - 1] * 17 / 10;
        }
        Self {
            data: if is_slow { nanos(7_500.0, 0.1) } else { nanos(60.0, 0.2) },
            forward: nanos(410.0, 0.03),
            backward,
            reduce: nanos(150.0, 0.1),
            update: nanos(95.0, 0.1),
        }
    }

    fn slowest(&self) -> u64 {
        self.backward.iter().copied().max().unwrap_or(0)
    }

    pub(super) fn nanos(&self) -> u64 {
        self.data + self.forward + self.slowest() + self.reduce + self.update
    }

    /// Tells of what it was made of.
    pub(super) fn tell(
        &self,
        session: &Session,
        random: &mut Random,
        parent: [u8; 8],
        start_nanos: u64,
        batch: &mut Batch,
    ) {
        let mut part = |name: &'static str, from: u64, nanos: u64, rank: Option<usize>| {
            let mut span = session.span(random.span_id(), Some(parent), name, (from, from + nanos));
            if let Some(rank) = rank {
                let per_node = RANKS / NODES.len();
                span.attributes.set("training.rank", rank as i64);
                span.attributes.set("node_id", NODES[rank / per_node]);
                span.attributes.set("gpu_id", (rank % per_node) as i64);
            }
            batch.span(&session.resource, SCOPE, &span);
        };
        part("load_data", start_nanos, self.data, None);
        let forward = start_nanos + self.data;
        part("forward", forward, self.forward, None);
        let backward = forward + self.forward;
        let all_done = backward + self.slowest();
        for (rank, nanos) in self.backward.iter().enumerate() {
            part("backward", backward, *nanos, Some(rank));
        }
        // Whoever is done earlier waits here for the slowest.
        for (rank, nanos) in self.backward.iter().enumerate().step_by(RANKS - 1) {
            let from = backward + nanos;
            part("all_reduce", from, all_done - from + self.reduce, Some(rank));
        }
        part("optimizer_step", all_done + self.reduce, self.update, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MINUTE;

    #[test]
    fn a_hot_gpu_makes_every_step_longer() {
        let mut random = Random::new(1);
        let cool = Step::plan(&mut random, 1, MINUTE).nanos();
        let hot = Step::plan(&mut random, 1, 8 * MINUTE).nanos();
        assert!(hot > cool + cool / 5, "{hot} {cool}");
    }
}
