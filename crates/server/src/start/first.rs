//! Whether anything was ever received: until then, the page tells how to send.
//!
//! The store alone does not tell. Metrics that the server gathers of its machine and of itself are in
//! it from the first second, beside what was scraped or pushed. So it is noted once, as a setting of
//! the whole server, and looked up when the server starts again.

use std::sync::Arc;

use bytes::Bytes;
use kymo_engine::Engine;
use kymo_store::settings::{SERVER, Setting};

use crate::durable;
use crate::telemetry::Telemetry;

/// Whether it was noted.
pub(crate) async fn was_noted(engine: &Engine) -> bool {
    match durable::get(engine, Setting::Received).await {
        Ok((_, noted)) => noted.is_some(),
        Err(error) => {
            // The next record tells it anew.
            tracing::warn!(%error, "whether anything was received before is not known");
            false
        }
    }
}

/// Waits for the first record, and notes it.
pub(crate) async fn note(engine: Engine, telemetry: Arc<Telemetry>) {
    telemetry.totals().first().await;
    let noted = Bytes::from_static(b"{}");
    // A conflict is another node that has noted it, which is as good.
    if let Err(error) = engine.set(SERVER, Setting::Received, 0, Some(noted)).await {
        tracing::warn!(%error, "that something was received is not noted, and may be forgotten");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::tests::shared;
    use crate::telemetry::{Protocol, Receipt};
    use kymo_admit::{Admitted, Compression, Signal};

    fn received(telemetry: &Telemetry, protocol: Protocol) {
        let (tenant, signal) = ("default".to_owned(), Signal::Metrics);
        let receipt = Receipt { tenant, signal, protocol, received_bytes: 1 };
        let admitted = Admitted {
            remote_write: None,
            compression: Compression::None,
            body: Bytes::new(),
            items: 1,
            refused: Vec::new(),
            changed: Vec::new(),
            dropped: Vec::new(),
            deduplicated: 0,
            log_keys: Vec::new(),
            decompressed_bytes: 0,
        };
        telemetry.received(&receipt, &admitted, false);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_targets_told_is_noted_and_what_the_server_tells_of_itself_is_not() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let telemetry = shared.telemetry.clone();
        let noting = tokio::spawn(note(shared.engine.clone(), telemetry.clone()));
        received(&telemetry, Protocol::Own);
        assert!(!telemetry.totals().read().any());
        assert!(!was_noted(&shared.engine).await);
        received(&telemetry, Protocol::Scraped);
        assert!(telemetry.totals().read().any());
        noting.await.unwrap();
        assert!(was_noted(&shared.engine).await);
    }
}
