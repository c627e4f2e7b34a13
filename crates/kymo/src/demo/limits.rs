//! Every bound of a demo, with its reason.

use std::time::Duration;

/// How long a request is tried: a server that starts again is back by then, and somebody who has
/// not started one is told so soon.
pub(super) const SEND_WITHIN: Duration = Duration::from_secs(8);

/// How often is told what has happened, as programs do.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// The longest history: some minutes of sending, and some hundred megabytes.
pub(super) const MAX_HISTORY: Duration = Duration::from_secs(7 * 86_400);
