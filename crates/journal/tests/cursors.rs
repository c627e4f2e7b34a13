//! Cursors: where consumers stand, what they may cost, and what is deleted.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::*;
use kymo_journal::sim::SimDisk;
use kymo_journal::{CursorOptions, Error, Journal, LossReason, Signal};

fn append(journal: &Journal, numbers: std::ops::RangeInclusive<u64>) -> u64 {
    append_all(journal, numbers, 500).pop().map_or(0, |last| last.next_position)
}

#[test]
fn cursors_survive_a_close_and_never_go_ahead_after_a_crash() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    assert_eq!(journal.register("store", CursorOptions::default()).unwrap(), 0);
    let end = append(&journal, 1..=3);
    journal.advance("store", 584).unwrap();
    journal.advance("store", 100).unwrap();
    drop(journal);
    let (journal, _) = open(&disk);
    assert_eq!(journal.cursors()[0].position, 584);
    assert!(!journal.cursors()[0].registered);
    assert_eq!(journal.register("store", CursorOptions::default()).unwrap(), 584);
    journal.advance("store", end).unwrap();
    let (journal, _) = open(&disk.reboot());
    assert!(journal.register("store", CursorOptions::default()).unwrap() <= end);
}

#[test]
fn segments_below_every_cursor_are_deleted_and_the_last_stays() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    journal.register("forward", CursorOptions::default()).unwrap();
    let end = append(&journal, 1..=40);
    let count = segments(&disk).len();
    journal.advance("store", end).unwrap();
    assert_eq!(segments(&disk).len(), count);
    journal.advance("forward", end).unwrap();
    assert_eq!(segments(&disk).len(), 1);
    assert_eq!(journal.stats().deleted_segments as usize, count - 1);
    drop(journal);
    // Positions and sequences go on although everything was consumed.
    let (journal, _) = open(&disk);
    let next = journal.append(record(41, 500)).unwrap();
    assert!(next.position >= end);
    assert_eq!(next.sequence, 41);
}

#[test]
fn what_a_cursor_has_not_read_is_kept_through_a_crash_although_it_never_moved() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    for name in ["store", "forward"] {
        journal.register(name, CursorOptions::default()).unwrap();
    }
    let end = append(&journal, 1..=40);
    // The store is opened first, and knows from elsewhere that it is done with everything.
    let (journal, _) = open(&disk.reboot());
    journal.register("store", CursorOptions::default()).unwrap();
    journal.advance("store", end).unwrap();
    assert_eq!(journal.register("forward", CursorOptions::default()).unwrap(), 0);
    let mut reader = journal.cursor_reader("forward").unwrap();
    let mut read = 0;
    while reader.try_next().unwrap().is_some() {
        read += 1;
    }
    assert_eq!(read, 40);
}

#[test]
fn who_only_reads_still_has_what_the_owner_deletes() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    let end = append(&journal, 1..=40);
    let count = segments(&disk).len();
    let (other, _) = Journal::open_read_only(Arc::new(disk.clone()), dir()).unwrap();
    append(&journal, 41..=60);
    journal.advance("store", end).unwrap();
    assert!(count > 2 && segments(&disk).len() < count);
    assert_eq!(numbers(&other), (1..=40).collect::<Vec<_>>());
    assert_eq!(other.end(), end);
}

#[test]
fn who_waits_for_a_record_is_woken_by_it_or_when_the_time_is_over() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    assert!(!journal.wait(0, Duration::ZERO));
    let end = append(&journal, 1..=1);
    assert!(journal.wait(0, Duration::ZERO));
    assert!(!journal.wait(end, Duration::from_millis(1)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| journal.wait(end, Duration::from_secs(60)));
        append(&journal, 2..=2);
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn without_cursors_nothing_is_deleted() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    append(&journal, 1..=40);
    drop(journal);
    assert_eq!(numbers(&open(&disk).0).len(), 40);
}

