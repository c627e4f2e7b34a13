//! Files beside one another: the request that is next in time, of whichever file.
//!
//! Of each file one request is held. Within a file the order stays as it is.

use std::path::PathBuf;

use super::pace::latest;
use crate::files::{self, Fault, ReadOptions, Request, Requests, Shown};
use crate::progress::Progress;

/// Files, and the next request of each.
pub(super) struct ByTime {
    sources: Vec<Source>,
    /// The one that gave the last request.
    last: usize,
    faults: u64,
}

struct Source {
    name: String,
    requests: Option<Requests>,
    next: Option<(u64, Request)>,
    done_bytes: u64,
    shown: Shown,
}

impl ByTime {
    pub(super) fn open(files: &[PathBuf], options: &ReadOptions, progress: &Progress) -> Self {
        let mut opened = Self { sources: Vec::new(), last: 0, faults: 0 };
        for path in files {
            let mut source = Source {
                name: files::name_of(path),
                requests: None,
                next: None,
                done_bytes: 0,
                shown: Shown::default(),
            };
            match files::requests(path, options) {
                Ok(requests) => source.requests = Some(requests),
                Err(fault) => {
                    opened.faults += 1;
                    source.shown.fault(&source.name, &fault, progress);
                }
            }
            opened.faults += source.advance(progress);
            opened.sources.push(source);
        }
        opened
    }

    /// The next request.
    pub(super) fn next(&mut self, progress: &Progress) -> Option<Request> {
        let times = self.sources.iter().enumerate();
        let earliest = times.filter_map(|(nth, source)| Some((source.next.as_ref()?.0, nth))).min();
        let (_, nth) = earliest?;
        self.last = nth;
        let source = &mut self.sources[nth];
        progress.doing(&source.name);
        let (_, request) = source.next.take()?;
        self.faults += source.advance(progress);
        Some(request)
    }

    /// Reports that the last request was not taken.
    pub(super) fn fault(&mut self, fault: &Fault, progress: &Progress) {
        self.faults += 1;
        if let Some(source) = self.sources.get_mut(self.last) {
            source.shown.fault(&source.name, fault, progress);
        }
    }

    /// Files, requests and lines that could not be read.
    pub(super) fn faults(&self) -> u64 {
        self.faults
    }
}

impl Source {
    /// Reads the next request; how much could not be read before it.
    fn advance(&mut self, progress: &Progress) -> u64 {
        let mut faults = 0;
        let Some(requests) = &mut self.requests else { return faults };
        loop {
            let request = requests.next();
            progress.advance(requests.offset() - self.done_bytes);
            self.done_bytes = requests.offset();
            match request {
                Some(Ok(request)) => {
                    // What has no time goes before all that has.
                    self.next = Some((latest(&request).unwrap_or(0), request));
                    return faults;
                }
                Some(Err(fault)) => {
                    faults += 1;
                    self.shown.fault(&self.name, &fault, progress);
                }
                None => break,
            }
        }
        if let Some(note) = requests.note() {
            progress.note(&format!("{}{note}", self.name));
        }
        self.shown.finish(&self.name, progress);
        self.requests = None;
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_that_is_next_in_time_comes_next_of_whichever_file() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, times: &[u64]| {
            let line = |time: &u64| {
                format!(
                    "{{\"resourceLogs\":[{{\"scopeLogs\":[{{\"logRecords\":[{{\"timeUnixNano\":\"{time}\"}}]}}]}}]}}\n"
                )
            };
            let path = place.path().join(name);
            std::fs::write(&path, times.iter().map(line).collect::<String>()).unwrap();
            path
        };
        let files =
            [write("a", &[10, 40, 30]), write("b", &[20, 35, 50]), place.path().join("none")];
        let progress = Progress::new(None);
        let mut sources = ByTime::open(&files, &ReadOptions::default(), &progress);
        let mut times = Vec::new();
        while let Some(request) = sources.next(&progress) {
            times.extend(latest(&request));
        }
        // Within a file the order is that of the file.
        assert_eq!(times, [10, 20, 35, 40, 30, 50]);
        assert_eq!(sources.faults(), 1);
    }
}
