//! Stores on a local disk and in a bucket.

use std::path::Path;
use std::sync::Arc;

use kymo_journal::{Journal, OsDisk};
use kymo_store::objects::{Objects, S3Objects, S3Options};
use kymo_store::{Options, Store};

use crate::seaweed::Seaweed;

/// Runs a test on a local directory and, if there is one, on a bucket.
pub fn on_each_backend(name: &str, test: impl Fn(&Path, &Arc<dyn Objects>)) {
    let dir = tempfile::tempdir().unwrap();
    let blocks = dir.path().join("blocks");
    let local = kymo_store::objects::open(&blocks.to_string_lossy(), Arc::new(OsDisk)).unwrap();
    test(dir.path(), &local);
    let Some(server) = Seaweed::shared() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let options = S3Options::from_variables(server.variables());
    let bucket: Arc<dyn Objects> = Arc::new(S3Objects::open(&server.url(name), &options).unwrap());
    test(dir.path(), &bucket);
}

/// A store with its journal in a directory.
pub fn open(dir: &Path, objects: &Arc<dyn Objects>, options: Options) -> Store {
    let disk = Arc::new(OsDisk);
    let (journal, _) =
        Journal::open(disk.clone(), &dir.join("journal"), Default::default()).unwrap();
    Store::open(disk, journal, objects.clone(), options).unwrap()
}
