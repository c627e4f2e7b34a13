//! `kill -9` under load: what was acknowledged is there, once, and nothing is there twice.
//!
//! Several senders send numbered requests over connections that stay open and remember which were
//! acknowledged. At a random moment the server is killed and started again on the same data. Some
//! senders then send again what was not acknowledged, byte for byte, as real ones do. The same store
//! grows over all rounds.
//!
//!     KYMO_TEST_CRASH_ROUNDS=50 cargo test -p kymo --test crash

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::otlp::spans;
use harness::{Random, Server, Signal, eventually};
use prost::Message;

const SENDERS: u64 = 4;
/// Spans of a request. All or none of them are there.
const SPANS: u64 = 10;
/// A sender that waits for its answer longer than this has found something.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Small heads, so that flushes and compactions happen all the time.
const BUSY: [&str; 8] = [
    "--store-flush-rows",
    "3000",
    "--store-flush-after",
    "300ms",
    "--store-flush-idle-after",
    "500ms",
    "--store-grace",
    "5s",
];

fn rounds() -> u64 {
    let rounds = std::env::var("KYMO_TEST_CRASH_ROUNDS").ok().filter(|text| !text.is_empty());
    rounds.map_or(6, |text| text.parse().unwrap())
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

/// What one sender sent in one round: by number, whether it was acknowledged.
type Sent = BTreeMap<u64, bool>;

/// A request's number is its place: round, sender, which of them.
fn number(round: u64, sender: u64, nth: u64) -> u64 {
    ((round * SENDERS + sender) << 24) + nth * SPANS
}

/// The body of a request, which its name and number decide.
fn body(round: u64, sender: u64, nth: u64) -> Vec<u8> {
    let name = format!("r{round}-t{sender}-n{nth}");
    spans(&name, number(round, sender, nth), SPANS).encode_to_vec()
}

/// Sends until it is told to stop or the server is gone.
fn send(
    server: &Server,
    round: u64,
    sender: u64,
    acknowledged: &AtomicU64,
    is_over: &AtomicBool,
) -> Sent {
    let url = format!("http://{}/v1/traces", server.otlp_http());
    let client =
        reqwest::blocking::Client::builder().no_proxy().timeout(ANSWER_TIMEOUT).build().unwrap();
    let mut sent = Sent::new();
    for nth in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let request = client.post(&url).header("content-type", "application/x-protobuf");
        let answer = request.body(body(round, sender, nth)).send();
        let status = answer.and_then(|answer| {
            let status = answer.status().as_u16();
            answer.bytes().map(|_| status)
        });
        match status {
            Ok(200) => {
                sent.insert(nth, true);
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            // Asked to come again.
            Ok(429 | 503) => {
                sent.insert(nth, false);
            }
            Ok(status) => panic!("{status} is no answer to a good request"),
            Err(_) => {
                sent.insert(nth, false);
                break;
            }
        }
    }
    sent
}

/// Ends the load when it is dropped: also if whoever watches it panics, or the senders would never
/// be joined.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends with all senders until `end` has ended the load; what each of them sent.
fn under_load(server: &Server, round: u64, end: impl FnOnce(&AtomicU64) + Send) -> Vec<Sent> {
    let (acknowledged, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (acknowledged, is_over) = (&acknowledged, &is_over);
                scope.spawn(move || send(server, round, sender, acknowledged, is_over))
            })
            .collect();
        let ends = Ends(&is_over);
        end(&acknowledged);
        drop(ends);
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    })
}

