//! An idle journal is small: when every cursor has passed everything, an empty segment takes the place
//! of the last one, and nothing is lost by it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use kymo_journal::sim::SimDisk;
use kymo_journal::{
    Appended, CursorOptions, Disk, Durability, Journal, Options, OsDisk, Record, Recovery,
};

fn options() -> Options {
    Options { segment_bytes: 1 << 20, idle_bytes: 10_000, ..small_options() }
}

fn start(disk: &SimDisk) -> Journal {
    let (journal, recovery) = open_with(disk, options());
    assert_eq!(recovery.damaged, []);
    journal.register("store", CursorOptions::default()).unwrap();
    journal
}

/// Appends 40 records of 500 bytes, more than may stay.
fn fill(journal: &Journal, first: u64) -> Vec<Appended> {
    append_all(journal, first..=first + 39, 500)
}

fn pass_all(journal: &Journal) {
    journal.advance("store", journal.end()).unwrap();
}

/// Lengths of the files whose names end so.
fn sizes(disk: &dyn Disk, dir: &Path, suffix: &str) -> Vec<u64> {
    let entries = disk.list(dir).unwrap().into_iter();
    entries.filter(|entry| entry.name.ends_with(suffix)).map(|entry| entry.size_bytes).collect()
}

fn segment_sizes(disk: &SimDisk) -> Vec<u64> {
    sizes(disk, dir(), ".kj")
}

#[test]
fn when_everything_is_passed_a_real_directory_takes_a_few_hundred_bytes_and_hashes() {
    let data = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(Arc::new(OsDisk), data.path(), Options::default()).unwrap();
    journal.register("store", CursorOptions::default()).unwrap();
    let all = || sizes(&OsDisk, data.path(), "").iter().sum::<u64>();
    append_all(&journal, 1..=3, 1000);
    // Little is reserved for little, and it may stay.
    pass_all(&journal);
    assert!(all() > 1 << 20 && all() < 2 << 20, "{} bytes", all());
    append_all(&journal, 4..=8, 1 << 20);
    assert!(all() > 5 << 20);
    pass_all(&journal);
    assert_eq!(sizes(&OsDisk, data.path(), ".kj"), [64]);
    assert!(all() < 1000, "{} bytes", all());
    append_all(&journal, 9..=9, 1000);
    assert!(all() > 1 << 20 && all() < 2 << 20, "{} bytes", all());
    pass_all(&journal);
    // A close leaves nothing behind, however little it is.
    drop(journal);
    assert_eq!(sizes(&OsDisk, data.path(), ".kj"), [64]);
    assert!(all() < 1000, "{} bytes", all());
}

#[test]
fn little_traffic_causes_no_renewal() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    for n in 1..=17 {
        append_all(&journal, n..=n, 500);
        pass_all(&journal);
    }
    assert_eq!(journal.stats().renewals, 0);
    append_all(&journal, 18..=40, 500);
    pass_all(&journal);
    assert_eq!(journal.stats().renewals, 1);
    assert_eq!(segment_sizes(&disk), [64]);
    // Nor does passing again what is passed.
    pass_all(&journal);
    journal.register("other", CursorOptions::default()).unwrap();
    journal.advance("other", journal.end()).unwrap();
    assert_eq!(journal.stats().renewals, 1);
}

#[test]
fn positions_and_sequences_go_on_in_the_empty_segment() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    let last = fill(&journal, 1).pop().unwrap();
    let mut reader = journal.reader(last.next_position);
    pass_all(&journal);
    assert_eq!((journal.end(), journal.oldest()), (last.next_position, last.next_position));
    assert_eq!(reader.next(Some(Duration::ZERO)).unwrap(), None);
    let names = segments(&disk);
    let next = journal.append(record(41, 500)).unwrap();
    assert_eq!((next.position, next.sequence), (last.next_position + 64, 41));
    assert_eq!(segments(&disk), names);
    assert_eq!(number(&reader.try_next().unwrap().unwrap()), 41);
    assert_eq!(numbers(&open_with(&disk.reboot(), options()).0), [41]);
}

#[test]
fn a_reopened_empty_journal_has_the_same_end_and_sequence_even_without_cursors() {
    for lose_cursors in [false, true] {
        let disk = SimDisk::new(1);
        let journal = start(&disk);
        fill(&journal, 1);
        pass_all(&journal);
        let end = journal.end();
        let disk = disk.reboot();
        if lose_cursors {
            disk.remove(&dir().join("cursors")).unwrap();
        }
        for _ in 0..2 {
            let journal = start(&disk);
            assert_eq!((journal.end(), journal.oldest(), journal.synced()), (end, end, end));
            assert_eq!(read_all(&journal, 0), []);
            assert_eq!(journal.cursors()[0].lag_bytes, 0);
        }
        assert_eq!(segment_sizes(&disk), [64]);
        let journal = start(&disk);
        let next = journal.append(record(41, 500)).unwrap();
        assert!(next.position > end && next.sequence == 41);
        // The empty one was found, not made by this process, and is not written to.
        pass_all(&journal);
        drop(journal);
        let (journal, recovery) = open_with(&disk, options());
        assert_eq!((journal.end(), recovery), (next.next_position, Recovery::default()));
        assert_eq!(segment_sizes(&disk), [64]);
    }
}

