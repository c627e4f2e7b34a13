//! Scraping: Prometheus' `scrape_configs`, from discovery to samples.
//!
//! ```text
//! prometheus.yml ── config ──> ScrapeSettings
//!                                   │
//!                                Scraper ── a pool for each job
//!                                   │
//!    discovery (lists, files, HTTP) ──> target (relabel) ──> worker, one for each target
//!                                                              │
//!                       client (HTTP, TLS, gzip) ──> ingest (formats, labels, limits)
//!                                                              │
//!                                                            Sink
//! ```
//!
//! A [`Scraper`] is given [`ScrapeSettings`] and a [`Sink`]. It asks each target in its interval,
//! reads what it answers, and hands on one [`ScrapedBatch`] for each scrape: the samples, `up` and
//! the other series about the scrape, and the ends of series that are gone.
//!
//! It promises: a target that hangs, lies about its format, answers a gigabyte or changes all its
//! labels harms no other; an answer is taken whole or not at all; labels, relabeling, limits and
//! the ends of series are those of Prometheus.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use kymo_scrape::{ScrapeSettings, Scraper, ScraperOptions, Sink};
//!
//! async fn run(sink: Arc<dyn Sink>) -> Result<(), Box<dyn std::error::Error>> {
//!     let settings = ScrapeSettings::from_file(Path::new("prometheus.yml"))?;
//!     let scraper = Scraper::start(&settings, sink, ScraperOptions::default()).await?;
//!     for target in scraper.targets() {
//!         println!("{} {}", target.scrape_url, target.health.name());
//!     }
//!     scraper.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`config`] | the file, its checks and its errors |
//! | [`relabel`], [`labels`] | label sets and the rules that change them |
//! | `discovery`, `target` | where targets come from, and what becomes of them |
//! | `pool`, `worker`, `scraper` | a task for each job, one for each target, and all together |
//! | `report` | the series about each scrape |
//! | [`connection`], `client`, `tls` | requests as the configuration wants them; asking over HTTP |
//! | `ingest`, `cache` | from an answer to samples, and what is remembered between scrapes |
//! | `sink`, `state` | what is handed on, and what the API shows |
//! | [`shown`] | URLs without their secrets |
//! | [`limits`] | every limit, with its reason |

mod cache;
mod client;
pub mod config;
pub mod connection;
mod discovery;
mod ingest;
pub mod labels;
pub mod limits;
mod pool;
pub mod relabel;
mod report;
mod scraper;
pub mod shown;
mod sink;
mod state;
mod target;
mod tls;
mod worker;

pub use config::{ConfigError, JobSettings, ScrapeSettings};
pub use labels::Labels;
pub use scraper::{PreparedJobs, ScrapeError, Scraper, ScraperOptions};
pub use sink::{
    MetricMetadata, STALE_NAN_BITS, ScrapedBatch, ScrapedExemplar, ScrapedSeries, ScrapedValue,
    Sink, SinkError, SinkFuture,
};
pub use state::{DroppedTarget, TargetHealth, TargetMetadata, TargetState};