/// Checks one round against the store: acknowledged requests are there, others wholly or not at
/// all. Returns how many spans there are of it.
#[track_caller]
fn check(server: &Server, round: u64, sent: &[Sent]) -> u64 {
    let first = harness::otlp::START_NANOS + number(round, 0, 0) * 1000;
    let end = harness::otlp::START_NANOS + number(round + 1, 0, 0) * 1000;
    // Within the round's times, so that one round is not all of the store.
    let names = server.sql(&format!(
        "SELECT name FROM spans WHERE start_time >= to_timestamp_nanos({first}) \
         AND start_time < to_timestamp_nanos({end}) AND name LIKE 'r{round}-%'"
    ));
    let mut found: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for name in names.texts() {
        let mut parts = name.split('-').skip(1).map(|part| part[1..].parse::<u64>().unwrap());
        let (sender, nth) = (parts.next().unwrap(), parts.next().unwrap());
        *found.entry((sender, nth)).or_default() += 1;
    }
    for (sender, sent) in sent.iter().enumerate() {
        for (nth, is_acknowledged) in sent {
            let count = found.remove(&(sender as u64, *nth)).unwrap_or(0);
            let is_good = count == SPANS || (count == 0 && !is_acknowledged);
            assert!(is_good, "{count} spans of r{round}-t{sender}-n{nth}, {is_acknowledged}");
        }
    }
    assert!(found.is_empty(), "nobody sent these: {found:?}");
    names.rows.len() as u64
}

/// No span is there twice.
#[track_caller]
fn nothing_is_doubled(server: &Server) {
    let doubled =
        server.sql("SELECT name, count(*) FROM spans GROUP BY name HAVING count(*) <> 1 LIMIT 10");
    assert!(doubled.rows.is_empty(), "{:?}", doubled.rows);
}

fn survives_kills(flags: &[&str]) {
    let seed = seed();
    println!("seed {seed}");
    let mut random = Random::seeded(seed);
    let mut server = Server::with(flags);
    let mut total = 0;
    for round in 0..rounds() {
        let wait = Duration::from_millis(20 + random.below(700));
        let mut sent = under_load(&server, round, |acknowledged| {
            eventually(Duration::from_secs(30), "something is acknowledged", || {
                acknowledged.load(Ordering::Relaxed) > 0
            });
            std::thread::sleep(wait);
            server.signal("KILL");
        });
        // It has ended already; this takes note of it.
        server.kill();
        server.start_again();
        let before_retry = check(&server, round, &sent);
        // Every second round, senders send again what was not acknowledged.
        let mut found = before_retry;
        if round % 2 == 0 {
            for (sender, sent) in sent.iter_mut().enumerate() {
                for (nth, is_acknowledged) in sent.iter_mut().filter(|(_, is)| !**is) {
                    server.store(Signal::Traces, body(round, sender as u64, *nth));
                    *is_acknowledged = true;
                }
            }
            found = check(&server, round, &sent);
        }
        total += found;
        assert_eq!(server.count(Signal::Traces), total, "round {round}, {sent:?}");
        nothing_is_doubled(&server);
    }
    let (status, _) = server.stop();
    assert!(status.success(), "{status}");
    server.start_again();
    assert_eq!(server.count(Signal::Traces), total);
    nothing_is_doubled(&server);
    println!("{} rounds, {total} spans", rounds());
}

#[test]
fn what_was_acknowledged_survives_kill_9_and_nothing_is_doubled() {
    survives_kills(&BUSY);
}

#[test]
fn what_was_acknowledged_survives_kill_9_without_compaction() {
    survives_kills(&[&BUSY[..], &["--compaction", "false"]].concat());
}

#[test]
fn what_was_acknowledged_survives_kill_9_before_anything_is_flushed() {
    survives_kills(&["--store-flush-idle-after", "1h"]);
}

#[test]
fn sigterm_under_load_ends_soon_and_loses_nothing() {
    let mut server = Server::with(&BUSY);
    let mut total = 0;
    for round in 0..2 {
        let mut took = Duration::MAX;
        let sent = under_load(&server, round, |acknowledged| {
            eventually(Duration::from_secs(30), "the load is on", || {
                acknowledged.load(Ordering::Relaxed) > 100
            });
            let began = Instant::now();
            server.signal("TERM");
            let proc = format!("/proc/{}/stat", server.id());
            // Senders go on until it is gone; a process that nobody has waited for is a zombie then.
            eventually(Duration::from_secs(30), "it ends", || {
                std::fs::read_to_string(&proc).is_ok_and(|stat| stat.contains(") Z "))
            });
            took = began.elapsed();
        });
        assert!(took < Duration::from_secs(10), "{took:?}");
        assert_eq!(server.exit_code(), Some(0));
        server.start_again();
        total += check(&server, round, &sent);
        assert_eq!(server.count(Signal::Traces), total);
        nothing_is_doubled(&server);
    }
}
