//! The values that a query reads, by number.

use std::collections::HashMap;

use super::List;
use crate::ast::{Intrinsic, Name, Scope};

/// The distinct names of the values that are read, each with a number: its place in
/// [`Slots::names`]. Both spellings of an intrinsic are one name, the plain one.
///
/// What is computed from the parents of spans (`nestedSetLeft`, `nestedSetRight`,
/// `nestedSetParent`, `span:childCount`) is not among them.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    names: Vec<Name>,
    numbers: HashMap<Name, usize>,
}

impl Slots {
    /// None yet.
    pub fn new() -> Slots {
        Slots::default()
    }

    /// The number of a name, which is given one if it has none.
    pub fn slot_of(&mut self, name: &Name) -> usize {
        let next = self.names.len();
        *self.numbers.entry(name.clone()).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    /// The names, by number.
    pub fn names(&self) -> &[Name] {
        &self.names
    }
}

impl Name {
    /// The list whose members have this value, if it is not a value of the span itself.
    pub fn list(&self) -> Option<List> {
        match self {
            Name::Keyed { scope: Scope::Event, .. }
            | Name::Intrinsic(Intrinsic::EventName | Intrinsic::EventTimeSinceStart) => {
                Some(List::Events)
            }
            Name::Keyed { scope: Scope::Link, .. }
            | Name::Intrinsic(Intrinsic::LinkTraceId | Intrinsic::LinkSpanId) => Some(List::Links),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_attribute;

    #[test]
    fn a_name_has_one_slot_in_both_spellings() {
        let mut slots = Slots::new();
        let mut slot = |text| slots.slot_of(&parse_attribute(text).unwrap().name);
        assert_eq!(slot("span:duration"), 0);
        assert_eq!(slot("span.a"), 1);
        assert_eq!(slot("duration"), 0);
        assert_eq!(slot(".a"), 2);
        assert_eq!(slot("span.a"), 1);
        let names: Vec<_> = slots.names().iter().map(Name::to_string).collect();
        assert_eq!(names, ["duration", "span.a", ".a"]);
    }
}
