//! What opening a journal finds after torn writes, damage, missing files and newer versions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::Arc;

use common::*;
use kymo_journal::disk::read_all as read_file;
use kymo_journal::sim::SimDisk;
use kymo_journal::{Disk, Error, Journal, Recovery};

fn first_segment() -> PathBuf {
    dir().join("00000000000000000000.kj")
}

/// A disk with a journal of `count` records, whose process died without closing it.
fn killed(count: u64, len: usize) -> (SimDisk, Vec<kymo_journal::Appended>) {
    let disk = SimDisk::new(1);
    let (journal, _) =
        open_with(&disk, kymo_journal::Options { segment_bytes: 8192, ..small_options() });
    let appended = append_all(&journal, 1..=count, len);
    (disk.restart(), appended)
}

#[test]
fn a_new_directory_is_an_empty_journal() {
    let disk = SimDisk::new(1);
    let (journal, recovery) = open(&disk);
    assert_eq!(recovery, Recovery::default());
    assert_eq!((journal.end(), journal.oldest()), (0, 0));
    assert_eq!(journal.reader(0).try_next().unwrap(), None);
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_all_before_it_stays() {
    let (disk, appended) = killed(4, 300);
    let (whole, last) = (appended[3].next_position, appended[3].position);
    for cut_at in last..whole {
        let disk = disk.restart();
        // Power went before the cursors could say how far the log was on disk.
        disk.remove(&dir().join("cursors")).unwrap();
        let file = disk.open(&first_segment()).unwrap();
        let zeros = vec![0; (whole - cut_at) as usize];
        file.write_at(&[IoSlice::new(&zeros)], cut_at).unwrap();
        let (journal, recovery) = open(&disk);
        // Zeros at the end of a body are what was there before; then nothing is torn.
        let expected: &[u64] = if recovery.records == 4 { &[1, 2, 3, 4] } else { &[1, 2, 3] };
        assert_eq!(numbers(&journal), expected, "cut at {cut_at}");
        assert!(recovery.cut_bytes <= cut_at - last, "cut at {cut_at}");
        assert_eq!(recovery.damaged, []);
        let next = journal.append(record(9, 50)).unwrap();
        assert_eq!(next.sequence, recovery.records + 1);
        drop(journal);
        let (journal, recovery) = open(&disk);
        assert_eq!((recovery.cut_bytes, recovery.damaged.len()), (0, 0));
        assert_eq!(numbers(&journal).last(), Some(&9));
    }
}

#[test]
fn a_file_that_ends_within_a_record_is_cut_there() {
    let (disk, appended) = killed(3, 300);
    for len in [appended[2].position + 10, appended[2].position + 64, appended[2].next_position - 1]
    {
        let disk = disk.restart();
        disk.remove(&dir().join("cursors")).unwrap();
        disk.open(&first_segment()).unwrap().set_len(len).unwrap();
        assert_eq!(numbers(&open(&disk).0), [1, 2], "length {len}");
    }
}

#[test]
fn a_bad_record_in_the_middle_is_set_aside_and_the_rest_stays() {
    let (disk, appended) = killed(5, 300);
    for (bad, offset) in [(1, 0), (1, 70), (2, 200), (3, 17)] {
        let disk = disk.restart();
        let before = read_file(&*disk.open(&first_segment()).unwrap()).unwrap();
        disk.flip_bit(&first_segment(), appended[bad].position + offset, 3);
        let (journal, recovery) = open(&disk);
        let expected: Vec<u64> = (1..=5).filter(|&n| n != bad as u64 + 1).collect();
        assert_eq!(numbers(&journal), expected);
        let damage = recovery.damaged[0];
        assert_eq!((damage.from, damage.to), (appended[bad].position, appended[bad].next_position));
        assert!(damage.is_new);
        assert_eq!(journal.stats().quarantined_ranges, 1);
        let path = dir().join(format!("quarantine/{:020}.bin", damage.from));
        let set_aside = read_file(&*disk.open(&path).unwrap()).unwrap();
        let original = &before[damage.from as usize..damage.to as usize];
        let flipped = set_aside.iter().zip(original).filter(|(a, b)| a != b).count();
        assert_eq!((set_aside.len(), flipped), (original.len(), 1));

        // A retry of what is damaged is stored again; the range is not counted again.
        assert!(!journal.append(record(bad as u64 + 1, 300)).unwrap().duplicate);
        drop(journal);
        let (journal, recovery) = open(&disk);
        assert!(recovery.damaged.iter().all(|damage| !damage.is_new), "{recovery:?}");
        assert_eq!(journal.stats().quarantined_ranges, 0);
        assert_eq!(numbers(&journal).len(), 5);
    }
}

#[test]
fn the_last_record_is_never_taken_for_torn_once_it_was_known_to_be_on_disk() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    let appended = journal.append(record(1, 300)).unwrap();
    drop(journal);
    disk.flip_bit(&first_segment(), appended.position + 100, 0);
    let (journal, recovery) = open(&disk);
    assert_eq!(recovery.cut_bytes, 0);
    assert_eq!(recovery.damaged.len(), 1);
    assert_eq!(journal.end(), appended.next_position);
}

