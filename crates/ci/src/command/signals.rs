//! Signals: the command's while it runs, and ours again once it has ended.
//!
//! A signal that is ignored when we start (`nohup`, jobs in the background) stays ignored, for the
//! command too. After the command has ended, what is left to do must not be more than somebody wants
//! to wait for: signals then end this process as they always do.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
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
/// Whether signals do what they do by themselves.
static IS_USUAL: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let is_usual = Arc::new(AtomicBool::new(false));
    for signal in heeded() {
        // Without it, a signal that nobody passes on any more does nothing.
        let _ = flag::register_conditional_default(signal, is_usual.clone());
    }
    is_usual
});

/// Whether this process ignores a signal.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_in_mask(&status, signal)
}

fn is_in_mask(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // The first signal is the lowest bit.
    let place = u32::try_from(i64::from(signal) - 1).unwrap_or(u32::MAX);
    mask.checked_shr(place).is_some_and(|mask| mask & 1 == 1)
}

fn heeded() -> impl Iterator<Item = i32> {
    PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal))
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

/// Signals are the command's from now on, until [`give_back`].
pub(super) fn take() -> io::Result<Signals> {
    let signals = Signals::new(heeded().collect::<Vec<_>>());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    IS_USUAL.store(false, Ordering::SeqCst);
    signals
}

/// The command has ended. What is sent to it and to us, one after the other, may reach us only now:
/// for a moment, signals do nothing.
pub(super) fn give_back() {
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

#[cfg(test)]
mod tests {
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
        assert!(is_in_mask(status, SIGHUP));
        assert!(!is_in_mask(status, SIGINT));
        assert!(is_in_mask("SigIgn:\t0000000000004002\n", SIGTERM));
        for odd in ["", "SigIgn:\tnonsense\n"] {
            assert!(!is_in_mask(odd, SIGHUP));
        }
        for odd in [0, -1, 65, i32::MIN] {
            assert!(!is_in_mask("SigIgn:\tffffffffffffffff\n", odd));
        }
    }
}