#[test]
fn retries_are_recognised_after_a_renewal_and_after_reopening() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    let appended = fill(&journal, 1);
    pass_all(&journal);
    let check = |journal: &Journal| {
        for (n, original) in (1..).zip(&appended) {
            let retry = journal.append(record(n, 500)).unwrap();
            assert_eq!(retry, Appended { duplicate: true, ..*original });
        }
    };
    check(&journal);
    drop(journal);
    let journal = start(&disk);
    check(&journal);
    let disk = disk.reboot();
    check(&start(&disk));
    assert_eq!(segment_sizes(&disk), [64]);
}

#[test]
fn hashes_of_many_renewals_share_a_file_and_go_when_nobody_can_retry() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    let hash_files = || sizes(&disk, dir(), ".kd");
    for round in 0..30 {
        fill(&journal, 1 + 40 * round);
        pass_all(&journal);
    }
    assert_eq!(journal.stats().renewals, 30);
    assert_eq!(hash_files(), [36 + 48 * 1200]);
    for round in 30..40 {
        fill(&journal, 1 + 40 * round);
        pass_all(&journal);
    }
    assert_eq!(hash_files().iter().sum::<u64>(), 2 * 36 + 48 * 1600);
    assert!(journal.append(record(1, 500)).unwrap().duplicate);
    // By the time of a record that comes later: only its own file stays.
    let late = START_NANOS + 601 * SECOND;
    for n in 2001..=2040 {
        journal.append(Record { received_nanos: late, ..record(n, 500) }).unwrap();
    }
    pass_all(&journal);
    assert_eq!(hash_files(), [36 + 48 * 40]);
    // By the clock, when hardly anything comes.
    disk.advance_clock(Duration::from_secs(601));
    append_all(&journal, 3000..=3000, 8);
    pass_all(&journal);
    assert_eq!(hash_files(), [] as [u64; 0]);
    drop(journal);
    disk.advance_clock(Duration::from_secs(601));
    drop(start(&disk));
    assert_eq!(hash_files(), [] as [u64; 0]);
}

#[test]
fn a_file_of_hashes_whose_first_have_expired_gets_a_new_name() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    for (round, minutes) in [0, 6, 12].into_iter().enumerate() {
        let first = 1 + 40 * round as u64;
        for n in first..first + 40 {
            let received_nanos = START_NANOS + minutes * 60 * SECOND;
            journal.append(Record { received_nanos, ..record(n, 500) }).unwrap();
        }
        pass_all(&journal);
    }
    assert_eq!(sizes(&disk, dir(), ".kd"), [36 + 48 * 80]);
    assert!(disk.open(&dir().join("00000000000000000064.kd")).is_err());
    let journal = start(&disk.reboot());
    let retry = Record { received_nanos: START_NANOS + 720 * SECOND, ..record(41, 500) };
    assert!(journal.append(retry).unwrap().duplicate);
}

#[test]
fn a_cursor_that_is_behind_and_a_journal_without_cursors_keep_everything() {
    let disk = SimDisk::new(1);
    let (journal, _) = open_with(&disk, options());
    fill(&journal, 1);
    drop(journal);
    let journal = start(&disk);
    journal.register("forward", CursorOptions::default()).unwrap();
    pass_all(&journal);
    drop(journal);
    assert_eq!(numbers(&open_with(&disk, options()).0).len(), 40);
    let journal = start(&disk);
    journal.advance("forward", journal.end()).unwrap();
    assert_eq!((segment_sizes(&disk), journal.stats().renewals), (vec![64], 1));
}

#[test]
fn a_cursor_registered_while_all_is_passed_begins_at_the_end() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    fill(&journal, 1);
    pass_all(&journal);
    assert_eq!(journal.register("new", CursorOptions::default()).unwrap(), journal.end());
    journal.append(record(41, 500)).unwrap();
    let entry = journal.cursor_reader("new").unwrap().try_next().unwrap().unwrap();
    assert_eq!(number(&entry), 41);
}

#[test]
fn when_the_empty_segment_cannot_be_made_appends_go_on_and_it_is_made_later() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let journal = start(&disk);
        let end = fill(&journal, 1).pop().unwrap().next_position;
        disk.fail_next_syncs(1);
        pass_all(&journal);
        assert_eq!((journal.stats().renewals, journal.end()), (0, end));
        assert_eq!(segments(&disk).len(), 1);
        let next = journal.append(record(41, 500)).unwrap();
        assert_eq!((next.sequence, journal.stats().failed_segments), (41, 0));
        if seed % 2 == 0 {
            let journal = start(&disk.reboot());
            assert_eq!(numbers(&journal).last(), Some(&41), "seed {seed}");
            assert!(journal.append(record(1, 500)).unwrap().duplicate);
        } else {
            fill(&journal, 42);
            pass_all(&journal);
            assert_eq!((journal.stats().renewals, segment_sizes(&disk)), (1, vec![64]));
        }
    }
}

