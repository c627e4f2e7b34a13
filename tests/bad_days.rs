//! Senders that are broken, slow, greedy or many: each gets its answer, and nobody else waits.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress};
use harness::h2::{call, exchange, framed, request};
use harness::otlp::RECORDS;
use harness::programs::left_out;
use harness::raw::{Raw, head, post};
use harness::{Encoding, Server, Signal, eventually};

const PROTOBUF: &str = "application/x-protobuf";
/// What anybody may take to be answered while others misbehave, on a machine that is busy. Who waited
/// for one of those would wait for longer.
const SOON: Duration = Duration::from_secs(15);
const MIB: u64 = 1 << 20;

/// Zeros, so many mebibytes, as a raw deflate stream. Pieces that begin anew are all the same bytes,
/// so one is made and repeated.
fn deflated_zeros(mebibytes: usize) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let mut piece = Vec::with_capacity(1 << 16);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(&zeros, &mut piece, FlushCompress::Full).unwrap();
    assert_eq!(compress.total_in(), 1 << 20);
    let mut stream = piece.repeat(mebibytes);
    // A last, empty block.
    stream.extend([3, 0]);
    stream
}

/// A gzip file of a gibibyte of zeros, of about a mebibyte.
fn gzip_bomb() -> Vec<u8> {
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let trailer = [0; 8];
    [&header[..], &deflated_zeros(1024), &trailer].concat()
}

