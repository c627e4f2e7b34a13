//! What is kept in memory for a while goes by itself, also where nobody asks any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Lets what is kept drop what is too old, after a while. What waits until then holds nothing.
pub(crate) fn later<T: Send + 'static>(
    kept: &Arc<Mutex<T>>,
    after: Duration,
    drop_old: impl FnOnce(&mut T) + Send + 'static,
) {
    let kept = Arc::downgrade(kept);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        if let Some(kept) = kept.upgrade() {
            // What is kept is whole at any time.
            drop_old(&mut kept.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_keeps_any_more_is_left_alone() {
        let kept = Arc::new(Mutex::new(vec![1]));
        let seen = Arc::downgrade(&kept);
        later(&kept, Duration::from_millis(1), Vec::clear);
        drop(kept);
        assert!(seen.upgrade().is_none(), "what waits holds nothing");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
