//! Group commit: many requests, one sync.
//!
//! There is no thread in the way of a blocking append: whoever finds no leader becomes it, writes
//! and syncs all that is queued, and tells the others; what arrives meanwhile is the next batch. Only
//! [`Journal::append_with`](crate::Journal::append_with) needs a thread, which leads like any other.
//!
//! A batch whose segment fails is written once more into a new segment (J2). If that fails too, its
//! requests get the error and nothing of them counts.

use std::sync::{Arc, MutexGuard, OnceLock};

use crate::format::{RecordHeader, payload_crc, request_hash};
use crate::journal::{Shared, lock, wait};
use crate::limits::{BUSY_RETRY_AFTER, MAX_BODY_BYTES, MAX_TENANT_BYTES, MAX_WAITING_BYTES};
use crate::state::{Outcome, State, Waiter};
use crate::writer::Waiting;
use crate::{Appended, Error, Record, Result};

/// What a thread waits for.
pub(crate) type Slot = Arc<OnceLock<Result<Appended>>>;

impl Shared {
    /// Checks a record and computes what its header says; the expensive part, without any lock.
    pub(crate) fn prepare(&self, record: &Record<'_>) -> Result<Waiting> {
        if record.body.len() > MAX_BODY_BYTES {
            return Err(Error::TooLarge {
                size_bytes: record.body.len() as u64,
                limit_bytes: MAX_BODY_BYTES as u64,
            });
        }
        if record.tenant.len() > MAX_TENANT_BYTES {
            return Err(Error::TenantTooLong {
                size_bytes: record.tenant.len() as u64,
                limit_bytes: MAX_TENANT_BYTES as u64,
            });
        }
        let Record { signal, format, compression, tenant, ref body, received_nanos } = *record;
        let header = RecordHeader {
            compression,
            format,
            signal,
            tenant_len: tenant.len() as u16,
            body_len: body.len() as u32,
            sequence: 0,
            received_nanos,
            hash: request_hash(&self.id, signal, format, compression, tenant, body),
            payload_crc: payload_crc(tenant.as_bytes(), body),
            spare_len: 0,
        };
        Ok(Waiting { header, tenant: Arc::from(tenant), body: body.clone() })
    }

    /// Queues a record, or answers at once: a retry of something durable, busy, closed.
    ///
    /// Gives the waiter back together with the answer.
    pub(crate) fn submit(
        &self,
        state: &mut State,
        waiting: Waiting,
        waiter: Waiter,
    ) -> Option<(Waiter, Result<Appended>)> {
        if self.is_read_only {
            return Some((waiter, Err(Error::OpenedReadOnly)));
        }
        if state.is_closed {
            return Some((waiter, Err(Error::Closed)));
        }
        let header = &waiting.header;
        if let Some(known) = state.dedup.find(header.hash, header.received_nanos) {
            state.stats.duplicates += 1;
            let appended = Appended {
                position: known.position,
                next_position: known.next_position,
                sequence: known.sequence,
                duplicate: true,
            };
            return Some((waiter, Ok(appended)));
        }
        if let Some(waiters) = state.in_flight.get_mut(&header.hash) {
            waiters.push(waiter);
            return None;
        }
        let size_bytes = header.size_bytes();
        let is_busy = state.waiting_bytes + size_bytes > MAX_WAITING_BYTES
            || state.cursors.is_back_pressured(state.end + state.waiting_bytes);
        if is_busy {
            state.stats.refused_busy += 1;
            return Some((waiter, Err(Error::Busy { retry_after: BUSY_RETRY_AFTER })));
        }
        state.waiting_bytes += size_bytes;
        state.in_flight.insert(header.hash, vec![waiter]);
        state.queue.push_back(waiting);
        None
    }

    /// Waits until all slots are filled, leading commits whenever nobody else does.
    pub(crate) fn wait_for(&self, slots: &[Slot]) {
        let mut state = lock(&self.state);
        while slots.iter().any(|slot| slot.get().is_none()) {
            state = if state.is_committing {
                wait(&self.committed, state)
            } else {
                self.lead(state);
                lock(&self.state)
            };
        }
    }

    /// Returns when nothing is queued or being committed.
    pub(crate) fn finish_commits(&self) {
        let mut state = lock(&self.state);
        while state.is_committing || !state.queue.is_empty() {
            state = if state.is_committing {
                wait(&self.committed, state)
            } else {
                self.lead(state);
                lock(&self.state)
            };
        }
    }

    /// The life of the commit thread: leads whenever there is something and nobody does.
    pub(crate) fn run_commits(&self) {
        let mut state = lock(&self.state);
        loop {
            if !state.queue.is_empty() && !state.is_committing {
                self.lead(state);
                state = lock(&self.state);
            } else if state.is_closed && state.queue.is_empty() {
                return;
            } else {
                state = wait(&self.work, state);
            }
        }
    }

    /// Commits one batch. The caller has seen that nobody else is committing.
    pub(crate) fn lead(&self, mut state: MutexGuard<'_, State>) {
        let batch = state.take_batch();
        if batch.is_empty() {
            return;
        }
        state.is_committing = true;
        drop(state);
        let (outcomes, must_tidy) = self.commit(&batch);
        for (callback, result) in outcomes {
            callback(result);
        }
        if must_tidy {
            self.tidy(false);
        }
    }

    fn commit(&self, batch: &[Waiting]) -> (Vec<Outcome>, bool) {
        let mut writer = lock(&self.writer);
        let mut outcomes = Vec::new();
        let mut done = 0;
        let mut has_failed = false;
        let mut failure = None;
        while done < batch.len() && failure.is_none() {
            match writer.write(&batch[done..]) {
                Ok(placed) => {
                    let mut state = lock(&self.state);
                    state.confirm(&batch[done..], &placed, &mut outcomes);
                    state.synced = writer.synced();
                    done += placed.len();
                }
                Err(error) => {
                    tracing::error!(%error, "journal segment given up");
                    lock(&self.state).stats.failed_segments += 1;
                    failure = has_failed.then_some(error);
                    has_failed = true;
                }
            }
        }
        let mut state = lock(&self.state);
        if let Some(error) = &failure {
            state.fail(&batch[done..], error, &mut outcomes);
        }
        state.stats.syncs = writer.syncs();
        let skipped = state.enforce_budgets();
        state.is_committing = false;
        // A cursor that passed these records a moment ago has left the renewal to this thread.
        let must_tidy = state.has_deletable() || state.is_renewable(self.idle_bytes);
        let has_more = !state.queue.is_empty();
        drop(state);
        drop(writer);
        self.committed.notify_all();
        self.readable.notify_all();
        if has_more {
            self.work.notify_one();
        }
        self.count_skipped(&skipped);
        (outcomes, must_tidy)
    }
}
