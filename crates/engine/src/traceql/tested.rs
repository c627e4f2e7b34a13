//! What the store tests of a condition, and how such tests are put together.
//!
//! A test passes at least the spans that fulfil the condition. Where it passes just these it is
//! *exact*; only then can it be negated.

use kymo_store::scan::Predicate;

use crate::limits::{PREDICATE_MAX_DEPTH, PREDICATE_MAX_TESTS};

/// What the store tests of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tested {
    pub(crate) predicate: Predicate,
    /// Whether all that passes fulfils the condition.
    pub(crate) is_exact: bool,
}

impl Tested {
    pub(super) fn exact(predicate: Predicate) -> Self {
        Self { predicate, is_exact: true }
    }

    /// All spans may fulfil it.
    pub(super) fn open() -> Self {
        Self { predicate: Predicate::And(Vec::new()), is_exact: false }
    }

    pub(super) fn always() -> Self {
        Self::exact(Predicate::And(Vec::new()))
    }

    pub(super) fn never() -> Self {
        Self::exact(Predicate::Or(Vec::new()))
    }

    /// Whether it says nothing.
    pub(super) fn is_open(&self) -> bool {
        matches!(&self.predicate, Predicate::And(parts) if parts.is_empty())
    }

    /// Whether no span passes.
    pub(super) fn is_never(&self) -> bool {
        matches!(&self.predicate, Predicate::Or(parts) if parts.is_empty())
    }

    pub(super) fn and(self, other: Self) -> Self {
        if self.is_never() || other.is_never() {
            return Self::never();
        }
        let mut parts = Vec::new();
        for part in [self.predicate, other.predicate] {
            match part {
                Predicate::And(inner) => parts.extend(inner),
                other => parts.push(other),
            }
        }
        let is_exact = self.is_exact && other.is_exact;
        Self { predicate: one_or(parts, Predicate::And), is_exact }
    }

    pub(super) fn or(self, other: Self) -> Self {
        let is_exact = self.is_exact && other.is_exact;
        if (self.is_open() && self.is_exact) || (other.is_open() && other.is_exact) {
            return Self::always();
        }
        if self.is_open() || other.is_open() {
            return Self::open();
        }
        let mut parts = Vec::new();
        for part in [self.predicate, other.predicate] {
            match part {
                Predicate::Or(inner) => parts.extend(inner),
                other => parts.push(other),
            }
        }
        Self { predicate: one_or(parts, Predicate::Or), is_exact }
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self { is_exact: false, .. } => Self::open(),
            tested if tested.is_open() => Self::never(),
            tested if tested.is_never() => Self::always(),
            Self { predicate: Predicate::Not(inner), .. } => Self::exact(*inner),
            Self { predicate, .. } => Self::exact(Predicate::Not(Box::new(predicate))),
        }
    }

    /// The same if the store takes a predicate of that size; else it is left open.
    pub(super) fn bounded(self) -> Self {
        fn size(predicate: &Predicate) -> (usize, usize) {
            match predicate {
                Predicate::And(parts) | Predicate::Or(parts) => {
                    let sizes = parts.iter().map(size);
                    let (tests, depth) =
                        sizes.fold((0, 0), |all, one| (all.0 + one.0, all.1.max(one.1)));
                    (tests, depth + 1)
                }
                Predicate::Not(inner) => {
                    let (tests, depth) = size(inner);
                    (tests, depth + 1)
                }
                _ => (1, 1),
            }
        }
        let (tests, depth) = size(&self.predicate);
        match tests <= PREDICATE_MAX_TESTS && depth <= PREDICATE_MAX_DEPTH {
            true => self,
            false => Self::open(),
        }
    }
}

fn one_or(mut parts: Vec<Predicate>, many: impl FnOnce(Vec<Predicate>) -> Predicate) -> Predicate {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            parts.push(last);
            many(parts)
        }
        (_, None) => many(parts),
    }
}
