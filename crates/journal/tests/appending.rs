//! Appending: failed syncs, full disks, retries, group commit, the lock.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use common::*;
use kymo_journal::sim::SimDisk;
use kymo_journal::{CursorOptions, Disk, Durability, Error, Journal, Options, OsDisk};

#[test]
fn what_is_appended_is_read_back_in_order_with_all_its_fields() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    let appended = journal.append(record(1, 100)).unwrap();
    assert_eq!((appended.position, appended.sequence, appended.duplicate), (64, 1, false));
    journal.append_many(&[record(2, 5000), record(3, 8), record(4, 900)]).unwrap();
    let check = |journal: Journal| {
        let entries = read_all(&journal, 0);
        assert_eq!(entries.iter().map(number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let (entry, sent) = (&entries[1], record(2, 5000));
        assert_eq!((entry.signal, entry.format), (sent.signal, sent.format));
        assert_eq!((entry.compression, &*entry.tenant), (sent.compression, sent.tenant));
        assert_eq!((&entry.body, entry.received_nanos), (&sent.body, START_NANOS));
        assert_eq!(read_all(&journal, entries[1].next_position).len(), 2);
        assert_eq!(journal.synced(), entries[3].next_position);
    };
    check(journal);
    check(open(&disk).0);
}

#[test]
fn append_many_needs_one_sync() {
    let (journal, _) = open_with(&SimDisk::new(1), Options::default());
    let records: Vec<_> = (1..=50).map(|n| record(n, 1000)).collect();
    journal.append_many(&records).unwrap();
    assert_eq!(journal.stats().syncs, 1);
    assert_eq!(journal.stats().records, 50);
}

#[test]
fn after_a_failed_sync_the_record_is_in_a_new_segment_and_only_once() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk);
        journal.append(record(1, 100)).unwrap();
        disk.fail_next_syncs(1);
        let second = journal.append(record(2, 100)).unwrap();
        assert_eq!((second.sequence, journal.stats().failed_segments), (2, 1));
        journal.append(record(3, 100)).unwrap();
        assert_eq!(segments(&disk).len(), 2);
        assert_eq!(numbers(&journal), [1, 2, 3]);
        let (journal, recovery) = open(&disk.reboot());
        assert_eq!(numbers(&journal), [1, 2, 3], "seed {seed}");
        assert_eq!(recovery.damaged, []);
    }
}

#[test]
fn when_the_new_segment_fails_too_the_append_fails_and_the_next_works() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk);
        journal.append(record(1, 100)).unwrap();
        disk.fail_next_syncs(2);
        let error = journal.append(record(2, 100)).unwrap_err();
        assert!(matches!(error, Error::Io { action: "sync", .. }), "{error}");
        let third = journal.append(record(3, 100)).unwrap();
        assert_eq!(third.sequence, 2);
        assert_eq!(numbers(&journal), [1, 3]);
        let (journal, _) = open(&disk.reboot());
        assert_eq!(numbers(&journal), [1, 3], "seed {seed}");
        assert!(!journal.append(record(2, 100)).unwrap().duplicate);
    }
}

#[test]
fn a_full_disk_is_said_clearly_and_costs_nothing_that_was_acknowledged() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.append(record(1, 3000)).unwrap();
    disk.set_capacity(Some(6000));
    let error = journal.append(record(2, 3000)).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }));
    assert!(error.to_string().starts_with("disk full"), "{error}");
    let (journal, _) = open(&disk.reboot());
    assert_eq!(numbers(&journal), [1]);
}

#[test]
fn room_comes_back_while_the_journal_is_open() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    let first = journal.append(record(1, 3000)).unwrap();
    disk.set_capacity(Some(6000));
    assert!(matches!(journal.append(record(2, 3000)), Err(Error::DiskFull { .. })));
    disk.set_capacity(Some(12_000));
    journal.append(record(2, 3000)).unwrap();
    assert_eq!(numbers(&journal), [1, 2]);
    // Consuming makes room even though the cursors cannot be written on a full disk.
    disk.set_capacity(Some(1));
    journal.advance("store", first.next_position).unwrap();
    assert_eq!(segments(&disk).len(), 1);
}

#[test]
fn a_retry_is_acknowledged_once_the_original_is_durable_and_not_stored_again() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    let original = journal.append(record(1, 100)).unwrap();
    let retry = journal.append(record(1, 100)).unwrap();
    assert_eq!(retry, kymo_journal::Appended { duplicate: true, ..original });
    let both = journal.append_many(&[record(2, 50), record(2, 50)]).unwrap();
    assert!(!both[0].duplicate && both[1].duplicate);
    assert_eq!(journal.stats().duplicates, 2);
    let (journal, _) = open(&disk.reboot());
    assert!(journal.append(record(1, 100)).unwrap().duplicate);
    let later =
        kymo_journal::Record { received_nanos: START_NANOS + 601 * SECOND, ..record(1, 100) };
    assert!(!journal.append(later).unwrap().duplicate);
    assert_eq!(numbers(&journal), [1, 2, 1]);
}

#[test]
fn a_retry_of_what_failed_is_stored() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    disk.fail_next_syncs(2);
    assert!(journal.append(record(1, 100)).is_err());
    assert!(!journal.append(record(1, 100)).unwrap().duplicate);
    assert_eq!(numbers(&journal), [1]);
}

