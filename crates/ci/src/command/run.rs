//! The process.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::copying::Copying;
use super::signals::{self, Signals, Taken};
use crate::limits::RESIDENT_MARGIN_BYTES;
use crate::model::Nanos;
use crate::times;

/// The status of a command that could not be started, as shells have it.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Where output goes beside where it always goes.
#[derive(Debug)]
pub enum Output<'a> {
    /// Nowhere: the command has our own output, terminal and all.
    Only,
    /// Also into a file.
    Tee(&'a Path),
    /// Also to somebody who listens. Where nobody reads it any more, the command learns of it as
    /// it would without us.
    Heard(Arc<dyn Listen>),
}

/// One of the two outputs of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// What it has to say.
    Stdout,
    /// What it says besides.
    Stderr,
}

/// Who hears what a command writes.
pub trait Listen: std::fmt::Debug + Send + Sync {
    /// A piece of output, after it was passed on. The two streams are heard by threads of their own,
    /// and what takes long here holds the command up.
    fn heard(&self, stream: Stream, piece: &[u8]);
}

/// A file that keeps both outputs.
#[derive(Debug)]
struct Kept(Mutex<File>);

impl Listen for Kept {
    fn heard(&self, _stream: Stream, piece: &[u8]) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(piece);
    }
}

/// What a command used, with all that it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Time in programs.
    pub user_seconds: f64,
    /// Time in the system.
    pub system_seconds: f64,
    /// The most memory that one of its processes had; none if that was no more than ours, which the
    /// kernel counts for it.
    pub max_resident_bytes: Option<u64>,
    /// Pages that had to be read from disk.
    pub major_faults: u64,
    /// Times it waited.
    pub voluntary_switches: u64,
    /// Times others took its place.
    pub involuntary_switches: u64,
    /// Blocks of 512 bytes read from disk.
    pub blocks_read: u64,
    /// Blocks of 512 bytes written to disk.
    pub blocks_written: u64,
}

/// How a command went.
#[derive(Debug)]
pub struct Outcome {
    /// When it began.
    pub start_nanos: Nanos,
    /// When it ended.
    pub end_nanos: Nanos,
    /// What our own status must be.
    pub code: u8,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub not_started: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// Its number.
    pub process: Option<u32>,
    /// What was odd.
    pub warning: Option<String>,
}

/// Runs a command to its end.
#[must_use]
pub fn run(command: &mut Command, output: &Output<'_>) -> Outcome {
    run_watched(command, output, |_| ())
}

/// Runs a command to its end; `started` is told its number while it runs.
#[must_use]
pub fn run_watched(
    command: &mut Command,
    output: &Output<'_>,
    started: impl FnOnce(u32),
) -> Outcome {
    let start_nanos = times::now();
    let began = Instant::now();
    let before = Usage::of_children();
    let (listener, warning): (Option<Arc<dyn Listen>>, _) = match output {
        Output::Only => (None, None),
        Output::Heard(listener) => (Some(listener.clone()), None),
        Output::Tee(path) => match open(path) {
            Ok(file) => (Some(Arc::new(Kept(Mutex::new(file)))), None),
            // The command runs all the same.
            Err(error) => (None, Some(format!("cannot write {}: {error}", path.display()))),
        },
    };
    if listener.is_some() {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let mut outcome = Outcome {
        start_nanos,
        end_nanos: start_nanos,
        code: 0,
        signal: None,
        not_started: None,
        usage: Usage::default(),
        process: None,
        warning,
    };
    // Signals that come before the process is there would be ours alone.
    let signals = signals::take();
    if let Err(error) = &signals {
        let why = format!("signals are not passed on to the command: {error}");
        outcome.warning.get_or_insert(why);
    }
    let mut own_bytes = None;
    match command.spawn() {
        Ok(mut child) => {
            outcome.process = Some(child.id());
            own_bytes = own_peak_bytes();
            started(child.id());
            // A file wants all of it, whoever reads the rest.
            let is_all_wanted = matches!(output, Output::Tee(_));
            match wait(&mut child, listener, is_all_wanted, signals.ok()) {
                Ok(status) => {
                    outcome.signal = status.signal();
                    outcome.code = code(status);
                }
                Err(error) => {
                    outcome.code = 1;
                    outcome.warning = Some(format!("cannot wait for the command: {error}"));
                }
            }
        }
        Err(error) => {
            drop(signals);
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            outcome.code = if is_missing { NOT_FOUND } else { NOT_EXECUTABLE };
            let program = command.get_program().to_string_lossy().into_owned();
            outcome.not_started = Some(format!("cannot run {program}: {error}"));
        }
    }
    let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    outcome.end_nanos = start_nanos.saturating_add(elapsed);
    outcome.usage = Usage::of_children().since(&before);
    outcome.usage.max_resident_bytes = above(outcome.usage.max_resident_bytes, own_bytes);
    outcome
}

fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    u8::try_from(status.code().or(signal).unwrap_or(1)).unwrap_or(1)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    File::create(path)
}

/// Passes signals and output on until the process has ended.
fn wait(
    child: &mut Child,
    listener: Option<Arc<dyn Listen>>,
    is_all_wanted: bool,
    signals: Option<(Signals, Taken)>,
) -> io::Result<ExitStatus> {
    let process = Pid::from_child(child);
    let has_ended = Arc::new(AtomicBool::new(false));
    let (signals, taken) = signals.unzip();
    let forwarding = signals.map(|mut signals| {
        let (handle, has_ended) = (signals.handle(), has_ended.clone());
        let thread = thread::spawn(move || {
            for origin in signals.forever() {
                // Its number may belong to another process by then.
                if has_ended.load(Ordering::SeqCst) {
                    break;
                }
                if signals::is_told_by_terminal(&origin) {
                    continue;
                }
                if let Some(signal) = Signal::from_named_raw(origin.signal) {
                    let _ = kill_process(process, signal);
                }
            }
        });
        (handle, thread)
    });
    let copying = listener.map(|listener| Copying::start(child, &listener, is_all_wanted));
    let status = child.wait();
    has_ended.store(true, Ordering::SeqCst);
    drop(taken);
    if let Some(copying) = copying {
        copying.finish();
    }
    if let Some((handle, thread)) = forwarding {
        handle.close();
        let _ = thread.join();
    }
    status
}

