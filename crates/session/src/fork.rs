//! Children of a fork.
//!
//! A fork copies a session but not its threads, and possibly a lock that a thread held. So a session
//! remembers in which generation of processes it was started, and does nothing in a later one.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

/// In which generation this process is. The first call begins to watch for forks.
pub(crate) fn generation() -> u32 {
    WATCH.call_once(watch);
    GENERATION.load(Ordering::Relaxed)
}

/// Says that this process is the child of a fork: sessions that were started before are inert from
/// now on. Forks through the C library are noticed without; a call too many does no harm to those
/// that are started later.
pub fn forked_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

#[allow(unsafe_code, reason = "no crate that is here anyway has a safe call for it")]
fn watch() {
    extern "C" fn in_child() {
        forked_in_child();
    }
    // SAFETY: the handler adds to an atomic and does nothing else, which is allowed in the child of
    // a fork; it is a function of the program and lives as long as it does.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    }
}
