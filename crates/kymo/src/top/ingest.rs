//! What the server counts itself: what it takes in and what it holds.

use std::collections::BTreeMap;
use std::time::Instant;

use kymo_wire::exposition::{Entry, Format, ParseOptions, Parser};
use serde::Serialize;

use crate::client;
use crate::failure::Failure;
use crate::source::Source;
use crate::table::{Align, Facts, Table};
use crate::units;

const SIGNALS: [&str; 3] = ["traces", "metrics", "logs"];

/// Counters and gauges at one moment.
#[derive(Debug)]
pub(super) struct Counted {
    at: Instant,
    /// By name and signal; those without a signal have none. Other labels are summed up.
    numbers: BTreeMap<(String, String), f64>,
}

impl Counted {
    /// What the server counts; none for those who may not see it, as it is of all tenants together.
    pub(super) fn read(source: &Source) -> Result<Option<Self>, Failure> {
        let Source::Server(server) = source else {
            return Err(Failure::Usage("only a server can be watched".into()));
        };
        match server.get("/metrics", "application/openmetrics-text") {
            Ok(response) => Self::of(&client::body(response)?).map(Some),
            Err(Failure::Status { status: 403, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn of(text: &[u8]) -> Result<Self, Failure> {
        let mut numbers = BTreeMap::new();
        let mut parser = Parser::new(text, Format::OpenMetrics, ParseOptions::default());
        let unread = |why| Failure::Other(format!("the server's metrics cannot be read: {why}"));
        while let Some(entry) = parser.next_entry().map_err(unread)? {
            if let Entry::Series(series) = entry {
                let signal = series.labels.iter().find(|label| label.name == "signal");
                let signal = signal.map_or(String::new(), |label| label.value.to_string());
                *numbers.entry((series.name.to_owned(), signal)).or_default() += series.value;
            }
        }
        Ok(Self { at: Instant::now(), numbers })
    }

    fn get(&self, name: &str, signal: &str) -> f64 {
        self.numbers.get(&(name.to_owned(), signal.to_owned())).copied().unwrap_or(0.0)
    }
}

/// What came in since the look before, by second, and what is held.
#[derive(Debug, Serialize)]
pub(super) struct Ingest {
    signals: BTreeMap<&'static str, Taken>,
    /// Bytes of the journal that are not in blocks.
    journal_lag_bytes: f64,
    queries_per_second: f64,
    queries_running: f64,
    queries_waiting: f64,
}

#[derive(Debug, Serialize)]
struct Taken {
    records_per_second: f64,
    bytes_per_second: f64,
    refused_per_second: f64,
    memory_rows: f64,
    blocks: f64,
    block_bytes: f64,
}

impl Ingest {
    pub(super) fn between(before: &Counted, now: &Counted) -> Self {
        let seconds = now.at.duration_since(before.at).as_secs_f64().max(1e-3);
        // A counter that fell began anew with its server.
        let rate = |name: &str, signal: &str| {
            let (before, now) = (before.get(name, signal), now.get(name, signal));
            (if now < before { now } else { now - before }) / seconds
        };
        let taken = |signal: &'static str| {
            let refused = rate("kymo_refused_records_total", signal)
                + rate("kymo_refused_requests_total", signal);
            let taken = Taken {
                records_per_second: rate("kymo_received_records_total", signal),
                bytes_per_second: rate("kymo_received_bytes_total", signal),
                refused_per_second: refused,
                memory_rows: now.get("kymo_store_head_rows", signal),
                blocks: now.get("kymo_store_blocks", signal),
                block_bytes: now.get("kymo_store_block_bytes", signal),
            };
            (signal, taken)
        };
        Self {
            signals: SIGNALS.into_iter().map(taken).collect(),
            journal_lag_bytes: now.get("kymo_store_lag_bytes", ""),
            queries_per_second: rate("kymo_queries_finished_total", ""),
            queries_running: now.get("kymo_queries_running", ""),
            queries_waiting: now.get("kymo_queries_waiting", ""),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&[
            ("SIGNAL", Align::Left),
            ("RECORDS/S", Align::Right),
            ("BYTES/S", Align::Right),
            ("REFUSED/S", Align::Right),
            ("ROWS IN MEMORY", Align::Right),
            ("BLOCKS", Align::Right),
            ("ON DISK", Align::Right),
        ]);
        let count = |number: f64| units::count(number.max(0.0).round() as u64);
        let bytes = |number: f64| units::bytes(number.max(0.0) as u64);
        for signal in SIGNALS {
            let taken = &self.signals[signal];
            table.row(vec![
                signal.to_owned(),
                count(taken.records_per_second),
                bytes(taken.bytes_per_second),
                count(taken.refused_per_second),
                count(taken.memory_rows),
                count(taken.blocks),
                bytes(taken.block_bytes),
            ]);
        }
        let mut facts = Facts::default();
        facts.add("journal not in blocks", bytes(self.journal_lag_bytes));
        let (each, running) = (self.queries_per_second, count(self.queries_running));
        let waiting = count(self.queries_waiting);
        facts.add("queries", format!("{each:.1}/s, {running} running, {waiting} waiting"));
        format!("{table}{facts}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(records: u64) -> Counted {
        let text = format!(
            "# TYPE kymo_received_records counter\n\
             kymo_received_records_total{{signal=\"traces\",tenant=\"a\"}} {records}\n\
             kymo_received_records_total{{signal=\"traces\",tenant=\"b\"}} 1\n\
             # TYPE kymo_store_lag_bytes gauge\nkymo_store_lag_bytes 2048\n# EOF\n"
        );
        Counted::of(text.as_bytes()).unwrap()
    }

    #[test]
    fn counters_become_rates_and_one_that_fell_began_anew() {
        let (before, mut now) = (counted(9), counted(29));
        now.at = before.at + std::time::Duration::from_secs(2);
        let ingest = Ingest::between(&before, &now);
        assert_eq!(ingest.signals["traces"].records_per_second, 10.0);
        assert!(ingest.text().contains("journal not in blocks  2.0 KiB"), "{}", ingest.text());
        let mut later = counted(3);
        later.at = now.at + std::time::Duration::from_secs(1);
        assert_eq!(Ingest::between(&now, &later).signals["traces"].records_per_second, 4.0);
        assert!(Counted::of(b"<html>").is_err());
    }
}