#[test]
fn damage_found_while_reading_is_set_aside_counted_and_skipped() {
    let disk = SimDisk::new(1);
    let options = kymo_journal::Options { recent_bytes: 0, ..small_options() };
    let (journal, _) = open_with(&disk, options);
    journal.register("store", Default::default()).unwrap();
    let appended: Vec<_> = (1..=3).map(|n| journal.append(record(n, 300)).unwrap()).collect();
    disk.flip_bit(&first_segment(), appended[1].position + 100, 0);
    assert_eq!(numbers(&journal), [1, 3]);
    assert_eq!(numbers(&journal), [1, 3]);
    let stats = journal.stats();
    assert_eq!(stats.quarantined_ranges, 1);
    assert_eq!(stats.lost.len(), 1);
    assert!(!journal.append(record(2, 300)).unwrap().duplicate);
}

#[test]
fn a_damaged_segment_header_is_written_anew() {
    let (disk, _) = killed(3, 300);
    disk.flip_bit(&first_segment(), 20, 1);
    assert_eq!(numbers(&open(&disk).0), [1, 2, 3]);
    assert_eq!(numbers(&open(&disk.restart()).0), [1, 2, 3]);
}

#[test]
fn a_missing_segment_is_reported_and_the_rest_is_read() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", Default::default()).unwrap();
    for n in 1..=30 {
        journal.append(record(n, 500)).unwrap();
    }
    drop(journal);
    let names = segments(&disk);
    assert!(names.len() >= 3);
    disk.remove(&dir().join(&names[1])).unwrap();
    let (journal, recovery) = open(&disk);
    let read = numbers(&journal);
    assert_eq!(read.len() as u64 + recovery.missing_records, 30);
    assert!(recovery.missing_records > 0);
    assert_eq!(read.last(), Some(&30));
}

#[test]
fn a_request_that_contains_a_journal_is_never_taken_for_records() {
    let (disk, _) = killed(3, 300);
    let bytes = read_file(&*disk.open(&first_segment()).unwrap()).unwrap();
    let (journal, _) = open(&disk);
    let mut evil = record(7, 8);
    evil.body = bytes::Bytes::from(bytes[..2000].to_vec());
    let appended = journal.append(evil).unwrap();
    let next = journal.append(record(8, 20)).unwrap();
    let segment = segments(&disk).pop().unwrap();
    let disk = disk.restart();
    let start: u64 = segment[..20].parse().unwrap();
    disk.flip_bit(&dir().join(segment), appended.position - start, 0);
    let (journal, recovery) = open(&disk);
    assert_eq!(numbers(&journal), [1, 2, 3, 8]);
    assert_eq!(recovery.damaged[0].to, next.position);
}

#[test]
fn a_newer_version_and_a_foreign_segment_are_refused() {
    let (disk, _) = killed(1, 100);
    let file = disk.open(&first_segment()).unwrap();
    let mut header = read_file(&*file).unwrap();
    header.truncate(64);
    let (foreign, _) = killed(1, 100);

    header[8] = 9;
    let crc = crc32c::crc32c(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
    file.write_at(&[IoSlice::new(&header)], 0).unwrap();
    let error = Journal::open(Arc::new(disk), dir(), small_options()).err().unwrap();
    assert!(matches!(error, Error::NewerVersion { version: 9, supported: 1, .. }));
    assert!(error.to_string().contains("was written by a newer version"), "{error}");

    header[8] = 1;
    header[16] ^= 1;
    header[32..40].copy_from_slice(&8192u64.to_le_bytes());
    let crc = crc32c::crc32c(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
    let other = foreign.create(&dir().join("00000000000000008192.kj")).unwrap();
    other.write_at(&[IoSlice::new(&header)], 0).unwrap();
    let error = Journal::open(Arc::new(foreign), dir(), small_options()).err().unwrap();
    assert!(matches!(error, Error::ForeignSegment { .. }), "{error}");
}

#[test]
fn read_only_changes_nothing_and_needs_no_lock() {
    let (disk, _) = killed(3, 300);
    let (owner, _) = open(&disk);
    let before = disk.step();
    let (journal, recovery) = Journal::open_read_only(Arc::new(disk.clone()), dir()).unwrap();
    assert_eq!(recovery.records, 3);
    assert_eq!(numbers(&journal), [1, 2, 3]);
    assert!(matches!(journal.append(record(4, 10)), Err(Error::OpenedReadOnly)));
    drop(journal);
    assert_eq!(disk.step(), before);
    drop(owner);
}

#[test]
fn damaged_cursors_let_everyone_begin_at_the_oldest_record() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", Default::default()).unwrap();
    let end = journal.append(record(1, 100)).unwrap().next_position;
    journal.append(record(2, 100)).unwrap();
    journal.advance("store", end).unwrap();
    drop(journal);
    disk.flip_bit(&dir().join("cursors"), 50, 2);
    let (journal, _) = open(&disk);
    assert_eq!(journal.cursors(), []);
    assert_eq!(journal.register("store", Default::default()).unwrap(), 64);
    assert_eq!(numbers(&journal), [1, 2]);
}