impl Usage {
    /// What all children of this process have used so far that it waited for.
    #[must_use]
    pub fn of_children() -> Self {
        let Some(usage) = children() else { return Self::default() };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            user_seconds: seconds(usage.ru_utime),
            system_seconds: seconds(usage.ru_stime),
            // Linux counts this one in KiB.
            max_resident_bytes: Some(count(usage.ru_maxrss) * 1024),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            blocks_read: count(usage.ru_inblock),
            blocks_written: count(usage.ru_oublock),
        }
    }

    /// What was used since; the most memory is the most at any time.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let seconds = |now: f64, before: f64| (now - before).max(0.0);
        Self {
            user_seconds: seconds(self.user_seconds, before.user_seconds),
            system_seconds: seconds(self.system_seconds, before.system_seconds),
            max_resident_bytes: self.max_resident_bytes,
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            blocks_read: self.blocks_read.saturating_sub(before.blocks_read),
            blocks_written: self.blocks_written.saturating_sub(before.blocks_written),
        }
    }
}

/// The most memory that this process had.
fn own_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A command's most memory, if it is its own: a process has the memory of the one that started it
/// until its program is there, and that counts.
fn above(bytes: Option<u64>, own_bytes: Option<u64>) -> Option<u64> {
    let least = own_bytes.map_or(0, |own| own.saturating_add(RESIDENT_MARGIN_BYTES));
    bytes.filter(|bytes| *bytes > least)
}

/// The system's word on it.
#[allow(unsafe_code, reason = "no crate that is here anyway has a safe call for it")]
fn children() -> Option<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call writes the whole structure that it is given if it returns 0, and reads
    // nothing of it.
    unsafe {
        let done = libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        (done == 0).then(|| usage.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shell(script: &str, output: &Output<'_>) -> Outcome {
        run(Command::new("sh").args(["-c", script]), output)
    }

    #[test]
    fn the_status_of_a_command_is_kept() {
        assert_eq!(shell("exit 0", &Output::Only).code, 0);
        assert_eq!(shell("exit 37", &Output::Only).code, 37);
        let killed = shell("kill -9 $$", &Output::Only);
        assert_eq!((killed.code, killed.signal), (137, Some(9)));
        let missing = run(&mut Command::new("/nowhere/at/all"), &Output::Only);
        assert_eq!(missing.code, 127);
        assert!(missing.not_started.unwrap().contains("cannot run /nowhere/at/all"));
        assert_eq!(run(&mut Command::new("/etc/hostname"), &Output::Only).code, 126);
    }

    #[test]
    fn both_outputs_are_in_the_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/out.txt");
        let outcome = shell("echo one; echo two >&2; exit 3", &Output::Tee(&path));
        assert_eq!(outcome.code, 3);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn who_listens_hears_each_stream_while_the_command_runs() {
        #[derive(Debug, Default)]
        struct Ears(Mutex<Vec<(Stream, Vec<u8>)>>);
        impl Listen for Ears {
            fn heard(&self, stream: Stream, piece: &[u8]) {
                self.0.lock().unwrap().push((stream, piece.to_vec()));
            }
        }
        let ears = Arc::new(Ears::default());
        let mut told = None;
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let outcome = run_watched(&mut command, &Output::Heard(ears.clone()), |pid| {
            told = Some(pid);
        });
        assert_eq!((outcome.code, outcome.process), (3, told));
        let mut heard = ears.0.lock().unwrap().clone();
        heard.sort_by_key(|(stream, _)| *stream == Stream::Stderr);
        let expected = [(Stream::Stdout, b"one\n".to_vec()), (Stream::Stderr, b"two\n".to_vec())];
        assert_eq!(heard, expected);
    }

    #[test]
    fn what_is_left_in_the_background_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let script = "sleep 60 & echo started";
        let outcome = shell(script, &Output::Tee(&place.path().join("out.txt")));
        assert_eq!(outcome.code, 0);
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(std::fs::read_to_string(place.path().join("out.txt")).unwrap(), "started\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_stops_nothing() {
        let outcome = shell("exit 5", &Output::Tee(Path::new("/proc/no/such/file")));
        assert_eq!(outcome.code, 5);
        assert!(outcome.warning.unwrap().contains("cannot write /proc/no/such/file"));
    }

    #[test]
    fn what_a_command_used_is_known() {
        let outcome = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", &Output::Only);
        assert!(outcome.usage.user_seconds > 0.0, "{outcome:?}");
        assert!(outcome.end_nanos > outcome.start_nanos);
    }

    #[test]
    fn the_most_memory_of_a_command_is_not_ours() {
        let script = "x=$(head -c 100000000 /dev/zero | tr '\\0' x)";
        let large = shell(script, &Output::Only).usage.max_resident_bytes;
        assert!(large.is_some_and(|bytes| bytes > 90_000_000), "{large:?}");
        let own = own_peak_bytes();
        assert!(own.is_some_and(|bytes| bytes > 100_000), "{own:?}");
        assert_eq!(above(own, own), None);
        assert_eq!(above(Some(50 << 20), Some(20 << 20)), Some(50 << 20));
        assert_eq!(above(Some(50 << 20), None), Some(50 << 20));
    }
}
