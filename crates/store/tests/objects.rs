//! What every [`Objects`] promises, held against each of them; and what only a real S3 server can
//! show.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[path = "support/seaweed.rs"]
mod seaweed;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use kymo_journal::{Disk, OsDisk, sim::SimDisk};
use kymo_store::objects::{self, LocalObjects, Objects, ObjectsError, S3Objects, S3Options};
use seaweed::Seaweed;

#[test]
fn a_directory_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("made/on/the/way");
    contract(&LocalObjects::open(&root, Arc::new(OsDisk)).unwrap());
}

#[test]
fn a_bucket_keeps_the_contract() {
    if let Some(server) = Seaweed::shared() {
        contract(&s3(server, "contract"));
    }
}

#[test]
fn a_bucket_keeps_the_contract_without_a_prefix() {
    // A server of its own, since listings must find nothing of the others.
    if let Some(server) = Seaweed::start() {
        contract(&s3(&server, ""));
    }
}

#[test]
fn a_simulated_disk_keeps_the_contract() {
    contract(&LocalObjects::open(Path::new("/store"), Arc::new(SimDisk::new(1))).unwrap());
}

/// Cuts the power at every step of a short life, and compares what the next life finds with a
/// model.
#[test]
fn power_loss_takes_nothing_that_was_acknowledged_and_leaves_nothing_by_halves() {
    let root = Path::new("/data/store");
    for seed in 0..8 {
        for step in 1.. {
            let disk = SimDisk::new(seed);
            disk.crash_at(step);
            let acknowledged = live(root, &disk);

            let disk = disk.reboot();
            let objects = LocalObjects::open(root, Arc::new(disk.clone())).unwrap();
            let found: Vec<_> = paths(&objects, "")
                .into_iter()
                .map(|path| (objects.get(&path).unwrap(), path))
                .map(|(content, path)| (path, String::from_utf8(content.to_vec()).unwrap()))
                .collect();
            // The act that was under way may have happened or not.
            let before = model(&LIFE[..acknowledged]);
            let after = model(&LIFE[..LIFE.len().min(acknowledged + 1)]);
            assert!(found == before || found == after, "seed {seed}, step {step}: {found:?}");
            assert!(!names(&disk, root).iter().any(|name| name.ends_with(".tmp")), "seed {seed}");
            // And it can be written to as ever.
            objects.put("log/9/9", body("after")).unwrap();
            assert_eq!(objects.get("log/9/9").unwrap(), "after");
            if acknowledged == LIFE.len() {
                break;
            }
        }
    }
}

#[test]
fn a_failed_sync_is_an_error_and_the_repetition_is_not_taken_for_a_loss() {
    let root = Path::new("/store");
    let disk = SimDisk::new(7);
    let objects = LocalObjects::open(root, Arc::new(disk.clone())).unwrap();
    objects.put("log/1", body("there before")).unwrap();
    disk.fail_next_syncs(1);
    assert!(matches!(objects.put_new("log/2", body("ours")), Err(ObjectsError::Io { .. })));
    assert!(objects.put_new("log/2", body("ours")).unwrap());
    disk.fail_next_syncs(1);
    assert!(objects.put("log/2", body("newer")).is_err());
    objects.put("log/2", body("newer")).unwrap();
    assert_eq!(names(&disk, &root.join("log")), ["1", "2"]);
    let objects = LocalObjects::open(root, Arc::new(disk.reboot())).unwrap();
    assert_eq!(objects.get("log/2").unwrap(), "newer");
}

#[test]
fn a_create_cut_short_anywhere_succeeds_when_repeated() {
    let root = Path::new("/store");
    for step in 1.. {
        let disk = SimDisk::new(step);
        disk.crash_at(step);
        let create = |disk: &SimDisk| {
            LocalObjects::open(root, Arc::new(disk.clone()))?.put_new("t/log/1", body("ours"))
        };
        let is_over = create(&disk).is_ok();
        // Killed, not cut off from power: a rename that was not synced shows.
        let disk = disk.restart();
        assert!(create(&disk).unwrap(), "step {step}");
        let objects = LocalObjects::open(root, Arc::new(disk.reboot())).unwrap();
        assert_eq!(objects.get("t/log/1").unwrap(), "ours", "step {step}");
        if is_over {
            break;
        }
    }
}

