//! Asking what is answered as a whole: a turn, a thread that may wait, an answer.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Asker, Clock};
use crate::engine::{Core, Engine};
use crate::error::EngineError;
use crate::running::Question;
use crate::stats::{Counters, Running};
use crate::tenants::Tenants;

impl Engine {
    /// Answers a question when it is its turn, on a thread that may wait; once more if a block was
    /// replaced meanwhile. It may take as long as any query, or less.
    pub(crate) async fn answered_in_turn<T: Send + 'static>(
        &self,
        tenants: Tenants,
        question: Question,
        timeout: Option<Duration>,
        answer: impl Fn(&Arc<Core>, &Tenants, &Arc<Clock>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let mut asker = Asker::new(self.counters());
        let answered = async {
            let mut turn = self.core().queries.turn(tenants.line()).await?;
            let limit = self.core().options.query_timeout;
            let clock = asker.starts(timeout.map_or(limit, |timeout| timeout.min(limit)));
            turn.note(self.core().register.note(question, &tenants, &clock));
            let (core, of_answer) = (self.core().clone(), clock.clone());
            let answering = move || {
                let _turn = turn;
                let _running = Running::new(&core.counters);
                match answer(&core, &tenants, &of_answer) {
                    Err(error) if error.is_stale() => {
                        Counters::add(&core.counters.planned_again, 1);
                        answer(&core, &tenants, &of_answer)
                    }
                    answered => answered,
                }
            };
            self.runtime().blocking_within(&clock, answering).await
        };
        let answered = answered.await;
        asker.answered(&answered);
        if answered.is_ok() {
            Counters::add(&self.counters().finished, 1);
        }
        answered
    }
}
