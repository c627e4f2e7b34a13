//! An online shop of eight services: requests as traces with log records, and how many there are and
//! how long they take as metrics.
//!
//! ```text
//!  frontend ─┬─> recommendation ─> inventory ─> postgresql
//!            ├─> cart ─> redis
//!            └─> checkout ─┬─> cart, inventory, payment
//!                          └─> kafka ──> shipping, email
//! ```
//!
//! What is to be found: for some minutes out of twenty, version 2.4.1 of `payment` waits long for
//! cards of one network and then gives up ([`fault`]). It is on one host only, since a deployment
//! stopped half way.
//!
//! | module | what is in it |
//! |---|---|
//! | `services` | the services, where they run and in which version |
//! | `call` | calls as a tree, and the tree as spans |
//! | `pages` | what visitors do: a tree of calls for each |
//! | `fault` | when and how the payment provider fails |
//! | `measure` | durations by service, route and status |

mod call;
mod fault;
mod measure;
mod pages;
mod services;

use crate::batch::Batch;
use crate::limits::{COARSE_FACTOR, METRICS_EVERY, SHOP_REQUESTS_PER_SECOND};
use crate::random::Random;
use crate::wave::wave;
use crate::{Detail, MINUTE, SECOND};
use measure::Measures;
use services::Services;

#[derive(Debug)]
pub(crate) struct Shop {
    random: Random,
    start_nanos: u64,
    /// When the next request ends: it is told then, with all that it made.
    next_nanos: u64,
    metrics_nanos: u64,
    services: Services,
    measures: Measures,
}

impl Shop {
    pub(crate) fn new(random: Random, start_nanos: u64) -> Self {
        Self {
            random,
            start_nanos,
            next_nanos: start_nanos + 5 * SECOND,
            metrics_nanos: start_nanos + METRICS_EVERY,
            services: Services::new(start_nanos),
            measures: Measures::new(start_nanos),
        }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, detail: Detail, batch: &mut Batch) {
        let stands_for = match detail {
            Detail::Coarse => COARSE_FACTOR,
            Detail::Full => 1,
        };
        loop {
            // In the order of time: metrics count what was before them.
            let is_request = self.next_nanos <= self.metrics_nanos;
            if self.next_nanos.min(self.metrics_nanos) > to_nanos {
                return;
            }
            if is_request {
                self.request(stands_for, batch);
            } else {
                self.measures.tell(self.metrics_nanos, &self.services, batch);
                self.metrics_nanos += METRICS_EVERY;
            }
        }
    }

    /// One request of a visitor, which stands for some more that are not traced.
    fn request(&mut self, stands_for: u32, batch: &mut Batch) {
        let end_nanos = self.next_nanos;
        let age_nanos = end_nanos - self.start_nanos;
        self.services.deploy(age_nanos, end_nanos, batch);
        let mut visitor = pages::Visitor::new(&mut self.random, &self.services, end_nanos);
        let call = visitor.visit();
        let mut told = call::Told::new(&mut self.random, stands_for);
        told.tell(&call, end_nanos, &self.services, &mut self.measures, batch);

        // More people come at some times than at others.
        let visitors = 0.6 + 0.8 * wave(end_nanos, 45 * MINUTE, 0.0);
        let per_second = SHOP_REQUESTS_PER_SECOND * visitors / f64::from(stands_for);
        self.next_nanos += (self.random.waiting(per_second) * 1e9) as u64 + 1;
    }
}