#[test]
fn what_is_written_first_to_the_empty_segment_may_fail_and_be_large() {
    for seed in 0..30 {
        let disk = SimDisk::new(seed);
        let journal = start(&disk);
        fill(&journal, 1);
        pass_all(&journal);
        disk.fail_next_syncs(1);
        let next = journal.append(record(41, 1100 << 10)).unwrap();
        assert_eq!((next.sequence, journal.stats().failed_segments), (41, 1));
        let disk = disk.reboot();
        let journal = start(&disk);
        assert_eq!(numbers(&journal), [41], "seed {seed}");
        pass_all(&journal);
        assert_eq!(segment_sizes(&disk), [64]);
    }
}

#[test]
fn a_full_disk_gets_room_again_from_its_last_segment() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    fill(&journal, 1);
    disk.set_capacity(Some(41_000));
    let mut n = 41;
    while journal.append(record(n, 500)).is_ok() {
        n += 1;
    }
    pass_all(&journal);
    assert_eq!(segment_sizes(&disk), [64]);
    journal.append(record(n, 500)).unwrap();
}

#[test]
fn a_torn_header_of_the_empty_segment_costs_nothing() {
    for len in [0, 10, 63, 64] {
        let disk = SimDisk::new(1);
        let journal = start(&disk);
        let end = fill(&journal, 1).pop().unwrap().next_position;
        let disk = disk.restart();
        // As if power went while it was created.
        let torn = disk.create(&dir().join(format!("{end:020}.kj"))).unwrap();
        torn.set_len(len).unwrap();
        let journal = start(&disk);
        assert_eq!((journal.end(), numbers(&journal).len()), (end, 40), "length {len}");
        assert!(journal.append(record(41, 500)).unwrap().position >= end + 64);
    }
}

#[test]
fn memory_durability_renews_as_well_and_survives_a_power_loss_afterwards() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let options = Options { durability: Durability::Memory, ..options() };
        let (journal, _) = open_with(&disk, options);
        journal.register("store", CursorOptions::default()).unwrap();
        fill(&journal, 1);
        pass_all(&journal);
        let end = journal.end();
        assert_eq!((segment_sizes(&disk), journal.synced()), (vec![64], end));
        let (journal, recovery) = open_with(&disk.reboot(), options);
        assert_eq!((journal.end(), recovery), (end, Recovery::default()), "seed {seed}");
        assert_eq!(journal.append(record(41, 500)).unwrap().sequence, 41);
    }
}

#[test]
fn a_live_reader_misses_nothing_that_is_in_memory_when_the_store_is_faster() {
    let disk = SimDisk::new(1);
    let (journal, _) = open_with(&disk, Options { recent_bytes: 1 << 20, ..options() });
    journal.register("store", CursorOptions::default()).unwrap();
    let mut live = journal.reader(0);
    fill(&journal, 1);
    pass_all(&journal);
    append_all(&journal, 41..=42, 500);
    let seen: Vec<u64> =
        std::iter::from_fn(|| live.try_next().unwrap()).map(|entry| number(&entry)).collect();
    assert_eq!(seen, (1..=42).collect::<Vec<_>>());
}

#[test]
fn a_jump_beyond_the_end_is_kept_by_the_empty_segment() {
    let disk = SimDisk::new(1);
    let journal = start(&disk);
    fill(&journal, 1);
    journal.advance("store", 1_000_000).unwrap();
    assert_eq!(segments(&disk), ["00000000000001000000.kj"]);
    let mut reader = journal.reader(0);
    // Waits instead of turning round and round.
    assert_eq!(reader.next(Some(Duration::from_millis(1))).unwrap(), None);
    drop(journal);
    let journal = start(&disk);
    assert_eq!(journal.end(), 1_000_000);
    assert!(journal.append(record(41, 500)).unwrap().position >= 1_000_000);
}

#[test]
fn appenders_consumers_and_read_only_tools_do_not_disturb_each_other_on_a_real_disk() {
    let data = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1 << 16, idle_bytes: 4000, ..Options::default() };
    let (journal, _) = Journal::open(Arc::new(OsDisk), data.path(), options).unwrap();
    journal.register("store", CursorOptions::default()).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let appenders: Vec<_> = (0..3)
            .map(|thread| {
                let journal = &journal;
                scope.spawn(move || {
                    for n in 0..150 {
                        journal.append(record(thread * 1000 + n, 1500)).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // It may see a record half written, but it opens.
                let opened = Journal::open_read_only(Arc::new(OsDisk), data.path());
                let (tool, _) = opened.unwrap();
                assert!(tool.oldest() <= tool.end());
            }
        });
        let mut reader = journal.cursor_reader("store").unwrap();
        for last in 0..450 {
            let entry = reader.next(Some(Duration::from_secs(20))).unwrap().unwrap();
            assert_eq!(entry.sequence, last + 1);
            journal.advance("store", entry.next_position).unwrap();
        }
        appenders.into_iter().for_each(|thread| thread.join().unwrap());
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(journal.stats().renewals > 0);
    drop(journal);
    assert_eq!(sizes(&OsDisk, data.path(), ".kj"), [64]);
}
