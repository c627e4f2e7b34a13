//! Runs of GitHub Actions, in time lapse: minutes are seconds.
//!
//! They are made of the same model and by the same code as `kymo ci` and the webhook have, so that
//! everything which knows such runs knows these. A run is told as a webhook would: that a job waits
//! no longer, then the job, at last the run.
//!
//! What is to be found: since some time the compiler cache of one repository has fewer hits, and its
//! builds take longer; one job with GPUs fails in one of five runs and passes when it is run again;
//! runners with GPUs are waited for.
//!
//! | module | what is in it |
//! |---|---|
//! | `plan` | repositories, workflows and their jobs |
//! | `run` | one run: when its jobs wait, run and end |
//! | `stash` | what jobs leave behind: statistics of the cache, tests |

mod plan;
mod run;
mod stash;

use crate::batch::Batch;
use crate::limits::MAX_RUNS;
use crate::random::Random;
use plan::{WORKFLOWS, Workflow};
use run::Running;

#[derive(Debug)]
pub(crate) struct Ci {
    random: Random,
    start_nanos: u64,
    /// When each workflow runs next.
    next_nanos: Vec<u64>,
    runs: Vec<Running>,
    run_id: u64,
    change: u64,
}

impl Ci {
    pub(crate) fn new(mut random: Random, start_nanos: u64) -> Self {
        let next = |workflow: &Workflow| {
            start_nanos + (random.between(0.0, 0.5) * workflow.every as f64) as u64
        };
        let next_nanos = WORKFLOWS.iter().map(next).collect();
        // As large as GitHub's are, and others for other demos: a trace is named by it.
        let run_id = 19_000_000_000 + random.next() % 1_000_000_000;
        Self { random, start_nanos, next_nanos, runs: Vec::new(), run_id, change: 1_200 }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, batch: &mut Batch) {
        for (nth, workflow) in WORKFLOWS.iter().enumerate() {
            while self.next_nanos[nth] <= to_nanos {
                let begins = self.next_nanos[nth];
                self.begin(workflow, begins, None);
                let factor = self.random.between(0.7, 1.3);
                self.next_nanos[nth] += (workflow.every as f64 * factor) as u64;
            }
        }
        let mut again = Vec::new();
        self.runs.retain_mut(|running| {
            let is_over = running.tell(to_nanos, batch);
            if is_over && running.is_run_again() {
                let same = (running.number(), running.change());
                again.push((running.workflow, running.end_nanos(), same));
            }
            !is_over
        });
        for (workflow, ended, same) in again {
            // Somebody looks at it first.
            self.begin(workflow, ended + 20 * crate::SECOND, Some(same));
        }
    }

    /// Begins a run, or another attempt of one: its number, and the change that it is for.
    fn begin(
        &mut self,
        workflow: &'static Workflow,
        nanos: u64,
        again: Option<(u64, Option<u64>)>,
    ) {
        if self.runs.len() >= MAX_RUNS {
            return;
        }
        let (number, attempt, change) = match again {
            Some((number, change)) => (number, 2, change.unwrap_or(self.change)),
            None => {
                self.run_id += 1_733;
                self.change += u64::from(self.random.chance(0.5));
                (self.run_id, 1, self.change)
            }
        };
        let age_nanos = nanos - self.start_nanos;
        let random = self.random.fork();
        self.runs.push(Running::new(workflow, random, nanos, age_nanos, (number, attempt), change));
    }
}
