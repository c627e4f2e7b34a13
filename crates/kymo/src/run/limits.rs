//! Bounds of `kymo run`, each with its reason.

use std::time::Duration;

use kymo_session::limits::QUEUE_BYTES;

/// How often node and process tree are looked at, unless told otherwise: as sessions do.
pub(super) const POLL_EVERY: Duration = Duration::from_secs(5);
/// The first look at the tree. Each pause is twice the one before until it is that of the flag, so
/// that a command of a second has a handful of looks too.
pub(super) const FIRST_POLL: Duration = Duration::from_millis(50);
/// A look waits for so many times the processor time that the last one took: 0.5 % of a core.
pub(super) const POLL_COST_FACTOR: u32 = 200;

/// How long the last look may take: it is some milliseconds unless a driver hangs.
pub(super) const LAST_LOOK_TIMEOUT: Duration = Duration::from_secs(1);

/// How long what is still connected may go on sending after the command has ended.
pub(super) const STRAGGLERS: Duration = Duration::from_secs(1);
/// How long the end waits for a server and a disk after that: whoever started the command waits for
/// it. What takes longer than usual before goes off it ([`KEEP_TIMEOUT`], [`LAST_LOOK_TIMEOUT`]).
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(3);
const _: () = assert!(
    KEEP_TIMEOUT.as_millis() + LAST_LOOK_TIMEOUT.as_millis() < END_TIMEOUT.as_millis(),
    "some time is left for the session"
);
/// How long one request of the command's is tried to be sent on, while others wait behind it.
pub(super) const FORWARD_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests of one signal that wait to be sent on; more are left out and counted.
pub(super) const FORWARD_QUEUE: usize = 1024;
/// And their bytes: what a busy program sends while a server is started anew.
pub(super) const FORWARD_BYTES: usize = 32 << 20;
/// Bytes that are given to the session before its file is waited for, so that a slow disk fills the
/// bounded queue of the receiver and not the session's.
pub(super) const KEEP_BYTES: usize = 16 << 20;
/// The same once the command has ended, when nobody can be asked to try again: what fits into the
/// session's queue, with room for its last words and for lines of output.
pub(super) const LAST_KEEP_BYTES: usize = QUEUE_BYTES - (16 << 20);
/// How long the file is waited for at once, as the end may come meanwhile. Each time is a sync more.
pub(super) const KEEP_STEP: Duration = Duration::from_millis(500);
/// How long what was taken in may wait for the file at the end; what has to wait longer is left out
/// and counted.
pub(super) const KEEP_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of a line of output that are kept: the rest of it is left out, and it says so.
pub(super) const MAX_LINE_BYTES: usize = 16 << 10;
/// Lines of one stream that are kept in a second. More is not read by anybody, and a program that
/// prints without end must not fill the disk twice.
pub(super) const LINES_PER_SEC: u32 = 5_000;

/// Bytes of one argument that the span keeps.
pub(super) const MAX_ARGUMENT_BYTES: usize = 1024;
/// Arguments that the span keeps.
pub(super) const MAX_ARGUMENTS: usize = 128;
