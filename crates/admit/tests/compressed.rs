//! Bodies that are compressed in odd ways, or that lie.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[path = "property/codec.rs"]
mod codec;

use bytes::Bytes;
use codec::{compress, decompress_as_the_store, deflate_raw};
use kymo_admit::limits::MAX_MEMBERS;
use kymo_admit::{Admission, Admitted, Compression, Format, Limits, Refusal, Signal, Stage};

const LIMIT_BYTES: usize = 1 << 20;

const COMPRESSED: [Compression; 3] = [Compression::Gzip, Compression::Deflate, Compression::Zstd];

fn admit(compression: Compression, body: Vec<u8>) -> Result<Admitted, Refusal> {
    let limits = Limits { max_decompressed_bytes: LIMIT_BYTES, ..Limits::default() };
    let admission = Admission::new(limits, Default::default()).unwrap();
    let (signal, format) = (Signal::Traces, Format::Protobuf);
    admission.admit("default", signal, format, compression, Bytes::from(body))
}

/// A valid request of exactly so many bytes: one field that nobody knows.
fn request(size_bytes: usize) -> Vec<u8> {
    let mut request = vec![0xfa, 0x01];
    let mut length = size_bytes - 2;
    // The length takes one to three bytes itself.
    length -= if length <= 128 {
        1
    } else if length <= 16_385 {
        2
    } else {
        3
    };
    let content_bytes = length;
    while length >= 0x80 {
        request.push(length as u8 | 0x80);
        length >>= 7;
    }
    request.push(length as u8);
    request.resize(request.len() + content_bytes, 0);
    assert_eq!(request.len(), size_bytes);
    request
}

fn too_large() -> Refusal {
    Refusal::TooLarge { stage: Stage::Decompressed, limit_bytes: LIMIT_BYTES }
}

fn problem(result: Result<Admitted, Refusal>) -> String {
    match result {
        Err(Refusal::Malformed(problem)) => problem,
        other => panic!("expected a malformed request: {other:?}"),
    }
}

/// A zstd frame of one uncompressed block, with a header of the test's choice.
fn zstd_frame(header: &[u8], content: &[u8]) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd".to_vec();
    frame.extend_from_slice(header);
    let block_header = (content.len() as u32) << 3 | 1;
    frame.extend_from_slice(&block_header.to_le_bytes()[..3]);
    frame.extend_from_slice(content);
    frame
}

#[test]
fn a_body_at_the_limit_is_admitted_as_it_came_and_one_byte_more_is_too_large() {
    for compression in COMPRESSED {
        let body = compress(compression, &request(LIMIT_BYTES));
        let admitted = admit(compression, body.clone()).unwrap();
        assert_eq!((admitted.compression, &admitted.body[..]), (compression, &body[..]));
        assert_eq!(admitted.decompressed_bytes, LIMIT_BYTES as u64);
        let body = compress(compression, &request(LIMIT_BYTES + 1));
        assert_eq!(admit(compression, body), Err(too_large()));
    }
    assert_eq!(
        admit(Compression::Deflate, deflate_raw(&request(LIMIT_BYTES + 1))),
        Err(too_large())
    );
    assert_eq!(admit(Compression::None, request(LIMIT_BYTES + 1)), Err(too_large()));
}

#[test]
fn several_members_or_frames_are_one_request() {
    let plain = request(1000);
    let (front, back) = plain.split_at(300);
    for compression in [Compression::Gzip, Compression::Zstd] {
        let mut body = compress(compression, front);
        body.extend(compress(compression, b""));
        body.extend(compress(compression, back));
        let admitted = admit(compression, body.clone()).unwrap();
        assert_eq!((admitted.compression, &admitted.body[..]), (compression, &body[..]));
        assert_eq!(decompress_as_the_store(compression, &body).unwrap(), plain);
    }
}

#[test]
fn frames_that_zstd_skips_are_skipped() {
    let mut body = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    body.extend(compress(Compression::Zstd, &request(100)));
    body.extend(b"\x50\x2a\x4d\x18\x00\x00\x00\x00");
    assert_eq!(admit(Compression::Zstd, body.clone()).unwrap().decompressed_bytes, 100);
    assert_eq!(decompress_as_the_store(Compression::Zstd, &body).unwrap(), request(100));
}

