//! Again and again, until the time is over.

use std::time::{Duration, Instant};

use super::SendError;
use super::client::{Answer, Client};
use crate::limits::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::warnings::Warnings;

/// Sends a request until it is taken, refused, or `deadline` is there. It is tried once in any case.
pub(super) async fn until(
    client: &Client,
    request: &[u8],
    deadline: Instant,
    warnings: &mut Warnings,
) -> Result<(), SendError> {
    let mut pause = FIRST_PAUSE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(FIRST_PAUSE);
        let (why, asked) = match client.send(request, left).await {
            Answer::Accepted(words) => {
                if let Some(words) = words {
                    warnings.add(format!("{}: {words}", client.name()));
                }
                return Ok(());
            }
            Answer::Refused(why) => return Err(SendError::Refused { to: client.name(), why }),
            Answer::Later(why, asked) => (why, asked),
        };
        let wait = asked.unwrap_or(pause).max(jittered(pause));
        if wait >= deadline.saturating_duration_since(Instant::now()) {
            return Err(SendError::Unreached { to: client.name(), why });
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Half to all of a pause, so that the jobs of a run do not all come back at once.
fn jittered(pause: Duration) -> Duration {
    let id = crate::ids::SpanId::random();
    pause / 2 + pause.mul_f64(f64::from(id.0[0]) / 512.0)
}
