//! Settings of tenants, on a local disk and in a bucket.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[path = "support/backends.rs"]
mod backends;
#[path = "support/seaweed.rs"]
#[allow(dead_code)]
mod seaweed;
#[path = "support/watched.rs"]
#[allow(dead_code)]
mod watched;

use std::sync::Arc;

use backends::{on_each_backend, open};
use bytes::Bytes;
use kymo_store::check::{Finding, check};
use kymo_store::limits::{DASHBOARD_KEPT_VERSIONS, SETTING_KEPT_VERSIONS, SETTING_MAX_BYTES};
use kymo_store::objects::Objects;
use kymo_store::settings::{Change, Family, Setting};
use kymo_store::{Options, Store, StoreError};
use watched::Watched;

const DIRECTORY: &str = "%settings/default/overrides";

fn set(store: &Store, expected: u64, body: &str) -> Change {
    let body = Some(Bytes::copy_from_slice(body.as_bytes()));
    store.set("default", Setting::Overrides, expected, body).unwrap()
}

fn unset(store: &Store, expected: u64) -> Change {
    store.set("default", Setting::Overrides, expected, None).unwrap()
}

/// Version and body.
fn get(store: &Store) -> Option<(u64, String)> {
    let set = store.setting("default", Setting::Overrides).unwrap()?;
    Some((set.version, String::from_utf8(set.body.to_vec()).unwrap()))
}

#[test]
fn who_changes_a_setting_must_know_the_version_that_holds() {
    on_each_backend("settings", |dir, objects| {
        {
            let store = open(dir, objects, Options::default());
            assert_eq!(get(&store), None);
            assert_eq!(set(&store, 1, "early"), Change::Conflict(0));
            assert_eq!(set(&store, 0, "first"), Change::Done(1));
            assert_eq!(set(&store, 0, "blind"), Change::Conflict(1));
            assert_eq!(set(&store, 1, "second"), Change::Done(2));
            assert_eq!(unset(&store, 1), Change::Conflict(2));
            assert_eq!(get(&store), Some((2, "second".to_owned())));
            assert_eq!(store.setting("other", Setting::Overrides).unwrap(), None);
        }
        let store = open(dir, objects, Options::default());
        assert_eq!(get(&store), Some((2, "second".to_owned())), "it outlives the process");
        assert_eq!(unset(&store, 2), Change::Done(3));
        assert_eq!(get(&store), None);
        assert_eq!(unset(&store, 3), Change::Conflict(0));
        assert_eq!(set(&store, 2, "as if it were still there"), Change::Conflict(0));
        assert_eq!(set(&store, 0, ""), Change::Done(4));
        assert_eq!(get(&store), Some((4, String::new())), "nothing is also something");
        let report = check(objects, |_, _| ()).unwrap();
        assert_eq!((report.settings, report.tenants, report.findings), (4, 0, vec![]));
        assert_eq!(store.tenants().unwrap(), Vec::<String>::new(), "that is no data");
        let large = Some(Bytes::from(vec![b' '; SETTING_MAX_BYTES + 1]));
        let large = store.set("default", Setting::Overrides, 4, large);
        assert!(matches!(large, Err(StoreError::Query(_))), "{large:?}");
        let most = "x".repeat(SETTING_MAX_BYTES);
        assert_eq!(set(&store, 4, &most), Change::Done(5));
        assert_eq!(get(&store), Some((5, most)));
    });
}

#[test]
fn dashboards_are_settings_with_names_and_a_longer_history() {
    on_each_backend("settings-dashboards", |dir, objects| {
        let store = open(dir, objects, Options::default());
        let named = |uid: &str| Setting::Dashboard(uid.to_owned());
        let put = |uid: &str, expected: u64, body: Option<&str>| {
            let body = body.map(|body| Bytes::copy_from_slice(body.as_bytes()));
            store.set("default", named(uid), expected, body).unwrap()
        };
        assert_eq!(store.settings_of("default", Family::Dashboards).unwrap(), []);
        for version in 0..DASHBOARD_KEPT_VERSIONS + 5 {
            assert_eq!(put("a", version, Some("x")), Change::Done(version + 1));
        }
        assert_eq!(put("b.c/d", 0, Some("first")), Change::Done(1));
        assert_eq!(put("b.c/d", 1, None), Change::Done(2));
        let last = DASHBOARD_KEPT_VERSIONS + 5;
        let all = [("a".to_owned(), last), ("b.c/d".to_owned(), 2)];
        assert_eq!(store.settings_of("default", Family::Dashboards).unwrap(), all);
        assert_eq!(store.settings_of("other", Family::Dashboards).unwrap(), []);
        let kept = store.setting_versions("default", &named("a")).unwrap();
        assert_eq!(kept, (6..=last).collect::<Vec<_>>());
        let version = |number| store.setting_version("default", &named("b.c/d"), number).unwrap();
        assert_eq!(version(1).as_deref(), Some(&b"first"[..]), "deleting leaves the history");
        assert_eq!((version(2), version(3)), (None, None));
        assert_eq!(store.setting("default", named("b.c/d")).unwrap(), None);
        let large = Some(Bytes::from(vec![b' '; SETTING_MAX_BYTES + 1]));
        assert_eq!(store.set("default", named("e"), 0, large).unwrap(), Change::Done(1));
        assert_eq!(check(objects, |_, _| ()).unwrap().findings, vec![]);
    });
}

