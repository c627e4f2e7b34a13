//! `ASOF JOIN`: each row of the left side with the one row of the right side that was last before
//! it, by time.
//!
//! ```sql
//! SELECT l.time, l.body, p.value
//! FROM logs l ASOF JOIN points p
//!   MATCH_CONDITION (l.time >= p.time AND l.time - p.time <= INTERVAL '1 minute')
//!   ON l.resource.host.name = p.resource.host.name
//! ```
//!
//! DataFusion parses it and plans it no further. So a FROM that has one is put into brackets, which
//! makes it a relation of its own (`syntax`), planned here as an operator of ours (`relation`,
//! `node`). Filters on the left side reach its scan, and what they say of the time holds for the
//! right side too (`push`). The operator holds the right side in memory, found by key and time
//! (`index`), and lets the left side pass (`exec`): an answer has a row for each row of the left
//! side, never more.
//!
//! A row without a match has NULL for the right side. Of several rows of the right side at the
//! same time it is one of them.

mod exec;
mod index;
mod node;
mod planner;
mod push;
mod relation;
mod syntax;

pub(crate) use planner::AsOfQueryPlanner;
pub(crate) use push::PushBelowAsOf;
pub(crate) use relation::AsOfRelations;
pub(crate) use syntax::bracket;

/// Which row of the right side a row is joined with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Matching {
    pub(crate) direction: Direction,
    /// Whether one at the same time is a match.
    pub(crate) allows_equal: bool,
    /// How far away it may be, and still be a match.
    pub(crate) within_nanos: Option<i64>,
}

/// Where the right side's row lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// The last before.
    Before,
    /// The first after.
    After,
}

impl std::fmt::Display for Matching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operator = match (self.direction, self.allows_equal) {
            (Direction::Before, true) => ">=",
            (Direction::Before, false) => ">",
            (Direction::After, true) => "<=",
            (Direction::After, false) => "<",
        };
        write!(f, "{operator}")?;
        match self.within_nanos {
            Some(nanos) => write!(f, " within {nanos} ns"),
            None => Ok(()),
        }
    }
}
