//! One batch to where it goes, and what became of it.
//!
//! An exporter may be used on any thread and inside or outside of any runtime: connections live on
//! the thread of [`super::runtime`]. One call takes no longer than
//! [`OtlpSettings::timeout`](kymo_forward::OtlpSettings::timeout); nothing is tried again here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use kymo_forward::{Answer, Client, signals};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::items::Items;
use super::lane::Export;
use super::runtime;
use super::settings::Destination;
use crate::error::ServiceError;

/// Sends the items of a signal.
pub(super) struct Exporter<I> {
    items: I,
    /// The server; without one, stdout.
    link: Option<Link>,
}

impl<I: Items> Exporter<I> {
    /// An exporter; none for what goes nowhere.
    ///
    /// # Errors
    /// An endpoint or certificate that cannot be used. That nobody answers is no error here.
    pub(super) fn new(destination: &Destination, items: I) -> Result<Option<Self>, ServiceError> {
        let link = match destination {
            Destination::Nowhere => return Ok(None),
            Destination::Console => None,
            Destination::Otlp(settings) => {
                let failed = |why: String| ServiceError::Exporter {
                    signal: signals::items(I::SIGNAL),
                    endpoint: settings.shown_endpoint(),
                    why,
                };
                let client =
                    Client::new(settings, I::SIGNAL).map_err(|error| failed(error.to_string()))?;
                let (client, runtime) = (Arc::new(client), runtime::handle()?);
                Some(Link { client, runtime, timeout: settings.timeout })
            }
        };
        Ok(Some(Self { items, link }))
    }
}

impl<I: Items> Export for Exporter<I> {
    type Item = I::Item;

    async fn export(&self, batch: &[I::Item]) -> Answer {
        match &self.link {
            Some(link) => link.send(self.items.encoded(batch)).await,
            None => match self.items.print(batch).await {
                Ok(()) => Answer::Accepted(None),
                Err(error) => Answer::Refused(error.to_string()),
            },
        }
    }
}

/// A server, and the thread that talks to it.
struct Link {
    client: Arc<Client>,
    runtime: Handle,
    timeout: Duration,
}

impl Link {
    async fn send(&self, request: Vec<u8>) -> Answer {
        let (client, timeout) = (Arc::clone(&self.client), self.timeout);
        let sending = async move { client.send(&request, timeout).await };
        Sending(self.runtime.spawn(sending)).await
    }
}

/// A request on its way, which ends when nobody waits for it any more.
struct Sending(JoinHandle<Answer>);

impl Future for Sending {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let ended = |error| Answer::Later(format!("the thread that sends: {error}"), None);
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or_else(ended))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
#[path = "exporter_tests.rs"]
mod tests;
