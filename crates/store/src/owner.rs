//! Whose a data directory is: the file `node` beside the journal.
//!
//! A journal and its node's object belong together: the object says which records
//! are in blocks already. To another node all of them would seem new, and be stored
//! and shown a second time. So the first who opens a directory for writing leaves
//! the node's name there, and whoever opens it later is held to it.

use std::io::ErrorKind;
use std::path::Path;

use kymo_journal::Disk;
use kymo_journal::disk::{read_all, write_atomically};

use crate::commit::node::{NodeObject, valid_node};
use crate::error::StoreError;
use crate::limits::NODE_MAX_BYTES;
use crate::objects::Objects;

/// The name of the file.
const FILE: &str = "node";

/// The node that a data directory belongs to; `None` if nobody has opened it for
/// writing yet.
pub fn recorded(disk: &dyn Disk, data: &Path) -> Result<Option<String>, StoreError> {
    let path = data.join(FILE);
    let file = match disk.open(&path) {
        Ok(file) => file,
        Err(error) => {
            return match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
                _ => Err(error.into()),
            };
        }
    };
    let damaged = || {
        let what = "does not hold a node's name: write the name of the node it belongs to into it";
        StoreError::Corrupt(format!("{} {what}", path.display()))
    };
    // A name and the end of its line.
    if file.len()? > NODE_MAX_BYTES as u64 + 1 {
        return Err(damaged());
    }
    let text = String::from_utf8(read_all(&*file)?).map_err(|_| damaged())?;
    let name = text.trim_end();
    if valid_node(name) { Ok(Some(name.to_owned())) } else { Err(damaged()) }
}

/// Holds a node to what is recorded; whether anything is.
pub(crate) fn check(disk: &dyn Disk, data: &Path, node: &str) -> Result<bool, StoreError> {
    match recorded(disk, data)? {
        Some(owner) if owner != node => Err(other(data, &owner, node)),
        owner => Ok(owner.is_some()),
    }
}

/// The same for a directory without a record, by the nodes that have blocks in it.
pub(crate) fn check_blocks(
    data: &Path,
    objects: &dyn Objects,
    node: &str,
) -> Result<(), StoreError> {
    let nodes = NodeObject::all(objects)?;
    match nodes.first() {
        Some(owner) if nodes.iter().all(|found| found.node != node) => {
            Err(other(data, &owner.node, node))
        }
        _ => Ok(()),
    }
}

/// Records the owner. Whoever calls this holds the journal's lock.
pub(crate) fn record(disk: &dyn Disk, data: &Path, node: &str) -> Result<(), StoreError> {
    Ok(write_atomically(disk, &data.join(FILE), format!("{node}\n").as_bytes())?)
}

fn other(data: &Path, owner: &str, node: &str) -> StoreError {
    StoreError::OtherNode {
        data: data.display().to_string(),
        owner: owner.to_owned(),
        node: node.to_owned(),
    }
}
