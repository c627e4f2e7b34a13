//! Records that are taken out of segments which somebody still needs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::io::IoSlice;

use bytes::Bytes;
use common::*;
use kymo_journal::sim::SimDisk;
use kymo_journal::{
    Compression, CursorOptions, Disk, Edit, Entry, Erased, Error, Format, Journal, Record,
};

/// Bodies that are looked for in files.
fn named(number: u64) -> Record<'static> {
    let body = format!("{:08}needle-{number:03}-{}", number, "x".repeat(200));
    Record { body: Bytes::from(body), ..record(number, 8) }
}

fn is_needle(entry: &Entry, number: u64) -> bool {
    entry.body.windows(10).any(|bytes| bytes == format!("needle-{number:03}").as_bytes())
}

/// Whether a file of the journal has some bytes.
fn holds(disk: &SimDisk, needle: &str) -> bool {
    disk.list(dir()).unwrap().iter().filter(|entry| !entry.is_dir).any(|entry| {
        let file = disk.open(&dir().join(&entry.name)).unwrap();
        let mut bytes = vec![0; entry.size_bytes as usize];
        kymo_journal::disk::read_full_at(&*file, &mut bytes, 0).unwrap();
        bytes.windows(needle.len()).any(|found| found == needle.as_bytes())
    })
}

fn erase(journal: &Journal, number: u64) -> Result<Erased, Error> {
    journal.erase(journal.end(), |entry| {
        Ok(if is_needle(entry, number) { Edit::Erase } else { Edit::Keep })
    })
}

fn shown(journal: &Journal) -> Vec<(u64, u64)> {
    read_all(journal, 0).iter().map(|entry| (entry.position, entry.sequence)).collect()
}

#[test]
fn a_record_that_a_slow_consumer_has_not_read_is_gone_from_disk_and_memory() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    journal.register("slow", CursorOptions::default()).unwrap();
    let appended: Vec<_> = (0..40).map(|number| journal.append(named(number)).unwrap()).collect();
    journal.advance("store", journal.end()).unwrap();
    let mut slow = journal.cursor_reader("slow").unwrap();
    assert!(is_needle(&slow.try_next().unwrap().unwrap(), 0));
    let before = shown(&journal);
    assert!(holds(&disk, "needle-007") && holds(&disk, "needle-039"));
    let done = erase(&journal, 7).unwrap();
    assert_eq!((done.erased, done.replaced, done.segments), (1, 0, 1));
    assert_eq!(erase(&journal, 39).unwrap().erased, 1, "in the segment that was being written");
    assert!(!holds(&disk, "needle-007") && !holds(&disk, "needle-039"));
    assert!(holds(&disk, "needle-008"), "its neighbour stays");
    let expected: Vec<_> =
        (0..40).filter(|nth| ![7, 39].contains(nth)).map(|nth| before[nth]).collect();
    assert_eq!(shown(&journal), expected, "others are where they were");
    let rest: Vec<Entry> = std::iter::from_fn(|| slow.try_next().unwrap()).collect();
    assert_eq!(rest.len(), 37, "a reader that had the segment open sees the new one");
    assert!(!rest.iter().any(|entry| is_needle(entry, 7) || is_needle(entry, 39)));
    // A retry is one all the same, and what comes now is found behind.
    let again = journal.append(named(7)).unwrap();
    assert_eq!((again.duplicate, again.position), (true, appended[7].position));
    let next = journal.append(named(50)).unwrap();
    assert!(next.position >= appended[39].next_position);
    assert!(is_needle(&slow.try_next().unwrap().unwrap(), 50));
    drop(slow);
    journal.close();
    let (journal, recovery) = open(&disk);
    assert_eq!((recovery.damaged.len(), recovery.missing_records), (0, 0));
    let after: Vec<_> = expected.into_iter().chain([(next.position, next.sequence)]).collect();
    assert_eq!(shown(&journal), after);
    assert_eq!(erase(&journal, 7).unwrap(), Erased::default(), "there is nothing left to do");
}

