//! When which task of a workflow does what: planned when it begins, told as it happens.

use crate::SECOND;
use crate::random::Random;

pub(super) const NODES: [&str; 2] = ["hpc-1", "hpc-2"];
/// Tasks that a node runs at once.
pub(super) const SLOTS: usize = 8;

/// Tasks that do the same.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) tasks: usize,
    seconds: f64,
}

pub(super) const STAGES: [Stage; 4] = [
    Stage { name: "prepare", tasks: 48, seconds: 4.0 },
    Stage { name: "dock", tasks: 240, seconds: 11.0 },
    Stage { name: "simulate", tasks: 96, seconds: 22.0 },
    Stage { name: "score", tasks: 32, seconds: 5.0 },
];

const STRAGGLERS: f64 = 0.02;
const FAILURES: f64 = 0.02;
/// The second node has less memory.
const FAILURES_OF_LAST: f64 = 0.06;

/// How far a task, or a stage, has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Created,
    Submitted,
    Queued,
    Started,
    Completed,
    Failed,
}

impl State {
    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Created => "TaskCreated",
            Self::Submitted => "TaskSubmitted",
            Self::Queued => "TaskQueued",
            Self::Started => "TaskStarted",
            Self::Completed => "TaskCompleted",
            Self::Failed => "TaskFailed",
        }
    }
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) span_id: [u8; 8],
    pub(super) stage: usize,
    pub(super) node: usize,
    pub(super) ligand: String,
    pub(super) created_nanos: u64,
    pub(super) submitted_nanos: u64,
    pub(super) queued_nanos: u64,
    pub(super) started_nanos: u64,
    pub(super) ended_nanos: u64,
    /// Kind and message; empty if it went well.
    pub(super) error: (&'static str, &'static str),
}

/// Something that happens: to a task, or to a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) nanos: u64,
    pub(super) state: State,
    pub(super) stage: usize,
    pub(super) task: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// When each stage begins.
    pub(super) stage_nanos: Vec<u64>,
    /// In the order of time.
    pub(super) moments: Vec<Moment>,
    pub(super) end_nanos: u64,
}

impl Plan {
    pub(super) fn new(random: &mut Random, start_nanos: u64) -> Self {
        let mut plan = Self {
            tasks: Vec::new(),
            stage_nanos: Vec::new(),
            moments: Vec::new(),
            end_nanos: start_nanos + SECOND,
        };
        for stage in 0..STAGES.len() {
            let begins = plan.end_nanos;
            plan.stage_nanos.push(begins);
            plan.moments.push(Moment { nanos: begins, state: State::Started, stage, task: None });
            plan.add_stage(random, stage, begins);
            let ends = plan.end_nanos;
            plan.moments.push(Moment { nanos: ends, state: State::Completed, stage, task: None });
        }
        plan.end_nanos += SECOND;
        plan.moments.sort();
        plan
    }

    fn add_stage(&mut self, random: &mut Random, stage: usize, begins: u64) {
        // When each place of each node is free.
        let mut free = [begins + SECOND; NODES.len() * SLOTS];
        for nth in 0..STAGES[stage].tasks {
            let created = begins + nth as u64 * 2_000_000 + 1;
            let submitted = created + (random.between(5.0, 40.0) * 1e6) as u64;
            let queued = submitted + (random.between(5.0, 30.0) * 1e6) as u64;
            let place = (0..free.len()).min_by_key(|place| free[*place]).unwrap_or(0);
            let node = place / SLOTS;
            let started = free[place].max(queued) + (random.between(20.0, 120.0) * 1e6) as u64;
            let is_straggler = random.chance(STRAGGLERS);
            let seconds =
                random.skewed(STAGES[stage].seconds) * if is_straggler { 6.0 } else { 1.0 };
            let ended = started + (seconds * 1e9) as u64;
            let is_last = node + 1 == NODES.len();
            let fails = random.chance(if is_last { FAILURES_OF_LAST } else { FAILURES });
            let error = match (fails, is_last) {
                (false, _) => ("", ""),
                (true, true) => ("MemoryError", "out of memory: 7.8 GiB asked for, 6.1 GiB free"),
                (true, false) => ("ConvergenceError", "pose did not converge in 2000 iterations"),
            };
            free[place] = ended;
            self.end_nanos = self.end_nanos.max(ended);
            let task = self.tasks.len();
            let last = if fails { State::Failed } else { State::Completed };
            let moments = [
                (created, State::Created),
                (submitted, State::Submitted),
                (queued, State::Queued),
                (started, State::Started),
                (ended, last),
            ];
            self.moments.extend(moments.map(|(nanos, state)| Moment {
                nanos,
                state,
                stage,
                task: Some(task),
            }));
            self.tasks.push(Task {
                id: format!("task.{:06}", task + 1),
                span_id: random.span_id(),
                stage,
                node,
                ligand: format!("ZINC{:08}", random.next() % 100_000_000),
                created_nanos: created,
                submitted_nanos: submitted,
                queued_nanos: queued,
                started_nanos: started,
                ended_nanos: ended,
                error,
            });
        }
    }

    /// How many tasks run on each node then.
    pub(super) fn busy_at(&self, nanos: u64) -> [usize; NODES.len()] {
        let mut busy = [0; NODES.len()];
        for task in &self.tasks {
            busy[task.node] += usize::from((task.started_nanos..task.ended_nanos).contains(&nanos));
        }
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_in_order_and_no_node_runs_more_than_it_has_room_for() {
        let plan = Plan::new(&mut Random::new(5), 1_000);
        assert!(plan.moments.is_sorted());
        assert_eq!(plan.tasks.len(), STAGES.iter().map(|stage| stage.tasks).sum::<usize>());
        assert!(plan.tasks.iter().any(|task| !task.error.0.is_empty()));
        for task in &plan.tasks {
            assert!(task.queued_nanos <= task.started_nanos);
            assert!(plan.busy_at(task.started_nanos).iter().all(|busy| *busy <= SLOTS));
        }
        assert!(plan.tasks.iter().all(|task| task.ended_nanos < plan.end_nanos));
    }
}
