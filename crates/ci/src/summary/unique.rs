//! Ids of spans: those that others can compute where that is possible, and each once.

use std::collections::HashSet;

use crate::identity::Identity;
use crate::ids::{SpanId, TraceId};

/// Ids that are taken.
pub(super) struct Unique {
    trace: TraceId,
    taken: HashSet<SpanId>,
}

impl Unique {
    pub(super) fn new(identity: &Identity) -> Self {
        Self { trace: identity.trace, taken: HashSet::from([identity.root()]) }
    }

    /// The id of these names; another if two have the same.
    pub(super) fn id(&mut self, names: &[&str]) -> SpanId {
        let mut id = SpanId::of(self.trace, names);
        let mut number = 1_u64;
        while !self.taken.insert(id) {
            number += 1;
            id = SpanId::of(self.trace, &[names, &[&format!("#{number}")]].concat());
        }
        id
    }

    /// An id that somebody else chose, unless it is taken.
    pub(super) fn chosen(&mut self, id: SpanId) -> Option<SpanId> {
        self.taken.insert(id).then_some(id)
    }
}
