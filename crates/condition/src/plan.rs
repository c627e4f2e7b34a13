//! Which values conditions need, and where each is read.

use std::collections::HashMap;

use kymo_traceql::Slots;
use kymo_traceql::ast::{Intrinsic, Name, Scope};

use crate::limits::FEW_KEYS;

/// What is read of each part of a record, by the numbers of [`Slots`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) slots: usize,
    pub(crate) resource: Keys,
    pub(crate) scope: Keys,
    /// Of spans, by `span.x`; of any record, by `.x`.
    pub(crate) span: Keys,
    pub(crate) any: Keys,
    pub(crate) event: Keys,
    pub(crate) link: Keys,
    pub(crate) intrinsics: Vec<(Intrinsic, usize)>,
    pub(crate) scope_intrinsics: Vec<(Intrinsic, usize)>,
    pub(crate) event_intrinsics: Vec<(Intrinsic, usize)>,
    pub(crate) link_intrinsics: Vec<(Intrinsic, usize)>,
    /// Slots of `.x`, which are looked for in events and links at last.
    pub(crate) unscoped: Vec<usize>,
}

impl Plan {
    pub(crate) fn new(slots: &Slots) -> Self {
        let mut plan = Self { slots: slots.names().len(), ..Self::default() };
        for (slot, name) in slots.names().iter().enumerate() {
            match name {
                Name::Keyed { scope, key } => plan.keyed(*scope, key, slot),
                Name::Intrinsic(which) => plan.intrinsic(*which, slot),
            }
        }
        plan
    }

    fn keyed(&mut self, scope: Scope, key: &str, slot: usize) {
        match scope {
            Scope::Span => self.span.add(key, slot),
            Scope::Resource => self.resource.add(key, slot),
            Scope::Instrumentation => self.scope.add(key, slot),
            Scope::Event => self.event.add(key, slot),
            Scope::Link => self.link.add(key, slot),
            Scope::Any => {
                for keys in [&mut self.span, &mut self.any, &mut self.resource, &mut self.scope] {
                    keys.add(key, slot);
                }
                self.unscoped.push(slot);
            }
        }
    }

    fn intrinsic(&mut self, which: Intrinsic, slot: usize) {
        let list = match which {
            Intrinsic::EventName | Intrinsic::EventTimeSinceStart => &mut self.event_intrinsics,
            Intrinsic::LinkTraceId | Intrinsic::LinkSpanId => &mut self.link_intrinsics,
            Intrinsic::InstrumentationName | Intrinsic::InstrumentationVersion => {
                &mut self.scope_intrinsics
            }
            _ => &mut self.intrinsics,
        };
        list.push((which, slot));
    }
}

/// Keys of attributes that are looked for, with their slots.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    few: Vec<(Box<[u8]>, Vec<usize>)>,
    /// Used instead if there are many: places in `few`.
    many: HashMap<Box<[u8]>, usize>,
    /// Bit n is set if a key has n bytes; the last bit stands for all longer ones.
    lengths: u64,
}

impl Keys {
    fn add(&mut self, key: &str, slot: usize) {
        let key = key.as_bytes();
        self.lengths |= length_bit(key);
        match self.few.iter_mut().find(|(known, _)| **known == *key) {
            Some((_, slots)) => slots.push(slot),
            None => {
                self.many.insert(key.into(), self.few.len());
                self.few.push((key.into(), vec![slot]));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.few.is_empty()
    }

    /// The slots that a key fills.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[usize]> {
        if self.lengths & length_bit(key) == 0 {
            return None;
        }
        if self.few.len() > FEW_KEYS {
            let place = *self.many.get(key)?;
            return self.few.get(place).map(|(_, slots)| &**slots);
        }
        self.few.iter().find(|(known, _)| **known == *key).map(|(_, slots)| &**slots)
    }

    /// The key that fills a slot.
    pub(crate) fn key_of(&self, slot: usize) -> Option<&[u8]> {
        self.few.iter().find(|(_, slots)| slots.contains(&slot)).map(|(key, _)| &**key)
    }
}

#[inline]
fn length_bit(key: &[u8]) -> u64 {
    1 << key.len().min(63)
}
