//! The file: a thread of its own appends to it and syncs it, and gives it up when the disk does not
//! take it. Who hands over lines never waits for a disk, unless the disk is slower for long.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::error::CheckpointError;
use crate::limits::{FILE_BUFFERS, LINE_BYTES};
use crate::options::Checkpoint;

/// Names that are tried when a file is there already.
const MAX_NUMBERED: u32 = 10_000;

/// An open checkpoint.
pub(crate) struct CheckpointFile {
    path: PathBuf,
    /// Ends the thread when it is gone.
    orders: Option<SyncSender<Order>>,
    /// Buffers that were written and can be filled again.
    spare: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    progress: Arc<Mutex<Progress>>,
}

enum Order {
    /// Whole lines.
    Append(Vec<u8>),
    /// Tell when everything before is safe, by this number.
    Sync(u64),
}

/// How far the thread has come. What it says of a line is true before the sync after it is told.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Bytes up to the last whole line.
    pub(crate) whole_bytes: u64,
    /// Why there is nothing more.
    pub(crate) error: Option<String>,
}

impl CheckpointFile {
    /// Makes the file. `synced` is told up to where everything is safe.
    pub(crate) fn create(
        checkpoint: &Checkpoint,
        session_id: &str,
        synced: impl Fn(u64) + Send + 'static,
    ) -> Result<Option<Self>, CheckpointError> {
        let wanted = match checkpoint {
            Checkpoint::None => return Ok(None),
            Checkpoint::File(path) => path.clone(),
            Checkpoint::Directory(directory) => directory.join(file_name(session_id)),
        };
        let failed = |source| CheckpointError { path: wanted.clone(), source };
        if let Some(parent) = wanted.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let (file, path) = create_new(&wanted).map_err(failed)?;
        let progress = Arc::<Mutex<Progress>>::default();
        let (orders, ordered) = sync_channel(FILE_BUFFERS);
        let (done, spare) = channel();
        let appender = Appender { file, path: path.clone(), progress: progress.clone(), done };
        let thread = std::thread::Builder::new().name("kymo-file".to_owned());
        let thread = thread.spawn(move || appender.run(&ordered, synced)).map_err(failed)?;
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Some(Self { path, orders, spare, thread, progress }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How far it has come, for those who ask.
    pub(crate) fn progress(&self) -> Arc<Mutex<Progress>> {
        self.progress.clone()
    }

    /// Why nothing is written any more.
    pub(crate) fn error(&self) -> Option<String> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).error.clone()
    }

    /// An empty buffer for lines.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(LINE_BYTES + LINE_BYTES / 4))
    }

    /// Appends whole lines.
    pub(crate) fn append(&self, lines: Vec<u8>) {
        self.order(Order::Append(lines));
    }

    /// Has everything synced that was appended so far; `count` is told when that is done.
    pub(crate) fn sync(&self, count: u64) {
        self.order(Order::Sync(count));
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread lives as long as this does.
            let _ = orders.send(order);
        }
    }

    /// Waits until everything is in the file and synced.
    pub(crate) fn close(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for CheckpointFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the thread has.
struct Appender {
    file: File,
    path: PathBuf,
    progress: Arc<Mutex<Progress>>,
    done: Sender<Vec<u8>>,
}

impl Appender {
    fn run(self, ordered: &Receiver<Order>, synced: impl Fn(u64)) {
        let (mut has_failed, mut has_warned) = (false, false);
        while let Ok(order) = ordered.recv() {
            match order {
                Order::Append(mut lines) => {
                    // What is lost once is lost for good: a file with holes would look whole.
                    if !has_failed && let Err(error) = self.append(&lines) {
                        has_failed = true;
                        self.lock().error = Some(error.to_string());
                    }
                    lines.clear();
                    // Nobody may want it any more.
                    let _ = self.done.send(lines);
                }
                Order::Sync(count) => {
                    if let Err(error) = self.file.sync_data()
                        && !std::mem::replace(&mut has_warned, true)
                    {
                        let path = self.path.display();
                        tracing::warn!(%error, "the checkpoint {path} may not survive a power cut");
                    }
                    synced(count);
                }
            }
        }
    }

    fn append(&self, lines: &[u8]) -> Result<(), CheckpointError> {
        if let Err(source) = (&self.file).write_all(lines) {
            // A reader ignores a line that broke off, but the next one to append might not.
            let _ = self.file.set_len(self.lock().whole_bytes);
            return Err(CheckpointError { path: self.path.clone(), source });
        }
        self.lock().whole_bytes += lines.len() as u64;
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's id as a file's name.
fn file_name(session_id: &str) -> String {
    let safe = |c: char| if c == '/' || c == '\\' || c == '\0' { '_' } else { c };
    let mut name: String = session_id.chars().map(safe).collect();
    // File systems take 255 bytes.
    while name.len() > 200 {
        name.pop();
    }
    format!("{name}.kymo.jsonl")
}

/// Makes a file that was not there.
fn create_new(wanted: &Path) -> io::Result<(File, PathBuf)> {
    let create = |path: &Path| OpenOptions::new().append(true).create_new(true).open(path);
    for number in 1..=MAX_NUMBERED {
        let path = if number == 1 { wanted.to_owned() } else { numbered(wanted, number) };
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, path)),
        }
    }
    Err(io::Error::other("there are too many files of that name: remove some"))
}

/// `train.kymo.jsonl` as `train.2.kymo.jsonl`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = match name.strip_suffix(".kymo.jsonl") {
        Some(stem) => format!("{stem}.{number}.kymo.jsonl"),
        None => format!("{name}.{number}"),
    };
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(checkpoint: &Checkpoint) -> CheckpointFile {
        CheckpointFile::create(checkpoint, "a/b.1234", |_| ()).unwrap().unwrap()
    }

    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let place = tempfile::tempdir().unwrap();
        let directory = Checkpoint::Directory(place.path().join("made"));
        assert_eq!(create(&directory).path(), place.path().join("made/a_b.1234.kymo.jsonl"));
        assert_eq!(create(&directory).path(), place.path().join("made/a_b.1234.2.kymo.jsonl"));
        let file = Checkpoint::File(place.path().join("x.jsonl"));
        create(&file).append(b"{}\n".to_vec());
        assert_eq!(create(&file).path(), place.path().join("x.jsonl.2"));
        assert_eq!(std::fs::read(place.path().join("x.jsonl")).unwrap(), b"{}\n");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error_that_names_it() {
        let checkpoint = Checkpoint::File("/proc/no/such/file".into());
        let failed = CheckpointFile::create(&checkpoint, "x", |_| ());
        assert!(failed.err().unwrap().to_string().contains("/proc/no/such/file"));
    }

    #[test]
    fn a_sync_is_told_when_it_is_done() {
        let place = tempfile::tempdir().unwrap();
        let (told, heard) = channel();
        let checkpoint = Checkpoint::Directory(place.path().to_owned());
        let file = CheckpointFile::create(&checkpoint, "x", move |count| {
            told.send(count).unwrap();
        });
        let file = file.unwrap().unwrap();
        file.append(b"{}\n".to_vec());
        file.sync(7);
        assert_eq!(heard.recv(), Ok(7));
    }
}
