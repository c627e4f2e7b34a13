//! Open files for ranged reads.
//!
//! A scan reads many small ranges of a block; to open the file each time costs as much as the read.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kymo_journal::DiskFile;

/// Open blocks that are kept for further ranged reads. A scan reads a few ranges of each block in
/// turn on a few threads; more would only hold descriptors.
pub(super) const CACHED_HANDLES: usize = 64;

/// Blocks that are open for ranged reads; the one unused for longest makes room.
#[derive(Default)]
pub(super) struct Handles {
    state: Mutex<HandlesState>,
}

#[derive(Default)]
struct HandlesState {
    open: HashMap<String, Handle>,
    /// Counts uses, to tell which handle is the oldest.
    clock: u64,
    /// Counts calls of [`Handles::forget`]. A file opened under an earlier epoch may be one that
    /// was replaced or deleted since, and is not kept.
    epoch: u64,
}

struct Handle {
    file: Arc<dyn DiskFile>,
    used: u64,
}

impl Handles {
    /// The open file, if there is one, and the epoch to hand to [`Handles::keep`].
    pub(super) fn get(&self, path: &str) -> (Option<Arc<dyn DiskFile>>, u64) {
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        let file = state.open.get_mut(path).map(|handle| {
            handle.used = used;
            Arc::clone(&handle.file)
        });
        (file, state.epoch)
    }

    pub(super) fn keep(&self, path: &str, file: &Arc<dyn DiskFile>, epoch: u64) {
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        if state.open.len() >= CACHED_HANDLES {
            let oldest = state.open.iter().min_by_key(|(_, handle)| handle.used);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                state.open.remove(&path);
            }
        }
        state.clock += 1;
        let handle = Handle { file: Arc::clone(file), used: state.clock };
        state.open.insert(path.to_owned(), handle);
    }

    pub(super) fn forget(&self, path: &str) {
        let mut state = self.lock();
        state.epoch += 1;
        state.open.remove(path);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().open.len()
    }

    fn lock(&self) -> MutexGuard<'_, HandlesState> {
        // No step above can leave the map half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
