//! What the end-to-end tests share: a real server on real sockets, and ways to talk to it.
//!
//! | module | what is there |
//! |---|---|
//! | `server` | starts `kymo serve`, stops it gently or not, starts it again on the same data |
//! | `actions` | a place that looks like GitHub Actions, and its API |
//! | `ask` | HTTP requests, SQL answers as tables, the server's own metrics |
//! | `captured` | requests of real programs, from a directory |
//! | `h2` | HTTP/2 and gRPC by hand, where the wire matters |
//! | `otlp` | requests to send: small ones by number, and one of each signal with every field |
//! | `traces`, `metrics` | a few traces to search; a few series, and how they are written |
//! | `jaeger` | those that Jaeger's APIs are asked about, and how |
//! | `loki` | lines to push, and a WebSocket to tail them over |
//! | `readback` | compares what is stored with what was sent, field by field |
//! | `sessions` | a client that tells of a session |
//! | `raw` | HTTP/1.1 by hand, byte by byte |
//! | `programs` | runs `kymo` and client programs to their end |
//! | `runs` | `kymo run`, and what it recorded |

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

pub mod actions;
pub mod ask;
pub mod captured;
pub mod h2;
pub mod jaeger;
pub mod loki;
pub mod metrics;
pub mod otlp;
pub mod programs;
pub mod raw;
pub mod readback;
pub mod runs;
pub mod server;
pub mod sessions;
pub mod traces;

pub use ask::{Answer, Table};
pub use otlp::{Encoding, Signal};
pub use server::Server;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until something is true, looking often.
#[track_caller]
pub fn eventually(within: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !is_true() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a file below a directory has some bytes.
pub fn holds(place: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(place).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        fs::read(path).unwrap_or_default().windows(bytes.len()).any(|window| window == bytes)
    })
}

/// Random numbers, good enough to choose moments. A failure names the seed.
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
