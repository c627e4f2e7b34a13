//! The time, read once for each request: the clock that only goes on, for what is remembered here,
//! and the clock on the wall, for what others have dated.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// On the clock that only goes on.
    pub(crate) instant: Instant,
    /// Seconds since 1970, on the clock on the wall.
    pub(crate) unix_secs: u64,
}

impl Moment {
    /// Now. A clock before 1970 counts as 1970: nothing is expired then, and no token of an
    /// identity provider is valid yet.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), unix_secs: since.as_secs() }
    }

    /// Some seconds later.
    #[cfg(test)]
    pub(crate) fn plus_secs(self, secs: u64) -> Self {
        Self {
            instant: self.instant + std::time::Duration::from_secs(secs),
            unix_secs: self.unix_secs + secs,
        }
    }
}
