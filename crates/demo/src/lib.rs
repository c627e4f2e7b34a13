//! Living data of four kinds of users, to look around with before one's own data is there.
//!
//! ```text
//!  shop      services that call each other; a payment provider that is slow at times
//!  ci        runs of GitHub Actions; a compiler cache that got worse, tests that fail
//!  training  a session on two nodes with GPUs; one of them throttles
//!  workflow  a session of hundreds of tasks; stragglers and failures
//!  hosts     the machines that all of this runs on, and their GPUs
//!                │
//!  advance(to) ──┴──> requests of OTLP, in protobuf
//! ```
//!
//! A demo is a simulation without clock, thread or network: [`Demo::advance`] gives everything that
//! has happened until some time, as the requests that programs would have sent. The same seed, the
//! same beginning and the same calls give the same bytes. Nothing is told before it has happened, and memory does not
//! grow with time.
//!
//! Every resource has the attribute `kymo.demo`, so that the data can be told apart, and deleted.
//!
//! | module | what is in it |
//! |---|---|
//! | `random` | numbers that look random |
//! | `record` | spans and log records, and the resources that they are of |
//! | `batch` | records on their way into requests |
//! | `session` | a session as the library of that name tells of it |
//! | `metric` | counters and histograms that grow |
//! | `wave` | values that go up and down with time |
//! | `shop`, `ci`, `training`, `workflow`, `hosts` | one story each |
//! | `limits` | bounds and rates, each with its reason |

mod batch;
mod ci;
mod hosts;
mod limits;
mod metric;
mod random;
mod record;
mod session;
mod shop;
#[cfg(test)]
mod tests;
mod training;
mod wave;
mod workflow;

use kymo_wire::Signal;

use batch::Batch;
use ci::Ci;
use hosts::Hosts;
use limits::{COARSE_AFTER_NANOS, STEP_NANOS};
use random::Random;
use shop::Shop;
use training::Training;
use workflow::Workflow;

/// The attribute of every resource that a demo makes.
pub const MARK: &str = "kymo.demo";

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// What a program would have sent at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What it carries.
    pub signal: Signal,
    /// OTLP protobuf.
    pub body: Vec<u8>,
}

/// How much is told of what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Every tenth request of the shop is traced, for hours that lie behind. Its metrics count all.
    Coarse,
    /// All of it.
    Full,
}

impl Detail {
    /// How much is told of what goes on, if everything is told until then.
    #[must_use]
    pub fn of(told_nanos: u64, now_nanos: u64) -> Self {
        let behind_nanos = now_nanos.saturating_sub(told_nanos);
        if behind_nanos > COARSE_AFTER_NANOS { Self::Coarse } else { Self::Full }
    }
}

/// A world in which things happen.
#[derive(Debug)]
pub struct Demo {
    now_nanos: u64,
    shop: Shop,
    ci: Ci,
    training: Training,
    workflow: Workflow,
    hosts: Hosts,
}

impl Demo {
    /// A world that begins then, in nanoseconds since 1970.
    #[must_use]
    pub fn new(seed: u64, start_nanos: u64) -> Self {
        // Ids of a demo that is started again are others.
        let mut random = Random::new(seed ^ start_nanos.rotate_left(32));
        Self {
            now_nanos: start_nanos,
            shop: Shop::new(random.fork(), start_nanos),
            ci: Ci::new(random.fork(), start_nanos),
            training: Training::new(random.fork(), start_nanos),
            workflow: Workflow::new(random.fork(), start_nanos),
            hosts: Hosts::new(seed, start_nanos),
        }
    }

    /// Until when everything is told.
    #[must_use]
    pub fn now_nanos(&self) -> u64 {
        self.now_nanos
    }

    /// What has happened until then. Call it again until [`Demo::now_nanos`] is that time: a call
    /// tells of a minute at most, so that requests have the size that servers take.
    pub fn advance(&mut self, to_nanos: u64, detail: Detail) -> Vec<Request> {
        let to_nanos = to_nanos.min(self.now_nanos.saturating_add(STEP_NANOS));
        if to_nanos <= self.now_nanos {
            return Vec::new();
        }
        let mut batch = Batch::default();
        self.shop.advance(to_nanos, detail, &mut batch);
        self.ci.advance(to_nanos, &mut batch);
        self.training.advance(to_nanos, &mut batch);
        self.workflow.advance(to_nanos, &mut batch);
        self.hosts.advance(to_nanos, &mut batch);
        self.now_nanos = to_nanos;
        batch.finish()
    }
}
