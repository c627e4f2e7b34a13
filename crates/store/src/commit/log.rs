//! Generation logs: `<tenant>/<signal>/log/<generation>`, and now and then
//! `<generation>.checkpoint`.
//!
//! A generation is committed by creating its object; who comes second has lost
//! and reads again. Objects up to the last checkpoint but one are deleted after
//! a grace time. A writer that slept through that could create a generation that
//! existed before: readers begin at the newest checkpoint and never see it, and
//! the writer finds that its token is not among the checkpoint's.

use super::state::{Checkpoint, Delta, LogState};
use super::{VERSION, check_version, seal, unseal};
use crate::block::meta::encode_tenant;
use crate::error::StoreError;
use crate::objects::Objects;
use crate::schema::Signal;

/// Generations between checkpoints: so many objects are read at most to open.
pub(crate) const CHECKPOINT_EVERY: u64 = 32;
const CHECKPOINT_SUFFIX: &str = ".checkpoint";
/// Times that reading begins anew because objects disappear meanwhile.
const READ_TRIES: usize = 5;

/// The log of one tenant and signal.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    /// Where it is.
    pub objects: &'a dyn Objects,
    /// Whose.
    pub tenant: &'a str,
    /// Of what.
    pub signal: Signal,
}

/// How a commit ended.
#[derive(Debug)]
pub enum Outcome {
    /// The generation is written; this is the state after it.
    Committed(LogState),
    /// Somebody else was first: read again and redo.
    Lost,
}

/// Names in a log's folder.
#[derive(Debug, Default)]
struct Listing {
    deltas: Vec<u64>,
    checkpoints: Vec<u64>,
}