#[test]
fn many_members_are_too_large_together_or_too_many() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let body = compress(compression, &request(LIMIT_BYTES / 4)).repeat(5);
        assert_eq!(admit(compression, body), Err(too_large()));
        let member = compress(compression, &request(10));
        assert!(admit(compression, member.repeat(MAX_MEMBERS)).is_ok());
        let many = problem(admit(compression, member.repeat(MAX_MEMBERS + 1)));
        assert!(many.contains("more than 1024"), "{many}");
    }
}

#[test]
fn what_follows_the_end_or_is_missing_before_it_refuses_the_request() {
    let plain = request(1000);
    let mut bodies: Vec<_> =
        COMPRESSED.map(|compression| (compression, compress(compression, &plain))).into();
    bodies.push((Compression::Deflate, deflate_raw(&plain)));
    for (compression, body) in bodies {
        for garbage in [&b"\0"[..], b"garbage", b"\x1f\x8b", &body[..3]] {
            problem(admit(compression, [&body[..], garbage].concat()));
        }
        for length in 1..body.len() {
            problem(admit(compression, body[..length].to_vec()));
        }
        assert!(admit(compression, body).is_ok());
    }
}

#[test]
fn a_wrong_checksum_refuses_the_request() {
    for compression in [Compression::Gzip, Compression::Deflate] {
        let mut body = compress(compression, &request(1000));
        let last = body.len() - if compression == Compression::Gzip { 5 } else { 1 };
        body[last] ^= 1;
        problem(admit(compression, body));
    }
}

#[test]
fn deflate_without_its_wrapper_is_handed_on_decompressed() {
    for size_bytes in [10, 1000, 100_000] {
        let plain = request(size_bytes);
        let admitted = admit(Compression::Deflate, deflate_raw(&plain)).unwrap();
        assert_eq!((admitted.compression, &admitted.body[..]), (Compression::None, &plain[..]));
        assert!(admitted.partial_success().is_none());
    }
}

#[test]
fn a_size_that_zstd_claims_and_does_not_keep_refuses_the_request() {
    let content = request(20);
    // One segment, content size in one byte.
    assert!(admit(Compression::Zstd, zstd_frame(b"\x20\x14", &content)).is_ok());
    for claimed in [b"\x20\x13", b"\x20\x15"] {
        problem(admit(Compression::Zstd, zstd_frame(claimed, &content)));
    }
    // One segment, content size in eight bytes: more than a tebibyte.
    let huge = zstd_frame(b"\xe0\0\0\0\0\0\x01\0\0", &content);
    assert_eq!(admit(Compression::Zstd, huge), Err(too_large()));
}

#[test]
fn a_zstd_window_beyond_8_mib_is_refused() {
    let content = request(20);
    // No content size; windows of 8 MiB, and of 9 MiB, 128 MiB and 3.75 TiB.
    assert!(admit(Compression::Zstd, zstd_frame(b"\x00\x68", &content)).is_ok());
    for window in [b"\x00\x69", b"\x00\x88", b"\x00\xff"] {
        let problem = problem(admit(Compression::Zstd, zstd_frame(window, &content)));
        assert!(problem.contains("window"), "{problem}");
    }
    // The same where a content size lets zstd decompress without a window.
    let sized = problem(admit(Compression::Zstd, zstd_frame(b"\x80\xff\x14\0\0\0", &content)));
    assert!(sized.contains("window"), "{sized}");
}

#[test]
fn a_thread_reads_the_next_request_as_if_the_one_before_had_not_been() {
    let broken = compress(Compression::Zstd, &request(100_000));
    for compression in COMPRESSED {
        let body = compress(compression, &request(5000));
        problem(admit(Compression::Zstd, broken[..broken.len() - 1].to_vec()));
        assert_eq!(
            admit(Compression::Zstd, compress(Compression::Zstd, &vec![0; 8 << 20])),
            Err(too_large())
        );
        assert_eq!(admit(compression, body).unwrap().decompressed_bytes, 5000);
    }
}
