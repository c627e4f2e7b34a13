//! Destinations against servers.

mod bad_days;
mod chaos;
mod formats;
mod secure;
mod sending;
mod sink;

use std::path::Path;
use std::time::{Duration, Instant};

use kymo_journal::{Compression, Format, Journal, Options, OsDisk, Record, Signal};
use tempfile::TempDir;

use super::settings::RetrySettings;
use super::testing::traces;
use super::*;

/// A journal in a directory of its own, and destinations that read it.
struct Node {
    dir: TempDir,
    journal: Option<Journal>,
}

impl Node {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let journal = Some(open(dir.path(), Options::default()));
        Self { dir, journal }
    }

    fn journal(&self) -> &Journal {
        self.journal.as_ref().unwrap()
    }

    fn start(&self, settings: &[DestinationSettings]) -> Destinations {
        let options = StartOptions::new(self.dir.path(), Handle::current());
        Destinations::start(self.journal(), settings, &options).unwrap()
    }

    /// Ends without a word to anybody, and comes back.
    fn crash(&mut self, destinations: Destinations) {
        drop(destinations);
        self.journal = None;
        self.journal = Some(open(self.dir.path(), Options::default()));
    }

    fn append(&self, compression: Compression, body: Vec<u8>) {
        self.append_as("default", Signal::Traces, Format::OtlpProtobuf, compression, body);
    }

    fn append_as(
        &self,
        tenant: &str,
        signal: Signal,
        format: Format,
        compression: Compression,
        body: Vec<u8>,
    ) {
        let body = body.into();
        let record = Record { signal, format, compression, tenant, body, received_nanos: 1 };
        self.journal().append(record).unwrap();
    }

    /// Appends a request with one span for each number.
    fn append_numbers(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            self.append(Compression::None, traces(&[(1, &number.to_string())]));
        }
    }

    fn refused(&self, name: &str) -> Vec<serde_json::Value> {
        let path = self.dir.path().join("forward").join(name).join("refused.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Opens a journal as soon as its last owner has let it go.
fn open(dir: &Path, options: Options) -> Journal {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match Journal::open(Arc::new(OsDisk), &dir.join("journal"), options) {
            Ok((journal, _)) => return journal,
            Err(error) if Instant::now() > deadline => panic!("{error}"),
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// A destination that is tried again soon.
fn to(protocol: DestinationProtocol, endpoint: String) -> DestinationSettings {
    let mut settings = DestinationSettings::new("hub", protocol);
    settings.endpoint = Some(endpoint);
    settings.retry =
        RetrySettings { first: Duration::from_millis(1), longest: Duration::from_millis(20) };
    settings
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// Waits until the status of the only destination meets a condition, and gives it.
async fn until_status(
    destinations: &Destinations,
    is_met: impl Fn(&DestinationStatus) -> bool,
) -> DestinationStatus {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let status = destinations.status().remove(0);
        if is_met(&status) {
            return status;
        }
        assert!(Instant::now() < deadline, "{status:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