#[test]
fn a_record_gets_a_shorter_body_and_never_a_longer_one() {
    let disk = SimDisk::new(2);
    let (journal, _) = open(&disk);
    journal.register("slow", CursorOptions::default()).unwrap();
    for number in 0..3 {
        journal.append(named(number)).unwrap();
    }
    let before = shown(&journal);
    let replace = |len: usize| {
        journal.erase(journal.end(), move |entry| {
            let (format, compression) = (Format::Loki, Compression::Zstd);
            let body = Bytes::from(vec![b'y'; len]);
            Ok::<_, Error>(match is_needle(entry, 1) {
                true => Edit::Replace { format, compression, body },
                false => Edit::Keep,
            })
        })
    };
    let too_long = replace(10_000).unwrap();
    assert_eq!((too_long.stuck, too_long.replaced, too_long.segments), (1, 0, 0));
    let stuck = journal.erase(journal.end(), |_| Ok::<_, Error>(Edit::Stuck)).unwrap();
    assert_eq!(stuck, Erased { stuck: 3, ..Erased::default() });
    assert!(holds(&disk, "needle-001"));
    assert_eq!(replace(100).unwrap().replaced, 1);
    assert!(!holds(&disk, "needle-001"));
    let entry = &read_all(&journal, 0)[1];
    assert_eq!((entry.format, entry.compression), (Format::Loki, Compression::Zstd));
    assert_eq!(entry.body, vec![b'y'; 100]);
    assert_eq!(shown(&journal), before);
    let (beside, _) = Journal::open_read_only(std::sync::Arc::new(disk.clone()), dir()).unwrap();
    assert_eq!(shown(&beside), before);
}

#[test]
fn what_everyone_has_passed_is_deleted_whole() {
    let disk = SimDisk::new(3);
    let (journal, _) = open(&disk);
    journal.register("store", CursorOptions::default()).unwrap();
    for number in 0..3 {
        journal.append(named(number)).unwrap();
    }
    journal.advance("store", journal.end()).unwrap();
    assert!(holds(&disk, "needle-001"), "little stays where it is");
    // A copy that could not be removed when it failed.
    let copy = disk.create(&dir().join("00000000000000000000.kj.tmp")).unwrap();
    copy.write_at(&[IoSlice::new(b"needle-001")], 0).unwrap();
    erase(&journal, 1).unwrap();
    assert!(!holds(&disk, "needle-001"));
}

#[test]
fn a_crash_at_any_step_leaves_the_old_segment_or_the_new_one() {
    let life = |seed: u64, crash_at: u64| {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk);
        journal.register("slow", CursorOptions::default()).unwrap();
        for number in 0..20 {
            journal.append(named(number)).unwrap();
        }
        let before = shown(&journal);
        let first_step = disk.step();
        disk.crash_at(first_step.saturating_add(crash_at));
        let done = erase(&journal, 5).is_ok() && !disk.crashed();
        let steps = disk.step() - first_step;
        disk.crash();
        drop(journal);
        let disk = if seed.is_multiple_of(3) { disk.restart() } else { disk.reboot() };
        let (journal, recovery) = open(&disk);
        assert_eq!(recovery.damaged, [], "nothing is set aside");
        let there = shown(&journal);
        let without: Vec<_> =
            before.iter().enumerate().filter(|(nth, _)| *nth != 5).map(|(_, one)| *one).collect();
        assert!(there == without || (!done && there == before), "{there:?}");
        assert_eq!(holds(&disk, "needle-005"), there == before);
        journal.register("slow", CursorOptions::default()).unwrap();
        erase(&journal, 5).unwrap();
        assert!(!holds(&disk, "needle-005"), "it is taken out the next time");
        assert_eq!(shown(&journal), without);
        steps
    };
    let steps = life(1, u64::MAX);
    assert!(steps > 8, "{steps} steps");
    for crash_at in 0..=steps {
        for seed in 0..12 {
            life(seed, crash_at);
        }
    }
}
