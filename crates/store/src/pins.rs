//! Pins: which blocks the snapshots of this process may still read.
//!
//! A snapshot pins before it looks at the log: until it has chosen, everything of
//! its tenant and signal stays. Then it pins the blocks it saw, as long as it or a
//! clone of it lives. Blocks that were opened for it stay as long as somebody
//! holds them open ([`BlockCache::is_held`](crate::block::cache::BlockCache)).

use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::block::meta::BlockMeta;
use crate::commit::state::LogState;
use crate::schema::Signal;
use crate::store::lock;

/// What one snapshot holds on to.
#[derive(Debug)]
pub(crate) struct Pin {
    tenant: String,
    signal: Signal,
    /// The blocks it saw; none are known while it is taken.
    seen: OnceLock<(Arc<LogState>, Vec<BlockMeta>)>,
}

impl Pin {
    /// The snapshot is taken: it reads the blocks of this log, and these.
    pub(crate) fn settle(&self, log: Arc<LogState>, level_zero: Vec<BlockMeta>) {
        // A pin is settled once, by who has begun it.
        let _ = self.seen.set((log, level_zero));
    }

    fn holds(&self, block: &BlockMeta) -> bool {
        self.seen.get().is_none_or(|(log, level_zero)| {
            log.blocks.contains_key(&block.name()) || level_zero.contains(block)
        })
    }
}

/// The pins of all snapshots that live.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    live: Mutex<Vec<Weak<Pin>>>,
}

impl Pins {
    /// A pin for a snapshot that is about to be taken.
    pub(crate) fn begin(&self, tenant: &str, signal: Signal) -> Arc<Pin> {
        let pin = Arc::new(Pin { tenant: tenant.to_owned(), signal, seen: OnceLock::new() });
        let mut live = lock(&self.live);
        live.retain(|pin| pin.strong_count() > 0);
        live.push(Arc::downgrade(&pin));
        pin
    }

    /// Whether a snapshot may read a block.
    pub(crate) fn holds(&self, tenant: &str, signal: Signal, block: &BlockMeta) -> bool {
        let live = lock(&self.live);
        live.iter()
            .filter_map(Weak::upgrade)
            .any(|pin| pin.tenant == tenant && pin.signal == signal && pin.holds(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_holds_everything_until_it_is_settled_and_then_what_was_seen() {
        let block = |sequence| BlockMeta { sequence, ..BlockMeta::default() };
        let holds = |pins: &Pins, sequence| pins.holds("a", Signal::Spans, &block(sequence));
        let pins = Pins::default();
        assert!(!holds(&pins, 1));
        let pin = pins.begin("a", Signal::Spans);
        assert!(holds(&pins, 1) && holds(&pins, 3));
        assert!(!pins.holds("a", Signal::Logs, &block(1)));
        assert!(!pins.holds("b", Signal::Spans, &block(1)));
        let mut log = LogState::default();
        log.blocks.insert(block(1).name(), block(1));
        pin.settle(Arc::new(log), vec![block(2)]);
        assert!(holds(&pins, 1) && holds(&pins, 2) && !holds(&pins, 3));
        let clone = pin.clone();
        drop(pin);
        assert!(holds(&pins, 1));
        drop(clone);
        assert!(!holds(&pins, 1));
    }
}