#[test]
fn a_consumer_over_its_budget_jumps_forward_and_the_loss_is_counted() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    let budget = CursorOptions { budget_bytes: Some(10_000), back_pressure: false };
    journal.register("slow", budget).unwrap();
    journal.register("fast", CursorOptions::default()).unwrap();
    let mut reader = journal.cursor_reader("slow").unwrap();
    append(&journal, 1..=2);
    let first = reader.try_next().unwrap().unwrap();
    journal.advance("slow", first.next_position).unwrap();
    let end = append(&journal, 3..=60);
    let slow = journal.cursors().into_iter().find(|cursor| cursor.name == "slow").unwrap();
    assert!(slow.lag_bytes <= 10_000 + 4096, "lag {}", slow.lag_bytes);
    let rest: Vec<u64> =
        std::iter::from_fn(|| reader.try_next().unwrap()).map(|e| number(&e)).collect();
    assert_eq!(rest.last(), Some(&60));
    let stats = journal.stats();
    let lost: u64 = stats.lost.values().map(|count| count.records).sum();
    assert_eq!(1 + lost + rest.len() as u64, 60);
    for (key, count) in &stats.lost {
        assert_eq!((key.cursor.as_str(), key.reason), ("slow", LossReason::Budget));
        assert!(key.signal.is_some() && count.bytes > 500 * count.records);
    }
    assert_eq!(stats.lost.len(), Signal::ALL.len());
    // The other consumer has lost nothing.
    let mut fast = journal.cursor_reader("fast").unwrap();
    assert_eq!(std::iter::from_fn(|| fast.try_next().unwrap()).count(), 60);
    journal.advance("fast", end).unwrap();
    assert!(segments(&disk).len() <= 4);
}

#[test]
fn back_pressure_refuses_until_the_consumer_catches_up_but_still_answers_retries() {
    let (journal, _) = open(&SimDisk::new(1));
    let options = CursorOptions { budget_bytes: Some(3000), back_pressure: true };
    journal.register("store", options).unwrap();
    let mut appended = 0;
    let error = loop {
        match journal.append(record(appended + 1, 500)) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Busy { retry_after } if retry_after > Duration::ZERO));
    assert!((5..8).contains(&appended), "{appended} appended");
    assert!(journal.append(record(1, 500)).unwrap().duplicate);
    assert_eq!(journal.stats().refused_busy, 1);
    journal.advance("store", journal.end()).unwrap();
    journal.append(record(100, 500)).unwrap();
}

#[test]
fn a_cursor_that_is_not_configured_any_more_is_retired() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    journal.register("old", CursorOptions::default()).unwrap();
    let end = append(&journal, 1..=40);
    journal.advance("store", end).unwrap();
    drop(journal);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    assert!(segments(&disk).len() > 1);
    assert_eq!(journal.retire_unregistered(), ["old"]);
    assert_eq!(segments(&disk).len(), 1);
    assert!(matches!(journal.advance("old", 5), Err(Error::UnknownCursor { .. })));
}

#[test]
fn a_consumer_that_knows_more_than_the_journal_never_misses_a_record() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    append(&journal, 1..=2);
    journal.register("store", CursorOptions::default()).unwrap();
    journal.advance("store", 1_000_000).unwrap();
    let mut reader = journal.cursor_reader("store").unwrap();
    assert_eq!(reader.next(Some(Duration::ZERO)).unwrap(), None);
    let next = journal.append(record(3, 100)).unwrap();
    assert!(next.position >= 1_000_000);
    assert_eq!(number(&reader.try_next().unwrap().unwrap()), 3);
    let (journal, recovery) = open(&disk.reboot());
    assert_eq!((recovery.damaged.len(), recovery.missing_records), (0, 0));
    assert_eq!(numbers(&journal).last(), Some(&3));
    assert!(journal.append(record(4, 100)).unwrap().position >= next.next_position);
    assert!(matches!(journal.advance("store", u64::MAX), Err(Error::BadPosition { .. })));
}

#[test]
fn positions_a_cursor_has_passed_are_not_used_again_after_a_restart() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    append(&journal, 1..=2);
    journal.register("store", CursorOptions::default()).unwrap();
    journal.advance("store", 1_000_000).unwrap();
    drop(journal);
    let (journal, _) = open(&disk);
    assert_eq!(journal.end(), 1_000_000);
    assert!(journal.append(record(3, 100)).unwrap().position >= 1_000_000);
}

#[test]
fn a_reader_follows_appends_and_ends_with_the_journal() {
    let (journal, _) = open(&SimDisk::new(1));
    let mut reader = journal.reader(0);
    let thread = std::thread::spawn(move || {
        let mut read = Vec::new();
        loop {
            match reader.next(None) {
                Ok(Some(entry)) => read.push(number(&entry)),
                Ok(None) => {}
                Err(error) => return (read, error),
            }
        }
    });
    append(&journal, 1..=200);
    drop(journal);
    let (read, error) = thread.join().unwrap();
    assert_eq!(read, (1..=200).collect::<Vec<_>>());
    assert!(matches!(error, Error::Closed));
}
