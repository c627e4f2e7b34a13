//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Time for reaching a server.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a first failure; it doubles with each.
pub const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// What is read of an answer.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Characters of an answer that are quoted: enough for a sentence, not for a page.
pub const MAX_QUOTED_CHARS: usize = 500;
/// Characters of an error of the network that are quoted.
pub const MAX_CAUSE_CHARS: usize = 300;
