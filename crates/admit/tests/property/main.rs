//! Generated and mutated requests, in every format and compression: what is admitted is what the
//! rules say, can be read by the store, and no bytes make admission panic.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod codec;
#[path = "../../../wire/src/tests/generate.rs"]
mod generate;
mod model;
#[path = "../../../wire/src/tests/random.rs"]
mod random;

use std::collections::BTreeMap;

use bytes::Bytes;
use codec::{compress, decompress_as_the_store, deflate_raw};
use kymo_admit::{Admission, Admitted, Compression, Format, Limits, Signal};
use kymo_wire::{inspect::inspect, json};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use random::Random;

const CASES: u64 = 200;

fn tight() -> Limits {
    Limits { max_attributes_per_record: 2, max_value_bytes: 5, ..Limits::default() }
}

/// The tenant `tight` has few rights.
fn admission() -> Admission {
    Admission::new(Limits::default(), BTreeMap::from([("tight".to_owned(), tight())])).unwrap()
}

/// Names the case that fails.
struct NameCase(u64, Signal, &'static str, Format, Compression);

impl Drop for NameCase {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(seed, signal, tenant, format, compression) = self;
            eprintln!("failed with seed {seed}: {signal} of {tenant} in {format:?}, {compression}");
        }
    }
}

fn for_each_case(check: impl Fn(Signal, &'static str, Format, Compression, &mut Random)) {
    for seed in 0..CASES {
        for signal in Signal::ALL {
            for tenant in ["default", "tight"] {
                for format in [Format::Protobuf, Format::Json] {
                    for compression in Compression::ALL {
                        let _name = NameCase(seed, signal, tenant, format, compression);
                        check(signal, tenant, format, compression, &mut Random::new(seed));
                    }
                }
            }
        }
    }
}

/// A request in a format, and the same in protobuf: JSON does not carry the bits of a NaN.
fn generated(signal: Signal, format: Format, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let protobuf = generate::request(signal, random);
    if format == Format::Protobuf {
        return (protobuf.clone(), protobuf);
    }
    let mut text = Vec::new();
    json::encode(signal, &protobuf, &mut text).unwrap();
    let protobuf = json::decode(signal, &text).unwrap();
    (text, protobuf)
}

fn by_prost(signal: Signal, body: &[u8]) -> Vec<u8> {
    match signal {
        Signal::Traces => ExportTraceServiceRequest::decode(body).unwrap().encode_to_vec(),
        Signal::Logs => ExportLogsServiceRequest::decode(body).unwrap().encode_to_vec(),
        Signal::Metrics => ExportMetricsServiceRequest::decode(body).unwrap().encode_to_vec(),
    }
}

/// Reads what was admitted as the store does.
fn stored(admitted: &Admitted) -> Vec<u8> {
    decompress_as_the_store(admitted.compression, &admitted.body).expect("the store can read it")
}

#[test]
fn what_is_admitted_is_the_same_request_without_what_the_rules_refuse() {
    let admission = admission();
    for_each_case(|signal, tenant, format, compression, random| {
        let (plain, protobuf) = generated(signal, format, random);
        let body = Bytes::from(compress(compression, &plain));
        let admitted = admission.admit(tenant, signal, format, compression, body.clone()).unwrap();
        let expected = model::expected(signal, &protobuf, admission.limits_for(tenant));
        assert_eq!(by_prost(signal, &stored(&admitted)), expected.body);
        let refused: u64 = admitted.refused.iter().map(|counted| counted.count).sum();
        assert_eq!((admitted.items, refused), (expected.items, expected.refused));
        assert_eq!(admitted.decompressed_bytes, plain.len() as u64);
        let is_all_kept = admitted.refused.is_empty() && admitted.changed.is_empty();
        assert_eq!(is_all_kept, expected.body == by_prost(signal, &protobuf));
        if is_all_kept && format == Format::Protobuf {
            assert_eq!((admitted.compression, &admitted.body), (compression, &body));
        }
    });
}

#[test]
fn what_is_admitted_of_mutated_bytes_can_be_read_and_has_no_fault_left() {
    let admission = admission();
    let accepted = std::cell::Cell::new(0);
    for_each_case(|signal, tenant, format, compression, random| {
        let (mut plain, _) = generated(signal, format, random);
        if random.chance(2) {
            mutate(&mut plain, random);
        }
        let mut body = match compression {
            Compression::Deflate if random.below(2) == 0 => deflate_raw(&plain),
            _ => compress(compression, &plain),
        };
        if compression != Compression::None && random.chance(3) {
            mutate(&mut body, random);
        }
        let Ok(admitted) = admission.admit(tenant, signal, format, compression, body.into()) else {
            return;
        };
        accepted.set(accepted.get() + 1);
        let limits = admission.limits_for(tenant);
        let limits = kymo_wire::Limits {
            max_attributes: limits.max_attributes_per_record,
            max_value_bytes: limits.max_value_bytes,
            ..kymo_wire::Limits::default()
        };
        let stored = stored(&admitted);
        let again = inspect(signal, &stored, &limits).expect("is well-formed");
        assert_eq!(again.items, admitted.items);
        assert!(again.refused.is_empty() && again.repaired.is_empty(), "{again:?}");
        by_prost(signal, &stored);
    });
    assert!(accepted.get() > 1_000, "many mutations leave a valid request: {}", accepted.get());
}

#[test]
fn noise_is_no_reason_to_panic() {
    let admission = admission();
    for_each_case(|signal, tenant, format, compression, random| {
        let mut noise: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8).collect();
        let magic: &[u8] = match compression {
            Compression::None | Compression::Snappy => b"",
            Compression::Gzip => b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
            Compression::Deflate => b"\x78\x9c",
            Compression::Zstd => b"\x28\xb5\x2f\xfd",
        };
        noise.splice(0..0, magic.iter().copied());
        let _ = admission.admit(tenant, signal, format, compression, noise.into());
    });
}

fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    if body.is_empty() {
        body.push(random.next() as u8);
        return;
    }
    let place = random.below(body.len() as u64) as usize;
    match random.below(6) {
        0 => body.truncate(place),
        1 => body.insert(place, random.next() as u8),
        2 => drop(body.remove(place)),
        3 => body[place] ^= 1 << random.below(8),
        4 => body.extend_from_within(place..),
        _ => body[place] = random.next() as u8,
    }
}
