//! Every bound of this crate but those of the stash, with its reason.

use std::time::Duration;

/// Bytes of a file of jobs: many times what the largest run has.
pub const MAX_INPUT_BYTES: u64 = 256 << 20;
/// Jobs of a run: GitHub allows 256 from a matrix, and some workflows have several of those.
pub const MAX_JOBS: usize = 50_000;
/// Steps of a job: GitHub allows 1,000.
pub const MAX_STEPS: usize = 5_000;
/// How deep documents may be nested; payloads of webhooks reach six.
pub const MAX_DEPTH: usize = 100;

/// Warnings of one call: more are not read by anybody.
pub const MAX_WARNINGS: usize = 200;

/// A request that has this size is sent. gRPC servers take 4 MiB unless told otherwise.
pub const REQUEST_BYTES: usize = 3 << 20;
/// Time for sending all that a command has to send, unless told otherwise: a job must not wait long
/// for its telemetry.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of all requests that wait in a spool. The oldest go first.
pub const MAX_SPOOL_BYTES: u64 = 256 << 20;
/// After this time a file that another process took to send it is taken over: that process is gone.
pub const SPOOL_CLAIM_AGE: Duration = Duration::from_secs(600);

/// Characters of a command line that a span keeps.
pub const MAX_COMMAND_CHARS: usize = 4_096;
/// Silence that ends the output of a command that has ended itself, if something that it left
/// running in the background holds it open.
pub const OUTPUT_GRACE: Duration = Duration::from_millis(500);
/// All the time that is waited for what such a program writes now and then.
pub const OUTPUT_PAUSES: Duration = Duration::from_secs(2);
/// Bytes of one stream that are passed on after a command has ended: as many as a pipe holds, which
/// it may have filled before. What comes then was written by others.
pub const OUTPUT_REST_BYTES: usize = 1 << 20;
/// After the end of a command, signals to all processes of a job may still be on their way to us for
/// this time; later ones are meant for us.
pub const SIGNAL_GRACE: Duration = Duration::from_millis(500);
/// By so much the kernel's counts of one process' memory may differ: it adds them up now and then.
pub const RESIDENT_MARGIN_BYTES: u64 = 1 << 20;

/// Attributes of a span in RAPIDS' summary: its SDK keeps the last so many.
pub const RAPIDS_MAX_ATTRIBUTES: usize = 128;