#[test]
fn of_several_who_change_a_setting_at_once_one_succeeds() {
    on_each_backend("settings-race", |dir, objects| {
        let store = open(dir, objects, Options::default());
        for version in 0..5 {
            // They write the same, and are not taken for one.
            let changes: Vec<Change> = std::thread::scope(|scope| {
                let racing = (0..4).map(|_| scope.spawn(|| set(&store, version, "same")));
                let racing: Vec<_> = racing.collect();
                racing.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let done = changes.iter().filter(|change| **change == Change::Done(version + 1));
            assert_eq!(done.count(), 1, "{changes:?}");
            let lost = changes.iter().filter(|change| **change == Change::Conflict(version + 1));
            assert_eq!(lost.count(), 3, "{changes:?}");
        }
    });
}

#[test]
fn a_damaged_version_is_told_and_can_be_replaced() {
    on_each_backend("settings-damage", |dir, objects| {
        let store = open(dir, objects, Options::default());
        assert_eq!(set(&store, 0, "first"), Change::Done(1));
        assert_eq!(set(&store, 1, "second"), Change::Done(2));
        let path = format!("{DIRECTORY}/{:020}", 2);
        objects.put(&path, Bytes::from_static(b"KYMO but not so")).unwrap();
        let read = store.setting("default", Setting::Overrides);
        assert!(matches!(&read, Err(StoreError::Corrupt(why)) if why.contains(&path)), "{read:?}");
        let found = check(objects, |_, _| ()).unwrap().findings;
        assert!(matches!(&found[..], [Finding::Damaged { path: damaged, .. }] if *damaged == path));
        assert_eq!(set(&store, 1, "blind"), Change::Conflict(2));
        assert_eq!(set(&store, 2, "third"), Change::Done(3));
        assert_eq!(get(&store), Some((3, "third".to_owned())));
    });
}

#[test]
fn the_last_version_that_can_be_is_not_lost() {
    on_each_backend("settings-last", |dir, objects| {
        let store = open(dir, objects, Options::default());
        assert_eq!(set(&store, 0, "first"), Change::Done(1));
        let first = objects.get(&format!("{DIRECTORY}/{:020}", 1)).unwrap();
        objects.put(&format!("{DIRECTORY}/{}", u64::MAX - 1), first).unwrap();
        assert_eq!(set(&store, u64::MAX - 1, "last"), Change::Done(u64::MAX));
        assert_eq!(get(&store), Some((u64::MAX, "last".to_owned())));
        let more = store.set("default", Setting::Overrides, u64::MAX, None);
        assert!(matches!(more, Err(StoreError::State(_))), "{more:?}");
    });
}

#[test]
fn old_versions_go_and_a_slow_writer_is_not_misled_by_that() {
    let dir = tempfile::tempdir().unwrap();
    let watched = Watched::open(dir.path());
    let objects: Arc<dyn Objects> = watched.clone();
    let fast = open(&dir.path().join("fast"), &objects, node("fast"));
    let slow = open(&dir.path().join("slow"), &objects, node("slow"));
    assert_eq!(set(&fast, 0, "first"), Change::Done(1));
    // All changes of the fast one come between what the slow one reads and what it writes.
    let changes = SETTING_KEPT_VERSIONS + 3;
    let mut fast = Some(fast);
    watched.on_put(move |_| {
        if let Some(fast) = fast.take() {
            for version in 1..=changes {
                assert_eq!(set(&fast, version, "fast"), Change::Done(version + 1));
            }
        }
        true
    });
    let late = slow.set("default", Setting::Overrides, 1, Some(Bytes::from_static(b"slow")));
    assert!(matches!(late, Err(StoreError::State(_))), "{late:?}");
    assert_eq!(get(&slow), Some((changes + 1, "fast".to_owned())));
    let kept = objects.list(DIRECTORY).unwrap();
    assert_eq!(kept.len() as u64, SETTING_KEPT_VERSIONS, "{kept:?}");
    assert!(kept[0].path.ends_with(&format!("{:020}", changes + 2 - SETTING_KEPT_VERSIONS)));
}

fn node(name: &str) -> Options {
    Options { node: name.to_owned(), ..Options::default() }
}
