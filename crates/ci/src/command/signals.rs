//! Signals: the command's while it runs, and ours again once it has ended.
//!
//! A signal that is ignored when we start (`nohup`, jobs in the background) stays ignored, for the
//! command too. After the command has ended, what is left to do must not be more than somebody wants
//! to wait for: signals then end this process as they always do.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::limits::SIGNAL_GRACE;

/// Signals as they come, each with who sent it.
pub(super) type Signals = SignalsInfo<WithOrigin>;

/// Those that are passed on.
const PASSED_ON: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// Commands that run, or ended a moment ago.
static RUNNING: Mutex<usize> = Mutex::new(0);
/// Whether signals do what they do by themselves, once they have been taken.
static IS_USUAL: AtomicBool = AtomicBool::new(false);
/// When they were taken first.
static FIRST_TAKEN: Once = Once::new();

/// Whether this process ignores a signal.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    is_in_mask(ignored(), signal)
}

/// Signals that this process ignores.
fn ignored() -> u64 {
    mask_in(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

fn mask_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in_mask(mask: u64, signal: i32) -> bool {
    // The first signal is the lowest bit.
    let place = u32::try_from(i64::from(signal) - 1).unwrap_or(u32::MAX);
    mask.checked_shr(place).is_some_and(|mask| mask & 1 == 1)
}

/// Whether the command has had a signal already, from where we had it: twice may mean something
/// else. A terminal tells all programs in front of it; that its line is gone, only the first program
/// of the session.
pub(super) fn is_told_by_terminal(origin: &Origin) -> bool {
    let leads_session = || rustix::process::getsid(None) == Ok(rustix::process::getpid());
    is_told(origin.signal, origin.cause, leads_session)
}

fn is_told(signal: i32, cause: Cause, leads_session: impl Fn() -> bool) -> bool {
    match (cause, signal) {
        (Cause::Kernel, SIGINT | SIGQUIT) => true,
        (Cause::Kernel, SIGHUP) => !leads_session(),
        _ => false,
    }
}

/// Signals are the command's from now on, until the second of the two is dropped. If they cannot be
/// taken, they do what they always do.
pub(super) fn take() -> io::Result<(Signals, Taken)> {
    let ignored = ignored();
    let heeded: Vec<i32> =
        PASSED_ON.into_iter().filter(|signal| !is_in_mask(ignored, *signal)).collect();
    let signals = Signals::new(&heeded)?;
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    IS_USUAL.store(false, Ordering::SeqCst);
    FIRST_TAKEN.call_once(|| {
        for signal in heeded {
            // Without it, a signal that nobody passes on any more does nothing.
            let _ = flag::register_conditional_default(signal, &IS_USUAL);
        }
    });
    Ok((signals, Taken(())))
}

/// Signals are a command's while this lives.
#[derive(Debug)]
pub(super) struct Taken(());

impl Drop for Taken {
    /// The command has ended. What is sent to it and to us, one after the other, may reach us only
    /// now: for a moment, signals do nothing.
    fn drop(&mut self) {
        let ours = || {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            *running = running.saturating_sub(1);
            IS_USUAL.store(*running == 0, Ordering::SeqCst);
        };
        let later = move || {
            thread::sleep(SIGNAL_GRACE);
            ours();
        };
        if thread::Builder::new().name("kymo-signals".to_owned()).spawn(later).is_err() {
            ours();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use signal_hook::low_level::siginfo::Sent;

    use super::*;

    #[test]
    fn what_the_terminal_told_the_command_is_not_told_twice() {
        let (first, other) = (|| true, || false);
        let by_hand = Cause::Sent(Sent::User);
        for signal in [SIGINT, SIGQUIT, SIGHUP] {
            assert!(is_told(signal, Cause::Kernel, other), "{signal}");
            assert!(!is_told(signal, by_hand, other), "{signal}");
        }
        assert!(is_told(SIGINT, Cause::Kernel, first));
        assert!(!is_told(SIGHUP, Cause::Kernel, first));
        assert!(!is_told(SIGTERM, Cause::Kernel, other));
    }

    #[test]
    fn a_signal_is_ignored_if_its_bit_says_so() {
        let status = "Name:\tsh\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000001\n";
        assert!(is_in_mask(mask_in(status), SIGHUP));
        assert!(!is_in_mask(mask_in(status), SIGINT));
        assert!(is_in_mask(mask_in("SigIgn:\t0000000000004002\n"), SIGTERM));
        for odd in ["", "SigIgn:\tnonsense\n"] {
            assert_eq!(mask_in(odd), 0);
        }
        for odd in [0, -1, 65, i32::MIN] {
            assert!(!is_in_mask(u64::MAX, odd));
        }
    }

    /// In a process of its own, as it has no file left to open and is then ended.
    #[test]
    fn signals_that_cannot_be_taken_do_what_they_always_do() {
        const INSIDE: &str = "KYMO_TEST_SIGNALS_NOT_TAKEN";
        if std::env::var_os(INSIDE).is_some() {
            let mut files = Vec::new();
            while let Ok(file) = File::open("/dev/null") {
                files.push(file);
            }
            assert!(take().is_err());
            let _ = signal_hook::low_level::raise(SIGTERM);
            return;
        }
        let name = thread::current().name().unwrap().to_owned();
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"]);
        command.arg(std::env::current_exe().unwrap()).args(["--exact", &name]);
        let ended = command.env(INSIDE, "1").stdout(Stdio::null()).status().unwrap();
        assert_eq!(ended.signal(), Some(SIGTERM), "{ended}");
    }
}
