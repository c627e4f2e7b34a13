//! Finding blocks and journal behind what was named on the command line. Changes nothing there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_journal::OsDisk;
use kymo_store::Signal;
use kymo_store::commit::node;
use kymo_store::objects::{self, LocalObjects, Objects};
use kymo_store::settings;

use crate::failure::Failure;

/// What was found.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) blocks: Option<Arc<dyn Objects>>,
    pub(crate) journal: Option<PathBuf>,
}

impl Place {
    /// Looks at a data directory, a directory of blocks, or a bucket.
    pub(crate) fn find(place: &str) -> Result<Self, Failure> {
        if place.contains("://") {
            let blocks = objects::open(place, Arc::new(OsDisk))?;
            return Self::of_blocks(place, blocks);
        }
        let dir = Path::new(place);
        let metadata = dir.metadata().map_err(|error| Failure::io("open", dir, error))?;
        if !metadata.is_dir() {
            let hint = "name the directory of a store, or use kymo block for one file";
            return Err(Failure::Other(format!("{place} is a file: {hint}")));
        }
        let (blocks, journal) = (dir.join("blocks"), dir.join("journal"));
        if !journal.is_dir() && !blocks.is_dir() {
            return Self::of_blocks(place, files(dir));
        }
        Ok(Self {
            blocks: blocks.is_dir().then(|| files(&blocks)),
            journal: journal.is_dir().then_some(journal),
        })
    }

    /// A place of blocks, which has at least one node, one setting or one tenant with a signal.
    fn of_blocks(place: &str, blocks: Arc<dyn Objects>) -> Result<Self, Failure> {
        let mut is_store = false;
        for name in blocks.list_dirs("")? {
            let signals = || blocks.list_dirs(&name);
            is_store |= name == node::PREFIX
                || name == settings::PREFIX
                || signals()?.iter().any(|signal| Signal::from_name(signal).is_some());
        }
        if !is_store {
            let hint =
                "name a data directory (with blocks and journal in it) or where its blocks are";
            return Err(Failure::Other(format!("there is no store in {place}: {hint}")));
        }
        Ok(Self { blocks: Some(blocks), journal: None })
    }
}

/// The objects below a directory, to look at.
fn files(dir: &Path) -> Arc<dyn Objects> {
    Arc::new(LocalObjects::open_read_only(dir, Arc::new(OsDisk)))
}
