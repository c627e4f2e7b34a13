//! All jobs of a file, running.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Semaphore;

use crate::client::HttpClient;
use crate::config::{JobSettings, ScrapeSettings};
use crate::limits::{FILE_POLL, PARSED_AT_ONCE};
use crate::pool::{PoolHandle, PoolView, PreparedJob, Surroundings};
use crate::sink::Sink;
use crate::state::{DroppedTarget, TargetMetadata, TargetState, lock};

/// Why scraping does not start, or does not change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("scrape job {job:?}: {problem}")]
pub struct ScrapeError {
    /// The job.
    pub job: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What is not in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScraperOptions {
    /// What others know this machine by, for targets on it.
    pub external_host: Option<String>,
    /// Lets servers that scrape the same targets do so at different times: the same number for the
    /// same server.
    pub offset_seed: u64,
    /// How often files of a file discovery are looked at for changes.
    pub file_poll: Duration,
}

impl Default for ScraperOptions {
    fn default() -> Self {
        Self { external_host: None, offset_seed: 0, file_poll: FILE_POLL }
    }
}

/// Scrapes the targets of all jobs until it is shut down or dropped.
pub struct Scraper {
    surroundings: Surroundings,
    external_host: Option<String>,
    /// In the order of the file; `None` after the shutdown. Held while jobs change.
    pools: tokio::sync::Mutex<Option<Vec<PoolHandle>>>,
    /// The same for the API, which does not wait for changes.
    views: Mutex<Vec<Arc<PoolView>>>,
}

impl std::fmt::Debug for Scraper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scraper").field("jobs", &self.scrape_pools()).finish_non_exhaustive()
    }
}

/// The jobs of a file that can be started: their certificates are there.
#[derive(Debug)]
pub struct PreparedJobs(Vec<PreparedJob>);

fn prepare(job: &Arc<JobSettings>) -> Result<PreparedJob, ScrapeError> {
    let refuse = |problem| ScrapeError { job: job.job_name.clone(), problem };
    let client = |http| HttpClient::new(http).map(Arc::new).map_err(refuse);
    let discoveries = job.http_discoveries.iter();
    Ok(PreparedJob {
        job: job.clone(),
        client: client(&job.http)?,
        discovery_clients: discoveries
            .map(|found| client(&found.http))
            .collect::<Result<_, _>>()?,
    })
}

impl Scraper {
    /// Starts scraping. It must be called on a tokio runtime with timers and I/O.
    pub async fn start(
        settings: &ScrapeSettings,
        sink: Arc<dyn Sink>,
        options: ScraperOptions,
    ) -> Result<Self, ScrapeError> {
        let ScraperOptions { external_host, offset_seed, file_poll } = options;
        let parsing = Arc::new(Semaphore::new(PARSED_AT_ONCE));
        let scraper = Self {
            surroundings: Surroundings { sink, offset_seed, file_poll, parsing },
            external_host,
            pools: tokio::sync::Mutex::new(Some(Vec::new())),
            views: Mutex::default(),
        };
        scraper.reload(settings).await?;
        Ok(scraper)
    }

    /// Does what can fail in taking over a file: reads the certificates that it names.
    pub fn prepare(settings: &ScrapeSettings) -> Result<PreparedJobs, ScrapeError> {
        settings.jobs.iter().map(prepare).collect::<Result<_, _>>().map(PreparedJobs)
    }

    /// Takes over a changed file. Jobs that are the same go on, with certificates as they are now; in
    /// those that changed, targets that stay go on; the series of jobs that are gone end now. After
    /// a shutdown nothing happens.
    pub async fn apply(&self, prepared: PreparedJobs) {
        let mut pools = self.pools.lock().await;
        let Some(pools) = pools.as_mut() else { return };
        let mut before = std::mem::take(pools);
        for prepared in prepared.0 {
            let is_same = |pool: &PoolHandle| pool.job.job_name == prepared.job.job_name;
            let pool = match before.iter().position(is_same).map(|at| before.swap_remove(at)) {
                Some(mut pool) => {
                    pool.reconfigure(prepared).await;
                    pool
                }
                None => PoolHandle::start(prepared, self.surroundings.clone()),
            };
            pools.push(pool);
        }
        *lock(&self.views) = pools.iter().map(|pool| pool.view.clone()).collect();
        for pool in before {
            pool.stop(true).await;
        }
    }

    /// Takes over a changed file, as [`apply`](Self::apply) does. On an error everything stays as it
    /// was.
    pub async fn reload(&self, settings: &ScrapeSettings) -> Result<(), ScrapeError> {
        self.apply(Self::prepare(settings)?).await;
        Ok(())
    }

    /// Stops scraping and waits for what is being handed on. Series do not end by this: whoever
    /// starts again goes on with them.
    pub async fn shutdown(&self) {
        let pools = self.pools.lock().await.take();
        lock(&self.views).clear();
        for pool in pools.into_iter().flatten() {
            pool.stop(false).await;
        }
    }

    /// All active targets, job by job, by URL.
    #[must_use]
    pub fn targets(&self) -> Vec<TargetState> {
        let mut all = Vec::new();
        for view in lock(&self.views).iter() {
            let shared = lock(&view.targets).clone();
            let host = self.external_host.as_deref();
            let mut states: Vec<_> =
                shared.iter().map(|shared| shared.state(&view.name, host)).collect();
            states.sort_by(|a, b| a.scrape_url.cmp(&b.scrape_url));
            all.append(&mut states);
        }
        all
    }

    /// Targets that relabeling dropped, as many as the jobs keep.
    #[must_use]
    pub fn dropped_targets(&self) -> Vec<DroppedTarget> {
        let views = lock(&self.views);
        views.iter().flat_map(|view| lock(&view.dropped).targets.clone()).collect()
    }

    /// How many targets relabeling dropped, by job.
    #[must_use]
    pub fn dropped_target_counts(&self) -> Vec<(String, usize)> {
        let views = lock(&self.views);
        views.iter().map(|view| (view.name.clone(), lock(&view.dropped).count)).collect()
    }

    /// The names of all jobs, in the order of the file.
    #[must_use]
    pub fn scrape_pools(&self) -> Vec<String> {
        lock(&self.views).iter().map(|view| view.name.clone()).collect()
    }

    /// What targets say about their metrics.
    #[must_use]
    pub fn metadata(&self) -> Vec<TargetMetadata> {
        let views = lock(&self.views);
        let shared = views.iter().flat_map(|view| lock(&view.targets).clone());
        shared.map(|shared| shared.metadata()).collect()
    }
}