enum Act {
    Put(&'static str, &'static str),
    PutNew(&'static str, &'static str),
    Delete(&'static str),
}

const LIFE: [Act; 9] = [
    Act::Put("nodes/n", "first"),
    Act::Put("t/spans/day/1.parquet", "block 1"),
    Act::PutNew("t/spans/log/1", "entry"),
    Act::PutNew("t/spans/log/1", "of the loser"),
    Act::Put("nodes/n", "second"),
    Act::Delete("t/spans/day/1.parquet"),
    // The directory that just went is made anew.
    Act::Put("t/spans/day/2.parquet", "block 2"),
    Act::Delete("nodes/n"),
    Act::PutNew("t/spans/log/2", ""),
];

/// Does the acts of [`LIFE`] until one fails; how many were acknowledged.
fn live(root: &Path, disk: &SimDisk) -> usize {
    let Ok(objects) = LocalObjects::open(root, Arc::new(disk.clone())) else { return 0 };
    let act = |act: &Act| match act {
        Act::Put(path, text) => objects.put(path, body(text)),
        Act::PutNew(path, text) => objects.put_new(path, body(text)).map(drop),
        Act::Delete(path) => objects.delete(path),
    };
    LIFE.iter().take_while(|next| act(next).is_ok()).count()
}

/// The objects that should be there after `acts`.
fn model(acts: &[Act]) -> Vec<(String, String)> {
    let mut objects = BTreeMap::new();
    for act in acts {
        match act {
            Act::Put(path, text) => drop(objects.insert(*path, *text)),
            Act::PutNew(path, text) => drop(objects.entry(path).or_insert(text)),
            Act::Delete(path) => drop(objects.remove(path)),
        }
    }
    objects.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}

/// The names of all files below `dir`.
fn names(disk: &SimDisk, dir: &Path) -> Vec<String> {
    let entries = disk.list(dir).unwrap();
    entries
        .into_iter()
        .flat_map(|entry| match entry.is_dir {
            true => names(disk, &dir.join(entry.name)),
            false => vec![entry.name],
        })
        .collect()
}

#[test]
fn a_path_opens_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = objects::open(path.to_str().unwrap(), Arc::new(OsDisk)).unwrap();
    store.put("a", body("x")).unwrap();
    assert_eq!(store.describe(), path.to_str().unwrap());
    assert!(path.join("a").is_file());
}

/// Everything an implementation must do, on an empty store.
fn contract(objects: &dyn Objects) {
    empty(objects);
    put_get_replace(objects);
    ranges_and_tails(objects);
    listing(objects);
    create_if_absent(objects);
    races_have_one_winner(objects);
    deleting(objects);
    invalid_paths(objects);
}