#[test]
fn retries_are_recognised_after_their_segment_was_deleted_and_the_journal_reopened() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    let first = journal.append(record(1, 100)).unwrap();
    for n in 2..=20 {
        journal.append(record(n, 900)).unwrap();
    }
    journal.advance("store", journal.end()).unwrap();
    assert!(journal.oldest() > first.next_position);
    let disk = disk.reboot();
    let (journal, _) = open(&disk);
    assert_eq!(journal.append(record(1, 100)).unwrap().position, first.position);
    assert_eq!(hash_files(&disk), 1);
    // The hashes go when nobody can retry any more.
    journal.register("store", CursorOptions::default()).unwrap();
    for n in 30..80 {
        let received_nanos = START_NANOS + 20 * n * SECOND;
        let late = kymo_journal::Record { received_nanos, ..record(n, 900) };
        let end = journal.append(late).unwrap().next_position;
        journal.advance("store", end).unwrap();
    }
    assert!(disk.open(&dir().join("00000000000000000064.kd")).is_err());
    assert!(hash_files(&disk) < 10);
}

fn hash_files(disk: &SimDisk) -> usize {
    disk.list(dir()).unwrap().iter().filter(|entry| entry.name.ends_with(".kd")).count()
}

#[test]
fn memory_durability_survives_a_killed_process() {
    let disk = SimDisk::new(1);
    let options = Options { durability: Durability::Memory, ..small_options() };
    let (journal, _) = open_with(&disk, options);
    for n in 1..=30 {
        journal.append(record(n, 500)).unwrap();
    }
    assert!(journal.synced() < journal.end());
    assert!(journal.stats().syncs < 10);
    let (journal, recovery) = open(&disk.restart());
    assert_eq!(numbers(&journal), (1..=30).collect::<Vec<_>>());
    assert_eq!(recovery.damaged, []);
}

#[test]
fn too_large_a_request_is_refused() {
    let (journal, _) = open(&SimDisk::new(1));
    let huge = kymo_journal::Record { body: vec![0; (64 << 20) + 1].into(), ..record(1, 8) };
    assert!(matches!(journal.append(huge), Err(Error::TooLarge { .. })));
    let tenant = "x".repeat(257);
    let named = kymo_journal::Record { tenant: &tenant, ..record(1, 8) };
    assert!(matches!(journal.append(named), Err(Error::TenantTooLong { .. })));
}

#[test]
fn a_read_only_disk_is_said_clearly() {
    let disk = SimDisk::new(1);
    drop(open(&disk));
    disk.set_read_only(true);
    let error = Journal::open(Arc::new(disk), dir(), small_options()).err().unwrap();
    assert!(matches!(error, Error::ReadOnlyDirectory { .. }), "{error}");
}

#[test]
fn one_directory_has_one_owner_also_within_a_process() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("deep/journal");
    let open = || Journal::open(Arc::new(OsDisk), &path, small_options());
    let (journal, _) = open().unwrap();
    let error = open().err().unwrap();
    assert!(matches!(error, Error::InUse { .. }));
    assert!(error.to_string().ends_with("is in use by another process"), "{error}");
    let clone = journal.clone();
    drop(journal);
    assert!(open().is_err());
    drop(clone);
    open().unwrap();
}

#[test]
fn concurrent_appenders_share_syncs_on_a_real_disk() {
    let data = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1 << 20, ..Options::default() };
    let (journal, _) = Journal::open(Arc::new(OsDisk), data.path(), options).unwrap();
    let mut reader = journal.reader(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                for n in 0..100 {
                    journal.append(record(thread * 1000 + n, 3000)).unwrap();
                }
            });
        }
        let mut last = 0;
        for _ in 0..800 {
            let entry = reader.next(Some(Duration::from_secs(20))).unwrap().unwrap();
            assert_eq!(entry.sequence, last + 1);
            last = entry.sequence;
        }
    });
    let stats = journal.stats();
    assert_eq!(stats.records, 800);
    assert!(stats.syncs < 700, "{} syncs", stats.syncs);
    drop(journal);
    let (journal, recovery) = Journal::open(Arc::new(OsDisk), data.path(), options).unwrap();
    assert_eq!((recovery.records, recovery.cut_bytes), (800, 0));
    let mut read = numbers(&journal);
    read.sort_unstable();
    let sent: Vec<u64> = (0..8).flat_map(|t| (0..100).map(move |n| t * 1000 + n)).collect();
    assert_eq!(read, sent);
}

#[test]
fn callbacks_are_called_without_a_thread_per_request() {
    let data = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(Arc::new(OsDisk), data.path(), small_options()).unwrap();
    let (sender, receiver) = mpsc::channel();
    for n in 0..200 {
        let sender = sender.clone();
        journal.append_with(record(n % 150, 600), move |result| {
            sender.send(result.unwrap().duplicate).unwrap();
        });
    }
    journal.close();
    drop(sender);
    let outcomes: Vec<bool> = receiver.iter().collect();
    assert_eq!(outcomes.len(), 200);
    assert_eq!(outcomes.iter().filter(|&&duplicate| duplicate).count(), 50);
}

#[test]
fn a_callback_may_hold_the_last_handle() {
    let data = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(Arc::new(OsDisk), data.path(), small_options()).unwrap();
    let called = Arc::new(AtomicU64::new(0));
    let (handle, counter) = (journal.clone(), Arc::clone(&called));
    let (sender, receiver) = mpsc::channel::<()>();
    journal.append_with(record(1, 100), move |_| {
        drop(handle);
        counter.fetch_add(1, Ordering::SeqCst);
        drop(sender);
    });
    drop(journal);
    let _ = receiver.recv_timeout(Duration::from_secs(10));
    assert_eq!(called.load(Ordering::SeqCst), 1);
}
