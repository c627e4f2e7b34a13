//! Requests that real clients sent, if the environment names a directory of them.
//!
//! `KYMO_TEST_DATA` holds `*.metrics.pb` files below `tuft/`.

use std::io::Write;
use std::path::Path;

use kymo_store::series::head::SeriesHead;
use prost::Message;

use super::model::multiset;
use super::support::{Blocks, Request, drain, exported};

#[test]
fn captured_requests_come_back_as_they_were_sent() {
    let Some(root) = std::env::var_os("KYMO_TEST_DATA") else {
        // Not `eprintln!`, which is shown of failures only.
        let _ = writeln!(
            std::io::stderr(),
            "left out: captured requests (KYMO_TEST_DATA names no directory)"
        );
        return;
    };
    let entries = std::fs::read_dir(Path::new(&root).join("tuft")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_str().is_some_and(|name| name.ends_with(".metrics.pb")));
    paths.sort();
    assert!(!paths.is_empty(), "there are captured requests");
    let store = Blocks::new();
    let mut head = SeriesHead::new();
    let (mut requests, mut sources) = (Vec::new(), Vec::new());
    for (sequence, path) in paths.iter().enumerate() {
        let body = std::fs::read(path).unwrap();
        head.append(&body, sequence as u64).unwrap();
        requests.push(Request::decode(&body[..]).unwrap());
        if sequence % 3 == 2 {
            sources.extend(store.write(&drain(&mut head)));
        }
    }
    sources.extend(drain(&mut head));
    let mut sent = multiset(&requests);
    assert!(multiset([&exported(&sources)]) == sent);
    let joined = store.compact(&sources);
    let mut stored = multiset([&exported(&joined)]);
    sent.dedup();
    stored.dedup();
    assert!(stored == sent);
}
