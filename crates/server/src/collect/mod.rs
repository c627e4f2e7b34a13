//! What the server gathers by itself: metrics of its machine, of itself and of targets that it
//! scrapes, and what rules make of all that is stored.
//!
//! ```text
//!  probe  (threads)   ─┐
//!  itself (task)      ─┤
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
//! | `probe` | the threads that ask host and GPUs |
//! | `itself` | what `/metrics` shows, stored too |
//! | `scraping` | scraped samples as requests |
//! | `rules`, `native` | recording and alerting rules; their histograms |

mod itself;
mod native;
mod own;
mod probe;
mod rules;
mod scraping;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kymo_engine::Engine;
use kymo_scrape::{ConfigError, ScrapeSettings, Scraper, ScraperOptions};

use crate::error::ServerError;
use crate::receive::Receiver;
use crate::telemetry::Telemetry;
use itself::Itself;
pub(crate) use native::with_native;
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
    /// Whether that includes the server itself: what `/metrics` shows is stored too.
    pub server: bool,
    /// How often.
    pub interval: Duration,
    /// The label `instance` of these metrics; the host's name if none.
    pub instance: Option<String>,
    /// NVIDIA's library, if it is not where the system looks.
    pub nvml_library: Option<PathBuf>,
    /// Names of processes that are watched one by one; none by default.
    pub processes: Vec<String>,
    /// Whether targets are scraped.
    pub scrape: bool,
    /// Whether rules are evaluated.
    pub rules: bool,
    /// A configuration of Prometheus, with what is scraped and where rules are.
    pub config: Option<PathBuf>,
    /// Where others reach this server, with its base path, such as `https://kymo.example.org`: links
    /// in alerts begin with it. Otherwise they begin with the address that is listened on, or with
    /// the host's name if that is any address.
    pub external_url: Option<String>,
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self {
            probe: true,
            host: true,
            gpu: true,
            server: true,
            interval: Duration::from_secs(15),
            instance: None,
            nvml_library: None,
            processes: Vec::new(),
            scrape: true,
            rules: true,
            config: None,
            external_url: None,
        }
    }
}

/// What gathers, as long as it is kept.
pub(crate) struct Collecting {
    probe: Option<ProbeThread>,
    itself: Option<Itself>,
    configured: Arc<Configured>,
}

/// How long is waited for what gathers to end. What it would still have written or sent is lost;
/// the flush that comes then is worth more.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// So that a machine that is slower than the interval still does something else.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// What a configuration of Prometheus sets going.
#[derive(Default)]
pub(crate) struct Configured {
    config: Option<PathBuf>,
    pub(crate) scraper: Option<Scraper>,
    pub(crate) rules: Option<Rules>,
    /// Held while the configuration is read again: whoever asks for it meanwhile waits.
    reloading: tokio::sync::Mutex<()>,
    last_reload: Mutex<LastReload>,
}

/// How reading the configuration went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LastReload {
    /// Whether the last attempt failed.
    pub(crate) has_failed: bool,
    /// When the configuration that is in force was read, in milliseconds since 1970, if that was
    /// after the start.
    pub(crate) success_millis: Option<i64>,
}

impl Configured {
    /// Reads the configuration again. If something in it is wrong, everything stays as it was. It
    /// goes on if nobody waits for it any more: half of a change would be none.
    pub(crate) async fn reload(self: &Arc<Self>) -> Result<(), String> {
        let this = self.clone();
        let reloading = tokio::spawn(async move {
            let _one = this.reloading.lock().await;
            let done = this.read_again().await;
            this.note(done.is_ok());
            done
        });
        reloading.await.unwrap_or_else(|error| Err(format!("reading was given up: {error}")))
    }

    /// How the last reload went.
    pub(crate) fn last_reload(&self) -> LastReload {
        *self.last_reload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_again(&self) -> Result<(), String> {
        let Some(path) = &self.config else {
            return Err("there is no prometheus.config to read again".to_owned());
        };
        let settings = read(path).map_err(|error| error.to_string())?;
        // First everything that can fail.
        let rules = match &self.rules {
            Some(rules) => Some((rules, rules.prepare(path, &settings)?)),
            None => None,
        };
        let scraper = match &self.scraper {
            Some(scraper) => {
                let prepared = Scraper::prepare(&settings).map_err(|error| error.to_string())?;
                Some((scraper, prepared))
            }
            None => None,
        };
        if let Some((rules, prepared)) = rules {
            rules.apply(prepared).await;
        }
        if let Some((scraper, prepared)) = scraper {
            scraper.apply(prepared).await;
        }
        tracing::info!(file = %path.display(), "read the configuration again");
        Ok(())
    }

    fn note(&self, is_success: bool) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_millis = since.map_or(0, |since| since.as_millis() as i64);
        let mut last = self.last_reload.lock().unwrap_or_else(PoisonError::into_inner);
        last.has_failed = !is_success;
        if is_success {
            last.success_millis = Some(now_millis);
        }
    }
}

/// Reads a configuration, and warns of what has no effect.
fn read(path: &Path) -> Result<ScrapeSettings, ConfigError> {
    let settings = ScrapeSettings::from_file(path)?;
    for key in &settings.ignored_keys {
        tracing::warn!(file = %path.display(), %key, "this key has no effect here");
    }
    Ok(settings)
}

