//! Requests of Prometheus' remote-write: what is kept, what is refused, and what senders are told.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_admit::{
    Admission, Admitted, Compression, Counts, Limits, Refusal, RemoteWrite, Stage, Version,
};
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{RequestWriter, write_label};

const TIME: i64 = 1_700_000_000_000;

fn packed(body: &[u8]) -> Bytes {
    snap::raw::Encoder::new().compress_vec(body).unwrap().into()
}

fn admit(version: Version, body: Bytes) -> Result<Admitted, Refusal> {
    Admission::default().admit_remote_write("default", version, Compression::Snappy, body)
}

/// A request of 1.0 with a sample for each list of labels.
fn request_1(series: &[&[(&str, &str)]]) -> Vec<u8> {
    let mut w = Writer::new();
    for labels in series {
        w.message(1, |w| {
            for (name, value) in *labels {
                write_label(name.as_bytes(), value.as_bytes(), w);
            }
            w.message(2, |w| {
                w.double_field(1, 1.5);
                w.varint_field(2, TIME as u64);
            });
        });
    }
    w.into_bytes()
}

fn request_2() -> Vec<u8> {
    let mut request = RequestWriter::new();
    request.series([("__name__", "up"), ("job", "a")], None, |s| {
        s.sample(1.0, TIME, 0);
        s.exemplar([("trace_id", "x")], 1.0, TIME);
    });
    request.finish()
}

#[test]
fn a_good_request_is_handed_on_still_compressed() {
    let one = packed(&request_1(&[&[("__name__", "up")], &[("__name__", "up"), ("job", "a")]]));
    let two = packed(&request_2());
    let counts = |samples, exemplars| Counts { samples, exemplars, ..Counts::default() };
    for (version, body, counts) in
        [(Version::One, one, counts(2, 0)), (Version::Two, two, counts(1, 1))]
    {
        let admitted = admit(version, body.clone()).unwrap();
        assert_eq!(admitted.body.as_ptr(), body.as_ptr(), "without a copy");
        assert_eq!(admitted.compression, Compression::Snappy);
        assert_eq!(admitted.remote_write, Some(RemoteWrite { version, counts }));
        assert_eq!((admitted.items, admitted.partial_success()), (counts.samples, None));
        assert!(!admitted.is_empty());
    }
}

#[test]
fn what_is_refused_or_repaired_is_told_and_the_rest_is_kept() {
    let good: &[(&str, &str)] = &[("__name__", "up"), ("job", "a")];
    let body = request_1(&[good, &[("job", "a")], &[("job", "a"), ("__name__", "up")]]);
    let admitted = admit(Version::One, packed(&body)).unwrap();
    assert_eq!(admitted.compression, Compression::None);
    assert_eq!(admitted.body, request_1(&[good, good]));
    assert_eq!(admitted.items, 2);
    let (rejected, message) = admitted.partial_success().unwrap();
    assert_eq!(rejected, 1);
    assert_eq!(
        message,
        "1 refused (series has no label __name__), 1 changed (labels were not in order and are now)"
    );
    assert_eq!(admitted.refused[0].reason, "missing_metric_name");
    assert_eq!(admitted.changed[0].reason, "labels_out_of_order");
}

#[test]
fn a_request_that_only_says_something_about_metrics_is_kept() {
    let mut w = Writer::new();
    w.message(3, |w| {
        w.varint_field(1, 1);
        w.bytes_field(2, b"requests");
        w.bytes_field(4, b"Requests.");
    });
    let admitted = admit(Version::One, packed(w.as_slice())).unwrap();
    assert_eq!(admitted.items, 0);
    assert!(!admitted.is_empty());
    assert!(admit(Version::One, Bytes::new()).unwrap().is_empty());
}

#[test]
fn limits_of_the_tenant_hold() {
    let limits = Limits { max_decompressed_bytes: 1000, ..Limits::default() };
    let admission = Admission::new(limits, BTreeMap::new()).unwrap();
    let admit = |body: Bytes| {
        admission.admit_remote_write("default", Version::One, Compression::Snappy, body)
    };
    let long = "x".repeat(2000);
    let body = packed(&request_1(&[&[("__name__", &long)]]));
    let too_large = Refusal::TooLarge { stage: Stage::Decompressed, limit_bytes: 1000 };
    assert_eq!(admit(body).unwrap_err(), too_large);
    let few = Limits { max_attributes_per_record: 1, ..Limits::default() };
    let admission = Admission::new(few, BTreeMap::new()).unwrap();
    let admitted =
        admission.admit_remote_write("a", Version::Two, Compression::None, request_2().into());
    assert_eq!(admitted.unwrap().refused[0].reason, "too_many_labels");
}

#[test]
fn what_is_not_snappy_or_not_a_request_is_refused_before_memory_is_given() {
    let mut huge = vec![0xff, 0xff, 0xff, 0x1f];
    huge.extend([0; 100]);
    let mut cut = packed(&request_2()).to_vec();
    cut.pop();
    for body in [b"no snappy".to_vec(), huge, cut, packed(b"\x0a\x05\x0a").to_vec()] {
        let refusal = admit(Version::One, body.into()).unwrap_err();
        assert_eq!(refusal.reason(), "malformed", "{refusal}");
    }
    // Claims 60 MiB, which is allowed, in seven bytes, which is impossible.
    let refusal = admit(Version::One, vec![0x80, 0x80, 0x80, 0x1e, 0, 0, 0].into()).unwrap_err();
    assert!(refusal.to_string().contains("larger than it can be"), "{refusal}");
}

#[test]
fn mutated_requests_never_panic() {
    let body = packed(&request_2());
    for place in 0..body.len() {
        for value in 0..=255 {
            let mut changed = body.to_vec();
            changed[place] = value;
            for version in [Version::One, Version::Two] {
                let _ = admit(version, changed.clone().into());
            }
        }
    }
}
