//! What the server gathers by itself: metrics of its machine and of targets that it scrapes, and
//! what rules make of all that is stored.
//!
//! ```text
//!  probe  (a thread)  ─┐
//!  scrape (tasks)     ─┼─> remote-write 2.0 request ─> Receiver, as any sender's
//!  rules  (tasks)     ─┘
//! ```
//!
//! It goes the way of everything that is sent: admitted, journalled, acknowledged. It belongs to
//! the tenant `default`, and does not count as a sign of life: a server that only looks at its own
//! machine is idle.
//!
//! | module | what it holds |
//! |---|---|
//! | `own` | writing what was gathered |
//! | `probe` | the thread that asks host and GPUs |
//! | `scraping` | scraped samples as requests |
//! | `rules`, `native` | recording and alerting rules; their histograms |

mod native;
mod own;
mod probe;
mod rules;
mod scraping;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kymo_engine::Engine;
use kymo_scrape::{ScrapeSettings, Scraper, ScraperOptions};

use crate::error::ServerError;
use crate::receive::Receiver;
use own::Own;
use probe::ProbeThread;
pub(crate) use rules::Rules;
use scraping::ScrapeSink;

/// What is gathered.
#[derive(Debug, Clone)]
pub struct CollectOptions {
    /// Whether the machine is looked at.
    pub probe: bool,
    /// Whether that includes the host.
    pub host: bool,
    /// Whether that includes GPUs.
    pub gpu: bool,
    /// How often.
    pub interval: Duration,
    /// The label `instance` of these metrics; the host's name if none.
    pub instance: Option<String>,
    /// NVIDIA's library, if it is not where the system looks.
    pub nvml_library: Option<PathBuf>,
    /// Whether targets are scraped.
    pub scrape: bool,
    /// Whether rules are evaluated.
    pub rules: bool,
    /// A configuration of Prometheus, with what is scraped and where rules are.
    pub config: Option<PathBuf>,
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self {
            probe: true,
            host: true,
            gpu: true,
            interval: Duration::from_secs(15),
            instance: None,
            nvml_library: None,
            scrape: true,
            rules: true,
            config: None,
        }
    }
}

/// What gathers, as long as it is kept.
pub(crate) struct Collecting {
    probe: Option<ProbeThread>,
    pub(crate) scraper: Option<Arc<Scraper>>,
    pub(crate) rules: Option<Arc<Rules>>,
}

impl Collecting {
    /// Begins to gather. `url` is where this server is reached.
    pub(crate) async fn start(
        options: &CollectOptions,
        receiver: &Arc<Receiver>,
        engine: &Engine,
        url: String,
    ) -> Result<Self, ServerError> {
        let own = Own::new(receiver.clone());
        let settings = match &options.config {
            Some(path) => {
                let settings = ScrapeSettings::from_file(path)
                    .map_err(|error| ServerError::Setting(error.to_string()))?;
                for key in settings.ignored_keys.iter().filter(|key| **key != "alerting") {
                    tracing::warn!(file = %path.display(), %key, "this key has no effect here");
                }
                Some((path, settings))
            }
            None => None,
        };
        let rules = match &settings {
            Some((path, settings)) if options.rules => {
                Some(Arc::new(Rules::start(path, settings, url, engine.clone(), own.clone())?))
            }
            _ => None,
        };
        let scraper = match &settings {
            Some((_, settings)) if options.scrape => {
                let sink = Arc::new(ScrapeSink::new(own.clone()));
                let started = Scraper::start(settings, sink, ScraperOptions::default()).await;
                Some(Arc::new(started.map_err(|error| ServerError::Setting(error.to_string()))?))
            }
            _ => None,
        };
        let is_probing = options.probe && (options.host || options.gpu);
        let probe = is_probing.then(|| ProbeThread::start(options, own)).transpose()?;
        Ok(Self { probe, scraper, rules })
    }

    /// Nothing gathers.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { probe: None, scraper: None, rules: None }
    }

    /// Gathers no more.
    pub(crate) async fn stop(self) {
        if let Some(rules) = self.rules {
            rules.stop().await;
        }
        if let Some(scraper) = self.scraper {
            scraper.shutdown().await;
        }
        if let Some(probe) = self.probe {
            // It may be in the middle of looking.
            let _ = tokio::task::spawn_blocking(move || drop(probe)).await;
        }
    }
}
