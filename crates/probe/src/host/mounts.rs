//! What is mounted, and how full it is, asked so that a dead server cannot stop the probe.
//!
//! Local file systems are asked at once. Those on a network or in another program may never
//! answer: each is asked in a thread of its own, all together are given
//! [`SLOW_MOUNTS_WAIT`](crate::limits::SLOW_MOUNTS_WAIT), and while one has not answered it is not
//! asked again. So a dead server holds one thread, not one for each collection.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use crate::limits::{MAX_SLOW_MOUNTS, SLOW_MOUNTS_WAIT};

/// One line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) device: String,
    pub(super) fs_type: String,
    pub(super) point: String,
    pub(super) major: String,
    pub(super) minor: String,
    pub(super) is_read_only: bool,
}

impl Mount {
    /// Reads one line; none if it is not as the kernel writes it.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(2);
        let (major, minor) = fields.next()?.split_once(':')?;
        let point = unescape(fields.nth(1)?);
        let options = fields.next()?;
        // Optional fields end with a lone dash.
        let mut fields = fields.skip_while(|field| *field != "-").skip(1);
        let fs_type = fields.next()?.to_owned();
        let device = unescape(fields.next()?);
        let super_options = fields.next().unwrap_or_default();
        let is_ro = |options: &str| options.split(',').any(|option| option == "ro");
        Some(Self {
            device,
            fs_type,
            point,
            major: major.to_owned(),
            minor: minor.to_owned(),
            is_read_only: is_ro(options) || is_ro(super_options),
        })
    }

    /// Whether it may take for ever to answer.
    pub(super) fn may_hang(&self) -> bool {
        const NETWORK: [&str; 16] = [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "ncpfs",
            "afs",
            "ceph",
            "glusterfs",
            "lustre",
            "beegfs",
            "gpfs",
            "9p",
            "coda",
            "ocfs2",
            "gfs2",
        ];
        self.fs_type.starts_with("fuse") || NETWORK.contains(&self.fs_type.as_str())
    }
}

/// The kernel writes white space and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if first == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fill {
    pub(super) size_bytes: f64,
    pub(super) free_bytes: f64,
    pub(super) available_bytes: f64,
    pub(super) files: f64,
    pub(super) files_free: f64,
}

/// What a file system said, or why it did not, in a few words.
pub(super) type Answer = Result<Fill, String>;

/// Asks a file system that is here.
pub(super) fn ask(point: &Path) -> Answer {
    let stat = rustix::fs::statvfs(point).map_err(|error| error.to_string())?;
    let block_bytes = stat.f_frsize as f64;
    Ok(Fill {
        size_bytes: stat.f_blocks as f64 * block_bytes,
        free_bytes: stat.f_bfree as f64 * block_bytes,
        available_bytes: stat.f_bavail as f64 * block_bytes,
        files: stat.f_files as f64,
        files_free: stat.f_ffree as f64,
    })
}

/// An answer, with the round in which it was asked for.
struct Reply {
    round: u64,
    point: PathBuf,
    answer: Answer,
}

/// File systems that may never answer.
pub(super) struct SlowMounts {
    asker: fn(&Path) -> Answer,
    sender: Sender<Reply>,
    receiver: Receiver<Reply>,
    /// Those asked that have not answered.
    waiting: HashSet<PathBuf>,
    round: u64,
}

impl SlowMounts {
    pub(super) fn new() -> Self {
        Self::asked_by(ask)
    }

    fn asked_by(asker: fn(&Path) -> Answer) -> Self {
        let (sender, receiver) = channel();
        Self { asker, sender, receiver, waiting: HashSet::new(), round: 0 }
    }

    /// Asks all, waits a little, and returns what answered.
    pub(super) fn ask(&mut self, points: &[PathBuf]) -> HashMap<PathBuf, Answer> {
        self.round += 1;
        // What a mount says long after it was asked is not of now, but it may be asked again.
        while let Ok(late) = self.receiver.try_recv() {
            self.waiting.remove(&late.point);
        }
        let mut open = points.iter().filter(|point| self.begin(point)).count();
        let until = Instant::now() + SLOW_MOUNTS_WAIT;
        let mut answers = HashMap::new();
        while open > 0 {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(reply) = self.receiver.recv_timeout(left) else { break };
            self.waiting.remove(&reply.point);
            if reply.round == self.round {
                open -= 1;
                answers.insert(reply.point, reply.answer);
            }
        }
        answers
    }

    /// Asks one in a thread, unless it is still being asked; whether it is asked now.
    fn begin(&mut self, point: &Path) -> bool {
        if self.waiting.contains(point) || self.waiting.len() >= MAX_SLOW_MOUNTS {
            return false;
        }
        let (asker, sender) = (self.asker, self.sender.clone());
        let (round, asked) = (self.round, point.to_owned());
        let run = move || {
            let answer = asker(&asked);
            // Nobody listens if the probe is gone.
            let _ = sender.send(Reply { round, point: asked, answer });
        };
        let thread = std::thread::Builder::new().name("probe-statfs".into()).spawn(run);
        thread.is_ok() && self.waiting.insert(point.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_and_spaces_is_read() {
        let line = "36 35 98:0 /mnt1 /mnt/my\\040disk ro,noatime master:1 shared:2 - ext3 \
            /dev/root rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.point, "/mnt/my disk");
        assert_eq!((mount.device.as_str(), mount.fs_type.as_str()), ("/dev/root", "ext3"));
        assert_eq!((mount.major.as_str(), mount.minor.as_str()), ("98", "0"));
        assert!(mount.is_read_only && !mount.may_hang());
        assert_eq!(Mount::parse("36 35 98:0 /"), None);
        assert_eq!(Mount::parse(""), None);
    }

    #[test]
    fn a_mount_that_does_not_answer_is_asked_once_and_others_go_on() {
        fn asker(point: &Path) -> Answer {
            if point.ends_with("dead") {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            }
            Err("refused".to_owned())
        }
        let mut mounts = SlowMounts::asked_by(asker);
        let points = [PathBuf::from("/dead"), PathBuf::from("/alive")];
        for _ in 0..3 {
            let begin = Instant::now();
            let answers = mounts.ask(&points);
            assert_eq!(answers.len(), 1, "only the living answers");
            assert_eq!(answers[Path::new("/alive")], Err("refused".to_owned()));
            assert!(begin.elapsed() < SLOW_MOUNTS_WAIT * 10);
        }
        assert_eq!(mounts.waiting.len(), 1, "one thread waits, not three");
    }
}
