//! The kymo server that would show it: is it ready, is its clock ours, what came last.

use std::time::{Duration, Instant, SystemTime};

use chrono::DateTime;
use serde::Deserialize;

use super::PATIENCE;
use super::check::Checks;
use super::record::{SERVICE, TestRecord};
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::source::{ServerArgs, Source};

/// How far two clocks may be apart: what a machine without time synchronisation reaches in a month.
const CLOCK_APART: Duration = Duration::from_secs(5);
/// How far back the last records are looked for. Further back it would be a long search.
const LAST_DAYS: i64 = 7;

/// The tables of records and the times of their rows.
const TABLES: [(&str, &str, &str); 3] = [
    ("spans", "spans", "start_time"),
    ("metrics", "points", "time"),
    ("log records", "logs", "time"),
];

#[derive(Deserialize)]
struct Rows {
    rows: Vec<Vec<serde_json::Value>>,
}

/// Looks at the server. What was sent is looked for there.
pub(super) fn look(checks: &mut Checks, args: &ServerArgs, sent: Option<&TestRecord>) {
    let client = match args.open().and_then(|source| source.within(PATIENCE)) {
        Ok(Source::Server(client)) => client,
        Ok(Source::Directory(_)) => return,
        Err(error) => {
            checks.failed("server", error, "mend --url or KYMO_URL");
            return;
        }
    };
    let asked = SystemTime::now();
    let response = match client.get("/ready", "text/plain") {
        Ok(response) => response,
        // Telemetry may be meant for somebody else's server.
        Err(error) => {
            let advice = "nothing to worry about if another backend shows your data";
            checks.warning("server", first_part(&error), advice);
            return;
        }
    };
    checks.ok("server", format!("{} is ready", client.name()));
    let date = response.headers().get("date").and_then(|date| date.to_str().ok());
    clock(checks, date, asked);
    if let Some(record) = sent {
        arrived(checks, &client, record);
    }
    last(checks, &client);
}

/// What happened, without the hint of commands that cannot go on.
fn first_part(error: &Failure) -> String {
    error.to_string().split(';').next().unwrap_or_default().to_owned()
}

/// Whether the server's clock is ours. Its header has whole seconds.
fn clock(checks: &mut Checks, date: Option<&str>, asked: SystemTime) {
    let Some(theirs) = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()) else {
        return;
    };
    let between = asked + asked.elapsed().unwrap_or_default() / 2;
    let ours = between.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let apart = theirs.timestamp() as f64 + 0.5 - ours;
    if apart.abs() <= CLOCK_APART.as_secs_f64() {
        checks.ok("clock", "the server's is ours");
    } else {
        let way = if apart > 0.0 { "ahead of" } else { "behind" };
        checks.warning(
            "clock",
            format!("the server's is {:.0} s {way} ours", apart.abs()),
            "records seem to lie in the past or the future: synchronise both clocks (NTP)",
        );
    }
}

/// Whether the test record is there. It may take a moment where others stand in between.
fn arrived(checks: &mut Checks, client: &Client, record: &TestRecord) {
    let query = format!("SELECT count(*) FROM spans WHERE trace_id = '{}'", record.trace_id());
    let deadline = Instant::now() + PATIENCE;
    loop {
        match one(client, &query) {
            Ok(Some(count)) if count.as_u64().unwrap_or_default() > 0 => {
                checks.ok(
                    "arrived",
                    format!("the test span is there: kymo trace {}", record.trace_id()),
                );
                return;
            }
            Err(error) => {
                checks.warning("arrived", first_part(&error), "ask the server with kymo sql");
                return;
            }
            Ok(_) if Instant::now() >= deadline => {
                checks.failed(
                    "arrived",
                    format!(
                        "the endpoint took the test span, and {} does not have it",
                        client.name()
                    ),
                    "the endpoint is another server, another tenant (--tenant), or a collector \
                     that does not pass it on",
                );
                return;
            }
            Ok(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// When the last record of each kind came.
fn last(checks: &mut Checks, client: &Client) {
    let mut found = Vec::new();
    for (items, table, time) in TABLES {
        let of_others = if table == "points" {
            "name <> 'kymo_doctor_test'".to_owned()
        } else {
            format!("\"resource.service.name\" IS DISTINCT FROM '{SERVICE}'")
        };
        let query = format!(
            "SELECT CAST(max({time}) AS BIGINT) FROM {table} \
             WHERE {time} > now() - INTERVAL '{LAST_DAYS} days' AND {of_others}"
        );
        match one(client, &query) {
            Ok(Some(value)) => {
                if let Some(nanos) = value.as_i64() {
                    let age = crate::units::nanos(i128::from(crate::times::now() - nanos).max(0));
                    found.push(format!("{items} {age} ago"));
                }
            }
            Ok(None) => {}
            Err(error) => {
                checks.warning("data", first_part(&error), "ask the server with kymo sql");
                return;
            }
        }
    }
    let tenant = client.tenant();
    if found.is_empty() {
        checks.warning(
            "data",
            format!("nothing came in the last {LAST_DAYS} days for the tenant {tenant}"),
            "send something (kymo doctor --send), or look at another tenant (--tenant)",
        );
    } else {
        checks.ok("data", format!("last: {}", found.join(", ")));
    }
}

/// The one value of an answer; nothing if it is null.
fn one(client: &Client, query: &str) -> Result<Option<serde_json::Value>, Failure> {
    let response = client.post("/api/sql", query.to_owned(), "application/json")?;
    let answer: Rows = client::json(response)?;
    let value = answer.rows.into_iter().next().and_then(|row| row.into_iter().next());
    Ok(value.filter(|value| !value.is_null()))
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn clocks_that_are_apart_are_told() {
        let at = |seconds: i64| {
            let moment = chrono::Utc::now() + chrono::TimeDelta::seconds(seconds);
            let mut checks = Checks::default();
            clock(&mut checks, Some(&moment.to_rfc2822()), SystemTime::now());
            checks
        };
        assert_eq!(at(0).states(), [("clock", State::Ok)]);
        assert!(at(-60).text_of("clock").contains("behind"));
        assert!(at(60).text_of("clock").contains("ahead"));
        let mut checks = Checks::default();
        clock(&mut checks, Some("yesterday"), SystemTime::now());
        assert!(checks.states().is_empty());
    }
}