/// Where Prometheus' API of this server is reached: as `external` says, or at `url`, which begins
/// with the address that is listened on. Nobody reaches a server at any address, so the host's name
/// stands for that.
fn external_url(external: Option<&str>, url: &str, hostname: impl FnOnce() -> String) -> String {
    if let Some(external) = external {
        return format!("{}/prometheus", external.trim_end_matches('/'));
    }
    let Some(behind) = url.strip_prefix("http://") else { return url.to_owned() };
    let (address, path) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
    match address.parse::<SocketAddr>() {
        Ok(any) if any.ip().is_unspecified() => {
            format!("http://{}:{}{path}", hostname(), any.port())
        }
        _ => url.to_owned(),
    }
}

/// The name of this machine.
fn hostname() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
    read.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

impl Collecting {
    /// Begins to gather. `url` is where Prometheus' API of this server listens.
    pub(crate) async fn start(
        options: &CollectOptions,
        receiver: &Arc<Receiver>,
        engine: &Engine,
        url: String,
    ) -> Result<Self, ServerError> {
        let own = Own::new(receiver.clone());
        let settings = match &options.config {
            Some(path) => {
                let settings = read(path);
                Some((path, settings.map_err(|error| ServerError::Setting(error.to_string()))?))
            }
            None => None,
        };
        let url = external_url(options.external_url.as_deref(), &url, hostname);
        let rules = match &settings {
            Some((path, settings)) if options.rules => {
                Some(Rules::start(path, settings, url, engine.clone(), own.clone())?)
            }
            _ => None,
        };
        let scraper = match &settings {
            Some((_, settings)) if options.scrape => {
                let sink = Arc::new(ScrapeSink::new(Own::of_targets(receiver.clone())));
                let started = Scraper::start(settings, sink, ScraperOptions::default()).await;
                Some(started.map_err(|error| ServerError::Setting(error.to_string()))?)
            }
            _ => None,
        };
        let is_wanted = options.host || options.gpu || !options.processes.is_empty();
        let is_probing = options.probe && is_wanted;
        let probe = is_probing.then(|| ProbeThread::start(options, own)).transpose()?;
        let config = options.config.clone();
        let configured = Configured { config, scraper, rules, ..Configured::default() };
        Ok(Self { probe, itself: None, configured: Arc::new(configured) })
    }

    /// Begins to store the server's own metrics. All that is to be in them is watched by now: what
    /// appears later counts from zero.
    pub(crate) fn watch_itself(
        &mut self,
        options: &CollectOptions,
        receiver: &Arc<Receiver>,
        telemetry: &Arc<Telemetry>,
    ) {
        if options.probe && options.server {
            let own = Own::new(receiver.clone());
            self.itself = Some(Itself::start(options, telemetry.clone(), own));
        }
    }

    /// Nothing gathers.
    pub(crate) fn none() -> Self {
        Self { probe: None, itself: None, configured: Arc::default() }
    }

    /// What a configuration set going.
    pub(crate) fn configured(&self) -> &Arc<Configured> {
        &self.configured
    }

    /// Gathers no more. What takes long to end is left to itself.
    pub(crate) async fn stop(self) {
        let Self { probe, itself, configured } = self;
        let rules = async {
            if let Some(rules) = &configured.rules {
                rules.stop().await;
            }
        };
        let scraper = async {
            if let Some(scraper) = &configured.scraper {
                scraper.shutdown().await;
            }
        };
        let probe = async {
            if let Some(probe) = probe {
                // It may be in the middle of looking.
                let _ = tokio::task::spawn_blocking(move || drop(probe)).await;
            }
        };
        let itself = async {
            if let Some(itself) = itself {
                itself.stop().await;
            }
        };
        let all = futures::future::join4(rules, scraper, probe, itself);
        if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
            tracing::warn!("scraping, rules or their receivers take long to end, and are left");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_where_others_reach_the_server() {
        let name = || "box".to_owned();
        for (external, url, expected) in [
            (None, "http://127.0.0.1:80/b/prometheus", "http://127.0.0.1:80/b/prometheus"),
            (None, "http://0.0.0.0:80/b/prometheus", "http://box:80/b/prometheus"),
            (None, "http://[::]:80/prometheus", "http://box:80/prometheus"),
            (Some("https://k.test/b/"), "http://[::]:80/prometheus", "https://k.test/b/prometheus"),
        ] {
            assert_eq!(external_url(external, url, name), expected);
        }
    }

    #[tokio::test]
    async fn a_reload_that_fails_is_told_and_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("p.yml");
        std::fs::write(&path, "scrape_configs: []\n").unwrap();
        let config = Some(path.clone());
        let configured = Arc::new(Configured { config, ..Configured::default() });
        assert_eq!(configured.last_reload(), LastReload::default());
        configured.reload().await.unwrap();
        let good = configured.last_reload();
        assert!(!good.has_failed && good.success_millis.is_some());
        std::fs::write(&path, "scrape_config: []\n").unwrap();
        configured.reload().await.unwrap_err();
        assert_eq!(configured.last_reload(), LastReload { has_failed: true, ..good });
    }

    #[tokio::test]
    async fn a_reload_goes_on_when_nobody_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("p.yml");
        std::fs::write(&path, "scrape_configs: []\n").unwrap();
        let configured = Arc::new(Configured { config: Some(path), ..Configured::default() });
        let held = configured.reloading.lock().await;
        let waiting = tokio::time::timeout(Duration::from_millis(10), configured.reload()).await;
        assert!(waiting.is_err(), "it waits for the one before");
        drop(held);
        while configured.last_reload().success_millis.is_none() {
            tokio::task::yield_now().await;
        }
    }
}
