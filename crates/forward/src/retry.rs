//! Again and again, until the time is over.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use crate::ForwardError;
use crate::answer::{Answer, Partial};
use crate::client::Client;
use crate::limits::{FIRST_PAUSE, LONGEST_PAUSE};

/// Sends a request until it is taken, refused, or `deadline` is there. It is tried once in any case.
/// What is given back is what the server said of records that it took the request without.
pub async fn until(
    client: &Client,
    request: &[u8],
    deadline: Instant,
) -> Result<Option<Partial>, ForwardError> {
    let mut pause = FIRST_PAUSE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(FIRST_PAUSE);
        let (why, asked) = match client.send(request, left).await {
            Answer::Accepted(partial) => return Ok(partial),
            Answer::Refused(why) => return Err(ForwardError::Refused { to: client.name(), why }),
            Answer::Later(why, asked) => (why, asked),
        };
        let wait = asked.unwrap_or(pause).max(jittered(pause));
        if wait >= deadline.saturating_duration_since(Instant::now()) {
            return Err(ForwardError::Unreached { to: client.name(), why });
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Half to all of a pause, so that those who were refused together do not come back at once.
pub(crate) fn jittered(pause: Duration) -> Duration {
    // The keys of a hash map are the random numbers that the standard library has.
    let random = RandomState::new().hash_one(0u8);
    pause / 2 + pause.mul_f64((random % 256) as f64 / 512.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_never_longer_than_asked_and_never_less_than_half() {
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            let pause = jittered(second);
            assert!(pause >= second / 2 && pause <= second, "{pause:?}");
        }
    }
}
