//! Hiding: what is deleted is seen by nobody from now on.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Target;
use super::record::{Asked, Hidden, HiddenSignal};
use super::requests::Judge;
use crate::archive;
use crate::compact::Effort;
use crate::error::StoreError;
use crate::request::Protocol;
use crate::schema::Signal;
use crate::snapshot::level_zero;
use crate::store::{Store, lock};
use crate::tombstone::{Entombed, OTHERS_COMMIT};

impl Store {
    /// Makes tombstones for what there is, and takes it out of the archive. To do so again, after a
    /// crash in between, is to do it once.
    pub(super) fn hide(&self, asked: &Asked, targets: &[Target]) -> Result<Hidden, StoreError> {
        // What is in memory must be in blocks that the log knows, so that tombstones can name them.
        self.flush()?;
        let mut hidden = Hidden::default();
        for (nth, target) in targets.iter().enumerate() {
            hidden.signals.push(self.hide_target(asked, nth, target)?);
        }
        hidden.archived_spans = self.erase_archived(&asked.tenant, targets)?;
        // After the last tombstone: a compaction of this node that knew none has written its files.
        hidden.hidden_nanos = self.now_nanos();
        self.write_hidden(asked, &hidden)?;
        for signal in &hidden.signals {
            if let Some(of) = Signal::from_name(&signal.signal) {
                self.counters.rows_hidden.add(of, &asked.tenant, signal.records);
            }
        }
        Ok(hidden)
    }

    fn hide_target(
        &self,
        asked: &Asked,
        nth: usize,
        target: &Target,
    ) -> Result<HiddenSignal, StoreError> {
        let (tenant, signal) = (&asked.tenant, target.signal);
        // Before the log is looked at: all before this position is in blocks that it gets to know.
        let node = lock(&self.state).node.clone();
        let journal_end = match self.detached.load(Ordering::Acquire) {
            true => self.journal.end(),
            false => node.position_of(signal),
        };
        self.adopt(tenant, signal, node.sequence_of(signal))?;
        let id = format!("{}-{nth}", asked.id);
        let Entombed { rows, records, blocks, replaced } =
            self.entomb(tenant, signal, &target.predicate, &id)?;
        Ok(HiddenSignal {
            signal: signal.name().to_owned(),
            records,
            rows,
            block_bytes: blocks.iter().map(|block| block.size_bytes).sum(),
            blocks: blocks.iter().map(|block| block.name()).collect(),
            replaced,
            journal_end,
        })
    }

    /// Takes level-0 blocks over into the log, those of this node up to a flush for sure: a tombstone
    /// names blocks of the log only.
    fn adopt(&self, tenant: &str, signal: Signal, flush: u64) -> Result<(), StoreError> {
        self.compact_log(tenant, signal, Effort::Adopt)?;
        let log = self.read_log(tenant, signal)?;
        let node = lock(&self.state).node.clone();
        let left = level_zero([&*node], &log, tenant, signal);
        match left.iter().any(|block| block.sequence <= flush) {
            true => Err(StoreError::State(OTHERS_COMMIT.into())),
            false => Ok(()),
        }
    }

    /// Writes pieces of archived traces again without the spans that match; returns how many spans
    /// those were.
    fn erase_archived(&self, tenant: &str, targets: &[Target]) -> Result<u64, StoreError> {
        if !targets.iter().any(|target| target.signal == Signal::Spans) {
            return Ok(0);
        }
        let judge = Judge::new(targets);
        // Whoever archives a trace as it was before the tombstones has written it.
        let _archiving = self.archiving.write().unwrap_or_else(PoisonError::into_inner);
        let mut erased = 0;
        for (trace_id, piece) in archive::traces_of(&*self.objects, tenant)? {
            self.check_interrupted()?;
            let Some(body) = self.piece(&piece.path)? else { continue };
            let Some(left) = judge.without(Signal::Spans, Protocol::Otlp, &body)? else { continue };
            // First what stays: a trace that is read in between has it twice, which is once.
            if left.left > 0 {
                self.write_piece(tenant, &trace_id, &left.body)?;
            }
            self.delete_piece(tenant, &trace_id, &piece.path)?;
            erased += left.removed as u64;
        }
        Ok(erased)
    }
}