impl Log<'_> {
    fn prefix(&self) -> String {
        format!("{}/{}/log", encode_tenant(self.tenant), self.signal.name())
    }

    fn delta_path(&self, generation: u64) -> String {
        format!("{}/{generation:020}", self.prefix())
    }

    fn checkpoint_path(&self, generation: u64) -> String {
        format!("{}/{generation:020}{CHECKPOINT_SUFFIX}", self.prefix())
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        for info in self.objects.list(&self.prefix())? {
            let Some(name) = info.path.rsplit('/').next() else { continue };
            match name.strip_suffix(CHECKPOINT_SUFFIX) {
                Some(number) => listing.checkpoints.extend(number.parse::<u64>()),
                None => listing.deltas.extend(name.parse::<u64>()),
            }
        }
        listing.deltas.sort_unstable();
        listing.checkpoints.sort_unstable();
        Ok(listing)
    }

    /// The newest state.
    pub fn read(&self) -> Result<LogState, StoreError> {
        for _ in 0..READ_TRIES {
            if let Some(state) = self.try_read()? {
                return Ok(state);
            }
        }
        Err(StoreError::corrupt(format!("generations are missing in {}", self.prefix())))
    }

    /// The newest state; `None` if objects disappeared while they were read.
    fn try_read(&self) -> Result<Option<LogState>, StoreError> {
        let listing = self.list()?;
        let Some(mut state) = self.newest_checkpoint(&listing.checkpoints)? else {
            return Ok(None);
        };
        for generation in listing.deltas {
            if generation <= state.generation {
                continue;
            }
            if generation != state.generation + 1 {
                return Ok(None);
            }
            match self.delta(generation)? {
                Some(delta) => state.apply(&delta)?,
                None => return Ok(None),
            }
        }
        Ok(Some(state))
    }

    /// The state to begin with. One damaged checkpoint does no harm: the one
    /// before it and all generations since are still there.
    fn newest_checkpoint(&self, checkpoints: &[u64]) -> Result<Option<LogState>, StoreError> {
        let mut is_damaged = false;
        for generation in checkpoints.iter().rev() {
            match self.checkpoint(*generation) {
                Ok(checkpoint) => return Ok(checkpoint.map(LogState::from_checkpoint)),
                Err(error @ StoreError::Corrupt(_)) if !is_damaged => {
                    tracing::warn!(%error, "left out a damaged checkpoint of the commit log");
                    is_damaged = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(LogState::default()))
    }

    fn checkpoint(&self, generation: u64) -> Result<Option<Checkpoint>, StoreError> {
        let path = self.checkpoint_path(generation);
        let Some(bytes) = found(self.objects.get(&path))? else { return Ok(None) };
        let checkpoint: Checkpoint = unseal(&bytes, &path)?;
        check_version(checkpoint.least_reader, &path)?;
        if checkpoint.generation != generation {
            return Err(StoreError::corrupt(format!("{path} is of another generation")));
        }
        Ok(Some(checkpoint))
    }

    fn delta(&self, generation: u64) -> Result<Option<Delta>, StoreError> {
        let path = self.delta_path(generation);
        let Some(bytes) = found(self.objects.get(&path))? else { return Ok(None) };
        let delta: Delta = unseal(&bytes, &path)?;
        check_version(delta.least_reader, &path)?;
        Ok(Some(delta))
    }

    /// Commits `delta` as the generation after `state`.
    pub fn commit(&self, state: &LogState, mut delta: Delta) -> Result<Outcome, StoreError> {
        delta.version = VERSION;
        delta.least_reader = VERSION;
        let generation = state.generation + 1;
        let path = self.delta_path(generation);
        if !self.objects.put_new(&path, seal(&delta).into())? {
            return Ok(Outcome::Lost);
        }
        // If the generation existed before and was deleted, a later checkpoint
        // does not know this delta.
        let newest = self.list()?.checkpoints.last().copied().unwrap_or(0);
        if newest >= generation {
            let known = self.read()?.tokens.contains(&delta.token);
            if !known {
                self.objects.delete(&path)?;
                return Ok(Outcome::Lost);
            }
        }
        let mut after = state.clone();
        after.apply(&delta)?;
        if generation.is_multiple_of(CHECKPOINT_EVERY) {
            // Without it, only reading is slower.
            if let Err(error) = self.put_checkpoint(&after) {
                tracing::warn!(generation, %error, "cannot write a checkpoint of the commit log");
            }
        }
        Ok(Outcome::Committed(after))
    }

    /// Writes a state as the checkpoint of its generation, unless another has.
    pub fn put_checkpoint(&self, state: &LogState) -> Result<(), StoreError> {
        let path = self.checkpoint_path(state.generation);
        self.objects.put_new(&path, seal(&state.checkpoint()).into())?;
        Ok(())
    }

    /// Deletes generations that the last checkpoint but one has made needless,
    /// if they are older than `before_nanos`.
    pub fn collect(&self, before_nanos: i64) -> Result<CollectedLog, StoreError> {
        let infos = self.objects.list(&self.prefix())?;
        let names = || infos.iter().filter_map(|info| Some((info, info.path.rsplit('/').next()?)));
        let number = |name: &str| {
            let (digits, is_checkpoint) = match name.strip_suffix(CHECKPOINT_SUFFIX) {
                Some(digits) => (digits, true),
                None => (name, false),
            };
            Some((digits.parse::<u64>().ok()?, is_checkpoint))
        };
        let mut checkpoints: Vec<u64> =
            names().filter_map(|(_, name)| number(name)).filter(|n| n.1).map(|n| n.0).collect();
        checkpoints.sort_unstable();
        let mut collected = CollectedLog { deleted: 0, left: 0 };
        let [.., keep, _] = checkpoints[..] else { return Ok(collected) };
        for (info, name) in names() {
            let needless = number(name)
                .is_some_and(|(n, is_checkpoint)| n < keep || (n == keep && !is_checkpoint));
            if needless && info.modified_nanos < before_nanos {
                self.objects.delete(&info.path)?;
                collected.deleted += 1;
            } else if needless {
                collected.left += 1;
            }
        }
        Ok(collected)
    }
}

/// What became of generations that nobody needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectedLog {
    /// Deleted.
    pub deleted: usize,
    /// Too young to be deleted.
    pub left: usize,
}

fn found(
    result: Result<bytes::Bytes, crate::objects::ObjectsError>,
) -> Result<Option<bytes::Bytes>, StoreError> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