fn body(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Bytes that differ from place to place.
fn pattern(len: usize) -> Bytes {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn paths(objects: &dyn Objects, prefix: &str) -> Vec<String> {
    objects.list(prefix).unwrap().into_iter().map(|info| info.path).collect()
}

fn empty(objects: &dyn Objects) {
    assert_eq!(paths(objects, ""), [""; 0]);
    assert_eq!(objects.list_dirs("").unwrap(), [""; 0]);
    assert_eq!(paths(objects, "nothing/here"), [""; 0]);
    assert!(objects.get("none").unwrap_err().is_not_found());
    assert!(objects.get_range("none/none", 0..1).unwrap_err().is_not_found());
    assert!(objects.get_tail("none.parquet", 5).unwrap_err().is_not_found());
    assert!(objects.get_tail("none", 0).unwrap_err().is_not_found());
    objects.delete("none").unwrap();
    objects.delete("no/such/dir").unwrap();
}

fn put_get_replace(objects: &dyn Objects) {
    let big = pattern(1 << 20);
    for content in [body("first"), body("the second, which is longer"), Bytes::new(), big] {
        objects.put("nodes/n1", content.clone()).unwrap();
        assert_eq!(objects.get("nodes/n1").unwrap(), content);
        let info = &objects.list("nodes").unwrap()[0];
        assert_eq!(info.size_bytes, content.len() as u64);
    }
    // A directory is no object.
    assert!(objects.get("nodes").unwrap_err().is_not_found());
    assert!(objects.get_range("nodes", 0..1).unwrap_err().is_not_found());
    objects.delete("nodes").unwrap();
    assert!(!objects.get("nodes/n1").unwrap().is_empty());
    objects.delete("nodes/n1").unwrap();
}

fn ranges_and_tails(objects: &dyn Objects) {
    let content = pattern(10_000);
    for path in ["blocks/a.parquet", "log/1"] {
        objects.put(path, content.clone()).unwrap();
        for range in [0..1, 0..10_000, 9_999..10_000, 4_000..6_000, 5..5, 0..0] {
            let expected = content.slice(range.start as usize..range.end as usize);
            assert_eq!(objects.get_range(path, range.clone()).unwrap(), expected, "{range:?}");
        }
        #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
        for range in [0..10_001, 9_999..10_001, 10_000..10_001, 20_000..20_001, 0..u64::MAX, 7..3] {
            let error = objects.get_range(path, range.clone()).unwrap_err();
            assert!(matches!(error, ObjectsError::OutOfRange { .. }), "{range:?}: {error}");
        }
        for len_bytes in [0, 1, 9_999, 10_000, 10_001, 1 << 40] {
            let tail = objects.get_tail(path, len_bytes).unwrap();
            assert_eq!(tail.size_bytes, 10_000);
            assert_eq!(tail.bytes, content.slice(10_000 - len_bytes.min(10_000) as usize..));
        }
        // A replaced object is not mistaken for the one it was.
        objects.put(path, body("new")).unwrap();
        assert_eq!(objects.get_range(path, 0..3).unwrap(), "new");
        assert_eq!(objects.get_tail(path, 2).unwrap().bytes, "ew");
        objects.put(path, Bytes::new()).unwrap();
        let tail = objects.get_tail(path, 8).unwrap();
        assert_eq!((tail.size_bytes, tail.bytes.len()), (0, 0));
        objects.delete(path).unwrap();
        assert!(objects.get_range(path, 0..1).unwrap_err().is_not_found());
    }
}

fn listing(objects: &dyn Objects) {
    let all = [
        "tree/a-b/1",
        "tree/a/b/c",
        "tree/a/b/d/e",
        "tree/a/bc",
        "tree/a/f",
        "tree/t%2Fx/spans/2026-01-02/1.parquet",
        "tree/z",
    ];
    for path in all.iter().rev() {
        objects.put(path, body(path)).unwrap();
    }
    assert_eq!(paths(objects, ""), all);
    assert_eq!(paths(objects, "tree"), all);
    assert_eq!(paths(objects, "tree/a"), all[1..5]);
    assert_eq!(paths(objects, "tree/a/b/"), all[1..3]);
    assert_eq!(paths(objects, "tree/t%2Fx"), all[5..6]);
    assert_eq!(paths(objects, "tree/z"), [""; 0]);
    assert_eq!(paths(objects, "tre"), [""; 0]);
    assert!(objects.list_dirs("").unwrap().contains(&"tree".to_owned()));
    assert_eq!(objects.list_dirs("tree").unwrap(), ["a", "a-b", "t%2Fx"]);
    assert_eq!(objects.list_dirs("tree/a/").unwrap(), ["b"]);
    assert_eq!(objects.list_dirs("tree/a/b").unwrap(), ["d"]);
    assert_eq!(objects.list_dirs("tree/z").unwrap(), [""; 0]);
    assert_eq!(objects.get(all[5]).unwrap(), all[5]);
    for info in objects.list("").unwrap() {
        assert_eq!(info.size_bytes, info.path.len() as u64);
        assert!(info.modified_nanos > 0);
    }
    for path in all {
        objects.delete(path).unwrap();
    }
    assert_eq!(paths(objects, ""), [""; 0]);
}

fn create_if_absent(objects: &dyn Objects) {
    assert!(objects.put_new("log/1", body("one")).unwrap());
    assert!(!objects.put_new("log/1", body("two")).unwrap());
    assert!(!objects.put_new("log/1", body("longer than one")).unwrap());
    assert_eq!(objects.get("log/1").unwrap(), "one");
    // The same again is taken for a repetition.
    assert!(objects.put_new("log/1", body("one")).unwrap());
    objects.delete("log/1").unwrap();
    assert!(objects.put_new("log/1", body("two")).unwrap());
    assert!(objects.put_new("log/2", Bytes::new()).unwrap());
    assert!(!objects.put_new("log/2", body("x")).unwrap());
    objects.delete("log/1").unwrap();
    objects.delete("log/2").unwrap();
}

fn races_have_one_winner(objects: &dyn Objects) {
    const WRITERS: usize = 8;
    for round in 0..5 {
        let path = format!("race/{round}");
        let start = Barrier::new(WRITERS);
        let write = |writer: usize| {
            start.wait();
            objects.put_new(&path, body(&format!("writer {writer}"))).unwrap()
        };
        let won: Vec<bool> = thread::scope(|scope| {
            let write = &write;
            let writers: Vec<_> =
                (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<_> = (0..WRITERS).filter(|writer| won[*writer]).collect();
        assert_eq!(winners.len(), 1, "{won:?}");
        assert_eq!(objects.get(&path).unwrap(), format!("writer {}", winners[0]));
        objects.delete(&path).unwrap();
    }
}

fn deleting(objects: &dyn Objects) {
    objects.put("d/1", body("x")).unwrap();
    objects.put("d/2", body("x")).unwrap();
    objects.delete("d/1").unwrap();
    objects.delete("d/1").unwrap();
    assert_eq!(paths(objects, "d"), ["d/2"]);
    assert!(objects.get("d/1").unwrap_err().is_not_found());
    objects.delete("d/2").unwrap();
}

fn invalid_paths(objects: &dyn Objects) {
    for path in ["", "/a", "a/", "a//b", "../a", "a/../b", ".hidden", "a b", "ü"] {
        for error in [
            objects.get(path).unwrap_err(),
            objects.get_range(path, 0..0).unwrap_err(),
            objects.get_tail(path, 1).unwrap_err(),
            objects.put(path, Bytes::new()).unwrap_err(),
            objects.put_new(path, Bytes::new()).unwrap_err(),
            objects.delete(path).unwrap_err(),
        ] {
            assert!(matches!(error, ObjectsError::InvalidPath { .. }), "{path}: {error}");
        }
    }
    for prefix in ["/", "a//", "..", "a/../b/"] {
        assert!(objects.list(prefix).is_err(), "{prefix}");
        assert!(objects.list_dirs(prefix).is_err(), "{prefix}");
    }
    assert_eq!(paths(objects, ""), [""; 0]);
}

fn s3(server: &Seaweed, prefix: &str) -> S3Objects {
    S3Objects::open(&server.url(prefix), &S3Options::from_variables(server.variables())).unwrap()
}

#[test]
fn a_large_body_goes_to_the_bucket_in_parts() {
    let Some(server) = Seaweed::shared() else { return };
    let objects = s3(server, "large");
    let content = pattern(41 << 20);
    objects.put("a.parquet", content.clone()).unwrap();
    assert_eq!(objects.get("a.parquet").unwrap(), content);
    let tail = objects.get_tail("a.parquet", 1 << 20).unwrap();
    assert_eq!((tail.size_bytes, &tail.bytes[..]), (41 << 20, &content[40 << 20..]));
}

#[test]
fn a_listing_of_many_pages_is_complete() {
    let Some(server) = Seaweed::shared() else { return };
    let objects = s3(server, "many");
    // A page has 1,000 objects.
    thread::scope(|scope| {
        for part in 0..4 {
            let objects = &objects;
            scope.spawn(move || {
                for number in (part..1_100).step_by(4) {
                    objects.put(&format!("{number:05}/x"), body("x")).unwrap();
                }
            });
        }
    });
    let expected: Vec<_> = (0..1_100).map(|number| format!("{number:05}/x")).collect();
    assert_eq!(paths(&objects, ""), expected);
    assert_eq!(objects.list_dirs("").unwrap().len(), 1_100);
}

#[test]
fn the_bucket_can_be_used_from_the_threads_of_another_runtime() {
    let Some(server) = Seaweed::shared() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let objects = s3(server, "nested");
        objects.put("a", body("x")).unwrap();
        let objects = tokio::spawn(async move {
            assert_eq!(objects.get("a").unwrap(), "x");
            objects
        });
        // Dropped here too, with its own runtime.
        drop(objects.await.unwrap());
    });
}

#[test]
fn wrong_credentials_are_denied_with_a_clear_message() {
    let Some(server) = Seaweed::shared() else { return };
    for (key, wrong) in [("AWS_SECRET_ACCESS_KEY", "not-it"), ("AWS_ACCESS_KEY_ID", "nobody")] {
        let variables = server.variables().into_iter().chain([(key, wrong.to_owned())]);
        let options = S3Options::from_variables(variables);
        let objects = S3Objects::open(&server.url("denied"), &options).unwrap();
        for error in [
            objects.get("a").unwrap_err(),
            objects.put("a", body("x")).unwrap_err(),
            objects.put_new("a", body("x")).unwrap_err(),
            objects.list("").unwrap_err(),
            objects.list_dirs("").unwrap_err(),
            objects.delete("a").unwrap_err(),
        ] {
            assert!(matches!(error, ObjectsError::Denied { .. }), "{error:?}");
            assert!(error.to_string().contains("check AWS_ACCESS_KEY_ID"), "{error}");
        }
    }
}

#[test]
fn a_missing_bucket_is_named() {
    let Some(server) = Seaweed::shared() else { return };
    let options = S3Options::from_variables(server.variables());
    let objects = S3Objects::open("s3://nowhere/a", &options).unwrap();
    for error in [
        objects.get("a").unwrap_err(),
        objects.put("a", body("x")).unwrap_err(),
        objects.put_new("a", body("x")).unwrap_err(),
        objects.list("").unwrap_err(),
        objects.list_dirs("").unwrap_err(),
    ] {
        assert!(matches!(error, ObjectsError::NoBucket { .. }), "{error:?}");
        assert!(error.to_string().contains("`nowhere`"), "{error}");
    }
}

#[test]
fn a_server_that_hangs_is_unavailable_in_bounded_time() {
    // Accepts connections into its backlog and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let options = S3Options::from_variables([
        ("AWS_ENDPOINT_URL", &*format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_TIMEOUT", "1s"),
    ]);
    let objects =
        S3Objects::open("s3://bucket", &options.retry_for(Duration::from_secs(1))).unwrap();
    let start = Instant::now();
    let error = objects.put_new("a", body("x")).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