fn zstd_bomb() -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..1024 {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn a_bomb_is_refused_soon_and_takes_little_memory() {
    let server = Server::start();
    server.store(Signal::Traces, Signal::Traces.small(1));
    let before_bytes = server.peak_memory_bytes();
    let deflate_bomb = [&[0x78, 0x9c][..], &deflated_zeros(1024), &[0; 4]].concat();
    for (name, bomb) in [("gzip", gzip_bomb()), ("deflate", deflate_bomb), ("zstd", zstd_bomb())] {
        assert!(bomb.len() < 2 << 20, "{name}: {}", bomb.len());
        for signal in Signal::ALL {
            let began = Instant::now();
            let request = server.request(signal, Encoding::Protobuf, bomb.clone());
            harness::Answer::of(request.header("content-encoding", name)).expect(413);
            let headers = [("grpc-encoding", name)];
            call(server.otlp_grpc(), signal.method(), &headers, framed(true, &bomb)).expect(8);
            assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
        }
    }
    let grown_bytes = server.peak_memory_bytes() - before_bytes;
    assert!(grown_bytes < 200 * MIB, "{} MiB more", grown_bytes / MIB);
    assert_eq!(server.count(Signal::Traces), RECORDS);
}

#[test]
fn a_body_that_comes_slowly_delays_nobody_and_is_taken() {
    let server = Server::start();
    let body = Signal::Logs.small(1);
    let (first, second) = body.split_at(body.len() / 2);
    let mut slow: Vec<Raw> = (0..50)
        .map(|_| {
            let mut raw = Raw::connect(server.otlp_http());
            raw.write(&head("/v1/logs", PROTOBUF, body.len()));
            raw.write(first);
            raw
        })
        .collect();
    let began = Instant::now();
    for number in 2..22 {
        server.store(Signal::Logs, Signal::Logs.small(number));
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(server.count(Signal::Logs), 20 * RECORDS);
    for raw in &mut slow {
        raw.write(second);
        assert_eq!(raw.answer(), (200, Vec::new()));
    }
    // They were all the same.
    assert_eq!(server.count(Signal::Logs), 21 * RECORDS);
}

#[test]
fn a_body_that_trickles_is_given_up() {
    let server = Server::with(&["--request-timeout", "1s"]);
    let mut raw = Raw::connect(server.otlp_http());
    raw.write(&head("/v1/logs", PROTOBUF, 1 << 20));
    let mut writing = raw.stream().try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        while writing.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let (status, _) = raw.answer();
    assert_eq!(status, 503);
    raw.stream().shutdown(Shutdown::Both).unwrap();
    trickle.join().unwrap();
    assert_eq!(server.metric("kymo_refused_requests_total", &["reason=\"slow_body\""]), 1.0);
    assert_eq!(server.metric("kymo_receiving_bytes", &[]), 0.0);
}

#[test]
fn a_refusal_is_read_by_senders_that_write_all_before() {
    let server = Server::start();
    let body = vec![7; 8 << 20];
    for content_type in ["text/plain", PROTOBUF] {
        let mut raw = Raw::connect(server.otlp_http());
        raw.write(&head("/v1/traces", content_type, body.len()));
        raw.write(&body);
        let (status, _) = raw.answer();
        assert_eq!(status, if content_type == PROTOBUF { 400 } else { 415 });
    }
}

#[test]
fn clients_that_hang_or_go_away_do_not_harm() {
    let server = Server::start();
    let body = Signal::Traces.small(1);
    let whole = post("/v1/traces", PROTOBUF, &body);
    let mut hanging = Vec::new();
    for cut in (0..whole.len()).step_by(whole.len() / 60 + 1) {
        for port in server.ports() {
            let mut raw = Raw::connect(port);
            raw.write(&whole[..cut]);
            hanging.push(raw);
        }
    }
    // Some go away in the middle, some only stop to write, some say nothing more.
    for (nth, raw) in hanging.iter_mut().enumerate() {
        match nth % 3 {
            0 => raw.stream().shutdown(Shutdown::Both).unwrap(),
            1 => raw.stream().shutdown(Shutdown::Write).unwrap(),
            _ => {}
        }
    }
    let began = Instant::now();
    assert_eq!(server.count(Signal::Traces), 0, "no part of a request is stored");
    // One that has sent all and goes away before the answer sends it again later.
    let mut raw = Raw::connect(server.otlp_http());
    raw.write(&whole);
    raw.stream().shutdown(Shutdown::Both).unwrap();
    server.store(Signal::Traces, body);
    assert_eq!(server.count(Signal::Traces), RECORDS);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn noise_instead_of_http_ends_only_its_own_connection() {
    let server = Server::start();
    let mut random = harness::Random::seeded(7);
    for port in server.ports() {
        for prefix in
            [&b""[..], b"POST /v1/traces HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
        {
            let mut stream = TcpStream::connect(port).unwrap();
            let noise: Vec<u8> = (0..4096).map(|_| random.below(256) as u8).collect();
            // The server may close before all is written.
            let _ = stream.write_all(&[prefix, &noise].concat());
        }
    }
    server.store(Signal::Logs, Signal::Logs.small(1));
    assert_eq!(server.count(Signal::Logs), RECORDS);
}

#[test]
fn bodies_beyond_the_memory_for_all_are_asked_to_come_again() {
    let server = Server::with(&["--max-receiving-bytes", "64KiB"]);
    let mut greedy = Raw::connect(server.otlp_http());
    greedy.write(&head("/v1/traces", PROTOBUF, 100 << 10));
    greedy.write(&vec![10; 60 << 10]);
    let large = harness::otlp::spans("a span with a name of some length", 0, 300);
    let large = prost::Message::encode_to_vec(&large);
    // It takes a moment until what the first sent is read.
    eventually(SOON, "the greedy one has its part", || {
        server.metric("kymo_receiving_bytes", &[]) >= f64::from(60 << 10)
    });
    let answer = server.send(Signal::Traces, Encoding::Protobuf, large.clone()).expect(429);
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    let message = framed(false, &large);
    let answer = call(server.otlp_grpc(), Signal::Traces.method(), &[], message).expect(8);
    assert!(answer.headers.contains_key("grpc-status-details-bin"), "with a time to wait");
    // A small one still fits.
    server.store(Signal::Traces, Signal::Traces.small(77));
    drop(greedy);
    eventually(SOON, "there is room again", || {
        server.send(Signal::Traces, Encoding::Protobuf, large.clone()).status == 200
    });
}

#[test]
fn a_head_that_trickles_is_given_up_and_one_that_waits_is_not() {
    let server = Server::start();
    let mut waiting = Raw::connect(server.http());
    let slow: Vec<_> = [&b"GET /ready HTTP/1.1\r\nx: "[..], b"PRI * HTTP/2.0\r\n", b"P"]
        .map(|first| {
            let mut raw = Raw::connect(server.http());
            raw.write(first);
            std::thread::spawn(move || {
                let (began, mut byte) = (Instant::now(), [0]);
                raw.stream().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
                loop {
                    // Nothing more of what HTTP/2 begins with; else the head gets longer.
                    let is_head = first.starts_with(b"GET");
                    let is_closed = is_head && raw.stream().write_all(b"x").is_err();
                    match raw.stream().read(&mut byte) {
                        Err(error) if error.kind() == ErrorKind::WouldBlock && !is_closed => {}
                        _ => return began.elapsed(),
                    }
                    assert!(began.elapsed() < 8 * SOON, "it is still there");
                }
            })
        })
        .into_iter()
        .collect();
    for slow in slow {
        let took = slow.join().unwrap();
        assert!(took > Duration::from_secs(10), "{took:?} is too soon for a bad line");
    }
    waiting.write(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(waiting.answer().0, 200, "who has begun nothing may wait");
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Server::start();
    let ask = |size: usize| {
        let mut raw = Raw::connect(server.http());
        let head =
            format!("GET /ready HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(size));
        // The server may close before all is written, and what it said be lost with that.
        let _ = raw.stream().write_all(head.as_bytes());
        let mut answer = [0; 12];
        raw.stream().read_exact(&mut answer).map(|()| String::from_utf8_lossy(&answer).into_owned())
    };
    assert_eq!(ask(60 << 10).unwrap(), "HTTP/1.1 200");
    match ask(300 << 10) {
        Ok(answer) => assert_eq!(answer, "HTTP/1.1 431"),
        Err(error) => assert_ne!(error.kind(), ErrorKind::WouldBlock, "{error}"),
    }
    let large = "x".repeat(100 << 10);
    let asked = request(server.http(), "GET", "/ready", &[("x", &large)], "");
    assert_eq!(exchange(server.http(), vec![asked])[0].status, 431);
    server.store(Signal::Logs, Signal::Logs.small(1));
}

/// The limit of open files of this process and those it starts, raised to what is wanted if it may be.
fn open_files(wanted: u64) -> u64 {
    let of_self = || {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let mut numbers = line.split_whitespace().skip(3);
        let mut next = || numbers.next().unwrap().parse::<u64>().unwrap_or(u64::MAX);
        (next(), next())
    };
    let (soft, hard) = of_self();
    if soft < wanted && soft < hard {
        let id = std::process::id().to_string();
        let limit = format!("--nofile={}:", wanted.min(hard));
        // Where it is not there, the limit stays as it is.
        let _ = Command::new("prlimit").args(["--pid", &id, &limit]).status();
    }
    of_self().0
}

#[test]
fn ten_thousand_idle_connections_cost_little_and_delay_nobody() {
    const CONNECTIONS: usize = 10_000;
    let needed = CONNECTIONS as u64 + 1000;
    let limit = open_files(needed);
    if limit < needed {
        left_out(&format!("{CONNECTIONS} idle connections (the limit of open files is {limit})"));
        return;
    }
    let server = Server::start();
    let idle_bytes = server.peak_memory_bytes();
    let ports = server.ports();
    let idle: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|nth| TcpStream::connect_timeout(&ports[nth % 3], SOON).unwrap())
        .collect();
    eventually(4 * SOON, "all are accepted", || {
        server.metric("kymo_connections_total", &[]) > CONNECTIONS as f64
    });
    let began = Instant::now();
    server.store(Signal::Traces, Signal::Traces.small(1));
    let message = framed(false, &Signal::Traces.small(2));
    call(server.otlp_grpc(), Signal::Traces.method(), &[], message).expect(0);
    assert_eq!(server.count(Signal::Traces), 2 * RECORDS);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let each_bytes = (server.peak_memory_bytes() - idle_bytes) / CONNECTIONS as u64;
    assert!(each_bytes < 24 << 10, "{each_bytes} bytes for each");
    drop(idle);
    assert_eq!(server.count(Signal::Traces), 2 * RECORDS);
}
